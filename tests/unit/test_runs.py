"""The ledger of runs: what is read, what is stale, what fits, what a module covers."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests import covers, runs, settings_used
from tests.faults import prepare
from tests.ledger import LedgerRefused, Origin, latest
from tests.stacks import ROOT
from tests.tree import nodes, python_modules, tracked

MODULE = Path("tests/faults/test_rollout.py")
OTHER = Path("tests/faults/test_fence.py")
RUN = runs.Run(
    module=str(MODULE),
    result="passed",
    tests=9,
    seconds=300.0,
    at="2026-11-25T19:00:00+00:00",
    commit="a" * 40,
    dirty=False,
    code=covers.digest(covers.covered(MODULE)),
    python="3.11.7",
    operator="1.0.1",
    kubernetes="1.34.4",
    slurm="26.05.5",
    host="official",
    settings=["PodSettings.tolerations"],
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    ledger = tmp_path / "new" / "runs.jsonl"
    assert runs.RUNS.read(ledger) == []
    runs.RUNS.append(ledger, [RUN])
    runs.RUNS.append(ledger, [replace(RUN, host=None)])
    assert runs.RUNS.read(ledger) == [RUN, replace(RUN, host=None)]


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "3", json.dumps(asdict(RUN) | {"seconds": "long"}), json.dumps(asdict(RUN) | {"extra": 1})),
        *(json.dumps({key: value for key, value in asdict(RUN).items() if key != "code"}), "<<<<<<< ours"),
    ],
)
def test_a_line_that_is_not_a_run_is_named_with_the_way_out(tmp_path: Path, line: str) -> None:
    ledger = tmp_path / "runs.jsonl"
    ledger.write_text(f"{json.dumps(asdict(RUN))}\n\n{line}\n")
    with pytest.raises(LedgerRefused) as refused:
        runs.RUNS.read(ledger)
    assert f"{ledger}, line 3: isn't a run" in str(refused.value)
    assert "Nothing was changed. Remove the line" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_module_that_passed_on_the_code_as_it_is_is_not_stale() -> None:
    assert runs.stale([MODULE], [RUN], "c") == []


@pytest.mark.parametrize("run", [replace(RUN, code="other"), replace(RUN, result="failed"), replace(RUN, module=str(OTHER))])
def test_other_code_a_failure_and_another_modules_run_leave_it_stale(run: runs.Run) -> None:
    assert runs.stale([MODULE], [run], "c") == [MODULE]


def test_those_that_never_passed_come_first_then_the_oldest() -> None:
    never, older, newer = Path("tests/faults/test_topology.py"), OTHER, MODULE
    known = [
        replace(RUN, module=str(newer), code="x", at="2026-11-25"),
        replace(RUN, module=str(older), code="x", at="2026-11-24"),
    ]
    assert runs.stale([newer, older, never], known, "c") == [never, older, newer]


def test_another_commit_begins_with_another_of_those_that_never_ran() -> None:
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / "tests" / "faults").glob("test_*.py"))
    assert len({runs.stale(modules, [], str(number))[0] for number in range(20)}) > 10


def test_two_labs_share_the_minutes_and_a_longer_module_is_passed_over() -> None:
    took = {"a": 200.0, "b": 700.0, "c": 290.0}
    asked = [Path(name) for name in ("a", "b", "c", "unknown")]
    assert runs.within(5, asked, took) == [Path("a"), Path("c")]
    assert runs.within(6, asked, took) == [Path("a"), Path("c"), Path("unknown")]
    assert runs.within(0, asked, took) == []


def test_the_page_is_made_from_the_ledger() -> None:
    """Its marks are as of the commit that made it: all else is the ledger's."""
    kept = runs.RUNS.read(runs.RUNS.kept)
    made = runs.page(kept, {run.module: "" for run in kept}).splitlines()
    shown = runs.PAGE.read_text().splitlines()
    assert [line.rpartition(" |")[0].rpartition("| ")[0] or line for line in shown] == [
        line.rpartition(" |")[0].rpartition("| ")[0] or line for line in made
    ]


def test_the_page_of_settings_is_made_from_the_ledger_and_the_model() -> None:
    """A new setting is on it until a run had it."""
    assert runs.UNWATCHED.read_text() == runs.unwatched(runs.RUNS.read(runs.RUNS.kept))


def test_a_setting_is_watched_once_a_stack_with_it_passed_on_the_lab() -> None:
    none, watched = runs.unwatched([]), runs.unwatched([RUN])
    assert "`tolerations`" in _row(none, "PodSettings")
    assert "`tolerations`" not in _row(watched, "PodSettings")
    assert "`name`" in _row(none, "Cluster"), "no run on the lab, no stack of Pulumi.dev.yaml"
    assert "`name`" not in _row(watched, "Cluster")
    for other in (replace(RUN, result="failed"), replace(RUN, operator=None)):
        assert runs.unwatched([other]) == none


def _row(page: str, section: str) -> str:
    return next((line for line in page.splitlines() if line.startswith(f"| {section} |")), "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("config: {slinky-iac:nodesets: {gpu: {replicas: 1}}}", {"StackConfig.nodesets", "NodeSet.replicas"}),
        ("config: {slinky-iac:cluster: {images: {slurmd: x}}}", {"StackConfig.cluster", "Cluster.images"}),
        ("config: {other:nodesets: {gpu: {replicas: 1}}}", set()),
        *((broken, set()) for broken in ("", "config: 3", "[", "{}", "config: {3: 4}")),
    ],
)
def test_settings_of_a_file_are_those_that_it_names(text: str, found: set[str]) -> None:
    assert settings_used.used(text) >= found
    assert bool(settings_used.used(text)) == bool(found)


def test_every_setting_of_a_file_is_one_of_the_reference() -> None:
    every = settings_used.every()
    assert len(every) == len(set(every)) > 200
    assert settings_used.of_the_lab() <= set(every)


def test_every_import_is_followed() -> None:
    """Against Python's own syntax tree, for every file of the project."""
    for path in python_modules():
        file = path.relative_to(ROOT)
        found = set(covers._names(file))
        for node in nodes(path):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= found, file
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module in found, file
                assert {f"{node.module}.{alias.name}" for alias in node.names} <= found, file


def test_a_fault_covers_the_program_its_own_helpers_and_the_commands_that_it_names() -> None:
    found = {str(path) for path in covers.covered(Path("tests/faults/test_status_watch.py"))}
    assert {"tests/faults/test_status_watch.py", "tests/e2e/conftest.py", "tests/e2e/world.py", "__main__.py"} <= found
    assert {"components/program.py", "components/node_set.py", "slinky_iac/drain/gates.py"} <= found
    assert "slinky_iac/commands/status/watched.py" in found
    assert [path for path in covers.covered(MODULE) if path.match("slinky_iac/commands/diagram/*.py")] == []


def test_only_what_a_module_imports_is_prepared_for_it() -> None:
    autoscaling = covers.named_by_tests(Path("tests/faults/test_autoscaling.py"))
    assert Path("lab/keda.py") in autoscaling
    assert Path("lab/keda.py") not in covers.named_by_tests(MODULE)
    assert set(prepare.MADE) == runs.PREPARED
    assert {ROOT / path for path in runs.PREPARED} <= set(tracked())


def test_of_the_same_the_latest_lines_stay_in_their_order() -> None:
    lines = [Origin(at=f"{n:02}", commit="", dirty=False, code="", python=kind) for n, kind in enumerate("abaacaba")]
    found = latest(lines, lambda line: line.python)
    assert [(line.at, line.python) for line in found] == [
        *(("01", "b"), ("03", "a"), ("04", "c"), ("05", "a"), ("06", "b"), ("07", "a"))
    ]


def test_a_module_is_recorded_whole_or_not_at_all(tmp_path: Path) -> None:
    env = {"SLINKY_IAC_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    whole = "tests/unit/test_matrix_python.py"
    part = "tests/unit/test_names.py"
    (test, *_) = (node.name for node in ast.parse((ROOT / part).read_text()).body if isinstance(node, ast.FunctionDef))
    for words in ([whole], [f"{part}::{test}"], [part, "-k", test]):
        pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.recorder", *words]
        subprocess.run(pytest_run, cwd=ROOT, env=env, check=True, capture_output=True, timeout=120)
    (run,) = runs.RUNS.read(tmp_path / "runs.jsonl")
    assert (run.module, run.result, run.code) == (whole, "passed", covers.digest(covers.covered(Path(whole))))
    assert run.operator is None
