"""Each leaf of the configuration takes an Output or has a reason; and an Output makes what its value as text makes."""

from __future__ import annotations

import re
from typing import Any

import pulumi
import pytest
from pulumi import Output

from components.inputs import address
from components.program_parts import HybridCluster
from components.takes import by_type, fits, kind_of, leaves, reasons, takes, why_not
from components.ways import asks, way_of
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.fields import is_address
from slinky_iac.config.outputs import ADDRESS, COUNT, HOST, NAME
from slinky_iac.config.reading.load import load
from slinky_iac.selection import REQUIRED
from tests import parts
from tests.clusters import SECRETS
from tests.program import Recording, configured, run
from tests.unit.components.test_given_secrets import made_of
from tests.unit.components.test_program_parts import refused, unknown

LEAVES = dict(leaves())
TAKES = takes()
WITHOUT = tuple(pattern for patterns in reasons().values() for pattern in patterns)


def test_each_leaf_takes_an_output_or_has_one_reason_why_not() -> None:
    for leaf, annotation in LEAVES.items():
        taken, without = (any(fits(row, leaf) for row in rows) for rows in (TAKES, WITHOUT))
        by_kind = bool(by_type(leaf, annotation))
        assert taken or without or by_kind, leaf
        assert not (without and (taken or by_kind)), leaf
        assert not (taken and by_kind) or kind_of(leaf) == COUNT, leaf


def test_each_row_is_of_a_leaf() -> None:
    assert [row for row in (*TAKES, *WITHOUT) if not any(fits(leaf, row) for leaf in LEAVES)] == []
    assert len(LEAVES) > 400


@pytest.mark.parametrize("name", ["secret", "image", "host", "annotations"])
def test_what_another_resource_gives_in_one_place_it_gives_in_each(name: str) -> None:
    """Names of Secrets that others make, images, hosts and annotations."""
    ours = {"tokens.*.secret", "clients.*.jupyterhub.image"}  # a name that the operator gives, and one that is cut in two
    found = {leaf for leaf in LEAVES if leaf.removesuffix(".**").rpartition(".")[2] == name} - ours
    assert found
    assert [leaf for leaf in found if kind_of(leaf) is None] == []


AFFINITY = {
    REQUIRED[0]: {
        REQUIRED[1]: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["hpc"]}]}]}
    }
}
POD: dict[str, Any] = {
    "nodeSelector": {"pool": "hpc"},
    "affinity": AFFINITY,
    "tolerations": [{"key": "pool", "operator": "Equal", "value": "hpc", "effect": "NoSchedule"}],
    "priorityClass": "hpc",
    "annotations": {"example.org/security-group.id": "sg-1"},
    "labels": {"example.org/group": "hpc"},
}
SERVICE = {"type": "LoadBalancer", "annotations": {"service.beta.kubernetes.io/subnets": "subnet-1,subnet-2"}}
VOLUMES = [{"name": "home", "mountPath": "/home", "source": {"nfs": {"server": "nfs.example.org", "path": "/home"}}}]
WORKERS: dict[str, Any] = {
    "image": "r.example.org/slurmd:1",
    "pod": POD,
    "volumes": VOLUMES,
    "env": {"SITE": "north"},
    "ssh": {"enabled": True, "sssdConfFrom": {"secret": "sssd-workers"}},
}
LOGIN: dict[str, Any] = {
    "image": "r.example.org/login:1",
    "pod": POD,
    "volumes": VOLUMES,
    "service": SERVICE,
    "sssdConfFrom": {"secret": "sssd-logins"},
    "rootAuthorizedKeys": "ssh-ed25519 AAAA root",
}
PEERS = [{"cidr": "10.1.0.0/16"}, {"namespace": "portal", "pods": {"app": "portal"}}]
DAEMONS = ("slurmctld", "slurmdbd", "slurmrestd")
INSIDE: dict[str, Any] = {
    "cluster": {
        "createNamespace": False,
        "images": {name: f"r.example.org/{name}:1" for name in (*DAEMONS, "slurmd", "login", "sidecar")}
        | {"pullSecrets": ["registry"]},
    },
    "keys": {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}},
    "controller": {"service": SERVICE, "pod": POD, "persistence": {"storageClass": "fast.example.org"}},
    "accounting": {
        "service": SERVICE,
        "pod": POD,
        "database": {
            "host": "db.example.org",
            "name": "slurm",
            "username": "slurmdbd",
            "passwordFrom": {"secret": "database"},
            "tls": {"caSecret": "database-ca", "clientSecret": "database-client"},
        },
    },
    "restapi": {
        "service": SERVICE,
        "pod": POD,
        "tls": {
            "source": "existing",
            "secret": "slurmrestd-tls",
            "clientCaSecret": "clients-ca",
            "image": "r.example.org/proxy:1",
            "service": SERVICE,
        },
    },
    "nodesets": {"gpu": {"replicas": 2, **WORKERS}},
    "logins": {"main": LOGIN},
    "slurmrest": {
        "url": "https://desk.example.org",
        "clientCertFile": "/nowhere/tls.crt",
        "clientKeyFile": "/nowhere/tls.key",
    },
}
AROUND: dict[str, Any] = {
    "cluster": {"createNamespace": False},
    "keys": {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}},
    "controller": {"persistence": {"existingClaim": "state"}},
    "accounting": {"enabled": False},
    "identity": {"sssd": {"confFrom": {"secret": "sssd"}, "image": "r.example.org/sssd:1"}},
    "slurmrest": {"url": "https://slurmrestd.example.org"},
    "nodesets": {"gpu": {"replicas": 2}},
    "clients": {
        "jupyter": {
            "namespace": "notebooks",
            "createNamespace": False,
            "image": "r.example.org/client:1",
            "keyFrom": {"secret": "slurm-key"},
            "people": {"alice": {"uid": 20001, "gid": 20001, "home": "/home/alice"}},
            "deployment": {"person": "alice", "image": "r.example.org/desk:1"},
        },
        "hub": {
            "namespace": "hub",
            "createNamespace": False,
            "keyFrom": {"secret": "slurm-key"},
            "people": {"alice": {"uid": 20001, "gid": 20001, "home": "/home/alice"}},
            "jupyterhub": {
                "chart": {"version": "4.4.0"},
                "image": "r.example.org/hub:1",
                "values": {"hub": {"config": {"JupyterHub": {"authenticator_class": "github"}}}},
            },
        },
    },
    "external": {
        "slurmdHosts": [{"name": "metal-1", "address": "10.0.0.7"}],
        "loginHosts": [{"name": "login-1", "address": "10.0.0.8"}, {"name": "desk-1.example.org"}],
    },
    "networkPolicies": {
        "enabled": True,
        "apiServer": PEERS,
        "nodes": ["10.2.0.0/16"],
        "addresses": {"desk-1.example.org": ["10.3.0.1/32"]},
        "clients": {name: PEERS for name in (*DAEMONS, "slurmd", "login", "operator")},
        "egress": {
            "parts": [*DAEMONS, "slurmd"],
            "blocked": ["10.4.0.0/16"],
            **{name: PEERS for name in ("dns", "database", *DAEMONS)},
        },
    },
    **parts.given("GIVEN"),
}
OUTSIDE: dict[str, Any] = {
    "cluster": {"createNamespace": False},
    "keys": INSIDE["keys"],
    "controller": {"external": {"host": "slurmctld.example.org", "backups": ["10.0.0.6"]}},
    "accounting": {"external": {"host": "10.0.0.9"}},
    "restapi": {"tls": {"source": "cert-manager", "issuer": {"name": "site"}}},
    "external": {"slurmrestd": {"url": "https://portal.example.org:6820"}},
    "nodesetDefaults": WORKERS,
    "nodesets": {"gpu": {"replicas": 2}},
    "loginDefaults": LOGIN,
    "logins": {"main": {}},
    **parts.given("GIVEN_OUTSIDE"),
}
MUNGE: dict[str, Any] = {
    "cluster": {"createNamespace": False},
    "keys": {"auth": "auth/munge", "source": "existing"},
    "munge": {"image": "r.example.org/client:1", "keyFrom": {"secret": "munge"}},
    "controller": {"external": {"host": "slurmctld.example.org"}},
    "accounting": {"enabled": False},
}
STACKS = (INSIDE, AROUND, OUTSIDE, MUNGE)
OWN = ("cluster", "operator", "keys", "controller", "accounting", "restapi", "nodesets", "logins", "identity", "external")


def cluster(sections: dict[str, Any], *, preview: bool = False) -> Recording:
    arguments = {name: each for name, each in sections.items() if name in OWN}
    more = {name: each for name, each in sections.items() if name not in OWN}
    with configured({}, {"databasePassword": SECRETS["databasePassword"]} if "password" in sections else {}):
        return run(lambda: HybridCluster("atlas", **arguments, more=more), preview=preview)


def as_outputs(value: Any, path: str, met: set[str]) -> Any:
    """The sections with an Output wherever one can be; ``met``: the rows that were used."""
    if isinstance(value, dict):
        return {name: as_outputs(each, f"{path}.{name}".lstrip("."), met) for name, each in value.items()}
    if isinstance(value, list):
        return [as_outputs(each, f"{path}.{number}", met) for number, each in enumerate(value)]
    kind = kind_of(path)
    if kind is None:
        return value
    met |= {row for row in TAKES if fits(row, path)}
    output = Output.from_input(value)
    return address(output) if kind in (HOST, NAME, ADDRESS) and is_address(value) else output


@pytest.mark.parametrize("sections", STACKS)
def test_an_output_makes_what_its_value_as_text_makes(sections: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """In every resource: no digest, hook or line is made of a placeholder, and no message has one."""
    one = cluster(sections)
    caplog.set_level("INFO")
    other = cluster(as_outputs(sections, "", set()))
    said = " ".join(each.getMessage() for each in caplog.records)
    assert not re.search(r"slinky-?output|192\.0\.2\.1|198\.18\.1", said)
    assert without_order(made_of(one)) == without_order(made_of(other))
    own = {urn: each for urn, each in one.outputs.items() if "pulumi:pulumi:Stack" not in urn}
    assert without_order(own) == without_order(other.outputs)


def without_order(made: dict[str, Any]) -> dict[str, Any]:
    """Images of the blueprint are a set, written in the order of placeholders."""
    for each in made.values():
        if images := each.get("document", {}).get("images"):
            images.sort()
    return made


def test_each_row_is_tried() -> None:
    met: set[str] = set()
    for each in STACKS:
        as_outputs(each, "", met)
    assert set(TAKES) - met == set()


TWO_KEYS: dict[str, Any] = {
    **MUNGE,
    "keys": {
        "source": "existing",
        "slurmKeyFrom": {"secret": Output.from_input("one"), "key": "key"},
        "jwtKeyFrom": {"secret": Output.from_input("one"), "key": "key"},
    },
    "munge": {},
}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({**AROUND, "slurmrest": {"url": Output.from_input("http://far.example.org")}}, "slurmrest.url"),
        (TWO_KEYS, "keys: both keys are the same entry of the same Secret"),
        ({**MUNGE, "munge": {"image": Output.from_input("no image"), "keyFrom": {"secret": "a"}}}, "must be an image"),
        (
            {**MUNGE, "munge": {"image": "a.example.org/b:1", "keyFrom": {"secret": Output.from_input("a.b")}}},
            "munge.keyFrom",
        ),
    ],
)
def test_a_value_that_a_file_would_be_refused_for_ends_the_program(sections: dict[str, Any], said: str) -> None:
    """Also where it is wrong only together with another one."""
    with pytest.raises(pulumi.RunError) as ended:
        cluster(sections)
    assert said in str(ended.value)
    assert "slinky-output" not in str(ended.value)


def test_a_secret_value_is_not_in_the_refusal() -> None:
    sections = {**AROUND, "slurmrest": {"url": Output.secret("http://hidden.example.org")}}
    with pytest.raises(pulumi.RunError, match="not shown, since one of these Outputs is secret") as ended:
        cluster(sections)
    assert "hidden" not in str(ended.value)


def test_messages_have_no_placeholder() -> None:
    portal = {"slurmrestd": {"url": Output.from_input("https://portal.example.org")}}
    policies = {"networkPolicies": {"enabled": True, "apiServer": PEERS, "nodes": []}}
    said = refused(lambda: HybridCluster("atlas", accounting={"enabled": False}, external=portal, more=policies))
    assert "(the Output at external.slurmrestd.url)" in said
    assert "slinky-output" not in said


def test_warnings_have_none_either(caplog: pytest.LogCaptureFixture) -> None:
    logins = {"main": {"sssdConfFrom": {"secret": Output.from_input("sssd")}}}
    cluster({"accounting": {"enabled": False}, "logins": logins, "nodesets": {"gpu": {"replicas": 1}}})
    said = [each.getMessage() for each in caplog.records if "namespace-of-others" in each.getMessage()]
    assert "(the Output at logins.main.sssdConfFrom.secret)" in said[0]
    assert "slinky-output" not in said[0]


def test_a_secret_that_the_cluster_makes_has_a_name_that_is_known() -> None:
    keys = {"source": "imported", "slurm_key_from": {"secret": Output.from_input("a")}}
    said = refused(lambda: HybridCluster("atlas", accounting={"enabled": False}, keys=keys))
    assert "keys.slurmKeyFrom.secret: can't be an Output with keys.source: imported" in said


@pytest.mark.parametrize("path", ["nodesets.gpu.features.0", "drain.deadline", "kubernetes.context", "nodesets.gpu.owner"])
def test_one_that_takes_none_says_why(path: str) -> None:
    section, *rest = path.split(".")
    value: Any = Output.from_input("a")
    for name in reversed(rest):
        value = [value] if name.isdigit() else {name: value}
    said = refused(lambda: HybridCluster("atlas", **{section: value}))
    assert f"{path}: can't be an Output: {why_not(path)}" in said
    if path == "kubernetes.context":
        assert "a file and a context are named (`slinky docs own-repository 'One connection'`)" in said


@pytest.mark.parametrize(
    ("number", "more", "said"),
    [
        (1100, {}, "cluster.maxNodeCount"),
        (-1, {}, "must be a whole number from 0"),
        ("2", {}, "is the text '2'"),
        (9, {"owner": "autoscaler", "maxReplicas": 4}, "maxReplicas"),
    ],
)
def test_a_number_of_nodes_is_judged_when_it_is_known(number: object, more: dict[str, Any], said: str) -> None:
    nodesets = {"gpu": {"replicas": Output.from_input(number), **more}}
    with pytest.raises(pulumi.RunError, match=said):
        cluster({"accounting": {"enabled": False}, "nodesets": nodesets})


def test_a_number_that_is_not_known_is_said_and_smoke_jobs_need_names(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    number = {"gpu": {"replicas": Output[int](set(), never(), false())}}
    recording = cluster({"accounting": {"enabled": False}, "nodesets": number}, preview=True)
    assert recording.one("NodeSetScale").inputs["replicas"] not in (0, 1)
    said = [each.getMessage() for each in caplog.records if "not known in this preview" in each.getMessage()]
    assert "nodesets.gpu.replicas" in said[0]
    smoke = {"accounting": {"enabled": False}, "more": {"smoke": {"enabled": True, "user": "alice"}}}
    one = {"gpu": {"replicas": Output.from_input(1)}}
    assert "smoke.partitions: is needed" in refused(lambda: HybridCluster("atlas", nodesets=one, **smoke))


async def never() -> Any:
    return None


async def false() -> bool:
    return False


def test_a_hook_that_cannot_ask_says_so_and_never_that_nothing_runs() -> None:
    keys = {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}
    config = load({"cluster": {"name": "a"}, "accounting": {"enabled": False}, "keys": keys})
    asked: list[str] = []

    def look(way: Reach) -> str:
        asked.append(way.jwt_secret)
        return ""

    def given(output: Output[str]) -> str:
        found: list[str] = []

        async def ask() -> None:
            filled = {"b": output}
            way = way_of(config, lambda props: {key: filled.get(value, value) for key, value in props.items()})
            found.append(await asks(way, look)())

        run(lambda: pulumi.export("asked", Output.from_input(ask())))
        return found[0]

    assert given(Output.from_input("tokens")) == ""
    assert asked == ["tokens"]
    assert "isn't known, because an Output that leads to slurmrestd isn't known yet" in given(unknown())
    assert asked == ["tokens"]


def test_a_misspelled_name_over_an_output_is_said_to_be_that_and_hides_no_other_error() -> None:
    service = {"anotations": {"subnet": Output.from_input("subnet-1")}}
    said = refused(
        lambda: HybridCluster(
            "atlas",
            accounting={"enabled": False},
            restapi={"service": service},
            nodesets={"gpu": {"replicas": 1, "resources": {"cpu": 16}}},
        )
    )
    assert "restapi.service.anotations: is not a setting" in said
    assert "nodesets.gpu.resources.cpu: is not a setting" in said
    assert "can't be an Output" not in said


def test_a_refusal_by_values_names_the_outputs_that_gave_them() -> None:
    nodesets = {"gpu": {"replicas": Output.from_input(1100)}}
    with pytest.raises(pulumi.RunError) as ended:
        cluster({"accounting": {"enabled": False}, "nodesets": nodesets})
    assert "): with what the Outputs at nodesets.gpu.replicas give, the settings are refused: " in str(ended.value)
