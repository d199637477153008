"""Cases for the rules: configurations with one fault each about keys, daemons, names and versions, and its cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.stacks import SECRETS, merged, minimal, outside

GPU = {"replicas": 2}
KEYS = {"source": "imported"}
DIGEST = f"sha256:{'0a' * 32}"
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


DAEMONS = [
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
        ("generated", "outside", "slinky keys import slurm --file slurm.key"),
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
        minimal(keys={"source": "existing", "slurmKeyFrom": {"secret": "a"}}),
        "error",
        "keys.jwtKeyFrom",
        ("existing",),
        {"keys": {"jwtKeyFrom": {"secret": "b"}}},
    ),
    Case(
        "a namespace that would take the Secrets of others with it",
        minimal(keys={"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}),
        "error",
        "cluster.createNamespace",
        ("pulumi destroy", "Secret a, Secret b", "cluster.keepNamespace"),
        {"cluster": {"createNamespace": False}},
    ),
    Case(
        "keys of an external store without a Secret's name",
        minimal(
            keys={"source": "external", "jwtKeyFrom": {"secret": "b"}}, cluster={"name": "lab", "createNamespace": False}
        ),
        "error",
        "keys.slurmKeyFrom",
        ("external", "which Secret"),
        {"keys": {"slurmKeyFrom": {"secret": "a"}}},
    ),
    Case(
        "a namespace that would take the Secrets of a store with it",
        minimal(keys={"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}),
        "error",
        "cluster.createNamespace",
        ("external", "cluster.keepNamespace"),
        {"cluster": {"keepNamespace": True}},
    ),
    Case(
        "a maker of Secrets that nobody else makes",
        minimal(keys={"madeBy": "Vault"}),
        "error",
        "keys.madeBy",
        ("external", "generated"),
        {"keys": {"madeBy": None}},
    ),
    Case(
        "a change that is accepted of keys that can't change",
        minimal(keys={"acceptedChange": "2026-11-22T10:00:00Z"}),
        "error",
        "keys.acceptedChange",
        ("external", "generated"),
        {"keys": {"acceptedChange": None}},
    ),
    Case(
        "slurmdbd that takes anybody for root",
        minimal(accounting={"enabled": True, "database": {"host": "db"}, "extraConf": {"AuthType": "auth/none"}}),
        "error",
        "accounting.extraConf.AuthType",
        ("accept anyone as root", "Leave it out"),
        {"accounting": {"extraConf": {"AuthType": None}}},
    ),
    Case(
        "a password in the environment",
        nodeset(env={"DB_PASSWORD": "x"}),
        "error",
        "nodesets.gpu.env.DB_PASSWORD",
        ("named like a secret", "file"),
        {"nodesets": {"gpu": {"env": {"DB_PASSWORD": None}}}},
    ),
    Case(
        "a signing key in pods of jobs",
        nodeset(volumes=[{"name": "v", "mountPath": "/v", "source": {"secret": {"secretName": "slurm-auth-jwths256"}}}]),
        "error",
        "nodesets.gpu.volumes",
        ("the JWT key", "Slurm's admin"),
        {"nodesets": {"gpu": {"volumes": None}}},
    ),
    Case(
        "both keys in one entry",
        minimal(
            keys={
                "source": "existing",
                "slurmKeyFrom": {"secret": "a", "key": "k"},
                "jwtKeyFrom": {"secret": "a", "key": "k"},
            }
        ),
        "error",
        "keys",
        ("same entry",),
        {"keys": {"jwtKeyFrom": {"key": "other"}}},
    ),
    Case(
        "two keys made in one Secret",
        minimal(keys={"slurmKeyFrom": {"secret": "slurm-auth-jwths256"}}),
        "error",
        "keys",
        ("one Secret", "slurmKeyFrom", "jwtKeyFrom"),
        {"keys": {"jwtKeyFrom": {"secret": "jwt"}}},
    ),
    Case(
        "a script's name that no ConfigMap takes",
        minimal(controller={"prolog": {"my prolog": "x"}}),
        "error",
        "controller.prolog.my prolog",
        ("letters, digits",),
        {"controller": {"prolog": None}},
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
        "a parameter that slurmctld does not read",
        minimal(controller={"extraConf": {"SlurmctldTimeOuts": 30}}),
        "error",
        "controller.extraConf.SlurmctldTimeOuts",
        ("refuses its whole file", "Did you mean SlurmctldTimeout?"),
        {"controller": {"extraConf": {"SlurmctldTimeOuts": None, "SlurmctldTimeout": 30}}},
    ),
    Case(
        "a plugin that does not go with MaxNodeCount",
        minimal(controller={"extraConf": {"SelectType": "select/linear"}}),
        "error",
        "controller.extraConf.SelectType",
        ("MaxNodeCount", "select/cons_tres", "refuses its whole file"),
        {"controller": {"extraConf": {"SelectType": "select/cons_tres"}}},
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
        ("enable_configless,idle_on_node_suspend", "slurm-operator 1.1 "),
        {"operator": {"version": "1.2.1"}},
    ),
    Case(
        "a trial of files that an outside admin writes",
        outside(controller={"external": {"host": "192.0.2.1"}, "trial": {"enabled": True}}),
        "error",
        "controller.trial.enabled",
        ("slurmctld is outside", "try.sh", "slinky handoff --role slurmctld"),
        {"controller": {"trial": None}},
    ),
    Case(
        "slurm.conf as a file",
        minimal(controller={"configFiles": {"slurm.conf": "x"}}),
        "error",
        "controller.configFiles.slurm.conf",
        ("would replace it", "controller.extraConf"),
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
        "one name for two hosts",
        outside(external={"slurmdHosts": [{"name": "h"}], "loginHosts": [{"name": "h"}]}),
        "error",
        "external.loginHosts.0.name",
        ("external.slurmdHosts.0",),
        {"external": {"loginHosts": [{"name": "i"}]}},
    ),
    Case(
        "a host that has the name of a NodeSet, in a range",
        minimal(external={"slurmdHosts": [{"name": "m[1-3]"}]}, nodesets={"m2": {"replicas": 1}}),
        "error",
        "external.slurmdHosts.0.name",
        ("m2 is also a NodeSet", "rename the host"),
        {"external": {"slurmdHosts": [{"name": "n[1-3]"}]}},
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
        "a digest of a chart in a folder",
        minimal(operator={"chart": {"path": "charts", "digest": DIGEST}}),
        "error",
        "operator.chart.digest",
        ("path", "registry", "set oci"),
        {"operator": {"chart": {"digest": None}}},
    ),
    Case(
        "a digest of the operator's chart alone",
        minimal(operator={"chart": {"digest": DIGEST}}),
        "error",
        "operator.chart.crdsDigest",
        ("a tag decides", "CRDs"),
        {"operator": {"chart": {"crdsDigest": DIGEST}}},
    ),
    Case(
        "a digest of the CRDs' chart alone",
        minimal(operator={"chart": {"crdsDigest": DIGEST}}),
        "error",
        "operator.chart.digest",
        ("a tag decides", "operator"),
        {"operator": {"chart": {"digest": DIGEST}}},
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
        ("this name is reserved", "Rename the NodeSet"),
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
