"""The node table on a real API server: labels by server-side apply, a conflict that is named, and only what is ours goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi, served
from tests.stacks import ROOT

PREFIX = "slurm.example.org"
OTHERS = "example.org/rack"
PROGRAM = """
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {root!r})
    import pulumi
    from pulumi_kubernetes import Provider
    from components.node_table import NodeTable, NodeTableArgs
    from slinky_iac.config.load import load

    kube = Provider("kube", kubeconfig={kubeconfig!r})
    NodeTable("nodes", NodeTableArgs(config=load({{"cluster": {{"name": "c"}}, "nodes": {nodes!r}}})),
              pulumi.ResourceOptions(providers=[kube]))
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        yield made


def write(project: Project, api: KubeApi, *rows: dict[str, object]) -> None:
    nodes = {"prefix": PREFIX, "table": list(rows)}
    project.write(main=PROGRAM.format(root=str(ROOT), kubeconfig=str(api.kubeconfig), nodes=nodes))


def own(api: KubeApi, node: str) -> dict[str, str]:
    """Labels of the table on a node, without their prefix."""
    labels = api.node(node)["labels"]
    return {key.removeprefix(f"{PREFIX}/"): value for key, value in labels.items() if key.startswith(PREFIX)}


def test_labels_are_set_kept_apart_from_others_and_taken_back(
    project: Project, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    api.make_nodes("worker-1", "worker-2", "worker-3")
    row = {"names": ["worker-[1-2]"], "features": ["ib"], "labels": {"cuda": "12.6"}, "topology": "topo-switch:s1"}
    write(project, api, row)
    project.up()
    assert [own(api, name) for name in ("worker-1", "worker-2", "worker-3")] == [{"ib": "true", "cuda": "12.6"}] * 2 + [{}]
    meta = api.node("worker-1")
    assert meta["annotations"]["topology.slinky.slurm.net/spec"] == "topo-switch:s1"
    managers = {each["manager"] for each in meta["managedFields"] if f"f:{PREFIX}/ib" in str(each["fieldsV1"])}
    assert managers == {"slinky-iac-test"}

    api.kubectl("label", "node", "worker-2", f"{PREFIX}/cuda=13", "--overwrite")
    write(project, api, row | {"labels": {"cuda": "12.8"}})
    refused = project.preview(ok=False)
    assert refused.returncode != 0
    assert "conflict" in (refused.stdout + refused.stderr).lower()
    refused = project.up(ok=False)
    assert refused.returncode != 0
    assert own(api, "worker-2")["cuda"] == "13", "what another manager has set is never taken over"
    api.kubectl("label", "node", "worker-2", f"{PREFIX}/cuda-")

    write(project, api, {"names": ["worker-1"], "features": ["ib"]})
    project.up()
    assert [own(api, name) for name in ("worker-1", "worker-2")] == [{"ib": "true"}, {}]
    project.destroy()
    for name in ("worker-1", "worker-2", "worker-3"):
        assert own(api, name) == {}
        assert api.node(name)["labels"][OTHERS] == "r1"
        assert "topology.slinky.slurm.net/spec" not in api.node(name).get("annotations", {})
