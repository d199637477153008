"""Inputs as real sites have them, each with its right answer: tests/cases/field/NAME has the input and expected.yaml.

expected.yaml: ``right`` and ``source`` say what holds and why; ``run`` is how it is looked at. For ``check``: ``errors``
(all of them) and ``warnings`` (some) by place with words of the message, ``lines`` of slurm.conf, and ``variants`` that lay
sections over the input. For ``init``: its exit code, what it says, never says, and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.config.findings import Level
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.kube.kubeconfig import load as load_kubeconfig
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.slurm_conf import controller_extra_conf
from tests.stacks import ROOT, merged

FOLDER = ROOT / "tests" / "cases" / "field"
Words = Mapping[str, list[str]]


@dataclass(frozen=True)
class Answer:
    """What is right of one input of ``check``. A field that expected.yaml has and this hasn't is refused."""

    errors: Words
    warnings: Words = field(default_factory=dict)
    never_warned: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    never_lines: tuple[str, ...] = ()
    controller: Mapping[str, Any] = field(default_factory=dict)
    """Values in the spec of the Controller, by path."""


@dataclass(frozen=True)
class Case:
    """One folder."""

    folder: Path
    run: str
    expected: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its folder's name."""
        return self.folder.name


def case_of(folder: Path) -> Case:
    expected = yaml.safe_load((folder / "expected.yaml").read_text())
    for key in ("right", "source"):
        assert expected.pop(key), f"{folder.name} has no {key}"
    return Case(folder, expected.pop("run"), expected)


CASES = [case_of(each) for each in sorted(FOLDER.iterdir())]


def of(run: str) -> list[Case]:
    return [each for each in CASES if each.run == run]


def ids(case: Case) -> str:
    return case.name


INPUTS: list[tuple[str, dict[str, Any], Mapping[str, Any]]] = []
"""Each input of ``check``: its name, the stack's sections and the answer."""
for _case in of("check"):
    _base = yaml.safe_load((_case.folder / "stack.yaml").read_text())["config"]
    _own = {key: value for key, value in _case.expected.items() if key not in ("variants", "refuses")}
    INPUTS.append((_case.name, _base, _own))
    for _number, _each in enumerate(_case.expected.get("variants", ()), 1):
        _over = {f"slinky-iac:{section}": value for section, value in _each["set"].items()}
        INPUTS.append((f"{_case.name} {_number}", merged(_base, _over), {k: v for k, v in _each.items() if k != "set"}))


def judged(sections: Mapping[str, Any]) -> tuple[StackConfig | None, list[tuple[Level, str, str]]]:
    config, found = judge(yaml.safe_dump({"config": dict(sections)}))
    return config, [(each.finding.level, each.finding.path, each.finding.message) for each in found]


def require(found: list[tuple[Level, str, str]], level: Level, words: Words) -> None:
    for path, expected in words.items():
        said = [text for each, at, text in found if (each, at) == (level, path)]
        assert [text for text in said if all(word in text for word in expected)], (path, expected, found)


@pytest.mark.parametrize(("sections", "expected"), [(s, e) for _, s, e in INPUTS], ids=[name for name, _, _ in INPUTS])
def test_check_gives_the_right_answer_and_no_other_error(sections: dict[str, Any], expected: Mapping[str, Any]) -> None:
    answer = Answer(**expected)
    config, found = judged(sections)
    require(found, Level.ERROR, answer.errors)
    require(found, Level.WARNING, answer.warnings)
    assert {path for level, path, _ in found if level is Level.ERROR} == set(answer.errors), found
    assert not {path for level, path, _ in found if level is Level.WARNING} & set(answer.never_warned), found
    if answer.lines or answer.never_lines:
        assert config is not None
        lines = controller_extra_conf(config).splitlines()
        assert set(answer.lines) <= set(lines), lines
        assert not set(answer.never_lines) & set(lines), lines
    for path, value in answer.controller.items():
        assert config is not None
        assert at(controller_spec(config), path) == value


def at(spec: Any, path: str) -> Any:
    for step in path.split("."):
        spec = spec[step]
    return spec


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project without a stack."""
    (tmp_path / "Pulumi.yaml").write_text("name: slinky-iac\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", [each for each in of("check") if "refuses" in each.expected], ids=ids)
def test_a_command_that_would_hand_it_on_refuses_it(case: Case, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = project / "stack.yaml"
    stack.write_text((case.folder / "stack.yaml").read_text())
    for command in case.expected["refuses"]:
        assert main([command, "--config", str(stack), "--out", "out"]) == 1
        assert all(path in capsys.readouterr().err for path in case.expected["errors"])
        assert not (project / "out").exists()


@pytest.mark.parametrize("case", of("init"), ids=ids)
def test_init_gives_the_right_answer(case: Case, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = dict(case.expected)
    (project / "show.txt").write_text((case.folder / "show.txt").read_text())
    assert main(["init", "site", "--show-config", "show.txt", "--nodeset", "burst=2"]) == expected.pop("exit")
    output = capsys.readouterr()
    said, file = output.out + output.err, project / "Pulumi.site.yaml"
    assert [words for words in expected.pop("says", ()) if words not in said] == []
    assert [words for words in expected.pop("never", ()) if words in said] == []
    written = yaml.safe_load(file.read_text())["config"] if file.exists() else None
    wanted = expected.pop("written", None)
    assert (written is None) == (wanted is None)
    for section, values in (wanted or {}).items():
        assert written[f"slinky-iac:{section}"].items() >= values.items()
    assert expected == {}


@pytest.mark.parametrize("case", of("controller"), ids=ids)
def test_a_new_content_alone_changes_the_controller(case: Case) -> None:
    before, after = (judged(yaml.safe_load((case.folder / f"{n}.yaml").read_text())["config"]) for n in ("before", "after"))
    assert before[0] is not None
    assert after[0] is not None
    assert controller_spec(before[0]) != controller_spec(after[0])
    assert controller_spec(before[0]) == controller_spec(before[0])


@pytest.mark.parametrize("case", of("kubeconfig"), ids=ids)
def test_another_identity_is_acted_on(case: Case) -> None:
    access = load_kubeconfig(KubeSource(path=case.folder / "kubeconfig.yaml"), env={}, home=case.folder)
    assert [list(each) for each in access.user.impersonation] == case.expected["impersonation"]


def test_every_folder_is_looked_at_and_has_what_it_needs() -> None:
    files = {"check": {"stack.yaml"}, "init": {"show.txt"}, "controller": {"before.yaml", "after.yaml"}}
    files |= {"kubeconfig": {"kubeconfig.yaml"}}
    assert len(CASES) == 31
    for case in CASES:
        assert {each.name for each in case.folder.iterdir()} == files[case.run] | {"expected.yaml"}, case.name
