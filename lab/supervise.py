"""Detached processes that outlive the command that started them, and that are found again without guessing.

A process records itself (pid and kernel start time) *before* it becomes the wanted program, so no crash of the
lab can leave one behind unrecorded, and a pid that the kernel has given to somebody else since is never signalled.
Every process also carries MARKER in its environment, by which `sweep` finds what left its process group.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.errors import LabError

MARKER = "SLINKY_LAB_PROCESS"
TAIL_LINES = 15
POLL_SECONDS = 0.1
STEADY_POLLS = 5
"""So often in a row no member of a group is stopped: then it has been resumed."""

# stdout is a pipe to the starter until `exec` replaces it: end of file there means that the record is written.
# Field 22 of /proc/PID/stat is the start time in clock ticks since boot (proc_pid_stat(5)).
_RECORD_THEN_BECOME = """
record=$1; log=$2; shift 2
set -e
read -r stat < /proc/$$/stat
rest=${stat##*) }
start=$(echo $rest | cut -d' ' -f20)
printf '{"pid": %d, "start": %d}\\n' $$ "$start" > "$record.new"
mv "$record.new" "$record"
exec "$@" >> "$log" 2>&1 < /dev/null
"""

FIRST_BACKOFF_S = 10
"""A kubelet's: at once after the first end, then after this, and after twice as long each further time."""
LONGEST_BACKOFF_S = 300
# A process that has run for twice the longest wait begins again with the first one, as a kubelet's container does.
_RESTART = """
count=$1; first=$2; longest=$3; shift 3
wait=0
while :; do
  begun=$(date +%s)
  code=0
  "$@" || code=$?
  if [ $(($(date +%s) - begun)) -ge $((2 * longest)) ]; then wait=0; fi
  echo "lab: ended with $code; it is started again after $wait s"
  echo "$code" >> "$count"
  sleep $wait
  wait=$((wait ? wait * 2 : first))
  if [ $wait -gt $longest ]; then wait=$longest; fi
done
"""


@dataclass(frozen=True)
class Record:
    """A process as it was when it started. `start` is in clock ticks since boot."""

    pid: int
    start: int


@dataclass(frozen=True)
class Supervisor:
    """Keeps the records under `run` and the output under `logs`."""

    run: Path
    logs: Path
    first_backoff_s: int = FIRST_BACKOFF_S

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        restarts: bool = False,
    ) -> None:
        """Start `argv` in a session of its own, unless `name` is alive. Raises LabError if it can't be recorded.

        What a dead one left in its process group (nsenter's child, when only nsenter was killed) is ended first.
        With `restarts` it is started again whenever it ends, with a kubelet's back-off: for what is a container elsewhere.
        `name` is then alive until it is stopped.
        """
        if self.alive(name):
            return
        self.stop(name, timeout=2.0)
        self.run.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        if restarts:
            waits = (str(self.first_backoff_s), str(LONGEST_BACKOFF_S))
            argv = ["sh", "-c", _RESTART, name, str(self._ends_path(name)), *waits, *argv]
        shell = ["sh", "-c", _RECORD_THEN_BECOME, name, str(self._record_path(name)), str(self.log_path(name)), *argv]
        done = subprocess.run(
            ["setsid", "--fork", *shell],
            env={**os.environ, **(env or {}), MARKER: self._marker(name)},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not self._record_path(name).exists():
            raise LabError(f"{name}: could not be started: {done.stdout.strip()}; look at {self.log_path(name)}")

    def stop(self, name: str, timeout: float = 10.0) -> None:
        """Ask the process group to end, kill it after `timeout` seconds; nothing happens to a reused pid."""
        record = self._record(name)
        if record is not None:
            for sign, wait in ((signal.SIGTERM, timeout), (signal.SIGKILL, 5.0)):
                if not _signal_group(record, sign):
                    break
                deadline = time.monotonic() + wait
                while _group(record) and time.monotonic() < deadline:
                    time.sleep(POLL_SECONDS / 2)
            if _group(record):
                raise LabError(f"{name}: process group {record.pid} survives SIGKILL; see `ps -o pid,stat,wchan,args`")
        self._record_path(name).unlink(missing_ok=True)
        self._ends_path(name).unlink(missing_ok=True)

    def pause(self, name: str, timeout: float = 10.0) -> None:
        """SIGSTOP to a process group, and wait until no thread of it can run. Raises LabError where one still may.

        A thread that waits for a processor runs on until it gets one and sees the signal: on a busy machine a daemon answers
        one request more.
        """
        record = self._sent(name, signal.SIGSTOP)
        self.await_true(f"each thread of {name} is stopped", lambda: all(map(_has_only_stopped, _group(record))), timeout)

    def kill(self, name: str, timeout: float = 10.0) -> None:
        """SIGKILL to a process group, and wait until its first process is gone. Raises LabError where that isn't so."""
        self._sent(name, signal.SIGKILL)
        self.await_true(f"{name} is gone", lambda: not self.alive(name), timeout)

    def resume(self, name: str, timeout: float = 10.0) -> None:
        """SIGCONT to a process group with stopped members, until all stay awake. Raises LabError where they don't.

        Once isn't enough: nsenter stops itself when it learns that its child was stopped, and may learn it after its own
        SIGCONT. A stopped nsenter reaps nothing, and a namespace of processes waits for that at its end.
        """
        record = self._record(name)
        if record is None or not _stopped(record):
            return
        awake = 0

        def steady() -> bool:
            nonlocal awake
            awake += 1
            if _stopped(record):
                awake = 0
                _signal_group(record, signal.SIGCONT)
            return awake > STEADY_POLLS

        self.await_true(f"{name} is resumed", steady, timeout)

    def crash(self, name: str) -> None:
        """Kill what runs under `name` now, not what restarts it. Raises LabError where nothing does."""
        record = self._record(name)
        running = Path(f"/proc/{record.pid}/task/{record.pid}/children") if record is not None else None
        if running is None or not running.exists() or not (children := running.read_text().split()):
            raise LabError(f"{name}: no process to kill; its last words:\n{self.tail(name)}")
        for pid in children:
            _kill(int(pid), signal.SIGKILL)

    def ends(self, name: str) -> list[int]:
        """Exit codes of a process that `start` restarts, one for each end since then; 128 and more is a signal."""
        try:
            return [int(line) for line in self._ends_path(name).read_text().split()]
        except FileNotFoundError:
            return []

    def alive(self, name: str) -> bool:
        """Is exactly the process that was started under this name still running?"""
        record = self._record(name)
        return record is not None and _is_running(record)

    def running(self) -> list[str]:
        """Names of the living processes, sorted."""
        return sorted(path.stem for path in self.run.glob("*.json") if self.alive(path.stem))

    def recorded(self) -> list[str]:
        """Names that were started and not stopped, dead or alive, sorted."""
        return sorted(path.stem for path in self.run.glob("*.json"))

    def sweep(self, prefix: str = "") -> list[int]:
        """Kill every process that bears this supervisor's marker, whatever group it fled to; returns their pids.

        With `prefix`, only those started under a name that begins so. Finds what is not recorded yet, too.
        """
        killed = []
        for _ in range(3):  # a dying parent may have forked in between
            found = [pid for pid, mark in _marked() if mark.startswith(f"{self.run}:{prefix}")]
            for pid in found:
                _kill(pid, signal.SIGKILL)
            killed += found
            if not found:
                break
            time.sleep(POLL_SECONDS)
        return killed

    def await_true(self, what: str, check: Callable[[], bool], timeout: float, *, log: str | None = None) -> None:
        """Poll `check` until it holds. Raises LabError after `timeout` seconds, or at once when process `log` died."""
        begun = time.monotonic()
        while not check():
            if log is not None and not self.alive(log):
                raise LabError(f"{what}: {log} ended before that; its last words:\n{self.tail(log)}")
            if time.monotonic() - begun > timeout:
                last = f"; last words of {log}:\n{self.tail(log)}" if log else ""
                raise LabError(f"{what}: not so after {timeout:.0f} s{last}")
            time.sleep(POLL_SECONDS)

    def tail(self, name: str, lines: int = TAIL_LINES) -> str:
        """The last lines of a process's log, indented."""
        try:
            text = self.log_path(name).read_text(errors="replace")
        except FileNotFoundError:
            return f"  (no log at {self.log_path(name)})"
        return "\n".join(f"  {line}" for line in text.splitlines()[-lines:])

    def log_path(self, name: str) -> Path:
        """Where the output of `name` goes."""
        return self.logs / f"{name}.log"

    def _record_path(self, name: str) -> Path:
        return self.run / f"{name}.json"

    def _ends_path(self, name: str) -> Path:
        return self.run / f"{name}.ends"

    def _record(self, name: str) -> Record | None:
        try:
            return Record(**json.loads(self._record_path(name).read_text()))
        except FileNotFoundError:
            return None

    def _sent(self, name: str, sign: signal.Signals) -> Record:
        """The record of a running process, whose group was sent the signal. Raises LabError where it isn't running."""
        record = self._record(name)
        if record is None or not _is_running(record) or not _signal_group(record, sign):
            raise LabError(f"{name} is not running and cannot be sent {sign.name}; its last words:\n{self.tail(name)}")
        return record

    def _marker(self, name: str) -> str:
        return f"{self.run}:{name}"


def _stat(pid: int, process: int | None = None) -> tuple[str, int, int] | None:
    """State letter, process group and start time of a process (or of a thread of ``process``), None if there is none."""
    try:
        fields = Path(f"/proc/{process or pid}/task/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[2]), int(fields[19])


def _is_running(record: Record) -> bool:
    stat = _stat(record.pid)
    return stat is not None and stat[2] == record.start and stat[0] not in "ZX"


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _group(record: Record) -> list[int]:
    """Living members of the process group that the record's process leads or led.

    The kernel gives no new process the number of a group that still has members, so a stranger under the
    leader's number means that our group is empty.
    """
    leader = _stat(record.pid)
    if leader is not None and leader[2] != record.start:
        return []
    members = ((pid, _stat(pid)) for pid in _pids())
    return [pid for pid, stat in members if stat is not None and stat[1] == record.pid and stat[0] not in "ZX"]


def _has_only_stopped(pid: int) -> bool:
    """Whether each thread of a process is stopped; a thread that has ended counts."""
    states = (_stat(int(task.name), pid) for task in Path(f"/proc/{pid}/task").glob("*"))
    return all(stat is None or stat[0] in "TZX" for stat in states)


def _stopped(record: Record) -> bool:
    return any(stat is not None and stat[0] == "T" for stat in map(_stat, _group(record)))


def _signal_group(record: Record, sign: signal.Signals) -> bool:
    if not _group(record):
        return False
    try:
        os.killpg(record.pid, sign)
    except ProcessLookupError:
        return False
    return True


def _marked() -> Iterator[tuple[int, str]]:
    prefix = f"{MARKER}=".encode()
    for pid in _pids():
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # gone, or a kernel thread
            continue
        for entry in environ.split(b"\0"):
            if entry.startswith(prefix):
                yield pid, entry.removeprefix(prefix).decode(errors="replace")


def _kill(pid: int, sign: signal.Signals) -> None:
    try:
        os.kill(pid, sign)
    except ProcessLookupError:
        return


LAB = Supervisor(paths.RUN, paths.LOGS)
start = LAB.start
stop = LAB.stop
alive = LAB.alive
ends = LAB.ends
crash = LAB.crash
running = LAB.running
recorded = LAB.recorded
sweep = LAB.sweep
await_true = LAB.await_true
tail = LAB.tail
log_path = LAB.log_path
