"""Supervised processes: found again, ended whole, and never somebody else's."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.supervise import Supervisor


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "run", tmp_path / "logs")
    yield made
    for name in made.recorded():
        made.stop(name)
    made.sweep()


def pid_of(supervisor: Supervisor, name: str) -> int:
    return int(json.loads((supervisor.run / f"{name}.json").read_text())["pid"])


def test_started_process_is_alive_and_leads_its_own_session(supervisor: Supervisor) -> None:
    supervisor.start("sleeper", ["sleep", "60"])
    pid = pid_of(supervisor, "sleeper")
    assert supervisor.alive("sleeper")
    assert supervisor.running() == ["sleeper"]
    assert os.getsid(pid) == pid != os.getsid(0)


def test_start_of_a_living_process_changes_nothing(supervisor: Supervisor) -> None:
    supervisor.start("sleeper", ["sleep", "60"])
    before = pid_of(supervisor, "sleeper")
    supervisor.start("sleeper", ["sleep", "60"])
    assert pid_of(supervisor, "sleeper") == before


def test_stop_ends_the_whole_group_even_when_it_ignores_term(supervisor: Supervisor) -> None:
    supervisor.start("stubborn", ["sh", "-c", "trap '' TERM; sleep 61 & echo $!; while :; do wait; done"])
    log = supervisor.log_path("stubborn")
    supervisor.await_true("child reported", lambda: log.exists() and log.read_text().strip() != "", 5)
    child = int(log.read_text())
    supervisor.stop("stubborn", timeout=0.2)
    assert not supervisor.alive("stubborn")
    assert supervisor.recorded() == []
    supervisor.await_true("child gone", lambda: not (Path(f"/proc/{child}/cmdline").exists() and cmdline(child)), 5)


def test_nothing_of_a_paused_group_runs_any_more(supervisor: Supervisor) -> None:
    """More busy processes than processors: one that waits for its turn has not seen the signal yet."""
    busy = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do while :; do :; done & echo $!; done; wait"
    supervisor.start("busy", ["sh", "-c", busy])
    log = supervisor.log_path("busy")
    supervisor.await_true("all of them run", lambda: log.exists() and len(log.read_text().split()) == 12, 10)
    supervisor.pause("busy")
    assert {state(int(pid)) for pid in log.read_text().split()} == {"T"}
    supervisor.resume("busy")
    with pytest.raises(LabError, match="nobody is not running and cannot be sent SIGSTOP"):
        supervisor.pause("nobody")


def test_a_process_that_stops_itself_again_is_resumed_all_the_same(supervisor: Supervisor) -> None:
    """As nsenter does when it learns of its child's stop after its own SIGCONT."""
    # No fork after the trap is set: a shell whose vforked child is stopped before its exec is in state D, not T.
    again = "sleep 60 & n=0; trap 'n=$((n+1)); [ $n -gt 2 ] || kill -STOP $$' CONT; echo; while :; do wait; done"
    supervisor.start("mirror", ["sh", "-c", again])
    log = supervisor.log_path("mirror")
    supervisor.await_true("the trap is set", lambda: log.exists() and log.read_text() != "", 5)
    pid = pid_of(supervisor, "mirror")
    os.killpg(pid, signal.SIGSTOP)
    supervisor.await_true("stopped", lambda: state(pid) == "T", 5)
    supervisor.resume("mirror")
    assert state(pid) != "T"


def test_reused_pid_is_neither_alive_nor_killed(supervisor: Supervisor) -> None:
    stranger = subprocess.Popen(["sleep", "62"], start_new_session=True)
    try:
        supervisor.run.mkdir(parents=True)
        (supervisor.run / "old.json").write_text(json.dumps({"pid": stranger.pid, "start": 1}))
        assert not supervisor.alive("old")
        supervisor.stop("old", timeout=0.1)
        assert stranger.poll() is None
        assert supervisor.recorded() == []
    finally:
        stranger.kill()
        stranger.wait()


def test_sweep_finds_what_left_the_group_and_only_that(supervisor: Supervisor, tmp_path: Path) -> None:
    other = Supervisor(tmp_path / "other", tmp_path / "logs")
    other.start("mine-not", ["sleep", "63"])
    supervisor.start("parent", ["setsid", "--fork", "sleep", "64"])
    supervisor.await_true("parent left", lambda: not supervisor.alive("parent"), 5)
    assert len(supervisor.sweep()) == 1
    assert other.alive("mine-not")
    other.stop("mine-not")


def test_await_true_names_what_and_shows_the_log_when_time_is_up(supervisor: Supervisor) -> None:
    supervisor.start("talker", ["sh", "-c", "echo cannot bind; exec sleep 60"])
    log = supervisor.log_path("talker")
    supervisor.await_true("talked", lambda: log.exists() and "bind" in log.read_text(), 5)
    with pytest.raises(LabError, match=r"etcd answers: not so after 0 s(.|\n)*cannot bind"):
        supervisor.await_true("etcd answers", lambda: False, 0.1, log="talker")


def test_await_true_does_not_wait_for_a_dead_process(supervisor: Supervisor) -> None:
    supervisor.start("dying", ["sh", "-c", "echo no such option; exit 2"])
    with pytest.raises(LabError, match=r"dying ended before that(.|\n)*no such option"):
        supervisor.await_true("answers", lambda: False, 30, log="dying")


def test_missing_program_is_told_by_await_true(supervisor: Supervisor) -> None:
    supervisor.start("typo", ["no-such-program-here"])
    with pytest.raises(LabError, match=r"no-such-program-here"):
        supervisor.await_true("answers", lambda: False, 30, log="typo")


def test_start_ends_what_a_dead_predecessor_left(supervisor: Supervisor) -> None:
    supervisor.start("daemon", ["sh", "-c", "sleep 65 & echo $!; exec sleep 66"])
    log = supervisor.log_path("daemon")
    supervisor.await_true("child reported", lambda: log.exists() and log.read_text().strip() != "", 5)
    child = int(log.read_text())
    os.kill(pid_of(supervisor, "daemon"), signal.SIGKILL)
    supervisor.await_true("leader is dead", lambda: not supervisor.alive("daemon"), 5)
    assert Path(f"/proc/{child}").exists()
    supervisor.start("daemon", ["sleep", "67"])
    assert supervisor.alive("daemon")
    supervisor.await_true("child gone", lambda: not (Path(f"/proc/{child}/cmdline").exists() and cmdline(child)), 5)


def test_a_process_that_restarts_is_started_again_after_each_end_and_its_ends_are_counted(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path / "run", tmp_path / "logs", first_backoff_s=0)
    supervisor.start("pod", ["sh", "-c", "echo panic; exit 2"], restarts=True)
    try:
        supervisor.await_true("it ended three times", lambda: len(supervisor.ends("pod")) >= 3, 10)
        assert set(supervisor.ends("pod")) == {2}
        assert supervisor.alive("pod")
        assert supervisor.log_path("pod").read_text().count("panic") >= 3
    finally:
        supervisor.stop("pod")
    assert supervisor.ends("pod") == []
    assert supervisor.sweep() == []


def test_the_second_restart_waits(supervisor: Supervisor) -> None:
    supervisor.start("pod", ["sh", "-c", "kill -9 $$"], restarts=True)
    said = supervisor.log_path("pod")
    supervisor.await_true("it ended twice", lambda: len(supervisor.ends("pod")) == 2, 10)
    assert set(supervisor.ends("pod")) == {128 + signal.SIGKILL}
    supervisor.await_true("its wait is logged", lambda: "started again after 10 s" in said.read_text(), 5)
    assert "started again after 0 s" in said.read_text()


def test_a_crash_ends_the_process_and_not_what_restarts_it(supervisor: Supervisor) -> None:
    supervisor.start("pod", ["sh", "-c", "echo began; exec sleep 69"], restarts=True)
    log = supervisor.log_path("pod")
    supervisor.await_true("it runs", lambda: log.exists() and "began" in log.read_text(), 5)
    supervisor.crash("pod")
    supervisor.await_true("it runs again", lambda: log.read_text().count("began") == 2, 5)
    assert supervisor.ends("pod") == [128 + signal.SIGKILL]
    with pytest.raises(LabError, match="no process to kill"):
        supervisor.crash("other")


def test_stop_ends_what_restarts_with_its_process(supervisor: Supervisor) -> None:
    supervisor.start("pod", ["sh", "-c", "echo $$; exec sleep 68"], restarts=True)
    log = supervisor.log_path("pod")
    supervisor.await_true("child reported", lambda: log.exists() and log.read_text().strip() != "", 5)
    child = int(log.read_text())
    supervisor.stop("pod")
    supervisor.await_true("child gone", lambda: not (Path(f"/proc/{child}/cmdline").exists() and cmdline(child)), 5)
    assert supervisor.sweep() == []


def state(pid: int) -> str:
    """A process's state letter, of proc_pid_stat(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def cmdline(pid: int) -> bytes:
    """Empty for a zombie, which its parent has not collected yet."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()
