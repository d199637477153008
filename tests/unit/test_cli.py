"""The command line itself: help in groups, pages of the manual, and the command that a wrong one resembles."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac import __version__
from slinky_iac.commands.cli import main
from slinky_iac.commands.cli import parser as command_line
from slinky_iac.commands.docs import pages, part, readable, rows
from slinky_iac.commands.listing import COMMANDS
from slinky_iac.errors import ProjectError
from tests.stacks import ROOT


def test_without_a_command_it_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], "slinky") == 2
    said = capsys.readouterr().err
    assert main(["--help"], "slinky") == 0
    assert capsys.readouterr().out == said
    listed = [line.split()[0] for line in said.splitlines() if line.startswith("    ") and line[4] != " "]
    assert listed == list(COMMANDS)
    groups = [line.rstrip(":") for line in said.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert groups == list(dict.fromkeys(each.group for each in COMMANDS.values()))
    assert max(map(len, said.splitlines())) <= 100


OF_THE_LIST = {"", ".commands", ".commands.cli", ".commands.listing", ".commands.output", ".errors", ".text"}
"""Modules of ours that make the help; each further one is time before the first line."""
MOST_MODULES = 160
"""All that a Python imports for the help, its own included: 117 in 3.11. A package such as pydantic brings hundreds."""


@pytest.mark.parametrize("asked", ["--version", "--help", "handof"])
def test_what_the_list_alone_answers_imports_no_command(asked: str) -> None:
    """How long it takes is how many modules it imports: they are counted, since a clock tells of the machine's load."""
    code = (
        "import sys\nfrom slinky_iac.commands.cli import main\n"
        f"try: main([{asked!r}], 'slinky')\nexcept SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    own = {name.removeprefix("slinky_iac") for name in imported if name.partition(".")[0] == "slinky_iac"}
    assert own <= OF_THE_LIST
    assert not {"pulumi", "pydantic", "yaml", "httpx", "shtab", "msgspec"} & set(imported)
    assert len(imported) <= MOST_MODULES


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"], "slinky") == 0
    assert capsys.readouterr().out == f"slinky-iac {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("handof", "slinky: there is no command handof; did you mean handoff? `slinky --help` lists all\n"),
        ("stauts", "slinky: there is no command stauts; did you mean status? `slinky --help` lists all\n"),
        ("xx", "slinky: there is no command xx; `slinky --help` lists all\n"),
    ],
)
def test_a_wrong_command_is_one_line_with_the_nearest(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed], "slinky") == 2
    assert capsys.readouterr().err == said


def test_a_page_of_the_manual_is_printed_whole_or_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"], "slinky") == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert listed == set(pages()) == {each.stem for each in (ROOT / "docs").glob("*.md")}
    assert main(["docs", "munge"], "slinky") == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "munge.md").read_text()
    assert main(["docs", "munge.md", "moving to auth/slurm"], "slinky") == 0
    said = capsys.readouterr().out
    assert said.startswith("## Moving to auth/slurm\n")
    assert said.count("\n## ") == 0
    assert main(["docs", "mung"], "slinky") == 1
    said = capsys.readouterr().err
    assert "there is no page mung, and no page has these words; did you mean munge? `slinky docs` lists all pages" in said


def test_a_part_ends_at_the_next_heading_of_its_rank() -> None:
    text = "# a\none\n## b\ntwo\n### c\nthree\n## d\nfour\n"
    assert part(text, "b", "x") == "## b\ntwo\n### c\nthree\n"
    assert part(text, "D", "x") == "## d\nfour\n"
    with pytest.raises(ProjectError, match="no heading"):
        part(text, "e", "x")


def test_an_exact_heading_goes_before_one_that_contains_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert part("# a\n## `b.c`\none\n## `c`\ntwo\n", "c", "x") == "## `c`\ntwo\n"
    assert main(["docs", "configuration", "external"], "slinky") == 0
    assert capsys.readouterr().out.startswith("## `external`\n")


@pytest.mark.parametrize(("word", "number"), [("prolog", 3), ("ReturnToService", 3), ("routes", 3), ("(routes", 3)])
def test_a_word_that_is_no_page_is_looked_for_in_all(word: str, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command that is named prints a part with the word, and there are three at most."""
    assert main(["docs", word], "slinky") == 0
    named = [shlex.split(each) for each in re.findall(r"^slinky (docs [a-z].*)$", capsys.readouterr().out, re.MULTILINE)]
    assert len(named) == number
    for command in named:
        assert main(command, "slinky") == 0
        assert word.strip("(").lower() in capsys.readouterr().out.lower(), command


def test_a_short_word_is_not_found_in_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """`has` is no plural of HA."""
    assert main(["docs", "HA"], "slinky") == 0
    named = capsys.readouterr().out
    assert "slinky docs outside-hosts 'Backups of slurmctld'" in named
    assert "'When the file has errors'" not in named


def test_a_page_s_name_written_otherwise_leads_to_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "quickstart"], "slinky") == 0
    assert "Did you mean the page? slinky docs quick-start" in capsys.readouterr().out


def test_a_word_that_no_page_has_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "xyzzy"], "slinky") == 1
    assert "there is no page xyzzy, and no page has these words" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "is frozen by its annotation",
        "error: NodeSet slurm/slurm-worker-gpu: is frozen by its annotation slinky-iac/freeze (bob: cooling)",
        "more than the share 5 of 10 nodes that drain.limits allows, so",
    ],
    ids=["words of it", "the whole line", "a number for the dots"],
)
def test_words_of_a_message_print_its_row_and_no_other(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", words], "slinky") == 0
    said = capsys.readouterr().out
    assert said.count("troubleshooting, Drains\n  Message: ") == 1
    assert said.count("  What to do: ") == 1


@pytest.mark.parametrize(
    "words",
    ["is locked", "locked stack", "The stack is currently locked by 1 lock(s)", "error: the stack is currently locked by"],
)
def test_words_of_a_message_that_are_not_in_its_order_find_it_too(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", *words.split()], "slinky") == 0
    said = capsys.readouterr().out
    assert said.startswith("on-call, First\n  Seen: pulumi was killed; `the stack is currently locked`\n")
    assert "troubleshooting, Pulumi\n  You see: `the stack is currently locked`" in said


@pytest.mark.parametrize("words", ["is the", "it is in", "stack xyzzy"])
def test_words_that_every_row_has_or_one_that_none_has_find_no_row(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", words], "slinky") == (1 if "xyzzy" in words else 0)
    printed = capsys.readouterr().out
    assert ("on-call, " in printed, "troubleshooting, " in printed) == (False, False)


def test_words_of_a_message_need_no_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    """They are pasted as they are seen, at night."""
    assert main(["docs", "error:", "cannot", "be", "deleted", "because", "it", "is", "protected"], "slinky") == 0
    said = capsys.readouterr().out
    assert said.count("\n  What to do: ") == 1
    assert main(["docs", "cannot be deleted because it is protected"], "slinky") == 0
    assert capsys.readouterr().out in said
    assert main(["docs", "munge", "moving", "to", "auth/slurm"], "slinky") == 0
    assert capsys.readouterr().out.startswith("## Moving to auth/slurm\n")
    assert main(["docs", "keys", "xyzzy", "plugh"], "slinky") == 1
    assert "page keys has no heading with 'xyzzy plugh'" in capsys.readouterr().err


def test_a_wide_table_of_a_part_is_printed_as_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of hundreds of characters with bars between are no help at night; a narrow table is one."""
    assert main(["docs", "on-call", "Lost or leaked"], "slinky") == 0
    said = capsys.readouterr().out
    assert said.startswith("## Lost or leaked\n")
    assert "\n  What: a key leaked\n  Then: replace it." in said
    assert "(`slinky docs keys`)" in said
    assert not [line for line in said.splitlines() if line.startswith("|")]
    narrow = "# a\n\n| b | c |\n|---|---|\n| d | e |\n\nf\n"
    assert readable(narrow, "p", {"p": narrow}) == narrow


def test_a_heading_with_an_apostrophe_is_named_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = "# a\n| Seen | Do |\n|---|---|\n| it | [there](#pods-dont-become-nodes) |\n## Pods don't become nodes\n"
    (row,) = rows("p", text)
    assert list(row.shown({"p": text}))[-1] == "  Do: there (`slinky docs p 'become nodes'`)"


def test_a_row_is_printed_with_a_line_a_cell_bars_as_they_are_and_links_as_commands() -> None:
    text = (
        "# a\n| Seen | Do |\n|---|---|\n| it hangs | `a \\| b`; [there](#its-the-end), [x](evidence/faults.md) |\n"
        "## It's the end\n"
    )
    (row,) = rows("p", text)
    assert row.is_of("it hangs")
    assert not row.is_of("hang")
    assert not row.is_of("")
    shown = ["p, a", "  Seen: it hangs", "  Do: `a | b`; there (`slinky docs p 'the end'`), x"]
    assert list(row.shown({"p": text})) == shown


def test_a_comment_of_a_shell_block_is_no_heading() -> None:
    text = "# a\n## one\n```sh\n# two: a comment\nls\n```\n   ```sh\n# two\n   ```\nend\n## two\nthree\n"
    assert part(text, "one", "x").endswith("end\n")
    assert part(text, "two", "x") == "## two\nthree\n"


@pytest.mark.parametrize("asked", [["status", "--help"], ["preflight"], ["init", "prod"]])
def test_a_python_without_the_program_s_packages_is_told_in_one_line(asked: list[str]) -> None:
    """Before `pulumi install`, or beside the project's venv."""
    bare = [sys.executable, "-S", "-m", "slinky_iac", *asked]
    done = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "this Python has no package" in done.stderr
    assert "`pulumi install`" in done.stderr
    assert done.stderr.count("\n") == 1


WITHOUT_MSGSPEC = """
import sys
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "msgspec":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Lacking())
from slinky_iac.commands.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["new", "init", "import-chart", "adopt", "check"])
def test_the_commands_of_a_start_have_help_in_a_bare_clone(name: str, tmp_path: Path) -> None:
    """A machine's Python often has yaml and pydantic, and not msgspec."""
    bare = [sys.executable, "-c", WITHOUT_MSGSPEC, name]
    done = subprocess.run([*bare, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exit codes: 0" in " ".join(done.stdout.split())
    if name == "adopt":
        out = str(tmp_path / "Pulumi.a.yaml")
        done = subprocess.run([*bare, "--out", out], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "this Python has no package msgspec" in done.stderr


def test_a_python_that_is_too_old_is_told_which_one_is_needed() -> None:
    as_old = (
        "import runpy, sys; sys.version_info = (3, 9, 18); sys.argv[1:] = ['new', '/x'];"
        " runpy.run_module('slinky_iac', run_name='__main__', alter_sys=False)"
    )
    done = subprocess.run([sys.executable, "-c", as_old], cwd=ROOT, capture_output=True, text=True, check=False)
    said = "slinky-iac needs Python 3.11 or newer; this is 3.9. Install it, then run: python3.11 -m slinky_iac new /x\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {said}")
    for module in ("__init__", "__main__"):
        ast.parse((ROOT / "slinky_iac" / f"{module}.py").read_text(), feature_version=(3, 7))
    text = (ROOT / "slinky_iac" / "__main__.py").read_text()
    assert text.index("sys.version_info") < text.index("from slinky_iac"), "before anything that an old Python can't read"


def test_an_option_that_takes_one_value_is_refused_when_it_is_there_twice(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (
        ["init", "prod", "--via", "a", "--via", "b"],
        ["handoff", "--out", "a", "--out", "b"],
        ["keys", "import", "slurm", "--file", "a", "--file", "b"],
    ):
        with pytest.raises(SystemExit) as left:
            main(argv, "slinky")
        assert left.value.code == 2
        assert f"{argv[-2]} is there twice, and takes one value" in capsys.readouterr().err


def test_every_option_of_every_command_takes_all_that_it_is_given_or_refuses_the_second() -> None:
    def options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
        for action in parser._actions:
            yield action
            for below in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
                yield from options(below)

    silent = [
        action.option_strings
        for action in options(command_line("slinky"))
        if action.option_strings and action.nargs != 0 and type(action) is argparse._StoreAction
    ]
    assert silent == []


def test_every_option_and_argument_of_every_command_says_what_it_is() -> None:
    def silent(parser: argparse.ArgumentParser) -> Iterator[str]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    yield from silent(below)
            elif not action.help:
                yield f"{parser.prog} {' '.join(action.option_strings) or action.dest}"

    assert list(silent(command_line("slinky"))) == []
