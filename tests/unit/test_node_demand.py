"""The number of nodes that the autoscaler asks for: never fewer than are busy, enough for what waits, and the same in Python
and in the text that KEDA computes."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.node_demand import (
    BUSY,
    METRICS,
    NODES,
    OF_CLUSTER,
    WANTED,
    Demand,
    formula,
    formula_of_query,
    query,
    read,
)
from tests.unit.examples import examples


@st.composite
def looks(draw: st.DrawFn) -> Demand:
    """Partitions as slurmctld counts them: completing and drained nodes are idle ones, held jobs are pending ones."""
    some = st.integers(0, 60)
    alloc, mixed, idle = draw(some), draw(some), draw(some)
    pending = draw(some)
    wide = draw(st.integers(1, 400)) if pending else 0
    return Demand(
        alloc=alloc,
        mixed=mixed,
        idle=idle,
        completing=draw(st.integers(0, idle)),
        drained=draw(st.integers(0, idle)),
        nodes=alloc + mixed + idle + draw(st.integers(0, 3)),
        pending=pending,
        held=draw(st.integers(0, pending)),
        suspended=draw(st.integers(0, 2)),
        narrow=draw(st.integers(0, wide)),
        wide=wide,
    )


STEPS = st.integers(1, 9)


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_never_fewer_nodes_than_are_busy(seen: Demand, step: int) -> None:
    assert seen.asked(step, 0, 1000) >= seen.alloc + seen.mixed + seen.completing


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_no_registered_node_is_asked_away_while_a_job_is_suspended(seen: Demand, step: int) -> None:
    held = replace(seen, suspended=1)
    assert held.asked(step, 0, 1000) >= held.alloc + held.mixed + held.idle


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_the_widest_job_fits_beside_the_busy_nodes(seen: Demand, step: int) -> None:
    if seen.waiting:
        assert seen.asked(step, 0, 1000) >= seen.busy + seen.narrow


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_a_job_that_still_waits_with_idle_nodes_gets_more_until_it_has_all_it_may_take(seen: Demand, step: int) -> None:
    if seen.waiting and not seen.completing and not seen.suspended and seen.idle - seen.drained < seen.wide:
        assert seen.wanted(step) > seen.alloc + seen.mixed + seen.idle


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_what_is_wanted_beyond_the_registered_nodes_is_beyond_kubernetes_tolerance(seen: Demand, step: int) -> None:
    if seen.nodes and seen.wanted(step) > seen.nodes:
        assert seen.asked(step, 0, 10_000) / seen.nodes > 1.1


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_nothing_busy_and_nothing_waiting_asks_for_none(seen: Demand, step: int) -> None:
    calm = replace(seen, alloc=0, mixed=0, completing=0, suspended=0, pending=seen.held)
    assert calm.asked(step, 0, 1000) == 0
    assert calm.asked(step, 2, 1000) == 2


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS)
def test_keda_computes_the_same(seen: Demand, step: int) -> None:
    assert by_keda(seen, step, restapi=1, pods=seen.nodes) == seen.asked(step, 0, 10_000)


def series(name: str) -> str:
    """What slurmctld calls a number."""
    return METRICS[name] + ("" if name in OF_CLUSTER else '{partition="gpu"}')


def by_keda(seen: Demand, step: int, **pods: int) -> int:
    """What KEDA computes; ``pods``: of slurmrestd, and of the NodeSet."""
    values = {name: float(getattr(seen, name)) for name in METRICS} | {name: float(count) for name, count in pods.items()}
    return raised(formula(step), values)


def raised(text: str, values: dict[str, float]) -> int:
    return ceil(round(eval(text, {"__builtins__": {}, "max": max, "min": min}, values), 6))


def by_prometheus(seen: Demand, step: int) -> float:
    """What a Prometheus answers to the query; ``scalar`` of a missing series is its NaN."""
    values = {name: float(getattr(seen, name)) for name in METRICS if name != NODES}
    functions = {"clamp_min": max, "clamp_max": min, "scalar": float}
    return float(eval(query(step, {name: name for name in values}), {"__builtins__": {}} | functions, values))


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS, st.integers(0, 200), st.integers(0, 3))
def test_keda_computes_the_same_of_a_query_to_prometheus(seen: Demand, step: int, pods: int, restapi: int) -> None:
    values = {WANTED: by_prometheus(seen, step), NODES: float(seen.nodes), "pods": float(pods), "restapi": float(restapi)}
    assert raised(formula_of_query(), values) == by_keda(seen, step, pods=pods, restapi=restapi)


@pytest.mark.parametrize("name", sorted(set(METRICS) - {NODES}))
def test_a_query_without_one_of_the_metrics_has_no_answer(name: str) -> None:
    """Prometheus adds vectors sample by sample: a term that is outside of ``scalar`` and missing leaves nothing."""
    guard = query(4, {name: f"max({metric})" for name, metric in METRICS.items()}).partition(") + (")[0]
    assert guard.startswith("0 * (max(")
    assert f"max({METRICS[name]})" in guard
    assert "scalar" not in guard


@settings(max_examples=examples(200), deadline=None)
@given(looks(), STEPS, st.integers(0, 200), st.integers(0, 3))
def test_without_slurmrestd_no_pod_is_asked_away(seen: Demand, step: int, pods: int, restapi: int) -> None:
    """slurm-operator without a Slurm client removes pods without a look at their jobs (run, 1.0.1)."""
    asked = by_keda(seen, step, restapi=restapi, pods=pods)
    assert asked == max(seen.asked(step, 0, 10_000), 0 if restapi else pods)


@settings(max_examples=examples(200), deadline=None)
@given(looks())
def test_an_answer_of_slurmctld_is_read(seen: Demand) -> None:
    lines = [f"{series(name)} {getattr(seen, name)}" for name in METRICS]
    other = [f'{metric}{{partition="cpu"}} 7' for metric in METRICS.values()]
    assert read("\n".join([*other, "# TYPE x gauge", *lines]), "gpu") == seen


@settings(max_examples=examples(200), deadline=None)
@given(looks(), st.sampled_from(sorted(METRICS)))
def test_an_answer_without_one_of_the_metrics_is_no_demand(seen: Demand, missing: str) -> None:
    lines = [f"{series(name)} {getattr(seen, name)}" for name in METRICS if name != missing]
    assert read("\n".join(lines), "gpu") is None
    assert read("", "gpu") is None


def test_jobs_of_one_node_are_counted_up_to_the_step() -> None:
    assert Demand(pending=2, narrow=1, wide=1).asked(4, 0, 8) == 2
    assert Demand(pending=50, narrow=1, wide=1).asked(4, 0, 8) == 4
    assert Demand(alloc=4, nodes=4, pending=50, narrow=1, wide=1).asked(4, 0, 8) == 8


def test_jobs_that_run_keep_their_nodes_when_the_queue_is_empty() -> None:
    """The recipe that counts pending jobs alone asks for none here."""
    assert Demand(alloc=3, mixed=1, completing=1, nodes=6, idle=2).asked(4, 0, 8) == 5


def test_held_jobs_ask_for_no_node() -> None:
    assert Demand(pending=3, held=3).asked(4, 0, 8) == 0


def test_the_number_stays_within_its_bounds() -> None:
    assert Demand(pending=1, narrow=12, wide=12).asked(4, 0, 8) == 8
    assert Demand().asked(4, 1, 8) == 1


def test_what_keeps_busy_nodes_is_in_the_formula() -> None:
    assert all(name in formula(4) for name in (*METRICS, *BUSY))
