"""Each rule speaks up where it must, keeps silent where it may, and says where, what is allowed and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from slinky_iac.config.load import load
from slinky_iac.config.rules import RULES, findings, require_sound
from slinky_iac.errors import ConfigError
from tests.stacks import SECRETS, merged, minimal, outside

GPU = {"replicas": 2}
KEYS = {"source": "imported"}
METAL = {"slurmdHosts": [{"name": "metal-1"}]}


@dataclass(frozen=True)
class Case:
    """``bad`` must bring a finding of ``level`` at ``path`` that says all of ``words``; laid over it, ``cure`` ends it."""

    name: str
    bad: dict[str, Any]
    level: str
    path: str
    words: tuple[str, ...]
    cure: dict[str, Any]
    secrets: frozenset[str] = SECRETS


def nodeset(**settings: Any) -> dict[str, Any]:
    return minimal(nodesets={"gpu": GPU | settings})


ERRORS = [
    Case(
        "munge is recognised and its migration told",
        minimal(keys={"auth": "auth/munge"}),
        "error",
        "keys.auth",
        ("auth/munge", "auth/slurm", "/etc/slurm/slurm.key", "CredType=cred/slurm"),
        {"keys": {"auth": "auth/slurm"}},
    ),
    Case(
        "an external controller without its keys",
        minimal(controller={"external": {"host": "ctl"}}),
        "error",
        "keys.source",
        ("generated", "outside", "pulumi config set --secret slurmKey"),
        {"keys": KEYS},
    ),
    Case(
        "an external slurmdbd without its keys",
        minimal(accounting={"external": {"host": "dbd"}}),
        "error",
        "keys.source",
        ("generated", "outside", "imported"),
        {"keys": KEYS},
    ),
    Case(
        "existing keys without a Secret's name",
        minimal(keys={"source": "existing", "slurmKeySecret": "a"}),
        "error",
        "keys.jwtKeySecret",
        ("existing",),
        {"keys": {"jwtKeySecret": "b"}},
    ),
    Case(
        "both keys in one entry",
        minimal(
            keys={
                "source": "existing",
                "slurmKeySecret": "a",
                "jwtKeySecret": "a",
                "slurmKeyEntry": "k",
                "jwtKeyEntry": "k",
            }
        ),
        "error",
        "keys",
        ("same entry",),
        {"keys": {"jwtKeyEntry": "other"}},
    ),
    Case(
        "two keys made in one Secret",
        minimal(keys={"slurmKeySecret": "slurm-auth-jwths256"}),
        "error",
        "keys",
        ("slurm-auth-jwths256", "different names"),
        {"keys": {"jwtKeySecret": "jwt"}},
    ),
    Case(
        "accounting without slurmdbd or database",
        minimal(accounting={"enabled": True}),
        "error",
        "accounting",
        ("external", "database", "enabled: false"),
        {"accounting": {"database": {"host": "db"}}},
    ),
    Case(
        "an outside slurmdbd and a database",
        minimal(keys=KEYS, accounting={"external": {"host": "dbd"}, "database": {"host": "db"}}),
        "error",
        "accounting",
        ("remove one",),
        {"accounting": {"external": None}},
    ),
    Case(
        "a host name can't be led to another port",
        outside(controller={"external": {"host": "ctl.example.org", "port": 7000}}),
        "error",
        "controller.external",
        ("7000", "6817", "IP address"),
        {"controller": {"external": {"host": "192.0.2.1"}}},
    ),
    Case(
        "slurmdbd by name on another port",
        minimal(keys=KEYS, accounting={"external": {"host": "dbd", "port": 7}}),
        "error",
        "accounting.external",
        ("port 7", "6819"),
        {"accounting": {"external": {"port": 6819}}},
    ),
    Case(
        "an address that is the pod's own",
        outside(controller={"external": {"host": "127.0.0.1"}}),
        "error",
        "controller.external.host",
        ("127.0.0.1", "pods reach"),
        {"controller": {"external": {"host": "192.0.2.1"}}},
    ),
    Case(
        "slurmdbd on localhost",
        minimal(keys=KEYS, accounting={"external": {"host": "localhost"}}),
        "error",
        "accounting.external.host",
        ("localhost",),
        {"accounting": {"external": {"host": "dbd"}}},
    ),
    Case(
        "a slurm.conf line that is the operator's",
        minimal(controller={"extraConf": {"ClusterName": "x"}}),
        "error",
        "controller.extraConf.ClusterName",
        ("cluster.name",),
        {"controller": {"extraConf": None}},
    ),
    Case(
        "configless switched off by a later line",
        minimal(operator={"version": "1.1.0"}, controller={"extraConf": {"SlurmctldParameters": "idle_on_node_suspend"}}),
        "error",
        "controller.extraConf.SlurmctldParameters",
        ("enable_configless,idle_on_node_suspend", "1.1.0"),
        {"operator": {"version": "1.2.1"}},
    ),
    Case(
        "slurm.conf as a file",
        minimal(controller={"configFiles": {"slurm.conf": "x"}}),
        "error",
        "controller.configFiles.slurm.conf",
        ("reserved", "extraConf"),
        {"controller": {"configFiles": None}},
    ),
    Case(
        "host network for slurmctld",
        minimal(controller={"pod": {"hostNetwork": True}}),
        "error",
        "controller.pod.hostNetwork",
        ("isn't supported",),
        {"controller": {"pod": {"hostNetwork": False}}},
    ),
    Case(
        "host network for slurmdbd",
        minimal(accounting={"enabled": True, "database": {"host": "db"}, "pod": {"hostNetwork": True}}),
        "error",
        "accounting.pod.hostNetwork",
        ("isn't supported",),
        {"accounting": {"pod": {"hostNetwork": False}}},
    ),
    Case(
        "a Service's node port that the operator doesn't read",
        minimal(operator={"version": "1.1.0"}, controller={"service": {"type": "NodePort", "nodePort": 30817}}),
        "error",
        "controller.service.nodePort",
        ("1.1.0", "1.1.1"),
        {"operator": {"version": "1.1.1"}},
    ),
    Case(
        "ssh in workers before 1.1",
        nodeset(ssh={"enabled": True, "sssdConfSecret": "sssd"}) | {"operator": {"version": "1.0.1"}},
        "error",
        "nodesets.gpu.ssh",
        ("1.1", "1.0.1"),
        {"operator": {"version": "1.1.1"}},
    ),
    Case(
        "ssh in workers without sssd.conf",
        nodeset(ssh={"enabled": True}),
        "error",
        "nodesets.gpu.ssh.sssdConfSecret",
        ("sssd.conf",),
        {"nodesets": {"gpu": {"ssh": {"sssdConfSecret": "sssd"}}}},
    ),
    Case(
        "an autoscaler without a bound",
        nodeset(owner="autoscaler"),
        "error",
        "nodesets.gpu.maxReplicas",
        ("bounds",),
        {"nodesets": {"gpu": {"maxReplicas": 4}}},
    ),
    Case(
        "a bound without an autoscaler",
        nodeset(maxReplicas=4),
        "error",
        "nodesets.gpu.maxReplicas",
        ("owner: autoscaler",),
        {"nodesets": {"gpu": {"owner": "autoscaler"}}},
    ),
    Case(
        "more nodes than MaxNodeCount",
        merged(nodeset(), {"cluster": {"maxNodeCount": 1}}),
        "error",
        "nodesets",
        ("2 pods", "maxNodeCount 1"),
        {"cluster": {"maxNodeCount": 2}},
    ),
    Case(
        "outside hosts count against MaxNodeCount",
        merged(nodeset(), {"cluster": {"maxNodeCount": 2}, "external": METAL}),
        "error",
        "nodesets",
        ("1 outside hosts",),
        {"cluster": {"maxNodeCount": 3}},
    ),
    Case(
        "a node parameter that is the operator's",
        nodeset(extraConf={"NodeName": "x"}),
        "error",
        "nodesets.gpu.extraConf.NodeName",
        ("operator",),
        {"nodesets": {"gpu": {"extraConf": None}}},
    ),
    Case(
        "features in two places",
        nodeset(features=["a"], extraConf={"Feature": "b"}),
        "error",
        "nodesets.gpu.extraConf",
        ("features only",),
        {"nodesets": {"gpu": {"features": []}}},
    ),
    Case(
        "gres in two places",
        nodeset(gres=["gpu:1"], extraConf={"Gres": "gpu:1"}, resources={"extended": {"nvidia.com/gpu": 1}}),
        "error",
        "nodesets.gpu.extraConf",
        ("gres only",),
        {"nodesets": {"gpu": {"gres": []}}},
    ),
    Case(
        "two volumes of one name",
        nodeset(
            volumes=[{"name": "v", "mountPath": "/a", "source": {}}, {"name": "v", "mountPath": "/b", "source": {}}],
        ),
        "error",
        "nodesets.gpu.volumes",
        ("one name",),
        {"nodesets": {"gpu": {"volumes": []}}},
    ),
    Case(
        "a partition named like a NodeSet's own",
        merged(nodeset(), {"partitions": {"gpu": {"nodesets": ["ALL"]}}}),
        "error",
        "partitions.gpu",
        ("nodesets.gpu", "partition.enabled: false"),
        {"nodesets": {"gpu": {"partition": {"enabled": False}}}},
    ),
    Case(
        "a partition naming a missing NodeSet",
        merged(nodeset(), {"partitions": {"all": {"nodesets": ["gpu", "metal-1"]}}}),
        "error",
        "partitions.all.nodesets",
        ("metal-1", "there are: gpu"),
        {"external": METAL},
    ),
    Case(
        "one name for two hosts",
        outside(external={"slurmdHosts": [{"name": "h"}], "loginHosts": [{"name": "h"}]}),
        "error",
        "external.loginHosts.0.name",
        ("external.slurmdHosts.0",),
        {"external": {"loginHosts": [{"name": "i"}]}},
    ),
    Case(
        "a host named like a pod's node",
        merged(nodeset(), {"external": {"slurmdHosts": [{"name": "gpu-7"}]}}),
        "error",
        "external.slurmdHosts.0.name",
        ("gpu-7", "rename the host"),
        {"external": {"slurmdHosts": [{"name": "gpu-metal-7"}]}},
    ),
    Case(
        "a Slurm too old for the operator's REST version",
        minimal(cluster={"name": "lab", "slurmVersion": "25.05"}),
        "error",
        "cluster.slurmVersion",
        ("25.05", "v0.0.44", "25.11"),
        {"cluster": {"slurmVersion": "26.05"}},
    ),
    Case(
        "an image newer than the outside daemons",
        outside(cluster={"name": "lab", "slurmVersion": "25.11"}),
        "error",
        "cluster.images.slurmrestd",
        ("26.05", "25.11"),
        {"cluster": {"images": {"slurmrestd": "r:25.11"}}},
    ),
    Case(
        "a slurmctld image newer than the outside slurmdbd",
        minimal(
            cluster={"name": "lab", "slurmVersion": "25.11", "images": {"slurmrestd": "r:1"}},
            keys=KEYS,
            accounting={"external": {"host": "dbd"}},
        ),
        "error",
        "cluster.images.slurmctld",
        ("26.05", "25.11"),
        {"cluster": {"images": {"slurmctld": "c:25.11"}}},
    ),
    Case(
        "the webhook of 1.1.0",
        minimal(operator={"version": "1.1.0", "webhook": {"enabled": True}}),
        "error",
        "operator.webhook.enabled",
        ("189", "1.1.1"),
        {"operator": {"version": "1.1.1"}},
    ),
    Case(
        "operator and cluster in one namespace",
        minimal(operator={"namespace": "slurm"}),
        "error",
        "operator.namespace",
        ("destroy",),
        {"operator": {"install": False}},
    ),
    Case(
        "a NodeSet called like the drains of bare-metal hosts",
        minimal(nodesets={"outside-hosts": GPU}),
        "error",
        "nodesets.outside-hosts",
        ("rename",),
        {"nodesets": {"outside-hosts": None}},
    ),
    Case(
        "a Service can't begin with a digit",
        minimal(cluster={"name": "lab", "resourceName": "1slurm"}),
        "error",
        "cluster.resourceName",
        ("1slurm", "letter"),
        {"cluster": {"resourceName": "slurm1"}},
    ),
    Case(
        "a name too long for the pods named after it",
        minimal(cluster={"name": "lab", "resourceName": "s" * 41}),
        "error",
        "cluster.resourceName",
        ("41", "40"),
        {"cluster": {"resourceName": "s" * 40}},
    ),
]

TOLD = [
    Case(
        "state that a restart forgets",
        minimal(controller={"persistence": {"enabled": False}}),
        "warning",
        "controller.persistence",
        ("jobs are forgotten",),
        {"controller": {"persistence": {"enabled": True}}},
    ),
    Case(
        "a file that Slurm doesn't know",
        minimal(controller={"configFiles": {"my.conf": "x"}}),
        "warning",
        "controller.configFiles.my.conf",
        ("include it",),
        {"controller": {"configFiles": None}},
    ),
    Case(
        "outside hosts and a Service inside",
        minimal(external=METAL),
        "info",
        "controller.service.type",
        ("pod network is routed",),
        {"controller": {"service": {"type": "LoadBalancer"}}},
    ),
    Case(
        "partitions that an outside slurmctld must hold",
        outside(nodesets={"gpu": GPU}),
        "info",
        "controller.external",
        ("outsideSlurmConf", "gpu"),
        {"nodesets": {"gpu": {"partition": {"enabled": False}}}},
    ),
    Case(
        "host network for a NodeSet",
        nodeset(pod={"hostNetwork": True}),
        "warning",
        "nodesets.gpu.pod.hostNetwork",
        ("plain text", "one such pod", "hostname -s"),
        {"nodesets": {"gpu": {"pod": {"hostNetwork": False}}}},
    ),
    Case(
        "host network for slurmrestd",
        minimal(restapi={"pod": {"hostNetwork": True}}),
        "warning",
        "restapi.pod.hostNetwork",
        ("plain HTTP", "tokens"),
        {"restapi": {"pod": {"hostNetwork": False}}},
    ),
    Case(
        "GRES without devices",
        nodeset(gres=["gpu:8"]),
        "warning",
        "nodesets.gpu.gres",
        ("resources.extended",),
        {"nodesets": {"gpu": {"resources": {"extended": {"nvidia.com/gpu": 8}}}}},
    ),
    Case(
        "capital letters in the cluster's name",
        minimal(cluster={"name": "Lab"}),
        "warning",
        "cluster.name",
        ("slurmdbd",),
        {"cluster": {"name": "lab"}},
    ),
    Case(
        "bare slurmd beside slurmd in pods",
        nodeset() | {"external": METAL},
        "warning",
        "external.slurmdHosts",
        ("IgnoreSystemd=yes",),
        {"external": {"slurmdHosts": []}},
    ),
    Case(
        "slurmdbd settings that nothing reads",
        minimal(keys=KEYS, accounting={"external": {"host": "dbd"}, "extraConf": {"DebugLevel": "info"}}),
        "warning",
        "accounting.extraConf",
        ("ignored", "outside"),
        {"accounting": {"external": None, "database": {"host": "db"}}},
    ),
    Case(
        "a slurmdbd that is switched off",
        minimal(accounting={"enabled": False, "database": {"host": "db"}}),
        "warning",
        "accounting.database",
        ("enabled is false",),
        {"accounting": {"enabled": True}},
    ),
    Case(
        "settings of an operator that another stack deploys",
        minimal(operator={"install": False, "values": {"x": 1}}),
        "warning",
        "operator.values",
        ("another stack",),
        {"operator": {"install": True}},
    ),
]


def ids(case: Case) -> str:
    return case.name


def found(data: dict[str, Any], secrets: frozenset[str]) -> list[tuple[str, str, str]]:
    return [(f.level.value, f.path, f.message) for f in findings(load(data), secrets)]


@pytest.mark.parametrize("case", ERRORS + TOLD, ids=ids)
def test_a_fault_is_found_and_told_where_it_stands(case: Case) -> None:
    here = [f for f in found(case.bad, case.secrets) if f[1] == case.path and all(w in f[2] for w in case.words)]
    assert [level for level, _, _ in here] == [case.level], found(case.bad, case.secrets)


@pytest.mark.parametrize("case", ERRORS + TOLD, ids=ids)
def test_its_cure_ends_the_finding(case: Case) -> None:
    cured = merged(case.bad, case.cure)
    again = [f for f in found(cured, case.secrets) if f[1] == case.path and all(w in f[2] for w in case.words)]
    assert again == []


@pytest.mark.parametrize("case", ERRORS, ids=ids)
def test_an_error_stops_before_the_first_resource(case: Case) -> None:
    with pytest.raises(ConfigError) as caught:
        require_sound(findings(load(case.bad), case.secrets))
    assert any(fault.startswith(f"{case.path}: ") for fault in caught.value.faults)


@pytest.mark.parametrize("case", TOLD, ids=ids)
def test_what_is_only_told_stops_nothing(case: Case) -> None:
    assert require_sound(findings(load(case.bad), case.secrets))


def test_all_errors_are_told_at_once() -> None:
    bad = merged(nodeset(owner="autoscaler"), {"keys": {"auth": "auth/munge"}, "operator": {"namespace": "slurm"}})
    with pytest.raises(ConfigError) as caught:
        require_sound(findings(load(bad)))
    assert {f.split(":")[0] for f in caught.value.faults} == {"keys.auth", "nodesets.gpu.maxReplicas", "operator.namespace"}


def test_every_rule_has_a_case() -> None:
    silent = [rule.__name__ for rule in RULES if not any(list(rule(load(case.bad), case.secrets)) for case in ERRORS + TOLD)]
    assert silent == []


@pytest.mark.parametrize("missing", ["slurmKey", "jwtKey"])
def test_imported_keys_must_be_set(missing: str) -> None:
    said = found(outside(), SECRETS - {missing})
    assert [(level, path) for level, path, _ in said] == [("error", "keys.source")]
    assert f"pulumi config set --secret {missing}" in said[0][2]
    assert found(outside(), SECRETS) == []


@pytest.mark.parametrize("name", ["slurmKey", "jwtKey"])
def test_a_key_that_is_set_and_not_used_is_told(name: str) -> None:
    (said,) = found(minimal(), frozenset({name}))
    assert said[:2] == ("warning", "keys.source")
    assert f"pulumi config rm {name}" in said[2]


def test_a_database_needs_its_password() -> None:
    data = minimal(accounting={"database": {"host": "db"}})
    assert found(data, SECRETS - {"slurmKey", "jwtKey"}) == []
    (said,) = found(data, frozenset())
    assert said[:2] == ("error", "accounting.database")
    assert "pulumi config set --secret databasePassword" in said[2]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extraConf", {"SlurmctldDebug": "info"}),
        ("configFiles", {"cgroup.conf": ""}),
        ("prolog", {"a.sh": ""}),
        ("epilog", {"a.sh": ""}),
        ("metrics", True),
        ("persistence", {"enabled": True}),
        ("service", {"type": "NodePort"}),
        ("pod", {"priorityClass": "high"}),
    ],
)
def test_what_an_outside_slurmctld_ignores_is_told(field: str, value: object) -> None:
    data = merged(outside(), {"controller": {field: value}})
    assert [f[:2] for f in found(data, SECRETS)] == [("warning", f"controller.{field}")]


def test_an_autoscalers_maximum_counts_against_max_node_count() -> None:
    data = merged(nodeset(owner="autoscaler", maxReplicas=9), {"cluster": {"maxNodeCount": 8}})
    assert [path for level, path, _ in found(data, SECRETS) if level == "error"] == ["nodesets"]
    assert found(merged(data, {"cluster": {"maxNodeCount": 9}}), frozenset()) == []
