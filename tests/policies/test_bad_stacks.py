"""The whole pack over the real engine: sound stacks pass, and each bad one is refused by the rule it is named after."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from slurm_rules.catalogue import RULES

from tests.integration.engine import Engine, Project, Tools
from tests.policies.in_memory import in_memory, speaking
from tests.policies.pack import BAD, Outcome, also_of, bad_stack, lay_out, plain_project, plain_stack, preview, site_of

STRICTEST = {"all": "mandatory"}
AT_ONCE = 3
"""Previews side by side: an engine waits for its plugins much of the time."""


def rule_of(file: Path) -> str:
    """The rule that a bad stack is named after; more than one may be, told apart by what follows the dot."""
    return file.stem.split(".")[0]


DEPLOYED_ONLY = ("key-age",)
"""Rules that judge what a preview doesn't know; test_saved_state.py has them."""
FIRST = [file for index, file in enumerate(BAD) if index == 0 or rule_of(BAD[index - 1]) != rule_of(file)]
FIRST = [file for file in FIRST if rule_of(file) not in DEPLOYED_ONLY]
"""One bad stack a rule for the engine, at two seconds of CPU each; the rules judge all of them without it."""


@pytest.fixture(scope="module")
def previews(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Every stack's preview, with all rules mandatory, so that an advisory one that spoke would refuse as well."""
    root = tmp_path_factory.mktemp("bad")
    engine = Engine(tools, root / "engine")
    first = plain_project(engine, root / "inside", plain_stack("inside"))
    stacks = {"inside": plain_stack("inside"), "outside": plain_stack("outside")}
    stacks |= {file.stem: bad_stack(file) for file in FIRST}
    sites = {file.stem: site_of(file) for file in FIRST}
    pool = ThreadPoolExecutor(AT_ONCE)

    def one(name: str) -> Outcome:
        folder = root / name
        if folder != first.folder:
            shutil.copytree(first.folder, folder)
        lay_out(folder, stacks[name])
        bounds = {rule: {"enforcementLevel": "mandatory", **values} for rule, values in sites.get(name, {}).items()}
        return preview(Project(engine, folder), {**STRICTEST, **bounds})

    running: dict[str, Future[Outcome]] = {name: pool.submit(one, name) for name in stacks}
    return lambda name: running[name].result()


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_a_sound_stack_passes_with_every_rule_mandatory(previews: Callable[[str], Outcome], name: str) -> None:
    seen = previews(name)
    assert seen.code == 0, seen.output
    assert seen.spoke == set()


@pytest.mark.parametrize("file", FIRST, ids=lambda file: file.stem)
def test_a_preview_of_a_bad_stack_is_refused_by_its_rule_and_by_no_other(
    previews: Callable[[str], Outcome], file: Path
) -> None:
    seen = previews(file.stem)
    assert seen.code != 0, seen.output
    assert seen.refused_by == {rule_of(file)} | also_of(file), seen.output


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_no_rule_speaks_of_a_sound_stack(name: str) -> None:
    assert speaking(in_memory(plain_stack(name))) == set()


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_stack_violates_its_rule_and_none_that_it_does_not_name(file: Path) -> None:
    assert speaking(in_memory(bad_stack(file)), site_of(file)) == {rule_of(file)} | also_of(file)


def test_every_rule_has_a_bad_stack() -> None:
    assert {rule_of(file) for file in BAD} == {rule.name for rule in RULES}


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_stack_says_what_is_wrong_with_it(file: Path) -> None:
    assert file.read_text().startswith("# ")
