"""The core modules on each slurm-operator: which cells there are, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import given_operator, tools
from lab.errors import LabError
from tests import matrix, runs
from tests.stacks import ROOT
from tests.unit.test_runs import RUN

VARIABLE = given_operator.SOURCE.variable


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What a source tree of slurm-operator 1.9.0 with its manager is to the lab."""
    for name in given_operator.NEEDED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("version: 1.9.0\n")
    return tmp_path


def test_the_labs_own_operator_is_the_first_cell_and_needs_no_folder() -> None:
    assert matrix.cells([]) == {tools.OPERATOR: {VARIABLE: ""}}


def test_each_folder_is_a_cell_of_the_release_that_its_chart_names(source: Path) -> None:
    assert list(matrix.cells([str(source)]).items()) == [
        (tools.OPERATOR, {VARIABLE: ""}),
        ("1.9.0", {VARIABLE: str(source)}),
    ]


def test_two_folders_of_one_release_are_refused(source: Path) -> None:
    with pytest.raises(LabError, match=r"slurm-operator 1\.9\.0, which another cell has.*Nothing was started"):
        matrix.cells([str(source), str(source)])


def test_a_folder_without_a_manager_is_refused_before_anything_runs(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / given_operator.MANAGER).unlink()
    assert matrix.main(["--operator-source", str(source)]) == 2
    assert "has no manager. It must be a source tree" in capsys.readouterr().err


def test_every_core_module_is_there() -> None:
    assert [module for module in matrix.CORE if not (ROOT / module).is_file()] == []
    assert len(set(matrix.CORE)) == len(matrix.CORE)


def test_the_page_has_the_last_run_of_a_core_module_on_each_release() -> None:
    def run(**other: str) -> runs.Run:
        return runs.Run(**{**vars(RUN), **other})

    found = [run(), run(operator="1.2.1"), run(operator="1.2.1", result="failed", at="2026-11-26T19:00:00+00:00")]
    page = runs.page(found, {RUN.module: "as it is"})
    assert "| Module | 1.0.1, official | 1.2.1, official |" in page
    assert f"| `{RUN.module}` | passed, 2026-11-25, aaaaaaaa | failed, 2026-11-26, aaaaaaaa |" in page
