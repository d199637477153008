"""An operator that the user has built takes the place of the lab's own, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lab import paths
from lab.errors import LabError
from lab.given_operator import NEEDED, REPOSITORY, SOURCE, given


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in NEEDED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('name: x\ndependencies:\n  - version: 9.9.9\nversion: "1.2.1"\n')
    return tmp_path


def test_without_a_folder_the_lab_runs_its_own_operator() -> None:
    assert given({}) is None
    assert given({SOURCE.variable: ""}) is None


def test_version_is_that_of_the_trees_chart(tree: Path) -> None:
    operator = given({SOURCE.variable: str(tree)})
    assert operator is not None
    assert operator.version == "1.2.1"
    assert operator.image == f"{REPOSITORY}:1.2.1"


@pytest.mark.parametrize("missing", NEEDED)
def test_a_tree_that_lacks_a_part_is_refused_with_its_name(tree: Path, missing: str) -> None:
    (tree / missing).unlink()
    with pytest.raises(LabError, match=missing):
        given({SOURCE.variable: str(tree)})


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(LabError, match=r"not an absolute path|has no manager"):
        given({SOURCE.variable: "operator"})


def test_every_place_that_names_the_operator_is_changed_in_the_dev_stack(tree: Path) -> None:
    operator = given({SOURCE.variable: str(tree)})
    assert operator is not None
    text = (paths.REPO / "Pulumi.dev.yaml").read_text()
    before, after = (yaml.safe_load(each)["config"] for each in (text, operator.in_settings(text)))
    changed = after.pop("slinky-iac:operator")
    own = before.pop("slinky-iac:operator")
    assert after == before
    assert changed["version"] == "1.2.1"
    assert changed["values"]["operator"]["image"] == {"repository": REPOSITORY, "tag": "1.2.1"}
    assert changed["chart"] == own["chart"], "the lab's link leads to the tree's chart"


def test_a_dev_stack_that_names_the_operator_elsewhere_is_refused(tree: Path) -> None:
    operator = given({SOURCE.variable: str(tree)})
    assert operator is not None
    with pytest.raises(LabError, match="0 lines"):
        operator.in_settings("config: {}\n")
