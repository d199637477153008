"""A lab's network is touched only from the namespace that it is in; where that is gone, nothing of it is looked for."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from lab import commands, own_network
from lab.errors import LabError
from lab.own_network import OwnNetwork, cookie

OURS, THEIRS = 4026531840, 4026532777


class Machine:
    """A /proc with ``self`` and processes in namespaces of their own, and the namespaces' cookies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "proc"
        self.cookies = {OURS: 1, THEIRS: 9}
        self.puts("self", OURS)
        self.puts("1", OURS)
        self.boots("first")
        self.mounts()

    def puts(self, pid: str, inode: int) -> None:
        link = self.folder / pid / "ns" / "net"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(f"net:[{inode}]")

    def boots(self, boot: str) -> None:
        file = self.folder / "sys" / "kernel" / "random" / "boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{boot}\n")

    def mounts(self, *lines: str) -> None:
        root = "22 1 254:0 / / rw,relatime - ext4 /dev/root rw"
        (self.folder / "self" / "mountinfo").write_text("".join(f"{line}\n" for line in (root, *lines)))

    def cookie(self, entering: tuple[str, ...]) -> int | None:
        pid = entering[2] if "-t" in entering else "self"
        inode = THEIRS if any(word.startswith("--net=") for word in entering) else self.inode(pid)
        return self.cookies.get(inode)

    def inode(self, pid: str) -> int:
        return int(str((self.folder / pid / "ns" / "net").readlink())[5:-1])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def lab(machine: Machine, tmp_path: Path) -> OwnNetwork:
    return OwnNetwork(tmp_path / "lab" / "network.json", machine.folder, machine.cookie)


def made_by(machine: Machine, lab: OwnNetwork, pid: str = "50") -> None:
    """The lab came up in a namespace of its own, which process ``pid`` keeps; we are in the machine's."""
    machine.puts("self", THEIRS)
    machine.puts(pid, THEIRS)
    assert lab.claim()
    machine.puts("self", OURS)


def test_a_lab_that_never_came_up_is_nowhere_else(lab: OwnNetwork) -> None:
    assert lab.require()
    assert not lab.note.exists()


def test_its_own_namespace_is_its_own_again_and_again(lab: OwnNetwork) -> None:
    assert lab.claim()
    before = lab.note.read_bytes()
    assert lab.claim()
    assert lab.require()
    assert lab.note.read_bytes() == before


@pytest.mark.parametrize("ask", [OwnNetwork.require, OwnNetwork.claim])
def test_elsewhere_nothing_is_done_and_the_way_in_is_told(
    machine: Machine, lab: OwnNetwork, ask: Callable[[OwnNetwork], bool]
) -> None:
    made_by(machine, lab)
    before = lab.note.read_bytes()
    with pytest.raises(LabError) as refused:
        ask(lab)
    told = str(refused.value)
    assert str(THEIRS) in told
    assert str(OURS) in told
    assert "`nsenter -t 50 -n`" in told
    assert "Nothing was touched" in told
    assert lab.note.read_bytes() == before


def test_a_namespace_that_only_a_file_holds_is_alive_and_entered_by_it(machine: Machine, lab: OwnNetwork) -> None:
    made_by(machine, lab)
    machine.puts("50", OURS)
    machine.mounts(f"90 22 0:4 net:[{THEIRS}] /run/netns/lab-2 rw shared:3 - nsfs nsfs rw")
    with pytest.raises(LabError, match="`nsenter --net=/run/netns/lab-2`"):
        lab.require()


def test_a_process_that_ends_while_we_look_says_nothing_of_its_namespace(machine: Machine, lab: OwnNetwork) -> None:
    made_by(machine, lab)
    machine.puts("60", THEIRS)
    ended = replace(lab, cookie=lambda entering: None if "50" in entering else machine.cookie(entering))
    with pytest.raises(LabError, match="nsenter -t 60 -n"):
        ended.require()


def gone(machine: Machine) -> None:
    machine.puts("50", OURS)


def rebooted(machine: Machine) -> None:
    machine.boots("second")


def number_given_to_another(machine: Machine) -> None:
    machine.cookies[THEIRS] = 77


def number_given_to_ours(machine: Machine) -> None:
    gone(machine)
    machine.puts("self", THEIRS)
    machine.cookies[THEIRS] = 77


@pytest.mark.parametrize("happened", [gone, rebooted, number_given_to_another, number_given_to_ours])
def test_a_namespace_that_is_gone_leaves_nothing_to_look_for_and_a_new_one_can_be_taken(
    machine: Machine, lab: OwnNetwork, happened: Callable[[Machine], None]
) -> None:
    made_by(machine, lab)
    happened(machine)
    assert not lab.require()
    assert not lab.claim()
    assert lab.claim()
    assert lab.require()


def test_without_cookies_the_inode_alone_tells(machine: Machine, lab: OwnNetwork) -> None:
    machine.cookies.clear()
    made_by(machine, lab)
    with pytest.raises(LabError, match="nsenter -t 50 -n"):
        lab.require()


def test_a_note_that_nobody_can_read_stops_every_command(lab: OwnNetwork) -> None:
    lab.note.parent.mkdir()
    lab.note.write_text('{"boot": "first"}')
    with pytest.raises(LabError, match="Nothing was touched"):
        lab.require()


def test_the_machine_we_run_on_has_all_of_it(tmp_path: Path) -> None:
    lab = OwnNetwork(tmp_path / "network.json")
    assert lab.claim()
    noted = json.loads(lab.note.read_text())
    assert noted["inode"] == Path("/proc/self/ns/net").stat().st_ino
    assert noted["cookie"] == cookie()
    assert noted["boot"]


# -- the commands --------------------------------------------------------------------------------------------------


class Untouchable:
    """Stands for all that a command could change."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} was touched")


TOUCHED = ("apt", "forwarding", "inotify", "KUBERNETES", "machine", "shutil", "slurm", "supervise")


@pytest.mark.parametrize(
    "command",
    [
        lambda: commands.up(None),
        lambda: commands.down(None),
        lambda: commands.down("kubernetes"),
        lambda: commands.down("slurm"),
        lambda: commands.status(as_json=True),
    ],
)
def test_a_command_given_elsewhere_touches_nothing(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, lab: OwnNetwork, command: Callable[[], object]
) -> None:
    made_by(machine, lab)
    monkeypatch.setattr(own_network, "LAB", lab)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in TOUCHED:
        monkeypatch.setattr(commands, name, Untouchable())
    with pytest.raises(LabError, match="nsenter -t 50 -n"):
        command()


class Halves:
    """A half of the lab that notes how it was taken down."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    def down(self, *, network_there: bool) -> None:
        self.asked.append(network_there)


@pytest.mark.parametrize("happened", [None, gone, rebooted])
def test_down_cleans_up_without_a_network_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
    machine: Machine,
    lab: OwnNetwork,
    tmp_path: Path,
    happened: Callable[[Machine], None] | None,
) -> None:
    made_by(machine, lab)
    machine.puts("self", THEIRS if happened is None else OURS)
    if happened is not None:
        happened(machine)
    kubernetes, slurm, restored = Halves(), Halves(), list[str]()
    monkeypatch.setattr(own_network, "LAB", lab)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(commands, "KUBERNETES", kubernetes)
    monkeypatch.setattr(commands, "slurm", slurm)
    monkeypatch.setattr(commands.inotify, "restore", lambda **_: restored.append("inotify"))
    monkeypatch.setattr(commands.forwarding, "restore", lambda: restored.append("forwarding"))
    monkeypatch.setattr(commands.supervise, "sweep", list)
    monkeypatch.setattr(commands.paths, "STATE", tmp_path / "lab")
    commands.down(None)
    there = happened is None
    assert (kubernetes.asked, slurm.asked) == ([there], [there])
    assert restored == (["inotify", "forwarding"] if there else ["inotify"])
    assert not lab.note.exists(), "the next `up` begins from nothing"
