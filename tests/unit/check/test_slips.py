"""Slips of YAML are named in words and with the line that has them, and a key that nothing reads is never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.commands.import_chart import layered
from slinky_iac.config.findings import Level
from slinky_iac.errors import ProjectError

HEAD = "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"


def said(text: str) -> list[str]:
    places = judge(text)[1]
    return [f"{place.line}: {place.finding}" for place in places if place.finding.level is Level.ERROR]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            "  slinky-iac:nodesets:\n    gpu:\n      replicas 2\n      cpus: 1\n",
            "6: line 6 has no `:` behind its name: write `replicas: VALUE`",
        ),
        ("  slinky-iac:drain:\n    reason: atlas: prod\n", "5: the value in line 5 has `: ` in it: put quotes around it"),
        (
            '  slinky-iac:drain:\n    reason: "atlas\n    deadline: "30m"\n',
            "5: the quote that opens in line 5 isn't closed: add it at the text's end",
        ),
        (
            "  slinky-iac:drain:\n    reason: 'atlas\n    deadline: 30m\n",
            "5: the quote that opens in line 5 isn't closed: add it at the text's end",
        ),
        (
            "  slinky-iac:restapi:\n    service: {a: a #x, b: 1}\n",
            "5: ` #` begins a comment in line 5, so its bracket isn't closed: put the text that has it in quotes",
        ),
    ],
)
def test_a_slip_is_named_with_its_line_and_its_cure(more: str, wanted: str) -> None:
    assert said(HEAD + more)[:1] == [wanted]


@pytest.mark.parametrize(
    "more",
    [
        '  slinky-iac:drain:\n    reason: "two\n      lines"\n',
        "  slinky-iac:controller:\n    prolog:\n      a.sh: |\n        #!/bin/sh\n        echo two words\n",
    ],
)
def test_sound_texts_of_several_lines_are_no_slips(more: str) -> None:
    assert not [each for each in said(HEAD + more) if "line" in each.partition(": ")[2][:10]]


BESIDE = "stands beside `config:` and not below it, so it isn't read"


@pytest.mark.parametrize(
    ("root", "path", "words"),
    [
        ("slurmKeyRef: {name: a, key: slurm.key}", "slurmKeyRef", "it is `keys.slurmKeyFrom"),
        ("jwtHs256KeyRef: {name: a, key: jwt}", "jwtHs256KeyRef", "`slinky import-chart`"),
        ("clusterName: a", "clusterName", "the name is `cluster.name`"),
        ("loginsets: {a: {}}", "loginsets", "`slinky import-chart`"),
        ("configFiles: {a: b}", "configFiles", "`controller.configFiles`"),
        ("nodeset: {a: {replicas: 1}}", "nodeset", "did you mean slinky-iac:nodesets below it?"),
        ("Slinky-iac:drain: {deadline: 1h}", "Slinky-iac:drain", "did you mean slinky-iac:drain below it?"),
        ("nodesets: {a: {replicas: 1}}", "nodesets", "indent it, and all that is below it, by two"),
        ("whatever: 1", "whatever", "Remove it, or write it below `config:`"),
        ("slurmKey: {create: true}", "slurmKey", "`slinky import-chart`"),
        ("slinky-iac:slurmKey: {secure: AAAA}", "slurmKey", "indent it"),
        ("slinky-iac:slurmKey: MTIz", "slurmKey", "`slinky keys import slurm"),
    ],
)
def test_every_key_beside_config_that_pulumi_does_not_read_is_an_error(root: str, path: str, words: str) -> None:
    (found,) = [each for each in said(f"{HEAD}{root}\n") if BESIDE in each]
    assert found.startswith(f"4: {path}: ")
    assert words in found
    if "Ref" not in root and "secure" not in root and path != "nodesets":
        assert "indent it" not in found


@pytest.mark.parametrize(
    "root", ["secretsprovider: passphrase", "encryptionsalt: v1:a", "encryptedkey: a", "environment: [a]"]
)
def test_keys_of_pulumi_stay(root: str) -> None:
    assert said(f"{root}\n{HEAD}") == []


def test_a_key_whose_anchor_is_used_stays() -> None:
    text = "x-pool: &pool {nodeSelector: {pool: a}}\n" + HEAD + "  slinky-iac:nodesets: {a: {replicas: 1, pod: *pool}}\n"
    assert said(text) == []


def test_a_prefix_without_a_name_is_called_so() -> None:
    assert any(each.startswith("4: slinky-iac:: has no name behind it") for each in said(HEAD + "  'slinky-iac:': [a]\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:\n  replicas 2\n  b: 1\n", "line 2 has no `:`"),
        ("a:\n%{ if x }\n  b: 1\n", "looks like a template: render it first, or give what `helm get values` prints"),
        ("a: {{ .Values.x }}\nb: [\n", "looks like a template"),
    ],
)
def test_values_that_are_no_yaml_say_their_cause(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(ProjectError) as wrong:
        layered([str(file)])
    assert words in str(wrong.value)
    assert "Nothing was written" in str(wrong.value)


def test_a_stack_s_name_stands_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Pulumi.prod.yaml").write_text(HEAD)
    assert main(["check", "prod"]) == 0
    assert "Pulumi.prod.yaml: " in capsys.readouterr().out
    assert main(["check", "dev"]) == 1


def test_fix_of_a_sound_file_says_that_there_is_nothing_to_put_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(HEAD)
    main(["check", "--fix", str(file)])
    assert "--fix finds nothing that it can put right" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [file]


def test_a_release_s_form_has_an_example() -> None:
    text = HEAD.replace("{name: c}", '{name: c, slurmVersion: "26.5"}')
    assert any("its year and its month, as 26.05" in each for each in said(text))
