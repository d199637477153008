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


def test_each_row_of_a_failed_check_has_its_own_command_and_each_table_says_what_becomes_of_jobs() -> None:
    """At night a link to a page is no answer, and "what happens to my jobs" is the first question."""
    section = part((ROOT / "docs" / "on-call.md").read_text(), "A scheduled check failed", "on-call")
    found = [line for line in section.splitlines() if re.match(r"\| (`[\w-]+`|\d) \|", line)]
    assert len(found) > 15
    assert [row for row in found if not COMMAND.search(row.rsplit(" | ", 1)[-1])] == []
    assert "touches no running job, except where a row says so" in section.partition("|")[0]


def test_no_row_leads_to_its_own_section() -> None:
    text = (ROOT / "docs" / "on-call.md").read_text()
    for title in re.findall(r"(?m)^##+ (.+)$", text):
        anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        assert f"](#{anchor})" not in part(text, title, "on-call").partition("\n## ")[0], title


def test_the_page_says_whose_names_its_commands_have() -> None:
    head = (ROOT / "docs" / "on-call.md").read_text().partition("\n## ")[0]
    for setting in ("cluster.namespace", "cluster.resourceName", "operator.namespace"):
        assert f"`{setting}`" in head


def test_no_row_asks_for_secrets_in_the_clear() -> None:
    for page in PAGES:
        assert "--show-secrets" not in Path(ROOT / "docs" / f"{page}.md").read_text()
