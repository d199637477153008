"""The node table on a real API server: labels by server-side apply, a conflict that is named, and only what is ours goes."""

from __future__ import annotations

import pytest

from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi
from tests.stacks import ROOT

PREFIX = "slurm.example.org"
OTHERS = "example.org/rack"
PROGRAM = """
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {root!r})
    import pulumi
    from components import PartGates, PartGatesArgs
    from slinky_iac.config.reading.load import load

    kube = {kubeconfig!r}
    stack = {{"cluster": {{"name": "c"}}, "nodes": {nodes!r}, "kubernetes": {{"kubeconfig": kube}}}}
    config = load(stack)
    PartGates("nodes", PartGatesArgs(config=config, part="node_table"))
"""


@pytest.fixture
def api(kube: KubeApi) -> KubeApi:
    return kube


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
    assert managers == {"slinky-iac/test"}

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


def test_a_machine_that_is_gone_is_never_made_and_holds_up_no_removal(
    project: Project, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An apply for a node that isn't there makes a Node object, which no machine is behind (run)."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    api.make_nodes("gone-1", "gone-2")
    write(project, api, {"names": ["gone-[1-3]"], "features": ["ib"]})
    done = project.up()
    assert "names gone-3, and Kubernetes has no such node" in done.stdout + done.stderr
    assert "gone-3" not in api.kubectl("get", "nodes", "-o", "name")
    assert [own(api, name) for name in ("gone-1", "gone-2")] == [{"ib": "true"}] * 2

    api.kubectl("delete", "node", "gone-2")
    project.up()
    assert "gone-2" not in api.kubectl("get", "nodes", "-o", "name")
    api.make_nodes("gone-2", "gone-3")
    project.up()
    assert [own(api, name) for name in ("gone-1", "gone-2", "gone-3")] == [{"ib": "true"}] * 3
    api.kubectl("delete", "node", "gone-1")
    project.destroy()
    assert "gone-1" not in api.kubectl("get", "nodes", "-o", "name")
    assert own(api, "gone-2") == {}


def test_a_selector_means_the_nodes_of_today_and_no_answer_changes_no_label(
    project: Project, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    api.make_nodes("pool-1", "pool-2")
    api.kubectl("label", "node", "pool-1", "example.org/pool=gpu")
    row = {"selector": {"example.org/pool": "gpu"}, "features": ["ib"]}
    write(project, api, row)
    project.up()
    assert [own(api, name) for name in ("pool-1", "pool-2")] == [{"ib": "true"}, {}]
    api.kubectl("label", "node", "pool-1", "example.org/pool-")
    api.kubectl("label", "node", "pool-2", "example.org/pool=gpu")
    project.up()
    assert [own(api, name) for name in ("pool-1", "pool-2")] == [{}, {"ib": "true"}]

    silent = project.folder / "silent.kubeconfig"
    silent.write_text(api.kubeconfig.read_text().replace("https://127.0.0.1:", "https://127.0.0.1:1"))
    write(project, KubeApi(silent), row)
    said = project.preview()
    assert "nodes of the node table are not known" in said.stdout + said.stderr
    refused = project.up(ok=False)
    assert refused.returncode != 0
    write(project, api, row)
    assert own(api, "pool-2") == {"ib": "true"}
    project.up()
    project.destroy()
    assert own(api, "pool-2") == {}
