"""A site's stack, with what real sites set: their own registry, storage classes, scripts, users, quotas and resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lab import paths
from lab.kubernetes import layout
from lab.slurm import ldap
from slinky_iac.releases import OperatorVersion
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, inside
from tests.e2e.world import Settings, dev_settings
from tests.faults import site_registry

FOLDER = f"/srv/{paths.STATE.name}-site"
"""What the site's file server has. Nodes of all labs see one file system, so each lab has its own."""
QUEUE, DISKS, OTHER = f"{FOLDER}/queue", (f"{FOLDER}/disk-0", f"{FOLDER}/disk-1"), f"{FOLDER}/other"
SCRATCH = f"{FOLDER}/scratch"
CLASS, OTHER_CLASS = "site-disk", "site-other"
DATABASE = "slurm_acct_db_site"
LOCALE = {"name": "LC_TIME", "value": "C.UTF-8"}
"""A variable that a daemon with the cluster's keys may have."""
OPTION = {"name": "ndots", "value": "2"}
PULL, PASSWORD, SSSD = "site-pull", "site-database", "site-sssd"
OPERATOR = "site-operator"
SSH_PORT, LOGIN_NODE, ELSEWHERE = 32222, layout.NODES[1], layout.NODES[2]
USER = "dora"
DORA = {"uid": 3101, "gid": 3100, "home": "/scratch", "shell": "/bin/sh"}
MARKS, FAILS = "/tmp/prolog-marks", "/tmp/prolog-fails"
PROLOG = f"""#!/bin/sh
[ ! -e {FAILS} ] || exit 1
echo "prolog $SLURM_JOB_ID $SLURM_JOB_UID" >> {MARKS}
"""
EPILOG = f"""#!/bin/sh
echo "epilog $SLURM_JOB_ID $SLURM_JOB_UID" >> {MARKS}
"""
NICE = "5"
SIGNALLED = "/scratch/signalled"
TAKES_PORT = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"]).has_node_ports


def root_key() -> tuple[str, str]:
    """A private key as a file of OpenSSH has it, and its public half."""
    made = Ed25519PrivateKey.generate()
    form, plain = serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    public = made.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return made.private_bytes(serialization.Encoding.PEM, form, plain).decode(), public.decode()


def contexts(kubeconfig: str) -> str:
    """The lab's kubeconfig, where the current context is another cluster's and the lab's is named `site`."""
    document = yaml.safe_load(Path(kubeconfig).read_text())
    (lab,) = document["contexts"]
    away = {"name": "away", "cluster": {"server": "https://127.0.0.1:1"}}
    document["clusters"].append(away)
    document["contexts"] = [
        {"name": "site", "context": lab["context"]},
        {"name": "away", "context": {**lab["context"], "cluster": "away"}},
    ]
    return yaml.safe_dump(document | {"current-context": "away"})


def volume(name: str, folder: str, storage: str, mode: str, size: str = "1Gi") -> dict[str, Any]:
    """A volume of the site's, of a class; an empty class for one that a claim names."""
    spec = {
        "capacity": {"storage": size},
        "accessModes": [mode],
        "storageClassName": storage,
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": folder},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def storage_class(name: str) -> dict[str, Any]:
    """A StorageClass whose volumes are made by hand."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


VOLUMES = (
    volume("site-queue", QUEUE, CLASS, "ReadWriteMany"),
    volume("site-other", OTHER, OTHER_CLASS, "ReadWriteMany"),
    *(volume(f"site-{Path(each).name}", each, CLASS, "ReadWriteOnce") for each in DISKS),
)
CLASSES = (storage_class(CLASS), storage_class(OTHER_CLASS))


def secret(name: str, **entries: str) -> dict[str, Any]:
    """A Secret that the site's own tools make."""
    metadata = {"name": name, "namespace": INSIDE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": entries}


def small(memory: str) -> dict[str, Any]:
    """Resources of a daemon: little is set aside for it, and more is its limit."""
    return {"memory": memory, "requests": {"cpus": "10m", "memory": "32Mi"}}


def settings(kubeconfig: Path, public_key: str, script: Path, **nodeset: Any) -> Settings:
    """The whole stack. ``nodeset``: more of what all NodeSets have."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:kubernetes"] = {"kubeconfig": str(kubeconfig), "context": "site"}
        found["slinky-iac:operator"] |= {"namespace": OPERATOR, "timeout": "9m"}
        found["slinky-iac:keys"] |= {"maxTokenLifespan": "1h"}
        cluster = found["slinky-iac:cluster"]
        cluster["images"] |= {"slurmdbd": IMAGE, "login": ldap.IMAGE, "sidecar": IMAGE}
        cluster["images"] |= {"pullPolicy": "IfNotPresent", "pullSecrets": [PULL]}
        cluster |= {
            "createNamespace": False,
            "defaultResources": True,
            "sidecarResources": small("96Mi"),
            "quota": {"pods": 20, "requests.cpu": 8, "requests.memory": "16Gi", "limits.memory": "32Gi"},
        }
        found["slinky-iac:identity"] = {"passwd": {"users": {USER: DORA}, "groups": {"physics": 3100}}}
        found["slinky-iac:controller"] |= {
            "persistence": {"storageClass": CLASS, "accessModes": ["ReadWriteMany"], "size": "1Gi"},
            "prolog": {"10-mark.sh": PROLOG},
            "epilog": {"90-mark.sh": EPILOG},
            "metrics": True,
            "resources": small("768Mi"),
            "raw": {"container": {"args": ["-n", NICE], "env": [LOCALE]}},
        }
        found["slinky-iac:accounting"] = {
            "database": {
                "host": "dbd",
                "name": DATABASE,
                "username": "slurm",
                "passwordFrom": {"secret": PASSWORD, "key": "secret"},
            },
            "extraConf": {"PurgeJobAfter": "12months"},
            "service": {"type": "NodePort"} | ({"nodePort": 30819} if TAKES_PORT else {}),
            "resources": small("512Mi"),
            "raw": {"container": {"args": ["-n", NICE]}, "pod": {"dnsConfig": {"options": [OPTION]}}},
            "pod": GRACE,
        }
        found["slinky-iac:restapi"] = {
            "replicas": 2,
            "service": {"type": "NodePort", "annotations": {"site/owner": "hpc"}},
            "resources": small("512Mi"),
            "raw": {"service": {"externalTrafficPolicy": "Local"}, "container": {"args": ["--max-connections", "77"]}},
            "pod": GRACE,
        }
        found["slinky-iac:nodesetDefaults"] = of_nodesets(**nodeset)
        found["slinky-iac:nodesets"] = {"site": {"replicas": 2, "extraConf": {"Weight": 7}}}
        scratch = {"name": "scratch", "mountPath": "/scratch", "source": {"hostPath": {"path": SCRATCH}}}
        found["slinky-iac:loginDefaults"] = {
            "image": ldap.IMAGE,
            "sssdConfFrom": {"secret": SSSD},
            "resources": small("640Mi"),
            "extraSshdConfig": "SetEnv SITE=north",
            "pod": GRACE | {"nodeSelector": {"kubernetes.io/hostname": LOGIN_NODE.name}},
            "volumes": [scratch],
        }
        found["slinky-iac:logins"] = {
            "main": {
                "rootAuthorizedKeys": public_key,
                "service": {"type": "NodePort", "nodePort": SSH_PORT},
                "raw": {"service": {"externalTrafficPolicy": "Local"}},
            }
        }
        found["slinky-iac:acknowledged"] = {"plain-http-open": "the lab is a network of its own"}
        found["slinky-iac:smoke"] = {"enabled": True, "user": USER, "partitions": ["site"], "timeout": "5m"}
        found["slinky-iac:tokens"] = {"portal": {"user": USER, "lifetime": "30m", "refresh": False, "secret": "portal-pass"}}
        found["slinky-iac:jobs"] = {
            "survey": {
                "user": USER,
                "script": {"file": str(script)},
                "partition": "site",
                "account": "physics",
                "qos": "normal",
                "nodes": 2,
                "timeLimit": "5m",
                "workingDirectory": "/scratch",
                "output": "survey-%j.out",
                "runs": "on-every-update",
                "waitFor": "completed",
                "onDestroy": "wait",
                "timeout": "9m",
            }
        }

    return dev_settings(edit)


def of_nodesets(**more: Any) -> dict[str, Any]:
    """What all NodeSets have."""
    claims = {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS, "resources": {"requests": {"storage": "1Gi"}}}
    folder = {"hostPath": {"path": SCRATCH}}
    return {
        "image": site_registry.IMAGE,
        "resources": {"cpus": 1, "memory": "500Mi"},
        "features": ["avx512"],
        "partition": {"config": {"MaxTime": 30}},
        "env": {"SITE": "north"},
        "volumes": [
            {"name": "scratch", "mountPath": "/scratch", "source": folder},
            {"name": "software", "mountPath": "/software", "source": folder, "subPath": "software", "readOnly": True},
            {"name": "disk", "mountPath": "/disk", "source": {"emptyDir": {}}},
        ],
        "updateStrategy": {"type": "Gated", "maxUnavailable": 1},
        "pod": GRACE,
        "raw": {
            "container": {"env": [of_field("SITE_NODE", "spec.nodeName")]},
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "disk"}, "spec": claims}]},
        },
        "drain": {"registerDeadline": "5m", "showUsers": False, "maxAtOnce": 1},
        **more,
    }


def of_field(name: str, path: str) -> dict[str, Any]:
    """A variable with a field of its pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
