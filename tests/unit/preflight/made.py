"""A stack and the facts of a world in which everything fits it; tests change one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from slinky_iac.blueprint.places import Place
from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.kube.objects import Pod
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import (
    Clock,
    Facts,
    KubeFacts,
    PodFacts,
    PodReport,
    SlurmFacts,
    Tried,
)
from slinky_iac.slurmrest.controller import Partition
from slinky_iac.slurmrest.daemons import SlurmConf
from slinky_iac.slurmrest.objects import Node
from tests.made.nodes import node as made_node
from tests.made.nodesets import nodeset
from tests.made.pods import worker_pod
from tests.made.slurm import cluster
from tests.stacks import merged

NOW = 1_795_250_000
CTL = Place("controller.external", "slurmctld", "ctl.example.org", 6817)
DBD = Place("accounting.external", "slurmdbd", "dbd.example.org", 6819)
SLURM_PRINT, JWT_PRINT, OTHER_PRINT = "SHA256:slurm", "SHA256:jwt", "SHA256:other"
HOSTS = [{"name": "metal-1", "address": "10.0.0.5", "config": {"CPUs": 4}}]
PARTS: dict[str, Any] = {
    "cluster": {"name": "lab", "slurmVersion": "26.05"},
    "keys": {"source": "imported"},
    "controller": {"external": {"host": CTL.host}},
    "accounting": {"external": {"host": DBD.host}},
    "nodesets": {"gpu": {"replicas": 2, "gres": ["gpu:a100:1"], "partition": {"config": {"MaxTime": "UNLIMITED"}}}},
    "partitions": {"all": {"nodesets": ["gpu"]}},
    "external": {"slurmdHosts": HOSTS, "loginHosts": [{"name": "login-1"}]},
}


def stack(**over: Any) -> StackConfig:
    """The stack, with ``over`` laid over its sections."""
    return load(merged(PARTS, over))


def node(name: str, *states: str, version: str = "26.05.5") -> Node:
    """One node of slurmctld's."""
    return made_node(name, "+".join(states or ("IDLE",)), version=version)


def partition(name: str, *nodesets: str) -> Partition:
    """One partition of slurmctld's."""
    return Partition(name, node_sets=",".join(nodesets))


def workers(*pods: Pod) -> dict[str, Workers]:
    """The NodeSet with these pods."""
    return {"gpu": Workers(nodeset("slurm-worker-gpu", 2), pods)}


CONF = SlurmConf(
    ClusterName="lab",
    AuthType="auth/slurm",
    AuthInfo="use_client_ids",
    AuthAltTypes=["auth/jwt"],
    CredType="cred/slurm",
    SlurmctldParameters=["enable_configless"],
    SlurmctldPort=6817,
    MaxNodeCount=1024,
    ReturnToService="all",
    GresTypes=["gpu"],
    SlurmUser="slurm",
    SlurmUserId=401,
    AccountingStorageType="accounting_storage/slurmdbd",
    AccountingStorageHost="dbd.example.org",
    AccountingStoragePort=6819,
    ProctrackType="proctrack/linuxproc",
    TaskPlugin=["task/affinity"],
    JobAcctGatherType="jobacct_gather/linux",
)
SLURM = SlurmFacts(
    way="Service slurm/slurm-restapi:6820",
    inside=True,
    served=("v0.0.45", "v0.0.44"),
    release="26.05.5",
    tokens={"configuration": "accepted"},
    conf=CONF,
    version="26.05.5",
    partitions=(partition("gpu", "gpu"), partition("all", "gpu")),
    nodes=(node("gpu-0", "IDLE", "DYNAMIC_NORM"), node("gpu-1", "IDLE", "DYNAMIC_NORM"), node("metal-1")),
    clusters=(cluster("lab", "10.0.0.1", 6817, 11520),),
    slurmdbd_answers=True,
    clock=Clock("slurmctld", NOW, NOW - 0.1, NOW + 1.1),
)
POD = PodReport(
    pod="slinky-preflight-1",
    node="node-1",
    image="slurm:26.05",
    tried=(Tried(CTL, "", "10.0.0.1"), Tried(DBD, "", "10.0.0.2")),
    clock=Clock("pod on node-1", NOW, NOW - 2, NOW + 2),
    slurm_uid=401,
    slurmd="26.05.5",
)
KUBE = KubeFacts(
    server="https://api:6443",
    release="v1.35.0",
    namespace=True,
    restapi=True,
    restapi_pods=1,
    keys={"slurm.key": SLURM_PRINT, "JWT key": JWT_PRINT},
    asked_at=NOW,
    workers=workers(worker_pod("gpu-0"), worker_pod("gpu-1")),
    serves={"fence": True},
)
FACTS = Facts(
    here=(Tried(CTL, "", "10.0.0.1"), Tried(DBD, "", "10.0.0.2")),
    kube=KUBE,
    pod=PodFacts((POD,)),
    slurm=SLURM,
    keys={"slurm.key": SLURM_PRINT, "JWT key": JWT_PRINT},
)
BY_HAND = {"pods-and-metal", "login-hosts", "encryption", "gres-conf"}
"""Checks that can't be made from here; the last can by `--via`, which these facts are without."""


def slurm(**over: Any) -> Facts:
    """The facts, but for what Slurm says."""
    without = {"version": ""} if over.get("conf", CONF) is None else {}
    return replace(FACTS, slurm=replace(SLURM, **{**without, **over}))


def conf(**over: Any) -> Facts:
    """The facts, but for slurmctld's configuration."""
    return slurm(conf=structs.replace(CONF, **over))


def pod(**over: Any) -> Facts:
    """The facts, but for what the pod saw."""
    return replace(FACTS, pod=PodFacts((replace(POD, **over),)))


def kube(**over: Any) -> Facts:
    """The facts, but for what the API server says."""
    return replace(FACTS, kube=replace(KUBE, **over))


def found(name: str, facts: Facts, config: StackConfig | None = None) -> list[Check]:
    """All checks of one name."""
    return [each for each in checks(config or stack(), facts) if each.name == name]


def verdicts(name: str, facts: Facts, config: StackConfig | None = None) -> list[Verdict]:
    """Their verdicts."""
    return [each.verdict for each in found(name, facts, config)]


UNASKED = replace(
    FACTS,
    kube=replace(KUBE, restapi=False, restapi_pods=0, workers={}, keys={}),
    slurm=SlurmFacts(trouble="no slurmrestd runs yet"),
)
"""Before the first `up`, with no outside slurmrestd: Slurm can't be asked."""


def nowhere(folder: Path) -> KubeConnection:
    """The way to no cluster."""
    return KubeConnection(KubeSource(path=folder / "none"))


def check(
    verdict: Verdict, name: str, subject: str, source: str, got: str, change: str = "", *paste: str, at: str = ""
) -> Check:
    """One check, as a report gets it."""
    return Check(name, verdict, subject, source, got, change, paste, at)
