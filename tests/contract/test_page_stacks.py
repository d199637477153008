"""A stack file that a page prints is sound, and what the page shows as the output of `slinky check` is its output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slinky_iac.commands.check import as_text, judge
from slinky_iac.commands.output import Paint
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.stack_file import parse
from tests.stacks import ROOT

PRINTED = re.compile(
    r"^```yaml\n(config:\n.*?)^```$(?:(?:(?!^```).)*?^```text\n(Pulumi\..*?)^```$)?", re.MULTILINE | re.DOTALL
)
"""A whole stack file, and the block of output that follows it before any other block."""
STACKS = [
    pytest.param(*found.groups(), id=f"{page.stem}-{number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, found in enumerate(PRINTED.finditer(page.read_text()))
    if "slinky-iac:cluster:" in found[1] and "slinky-iac:nodesets:" in found[1]
]


def printed(file: Path, text: str) -> list[str]:
    """The output in a terminal of 100 columns."""
    return list(as_text(file, judge(text)[1], Paint(colour=False), 100, parse(text).sections))


@pytest.mark.parametrize(("text", "shown"), STACKS)
def test_a_stack_on_a_page_is_sound_and_check_says_what_the_page_shows(text: str, shown: str | None) -> None:
    _, places = judge(text)
    assert [str(place.finding) for place in places if place.finding.level is Level.ERROR] == []
    if shown is not None:
        file = Path(shown.partition(":")[0])
        assert shown.splitlines() == printed(file, text)


def test_the_errors_that_the_quick_start_shows_are_those_of_its_stack_with_two_faults() -> None:
    page = (ROOT / "docs" / "quick-start.md").read_text()
    (text, *_), _ = (found.groups() for found in PRINTED.finditer(page))
    faulty = text.replace('"26.05"', "26.05").replace("      replicas: 2\n", "      replicas: 2\n      hostNetwork: true\n")
    said = "\n".join(printed(Path("Pulumi.prod.yaml"), faulty))
    assert ": 2 errors; " in said
    assert f"```text\n{said}\n```" in page


def test_the_pages_of_a_first_day_print_stacks_with_their_output() -> None:
    shown = {str(each.id): each.values[1] is not None for each in STACKS}
    assert "README-0" in shown
    assert [name for name, has_output in shown.items() if has_output] == ["quick-start-0", "quick-start-1"]
