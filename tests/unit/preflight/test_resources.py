"""What Slurm believes of pods, and how the kubelet keeps them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from slinky_iac.kube.objects import Pod
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.check_resources import EXPECTED
from slinky_iac.preflight.facts import Kubelet
from tests.made.nodes import node as made_node
from tests.made.pods import worker_pod
from tests.unit.preflight.made import FACTS, stack, workers

LIMITED = {"gpu": {"resources": {"cpus": "2", "memory": "2Gi"}}}
STATIC = Kubelet("static", "best-effort")


def on_node(node: str, qos: str = "Guaranteed") -> Pod:
    pod = worker_pod(node)
    status = structs.replace(pod.status, qos_class=qos)
    return structs.replace(pod, spec=structs.replace(pod.spec, node_name="node-1"), status=status)


def told(
    nodesets: dict[str, Any], *, kubelet: Kubelet | None = None, qos: str = "Guaranteed", **fields: int
) -> list[tuple[str, Verdict, str]]:
    kubelets = {} if kubelet is None else {"node-1": kubelet}
    kube = replace(FACTS.kube, workers=workers(on_node("gpu-0", qos)), kubelets=kubelets)
    slurm = replace(FACTS.slurm, nodes=(made_node("gpu-0", **fields),))
    facts = replace(FACTS, kube=kube, slurm=slurm)
    config = stack(nodesets=nodesets)
    return [(check.name, check.verdict, check.got) for row in EXPECTED for check in row.checks(config, facts)]


def test_a_slurm_that_sees_more_than_its_pods_may_use_is_a_problem() -> None:
    ((name, verdict, got),) = told(LIMITED, effective_cpus=64, real_memory=2048)
    assert (name, verdict) == ("pod-resources", Verdict.PROBLEM)
    assert "64 CPUs of gpu-0, and its pod may use 2" in got


def test_a_slurm_that_sees_what_its_pods_have_is_fine() -> None:
    ((_, verdict, _),) = told(LIMITED, effective_cpus=2, real_memory=2000)
    assert verdict is Verdict.FINE


def test_a_nodeset_without_limits_is_not_judged() -> None:
    assert told({}, effective_cpus=64, real_memory=1 << 20) == []


@pytest.mark.parametrize(
    ("kubelet", "cpus", "wanted", "said"),
    [
        (STATIC, "2", [Verdict.FINE], "static"),
        (Kubelet("none", "none"), "2", [Verdict.WARNING], "move among all CPUs"),
        (STATIC, "1500m", [Verdict.WARNING], "aren't a whole number"),
        (replace(STATIC, swap="LimitedSwap"), "2", [Verdict.FINE, Verdict.WARNING], "LimitedSwap"),
        (replace(STATIC, swap="NoSwap"), "2", [Verdict.FINE], "static"),
        (Kubelet(trouble="HTTP 403"), "2", [Verdict.UNKNOWN], "HTTP 403"),
    ],
)
def test_what_a_kubelet_runs_with_is_judged(kubelet: Kubelet, cpus: str, wanted: list[Verdict], said: str) -> None:
    found = told({"gpu": {"resources": {"cpus": cpus}}}, kubelet=kubelet, effective_cpus=1)
    judged = [(verdict, got) for name, verdict, got in found if name == "kubelet"]
    assert [verdict for verdict, _ in judged] == wanted
    assert said in judged[-1][1]


@pytest.mark.parametrize(
    ("qos", "verdict"), [("Guaranteed", Verdict.FINE), ("Burstable", Verdict.WARNING), ("", Verdict.FINE)]
)
def test_a_pod_that_is_not_guaranteed_has_no_cpus_of_its_own(qos: str, verdict: Verdict) -> None:
    found = told(LIMITED, kubelet=STATIC, qos=qos, effective_cpus=2, real_memory=2048)
    ((_, got, text),) = [each for each in found if each[0] == "kubelet"]
    assert got is verdict
    assert ("class Burstable" in text) is (qos == "Burstable")
