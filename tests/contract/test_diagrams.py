"""Pictures in the documents are what the program draws today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slinky_iac.commands.diagram.build import picture
from slinky_iac.commands.diagram.mermaid import mermaid
from slinky_iac.commands.diagram.svg import svg
from slinky_iac.commands.stack_config import configured_file
from tests.stacks import FORMS, ROOT

PICTURES = {
    "docs/images/hybrid-cluster.svg": ("examples/Pulumi.all-outside.yaml", "A hybrid Slurm cluster"),
    "docs/images/munge-clients.svg": ("examples/jupyter/Pulumi.munge.yaml", "Clients of a munge cluster"),
}
"""File, and the example and title that it is drawn from."""


@pytest.mark.parametrize("file", PICTURES)
def test_a_committed_picture_is_current(file: str) -> None:
    example, title = PICTURES[file]
    made = svg(picture(configured_file(ROOT / example).config, title))
    again = f"venv/bin/python -m slinky_iac diagram --config {example} --title '{title}' --out {file}"
    assert (ROOT / file).read_text() == made, f"run `{again}`"


def blocks(page: Path) -> dict[str, str]:
    """Mermaid blocks of a page, by the example that is linked before each."""
    found = re.findall(r"\(\.\./examples/Pulumi\.([\w-]+)\.yaml\)[^`]*?```mermaid\n(.*?)```", page.read_text(), re.DOTALL)
    return dict(found)


def test_each_form_has_its_diagram_and_it_is_current() -> None:
    shown = blocks(ROOT / "docs" / "forms.md")
    for name in FORMS:
        example = f"examples/Pulumi.{name}.yaml"
        wanted = mermaid(picture(configured_file(ROOT / example).config))
        again = f"venv/bin/python -m slinky_iac diagram --config {example} --format mermaid"
        assert shown.get(name) == wanted, f"put the output of `{again}` into the block after the link in docs/forms.md"


def test_every_picture_of_the_readme_exists_and_has_words_instead() -> None:
    images = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert ("docs/images/hybrid-cluster.svg" in {file for _, file in images}) is True
    for words, file in images:
        assert len(words) > 40, file
        assert (ROOT / file).exists()
