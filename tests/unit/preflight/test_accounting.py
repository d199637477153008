"""QOS and weights of partitions: what slurmdbd or an outside slurmctld lacks is told before slurmctld ends over it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from tests.unit.preflight.made import FACTS, stack
from tests.unit.preflight.test_ask_slurm import INSIDE, Surveyed, ask

QOS = {"AllowQos": "high,low"}
WEIGHTS = {"TRESBillingWeights": "CPU=1,GRES/gpu=2"}


def judged(name: str, config: dict[str, str], *, conf: Any = None, **slurm: Any) -> list[Check]:
    made = stack(nodesets={"gpu": {"partition": {"config": config}}})
    if conf is not None:
        slurm["conf"] = structs.replace(FACTS.slurm.conf, **conf)
    facts = replace(FACTS, slurm=replace(FACTS.slurm, **slurm))
    return [each for each in checks(made, facts) if each.name == name]


@pytest.mark.parametrize(
    ("held", "verdict"),
    [({"high", "low", "normal"}, Verdict.FINE), ({"normal", "high"}, Verdict.PROBLEM), (None, Verdict.UNKNOWN)],
)
def test_slurmdbd_has_every_qos_that_a_partition_names(held: set[str] | None, verdict: Verdict) -> None:
    (check,) = judged("qos", QOS, qos=None if held is None else frozenset(held))
    assert check.verdict is verdict
    if verdict is Verdict.PROBLEM:
        assert check.paste == ("sacctmgr -i add qos low",)
    assert judged("qos", {}, qos=frozenset()) == []


@pytest.mark.parametrize(
    ("tracked", "verdict"), [(["cpu", "gres/gpu"], Verdict.FINE), (["cpu"], Verdict.PROBLEM), (None, Verdict.UNKNOWN)]
)
def test_an_outside_slurmctld_tracks_what_is_weighed(tracked: list[str] | None, verdict: Verdict) -> None:
    (check,) = judged("tres", WEIGHTS, conf={"AccountingStorageTRES": tracked})
    assert check.verdict is verdict
    if verdict is Verdict.PROBLEM:
        assert check.paste == ("AccountingStorageTRES=cpu,gres/gpu",)
    assert judged("tres", {"TRESBillingWeights": "CPU=1,Mem=0.25G"}) == []


def test_slurmdbd_is_asked_for_them() -> None:
    assert ask({"inside": Surveyed()}, INSIDE).qos == {"normal", "high"}
    assert ask({"inside": Surveyed()}, INSIDE, quick=True).qos is None


def test_metrics_that_can_end_slurmctld_are_told_by_its_own_release() -> None:
    def told(version: str) -> list[Check]:
        made = stack(nodesets={"gpu": {"replicas": 1, "owner": "autoscaler", "maxReplicas": 4, "autoscale": {}}})
        facts = replace(FACTS, slurm=replace(FACTS.slurm, version=version))
        return [each for each in checks(made, facts) if each.name == "metrics-crash"]

    assert [each.verdict for each in told("25.11.2")] == [Verdict.WARNING]
    assert told("25.11.5") == told("26.05.1") == told("") == []
