"""A second set of outside hosts (own folder, bridge and addresses) and clients of its slurmrestd.

Tests that stop and freeze daemons do it here, so the lab's own are not disturbed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

import pytest
import yaml

from lab import supervise
from lab.slurm import conf, image
from lab.slurm.cluster import Cluster
from lab.slurm.network import Outside
from lab.slurm.site import Site
from lab.slurm.topology import Network
from slinky_iac.drain.free import Verdict, verdict
from slinky_iac.drain.observe import cluster_view
from slinky_iac.errors import SlurmrestRefused
from slinky_iac.kube.wire import Retry, Timeouts
from slinky_iac.names import SLURM_USER
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.objects import Job, Node
from tests.e2e.slurm import Slurm

METAL = ("metal-1", "metal-2")
NETWORK = Network("slabr-out", "sr-", IPv4Network("10.97.0.0/24"), None)


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A set of hosts of the module's own."""
    with hosts_up(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def own(own_cluster: Cluster) -> Iterator[Slurm]:
    """Slurm's own commands on those hosts; every test begins and ends with nothing drained and no job."""
    slurm = Slurm(own_cluster.hosts)
    yield slurm
    make_whole(own_cluster, slurm)


@contextmanager
def hosts_up(root: Path, cluster: str = conf.CLUSTER) -> Iterator[Cluster]:
    """The hosts of a cluster of that name, up, with their folders below ``root``; taken down whatever became of them."""
    supervisor = supervise.Supervisor(root / "run", root / "logs")
    made = Cluster(Site(root / "slurm", root / "hosts", NETWORK, supervisor, cluster=cluster))
    try:
        made.up(say=lambda _line: None)
        yield made
    finally:
        made.down()
        supervisor.sweep()
    assert not Outside(NETWORK).leftovers()


def make_whole(cluster: Cluster, slurm: Slurm) -> None:
    """Daemons run, no job is there, nothing is drained: as a test began."""
    for daemon in (("ctl", "slurmctld"), ("rest", "slurmrestd")):
        cluster.resume(*daemon) if cluster.status()["/".join(daemon)] else cluster.start(*daemon)
    slurm.cancel_all()
    slurm.admin("scontrol", "update", f"nodename={','.join(METAL)}", "state=undrain")
    slurm.await_registered(*METAL)


def key_of(cluster: Cluster) -> bytes:
    return (cluster.site.keys / "jwt_hs256.key").read_bytes()


def client_of(
    cluster: Cluster, *keys: bytes, user: str = SLURM_USER, tries: int = 2, read_s: float = 30.0
) -> SlurmrestClient:
    url = f"http://{cluster.site.network.address(12)}:{6820}"
    bounds = Timeouts(read_s=read_s)
    return SlurmrestClient(
        Direct(url, plain_http=True),
        keys or (key_of(cluster),),
        user=user,
        retry=Retry(tries=tries),
        timeouts=bounds,
        budget_s=90,
    )


def node(client: SlurmrestClient, name: str) -> Node:
    return client.nodes().by_name()[name]


def job(client: SlurmrestClient, job_id: int) -> Job:
    return next(j for j in client.jobs().jobs if j.job_id == job_id)


def verdicts(client: SlurmrestClient) -> dict[str, Verdict]:
    seen = cluster_view(client)
    return {name: verdict(name, seen, int(time.time())) for name in METAL}


def metal(slurm: Slurm, *options: str, seconds: int = 300) -> int:
    return slurm.submit("-p", "metal", *options, seconds=seconds)


def refusal_of(call: Callable[[], object]) -> SlurmrestRefused:
    with pytest.raises(SlurmrestRefused) as refused:
        call()
    return refused.value


def slurmrestd_in_kubernetes(cluster: Cluster) -> str:
    """A slurmrestd of these tests' cluster in a pod: the API server's proxy leads to pods only."""
    conf = (cluster.site.etc("rest") / "slurm.conf").read_text()
    labels = {"app": "slurmrestd"}
    security = {"runAsUser": 65534, "runAsGroup": 65534}
    container = {
        "name": "slurmrestd",
        "image": image.NAME,
        "imagePullPolicy": "Never",
        "args": ["0.0.0.0:6820"],
        "env": [
            {"name": "SLURM_JWT", "value": "daemon"},
            {"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files,disable_unshare_sysv"},
        ],
        "readinessProbe": {"tcpSocket": {"port": 6820}, "periodSeconds": 1},
        "securityContext": security,
        "volumeMounts": [{"name": "conf", "mountPath": "/etc/slurm"}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "conf", "configMap": {"name": "conf"}}],
        "hostAliases": [{"ip": str(NETWORK.address(10)), "hostnames": ["ctl"]}],
        "terminationGracePeriodSeconds": 1,
    }
    objects: list[dict[str, object]] = [
        {"kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"slurm.conf": conf}},
        {"kind": "Pod", "metadata": {"name": "slurmrestd", "labels": labels}, "spec": spec},
        {"kind": "Service", "metadata": {"name": "slurm-restapi"}, "spec": {"selector": labels, "ports": [{"port": 6820}]}},
    ]
    return yaml.safe_dump_all({"apiVersion": "v1", **each} for each in objects)
