"""What a wheel is made from has one home each: version, dependencies, outputs, the file that the template names."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from slinky_iac import __version__
from slinky_iac.commands.new import WHEEL
from slinky_iac.config.stack import PROJECT
from tests.stacks import ROOT

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_read_from_its_home() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "slinky_iac/__init__.py"


def test_what_the_lab_runs_with_is_within_the_ranges_that_a_wheel_asks_for() -> None:
    ranges = {canonicalize_name(each.name): each for each in map(Requirement, PYPROJECT["project"]["dependencies"])}
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {canonicalize_name(each.name): each for each in map(Requirement, lines)}
    assert {name: each.extras for name, each in ranges.items()} == {name: each.extras for name, each in pinned.items()}
    versions = {name: str(each.specifier).removeprefix("==") for name, each in pinned.items()}
    assert {name: version for name, version in versions.items() if version not in ranges[name].specifier} == {}


def test_a_wheel_pins_nothing_and_each_range_says_where_it_begins() -> None:
    for each in map(Requirement, PYPROJECT["project"]["dependencies"]):
        assert {part.operator for part in each.specifier} in ({">="}, {">=", "<"}), each


def test_the_changelog_has_a_section_for_the_version_or_says_that_it_comes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased = text.partition("## Unreleased")[2].partition("\n## ")[0]
    assert f"\n## {__version__}" in text or f"will be {__version__}" in unreleased


def test_the_template_names_the_wheel_of_this_version() -> None:
    text = (ROOT / "templates" / "site" / "requirements.txt").read_text()
    assert text.splitlines()[-1] == f"./wheels/{WHEEL}"
    assert f"slinky-iac=={__version__}" in text


def test_a_project_of_the_template_has_the_name_that_settings_belong_to() -> None:
    project = yaml.safe_load((ROOT / "templates" / "site" / "Pulumi.yaml").read_text())
    ours = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert project["name"] == PROJECT
    assert project["runtime"] == ours["runtime"]


def test_our_own_program_is_the_one_call_of_the_template() -> None:
    own = (ROOT / "__main__.py").read_text()
    template = (ROOT / "templates" / "site" / "__main__.py").read_text()
    call = "from {}components.program import hybrid_cluster\n\ncluster = hybrid_cluster()\n"
    assert call.format("") in own
    assert call.format("slinky_iac.") in template


def test_an_example_names_an_image_by_digest_or_says_where_to_get_it() -> None:
    public = re.compile(r"(?:docker\.io|ghcr\.io|quay\.io)/[\w./-]+:[\w.-]+")
    texts = {
        path: path.read_text() for path in (ROOT / "examples").rglob("*") if path.suffix in {".yaml", ""} and path.is_file()
    }
    named = {path.name: text for path, text in texts.items() if public.search(text)}
    assert {"Containerfile", "job.yaml"} <= named.keys()
    assert [name for name, text in named.items() if "@sha256:" not in text] == []
    assert "### Images by digest" in (ROOT / "docs" / "ci.md").read_text()


def test_the_licence_is_the_one_that_is_named() -> None:
    assert PYPROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()
