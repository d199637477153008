"""The four forms, whole: every spec that each example gives, for each line of operator releases, key by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.rendering import custom_resources, services
from tests.stacks import form

SIDECAR = {"image": "docker.io/library/alpine:3.22", "imagePullPolicy": "IfNotPresent"}
ON_DELETE = {"type": "OnDelete"}


@dataclass(frozen=True)
class Release:
    """What differs between the operator's releases."""

    version: str
    jwt: str
    tag: str
    ref: dict[str, str]

    def image(self, name: str) -> dict[str, Any]:
        return {"image": f"ghcr.io/slinkyproject/{name}:{self.tag}", "imagePullPolicy": "IfNotPresent"}

    @property
    def keys(self) -> dict[str, Any]:
        return {
            "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"},
            self.jwt: {"name": "slurm-auth-jwths256", "key": "jwt_hs256.key"},
        }

    def service(self, port: int, kind: str = "ClusterIP") -> dict[str, Any]:
        return {"port": port, "spec": {"type": kind}}

    @property
    def restapi(self) -> dict[str, Any]:
        return {
            "controllerRef": self.ref,
            "replicas": 1,
            "slurmrestd": {**self.image("slurmrestd"), "env": [{"name": "MALLOC_ARENA_MAX", "value": "1"}]},
            "service": self.service(6820),
        }

    def nodeset(self, name: str, replicas: int, cpus: str, memory: str, **more: Any) -> dict[str, Any]:
        """A NodeSet with ``cpus`` and ``memory`` (GiB) and no devices; ``slurmd`` and ``pod`` are laid over it."""
        limits = {"cpu": cpus, "memory": f"{memory}Gi"} | more.pop("devices", {})
        slurmd = self.image("slurmd") | {
            "resources": {"requests": limits, "limits": limits},
            "env": [
                {"name": "POD_CPUS", "value": cpus},
                {"name": "POD_MEMORY", "value": str(int(memory) * 1024)},
            ],
        }
        return {
            "controllerRef": self.ref,
            "replicas": 0,
            "slurmd": slurmd | more.pop("slurmd", {}),
            "logfile": SIDECAR,
            "template": {"spec": {"hostname": f"{name}-"} | more.pop("pod", {})},
            "partition": more.pop("partition", {"enabled": False}),
            "updateStrategy": ON_DELETE,
            **more,
        }


NAMESPACED = {"name": "slurm", "namespace": "slurm"}
RELEASES = [
    Release("1.0.1", "jwtHs256KeyRef", "25.11-ubuntu24.04", NAMESPACED),
    Release("1.1.0", "jwtKeyRef", "25.11-ubuntu24.04", NAMESPACED),
    Release("1.2.1", "jwtKeyRef", "26.05-ubuntu26.04", {"name": "slurm"}),
]
by_release = pytest.mark.parametrize("release", RELEASES, ids=lambda r: r.version)


def rendered(name: str, release: Release, **over: Any) -> dict[str, dict[str, Any]]:
    config = form(name, operator={"version": release.version, "webhook": None}, **over)
    return custom_resources(config) | services(config)


def external_controller(release: Release, name: str) -> dict[str, Any]:
    return {
        "clusterName": "atlas",
        **release.keys,
        "accountingRef": release.ref,
        "external": True,
        "externalConfig": {"host": name, "port": 6817},
    }


@by_release
def test_everything_in_kubernetes(release: Release) -> None:
    more = "\nGresTypes=gpu\nReturnToService=2" if release.version == "1.2.1" else ""
    files: dict[str, Any] = {"configFileRefs": [release.ref | {"name": "slurm-config-files"}]}  # gres.conf, which 1.1 writes
    if release.version == "1.2.1":
        files["template"] = {"metadata": {"annotations": {"slinky-iac/files": "ba6e32a097df9b89"}}}
    if release.version.startswith("1.1"):
        files = {}
    assert rendered("all-in-kubernetes", release) == {
        "Controller": {
            "clusterName": "atlas",
            **release.keys,
            "accountingRef": release.ref,
            "slurmctld": release.image("slurmctld"),
            "reconfigure": release.image("slurmctld"),
            "logfile": SIDECAR,
            "persistence": {
                "enabled": True,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
            "service": release.service(6817),
            "extraConf": f"SlurmctldDebug=info\nMinJobAge=600{more}",
            **files,
        },
        "Accounting": {
            **release.keys,
            "slurmdbd": release.image("slurmdbd"),
            "storageConfig": {
                "host": "mariadb.databases",
                "port": 3306,
                "database": "slurm_acct_db",
                "username": "slurm",
                "passwordKeyRef": {"name": "slurm-database", "key": "password"},
            },
            "service": release.service(6819),
        },
        "RestApi": release.restapi,
        "NodeSet/gpu": release.nodeset(
            "gpu",
            8,
            "64",
            "512",
            devices={"nvidia.com/gpu": "8"},
            pod={
                "nodeSelector": {"node.kubernetes.io/instance-type": "gpu-a100"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            },
            partition={"enabled": True, "config": "MaxTime=14-00:00:00 OverSubscribe=EXCLUSIVE"},
            extraConf="Features=a100,nvlink Gres=gpu:a100:8",
        ),
        "NodeSet/cpu": release.nodeset(
            "cpu", 16, "32", "128", partition={"enabled": True, "config": "MaxTime=2-00:00:00 Default=YES"}
        ),
    }


@by_release
def test_only_slurmdbd_outside(release: Release) -> None:
    assert rendered("slurmdbd-outside", release) == {
        "Controller": {
            "clusterName": "atlas",
            **release.keys,
            "accountingRef": release.ref,
            "slurmctld": release.image("slurmctld"),
            "reconfigure": release.image("slurmctld"),
            "logfile": SIDECAR,
            "persistence": {
                "enabled": True,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
            "service": release.service(6817, "LoadBalancer"),
            **({"extraConf": "ReturnToService=2"} if release.version == "1.2.1" else {}),
        },
        "Accounting": {"external": True, "externalConfig": {"host": "slurmdbd.example.org", "port": 6819}},
        "RestApi": release.restapi,
        "NodeSet/cpu": release.nodeset("cpu", 4, "32", "128", partition={"enabled": True, "config": "Default=YES"}),
        "Service/slurm-accounting": {
            "type": "ExternalName",
            "externalName": "slurmdbd.example.org",
            "ports": [{"name": "slurmdbd", "port": 6819, "targetPort": 6819, "protocol": "TCP"}],
        },
    }


@by_release
def test_slurmctld_and_slurmdbd_outside(release: Release) -> None:
    slurmdbd = {"external": {"host": "192.0.2.11", "port": 16819}}
    assert rendered("controller-outside", release, accounting=slurmdbd) == {
        "Controller": external_controller(release, "slurmctld.example.org"),
        "Accounting": {"external": True, "externalConfig": {"host": "192.0.2.11", "port": 16819}},
        "RestApi": release.restapi,
        "NodeSet/burst": release.nodeset("burst", 10, "16", "64"),
        "Service/slurm-accounting": {
            "type": "ClusterIP",
            "ports": [{"name": "slurmdbd", "port": 6819, "targetPort": 16819, "protocol": "TCP"}],
        },
        "EndpointSlice/slurm-accounting": {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.11"], "conditions": {"ready": True}}],
            "ports": [{"name": "slurmdbd", "port": 16819, "protocol": "TCP"}],
        },
    }


@by_release
def test_all_daemons_outside_and_nodesets_beside_them(release: Release) -> None:
    home = {"name": "home", "nfs": {"server": "nfs.example.org", "path": "/home"}}
    gpu = release.nodeset(
        "gpu", 4, "64", "512", devices={"nvidia.com/gpu": "8"}, pod={"volumes": [home]}, extraConf="Gres=gpu:8"
    )
    gpu["slurmd"]["volumeMounts"] = [{"name": "home", "mountPath": "/home", "readOnly": False}]
    assert rendered("all-outside", release) == {
        "Controller": external_controller(release, "slurmctld.example.org"),
        "Accounting": {"external": True, "externalConfig": {"host": "slurmdbd.example.org", "port": 6819}},
        "RestApi": release.restapi,
        "NodeSet/gpu": gpu,
        "NodeSet/cpu": release.nodeset("cpu", 8, "32", "128"),
        "Service/slurm-accounting": {
            "type": "ExternalName",
            "externalName": "slurmdbd.example.org",
            "ports": [{"name": "slurmdbd", "port": 6819, "targetPort": 6819, "protocol": "TCP"}],
        },
    }
