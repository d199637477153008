"""Today's demand in a preview: what is busy, what waits, and the job that never starts."""

from __future__ import annotations

import pytest

from slinky_iac.node_demand import METRICS, OF_CLUSTER, read
from slinky_iac.parts.autoscale.demand import in_words, today
from tests.unit.drain.made import job, node, pod, seen
from tests.unit.drain.model_session import autoscaled

AUTOSCALED = autoscaled(max_replicas=4)


def look(pods=2, nodes=(), jobs=(), **more):
    return seen([pod(n) for n in range(pods)], list(nodes), list(jobs), **more)


def waiting(number, least=1, partition="gpu"):
    return job(number, state="PENDING", partition=partition, least=least)


def said(found):
    return [text for text, _ in in_words(found, AUTOSCALED)]


def test_the_line_says_what_is_busy_what_waits_and_what_is_asked() -> None:
    nodes = [node(0, "ALLOCATED", alloc_cpus=2), node(1)]
    found = today(look(2, nodes, [job(1, 0), waiting(2), waiting(3, 2), waiting(4, 9, "cpu")]), AUTOSCALED)
    assert said(found) == [
        "gpu: 1 node busy, 2 jobs wait, the widest for 2 nodes: the autoscaler asks for 3 of at most 4, and has 2"
    ]


def test_a_job_wider_than_the_maximum_is_a_warning() -> None:
    found = today(look(0, [], [waiting(7, 9)]), AUTOSCALED)
    (_, plain), (text, warns) = in_words(found, AUTOSCALED)
    assert (plain, warns) == (False, True)
    assert "waits for 9 nodes" in text
    assert "maxReplicas 4" in text


def test_a_job_of_several_partitions_is_told_since_slurmctld_counts_it_in_one() -> None:
    (line,) = said(today(look(0, [], [waiting(1), waiting(2, 1, "gpu,metal")]), AUTOSCALED))
    assert "2 jobs wait (1 of them in other partitions too, and slurmctld counts each in one)" in line


def test_a_wide_job_that_another_partition_may_take_is_none() -> None:
    assert today(look(0, [], [waiting(7, 9, "gpu,metal")]), AUTOSCALED).too_wide == ()


def test_a_suspended_job_keeps_every_node() -> None:
    found = today(look(2, [node(0), node(1)], [job(1, 0, state="SUSPENDED")]), AUTOSCALED)
    assert found.demand.busy == 2


def slurmctlds(**numbers: int) -> str:
    """Its answers on gpu and on the whole cluster."""
    found = dict.fromkeys(METRICS, 0) | numbers
    series = {name: metric + ("" if name in OF_CLUSTER else '{partition="gpu"}') for name, metric in METRICS.items()}
    return "\n".join(f"{each} {found[name]}" for name, each in series.items())


@pytest.mark.parametrize("where", ["gpu", "all", "outside"])
def test_a_preview_and_keda_count_a_suspended_job_wherever_it_is_submitted(where: str) -> None:
    """slurmctld counts a job in the partition that it runs in, and its node as idle in every one (statistics.c)."""
    suspended = job(1, 0, state="SUSPENDED", partition=where)
    preview = today(look(2, [node(0), node(1)], [suspended]), AUTOSCALED).demand
    keda = read(slurmctlds(idle=2, nodes=2, suspended=1), "gpu")
    assert keda == preview
    assert keda.asked(4, 0, 4) == 2


def test_no_answer_is_no_demand() -> None:
    found = today(look(2, problem="asleep", cluster=None), AUTOSCALED)
    assert found is None
    (text,) = said(found)
    assert "not known" in text
    assert "asks for" not in text
