"""Stacks as a new user writes them from Slinky's guide: sound at the second try, as `check --fix` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.check import as_text, judge
from slinky_iac.commands.cli import main
from slinky_iac.commands.mend import difference, mended
from slinky_iac.commands.output import Paint
from slinky_iac.commands.paste import block
from slinky_iac.config.chart.translation import masked
from slinky_iac.config.findings import Finding, Level
from slinky_iac.config.reading.stack_file import parse
from slinky_iac.config.stack import PROJECT
from slinky_iac.keys.catalogue import JWT, SLURM
from tests.stacks import read_yaml

BOTH_OUTSIDE = """\
config:
  slinky-iac:cluster:
    name: atlas
    slurmVersion: 26.05
  slinky-iac:controller:
    external: true
    externalConfig: {host: ctl.example.net, port: 6817}
    slurmKeyRef: {name: slurm-auth-slurm, key: slurm.key}
    jwtHs256KeyRef: {name: slurm-auth-jwths256, key: jwt_hs256.key}
  slinky-iac:accounting:
    external: true
    externalConfig: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu: {replicas: 2}
"""
SLURMDBD_OUTSIDE = """\
config:
  slinky-iac:clusterName: atlas
  slinky-iac:controller:
    slurmKeyRef: {name: slurm-auth-slurm, key: slurm.key}
    jwtHs256KeyRef: {name: slurm-auth-jwths256, key: jwt_hs256.key}
  slinky-iac:accounting:
    external: true
    externalConfig: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu: {count: 4}
"""
HOST_NETWORK = """\
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "26.05"}
  slinky-iac:keys: {source: imported}
  slinky-iac:controller:
    external: {host: ctl.example.net, port: 6817}
  slinky-iac:accounting:
    external: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu:
      replicas: 2
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      slurmd:
        resources: {limits: {cpu: 8}}
"""
GPUS = """\
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "26.05.2"}
  slinky-iac:keys: {source: imported}
  slinky-iac:controller:
    external: {host: ctl.example.net}
  slinky-iac:accounting:
    external: {host: dbd.example.net}
  slinky-iac:nodesets:
    gpu:
      replicas: 2
      gpus: 8
      partition: {configMap: {MaxTime: UNLIMITED}}
  slinky-iac:drain:
    limits: {maxShare: 50%}
"""


def errors(text: str) -> list[Finding]:
    return [place.finding for place in judge(text)[1] if place.finding.level is Level.ERROR]


def fixed(text: str) -> str:
    return mended(text, PROJECT, lambda text, project: judge(text, project)[1]).text


@pytest.mark.parametrize(
    ("text", "faults"),
    [(BOTH_OUTSIDE, 7), (SLURMDBD_OUTSIDE, 6), (HOST_NETWORK, 3), (GPUS, 2)],
    ids=["slurmctld and slurmdbd outside", "slurmdbd outside", "host network", "GPUs"],
)
def test_a_stack_of_the_guide_is_sound_at_the_second_try(text: str, faults: int) -> None:
    assert len(errors(text)) == faults, "all are listed at once"
    assert [str(each) for each in errors(fixed(text))] == []


def test_what_was_typed_is_kept() -> None:
    config, _ = judge(fixed(BOTH_OUTSIDE))
    assert config is not None
    assert config.controller.external is not None
    assert (config.controller.external.host, config.controller.external.port) == ("ctl.example.net", 6817)
    assert config.accounting.external is not None
    assert (config.accounting.external.host, config.accounting.external.port) == ("dbd.example.net", 6819)
    assert config.nodesets["cpu"].replicas == 2
    assert [config.secret_of(key).name for key in (SLURM, JWT)] == ["slurm-auth-slurm", "slurm-auth-jwths256"]
    host_network, _ = judge(fixed(HOST_NETWORK))
    assert host_network is not None
    assert (host_network.nodesets["cpu"].resources.cpus, host_network.nodesets["cpu"].pod.host_network) == ("8", True)


def test_what_is_to_be_pasted_has_each_section_once_and_the_file_s_own_values() -> None:
    file = parse(BOTH_OUTSIDE)
    pasted, lost = block(file.sections, judge(BOTH_OUTSIDE)[1])
    found = read_yaml(pasted)
    assert sorted(found) == [f"slinky-iac:{name}" for name in ("accounting", "cluster", "controller")]
    assert lost == ["keys"], "names of Secrets aren't shown, and to paste another one would change the value"
    assert found["slinky-iac:cluster"] == {"name": "atlas", "slurmVersion": "26.05", "createNamespace": False}
    assert found["slinky-iac:controller"] == {"external": {"host": "ctl.example.net", "port": 6817}}
    assert "slurm-auth" not in pasted, "names of Secrets aren't shown"


SEVERAL = """
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "26.05"}
  slinky-iac:nodesets:
    a: {replicas: 1}
    b:
      replcas: 2
      image: registry.example.org/slinkyproject/slurmd:26.05-ubuntu26.04
      pod: {tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}
    c: {count: 2, env: {SITE: "a value that may be a password of the site's"}}
"""


def test_of_nodesets_those_with_an_error_are_shown_and_none_whose_values_would_be_others() -> None:
    file = parse(SEVERAL)
    pasted, lost = block(file.sections, judge(SEVERAL)[1])
    b = read_yaml(SEVERAL)["config"]["slinky-iac:nodesets"]["b"]
    b["replicas"] = b.pop("replcas")
    assert read_yaml(pasted) == {"slinky-iac:nodesets": {"b": b}}
    assert lost == ["nodesets.c"]


def test_an_image_that_holds_a_key_is_no_image() -> None:
    key = "0f3a" * 16
    for image in (f"r.example.org/{key}:1", f"r.example.org/a:{key}", key):
        assert key not in str(masked({"image": image}))
    digest = f"r.example.org/a/slurmd@sha256:{key}"
    assert masked({"image": digest}) == {"image": digest}
    assert key not in str(masked({"images": {"slurmd": f"r.example.org/{key}:1"}}))


OLDER = """\
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "25.11"%s}
  slinky-iac:keys: {source: imported}
  slinky-iac:controller:
    external: {host: ctl.example.net}
  slinky-iac:accounting:
    external: {host: dbd.example.net}
  slinky-iac:nodesets:
    cpu: {replicas: 2}
"""


def test_images_of_the_clusters_release_are_shown_to_paste() -> None:
    text = OLDER % ""
    pasted, lost = block(parse(text, PROJECT).sections, judge(text)[1])
    assert lost == []
    assert read_yaml(pasted)["slinky-iac:cluster"]["images"] == {
        name: f"ghcr.io/slinkyproject/{name}:25.11-ubuntu24.04" for name in ("slurmrestd", "slurmd")
    }


def test_fix_is_named_only_where_it_writes_a_file() -> None:
    text = OLDER % ", namespace: a0f3ab4c5d6e7f809a0f3ab4c5d6e7f809a0f3ab4c5d6e7f8"
    lines = list(as_text(Path("a.yaml"), judge(text)[1], Paint(False), sections=parse(text, PROJECT).sections))
    (said,) = (line for line in lines if "No YAML is shown" in line)
    assert said == "cluster: No YAML is shown, since a value in it may be secret"


def test_sections_that_need_nothing_keep_their_text_and_a_comment_stays_with_its_section() -> None:
    text = (
        "# mine\nconfig:\n  # the name\n  slinky-iac:cluster: {name: atlas} # ours\n\n  # workers\n  slinky-iac:nodesets:\n"
        "    cpu: {count: 4}\n  # no database\n  slinky-iac:accounting: {enabled: false}\nencryptionsalt: v1:abc\n"
    )
    assert fixed(text) == text.replace("    cpu: {count: 4}\n", "    cpu:\n      replicas: 4\n")


def test_a_word_for_a_setting_that_has_another_value_is_left_to_a_person() -> None:
    text = "config:\n  slinky-iac:cluster: {name: a}\n  slinky-iac:nodesets: {cpu: {replicas: 2, count: 4}}\n"
    assert fixed(text) == text


def test_a_sound_file_and_what_only_a_person_can_say_stay_as_they_are() -> None:
    text = fixed(BOTH_OUTSIDE)
    assert fixed(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "slurmKey: cmVhbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZQ",
        "conf: |",
        "- cmVhbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQ",
    ],
)
def test_no_value_that_may_be_a_key_is_in_the_difference(line: str) -> None:
    shown = "\n".join(difference("a: 1\n", f"a: 1\n{line}\n", ("old", "new")))
    assert "cmVhbCBr" not in shown


def test_fix_writes_a_new_file_and_shows_the_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(BOTH_OUTSIDE)
    assert main(["check", "--fix", str(file)]) == 0
    out = capsys.readouterr().out
    assert "-    external: true\n" in out
    assert "+      host: ctl.example.net\n" in out
    assert file.read_text() == BOTH_OUTSIDE
    assert judge((tmp_path / "Pulumi.prod.yaml.new").read_text())[0] is not None
    assert main(["check", "--fix", str(file)]) == 1
    assert "is there from an earlier run, and nothing was written. To take it: mv" in capsys.readouterr().err
