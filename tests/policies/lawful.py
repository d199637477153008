"""Settings of many kinds that the program takes, to be drawn together: what they make must be lawful to the pack too."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from string import ascii_letters, digits
from typing import Any

from pulumi.runtime import mocks
from slurm_rules.model import Resource, Stack

from components.hybrid_cluster import EXPORTS
from slinky_iac.config.reading.engine import read_stack
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.errors import ConfigError
from tests.clusters import SECRETS, build, stack_sections
from tests.policies.test_own_parts import opened, stack_of
from tests.program import Recording, configured, run
from tests.rsa_keys import pem
from tests.stacks import FORMS, merged, networks, without_networks

Settings = dict[str, Any]
PEOPLE = {"ada": {"uid": 20001, "gid": 20000, "home": "/home/ada"}, "emmy": {"uid": 20002, "gid": 20000}}
PEERS = [{"cidr": "10.20.0.0/16"}, {"namespace": "portal", "pods": {"app": "portal"}}, {"cidr": "2001:db8:7::/48"}]
MIRROR = "mirror.example.org/slinky"
IMAGES = {each: f"{MIRROR}/{each}@sha256:{'1a' * 32}" for each in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")}
BALANCERS = (
    {"service.beta.kubernetes.io/aws-load-balancer-scheme": "internal"},
    {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"},
    {"networking.gke.io/load-balancer-type": "Internal"},
    {"service.beta.kubernetes.io/openstack-internal-load-balancer": "true"},
    {"metallb.io/address-pool": "campus", "external-dns.alpha.kubernetes.io/hostname": "slurm.example.org"},
    {"service.kubernetes.io/ibm-load-balancer-cloud-provider-ip-type": "private"},
    {"oci.oraclecloud.com/load-balancer-type": "nlb"},
)
SERVICES: tuple[Settings, ...] = (
    {},
    {"type": "NodePort"},
    *({"type": "LoadBalancer", "annotations": each} for each in BALANCERS),
)
TOLERATION = {"key": "hpc.example.org/jobs", "operator": "Exists", "effect": "NoSchedule"}
PODS: tuple[Settings, ...] = (
    {},
    {"nodeSelector": {"example.org/pool": "hpc"}, "tolerations": [TOLERATION]},
    {"labels": {"team": "hpc"}, "annotations": {"prometheus.io/scrape": "false"}, "priorityClass": "hpc-daemons"},
    {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "example.org/pool", "operator": "In", "values": ["hpc"]}]}
                    ]
                }
            }
        }
    },
    {"terminationGrace": "5m"},
)
HUB_VALUES: Settings = {
    "hub": {
        "config": {
            "JupyterHub": {"authenticator_class": "generic-oauth", "admin_access": False},
            "GenericOAuthenticator": {
                "authorize_url": "https://login.example.org/authorize",
                "token_url": "https://login.example.org/token",
                "userdata_url": "https://login.example.org/userinfo",
                "username_claim": "preferred_username",
                "allowed_groups": ["hpc"],
            },
            "Authenticator": {"allowed_users": ["ada", "emmy"]},
        },
        "db": {"type": "sqlite-pvc"},
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "nodeSelector": {"example.org/pool": "services"},
    },
    "proxy": {"service": {"type": "ClusterIP"}, "chp": {"resources": {"limits": {"memory": "256Mi"}}}},
    "ingress": {
        "enabled": True,
        "hosts": ["notebooks.example.org"],
        "tls": [{"hosts": ["notebooks.example.org"], "secretName": "notebooks-tls"}],
        "annotations": {"cert-manager.io/cluster-issuer": "site"},
    },
    "cull": {"enabled": True, "timeout": 7200, "every": 600},
    "scheduling": {"userScheduler": {"enabled": False}},
    "prePuller": {"hook": {"enabled": False}, "continuous": {"enabled": False}},
    "singleuser": {"memory": {"limit": "4G", "guarantee": "1G"}, "defaultUrl": "/lab", "storage": {"capacity": "10Gi"}},
}
HUB: Settings = {"chart": {"version": "4.4.0"}, "image": "registry.example.org/hpc/jupyter:26.05", "values": HUB_VALUES}
VOLUME = {"name": "home", "mountPath": "/home", "source": {"persistentVolumeClaim": {"claimName": "home"}}}
SCRATCH = {"name": "scratch", "mountPath": "/scratch", "source": {"hostPath": {"path": "/scratch", "type": "Directory"}}}
NFS = {"name": "apps", "mountPath": "/apps", "readOnly": True, "source": {"nfs": {"server": "192.0.2.9", "path": "/apps"}}}
JOB: Settings = {"user": "ada", "command": ["true"], "workingDirectory": "/tmp"}
WORKER: Settings = {"replicas": 2, "resources": {"cpus": 16, "memory": "64Gi"}}

NODESETS: tuple[Settings, ...] = (
    {},
    {"pod": PODS[1], "features": ["amd", "ib"], "extraConf": {"Weight": 10, "MemSpecLimit": 2048}},
    {"gres": ["gpu:a100:4"], "resources": {"cpus": 32, "memory": "256Gi", "extended": {"nvidia.com/gpu": 4}}},
    {"partition": {"config": {"MaxTime": "7-00:00:00", "Default": "YES", "OverSubscribe": "NO", "AllowGroups": "hpc"}}},
    {"partition": {"config": {"State": "UP", "PriorityTier": 10, "DefMemPerCPU": 4000, "PreemptMode": "OFF"}}},
    {"env": {"OMP_NUM_THREADS": "4", "UCX_TLS": "rc,self"}, "volumes": [SCRATCH, VOLUME, NFS]},
    {"updateStrategy": {"type": "OnDelete"}},
    {"updateStrategy": {"type": "RollingUpdate", "maxUnavailable": 1}},
    {"drain": {"deadline": "2d", "onDeadline": "undo", "maxAtOnce": 2, "limits": {"maxShare": 0.25, "maxJobs": 20}}},
    {"drain": {"deadline": "12h", "grace": "5m", "showUsers": True}},
    {"scalingMode": "DaemonSet", "replicas": None, "pod": PODS[1]},
    {"scalingMode": "DaemonSet", "replicas": None, "pod": PODS[3]},
    {"owner": "autoscaler", "replicas": 0, "maxReplicas": 8, "autoscale": {}},
    {
        "owner": "autoscaler",
        "replicas": 1,
        "maxReplicas": 8,
        "autoscale": {
            "minReplicas": 1,
            "step": 2,
            "poll": "30s",
            "cooldown": "20m",
            "scaleDown": {"nodes": 1, "every": "5m"},
        },
    },
    {"owner": "autoscaler", "replicas": 0, "maxReplicas": 8, "autoscale": {"source": "http://prometheus.monitoring:9090"}},
    {
        "owner": "autoscaler",
        "replicas": 1,
        "maxReplicas": 8,
        "autoscale": {"by": "hpa", "minReplicas": 1, "metric": "slurm_nodes_wanted", "labels": {"partition": "x"}},
    },
    {"pod": {"hostNetwork": True}},
    {"privileged": True},
    {"ssh": {"enabled": True, "sssdConfFrom": {"secret": "sssd"}, "extraSshdConfig": "X11Forwarding no\n"}},
    {"image": "mirror.example.org/slinky/slurmd:26.05-ubuntu26.04"},
)
LOGINS: tuple[Settings, ...] = (
    {},
    *({"service": each} for each in SERVICES),
    *({"pod": each} for each in PODS),
    {"replicas": 2, "resources": {"cpus": 4, "memory": "8Gi"}, "volumes": [VOLUME, SCRATCH]},
    {"extraSshdConfig": "PasswordAuthentication no\nX11Forwarding no\nAllowGroups hpc staff\nClientAliveInterval 60\n"},
    {"interruptSessions": True, "image": f"{MIRROR}/login:26.05-ubuntu26.04"},
)
PROLOG = """#!/bin/bash
set -u
mkdir -m 0700 -p "/scratch/job_$SLURM_JOB_ID"
chown "$SLURM_JOB_UID" "/scratch/job_$SLURM_JOB_ID"
nvidia-smi -L >/dev/null || exit 1
"""
EPILOG = """#!/bin/bash
set -u
rm -rf "/scratch/job_$SLURM_JOB_ID"
exit 0
"""
CONTROLLERS: tuple[Settings, ...] = (
    {"extraConf": {"SlurmctldTimeout": 300, "SlurmdTimeout": 600, "MessageTimeout": 30, "KillWait": 60}},
    {
        "extraConf": {
            "PriorityType": "priority/multifactor",
            "PriorityDecayHalfLife": "14-0",
            "PriorityWeightAge": 1000,
            "PriorityWeightFairshare": 10000,
            "AccountingStorageEnforce": "associations,limits,qos",
        }
    },
    {"extraConf": {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core_Memory", "DefMemPerCPU": 2000}},
    {"extraConf": {"SchedulerParameters": "bf_window=2880,bf_continue", "JobRequeue": 0, "ReturnToService": 2}},
    {"configFiles": {"cgroup.conf": "ConstrainCores=yes\nConstrainRAMSpace=yes\nConstrainDevices=yes\n"}},
    {"configFiles": {"gres.conf": "AutoDetect=nvidia\n", "job_container.conf": "AutoBasePath=true\nBasePath=/local\n"}},
    {"prolog": {"10-scratch.sh": PROLOG}, "epilog": {"90-scratch.sh": EPILOG}},
    {"persistence": {"size": "20Gi", "storageClass": "fast"}},
    {"persistence": {"existingClaim": "slurmctld-state"}},
    *({"service": each} for each in SERVICES),
    *({"pod": each} for each in PODS),
    {"metrics": True},
    {"resources": {"cpus": 2, "memory": "8Gi", "requests": {"cpus": "500m", "memory": "4Gi"}}},
)
DATABASES: tuple[Settings, ...] = (
    {"extraConf": {"PurgeEventAfter": "12months", "PurgeJobAfter": "36months", "DebugLevel": "info"}},
    {"database": {"host": "mariadb.databases", "port": 3307, "name": "slurm", "username": "slurmdbd"}},
    {"database": {"passwordFrom": {"secret": "slurmdbd-password", "key": "password"}}},
    {"database": {"tls": {"caSecret": "db-ca", "clientSecret": "db-client"}}},
    *({"pod": each} for each in PODS),
    {"resources": {"cpus": 1, "memory": "2Gi"}},
)
TLS: tuple[Settings, ...] = (
    {"source": "generated", "since": "2026-11-22"},
    {"source": "existing", "secret": "rest-cert"},
    {"source": "cert-manager", "issuer": {"name": "site", "kind": "ClusterIssuer"}, "hosts": ["slurmrestd.example.org"]},
    {"source": "cert-manager", "issuer": {"name": "site"}, "clientCaSecret": "people-ca"},
    *({"source": "generated", "since": "2026-11-22", "service": each} for each in SERVICES),
)
RESTAPIS: tuple[Settings, ...] = (
    {"replicas": 2},
    *({"tls": each} for each in TLS),
    *({"pod": each} for each in PODS),
    {"resources": {"cpus": 1, "memory": "1Gi"}},
)
CLIENTS: tuple[Settings, ...] = (
    {},
    {"deployment": {"person": "ada"}},
    {"deployment": {"person": "emmy", "image": f"{MIRROR}/client:26.05", "command": ["sleep", "infinity"]}},
    {"createNamespace": False, "group": 64000},
    {"jupyterhub": HUB},
    {"jupyterhub": merged(HUB, {"spawn": "slurm", "partition": "all", "options": "--mem=8G --time=8:00:00"})},
    {"jupyterhub": merged(HUB, {"chart": {"version": "4.2.0", "repo": "https://hub.jupyter.org/helm-chart/"}})},
    {"loginEnvironment": False},
)
OTHERS: tuple[Settings, ...] = (
    {"cluster": {"name": "zeus", "namespace": "hpc", "resourceName": "zeus"}},
    {"cluster": {"podSecurity": "privileged", "keepNamespace": True, "quota": {"pods": 500}}},
    {"cluster": {"fencePods": True, "maxNodeCount": 4096}},
    {"cluster": {"defaultResources": True}},
    {"cluster": {"defaultResources": False, "sidecarResources": {"cpus": "100m", "memory": "128Mi"}}},
    {"cluster": {"images": IMAGES | {"sidecar": f"mirror.example.org/library/alpine@sha256:{'5e' * 32}"}}},
    {"cluster": {"images": {"pullSecrets": ["pull"], "pullPolicy": "Always"}}},
    {
        "operator": {
            "namespace": "slurm-operator",
            "values": {
                "operator": {"replicas": 2, "pdb": {"enabled": True, "minAvailable": 1}},
                "webhook": {"replicas": 2, "pdb": {"enabled": True, "minAvailable": 1}},
            },
        }
    },
    {
        "operator": {
            "values": {
                "priorityClassName": "system-cluster-critical",
                "operator": {
                    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
                    "resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
                    "tolerations": [
                        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
                    ],
                },
            }
        }
    },
    {
        "operator": {
            "chart": {"oci": f"oci://{MIRROR}/charts", "digest": f"sha256:{'6f' * 32}", "crdsDigest": f"sha256:{'70' * 32}"}
        }
    },
    {"operator": {"webhook": {"enabled": True, "certManager": True}}},
    {"operator": {"install": False}},
    {"operator": {"installCrds": False, "timeout": "10m"}},
    {
        "identity": {
            "passwd": {"users": {"ada": {"uid": 20001, "gid": 20000, "shell": "/bin/bash"}}, "groups": {"hpc": 20000}}
        }
    },
    {"identity": {"sssd": {"confFrom": {"secret": "slurm-sssd"}}}},
    {"tokens": {"portal": {"user": "ada", "lifetime": "1h"}, "ci": {"user": "emmy", "refresh": False}}},
    {"jobs": {"warm": JOB | {"partition": "all", "environment": {"OMP_NUM_THREADS": "4"}, "timeLimit": "10m"}}},
    {"smoke": {"enabled": True, "user": "ada"}},
    {
        "nodes": {
            "prefix": "slurm.example.org",
            "table": [
                {"names": ["w-[1-4]"], "features": ["ib"], "topology": "t:s1"},
                {"selector": {"example.org/rack": "r2"}, "labels": {"rack": "r2"}, "gres": ["gpu:a100:4"]},
            ],
            "topologies": {"t": {"default": True, "tree": {}}},
        }
    },
    {"nodes": {"prefix": "slurm.example.org", "table": [{"names": ["w-[1-4]"], "features": ["ib"]}]}},
    {"monitoring": {"rules": True, "dashboard": True, "labels": {"release": "prometheus"}, "interval": "1m"}},
    {"monitoring": {"slurmctld": True, "slurmctldAddress": "192.0.2.1"}},
    {
        "monitoring": {
            "status": {
                "image": f"{MIRROR}/slinky:0.1",
                "serviceAccount": "eyes",
                "folder": "/var/lib/node_exporter",
                "schedule": "*/5 * * * *",
            }
        }
    },
    {"drain": {"deadline": "3d", "limits": {"maxShare": 0.5, "maxJobs": 50, "maxJobAge": "2d"}}},
    {"partitions": {"all": {"nodesets": ["big"], "config": {"MaxTime": "1-00:00:00", "Default": "YES"}}}},
    {"keys": {"tokens": "rs256"}},
    {"keys": {"maxTokenLifespan": "2h", "maxAge": "365d"}},
    {
        "external": {
            "slurmdHosts": [{"name": "metal-[1-4]", "config": {"CPUs": 64, "RealMemory": 256000}}],
            "loginHosts": [{"name": "login-1", "address": "192.0.2.20"}],
        }
    },
    {"kubernetes": {"kubeconfig": "cluster.kubeconfig", "context": "prod"}},
    *(
        {"networkPolicies": {"clients": {part: PEERS}}}
        for part in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")
    ),
    {
        "networkPolicies": {
            "egress": {
                "parts": ["slurmd", "slurmctld"],
                "blocked": ["10.0.0.0/8"],
                "database": [{"cidr": "192.0.2.40/32"}],
                "dns": [{"cidr": "192.0.2.53/32"}],
            }
        }
    },
)
SITE = {
    "cluster-as-made": {
        "images": [
            *("ghcr.io/slinkyproject", "docker.io/library", "registry.k8s.io", "quay.io/jupyterhub"),
            *("registry.example.org", "mirror.example.org"),
        ],
    }
}
"""What the file of a site says that has such images."""


def drawn(seed: int) -> Settings:
    """The sections of one stack, whether lawful or not."""
    of = random.Random(seed)
    form = of.choice(FORMS)
    data = without_networks(stack_sections(form))
    data["keys"] = data.get("keys", {}) | {
        "source": of.choice(("generated", "imported")) if form == FORMS[0] else "imported"
    }

    def lay(more: Mapping[str, Any]) -> None:
        nonlocal data
        data = merged(data, more)

    if of.random() < 0.5:
        lay(networks(form))
        lay({"networkPolicies": {"nodes": ["192.0.2.128/26"], "clients": {"slurmctld": [{"namespace": "keda"}]}}})
    for name in [*data["nodesets"], "big"]:
        lay({"nodesets": {name: WORKER if name == "big" else {}}})
        for _ in range(of.choice((0, 0, 1, 1, 2))):
            lay({"nodesets": {name: of.choice(NODESETS)}})
    if of.random() < 0.5:
        for _ in range(of.choice((1, 2))):
            lay({"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}} | of.choice(LOGINS)}})
    for section, choices in (("controller", CONTROLLERS), ("accounting", DATABASES), ("restapi", RESTAPIS)):
        if "external" not in data.get(section, {}):
            for _ in range(of.choice((0, 1, 2))):
                lay({section: of.choice(choices)})
    if of.random() < 0.4:
        lay({"clients": {"nb": {"namespace": "notebooks", "people": PEOPLE} | of.choice(CLIENTS)}})
    for _ in range(of.choice((0, 1, 2, 3))):
        lay(of.choice(OTHERS))
    return data


def secrets_of(data: Mapping[str, Any]) -> dict[str, str]:
    """The secret values that a stack of these settings has."""
    wanted = {"slurmKey", "jwtKey"} if data["keys"]["source"] == "imported" else set()
    database = data.get("accounting", {}).get("database") or {}
    wanted |= {"databasePassword"} if database and "passwordFrom" not in database else set()
    own = {"tokenKey": base64.b64encode(pem("old")).decode()} if data["keys"].get("tokens") == "rs256" else {}
    return {name: SECRETS[name] for name in wanted} | own


def is_lawful(data: Mapping[str, Any]) -> bool:
    """Whether the program takes the settings."""
    try:
        found = findings(load(data), frozenset(secrets_of(data)))
    except ConfigError:
        return False
    return not any(each.level == "error" for each in found)


class _Keyed(Recording):
    """A recording in which each generated key is another, of as many characters as it has to have."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        found, props = super().new_resource(args)
        if "result" in props:
            of = random.Random(args.name)
            props["result"] = {**props["result"], "value": "".join(of.choices(ascii_letters + digits, k=1024))}
        return found, props


def rendered(data: Mapping[str, Any]) -> Stack:
    """What the program makes of lawful settings, as the engine hands it to the rules, with its outputs."""
    with configured(dict(data), secrets_of(data)):
        recording = run(lambda: build(read_stack()), recording=_Keyed())
    (cluster,) = recording.of("HybridCluster")
    outputs = {name: opened(recording.outputs[cluster.urn].get(attribute)) for name, attribute in EXPORTS.items()}
    root = Resource(
        type="pulumi:pulumi:Stack", name="test", urn="urn:pulumi:test::test::pulumi:pulumi:Stack::test", props=outputs
    )
    return Stack((root, *stack_of(recording).resources))
