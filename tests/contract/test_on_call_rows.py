"""An engineer on call finds a way out in every row: a command to paste, or a place that begins with one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slinky_iac.commands.docs import part
from tests.stacks import ROOT

TOOLS = (
    "kubectl|pulumi|slinky|scontrol|sacctmgr|squeue|sinfo|systemctl|scancel|openssl|getent|chronyc|hostname|base64|echo|ssh|rm|"
    "journalctl|keys|drain|sudo|install|cat|mount|ps|helm"
)
COMMAND = re.compile(rf"`(?:{TOOLS}) [^`]+`")
LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")
PAGES = ("on-call", "troubleshooting")


def rows(page: str) -> list[str]:
    """The rows of all tables of a page, without their heads."""
    lines = (ROOT / "docs" / f"{page}.md").read_text().splitlines()
    heads = {number - 1 for number, line in enumerate(lines) if re.fullmatch(r"\|[-| ]+\|", line)}
    return [
        line
        for number, line in enumerate(lines)
        if line.startswith("|") and number not in heads and not re.fullmatch(r"\|[-| ]+\|", line)
    ]


def leads(page: str, target: str, anchor: str) -> bool:
    """Whether what a link leads to has a command."""
    file = ROOT / "docs" / (target or f"{page}.md")
    text = file.read_text()
    if anchor:
        titles = re.findall(r"(?m)^#+ (.+)$", text)
        title = next(each for each in titles if re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") == anchor)
        text = part(text, title, file.stem)
    return "```sh" in text or COMMAND.search(text) is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_row_has_a_way_out(page: str) -> None:
    found = rows(page)
    assert len(found) > 40
    lost = [
        row
        for row in found
        if not COMMAND.search(row) and not any(leads(page, target, anchor) for target, anchor in LINK.findall(row))
    ]
    assert lost == []


def test_no_row_asks_for_secrets_in_the_clear() -> None:
    for page in PAGES:
        assert "--show-secrets" not in Path(ROOT / "docs" / f"{page}.md").read_text()
