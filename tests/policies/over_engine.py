"""Previews of sound and bad stacks over the real engine, some at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.integration.engine import Engine, Project, Tools
from tests.policies.pack import BAD, Outcome, also_of, bad_stack, lay_out, plain_project, plain_stack, preview, site_of

STRICTEST = {"all": "mandatory"}
AT_ONCE = 3
"""Previews side by side: an engine waits for its plugins much of the time."""


def rule_of(file: Path) -> str:
    """The rule that a bad stack is named after; more than one may be, told apart by what follows the dot."""
    return file.stem.split(".")[0]


def assert_refused_by_its_rule_alone(seen: Outcome, file: Path) -> None:
    assert seen.code != 0, seen.output
    assert seen.refused_by == {rule_of(file)} | also_of(file), seen.output


DEPLOYED_ONLY = ("key-age",)
"""Rules that judge what a preview doesn't know; test_saved_state.py has them."""
FIRST = [file for index, file in enumerate(BAD) if index == 0 or rule_of(BAD[index - 1]) != rule_of(file)]
FIRST = [file for file in FIRST if rule_of(file) not in DEPLOYED_ONLY]
"""One bad stack a rule for the engine, at two seconds of CPU each."""


def begun(tools: Tools, root: Path, files: Sequence[Path]) -> Callable[[str], Outcome]:
    """Begin previews of both sound stacks and of these bad ones, with all rules mandatory, so that an advisory one that
    spoke would refuse as well. Returns what waits for one of them, by the stack's name."""
    engine = Engine(tools, root / "engine")
    first = plain_project(engine, root / "inside", plain_stack("inside"))
    stacks = {"inside": plain_stack("inside"), "outside": plain_stack("outside")}
    stacks |= {file.stem: bad_stack(file) for file in files}
    sites = {file.stem: site_of(file) for file in files}
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
