"""Every command says what its exit codes mean, docs/cli.md has them all, and a real bash completes them."""

from __future__ import annotations

import ast
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac.commands import cli, command_page, docs, output
from slinky_iac.commands.command_page import commands, exit_codes, page
from tests.stacks import ROOT
from tests.tree import python_modules, syntax_tree

COMMANDS = commands(cli.parser())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_its_exit_codes_mean(name: str) -> None:
    _, parser = COMMANDS[name]
    codes = exit_codes(parser)
    assert {0, 2} <= set(codes), "an epilog of the form `exit codes: 0 …; 1 …; 2 wrong arguments`"
    assert all(len(said) > 3 for said in codes.values())
    assert parser.format_help().count("exit codes") == 1


ACTS = [(name, act) for name, (_, parser) in COMMANDS.items() for act in (commands(parser) or [""])]


@pytest.mark.parametrize(("name", "act"), ACTS)
def test_every_help_has_its_exit_codes_and_a_line_to_copy(name: str, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each on a line of its own, and taken by the command itself."""
    monkeypatch.setenv("COLUMNS", "80")
    whole = cli.parser("slinky")
    _, parser = commands(whole)[name]
    said = (commands(parser)[act][1] if act else parser).format_help()
    assert said.count("exit codes:") == 1
    assert re.search(r"exit codes: 0 .*; [12] ", said.replace("\n", " "))
    lines = [line for line in said.splitlines() if line.startswith("    ") and f"slinky {name} {act}".strip() in line]
    assert lines
    for line in lines:
        words = re.split(r"[|>)]", line.partition(f"slinky {name}")[2])[0]
        whole.parse_args([name, *shlex.split(words)])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("monitoring", "say which: rules or dashboard, such as `slinky monitoring rules`"),
        ("keys rotate", "say which: slurm, jwt or tokens, such as `slinky keys rotate slurm`"),
        ("completion", "say which: bash, zsh or fish, such as `slinky completion bash`"),
        ("completion nosh", "argument SHELL: invalid choice"),
        ("token --user a --lifespan 5x", "argument --lifespan: got '5x'; a duration is days, hours, minutes and seconds"),
        ("plan --max-job-age 5x", "argument --max-job-age: got '5x'; a duration is days, hours, minutes and seconds"),
    ],
)
def test_what_is_missing_or_wrong_is_said_without_names_of_the_code(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.parser("slinky").parse_args(words.split())
    assert said in " ".join(capsys.readouterr().err.split())


def test_every_module_of_a_command_is_listed() -> None:
    assert set(cli.COMMANDS) <= set(COMMANDS)


def test_the_page_of_the_commands_is_current() -> None:
    made = (ROOT / "docs" / "cli.md").read_text()
    assert made == page(cli.parser()), "run `venv/bin/python -m slinky_iac reference cli > docs/cli.md`"


def test_every_command_says_what_it_is_for_in_its_own_help() -> None:
    for name, (said, parser) in COMMANDS.items():
        assert (parser.description or "") == said.replace("%%", "%"), name
        for act, (text, below) in commands(parser).items():
            assert below.description == text, (name, act)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Processes started here end with SIGINT, also where these tests themselves run in a script's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_command_with_130_and_no_traceback(heeded: None, tmp_path: Path) -> None:
    """While it waits for `pulumi`, as it does for most of a command's time."""
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(f"#!/bin/sh\necho > '{asked}'\nexec sleep 60\n")
    pulumi.chmod(0o755)
    command = [sys.executable, "-m", "slinky_iac", "drain", "status"]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True, process_group=0) as running:
        told = os.open(asked, os.O_RDONLY | os.O_NONBLOCK)
        assert select.select([told], [], [], 60)[0], "pulumi was not started"
        os.close(told)
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate()
    assert (running.returncode, "Traceback" in said) == (130, False)
    assert said.startswith("interrupted. ")
    assert "run it again" in said


def test_an_answer_that_nobody_reads_to_its_end_ends_without_a_traceback() -> None:
    """As `| head` does: the reader goes while there is more to say than a pipe holds."""
    command = [sys.executable, "-m", "slinky_iac", "schema"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        said = running.stderr.read()
    assert (running.returncode, said) == (output.UNREAD, b"")


def test_wrong_arguments_end_with_2() -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--no-such-option"])
        assert ended.value.code == 2, name


@pytest.fixture(scope="module")
def sourced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bash script in a folder whose path needs quotes, as a Python's may."""
    folder = tmp_path_factory.mktemp("it's a folder")
    python = folder / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    parser = cli.parser(command_page.NAME)
    (folder / "completion.bash").write_text(command_page.script(parser, "bash", str(python)))
    return folder / "completion.bash"


def bash(script: str, *arguments: object) -> list[str]:
    program = shutil.which("bash")
    assert program, "bash is missing"
    argv = [program, "--norc", "--noprofile", "-uec", script, "bash", *map(str, arguments)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30).stdout.split()


def completed(sourced: Path, *words: str) -> set[str]:
    """What bash offers for the last of ``words``."""
    script = (
        'set +u; source "$1"; shift; COMP_WORDS=(slinky-iac "$@"); COMP_CWORD=$#; how=$(complete -p slinky-iac);'
        ' how=${how##*-F }; ${how%% *}; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return set(bash(script, sourced, *words))


def test_bash_completes_commands_acts_options_and_choices(sourced: Path) -> None:
    assert completed(sourced, "") >= set(COMMANDS)
    assert completed(sourced, "st") == {"status"}
    assert completed(sourced, "drain", "") >= {"status", "plan", "cancel"}
    assert completed(sourced, "status", "--") >= {"--stack", "--json", "--help"}
    assert completed(sourced, "diagram", "--format", "") >= {"svg", "mermaid"}
    assert "docs/index.md" in completed(sourced, "diagram", "--out", "docs/i")


def test_the_function_calls_the_python_that_made_it(sourced: Path) -> None:
    assert bash('source "$1"; slinky-iac status --json', sourced) == ["-m", "slinky_iac", "status", "--json"]


@pytest.mark.parametrize("shell", command_page.SHELLS)
def test_every_shell_has_a_script_with_every_command(shell: str) -> None:
    text = command_page.script(cli.parser(command_page.NAME), shell, "/x/python")
    assert "/x/python -m slinky_iac" in text
    assert [name for name in COMMANDS if name not in text] == []


def test_a_command_that_sets_a_secret_names_the_project() -> None:
    """Without it pulumi takes the name in Pulumi.yaml, and in a project of another name the program never sees the value."""
    bare = re.compile(r"pulumi config (?:set --secret|rm|get) (?!slinky-iac:|\{PROJECT\}:)[\w<{$][\w}>]*")
    places = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.yaml")]
    places += [*(ROOT / "slinky_iac").rglob("*.py"), *(ROOT / "components").rglob("*.py")]
    assert {str(each): found for each in places if (found := bare.findall(each.read_text()))} == {}


def test_no_message_points_to_a_page_that_an_installed_user_does_not_have() -> None:
    """A wheel has no docs/ beside it: messages name `slinky docs PAGE`, and each page that they name is there."""
    said = [(path, text) for path in python_modules() if path.parts[-2] != "tests" for text in texts_of(path)]
    said = [(path, text) for path, text in said if path.relative_to(ROOT).parts[0] in ("slinky_iac", "components")]
    assert [(str(path), text[:80]) for path, text in said if re.search(r"\bdocs/[\w/-]+\.md", text)] == []
    named = {found for _, text in said for found in NAMED.findall(text)}
    assert len(named) > 10
    for name, heading in named:
        text = (ROOT / "docs" / f"{name}.md").read_text()
        assert not heading or docs.part(text, heading.strip("'"), name)


NAMED = re.compile(r"slinky docs ([a-z][\w-]+)(?: ('[^']+'|[A-Z][\w/]*))?")


def texts_of(path: Path) -> list[str]:
    """The texts of a module that aren't docstrings."""
    tree = syntax_tree(path)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    notes = {id(each.value) for body in bodies for each in body if isinstance(each, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in notes)
    return [node.value for node in texts if isinstance(node.value, str)]
