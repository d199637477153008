"""Both reference deployments as a lab can bring them up: the examples' own files, with what only a cloud has replaced.

Replaced are images, the operator's charts, what is bound to cgroups (the lab's nodes share none with Slurm), GPUs (a device
plugin of the lab's own), network devices, file systems (a folder that all nodes see) and the directory (sssd without a
domain). Placement, taints, storage classes, claims, keys, ports and all else is as in the files.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab import paths
from lab.slurm import ldap
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, inside
from tests.e2e.world import Settings, dev_settings
from tests.faults.later_operator import labs_own, on_later_operator, release_of
from tests.faults.site_parts import secret, storage_class, volume
from tests.stacks import DEPLOYMENTS, sections

FOLDER = f"/srv/{paths.STATE.name}-reference"
"""What the site's file server has. Nodes of all labs see one file system, so each lab has its own."""
QUEUE, SHARED = f"{FOLDER}/queue", f"{FOLDER}/shared"
DATABASE = "slurm_acct_db_reference"
GPU = "nvidia.com/gpu"
TAINT = f"{GPU}=present:NoSchedule"
POOL = "oke.oraclecloud.com/pool.name"
TYPE = "node.kubernetes.io/instance-type"
BLOCK = "oci.oraclecloud.com/rdma.local_block_id"
WITHOUT_CGROUPS = {"ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none"}
SIZE = "2Ti"
DRAIN = {"deadline": "4m", "registerDeadline": "5m"}
IN_MEMORY: dict[str, Any] = {"emptyDir": {}}
Of = dict[str, Any]


def of(name: str) -> Settings:
    """The example's file, as a stack's settings."""
    (file,) = (each for each in DEPLOYMENTS if each.parent.name == name)
    return {f"slinky-iac:{section}": value for section, value in sections(file).items()}


def on_the_lab(found: Settings, dev: Settings) -> None:
    """What both have of the lab: names that commands of tests go by, images, the operator, the database's server."""
    cluster, own = found["slinky-iac:cluster"], dev["slinky-iac:cluster"]
    cluster |= {"namespace": INSIDE, "resourceName": "inside", "slurmVersion": own["slurmVersion"]}
    images = {"slurmctld": IMAGE, "slurmdbd": IMAGE, "login": ldap.IMAGE, "sidecar": IMAGE}
    cluster["images"] = {**own["images"], **images}
    found["slinky-iac:operator"] = dev["slinky-iac:operator"]
    controller = found["slinky-iac:controller"]
    controller["configFiles"]["cgroup.conf"] = dev["slinky-iac:controller"]["configFiles"]["cgroup.conf"]
    controller["extraConf"] = {**controller.get("extraConf", {}), **WITHOUT_CGROUPS}
    found["slinky-iac:accounting"]["database"] |= {"host": "dbd", "name": DATABASE}
    for part in ("controller", "accounting", "restapi"):
        found[f"slinky-iac:{part}"]["pod"] = {**found[f"slinky-iac:{part}"]["pod"], **GRACE}
    for login in found["slinky-iac:logins"].values():
        login["pod"] = {**login["pod"], **GRACE}
        login.pop("image", None)


def replaced(nodeset: Of, name: str, source: Of) -> None:
    """Another source for a NodeSet's volume."""
    nodeset["volumes"] = [each | {"source": source} if each["name"] == name else each for each in nodeset["volumes"]]


def hyperpod() -> Settings:
    """Two workers with one GPU each, on two of the lab's machines; all else on the third."""
    found, dev = of("hyperpod"), dev_settings(inside)
    on_the_lab(found, dev)
    del found["slinky-iac:monitoring"]  # Prometheus' operator
    found["slinky-iac:keys"] = {"source": "generated", "protect": False}
    found["slinky-iac:controller"]["configFiles"]["gres.conf"] = "AutoDetect=off\nName=gpu Type=a10g File=/dev/nvidia0\n"
    workers = found["slinky-iac:nodesets"]["slinky"]
    workers |= {"replicas": 2, "image": IMAGE, "resources": {"extended": {GPU: 1}}, "drain": DRAIN}
    workers["pod"] = {**workers["pod"], **GRACE}
    replaced(workers, "dcgm-job-mapping", IN_MEMORY)  # the lab's nodes see one file system
    return found


def oke() -> Settings:
    """Three pools of one machine each: GPUs, GPUs with RDMA on the host network, CPUs, where the daemons are too.

    The pool of GB200s is left out: the lab has three machines, and no driver whose devices a pod could claim.
    """
    found, dev = of("oke"), dev_settings(inside, newer)
    on_the_lab(found, dev)
    controller = found["slinky-iac:controller"]
    controller["configFiles"]["gres.conf"] = "AutoDetect=off\nNodeName=node-[1-2] Name=gpu File=/dev/nvidia[0-7]\n"
    controller["extraConf"]["JobAcctGatherType"] = "jobacct_gather/linux"
    del controller["extraConf"]["SwitchType"]  # the original has it where it has such a pool
    if not release_of(newer).prunes_slurm_conf:
        controller["extraConf"]["SlurmctldParameters"] = "enable_configless,enable_stepmgr"
    del found["slinky-iac:acknowledged"]  # it is for a line of cgroup.conf
    found["slinky-iac:identity"]["sssd"]["image"] = ldap.IMAGE
    for part in ("controller", "accounting", "restapi"):
        found[f"slinky-iac:{part}"]["pod"]["nodeSelector"] = {POOL: "oke-cpu"}
    found["slinky-iac:logins"]["slinky"]["pod"]["nodeSelector"] = {POOL: "oke-cpu"}
    defaults = found["slinky-iac:nodesetDefaults"]
    defaults["pod"] = {**defaults["pod"], **GRACE}
    defaults["drain"] = DRAIN
    nodesets = found["slinky-iac:nodesets"]
    del nodesets["gmc"]
    nodesets["gpu"]["extraConf"] = {"Parameters": nodesets["gpu"]["extraConf"]["Parameters"]}  # the machine's own CPUs
    replaced(nodesets["rdma"], "infiniband", IN_MEMORY)
    return found


def newer(found: Settings) -> None:
    """slurm-operator 1.1.0, or the lab's own where that is as new: 1.0 has no DaemonSet mode."""
    if release_of(labs_own).minor == 0:
        on_later_operator(found)


def claim(name: str, of_volume: str, storage: str) -> Of:
    """A claim of a shared file system, as it is in the namespace before the stack."""
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": storage,
        "volumeName": of_volume,
        "resources": {"requests": {"storage": "50Gi"}},
    }
    metadata = {"name": name, "namespace": INSIDE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class Deployment:
    """One of the two, and what must be there before it."""

    name: str
    settings: Callable[[], Settings]
    labels: Mapping[str, Mapping[str, str]]
    """Labels of Kubernetes nodes."""
    nodesets: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Slurm nodes of each NodeSet, with the Kubernetes nodes that each may be on."""
    gpus: int
    """GPUs of the first two Kubernetes nodes."""
    storage: str
    """StorageClass of slurmctld's queue."""
    share: tuple[str, str, str]
    """Claim of the shared file system, its class, and where pods have it."""
    own: Mapping[str, Mapping[str, str]]
    """Entries of Secrets, by name."""
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Entries of ConfigMaps, by name."""

    @property
    def at(self) -> str:
        """Where pods have the shared file system."""
        return self.share[2]

    @property
    def busy_with_gpus(self) -> set[str]:
        """NodeSets whose pods have GPUs."""
        found = self.settings()["slinky-iac:nodesets"]
        return {name for name, each in found.items() if GPU in each.get("resources", {}).get("extended", {})}

    def of_cluster(self) -> list[Of]:
        """Objects without a namespace."""
        classes = {self.storage, self.share[1]} - {""}
        volumes = [
            volume("reference-queue", QUEUE, self.storage, "ReadWriteOnce", SIZE),
            volume("reference-shared", SHARED, self.share[1], "ReadWriteMany", SIZE),
        ]
        return [*map(storage_class, sorted(classes)), *volumes]

    def of_namespace(self, password: str) -> list[Of]:
        """What is in the namespace before the stack. ``password``: the database's."""
        own = {**self.own, "mariadb-password": {"password": password}}
        name, storage, _ = self.share
        maps = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": each, "namespace": INSIDE}, "data": dict(entries)}
            for each, entries in self.files.items()
        ]
        return [claim(name, "reference-shared", storage), *(secret(each, **entries) for each, entries in own.items()), *maps]


def key() -> str:
    """A key as Terraform makes it: 1,024 characters."""
    return secrets.token_urlsafe(768)


MANAGEMENT, ACCELERATED = {TYPE: "ml.m5.4xlarge"}, {TYPE: "ml.g5.8xlarge"}
HYPERPOD = Deployment(
    name="hyperpod",
    settings=hyperpod,
    labels={"node-1": ACCELERATED, "node-2": ACCELERATED, "node-3": MANAGEMENT},
    nodesets={"slinky": dict.fromkeys(("slinky-0", "slinky-1"), ("node-1", "node-2"))},
    gpus=1,
    storage="gp3",
    share=("fsx-claim", "fsx-sc", "/fsx"),
    own={"login-sssd": {"sssd.conf": "[sssd]\n"}},
)
OKE = Deployment(
    name="oke",
    settings=oke,
    labels={"node-1": {POOL: "oke-gpu"}, "node-2": {POOL: "oke-rdma", BLOCK: "4tjxbt4s6ua"}, "node-3": {POOL: "oke-cpu"}},
    nodesets={name: {node: (node,)} for name, node in (("gpu", "node-1"), ("rdma", "node-2"), ("cpu", "node-3"))},
    gpus=8,
    storage="oci-bv",
    share=("slurm-home", "", "/home"),
    own={
        "slurm-auth-slurm": {"slurm.key": key()},
        "slurm-auth-jwt": {"jwt.key": key()},
        "site-sssd-ha-ldap-conf": {"sssd.conf": "[sssd]\n"},
    },
    files={"nccl-parameters": {"nccl.conf": "NCCL_DEBUG=WARN\n"}},
)
