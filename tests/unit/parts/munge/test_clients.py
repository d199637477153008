"""Clients of a munge cluster: who may see the key, what slurm.conf they read, what is refused and how to move on."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.munge.clients import client_pod, client_slurm_conf
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from tests.clusters import MUNGE, RAW_KEYS, recorded, stack_sections, traces
from tests.program import Secret
from tests.stacks import ROOT, merged

KEY = frozenset({"mungeKey"})


def munge(**over: Any) -> dict[str, Any]:
    return merged(stack_sections(MUNGE), over)


def config(**over: Any) -> StackConfig:
    return load(munge(**over))


def told(data: dict[str, Any], level: Level = Level.ERROR, secrets: frozenset[str] = KEY) -> dict[str, str]:
    return {each.path: each.message for each in findings(load(data), secrets) if each.level is level}


def test_the_example_is_sound_whatever_the_clusters_release() -> None:
    assert told(munge()) == {}
    assert told(munge(), Level.WARNING) == {}


@pytest.mark.parametrize(
    "over",
    [
        {"nodesets": {"gpu": {"replicas": 1}}},
        {"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}}},
        {"controller": {"external": None}},
    ],
)
def test_what_slinky_runs_cannot_be_of_a_munge_cluster_and_the_way_out_is_told(over: dict[str, Any]) -> None:
    said = told(munge(**over))["keys.auth"]
    assert "without munged" in said
    for step in ("/etc/slurm/slurm.key", "drain", "AuthType=auth/slurm", "CredType=cred/slurm", "keys.auth: auth/slurm"):
        assert step in said


@pytest.mark.parametrize(
    ("over", "path", "words"),
    [
        ({"keys": {"source": "generated"}}, "keys.source", "mungeKey"),
        ({"keys": {"source": "existing"}}, "munge.keyFrom", "keys.source: existing"),
        ({"munge": {"image": None}}, "munge.image", "munged"),
        ({"accounting": {"external": None, "database": {"host": "db"}}}, "accounting", "outside"),
        ({"external": {"slurmdHosts": [{"name": "m1"}]}}, "external.slurmdHosts", "slurmrestd"),
    ],
)
def test_other_faults_are_told_where_they_stand(over: dict[str, Any], path: str, words: str) -> None:
    assert words in told(munge(**over), secrets=KEY | {"databasePassword"})[path]


def test_a_key_that_is_not_set_is_told_with_the_command() -> None:
    assert "pulumi config set --secret slinky-iac:mungeKey" in told(munge(), secrets=frozenset())["keys.source"]
    assert "slurmKey" not in str(told(munge(), secrets=frozenset()))


def test_settings_without_effect_are_told() -> None:
    more = {"operator": {"version": "1.2.1"}, "restapi": {"replicas": 2}, "partitions": {}, "drain": {"deadline": "1h"}}
    assert set(told(munge(**more), Level.WARNING)) >= {"operator", "restapi", "partitions", "drain"}
    slurm = {"cluster": {"name": "a"}, "accounting": {"enabled": False}, "munge": {"image": "x:1"}}
    assert "auth/slurm" in told(slurm, Level.WARNING)["munge"]


def test_only_the_sidecar_sees_the_key() -> None:
    pod = client_pod(config())
    (sidecar,) = pod["initContainers"]
    assert sidecar["restartPolicy"] == "Always", "a sidecar lives as long as the pod"
    own = {mount["name"] for mount in sidecar["volumeMounts"]}
    users = {mount["name"] for mount in pod["volumeMounts"]}
    assert own & users == {"munge-socket"}
    (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    assert secret == {
        "secretName": "slurm-auth-munge",
        "defaultMode": 0o400,
        "items": [{"key": "munge.key", "path": "munge.key"}],
    }
    assert own | users == {volume["name"] for volume in pod["volumes"]}


def test_the_sidecar_is_what_the_strictest_pod_security_admits() -> None:
    """Pod Security Standards, level restricted."""
    (sidecar,) = client_pod(config(munge={"user": 4711}))["initContainers"]
    security = sidecar["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (4711, 4711, True)
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert client_pod(config(munge={"user": 4711}))["securityContext"] == {"fsGroup": 4711}, "or it couldn't read the Secret"


def test_an_existing_secret_is_mounted_under_the_name_that_munged_reads() -> None:
    pod = client_pod(config(keys={"source": "existing"}, munge={"keyFrom": {"secret": "theirs", "key": "key"}}))
    (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    assert (secret["secretName"], secret["items"]) == ("theirs", [{"key": "key", "path": "munge.key"}])


def test_slurm_conf_of_the_clients() -> None:
    assert client_slurm_conf(config()).splitlines() == [
        "ClusterName=atlas",
        "SlurmUser=slurm",
        "SlurmctldHost=slurmctld.example.org",
        "SlurmctldPort=6817",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=slurmdbd.example.org",
        "AccountingStoragePort=6819",
    ]
    assert "SlurmUser=hpcadmin" in client_slurm_conf(config(munge={"slurmUser": "hpcadmin"})).splitlines()
    none = config(accounting={"enabled": False, "external": None})
    assert "Accounting" not in client_slurm_conf(none)
    assert client_slurm_conf(config(munge={"slurmConf": "ClusterName=own\n"})) == "ClusterName=own\n"
    assert "auth/munge" in outside_slurm_conf(config())


def test_the_stack_makes_the_secret_and_the_config_map_and_nothing_of_slinky() -> None:
    made = recorded(MUNGE)
    kinds = sorted(each.type for each in made.resources if each.type.startswith("kubernetes:"))
    assert kinds == ["kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Namespace", "kubernetes:core/v1:Secret"]
    (secret,) = made.of("kubernetes:core/v1:Secret")
    assert secret.inputs["metadata"]["name"] == "slurm-auth-munge"
    assert secret.inputs["immutable"] is True
    assert secret.protect is True
    data = secret.inputs["data"]
    assert isinstance(data, Secret) or isinstance(data["munge.key"], Secret)


def test_an_existing_key_is_not_made() -> None:
    made = recorded(
        MUNGE,
        keys={"source": "existing"},
        munge={"keyFrom": {"secret": "theirs"}},
        cluster={"createNamespace": False},
    )
    assert made.of("kubernetes:core/v1:Secret") == []


def test_outputs_say_the_fingerprint_and_the_pod_and_no_key() -> None:
    made = recorded(MUNGE)
    (cluster,) = made.of("slinky:slurm:HybridCluster")
    outputs = made.outputs[cluster.urn]
    assert outputs["munge_key_fingerprint"].startswith("SHA256:")
    assert outputs["munge_client_pod"]["securityContext"] == {"fsGroup": 65030}
    assert (outputs["slurmrestd_url"], outputs["nodesets"]) == ("", {})
    assert [trace for trace in traces(RAW_KEYS[0]) if trace in str(outputs)] == []


def test_the_worked_pod_has_exactly_the_pieces_of_the_example_stack() -> None:
    pod = yaml.safe_load((ROOT / "examples" / "jupyter" / "pod.yaml").read_text())["spec"]
    pieces = client_pod(config())
    assert {name: pod[name] for name in ("securityContext", "initContainers", "volumes")} == {
        name: pieces[name] for name in ("securityContext", "initContainers", "volumes")
    }
    (notebook,) = pod["containers"]
    assert notebook["volumeMounts"] == pieces["volumeMounts"]
    security = notebook["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["allowPrivilegeEscalation"] is False, "root in the pod could be any user of the cluster"
    assert security["runAsUser"] != pieces["securityContext"]["fsGroup"]


HUB = yaml.safe_load((ROOT / "examples" / "jupyter" / "jupyterhub-values.yaml").read_text())


def spawned(person: str, number: int, group: int) -> SimpleNamespace:
    """What the example's hub makes of a person's pod; ``number`` and ``group`` are what its directory says."""
    hub: dict[str, Any] = {"c": SimpleNamespace(KubeSpawner=SimpleNamespace())}
    exec(HUB["hub"]["extraConfig"]["slurm-user"], hub)
    entry = SimpleNamespace(pw_name=person, pw_uid=number, pw_gid=group)
    hub["pwd"] = SimpleNamespace(getpwnam={person: entry}.__getitem__)
    spawner = SimpleNamespace(user=SimpleNamespace(name=person))
    asyncio.run(hub["c"].KubeSpawner.pre_spawn_hook(spawner))
    return spawner


def test_the_hubs_values_have_the_same_pieces() -> None:
    user, pieces = HUB["singleuser"], client_pod(config())
    assert user["initContainers"] == pieces["initContainers"]
    assert user["storage"] == {"extraVolumes": pieces["volumes"], "extraVolumeMounts": pieces["volumeMounts"]}
    assert user["fsGid"] == pieces["securityContext"]["fsGroup"]
    assert user["allowPrivilegeEscalation"] is False


def test_the_hubs_pods_may_reach_the_slurm_daemons_that_slurm_conf_names() -> None:
    (rule,) = HUB["singleuser"]["networkPolicy"]["egress"]
    lines = [line.partition("=") for line in client_slurm_conf(config()).splitlines()]
    ports = {int(value) for name, _, value in lines if name in ("SlurmctldPort", "AccountingStoragePort")}
    assert {each["port"] for each in rule["ports"]} == ports


def test_jobs_get_nothing_of_a_notebooks_environment() -> None:
    (notebook,) = yaml.safe_load((ROOT / "examples" / "jupyter" / "pod.yaml").read_text())["spec"]["containers"]
    wanted = {"SBATCH_EXPORT": "SRUN_EXPORT_ENV", "SRUN_EXPORT_ENV": "ALL"}  # NONE alone would leave steps without a PATH
    assert {each["name"]: each["value"] for each in notebook["env"]} == wanted
    assert HUB["singleuser"]["extraEnv"] == wanted


def test_the_hub_gives_a_pod_both_numbers_of_its_owner() -> None:
    alice = spawned("alice", 20001, 20000)
    assert (alice.uid, alice.gid) == (20001, 20000)


def test_the_hub_and_its_notebooks_know_the_same_people_by_the_same_numbers() -> None:
    """The hub's image knows nobody, and without names jupyterlab-slurm shows a person no job of theirs."""
    hub, notebooks = (HUB[part]["extraFiles"]["people"] for part in ("hub", "singleuser"))
    assert hub == notebooks
    assert hub["mountPath"] == "/etc/passwd"
    people = {line.split(":")[0]: line.split(":")[2:4] for line in hub["stringData"].splitlines()}
    (notebook,) = yaml.safe_load((ROOT / "examples" / "jupyter" / "pod.yaml").read_text())["spec"]["containers"]
    alice = [str(notebook["securityContext"][each]) for each in ("runAsUser", "runAsGroup")]
    assert people["alice"] == alice
    assert people["jovyan"] == ["1000", "1000"], "the user that the chart's hub runs as"
    assert config().munge.slurm_user in people, "or every command of Slurm ends with `Invalid user for SlurmUser`"


@pytest.mark.parametrize(("name", "number"), [("root", 0), ("slurm", 401), ("jovyan", 1000)])
def test_the_hub_makes_no_pod_of_an_account_that_rules_slurm(name: str, number: int) -> None:
    with pytest.raises(PermissionError, match="isn't a person"):
        spawned(name, number, number)
