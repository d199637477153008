"""One run of the credential plugin for a whole process, however much is asked: a cloud's takes half a second and more."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import preview
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import KubeUnreachable
from slinky_iac.preflight import notices
from tests.api_server import ApiServer
from tests.made.rows import NOW, node
from tests.unit.drain.model_session import settings
from tests.unit.preflight.made import stack
from tests.unit.slurmrest.fake import KEY, FakeSlurm, Ticks

SCALERS = (
    "apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers",
    "apis/keda.sh/v1alpha1/namespaces/slurm/scaledobjects",
)
AT = "2026-01-01T00:00:00Z"
PLUGIN = """#!/bin/sh
echo run >> {runs}
token="$(cat {token})"
until="$(cat {until})"
printf '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
printf '"status": {{"token": "%s"%s}}}}' "$token" "${{until:+, \\"expirationTimestamp\\": \\"$until\\"}}"
"""


class Plugin:
    """A credential plugin, and a record of its runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.runs, self.token, self.until = folder / "runs", folder / "token", folder / "until"
        self.command = folder / "plugin"
        self.gives("first")
        self.command.write_text(PLUGIN.format(runs=self.runs, token=self.token, until=self.until))
        self.command.chmod(0o755)

    def gives(self, token: str, until: float | None = None) -> None:
        self.token.write_text(token)
        self.until.write_text("" if until is None else datetime.fromtimestamp(until, UTC).isoformat())

    @property
    def count(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    @property
    def user(self) -> dict[str, Any]:
        return {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": str(self.command),
                "interactiveMode": "Never",
            }
        }


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """20 NodeSets of one pod each (more than there are threads), all nodes idle; it takes the plugin's first token."""
    slurm = FakeSlurm(ticks=Ticks(now=time.time() - NOW + 1000))
    server = ApiServer(slurm=slurm.handle, token="first")
    server.put("jwt", {"jwt.key": KEY}, at=AT)
    for index in range(20):
        slurm.add(node(f"g{index}-0"))
        name = f"hpc-worker-g{index}"
        server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets/{name}"] = {
            "metadata": {"name": name, "uid": name, "resourceVersion": "1", "generation": 1, "creationTimestamp": AT},
            "spec": {"replicas": 1, "controllerRef": {"name": "hpc"}},
            "status": {"replicas": 1, "selector": f"app.kubernetes.io/instance={name},app.kubernetes.io/name=slurmd"},
        }
    for path in ("api/v1/namespaces/slurm/pods", *SCALERS, "apis/slinky.slurm.net/v1beta1/controllers"):
        server.objects[f"/{path}"] = {"metadata": {}, "items": []}
    with server:
        yield server


def reach(kubeconfig: str) -> Reach:
    return Reach("slurm", "hpc-restapi", "jwt", "jwt.key", kubeconfig=kubeconfig)


def gate(kubeconfig: str, index: int) -> GateSettings:
    return settings(1, resource=f"hpc-worker-g{index}", reach=reach(kubeconfig))


def planned(kubeconfig: str, nodesets: int) -> None:
    """What one preview does in the process of the gates, in threads as the engine's calls come."""
    with ThreadPoolExecutor(16) as pool:
        made = pool.map(lambda index: preview.nodeset_scale(gate(kubeconfig, index), {"replicas": 1}), range(nodesets))
        assert [each.due for each in made] == [""] * nodesets


def test_a_gates_look_runs_the_plugin_once(api: ApiServer, plugin: Plugin, tmp_path: Path) -> None:
    kubeconfig = api.kubeconfig(tmp_path, plugin.user)
    with open_session(reach(kubeconfig), "") as session:
        seen = session.observe(gate(kubeconfig, 0))
    assert seen.problem == ""
    assert seen.cluster is not None
    assert plugin.count == 1


@pytest.mark.parametrize("nodesets", [1, 20])
def test_a_preview_runs_the_plugin_once_in_the_process_of_the_gates(
    api: ApiServer, plugin: Plugin, tmp_path: Path, nodesets: int
) -> None:
    planned(api.kubeconfig(tmp_path, plugin.user), nodesets)
    assert plugin.count == 1


@pytest.mark.parametrize("operator", ["1.0.2", "1.1.0"])
def test_the_notices_of_a_preview_run_the_plugin_once(api: ApiServer, plugin: Plugin, tmp_path: Path, operator: str) -> None:
    """Both halves of 1.0's questions and of newer ones: neighbours, older pods, the fence, Slurm."""
    kubeconfig = api.kubeconfig(tmp_path, plugin.user)
    config = stack(kubernetes={"kubeconfig": kubeconfig}, operator={"version": operator}, cluster={"fence": True})
    api.put("slurm-auth-jwths256", {"jwt_hs256.key": KEY}, at=AT)
    notices(config, os.environ, tmp_path)
    assert plugin.count == 1
    assert any("proxy" in path for path in api.asked)


def test_a_credential_that_is_over_is_asked_for_again_and_serves_all(api: ApiServer, plugin: Plugin, tmp_path: Path) -> None:
    """10 s before its end it is taken for over."""
    kubeconfig = api.kubeconfig(tmp_path, plugin.user)
    plugin.gives("first", until=time.time() + 9)
    with open_session(reach(kubeconfig), "") as session, pytest.raises(KubeUnreachable, match="already expired"):
        session.observe(gate(kubeconfig, 0))
    plugin.gives("first", until=time.time() + 3600)
    planned(kubeconfig, 4)
    assert plugin.count == 2


def test_a_credential_that_is_refused_is_asked_for_again_once_by_all(api: ApiServer, plugin: Plugin, tmp_path: Path) -> None:
    kubeconfig = api.kubeconfig(tmp_path, plugin.user)
    planned(kubeconfig, 1)
    api.token = "second"
    plugin.gives("second")
    planned(kubeconfig, 20)
    assert plugin.count == 2


def test_another_kubeconfig_has_another_credential(api: ApiServer, plugin: Plugin, tmp_path: Path) -> None:
    kubeconfig = api.kubeconfig(tmp_path, plugin.user)
    planned(kubeconfig, 1)
    api.kubeconfig(tmp_path, {"token": "first"})
    planned(kubeconfig, 1)
    assert plugin.count == 1
    api.kubeconfig(tmp_path, {**plugin.user, "exec": {**plugin.user["exec"], "args": ["--profile", "other"]}})
    planned(kubeconfig, 1)
    assert plugin.count == 2
