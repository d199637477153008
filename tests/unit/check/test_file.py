"""A stack's file is judged offline: every error has its line, secrets are never shown, and nothing makes a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import examined, load
from slinky_iac.config.reading.stack_file import parse
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.rules.sound import of_sound, without_faults
from slinky_iac.config.stack import SECRET_KEYS
from tests.clusters import MUNGE, STACKS, stack_sections
from tests.stacks import EXAMPLES
from tests.unit.config.test_shown import broken, places
from tests.unit.examples import examples

STACK = """\
# a comment
config:
  slinky-iac:cluster:
    name: lab
    slurmVersion: 26.05
  slinky-iac:accounting:
    enabled: false
  slinky-iac:keys:
    source: imported
  slinky-iac:slurmKey:
    secure: v1:abcdef
  slinky-iac:controller:
    external: {host: ctl.example.org}
  slinky-iac:nodesets:
    gpu:
      replicas: 1
      replica: 2
encryptionsalt: v1:salt
"""


def said(text: str, level: Level = Level.ERROR) -> list[tuple[int, str]]:
    return [(place.line, str(place.finding)) for place in judge(text)[1] if place.finding.level is level]


def test_every_error_has_its_line() -> None:
    assert [(line, text.split(":")[0]) for line, text in said(STACK)] == [
        (5, "cluster.slurmVersion"),
        (17, "nodesets.gpu.replica"),
    ]


def test_what_is_missing_has_the_line_of_the_section_around_it() -> None:
    assert said("config:\n  slinky-iac:accounting: {enabled: false}\n  slinky-iac:cluster:\n    namespace: a\n") == [
        (3, "cluster.name: is missing and has no default: write, for example, name: atlas")
    ]


def test_an_encrypted_secret_is_there_and_one_to_come_is_a_warning() -> None:
    sound = STACK.replace("26.05", '"26.05"').replace("      replica: 2\n", "")
    config, found = judge(sound)
    assert config is not None
    waiting = [str(each.finding) for each in found if "is not set" in each.finding.message]
    assert waiting == [
        "keys.source: imported, but jwtKey is not set; run `slinky keys import jwt --file jwt_hs256.key`, with the file of"
        " slurmctld's host"
    ]
    assert said(sound) == []


def test_a_secret_in_plain_text_is_an_error_without_its_text() -> None:
    ((line, text),) = said(
        STACK.replace("\n    secure: v1:abcdef", " hunter2").replace("26.05", '"26.05"').replace("      replica: 2\n", "")
    )
    assert (line, text.split(".")[0]) == (10, "slurmKey: is a secret in plain text")


def test_a_key_in_plain_text_is_not_said_to_be_missing_too() -> None:
    sound = STACK.replace("26.05", '"26.05"').replace("      replica: 2\n", "")
    _, found = judge(sound.replace("\n    secure: v1:abcdef", " hunter2"))
    assert not [each for each in found if "slurmKey is not set" in each.finding.message]


def test_a_secret_inside_a_section_is_an_error() -> None:
    text = STACK.replace("name: lab", "name: {secure: v1:abc}")
    assert (3, "cluster.name: is encrypted, and with it the whole section becomes a secret") in [
        (line, words.split(";")[0]) for line, words in said(text)
    ] or any("cluster.name: is encrypted" in words for _, words in said(text))


def test_a_key_that_occurs_twice_is_an_error_as_it_is_to_pulumi() -> None:
    assert said(STACK.replace("      replica: 2", "      replicas: 2")) == [
        (17, "nodesets.gpu.replicas: is there twice, first in line 16, and pulumi refuses the file. Delete one of them")
    ]


def test_a_section_in_one_text_is_json_as_pulumi_config_set_stores_it() -> None:
    text = """config:\n  slinky-iac:cluster: '{"name": "lab"}'\n  slinky-iac:accounting: '{"enabled": false}'\n"""
    config, found = judge(text)
    assert config is not None, found
    assert config.cluster.name == "lab"


def test_who_judges_the_contents_of_files_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(STACK.replace("26.05", '"26.05"').replace("      replica: 2\n", ""))
    main(["check", str(file)])
    assert "--try" not in capsys.readouterr().out
    files = "  slinky-iac:controller: {configFiles: {topology.yaml: '- topology: a'}}\n"
    file.write_text(f"config:\n  slinky-iac:cluster: {{name: c}}\n  slinky-iac:accounting: {{enabled: false}}\n{files}")
    main(["check", str(file)])
    assert "`slinky preflight --try`" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["12:30:00", "1:02"])
def test_times_stay_texts_as_pulumi_has_them(text: str) -> None:
    file = parse(f"config:\n  slinky-iac:partitions:\n    a:\n      config: {{MaxTime: {text}}}\n")
    assert file.sections["partitions"] == {"a": {"config": {"MaxTime": text}}}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_sound(path: Path) -> None:
    assert said(path.read_text()) == []


_OPEN = "column 4: this isn't valid YAML: expected ',' or '}', but got ':'; look at the bracket that opens in line 2"


@pytest.mark.parametrize(
    ("text", "line", "begins"),
    [
        ("", 1, "config: isn't a stack file"),
        ("7", 1, "config: isn't a stack file"),
        ("[]", 1, "config: isn't a stack file"),
        ("config: 7", 1, "config: isn't a stack file"),
        ("a: [", 1, "the bracket that opens in line 1 isn't closed: add `]` where its value ends"),
        ("config:\n  a: {b: c\n\n# end\n", 2, "the bracket that opens in line 2 isn't closed: add `}` where its value ends"),
        ("config:\n  a: {b: [c, d}\n", 2, "column 15: this isn't valid YAML"),
        ("config:\n  a: {b: [c],\n    d: [e,\n", 3, "the bracket that opens in line 3 isn't closed: add `]`"),
        ("encryptionsalt: v1:x\n", 1, "config: isn't there yet: Pulumi has made this file, and no setting is in it"),
        ("secretsprovider: awskms://x\nencryptedkey: x\nconfig:\n", 1, "config: isn't there yet"),
        ("config:\n  a: {b: c\n  d: {e: f}\n", 3, _OPEN),
        (
            "a: b\nconfigs:\n  slinky-iac:cluster: {name: a}\n",
            2,
            "config: is missing, and this name is like it: write `config:`",
        ),
        ("config:\n  a: b\n c: d\n", 3, "line 3 is indented less than line 2"),
        ("config:\n  a: *secretaliasname\n", 2, "column 6: this isn't valid YAML"),
    ],
)
def test_what_is_no_stack_file_is_said_with_its_line(text: str, line: int, begins: str) -> None:
    ((at, words),) = said(text)
    assert (at, words[: len(begins)]) == (line, begins)


@pytest.mark.parametrize(
    "text", ["config:\n  a: !!bool tops3cret\n", "config:\n  a: !!int tops3cret\n", "config: " + "[" * 200]
)
def test_a_tag_before_a_secret_or_a_deep_nest_is_no_traceback_and_no_secret(text: str) -> None:
    ((_, words),) = said(text)
    assert "this isn't valid YAML" in words
    assert "tops3cret" not in words


def test_an_alias_in_itself_ends() -> None:
    assert judge("config:\n  slinky-iac:cluster: &a\n    name: lab\n    images: *a\n")[0] is None


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet=st.sampled_from("abc:- \n\t'\"{}[]&*!|>#%@,?~0.1"), max_size=60))
def test_no_text_makes_a_traceback(text: str) -> None:
    judge("config:\n  slinky-iac:cluster:\n    " + text)
    judge(text)


@settings(max_examples=examples(200), deadline=None)
@given(at=st.integers(0, len(STACK)), junk=st.text(alphabet="\t:{}[]&*'\"\n -x", min_size=1, max_size=4))
def test_a_damaged_file_never_shows_its_secrets(at: int, junk: str) -> None:
    shown = "\n".join(f"{place.finding}{place.finding.paste}" for place in judge(STACK[:at] + junk + STACK[at:])[1])
    assert "abcdef" not in shown


def test_the_command_prints_lines_that_editors_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(STACK)
    assert main(["check", str(file)]) == 6
    out = capsys.readouterr().out
    assert f'{file}:5: error: cluster.slurmVersion: got the number 26.05; quote it: slurmVersion: "26.05"' in out
    assert '  slinky-iac:cluster:\n    name: lab\n    slurmVersion: "26.05"\n' in out
    assert (
        out.splitlines()[-1] == f"{file}: 2 errors; `slinky check --fix {file}` writes a new file with what can be put right"
    )


def test_strict_counts_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(EXAMPLES[2].read_text())
    assert main(["check", str(file)]) == 0
    assert main(["check", "--strict", str(file)]) == 6
    assert "is not set" in capsys.readouterr().out


def test_an_acknowledged_warning_is_shown_with_its_reason_and_counts_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    sound = {"cluster": {"name": "Lab"}, "accounting": {"enabled": False}, "nodesets": {"gpu": {"replicas": 1}}}
    text = {f"slinky-iac:{section}": value for section, value in sound.items()}
    file.write_text(yaml.safe_dump({"config": text}))
    assert main(["check", "--strict", str(file)]) == 6
    assert "[capital-letters]" in capsys.readouterr().out
    text["slinky-iac:acknowledged"] = {"capital-letters": "the cluster has had this name since 2019"}
    file.write_text(yaml.safe_dump({"config": text}))
    assert main(["check", "--strict", str(file)]) == 0
    out = capsys.readouterr().out
    assert "[capital-letters] (reason: the cluster has had this name since 2019)" in out
    assert out.splitlines()[-1] == f"{file}: 1 acknowledged"


def test_a_stack_without_a_nodeset_is_said() -> None:
    text = "config:\n  slinky-iac:cluster: {name: lab}\n  slinky-iac:accounting: {enabled: false}\n"
    assert said(text, Level.INFO) == [(1, "nodesets: none is set: no pod of this stack runs slurmd [no-nodesets]")]
    assert said(text + "  slinky-iac:nodesets: {gpu: {replicas: 1}}\n", Level.INFO) == []


def test_json_has_what_the_text_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(STACK)
    assert main(["check", "--json", str(file)]) == 6
    (found,) = json.loads(capsys.readouterr().out)["files"]
    assert (found["file"], found["counts"]["error"]) == (str(file), 2)
    assert found["findings"][0] == {
        "id": None,
        "level": "error",
        "line": 5,
        "path": "cluster.slurmVersion",
        "message": 'got the number 26.05; quote it: slurmVersion: "26.05"',
        "paste": 'slinky-iac:cluster:\n  slurmVersion: "26.05"\n',
        "acknowledged": None,
    }


def test_without_a_name_every_stack_of_the_folder_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 1
    assert "no Pulumi.<stack>.yaml in this folder" in capsys.readouterr().err
    (tmp_path / "Pulumi.a.yaml").write_text(STACK)
    (tmp_path / "Pulumi.b.yaml").write_text(STACK)
    (tmp_path / "Pulumi.yaml").write_text("name: slinky-iac\nruntime: python\n")
    assert main(["check"]) == 6
    out = capsys.readouterr().out
    assert "Pulumi.a.yaml: 2 errors" in out
    assert "Pulumi.b.yaml: 2 errors" in out


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "absent.yaml")]) == 1
    assert "absent.yaml: can't be read (No such file or directory)" in capsys.readouterr().err


def test_a_file_that_isnt_there_is_said_with_the_one_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text(STACK)
    assert main(["check", str(tmp_path / "Pulumi.prd.yaml")]) != 0
    assert "did you mean Pulumi.prod.yaml?" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "Pulumi.elsewhere.yaml")]) != 0
    assert "here are: Pulumi.prod.yaml" in capsys.readouterr().err


def test_a_folder_of_that_name_is_not_said_to_be_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Pulumi.prod.yaml").mkdir()
    assert main(["check", str(tmp_path / "Pulumi.prod.yaml")]) != 0
    assert "can't be read (Is a directory); name a Pulumi.<stack>.yaml\n" in capsys.readouterr().err


def test_stacks_with_a_point_in_their_names_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stack in ("eu.prod", "eu.test"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(STACK)
    assert main(["check", str(tmp_path / "Pulumi.eu.prd.yaml")]) != 0
    assert "did you mean Pulumi.eu.prod.yaml?" in capsys.readouterr().err


def test_the_name_of_the_project_is_read_from_beside_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "hpc", "runtime": "python"}))
    (tmp_path / "Pulumi.a.yaml").write_text("config:\n  cluster: {name: lab}\n")
    assert main(["check", str(tmp_path / "Pulumi.a.yaml")]) == 6
    assert "belongs to the project, which Pulumi.yaml calls hpc" in capsys.readouterr().out


def test_nodesets_are_shown_with_what_their_defaults_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    text = "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"
    text += "  slinky-iac:nodesetDefaults: {replicas: 2, features: [x]}\n  slinky-iac:nodesets: {a: {}, b: {replicas: 5}}\n"
    file.write_text(text)
    assert main(["check", "--resolved", str(file)]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown == {
        "slinky-iac:nodesets": {"a": {"replicas": 2, "features": ["x"]}, "b": {"replicas": 5, "features": ["x"]}}
    }
    file.write_text(text.replace("features: [x]", "feature: [x]"))
    assert main(["check", "--resolved", str(file)]) == 1
    assert "has errors" in capsys.readouterr().err


ROUNDS = """
config:
  slinky-iac:cluster: {name: lab, quota: {cpu: 4}}
  slinky-iac:accounting: {enabled: false}
  slinky-iac:controller: {extraConf: {SlurmctldPort: 1}}
  slinky-iac:partitions: {both: {nodesets: [GPU_A, cpu]}}
  slinky-iac:nodesets:
    GPU_A: {replicas: 1}
    daemons: {}
    cpu: {replicas: 1, extraConf: {Port: 1}}
"""


def test_errors_beside_a_nodeset_that_cannot_be_read_are_shown_at_once() -> None:
    def errors(text: str) -> set[str]:
        return {each.finding.path for each in judge(text)[1] if each.finding.level is Level.ERROR}

    beside = {"controller.extraConf.SlurmctldPort", "cluster.quota.cpu", "nodesets.cpu.extraConf.Port"}
    assert errors(ROUNDS) == beside | {"nodesets.GPU_A", "nodesets.daemons.replicas"}
    assert beside <= errors(ROUNDS.replace("GPU_A", "gpu-a").replace("daemons: {}", "daemons: {replicas: 1}"))
    other = ROUNDS.replace("name: lab", "name: lab, maxNodeCount: x")
    assert errors(other) & beside == beside - {"cluster.quota.cpu"}  # of the section itself, more may only follow


BESIDE = """
config:
  slinky-iac:cluster: {name: lab, slurmVersion: 26.05}
  slinky-iac:accounting: {enabled: false}
  slinky-iac:controller: {extraConf: {SlurmUser: slurm, Prolg: x}, servce: {type: NodePort}}
  slinky-iac:partitions: {m: {nodesets: ["metal-[001-500]", gpu], config: {MaxTme: 1}}}
  slinky-iac:nodesets: {gpu: {replica: 1, extraConf: {Port: 3}}, cpu: {replicas: 1, extraConf: {NodeAddr: x}}}
"""


def test_lines_of_slurm_are_judged_beside_a_misspelt_setting_of_their_section() -> None:
    assert {text.partition(": ")[0] for _, text in said(BESIDE)} == {
        "cluster.slurmVersion",
        "controller.servce",
        "controller.extraConf.SlurmUser",
        "controller.extraConf.Prolg",
        "partitions.m.nodesets",
        "partitions.m.config.MaxTme",
        "nodesets.gpu.replica",
        "nodesets.gpu.extraConf.Port",
        "nodesets.cpu.extraConf.NodeAddr",
    }


def test_lines_of_a_daemon_of_which_the_place_cannot_be_read_are_not_judged() -> None:
    text = BESIDE.replace("servce: {type: NodePort}", "external: {hots: ctl.example.org}")
    assert not [each for _, each in said(text) if each.startswith("controller.extraConf")]


@pytest.mark.parametrize(
    "more",
    [
        "cluster: {name: 1" + "0" * 5000 + "}",
        "cluster: &a {name: x, b: [*a]}",
        "nodesets: &a {a: *a, 1: {replicas: x}, null: 3}",
        "external: {slurmdHosts: [{name: 3, q: 1}, 5, a]}",
        "nodesets: {a: [1, {b: 2}], b: {volumes: [3, {}, x]}}",
    ],
)
def test_what_cannot_be_replaced_ends_no_judgement(more: str) -> None:
    assert said(f"config:\n  slinky-iac:{more}\n")


def test_a_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, parsed = tmp_path / "Pulumi.a.yaml", []
    file.write_text(STACK)
    whole = yaml.compose
    monkeypatch.setattr(yaml, "compose", lambda *given: parsed.append(given) or whole(*given))
    main(["check", str(file)])
    assert len(parsed) == 1


BROKEN = {
    "a misspelt name": lambda inner, key: inner.__setitem__(f"{key}zq", inner.pop(key)) if isinstance(inner, dict) else None,
    "another kind of value": lambda inner, key: inner.__setitem__(key, "x" if isinstance(inner[key], dict) else {"x": {}}),
    "a value that can't be": lambda inner, key: inner.__setitem__(key, "Not A Name!"),
    "nothing": lambda inner, key: inner.pop(key) if isinstance(inner, dict) else None,
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("stack", [*STACKS, MUNGE])
def test_one_setting_that_cannot_be_read_brings_no_error_about_a_sound_section(stack: str, how: str) -> None:
    """Of each place of each example: rules go by other sections, and what can't be read has a stand-in for them."""
    data, secret = stack_sections(stack), frozenset(SECRET_KEYS)
    before = set(findings(load(data), secret))
    follows = []
    for where in places(data):
        given_ = broken(data, where, BROKEN[how])
        config, faults = examined(given_)
        if config is None:
            sound = without_faults(given_)
            assert sound is not None, where
            follows += [
                (where, str(each)) for each in of_sound(findings(sound, secret), faults, sound) if each not in before
            ]
    assert follows == []
