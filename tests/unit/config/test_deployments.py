"""Both public deployments under examples/: what `check` says is what the page says, and their releases have each field."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.config.findings import Level
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from tests.rendering import custom_resources
from tests.stacks import DEPLOYMENTS, ROOT, sections

PAGE = (ROOT / "docs" / "reference-deployments.md").read_text()
WARNED = {"hyperpod": ["node-folder-mounted"], "oke": ["host-network", "host-network"]}
by_name = pytest.mark.parametrize("file", DEPLOYMENTS, ids=lambda file: file.parent.name)


@by_name
def test_check_finds_no_error_and_warns_of_what_the_page_explains(file: Path) -> None:
    found = findings(load(sections(file)), frozenset())
    assert [str(each) for each in found if each.level is Level.ERROR] == []
    warned = [each.id for each in found if each.level is Level.WARNING and not each.reason]
    assert warned == WARNED[file.parent.name]
    assert {each for each in warned if f"`{each}`" not in PAGE} == set()


@by_name
def test_the_custom_resources_of_its_release_have_every_field(file: Path) -> None:
    config = load(sections(file))
    faults = {
        name: [*kubernetes_types.faults(name.partition("/")[0], spec, line=config.operator_version.line)]
        for name, spec in custom_resources(config).items()
    }
    assert {name: said for name, said in faults.items() if said} == {}


@by_name
def test_the_page_says_of_each_section_what_it_answers_to(file: Path) -> None:
    chapter = PAGE[PAGE.index({"hyperpod": "## HyperPod", "oke": "## OKE"}[file.parent.name]) :].partition("\n## ")[0]
    assert {name for name in sections(file) if f"`{name}" not in chapter} == set()
