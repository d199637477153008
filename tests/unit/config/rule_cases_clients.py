"""Cases for the rules about clients: who could read a key, and what Slurm would refuse or hold."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
from tests.unit.config.rule_cases import DIGEST, Case

ALICE = {"alice": {"uid": 2001, "gid": 2001}}
GOOD: dict[str, Any] = {"namespace": "jupyter", "people": ALICE}


def client(**over: Any) -> dict[str, Any]:
    return minimal(clients={"nb": merged(GOOD, over)})


def of_others() -> dict[str, Any]:
    keys = {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}
    return {"keys": keys, "cluster": {"name": "lab", "createNamespace": False}}


CLIENTS = [
    Case(
        "clients in the cluster's own namespace",
        client(namespace="slurm"),
        "error",
        "clients.nb.namespace",
        ("cluster's namespace", "JWT key", "namespace of their own"),
        {"clients": {"nb": {"namespace": "jupyter"}}},
    ),
    Case(
        "clients in the operator's namespace",
        client(namespace="slinky"),
        "error",
        "clients.nb.namespace",
        ("operator's namespace", "service account"),
        {"clients": {"nb": {"namespace": "jupyter"}}},
    ),
    Case(
        "two clients that make one namespace",
        merged(client(), {"clients": {"ci": GOOD}}),
        "error",
        "clients.ci.createNamespace",
        ("clients.nb", "createNamespace: false"),
        {"clients": {"ci": {"createNamespace": False}}},
    ),
    Case(
        "an existing key that no pod of another namespace can mount",
        merged(client(createNamespace=False), of_others()),
        "error",
        "clients.nb.keyFrom",
        ("keys.source: existing", "another namespace", "jupyter"),
        {"clients": {"nb": {"keyFrom": {"secret": "theirs"}}}},
    ),
    Case(
        "a namespace that would take the Secret of others with it",
        merged(client(keyFrom={"secret": "theirs"}), of_others()),
        "error",
        "clients.nb.createNamespace",
        ("must be false", "pulumi destroy"),
        {"clients": {"nb": {"createNamespace": False}}},
    ),
    Case(
        "SlurmUser as a person, by number",
        client(people={"eve": {"uid": 401, "gid": 2001}}),
        "error",
        "clients.nb.people.eve",
        ("isn't a person", "control Slurm"),
        {"clients": {"nb": {"people": {"eve": {"uid": 2009}}}}},
    ),
    Case(
        "SlurmUser as a person, by name",
        client(people={"slurm": {"uid": 2009, "gid": 2009}}),
        "error",
        "clients.nb.people.slurm",
        ("isn't a person",),
        {"clients": {"nb": {"people": {"slurm": None}}}},
    ),
    Case(
        "a person who is of the sidecar's group",
        client(people={"eve": {"uid": 2009, "gid": 65030}}),
        "error",
        "clients.nb.people.eve",
        ("65030", "could read the key", "clients.nb.group"),
        {"clients": {"nb": {"group": 65031}}},
    ),
    Case(
        "two people with one number",
        client(people={"bob": {"uid": 2001, "gid": 2002}}),
        "error",
        "clients.nb.people.bob",
        ("uid of alice", "2001"),
        {"clients": {"nb": {"people": {"bob": {"uid": 2002}}}}},
    ),
    Case(
        "a pod of a person whom nothing names",
        client(deployment={"person": "eve"}),
        "error",
        "clients.nb.deployment.person",
        ("eve", "clients.nb.people", "uid and gid"),
        {"clients": {"nb": {"deployment": {"person": "alice"}}}},
    ),
    Case(
        "a client of a munge cluster without an image",
        minimal(
            keys={"auth": "auth/munge", "source": "imported"},
            controller={"external": {"host": "ctl.example.org"}},
            clients={"nb": GOOD},
        ),
        "error",
        "clients.nb.image",
        ("munged", "munge"),
        {"clients": {"nb": {"image": "munge:1"}}},
        frozenset({"mungeKey"}),
    ),
]
HUB: dict[str, Any] = {
    "image": "jupyter:1",
    "chart": {"version": "4.4.0"},
    "values": {"hub": {"config": {"JupyterHub": {"authenticator_class": "github"}}}},
}


def hub(**over: Any) -> dict[str, Any]:
    return client(jupyterhub=merged(HUB, over))


def cured(**over: Any) -> dict[str, Any]:
    return {"clients": {"nb": {"jupyterhub": over}}}


CLIENTS += [
    Case(
        "a hub without people",
        merged(hub(), {"clients": {"nb": {"people": {"alice": None}}}}),
        "error",
        "clients.nb.jupyterhub",
        ("no people", "clients.nb.people"),
        {"clients": {"nb": {"people": ALICE}}},
    ),
    Case(
        "a hub without an image for its notebooks",
        hub(image=None),
        "error",
        "clients.nb.jupyterhub.image",
        ("is needed", "Slurm's commands"),
        cured(image="jupyter:1"),
    ),
    Case(
        "a digest of a chart in a repository, which Helm compares with nothing",
        hub(chart={"digest": DIGEST}),
        "error",
        "clients.nb.jupyterhub.chart.digest",
        ("chart.oci", "helm push"),
        cured(chart={"oci": "oci://registry.example.org/jupyterhub"}),
    ),
    Case(
        "two digests of one chart",
        hub(chart={"oci": f"oci://registry.example.org/jupyterhub@{DIGEST}", "digest": DIGEST}),
        "error",
        "clients.nb.jupyterhub.chart.digest",
        ("once",),
        cured(chart={"digest": None}),
    ),
    Case(
        "a hub of whichever release",
        hub(chart={"version": None}),
        "error",
        "clients.nb.jupyterhub.chart.version",
        ("is needed",),
        cured(chart={"version": "4.4.0"}),
    ),
    Case(
        "a hub that lets anyone in as anyone",
        hub(values=None),
        "error",
        "clients.nb.jupyterhub.values",
        ("authenticator_class", "anyone", "Slurm"),
        cured(values=HUB["values"]),
    ),
    Case(
        "two hubs in one namespace",
        merged(hub(), {"clients": {"ci": GOOD | {"createNamespace": False, "jupyterhub": HUB}}}),
        "error",
        "clients.ci.jupyterhub",
        ("second hub", "namespace"),
        {"clients": {"ci": {"namespace": "other", "createNamespace": True}}},
    ),
    Case(
        "notebooks as jobs of a munge cluster",
        minimal(
            keys={"auth": "auth/munge", "source": "imported"},
            controller={"external": {"host": "ctl.example.org"}},
            clients={"nb": GOOD | {"image": "munge:1", "jupyterhub": HUB | {"spawn": "slurm"}}},
        ),
        "error",
        "clients.nb.jupyterhub.spawn",
        ("auth/slurm", "spawn: pod"),
        cured(spawn="pod"),
        frozenset({"mungeKey"}),
    ),
]
CLIENTS_TOLD = [
    Case(
        "a partition for notebooks that aren't jobs",
        hub(partition="gpu"),
        "warning",
        "clients.nb.jupyterhub.partition",
        ("ignored", "no notebook is a job"),
        cured(spawn="slurm"),
    ),
    Case(
        "nobody whom sackd knows",
        client(people={"alice": None}),
        "warning",
        "clients.nb.people",
        ("slurm_cred_create", "holds"),
        {"clients": {"nb": {"people": ALICE}}},
    ),
    Case(
        "a Secret that is named and made all the same",
        client(keyFrom={"secret": "theirs"}),
        "warning",
        "clients.nb.keyFrom",
        ("ignored", "makes the Secret itself"),
        {"clients": {"nb": {"keyFrom": None}}},
    ),
]
