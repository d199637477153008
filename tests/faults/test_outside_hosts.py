"""The lab's own promise about the hosts outside Kubernetes: they come up, they heal, and nothing of them stays.

These tests bring up a second set of hosts (own folder, bridge and addresses) beside the lab's, so they end what they
like without disturbing it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from lab import paths, supervise
from lab.errors import LabError
from lab.slurm import check
from lab.slurm.cluster import Cluster
from lab.slurm.network import Outside
from lab.slurm.site import Site
from lab.slurm.topology import Network
from tests.e2e.slurm import await_true

# A second set of hosts, made the same way by a process of its own (`up` in it is what the tests kill).
SITE = """
import sys
from ipaddress import IPv4Network
from pathlib import Path
from lab import supervise
from lab.slurm.cluster import Cluster
from lab.slurm.site import Site
from lab.slurm.topology import Network
root = Path(sys.argv[1])
network = Network("slabt-out", "st-", IPv4Network("10.98.0.0/24"), None)
Cluster(Site(root / "slurm", root / "hosts", network, supervise.Supervisor(root / "run", root / "logs"))).up()
"""


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Cluster]:
    """A second set of hosts, not up yet; taken down whatever the test left."""
    network = Network("slabt-out", "st-", IPv4Network("10.98.0.0/24"), None)
    supervisor = supervise.Supervisor(tmp_path / "run", tmp_path / "logs")
    cluster = Cluster(Site(tmp_path / "slurm", tmp_path / "hosts", network, supervisor))
    yield cluster
    cluster.down()
    supervisor.sweep()


def traces(cluster: Cluster) -> dict[str, object]:
    """What a machine shows of the second set of hosts; every value is empty when nothing is left."""
    folder = str(cluster.site.folder)
    processes = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and str(cluster.site.supervisor.run).encode() in read(entry / "environ")
    ]
    return {
        "processes": [pid for pid in processes if int(pid) != os.getpid()],
        "interfaces": Outside(cluster.site.network).leftovers(),
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if folder in line],
        "state": [path for path in (cluster.site.folder, cluster.site.names) if path.exists()],
        "records": cluster.site.supervisor.recorded(),
    }


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def assert_nothing_is_left(cluster: Cluster) -> None:
    assert not any(traces(cluster).values()), traces(cluster)


def test_hosts_come_up_twice_work_and_leave_nothing(second: Cluster) -> None:
    second.up()
    first = {name: second.hosts.pid(name) for name in ("ctl", "dbd", "metal-1")}
    second.up()
    assert {name: second.hosts.pid(name) for name in first} == first
    assert all(second.status().values())
    assert [line.partition(":")[0] for line in check.run(second)][-1] == "sacct"
    second.down()
    assert_nothing_is_left(second)


@pytest.mark.parametrize("moment", ["slurm-ctl", "slurm-dbd-mariadbd", "slurm-metal-2-slurmd"])
def test_nothing_is_left_of_an_up_that_was_killed(second: Cluster, tmp_path: Path, moment: str) -> None:
    up = subprocess.Popen([sys.executable, "-c", SITE, str(tmp_path)], cwd=paths.REPO, stdout=subprocess.DEVNULL)
    supervisor = second.site.supervisor
    supervisor.await_true(f"{moment} is started", lambda: supervisor.alive(moment) or up.poll() is not None, 60)
    up.send_signal(signal.SIGKILL)
    up.wait()
    second.down()
    assert_nothing_is_left(second)


def test_an_up_that_was_killed_is_finished_by_the_next(second: Cluster, tmp_path: Path) -> None:
    up = subprocess.Popen([sys.executable, "-c", SITE, str(tmp_path)], cwd=paths.REPO, stdout=subprocess.DEVNULL)
    supervisor = second.site.supervisor
    supervisor.await_true("mariadbd is started", lambda: supervisor.alive("slurm-dbd-mariadbd"), 60)
    up.send_signal(signal.SIGKILL)
    up.wait()
    second.up()
    assert all(second.status().values())


def test_a_host_whose_holder_is_killed_is_gone_whole_and_comes_back(second: Cluster) -> None:
    second.up()
    holder = supervise.Record(**_json(second.site.supervisor.run / "slurm-metal-1.json"))
    os.kill(holder.pid, signal.SIGKILL)
    second.site.supervisor.await_true(
        "metal-1 is gone with its interface",
        lambda: not second.hosts.is_up("metal-1") and "st-metal-1" not in Outside(second.site.network).leftovers(),
        10,
    )
    with pytest.raises(LabError, match="metal-1 is not up"):
        second.hosts.run("metal-1", ["true"])
    second.up()
    assert list(check.run(second))


def test_daemons_stop_die_pause_and_come_back(second: Cluster) -> None:
    second.up()
    second.pause("ctl", "slurmctld")
    with pytest.raises(LabError, match="took longer than 2 s"):
        second.hosts.run("ctl", ["squeue"], timeout=2)
    second.resume("ctl", "slurmctld")
    second.hosts.run("ctl", ["squeue"])
    second.kill("ctl", "slurmctld")
    assert second.status()["ctl/slurmctld"] is False
    second.start("ctl", "slurmctld")
    second.stop("rest", "slurmrestd")
    assert second.status()["rest/slurmrestd"] is False
    second.restart("rest", "slurmrestd")
    with pytest.raises(LabError, match="there is no slurmd on ctl; this lab has dbd/mariadbd"):
        second.stop("ctl", "slurmd")
    assert list(check.run(second))


def test_a_metal_host_more_and_other_partitions_take_part(second: Cluster) -> None:
    second.up()
    second.add_metal_host("metal-3")
    # The second in a row: sackd and slurmd re-execute themselves each time.
    second.apply_nodesets_conf("NodeSet=big Nodes=metal-[1-3]\nPartitionName=big Nodes=big\n")
    assert second.status()["login-1/sackd"] is True
    said = second.hosts.run("login-1", ["srun", "-p", "big", "-t", "1", "-N", "3", "hostname"], user="bob").stdout
    assert sorted(said.split()) == ["metal-1", "metal-2", "metal-3"]
    assert second.status()["metal-3/slurmd"] is True
    second.down()
    assert_nothing_is_left(second)


def test_the_backup_controller_takes_over(second: Cluster) -> None:
    second.up()
    second.enable_backup()
    second.kill("ctl", "slurmctld")
    srun = ["srun", "-p", "metal", "-N", "2", "-t", "1", "hostname"]
    assert sorted(second.hosts.run("login-1", srun, user="bob").stdout.split()) == ["metal-1", "metal-2"]
    pinged = second.hosts.run("login-1", ["scontrol", "ping"], check=False).stdout
    assert "ctl is DOWN" in pinged
    assert "ctl-2 is UP" in pinged
    second.start("ctl", "slurmctld")
    second.disable_backup()
    ping = ["scontrol", "ping"]
    await_true("login-1 has heard of it", lambda: "ctl-2" not in second.hosts.run("login-1", ping, check=False).stdout, 60)
    assert list(check.run(second))


def _json(path: Path) -> dict[str, int]:
    loaded: dict[str, int] = json.loads(path.read_text())
    return loaded
