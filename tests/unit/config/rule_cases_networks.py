"""Cases for the rules about networkPolicies: each a fault and its cure."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal, outside
from tests.unit.config.rule_cases import Case

API = {"apiServer": [{"cidr": "10.0.0.10"}]}


def on(**more: Any) -> dict[str, Any]:
    return {"networkPolicies": {"enabled": True} | API | more}


GPU = {"gpu": {"replicas": 1}}
HOST_NETWORK = {"gpu": {"replicas": 1, "pod": {"hostNetwork": True}}}
METAL = {"slurmdHosts": [{"name": "metal-1"}]}

NETWORKS = [
    Case(
        "policies that cut the API server off",
        minimal(networkPolicies={"enabled": True}),
        "error",
        "networkPolicies.apiServer",
        ("gates", "konnectivity"),
        {"networkPolicies": API},
    ),
    Case(
        "policies that cut gates with an address of their own off",
        minimal(slurmrest={"url": "https://rest.example.org"}, networkPolicies={"enabled": True}),
        "error",
        "networkPolicies.clients.slurmrestd",
        ("slurmrest.url", "Ingress"),
        {"networkPolicies": {"clients": {"slurmrestd": [{"namespace": "ingress"}]}}},
    ),
    Case(
        "an operator that may be elsewhere",
        minimal(operator={"install": False}, **on()),
        "error",
        "operator.namespace",
        ("is needed", "jobs on them"),
        {"operator": {"namespace": "slinky"}},
    ),
    Case(
        "an operator among the cluster's pods",
        minimal(operator={"install": False, "namespace": "slurm"}, **on()),
        "error",
        "operator.namespace",
        ("every pod in it",),
        {"operator": {"namespace": "slinky"}},
    ),
    Case(
        "an outside slurmctld that the stack knows by name",
        outside(nodesets=GPU, **on()),
        "error",
        "networkPolicies.addresses",
        ("ctl.example.org (controller.external)", "0.0.0.0/0"),
        {"networkPolicies": {"addresses": {"ctl.example.org": ["192.0.2.1"]}}},
    ),
    Case(
        "a metal host that the stack knows by name",
        outside(nodesets=GPU, external=METAL, **on(addresses={"ctl.example.org": ["192.0.2.1"]})),
        "error",
        "networkPolicies.addresses",
        ("metal-1 (external.slurmdHosts)",),
        {"networkPolicies": {"addresses": {"metal-1": ["192.0.2.2"]}}},
    ),
    Case(
        "addresses of a host that isn't there",
        minimal(**on(addresses={"login-9": ["192.0.2.1"]})),
        "error",
        "networkPolicies.addresses",
        ("login-9", "isn't an outside host"),
        {"networkPolicies": {"addresses": None}},
    ),
    Case(
        "pods on the host network whose nodes aren't known",
        minimal(nodesets=HOST_NETWORK, **on(nodes=[])),
        "error",
        "networkPolicies.nodes",
        ("nodesets.*.pod.hostNetwork",),
        {"networkPolicies": {"nodes": ["10.0.0.0/24"]}},
    ),
    Case(
        "metal hosts that come through a Service",
        minimal(external={"slurmdHosts": [{"name": "metal-1", "address": "192.0.2.1"}]}, **on()),
        "error",
        "networkPolicies.nodes",
        ("slurmctld", "kube-proxy", "externalTrafficPolicy"),
        {"networkPolicies": {"nodes": []}},
    ),
]
NETWORKS += [
    Case(
        "a level that refuses slurmd's pods",
        minimal(cluster={"name": "lab", "podSecurity": "baseline"}, nodesets=GPU),
        "error",
        "cluster.podSecurity",
        ("nodesets.gpu", "would be made"),
        {"cluster": {"podSecurity": "privileged"}},
    ),
    Case(
        "a level that refuses the host network",
        minimal(cluster={"name": "lab", "podSecurity": "baseline"}, restapi={"pod": {"hostNetwork": True}}),
        "error",
        "cluster.podSecurity",
        ("restapi.pod.hostNetwork",),
        {"restapi": {"pod": {"hostNetwork": False}}},
    ),
    Case(
        "a quota of memory",
        minimal(cluster={"name": "lab", "quota": {"requests.memory": "64Gi"}}),
        "error",
        "cluster.quota.requests.memory",
        ("defaultResources", "count/"),
        {"cluster": {"quota": None}},
    ),
    Case(
        "a quota that a NodeSet outgrows",
        minimal(
            cluster={"name": "lab", "quota": {"pods": 9, "count/jobs.batch": 0}},
            nodesets={"gpu": {"replicas": 1, "maxReplicas": 6}},
        ),
        "error",
        "cluster.quota.pods",
        ("is 9", "may have 10 pods"),
        {"cluster": {"quota": {"pods": 10}}},
    ),
]
DATABASE = {"database": {"host": "db.example.org"}}
NETWORKS += [
    Case(
        "a slurmdbd that may not connect to its database",
        minimal(accounting=DATABASE, **on(egress={"parts": ["slurmdbd"]})),
        "error",
        "networkPolicies.egress.database",
        ("db.example.org", "no job would be accounted"),
        {"networkPolicies": {"egress": {"database": [{"cidr": "192.0.2.5"}]}}},
    ),
    Case(
        "a slurmctld that may not connect to a metal host",
        minimal(external=METAL, **on(nodes=[], egress={"parts": ["slurmctld"]})),
        "error",
        "networkPolicies.addresses",
        ("metal-1 (external.slurmdHosts)", "or theirs to it"),
        {"networkPolicies": {"addresses": {"metal-1": ["192.0.2.2"]}}},
    ),
    Case(
        "a slurmctld among the addresses that jobs may not connect to",
        outside(
            nodesets=GPU,
            **on(addresses={"ctl.example.org": ["192.0.2.1"]}, egress={"parts": ["slurmd"], "blocked": ["192.0.2.0/24"]}),
        ),
        "error",
        "networkPolicies.egress.blocked",
        ("192.0.2.0/24", "ctl.example.org (controller.external)", "pods of slurmd", "jobs are lost"),
        {"networkPolicies": {"egress": {"blocked": ["192.0.2.128/25"]}}},
    ),
    Case(
        "a slurmctld that users could not reach",
        outside(
            logins={"main": {"sssdConfFrom": {"secret": "sssd"}}},
            **on(
                nodes=[],
                addresses={"ctl.example.org": ["192.0.2.1"]},
                egress={"parts": ["login"], "blocked": ["2001:db8::/32", "0.0.0.0/0"]},
            ),
        ),
        "error",
        "networkPolicies.egress.blocked",
        ("0.0.0.0/0", "pods of login", "commands would fail"),
        {"networkPolicies": {"egress": {"blocked": ["169.254.169.254/32"]}}},
    ),
]
NETWORKS_TOLD = [
    Case(
        "a limit for pods that this stack doesn't make",
        minimal(**on(egress={"parts": ["login"]})),
        "warning",
        "networkPolicies.egress.parts",
        ("login is ignored",),
        {"networkPolicies": {"egress": {"parts": ["slurmd"]}}},
    ),
    Case(
        "a namespace that would take a claim and a Secret of others with it",
        minimal(
            controller={"persistence": {"existingClaim": "state"}},
            logins={"main": {"sssdConfFrom": {"secret": "sssd"}}},
        ),
        "warning",
        "cluster.createNamespace",
        ("pulumi destroy", "claim state, Secret sssd", "cluster.keepNamespace"),
        {"cluster": {"createNamespace": False}},
    ),
    Case(
        "a level for somebody else's namespace",
        minimal(cluster={"name": "lab", "podSecurity": "privileged", "createNamespace": False}),
        "warning",
        "cluster.podSecurity",
        ("is ignored",),
        {"cluster": {"createNamespace": True}},
    ),
    Case(
        "pods that no policy holds for",
        minimal(nodesets=HOST_NETWORK, **on(nodes=["10.0.0.0/24"])),
        "warning",
        "nodesets.*.pod.hostNetwork",
        ("no NetworkPolicy holds",),
        {"nodesets": {"gpu": {"pod": {"hostNetwork": False}}}},
    ),
    Case(
        "settings of policies that aren't made",
        merged(minimal(**on()), {"networkPolicies": {"enabled": False}}),
        "warning",
        "networkPolicies.apiServer",
        ("is ignored", "enabled is false"),
        {"networkPolicies": {"enabled": True}},
    ),
]
