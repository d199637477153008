"""Slips of people who come from metal or from the chart: each has the YAML to write, and the line that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.check import as_text, judge
from slinky_iac.commands.output import Paint
from slinky_iac.config.chart.unread import Unread, read_by
from slinky_iac.config.reading.stack_file import Place, parse
from tests.stacks import read_yaml

HEAD = """config:
  slinky-iac:cluster: {name: atlas, slurmVersion: '26.05'}
  slinky-iac:accounting: {enabled: false}
"""


def found(text: str) -> dict[str, Place]:
    return {place.finding.path: place for place in judge(HEAD + text)[1]}


def pasted(text: str, file: str = "Pulumi.x.yaml") -> dict[str, object]:
    """What `check` prints to paste."""
    read = parse(HEAD + text)
    lines = list(as_text(Path(file), judge(HEAD + text)[1], Paint(False), sections=read.sections))
    return dict(read_yaml("\n".join(line[2:] for line in lines if line.startswith("  "))))


@pytest.mark.parametrize("part", ["nodesets: {gpu: {replicas: 1, home: /home}}", "logins: {main: {home: /home}}"])
def test_homes_are_a_volume_and_the_volume_is_written_out(part: str) -> None:
    path = "nodesets.gpu.home" if part.startswith("nodesets") else "logins.main.home"
    message = found(f"  slinky-iac:{part}\n")[path].finding.message
    right = message.partition("a volume: ")[2]
    assert read_yaml(right)["volumes"][0]["mountPath"] == "/home"
    assert "allowed here" not in message


@pytest.mark.parametrize("word", ["hostKeys", "sshHostKeys", "hostkey"])
def test_host_keys_are_the_operators(word: str) -> None:
    message = found(f"  slinky-iac:logins: {{main: {{{word}: a}}}}\n")[f"logins.main.{word}"].finding.message
    assert "slurm-operator makes sshd's host keys once" in message
    assert "remove the line" in message


def test_labels_as_kubectl_takes_them_and_one_toleration_without_its_dash_are_written_out() -> None:
    text = """  slinky-iac:nodesets:
    gpu:
      replicas: 1
      pod:
        nodeSelector: example.org/pool=gpu,zone=a
        tolerations: {key: example.org/slurm, operator: Exists}
"""
    pod = {
        "nodeSelector": {"example.org/pool": "gpu", "zone": "a"},
        "tolerations": [{"key": "example.org/slurm", "operator": "Exists"}],
    }
    assert pasted(text) == {"slinky-iac:nodesets": {"gpu": {"replicas": 1, "pod": pod}}}


@pytest.mark.parametrize("text", ["a==b", "a in (b)", "!a", "a=b,c", "hunter2-S3cret!=x"])
def test_another_selector_is_no_mapping(text: str) -> None:
    said = found(f"  slinky-iac:nodesets: {{gpu: {{replicas: 1, pod: {{nodeSelector: '{text}'}}}}}}\n")
    finding = said["nodesets.gpu.pod.nodeSelector"].finding
    assert finding.instead is None
    assert "write, for example, nodeSelector: {" in finding.message


def test_what_is_below_a_section_of_another_name_has_its_own_line() -> None:
    text = "  slinky-iac:login:\n    other: {sssdConfFrom: {secret: a}}\n    main:\n      replicas: 1\n"
    said = found(text)
    assert said["login"].line == 4
    assert said["logins.main.sssdConfFrom"].line == 6


def test_a_secret_for_login_pods_is_made_after_its_namespace() -> None:
    login = "  slinky-iac:logins: {main: {replicas: 1}}\n"
    message = found(login)["logins.main.sssdConfFrom"].finding.message
    assert "before it `kubectl create namespace slurm`, and set cluster.createNamespace: false" in message
    for over in ("createNamespace: false", "keepNamespace: true"):
        text = HEAD.replace("atlas,", f"atlas, {over},") + login
        (place,) = (each for each in judge(text)[1] if each.finding.path == "logins.main.sssdConfFrom")
        assert "kubectl create secret generic slurm-sssd -n slurm" in place.finding.message
        assert "kubectl create namespace" not in place.finding.message


@pytest.mark.parametrize(
    ("key", "minor", "words"),
    [
        (
            "useResourceLimits",
            1,
            "only 1.0, so it has no effect with Helm. It is always so here, since requests equal limits",
        ),
        ("taintKubeNodes", 2, "only 1.0 and 1.1, so it has no effect with Helm. Here the stack taints no node"),
        ("taintKubeNodes", 2, "`kubectl taint nodes NODE KEY=VALUE:NoSchedule`"),
        ("pinToNode", 1, "only 1.2 and 1.3, so it has no effect with Helm. Here pods can't be pinned"),
    ],
)
def test_a_key_of_another_release_has_what_there_is_here(key: str, minor: int, words: str) -> None:
    unread = Unread()
    read_by({"nodesets": {"gpu": {key: True}}}, minor, unread)
    ((path, why),) = unread.left
    assert path == f"nodesets.gpu.{key}"
    assert words in why
