"""A setting that isn't indented far enough is said to be that, and nothing else: it is judged and mended as no other one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.config.findings import Level

HEAD = "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"
BY_TWO = "indent it, and all that is below it, by two"


def said(text: str) -> list[str]:
    places = judge(text)[1]
    return [f"{place.line}: {place.finding}" for place in places if place.finding.level is Level.ERROR]


SHIFTED = {
    "below a name": (
        "  slinky-iac:nodesets:\n    burst:\n    replicas: 4\n    resources:\n      cpus: 4\n",
        [
            f"6: nodesets.replicas: belongs to burst in line 5, and isn't indented below it: {BY_TWO}",
            f"7: nodesets.resources: belongs to burst in line 5, and isn't indented below it: {BY_TWO}",
        ],
    ),
    "one of several": (
        "  slinky-iac:nodesets:\n    burst:\n      replicas: 4\n    resources:\n      cpus: 4\n    gpu: {replicas: 1}\n",
        [f"7: nodesets.resources: belongs to burst in line 5, and isn't indented below it: {BY_TWO}"],
    ),
    "a number beside its NodeSet": (
        "  slinky-iac:nodesets:\n    burst:\n      resources: {cpus: 4}\n    replicas: 4\n",
        [f"7: nodesets.replicas: belongs to burst in line 5, and isn't indented below it: {BY_TWO}"],
    ),
    "below a section's part": (
        "  slinky-iac:controller:\n    external:\n    host: ctl.example.org\n    port: 6817\n",
        [
            f"6: controller.host: belongs to external in line 5, and isn't indented below it: {BY_TWO}",
            f"7: controller.port: belongs to external in line 5, and isn't indented below it: {BY_TWO}",
        ],
    ),
    "a name below its section": (
        "  slinky-iac:nodesets:\n  burst:\n    replicas: 4\n",
        [f"5: burst: belongs to nodesets in line 4, and isn't indented below it: {BY_TWO}"],
    ),
    "one part of several": (
        "  slinky-iac:controller:\n    external:\n      host: ctl.example.org\n    port: 6817\n",
        [f"7: controller.port: belongs to external in line 5, and isn't indented below it: {BY_TWO}"],
    ),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_setting_one_level_too_far_left_says_where_it_belongs(name: str) -> None:
    more, wanted = SHIFTED[name]
    assert said(HEAD + more) == wanted


@pytest.mark.parametrize("name", SHIFTED)
def test_nothing_is_pasted_or_mended_for_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(HEAD + SHIFTED[name][0])
    assert main(["check", "--fix", str(file)]) == 6
    out = capsys.readouterr().out
    assert ("Paste this below" in out, "`slinky check --fix" in out) == (False, False)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "more",
    [
        "  slinky-iac:nodesets:\n    resources: {replicas: 4}\n    partition: {replicas: 1}\n",
        "  slinky-iac:nodesets:\n    burst: {replicas: 4}\n    pod: {replicas: 1, resources: {cpus: 1}}\n",
    ],
)
def test_a_nodeset_may_be_called_as_a_setting_is(more: str) -> None:
    assert said(HEAD + more) == []


TOP = "slinky-iac:cluster:\n  name: c\nslinky-iac:accounting:\n  enabled: false\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (f"config:\n{TOP}", 2, "they aren't below it. Indent lines 2 to 5 by two"),
        (TOP, 1, "write `config:` above line 1, and indent lines 1 to 4 by two"),
        ("slinky-iac:cluster: {name: c}\n", 1, "write `config:` above line 1, and indent line 1 by two"),
        ("config:\nslinky-iac:cluster: {name: c}\n", 2, "they aren't below it. Indent line 2 by two"),
        (
            textwrap.indent(TOP, "  "),
            1,
            "is missing, and there are sections of slinky-iac: write `config:` above line 1",
        ),
        (f"encryptionsalt: x\n{TOP}", 2, "write `config:` above line 2"),
        (f"{HEAD}slinky-iac:nodesets:\n  burst: {{replicas: 1}}\n", 4, "nodesets: stands beside `config:` and not below it"),
        ("# ours\nClusterName=atlas\nSlurmctldHost=ctl(10.0.0.1)\nNodeName=n1 CPUs=4\n", 2, "this is slurm.conf"),
        ("NodeName=DEFAULT: x\n", 1, "this is slurm.conf"),
    ],
)
def test_sections_beside_config_and_slurm_conf_are_said_to_be_that(
    text: str, line: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = said(text)
    assert found.startswith(f"{line}: ")
    assert words in found
    assert "ndent" not in found or not text.startswith(" ")
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(text)
    main(["check", str(file)])
    assert "Paste this below" not in capsys.readouterr().out
