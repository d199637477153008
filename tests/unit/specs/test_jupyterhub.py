"""The hub's values: each notebook is its person's, in both ways of spawning, and there is no key in them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.clients import client_pod
from slinky_iac.specs.jupyterhub import REPOSITORY, chart, hub_role_rules, hub_values
from tests.clusters import all_traces, recorded
from tests.stacks import ROOT, SECRETS, merged, sections
from tests.unit.config.rule_cases_clients import HUB

PEOPLE = {"alice": {"uid": 20001, "gid": 20000}, "bob": {"uid": 2002, "gid": 2002}}
CLIENT: dict[str, Any] = {"namespace": "notebooks", "people": PEOPLE, "jupyterhub": HUB}


def config(**hub: Any) -> StackConfig:
    data = merged(sections(ROOT / "Pulumi.dev.yaml"), {"clients": {"nb": merged(CLIENT, {"jupyterhub": hub})}})
    found = load(data)
    require_sound(findings(found, SECRETS))
    return found


def values(**hub: Any) -> dict[str, Any]:
    found = config(**hub)
    client = found.clients["nb"]
    assert client.jupyterhub is not None
    return hub_values(found, "nb", client, client.jupyterhub)


def pieces() -> dict[str, Any]:
    found = config()
    return client_pod(found, "nb", found.clients["nb"])


def test_a_notebook_pod_has_the_pieces_of_the_client() -> None:
    user = values()["singleuser"]
    assert user["initContainers"] == pieces()["initContainers"]
    assert user["storage"] == {"extraVolumes": pieces()["volumes"], "extraVolumeMounts": pieces()["volumeMounts"]}
    assert user["fsGid"] == 65030
    assert user["allowPrivilegeEscalation"] is False
    assert user["image"] == {"name": "jupyter", "tag": "1", "pullPolicy": "Never"}
    assert user["extraEnv"] == {"SBATCH_EXPORT": "NIL"}, "its environment has the hub's token"
    assert "initContainers" not in values()["hub"], "the hub itself isn't a client then"


def done(spawned: Coroutine[Any, Any, None]) -> None:
    """Run it, and leave the thread's own event loop alone, which pulumi's tests use."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(spawned)
    finally:
        loop.close()


def hooked() -> Any:
    c = SimpleNamespace(KubeSpawner=SimpleNamespace())
    exec(values()["hub"]["extraConfig"]["slurm"], {"c": c})
    return c.KubeSpawner.pre_spawn_hook


def test_the_hub_gives_a_notebook_both_numbers_of_its_person() -> None:
    spawner = SimpleNamespace(user=SimpleNamespace(name="alice"))
    done(hooked()(spawner))
    assert (spawner.uid, spawner.gid) == (20001, 20000)


@pytest.mark.parametrize("name", ["root", "slurm", "eve"])
def test_whoever_is_not_among_the_people_gets_no_notebook(name: str) -> None:
    with pytest.raises(PermissionError, match="not among the people"):
        done(hooked()(SimpleNamespace(user=SimpleNamespace(name=name))))
    assert values()["hub"]["config"]["Authenticator"] == {"allowed_users": ["alice", "bob"]}


@pytest.fixture
def batchspawner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As much of batchspawner and traitlets as the hub's settings name."""
    spawner, traits = ModuleType("batchspawner"), ModuleType("traitlets")
    spawner.SlurmSpawner = type("SlurmSpawner", (), {})  # type: ignore[attr-defined]
    traits.Unicode = lambda *_: None  # type: ignore[attr-defined]
    traits.default = lambda _: lambda method: method  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "batchspawner", spawner)
    monkeypatch.setitem(sys.modules, "traitlets", traits)
    c = SimpleNamespace(JupyterHub=SimpleNamespace(), SlurmPerson=SimpleNamespace(), Spawner=SimpleNamespace())
    found = values(spawn="slurm", partition="gpu", options='--mem=4G --comment="a b"')
    exec(found["hub"]["extraConfig"]["slurm"], {"c": c, "__name__": "hub"})
    return c


def test_a_notebook_as_a_job_is_submitted_as_its_person(batchspawner: Any) -> None:
    spawner = batchspawner.JupyterHub.spawner_class()
    spawner.user = SimpleNamespace(name="alice")
    assert (spawner._uid(), spawner._gid()) == ("20001", "20000")
    assert batchspawner.SlurmPerson.exec_prefix == "setpriv --reuid={uid} --regid={gid} --clear-groups --"
    assert batchspawner.SlurmPerson.req_partition == "gpu"
    assert batchspawner.SlurmPerson.req_options == '--mem=4G --comment="a b"'
    assert batchspawner.JupyterHub.hub_connect_url == "http://hub.notebooks.svc:8081"
    spawner.user = SimpleNamespace(name="eve")
    with pytest.raises(PermissionError):
        spawner._uid()


def test_the_hub_of_jobs_is_the_client_and_may_become_its_people_and_no_more() -> None:
    hub = values(spawn="slurm")["hub"]
    assert hub["initContainers"] == pieces()["initContainers"]
    assert hub["extraVolumes"] == pieces()["volumes"]
    assert hub["extraVolumeMounts"] == pieces()["volumeMounts"], "never the key"
    security = hub["containerSecurityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["SETUID", "SETGID"]}
    assert security["allowPrivilegeEscalation"] is False
    assert "initContainers" not in values(spawn="slurm")["singleuser"]


@pytest.mark.parametrize("spawn", ["pod", "slurm"])
def test_the_hubs_role_has_no_secrets_and_the_charts_own_is_not_made(spawn: str) -> None:
    found = values(spawn=spawn)
    assert found["rbac"] == {"create": False}
    assert found["hub"]["serviceAccount"] == {"create": False, "name": "slurm-hub"}
    assert {resource for rule in hub_role_rules() for resource in rule["resources"]} == {
        "pods",
        "persistentvolumeclaims",
        "events",
    }


def test_a_sites_values_are_merged_over_ours() -> None:
    found = values(values={"singleuser": {"memory": {"limit": "4G"}}})
    assert found["singleuser"]["memory"] == {"limit": "4G"}
    assert found["singleuser"]["initContainers"] == pieces()["initContainers"]
    assert found["hub"]["config"]["JupyterHub"] == {"admin_access": False, "authenticator_class": "github"}


def test_a_sites_volumes_stand_beside_the_sidecars() -> None:
    home = {"name": "home", "emptyDir": {}}
    found = values(values={"singleuser": {"storage": {"extraVolumes": [home], "type": "none"}}})["singleuser"]
    assert found["storage"]["extraVolumes"] == [*pieces()["volumes"], home]
    assert found["storage"]["extraVolumeMounts"] == pieces()["volumeMounts"]
    assert found["storage"]["type"] == "none"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("jupyterhub", REPOSITORY, "4.4.0")),
        ({"repo": "https://charts.example.org"}, ("jupyterhub", "https://charts.example.org", "4.4.0")),
        ({"oci": "oci://charts.example.org/jupyterhub"}, ("oci://charts.example.org/jupyterhub", None, "4.4.0")),
        (
            {"oci": "oci://charts.example.org/jupyterhub", "digest": f"sha256:{'0' * 64}"},
            (f"oci://charts.example.org/jupyterhub@sha256:{'0' * 64}", None, "4.4.0"),
        ),
        ({"path": "charts/jupyterhub", "version": None}, ("charts/jupyterhub", None, None)),
    ],
)
def test_the_chart_comes_from_where_the_site_says(given: dict[str, Any], expected: tuple[str | None, ...]) -> None:
    hub = config(chart=given).clients["nb"].jupyterhub
    assert hub is not None
    assert chart(hub.chart) == expected


@pytest.mark.parametrize("spawn", ["pod", "slurm"])
def test_a_stack_deploys_the_hub_and_hides_the_key_from_it(spawn: str) -> None:
    made = recorded("dev", clients={"nb": merged(CLIENT, {"jupyterhub": {"spawn": spawn}})})
    (release,) = [each for each in made.resources if each.name == "lab-client-nb-hub"]
    assert release.type == "kubernetes:helm.sh/v3:Release"
    assert (release.inputs["namespace"], release.inputs["version"]) == ("notebooks", "4.4.0")
    assert [trace for trace in all_traces() if trace in str(release.inputs)] == []
    assert "hub-binding" in str([each.name for each in made.resources])
