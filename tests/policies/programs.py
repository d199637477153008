"""Whole programs that have every part a stack can have, under names that occur nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.clusters import MUNGE, recorded, stack_sections
from tests.parts import whole
from tests.program import Recording
from tests.stacks import FORMS, merged, networks

MARKS = {"zzcluster": "cluster", "zzns": "ns", "zzbase": "base", "zzops": "ops"}
"""The names, and the marks that stand for them in a template."""
NAMED: dict[str, Any] = {
    "cluster": {"name": "zzcluster", "namespace": "zzns", "resourceName": "zzbase"},
    "operator": {"namespace": "zzops"},
}
PEOPLE = {"alice": {"uid": 20001, "gid": 20001}}
HUB = {
    "chart": {"version": "4.4.0"},
    "image": "registry.example.org/jupyter:26.05",
    "values": {"hub": {"config": {"JupyterHub": {"authenticator_class": "github"}}}},
}
PASSWD = {"passwd": {"users": PEOPLE, "groups": {"physics": 20002}}}
JOB = {"user": "alice", "command": ["true"], "workingDirectory": "/tmp", "environment": {"OMP_NUM_THREADS": "4"}}
LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
STATUS = {"image": "registry.example.org/slinky:0.1", "serviceAccount": "eyes", "folder": "/var/lib/node_exporter"}
SCALED = {"owner": "autoscaler", "replicas": 0, "maxReplicas": 4, "volumes": []}
OFFERED = {"type": "LoadBalancer", "nodePort": 30817}
PLACED = {
    "hostNetwork": True,
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "priorityClass": "hpc",
    "terminationGrace": 30,
}
OUTSIDE = {"external": {"slurmdHosts": [{"name": "metal-1", "config": {"CPUs": 64}}]}}
TLS = {"source": "generated", "since": "2026-11-22"}
FILES = {
    "configFiles": {"cgroup.conf": "IgnoreSystemd=yes"},
    "prolog": {"10-p.sh": "#!/bin/sh\n"},
    "epilog": {"10-e.sh": "#!/bin/sh\n"},
}
TOPOLOGY = {"table": [{"names": ["w-[1-2]"], "features": ["ib"]}], "topologies": {"t": {"flat": True, "default": True}}}

ANYWHERE: dict[str, dict[str, Any]] = {
    "plain": {},
    "logins": {"logins": LOGINS},
    "users": {"identity": PASSWD, "logins": LOGINS},
    "tls": {"restapi": {"tls": TLS}},
    "tls-existing": {"restapi": {"tls": {"source": "existing", "secret": "rest-cert"}}},
    "tls-issued": {"restapi": {"tls": {"source": "cert-manager", "issuer": {"name": "site"}, "service": OFFERED}}},
    "issued-by-all": {"restapi": {"tls": {"source": "cert-manager", "issuer": {"name": "site", "kind": "ClusterIssuer"}}}},
    "tls-by-node": {"restapi": {"tls": TLS | {"service": {"type": "NodePort"}}}},
    "sized": {
        "cluster": {"defaultResources": True},
        "restapi": {"tls": TLS},
        "clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "deployment": {"person": "alice"}}},
    },
    "interrupted": {"logins": {"main": LOGINS["main"] | {"interruptSessions": True}}, "keys": {"tokens": "rs256"}},
    "tokens": {"tokens": {"ci": {"user": "alice"}}},
    "jobs": {"jobs": {"bench": JOB}, "smoke": {"enabled": True, "user": "alice"}},
    "rs256": {"keys": {"tokens": "rs256"}},
    "over-tls": {
        "jobs": {"bench": JOB},
        "nodes": {"prefix": "slurm.example.org", **TOPOLOGY},
        "restapi": {"tls": TLS},
        "keys": {"tokens": "rs256"},
    },
    "prepared": {"keys": {"tokens": "prepared"}},
    "alerts": {"monitoring": {"rules": True, "dashboard": True, "status": STATUS}},
    "status-rs256": {"monitoring": {"status": STATUS}, "keys": {"tokens": "rs256"}},
    "status-reached": {
        "monitoring": {"status": STATUS},
        "kubernetes": {"kubeconfig": "cluster.kubeconfig", "context": "prod"},
    },
    "quota": {"cluster": {"quota": {"pods": 400}, "podSecurity": "privileged", "keepNamespace": True}},
    "nodes": {"nodes": {"prefix": "slurm.example.org", **TOPOLOGY}},
    "each-node": {"nodesets": {"each": {"scalingMode": "DaemonSet", "pod": PLACED}}},
    "operator-1.0": {"operator": {"version": "1.0.1"}, "logins": LOGINS},
    "operator-1.1": {"operator": {"version": "1.1.1", "webhook": {"enabled": True}}},
    "external": {
        "keys": {"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}},
        "cluster": {"createNamespace": False},
    },
    "reached": {"kubernetes": {"kubeconfig": "cluster.kubeconfig", "context": "prod"}},
    "every-part": whole(),  # a new part is in it by its own tests
    "pulled": {"cluster": {"images": {"pullSecrets": ["pull"], "pullPolicy": "Always"}}},
}
"""Parts of a stack of any form."""
INSIDE: dict[str, dict[str, Any]] = {
    "monitoring": {"monitoring": {"rules": True, "dashboard": True, "slurmctld": True, "status": STATUS}},
    "files-1.0": {"operator": {"version": "1.0.1"}, "controller": FILES},
    "offered": {"controller": {"service": OFFERED}},
    "by-node": {"controller": {"service": {"type": "NodePort", "nodePort": 30817}}},
    "database-tls": {"accounting": {"database": {"tls": {"caSecret": "db-ca", "clientSecret": "db-client"}}}},
    "files": {"controller": FILES},
    "trial": {"controller": FILES | {"trial": {"enabled": True}}},
    "metrics": {"controller": {"metrics": True}},
    "sssd": {"identity": {"sssd": {"confFrom": {"secret": "slurm-sssd"}}}, "logins": LOGINS},
    "ssh": {"nodesets": {"gpu": {"ssh": {"enabled": True, "sssdConfFrom": {"secret": "sssd"}}}}},
    "placed": {"nodesets": {"gpu": {"pod": PLACED}}},
    "open-login": {"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}, "service": OFFERED, "pod": PLACED}}},
    "login-by-node": {"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}, "service": {"type": "NodePort"}}}},
    "rolling": {
        "nodesets": {"gpu": {"updateStrategy": {"type": "RollingUpdate"}}, "cpu": {"updateStrategy": {"type": "OnDelete"}}}
    },
    "without-partition": {"nodesets": {"gpu": {"partition": {"enabled": False}}}, **OUTSIDE},
    "no-state": {"controller": {"persistence": {"enabled": False}}},
    "scaled": {"nodesets": {"gpu": SCALED | {"autoscale": {}}}, "cluster": {"fencePods": True}},
    "scaled-by-prometheus": {"nodesets": {"gpu": SCALED | {"autoscale": {"source": "http://prometheus.monitoring:9090"}}}},
    "scaled-by-metric": {
        "nodesets": {
            "gpu": SCALED | {"replicas": 1, "autoscale": {"by": "hpa", "minReplicas": 1, "metric": "slurm_nodes_wanted"}}
        }
    },
    "scaled-by-others": {"nodesets": {"gpu": SCALED, "cpu": SCALED}, "cluster": {"fencePods": True}},
    "without-accounting": {"accounting": {"enabled": False, "database": None}},
}
"""Parts of a stack whose daemons are in Kubernetes."""
BEYOND: dict[str, dict[str, Any]] = {
    "controller-outside": {
        "controller": {"external": {"host": "192.0.2.1", "port": 7000}},
        "monitoring": {"slurmctld": True},
    },
    "slurmdbd-outside": {"accounting": {"external": {"host": "192.0.2.11", "port": 16819}}},
    "all-outside": {
        "accounting": {"external": {"host": "192.0.2.11", "port": 16819}},
        "monitoring": {"slurmctld": True, "slurmctldAddress": "192.0.2.1"},
    },
}
"""Outside daemons at an address and on a port of their own, by form."""
BACKUPS = {"controller": {"external": {"backups": ["192.0.2.12"]}}, "logins": LOGINS}
"""Backups of an outside slurmctld."""
_LET: dict[str, Any] = {
    "clients": {
        part: [{"cidr": "192.0.2.200/32"}] for part in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login", "operator")
    }
}
_NODES = {"nodes": ["192.0.2.128/26"]}
_LIMITED = {
    "egress": {"parts": ["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"], "database": [{"cidr": "192.0.2.40"}]}
}
_JOBS_OF_HUB = {"clients": {"nb": {"namespace": "notebooks", "people": PEOPLE, "jupyterhub": HUB | {"spawn": "slurm"}}}}
CONNECTED: dict[str, dict[str, Any]] = {
    "plain": {},
    "logins": {"logins": LOGINS},
    "let": {"networkPolicies": _LET, "logins": LOGINS},
    "hub-of-jobs": _JOBS_OF_HUB,
    "hub-of-jobs-limited": _JOBS_OF_HUB | {"networkPolicies": _LIMITED},
    "limited": {"networkPolicies": _LET | _LIMITED, "logins": LOGINS},
    "limited-plain": {"networkPolicies": merged(_LIMITED, {"egress": {"dns": [{"cidr": "192.0.2.53/32"}]}})},
}
"""What else a stack with NetworkPolicies has."""
OFFERED_TO: dict[str, dict[str, Any]] = {
    "offered": {
        "networkPolicies": _NODES,
        "restapi": {"tls": TLS | {"service": OFFERED}},
        "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}, "service": OFFERED, "pod": PLACED}},
        "nodesets": {"gpu": {"pod": PLACED}},
    },
}
"""The same, with clients that come through Services, and pods on their nodes' network."""
KNOWN: dict[str, Any] = {"networkPolicies": {"addresses": {"slurmdbd.example.org": ["192.0.2.12"]}}}
ROTATED = ("slurmKeyNext", "jwtKeyNext")


def programs() -> Iterator[tuple[str, Recording]]:
    """What each of them registers, with its name."""
    for form in FORMS:
        over = merged(NAMED, {"nodesets": {"gpu": {"volumes": []}}} if form == "all-outside" else {})
        parts = (
            ANYWHERE | (INSIDE if form == "all-in-kubernetes" else {}) | ({"far": BEYOND[form]} if form in BEYOND else {})
        ) | ({"backups": BACKUPS} if form == "controller-outside" else {})
        for name, part in parts.items():
            yield f"{form}:{name}", _recorded(form, merged(over, part))
        let = merged(networks(form), KNOWN if form == "all-outside" else {})
        for name, part in (CONNECTED | (OFFERED_TO if form == "all-in-kubernetes" else {})).items():
            yield f"{form}:networks-{name}", _recorded(form, merged(merged(over, let), part))
        if stack_sections(form).get("keys", {}).get("source") == "imported":
            if "external" in stack_sections(form).get("controller", {}):
                yield f"{form}:jwks", _recorded(form, merged(over, {"keys": {"jwks": True}}))
            yield f"{form}:rotated", recorded(form, coming=ROTATED, **over)
    yield "munge", recorded(MUNGE, **NAMED)


def _recorded(form: str, over: dict[str, Any]) -> Recording:
    return recorded(form, **over)
