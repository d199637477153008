"""An engineer on call finds a way out in every row: its last cell has a command to paste, or a link to a section that begins
with one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from slinky_iac.commands.docs import anchor, headings, part
from tests.stacks import ROOT
from tests.tree import nodes, tracked

TOOLS = (
    "kubectl|pulumi|slinky|scontrol|sacctmgr|squeue|sinfo|systemctl|scancel|openssl|getent|chronyc|hostname|base64|find|ssh|rm|"
    "journalctl|sudo|install|cat|mount|ps|helm|env"
)
COMMAND = re.compile(rf"`(?:{TOOLS}) [^`]+`")
LINK = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")
"""A link to a heading: one to a whole page leads to no command."""
PAGES = ("on-call", "troubleshooting")
OTHERS = {
    "failed to load checkpoint: EOF",
    "failed to download plugin",
    "Could not automatically download and install resource plugin",
    "no resource plugin 'pulumi-resource-…' found",
    "incorrect passphrase",
    "configured Kubernetes cluster is unreachable",
    "Protocol authentication error",
    "Unable to initialize cgroup plugin",
    "slurmctld: fatal: You are running with a database but for some reason we have no TRES from it",
    ".spec.jwtKeyRef: field not declared in schema",
    "the stack is currently locked",
    "Another update is currently in progress",
    "connection refused",
    "ErrImagePull",
    "ImagePullBackOff",
    "no stack selected",
    "no Pulumi.yaml project file found",
    "passphrase must be set",
    "unable to open bucket",
    "organization name must be",
    "context deadline exceeded",
    "cannot be deleted because it is protected",
    "No module named 'slinky_iac'",
    "No module named 'pulumi'",
    "exit status 1",
}
"""What Pulumi, Python, Kubernetes or Slurm says."""
BY_HAND = {"known: false", "slinky status", "ServiceMonitor", "sinfo"}
"""No messages: a field of a plan, commands and words."""


def rows(page: str) -> list[str]:
    """The rows of all tables of a page, without their heads."""
    lines = (ROOT / "docs" / f"{page}.md").read_text().splitlines()
    heads = {number - 1 for number, line in enumerate(lines) if re.fullmatch(r"\|[-| ]+\|", line)}
    return [
        line
        for number, line in enumerate(lines)
        if line.startswith("|") and number not in heads and not re.fullmatch(r"\|[-| ]+\|", line)
    ]


def begins_with_a_command(text: str) -> bool:
    """Whether a section has a command in its first paragraph (a table is none), or a block of them before any heading below
    its own."""
    below = headings(text)[1:]
    own = text[: below[0].start()] if below else text
    first = own.partition("\n")[2].strip().partition("\n\n")[0]
    return "```sh" in own or (not first.startswith("|") and COMMAND.search(first) is not None)


def leads(page: str, target: str, name: str) -> bool:
    """Whether what a link leads to begins with a command."""
    file = ROOT / "docs" / (target or f"{page}.md")
    text = file.read_text()
    title = next(each[2] for each in headings(text) if anchor(each[2]) == name)
    return begins_with_a_command(part(text, title, file.stem))


def has_a_way_out(page: str, row: str) -> bool:
    last = row.split("|")[-2]
    return COMMAND.search(last) is not None or any(leads(page, target, name) for target, name in LINK.findall(last))


@pytest.mark.parametrize("page", PAGES)
def test_every_row_has_a_way_out(page: str) -> None:
    found = rows(page)
    assert len(found) > 40
    assert [row for row in found if not has_a_way_out(page, row)] == []


@pytest.mark.parametrize(
    ("row", "enough"),
    [
        ("| it hangs | `squeue --me`, then wait |", True),
        ("| `pulumi up` doesn't end | wait |", False),
        ("| `pulumi cancel` or `kubectl get pods` | they end | wait for `drain.deadline` |", False),
        ("| the state is lost | `keys rotate`, `drain cancel` |", False),
        ("| somebody killed it | [Killed](#killed-in-the-middle) |", True),
        ("| it is protected | [Destroy](operations.md#destroy) |", True),
        ("| an alert | [Alerts](#alerts) |", False),
        ("| a daemon is down | [A daemon is down](#a-daemon-is-down) |", False),
        ("| a message | [Troubleshooting](troubleshooting.md) |", False),
    ],
)
def test_what_is_a_way_out(row: str, *, enough: bool) -> None:
    assert has_a_way_out("on-call", row) is enough


LONGEST = 650
"""Characters of a row's last cell that are read at night: a longer one holds several cases, which are rows of their own."""


def test_a_row_is_one_case() -> None:
    cells = {each.rsplit(" | ", 1)[-1]: each.split("|")[1].strip() for each in rows("on-call")}
    assert len(cells) > 50
    assert [name for cell, name in cells.items() if len(cell) > LONGEST] == []


def test_who_lost_the_passphrase_finds_a_row_for_each_cluster_that_begins_with_a_command() -> None:
    found = [each for each in rows("on-call") if each.startswith("| the passphrase is lost")]
    assert len(found) == 3
    assert [each for each in found if not COMMAND.match(each.rsplit(" | ", 1)[-1])] == []


def test_no_command_of_a_table_has_a_pipe() -> None:
    """A table wants a backslash before it. A site shows that, and a shell takes it for an argument."""
    pages = [path for path in tracked() if path.suffix == ".md"]
    lines = [(path.name, line) for path in pages for line in path.read_text().splitlines() if line.startswith("|")]
    assert len(lines) > 500
    assert [(page, line) for page, line in lines if any("\\|" in code for code in re.findall(r"`[^`]+`", line))] == []


def test_a_message_is_quoted_as_the_program_prints_it() -> None:
    """Who looks for the words of a message finds its row."""
    said = "\n".join(
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in each.values)
        if isinstance(each, ast.JoinedStr)
        else each.value
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("slinky_iac", "components")
        for each in nodes(path)
        if isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str))
    )
    first = [row.split("|")[1] for row in rows("troubleshooting")]
    quoted = {words for cell in first for words in re.findall(r"`([^`]+)`", cell)} - BY_HAND
    stale = []
    for words in quoted - OTHERS:
        # A finding begins with its setting, which stands apart in the code, and so does each number and name.
        body = re.sub(r"^[\w.<>…]+: ", "", words)
        pieces = [piece for piece in re.split(r"\s*(?:…|<[^>]+>|\b\d+\b)\s*", body) if piece.strip("() ")]
        if not all(piece in said for piece in pieces):
            stale.append(words)
    assert stale == []
    assert len(quoted) > 45
    assert quoted >= OTHERS


def test_each_row_of_a_failed_check_has_its_own_command_and_each_table_says_what_becomes_of_jobs() -> None:
    """At night a link to a page is no answer, and "what happens to my jobs" is the first question."""
    section = part((ROOT / "docs" / "on-call.md").read_text(), "A scheduled check failed", "on-call")
    found = [line for line in section.splitlines() if re.match(r"\| (`[\w-]+`|\d) \|", line)]
    assert len(found) > 15
    assert [row for row in found if not COMMAND.search(row.rsplit(" | ", 1)[-1])] == []
    assert "touches no running job, except where a row says so" in section.partition("|")[0]


def test_no_row_leads_to_its_own_section() -> None:
    text = (ROOT / "docs" / "on-call.md").read_text()
    for title in (each[2] for each in headings(text)[1:]):
        assert f"](#{anchor(title)})" not in part(text, title, "on-call").partition("\n## ")[0], title


def test_the_page_says_whose_names_its_commands_have() -> None:
    head = (ROOT / "docs" / "on-call.md").read_text().partition("\n## ")[0]
    for setting in ("cluster.namespace", "cluster.resourceName", "operator.namespace"):
        assert f"`{setting}`" in head


def test_no_row_asks_for_secrets_in_the_clear() -> None:
    for page in PAGES:
        assert "--show-secrets" not in Path(ROOT / "docs" / f"{page}.md").read_text()
