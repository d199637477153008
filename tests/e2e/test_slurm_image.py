"""One image, five roles, each started as slurm-operator starts it: same user, environment, arguments and files.

A second cluster (own folder, bridge and addresses) plays the outside; each container is a host over the
image's own layer, with what the operator would mount at /etc/slurm.
"""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from lab import supervise
from lab.slurm import check, conf, daemons, image, keys
from lab.slurm.cluster import Cluster
from lab.slurm.hosts import Bind, Hosts
from lab.slurm.network import Outside
from lab.slurm.site import Site
from lab.slurm.topology import Host, Network

ENTRY = list(image.COMMAND)
AS_SLURM = ["setpriv", "--reuid=401", "--regid=401", "--clear-groups"]
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@dataclass(frozen=True)
class Pods:
    """Containers of the image, next to a cluster."""

    outside: Cluster
    root: Path
    names: tuple[str, ...] = ("worker", "login", "rest", "dbd", "ctl-pod")

    @property
    def hosts(self) -> Hosts:
        """The containers as hosts."""
        network = replace(self.outside.site.network, prefix="sj-")
        return Hosts(replace(self.outside.site, folder=self.root.parent / "pods", label="pod", network=network))

    def address(self, name: str) -> str:
        """A container's address; a plain outside host's if it is none."""
        offsets = {pod: 100 + index for index, pod in enumerate(self.names)} | {"outside-dbd": 11, "ctl": 10}
        return str(self.outside.site.network.address(offsets[name]))

    def start(self, name: str, argv: list[str], files: dict[str, tuple[bytes, int]]) -> None:
        """Start one container: `files` are what is at /etc/slurm, each with its owner."""
        folder = self.hosts.site.host(name)
        etc = folder / "etc-slurm"
        etc.mkdir(parents=True)
        for file, (content, owner) in files.items():
            keys.put(etc / file, content, mode=0o600, owner=owner)
        (folder / "etc-hosts").write_text(
            "127.0.0.1 localhost\n"
            + "".join(f"{self.address(each)} {each}\n" for each in (*self.names, "outside-dbd", "ctl"))
        )
        binds = [Bind(etc, "/etc/slurm"), Bind(folder / "etc-hosts", "/etc/hosts")]
        self.hosts.up(Host(name, 100 + self.names.index(name)), self.root, binds)
        self.hosts.spawn(name, "entry", argv)

    def await_true(self, name: str, what: str, status: str) -> None:
        """Wait until a shell command in the container succeeds."""
        self.outside.site.supervisor.await_true(
            what,
            lambda: self.hosts.run(name, ["sh", "-c", status], check=False).returncode == 0,
            40,
            log=f"pod-{name}-entry",
        )


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    folder = tmp_path_factory.mktemp("image")
    network = Network("slabi-out", "si-", IPv4Network("10.94.0.0/24"), None)
    supervisor = supervise.Supervisor(folder / "run", folder / "logs")
    outside = Cluster(Site(folder / "slurm", folder / "names", network, supervisor))
    outside.up()
    root = folder / "root"
    root.mkdir()
    with tarfile.open(image.ensure().archive) as archive, (folder / "layer.tar").open("wb") as layer:
        inner = archive.extractfile("layer.tar")
        assert inner is not None
        while block := inner.read(1 << 20):
            layer.write(block)
    subprocess.run(["tar", "-xf", folder / "layer.tar", "-C", root, "--numeric-owner"], check=True)
    pods = Pods(outside, root)
    yield pods
    for name in pods.names:
        supervisor.stop(f"pod-{name}")
        supervisor.stop(f"pod-{name}-entry")
    Outside(pods.hosts.site.network).down()  # a dying TCP connection holds a namespace, and its link, for minutes
    outside.down()
    supervisor.sweep()


def slurm_key(pods: Pods, owner: int) -> dict[str, tuple[bytes, int]]:
    return {conf.KEY: (keys.ensure(pods.outside.site.keys).slurm, owner)}


def test_a_worker_registers_with_its_features_and_runs_jobs_beside_metal(pods: Pods) -> None:
    arguments = ["-Z", "--conf-server", "ctl:6817", "--conf", "'Features=gpu,a100 Weight=7'"]
    pods.start("worker", [*ENTRY, *arguments], slurm_key(pods, 0))
    outside = pods.outside.hosts
    pods.await_true("worker", "slurmd is ready", "curl -sf localhost:6818/readyz && sleep 0.2")
    srun = ["srun", "-t", "1", "-N", "3", "hostname"]
    assert sorted(outside.run("login-1", srun, user="alice").stdout.split()) == ["metal-1", "metal-2", "worker"]
    shown = outside.run("ctl", ["scontrol", "show", "node", "worker"]).stdout
    assert "ActiveFeatures=gpu,a100" in shown
    assert "Weight=7" in shown
    assert f"NodeAddr={pods.address('worker')}" in shown


def test_a_login_container_has_sackd_and_sshd_and_its_users_submit_jobs(pods: Pods) -> None:
    options = "SACKD_OPTIONS=--conf-server ctl:6817"
    pods.start("login", ["env", options, *ENTRY], slurm_key(pods, 401))
    pods.await_true("login", "the operator's readiness probe holds", "test -S /run/slurm/sack.socket")
    pods.await_true("login", "sshd listens", "ss -Hltn 'sport = :22' | grep -q LISTEN")
    srun = ["srun", "-p", "metal", "-t", "1", "-N", "2", "id", "-un"]
    assert pods.hosts.run("login", srun, user="bob").stdout.split() == ["bob", "bob"]


def test_slurmrestd_as_nobody_serves_a_token_of_the_outside(pods: Pods) -> None:
    files = slurm_key(pods, 65534)
    files["slurm.conf"] = (conf.rest_conf((conf.Controller("ctl", pods.address("ctl")),)).encode(), 65534)
    security = "SLURMRESTD_SECURITY=disable_unshare_files,disable_unshare_sysv"
    pods.start("rest", [*AS_NOBODY, "env", "SLURM_JWT=daemon", security, *ENTRY, "0.0.0.0:6820"], files)
    pods.await_true("rest", "slurmrestd accepts", "ss -Hltn 'sport = :6820' | grep -q LISTEN")
    curl = ["curl", "-sf", "-H", "@-", "http://localhost:6820/slurm/v0.0.44/ping/"]
    headers = f"X-SLURM-USER-NAME: slurm\nX-SLURM-USER-TOKEN: {check.token(pods.outside)}\n"
    said = pods.hosts.run("rest", curl, stdin=headers).stdout
    assert '"responding": true' in said


def test_slurmdbd_and_slurmctld_of_a_cluster_in_kubernetes_come_up_as_user_401(pods: Pods) -> None:
    made = keys.ensure(pods.outside.site.keys)
    both = {**slurm_key(pods, 401), conf.JWT_KEY: (made.jwt, 401)}
    database = conf.slurmdbd_conf(made.database).replace("StorageHost=localhost", "StorageHost=outside-dbd")
    database = database.replace(f"StorageLoc={conf.DATABASE}", f"StorageLoc={conf.DATABASE}_pods")
    created = f"CREATE DATABASE {conf.DATABASE}_pods;"
    pods.outside.hosts.run("dbd", ["mariadb", f"--socket={daemons.SOCKET}"], stdin=created)
    pods.start("dbd", [*AS_SLURM, *ENTRY], {**both, "slurmdbd.conf": (database.encode(), 401)})
    pods.await_true("dbd", "slurmdbd accepts", "ss -Hltn 'sport = :6819' | grep -q LISTEN")
    inside = conf.slurm_conf((conf.Controller("ctl-pod", pods.address("ctl-pod")),), (), "")
    files = {"slurm.conf": (inside.replace("ClusterName=lab", "ClusterName=inside").encode(), 401)}
    files["cgroup.conf"] = (conf.cgroup_conf().encode(), 401)
    pods.start("ctl-pod", [*AS_SLURM, *ENTRY], {**both, **files})
    pods.await_true("ctl-pod", "slurmctld is ready", "curl -sf localhost:6817/readyz && sleep 0.2")
    shown = pods.hosts.run("ctl-pod", ["sacctmgr", "-nP", "list", "cluster", "format=cluster"]).stdout
    assert shown.split() == ["inside"]
