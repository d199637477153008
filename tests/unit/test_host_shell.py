"""Scripts that root runs in Slurm's folder: another user who may write there gains nothing by it, however fast."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from slinky_iac.commands.host_shell import TRUSTED
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.host_scripts import File
from slinky_iac.commands.rotation.model import Host
from slinky_iac.keys.catalogue import Role
from tests.unit.examples import examples
from tests.unit.handoff.made import KEYS
from tests.unit.handoff.scratch import Scratch, scratch

__all__ = ["scratch"]
RUNS = examples(50)
VICTIM = "root:x:0:0\n"
FILES = (File("slurm.key", b"k" * 64), File("slurm.jwks", b"{}" * 40))
Script = Callable[[], subprocess.CompletedProcess[str]]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that only root may change."""
    file = tmp_path / "victim"
    file.write_text(VICTIM)
    file.chmod(0o604)
    return file


def as_it_was(victim: Path) -> bool:
    found = victim.lstat()
    return (victim.read_text(), found.st_mode & 0o7777, found.st_uid) == (VICTIM, 0o604, os.geteuid())


def piped(scratch: Scratch, text: str) -> subprocess.CompletedProcess[str]:
    """Run a script as `keys rotate` lets a host run it."""
    env = {"PATH": f"{scratch.root}/bin:{os.environ['PATH']}", "CALLS": str(scratch.root / "calls")}
    return subprocess.run(["sh", "-s"], input=text, env=env, capture_output=True, text=True, check=False, timeout=30)


def rotate(scratch: Scratch) -> Script:
    """The script of `keys rotate`, in this host's folder."""
    text = host_scripts.change(Host("h", (Role.SLURMDBD,)), FILES, folder=str(scratch.root / "etc/slurm"))
    return lambda: piped(scratch, text)


def replaced(scratch: Scratch) -> Script:
    """The script of a planned stop."""
    text = host_scripts.replaced(Host("h", (Role.SLURMDBD,)), FILES[0], folder=str(scratch.root / "etc/slurm"))
    return lambda: piped(scratch, text)


def edit(scratch: Scratch) -> Script:
    """install.sh of slurmctld's host, told to add what slurm.conf lacks."""
    return lambda: scratch.install("slurmctld", arguments=("--edit",))


SCRIPTS = {"rotate": rotate, "replaced": replaced, "edit": edit}


def set_up(scratch: Scratch) -> Path:
    """Slurm's folder as an admin has it."""
    folder = scratch.root / "etc/slurm"
    for name, raw in KEYS.items():
        (folder / name).write_bytes(raw)
        (folder / name).chmod(0o600)
    (folder / "slurm.conf").write_text("ClusterName=lab\n")
    return folder


@contextmanager
def attacked(folder: Path, victim: Path, names: tuple[str, ...]) -> Iterator[None]:
    """Somebody lays links under ``names``, and in the place of each new file that shows, again and again."""
    over = threading.Event()
    own = {path.name for path in folder.iterdir()}

    def lay(name: str) -> None:
        link = folder / f"{name}.link"
        try:
            link.symlink_to(victim)
            link.replace(folder / name)
        except OSError:
            link.unlink(missing_ok=True)

    def loop() -> None:
        while not over.is_set():
            shown = {path.name for path in folder.iterdir() if not path.is_symlink()}
            for name in (*names, *(shown - own)):
                lay(name)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


OTHERS: list[Callable[[Path], object]] = [
    lambda folder: folder.chmod(0o777),
    lambda folder: folder.chmod(0o1777),
    lambda folder: folder.chmod(0o757),
]
"""How a folder comes to be one that others may write into."""
if os.geteuid() == 0:
    OTHERS += [lambda folder: os.chown(folder, 3401, 3401)]
    OTHERS += [lambda folder: (os.chown(folder, 0, 3401), folder.chmod(0o775))]


def give(folder: Path, user: int) -> None:
    """A POSIX ACL by which a user may write there; the mode shows its mask in the place of the group's rights."""
    anybody = 0xFFFFFFFF
    entries = ((1, 7, anybody), (2, 7, user), (4, 5, anybody), (16, 7, anybody), (32, 5, anybody))
    os.setxattr(folder, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))


@pytest.mark.parametrize("which", SCRIPTS)
@pytest.mark.parametrize("where", ["etc/slurm", "etc"])
def test_an_acl_is_seen_there_and_above(scratch: Scratch, which: str, where: str) -> None:
    folder = set_up(scratch)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    give(scratch.root / where, 3401)
    done = SCRIPTS[which](scratch)()
    assert done.returncode != 0
    assert f"{scratch.root / where} has an ACL" in done.stderr
    assert f"setfacl -b {scratch.root / where}" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@contextmanager
def moved(folder: Path, victim: Path) -> Iterator[None]:
    """Somebody who may write in a folder moves each new name away, and lays a link or a folder of their own there."""
    over = threading.Event()
    own = {path.name for path in folder.iterdir()}
    taken = victim.parent / "taken"
    taken.mkdir()

    def loop() -> None:
        for number in itertools.count():
            if over.is_set():
                return
            for name in [path.name for path in folder.iterdir() if path.name not in own]:
                with suppress(OSError):
                    (folder / name).rename(taken / f"{number}-{name}")
                    (folder / name).symlink_to(victim if number % 2 else taken)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("which", ["rotate", "replaced"])
def test_in_a_folder_that_is_trusted_wrongly_no_file_of_root_s_is_made_elsewhere(
    scratch: Scratch, victim: Path, which: str
) -> None:
    """An ACL of NFSv4, or a mode that changes after the look: files are finished where only root gets."""
    folder = set_up(scratch)
    text = {
        "rotate": host_scripts.change(Host("h", (Role.SLURMDBD,)), FILES, folder=str(folder)),
        "replaced": host_scripts.replaced(Host("h", (Role.SLURMDBD,)), FILES[0], folder=str(folder)),
    }[which]
    wrongly = text.replace("if ! why=$(trusted .)", "if false")
    assert wrongly != text
    ended = 0
    with moved(folder, victim):
        for run in range(RUNS):
            ended += piped(scratch, wrongly).returncode == 0
            assert as_it_was(victim), f"run {run}"
            for other in (victim.parent / "taken").rglob("*"):
                assert other.is_symlink() or other.is_dir() or other.stat().st_mode & 0o077 == 0, other


def test_what_a_run_that_was_cut_short_left_goes_with_the_next(scratch: Scratch) -> None:
    folder = set_up(scratch)
    (folder / ".slinky-iac.Ab12Cd").mkdir(mode=0o700)
    (folder / ".slinky-iac.Ab12Cd" / "new").write_bytes(b"half a key")
    (folder / ".slinky-iac-slurmd").touch()
    assert rotate(scratch)().returncode == 0
    assert [path.name for path in folder.glob(".*")] == [".slinky-iac-slurmd"]


def test_the_folder_of_unfinished_files_is_refused_where_it_is_not_one_s_own_and_empty(tmp_path: Path) -> None:
    """As an attacker may have put it there between its making and the step into it."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for opened, filled in ((0o755, False), (0o700, True)):
        made = tmp_path / f"made-{opened}"
        made.mkdir(mode=opened)
        if filled:
            (made / "new").touch()
        (tools / "mktemp").write_text(f"#!/bin/sh\necho {made}\n")
        (tools / "mktemp").chmod(0o755)
        text = f"set -eu\n{TRUSTED}\n( enter {tmp_path}; echo written > new )\n"
        env = {"PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-c", text], env=env, capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode != 0
        assert not (made / "new").exists() or (made / "new").read_text() == ""


@pytest.mark.parametrize("opened", OTHERS)
@pytest.mark.parametrize("which", SCRIPTS)
def test_in_a_folder_that_others_may_change_root_s_script_changes_nothing(
    scratch: Scratch, which: str, opened: Callable[[Path], object]
) -> None:
    folder = set_up(scratch)
    opened(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = SCRIPTS[which](scratch)()
    assert done.returncode != 0
    assert f"{folder} belongs to" in done.stderr
    assert f"chown root: {folder}" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert scratch.asked == []


@pytest.mark.parametrize("which", SCRIPTS)
def test_a_folder_below_one_that_others_may_change_is_refused_too(scratch: Scratch, which: str) -> None:
    """Its owner may put another one of root's in its place."""
    set_up(scratch)
    (scratch.root / "etc").chmod(0o777)
    done = SCRIPTS[which](scratch)()
    assert done.returncode != 0
    assert f"{scratch.root}/etc belongs to" in done.stderr
    assert scratch.asked == []


def test_a_link_of_another_user_to_a_folder_of_root_s_is_seen_through(scratch: Scratch, tmp_path: Path) -> None:
    """`cd` goes where the link leads at that moment; what is judged is where the script is then."""
    folder = set_up(scratch)
    folder.chmod(0o777)
    (tmp_path / "slurm").symlink_to(folder)
    text = host_scripts.change(Host("h", (Role.SLURMDBD,)), FILES, folder=str(tmp_path / "slurm"))
    done = piped(scratch, text)
    assert done.returncode != 0
    assert f"{folder} belongs to" in done.stderr


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ("rotate", ("slurm.key.new", "slurm.key.read", "slurm.jwks.new", "slurm.jwks.read")),
        ("replaced", ("slurm.key.new", "slurm.key.read")),
        ("edit", ("slurm.conf.before-slinky-iac", "jwks.json.new")),
    ],
)
def test_links_laid_in_a_loop_never_lead_root_elsewhere(
    scratch: Scratch, victim: Path, which: str, names: tuple[str, ...]
) -> None:
    folder = set_up(scratch)
    folder.chmod(0o777)
    script = SCRIPTS[which](scratch)
    with attacked(folder, victim, names):
        for run in range(RUNS):
            assert script().returncode != 0
            assert as_it_was(victim), f"run {run}"


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ("rotate", ("slurm.key.new", "slurm.key.read", "slurm.jwks", "slurm.jwks.new", "slurm.jwks.read")),
        ("replaced", ("slurm.key.new", "slurm.key.read")),
        ("edit", ("slurm.conf.before-slinky-iac", "slurm.conf.new")),
    ],
)
def test_links_that_were_laid_while_the_folder_was_another_s_are_not_followed(
    scratch: Scratch, victim: Path, which: str, names: tuple[str, ...]
) -> None:
    """The refusal's advice is to take the folder over; what lies in it then is still the other's work."""
    folder = set_up(scratch)
    for name in names:
        (folder / name).symlink_to(victim)
    done = SCRIPTS[which](scratch)()
    assert "belongs to" not in done.stderr
    assert as_it_was(victim)
    if which == "edit":
        assert "AuthType=auth/slurm" in (folder / "slurm.conf").read_text()
        assert (folder / "slurm.conf.before-slinky-iac").read_text() == "ClusterName=lab\n"
    else:
        assert done.returncode == 0, done.stderr
        assert (folder / "slurm.key").read_bytes() == FILES[0].content
    assert not list(folder.glob(".*"))


def test_a_link_in_slurm_conf_s_place_is_not_edited_through(scratch: Scratch, victim: Path) -> None:
    folder = set_up(scratch)
    (folder / "slurm.conf").unlink()
    (folder / "slurm.conf").symlink_to(victim)
    done = edit(scratch)()
    assert done.returncode == 1
    assert f"slurm.conf is a link to {victim}: add the lines there yourself" in done.stderr
    assert as_it_was(victim)


def test_a_key_in_the_place_of_which_a_folder_lies_is_not_put_into_that_folder(scratch: Scratch) -> None:
    folder = set_up(scratch)
    (folder / "slurm.jwks").mkdir()
    assert rotate(scratch)().returncode != 0
    assert list((folder / "slurm.jwks").iterdir()) == []
    assert scratch.asked == []


def test_a_look_does_not_wait_for_what_is_no_file(scratch: Scratch) -> None:
    folder = set_up(scratch)
    os.mkfifo(folder / "slurm.key.read")
    text = host_scripts.look(["slurm.key"], folder=str(folder))
    done = piped(scratch, text)
    assert not host_scripts.parse_report(done.stdout)["slurm.key"].read
