"""`lab down` leaves nothing behind, wherever a lab was killed; in a network namespace and state folder of its own.

The lab that the other tests use goes on beside it.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import paths, supervise
from lab.supervise import Supervisor

LAB = paths.REPO / "lab" / "lab"


@dataclass(frozen=True)
class Elsewhere:
    """A lab with its own STATE, run in the network namespace that process `holder` keeps."""

    state: Path
    holder: int

    @property
    def supervisor(self) -> Supervisor:
        return Supervisor(self.state / "run", self.state / "logs")

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "SLINKY_LAB_STATE": str(self.state)}

    def command(self, *arguments: str) -> list[str]:
        return ["nsenter", "-t", str(self.holder), "-n", str(LAB), *arguments, "--only", "kubernetes"]

    def up(self) -> None:
        done = subprocess.run(self.command("up"), env=self.env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr

    def down(self) -> None:
        done = subprocess.run(self.command("down"), env=self.env, capture_output=True, text=True, check=False, timeout=90)
        assert done.returncode == 0, done.stderr

    def assert_refused_in_another_namespace(self) -> None:
        """`down` given in a namespace that isn't the lab's ends nothing, and says how to come to the right one."""
        before = self.supervisor.recorded()
        argv = ["unshare", "--net", str(LAB), "down", "--only", "kubernetes"]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 1
        assert "`nsenter -t " in done.stderr
        assert set(before) <= set(self.supervisor.recorded())

    def killed_when(self, reached: Callable[[], bool], what: str) -> None:
        """Start `lab up`, and SIGKILL it with all of its process group as soon as `reached`."""
        told = self.state.with_name("up.log")
        with told.open("w") as log:
            up = subprocess.Popen(self.command("up"), env=self.env, stderr=log, start_new_session=True)
        try:
            self.supervisor.await_true(what, lambda: reached() or up.poll() is not None, 120)
            assert up.poll() is None, told.read_text()
        finally:
            if up.poll() is None:
                os.killpg(up.pid, signal.SIGKILL)
            up.wait()

    def links(self) -> set[str]:
        argv = ["nsenter", "-t", str(self.holder), "-n", "ip", "-j", "link"]
        answer = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
        return {link["ifname"] for link in answer}

    def processes(self) -> list[int]:
        mark = f"{supervise.MARKER}={self.state}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def mounts(self) -> list[str]:
        return [line for line in Path("/proc/mounts").read_text().splitlines() if str(self.state) in line]

    def cgroups(self) -> list[Path]:
        code = "from lab import paths; print(paths.CGROUP)"
        argv = ["python3", "-c", code]
        name = subprocess.run(argv, env=self.env, cwd=paths.REPO, capture_output=True, text=True, check=True).stdout.strip()
        assert name != paths.CGROUP
        return [folder for folder in Path("/sys/fs/cgroup").glob(f"*/{name}") if folder.is_dir()]


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    script = "ip link set lo up && echo up && exec sleep infinity"
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "up\n"
    folder = Path(tempfile.mkdtemp(prefix="lab-"))  # pytest's own are too long for containerd's socket
    lab = Elsewhere(folder / "lab", holder.pid)
    yield lab
    lab.down()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    shutil.rmtree(folder)


def assert_clean(lab: Elsewhere) -> None:
    lab.supervisor.await_true("killed processes are gone", lambda: not lab.processes(), 10)
    assert not (lab.state / "kubernetes").exists()
    assert not (lab.state / "kubeconfig").exists()
    assert lab.supervisor.recorded() == []
    assert lab.links() == {"lo"}
    assert lab.mounts() == []
    assert lab.cgroups() == []


@pytest.mark.parametrize("process", ["kube-etcd", "node-1", "node-2-kubelet"])
def test_down_cleans_up_after_an_up_that_was_killed(elsewhere: Elsewhere, process: str) -> None:
    elsewhere.killed_when(lambda: elsewhere.supervisor.alive(process), f"{process} was started")
    assert elsewhere.processes() != []
    elsewhere.assert_refused_in_another_namespace()
    elsewhere.down()
    assert_clean(elsewhere)


def test_up_goes_on_from_where_it_was_killed_and_from_dead_processes(elsewhere: Elsewhere) -> None:
    elsewhere.killed_when(lambda: elsewhere.supervisor.alive("node-1-containerd"), "containerd was started")
    elsewhere.up()
    for process in ("kube-apiserver", "node-2", "node-3-kubelet"):
        record = json.loads((elsewhere.state / "run" / f"{process}.json").read_text())
        os.kill(record["pid"], signal.SIGKILL)
    elsewhere.supervisor.await_true("node-2 is dead", lambda: not elsewhere.supervisor.alive("node-2-kubelet"), 10)
    elsewhere.up()
    assert {"kube-apiserver", "node-2", "node-2-kubelet", "node-3-kubelet"} <= set(elsewhere.supervisor.running())
    elsewhere.down()
    assert_clean(elsewhere)
