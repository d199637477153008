"""One table for both sides: the same word means the same nodes to Slurm and to Kubernetes, and only ours goes again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.gated import NAMESPACE, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.kubelets import limited_swap, own_cpus, static_cpus

STANDS_ON = "gated"
PREFIX = "slurm.example.org"
WORD = "ib"
LABEL = f"{PREFIX}/{WORD}"
OTHERS = "example.org/rack"


def labelled(gated: Gated) -> set[str]:
    """Kubernetes nodes with the word's label."""
    return {
        node["metadata"]["name"] for node in gated.world.objects("nodes", "default") if LABEL in node["metadata"]["labels"]
    }


def behind(gated: Gated, nodes: set[str]) -> set[str]:
    """Kubernetes nodes behind these Slurm nodes."""
    pods = gated.world.pods(NAMESPACE, NODESET)
    return {pods[node]["spec"]["nodeName"] for node in nodes}


def table(*rows: Mapping[str, object]) -> dict[str, object]:
    return {"prefix": PREFIX, "table": list(rows)}


@pytest.fixture
def two(gated: Gated) -> Iterator[list[str]]:
    """Two Kubernetes nodes that no row has, and one of which has a label of somebody else's."""
    names = sorted(node["metadata"]["name"] for node in gated.world.objects("nodes", "default"))[:2]
    gated.reset()
    gated.world.kubectl("label", "node", names[0], f"{OTHERS}=r1")
    yield names
    gated.world.kubectl("label", "node", *names, f"{LABEL}-", f"{OTHERS}-", check=False)
    gated.reset()


def test_the_same_word_means_the_same_nodes_on_both_sides(gated: Gated, slurm: Slurm, two: list[str]) -> None:
    row = {"names": two, "nodesets": [NODESET], "features": [WORD]}
    gated.up(2, nodes=table(row))
    assert labelled(gated) == set(two)
    await_true("both nodes have the word", lambda: len(_with_word(slurm)) == 2, 90)
    assert behind(gated, _with_word(slurm)) == set(two)

    job = slurm.submit("-p", NODESET, "-C", WORD, "-N2", "-t", "5")
    slurm.await_running(job)
    ran = {node for node in _with_word(slurm) if "ALLOCATED" in slurm.states()[node] or "MIXED" in slurm.states()[node]}
    assert behind(gated, ran) == set(two)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "word", "namespace": "default"},
        "spec": {"nodeSelector": {LABEL: "true"}, "containers": [{"name": "c", "image": "slinky-lab/slurm:26.05"}]},
    }
    gated.world.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    try:
        found = gated.world.kubectl
        path = ("get", "pod", "word", "-n", "default", "-o", "jsonpath={.spec.nodeName}")
        await_true("the pod has a node", lambda: found(*path).stdout, 60)
        assert found(*path).stdout in two
    finally:
        gated.world.kubectl("delete", "pod", "word", "-n", "default", "--now", check=False)
    slurm.finish(job)
    assert gated.changes() == [], "a preview after it is empty"
    assert drift(gated) == set()

    # what another manager sets is a conflict that is named, and never taken over
    gated.world.kubectl("label", "node", two[0], f"{LABEL}=mine", "--overwrite")
    gated.write(2, nodes=table(row | {"labels": {"cuda": "12"}}))
    refused = gated.try_up()
    assert refused.returncode != 0
    assert "conflict" in (refused.stdout + refused.stderr).lower()
    assert ("node-label", two[0]) in drift(gated)
    value = gated.world.kubectl("get", "node", two[0], "-o", "json").stdout
    assert json.loads(value)["metadata"]["labels"][LABEL] == "mine"
    gated.world.kubectl("label", "node", two[0], f"{LABEL}=true", "--overwrite")

    # what is ours goes with the row, and nothing else does
    gated.up(3)
    left = json.loads(gated.world.kubectl("get", "node", two[1], "-o", "json").stdout)["metadata"]["labels"]
    assert not {key for key in left if key.startswith(PREFIX)}
    kept = json.loads(gated.world.kubectl("get", "node", two[0], "-o", "json").stdout)["metadata"]["labels"]
    assert kept[OTHERS] == "r1"


def test_what_a_review_saved_is_done_to_the_table(gated: Gated, two: list[str], tmp_path: Path) -> None:
    """`pulumi up --plan`, the strict way of docs/ci.md: a row that comes, and a row that goes."""
    saved, names = tmp_path / "plan.json", set(two)
    for nodes, labels in ((table({"names": two, "nodesets": [NODESET], "features": [WORD]}), names), (table(), set())):
        gated.write(2, nodes=nodes)
        gated.stack.pulumi("preview", "--save-plan", str(saved))
        gated.changed()
        gated.stack.pulumi("up", "--yes", "--plan", str(saved))
        assert labelled(gated) == labels
        assert gated.changes() == []


def drift(gated: Gated) -> set[tuple[str, str]]:
    """Kind and subject of each finding of `slinky drift` that is about nodes' labels and resources."""
    found = json.loads(gated.cli("drift", "--json").stdout)["drift"]
    return {
        (each["kind"], each["subject"]) for each in found if each["kind"] in {"node-label", "node-features", "more-than-pod"}
    }


def test_slurm_that_sees_more_than_a_pod_may_use_is_named_and_the_cure_cures(gated: Gated, slurm: Slurm) -> None:
    """The lab's image doesn't read POD_CPUS and POD_MEMORY, as an image of one's own may not."""
    limits: dict[str, object] = {"resources": {"cpus": "1", "memory": "600Mi"}}
    gated.up(1, nodeset=limits)
    await_true("the pod is new", lambda: ("more-than-pod", "gpu-0") in drift(gated), 60)
    assert preflight(gated)["pod-resources"] == {"problem"}
    gated.up(1, nodeset=limits | {"extraConf": {"CPUs": "1", "RealMemory": "500"}})
    await_true("Slurm has what the pod has", lambda: drift(gated) == set(), 60)
    assert slurm.nodes()["gpu-0"]["cpus"] == 1
    assert preflight(gated)["pod-resources"] == {"fine"}

    if gated.world.accounts:  # `rights` doesn't grant nodes/proxy, by which commands run in every pod
        assert preflight(gated)["kubelet"] == {"unknown"}
        return
    # the node's kubelet lets the pod move among all CPUs; with the static policy they are the pod's own
    assert preflight(gated)["kubelet"] == {"warning"}
    pod = gated.world.pods(NAMESPACE, NODESET)["gpu-0"]
    node = pod["spec"]["nodeName"]
    with static_cpus(node):
        # slurm-operator's container logfile has no limits, so the pod isn't of the class that gets CPUs of its own
        await_true("the class is named", lambda: "is of class Burstable" in told(gated), 90, every=2)
        assert own_cpus(node).get(pod["metadata"]["uid"], {}) == {}
    with limits_for_all(gated), static_cpus(node), only(gated, node):
        gated.world.delete_worker(NAMESPACE, pod["metadata"]["name"])
        gated.world.await_pods(NAMESPACE, NODESET, 1)
        again = gated.world.pods(NAMESPACE, NODESET)["gpu-0"]
        assert again["status"]["qosClass"] == "Guaranteed"
        await_true("it has a CPU of its own", lambda: own_cpus(node).get(again["metadata"]["uid"]), 30)
        await_true("preflight says so", lambda: preflight(gated).get("kubelet") == {"fine"}, 60, every=2)


def test_a_kubelet_that_lets_pods_swap_is_named_and_one_that_does_not_is_not(gated: Gated) -> None:
    """Its own word for it, in configz. No memory is swapped here: the machine has no swap."""
    gated.up(1, nodeset={"resources": {"memory": "600Mi"}})
    if gated.world.accounts:  # see above
        assert preflight(gated)["kubelet"] == {"unknown"}
        return
    assert "swapBehavior" not in told(gated)
    with limited_swap(gated.world.pods(NAMESPACE, NODESET)["gpu-0"]["spec"]["nodeName"]):
        await_true("it is named", lambda: "memorySwap.swapBehavior LimitedSwap" in told(gated), 90, every=2)
        assert preflight(gated)["kubelet"] == {"warning", "fine"}
    await_true("it is named no longer", lambda: "swapBehavior" not in told(gated), 90, every=2)


@contextmanager
def only(gated: Gated, node: str) -> Iterator[None]:
    """Inside of it new pods go to this node alone."""
    others = sorted({each["metadata"]["name"] for each in gated.world.objects("nodes", "default")} - {node})
    gated.world.kubectl("cordon", *others)
    try:
        yield
    finally:
        gated.world.kubectl("uncordon", *others)


@contextmanager
def limits_for_all(gated: Gated) -> Iterator[None]:
    """Inside of it containers without limits get some."""
    limits = {"cpu": "50m", "memory": "64Mi"}
    spec = {"limits": [{"type": "Container", "default": limits, "defaultRequest": limits}]}
    made = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "all", "namespace": NAMESPACE}, "spec": spec}
    gated.world.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        yield
    finally:
        gated.world.kubectl("delete", "limitrange", "-n", NAMESPACE, "all")


def told(gated: Gated) -> str:
    """What `slinky preflight` says of the kubelet."""
    found = json.loads(gated.cli("preflight", "--no-pod", "--json").stdout)["checks"]
    return " ".join(str(each) for each in found if each["name"] == "kubelet")


def preflight(gated: Gated) -> dict[str, set[str]]:
    """Verdicts of `slinky preflight`, by the name of the check."""
    found: dict[str, set[str]] = {}
    for each in json.loads(gated.cli("preflight", "--no-pod", "--json").stdout)["checks"]:
        found.setdefault(each["name"], set()).add(each["verdict"])
    return found


def _with_word(slurm: Slurm) -> set[str]:
    return {name for name, record in slurm.nodes().items() if WORD in record.get("features", [])}
