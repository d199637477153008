"""The plan says whose jobs it waits for, what blocks it and what is unknown; and it doesn't flicker."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.commands.drain import plan_lines
from slinky_iac.drain.cost import Kind
from slinky_iac.drain.plan import (
    _choice_blocks,
    is_forced,
    plan_scale_in,
    plan_teardown,
    unknown_plan,
)
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.ranking import INT32_MIN, predicted_victims
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.drain.tags import BASE_COST, Tag, cost_below
from slinky_iac.drain.words import iso, jobs_in_words
from slinky_iac.releases import OperatorVersion
from tests.made.slurm import reservation
from tests.unit.drain.made import NOW, OWNER, V110, codes, given_up, held, job, node, nodeset, pod

NAME = "hpc-worker-gpu-{}".format


def plan(pods, nodes, jobs=(), target=1, *, limits=None, reservations=(), writers=(), state=None, now=NOW, version=V110):
    seen = Observation(
        now,
        version,
        tuple(pods),
        cluster=None if nodes is None else ClusterView.of(nodes, jobs, reservations),
        writers=writers,
        problem="connection refused" if nodes is None else "",
    )
    return plan_scale_in(seen, state or nodeset(len(pods)), target, DrainPolicy(limits=limits or Limits()), OWNER)


def workers(*jobs, target=1, **changes):
    return plan([pod(n) for n in range(3)], [node(n) for n in range(3)], jobs, target, **changes)


def test_a_frozen_nodeset_blocks_each_plan_and_the_command_that_lifts_it_is_there():
    state = nodeset(3, frozen="incident 4711")
    look = Observation(NOW, V110, tuple(pod(n) for n in range(3)), cluster=ClusterView.of([node(n) for n in range(3)], ()))
    plans = [plan(look.pods, [node(n) for n in range(3)], state=state), plan_teardown(look, state, OWNER)]
    for found in plans:
        assert codes(found.blocks) == ["frozen"]
        assert "incident 4711" in found.blocks[0]
        assert "`kubectl annotate nodesets.slinky.slurm.net -n" in found.blocks[0]
        assert f"{state.name} slinky-iac/freeze-`" in found.blocks[0]


def test_plan_names_pods_jobs_and_the_time_when_all_are_free():
    found = workers(job(1, 2, end=NOW + 50), job(2, 1, 2, end=NOW + 90), job(3, 0))
    assert [each.pod.name for each in found.selected] == [NAME(1), NAME(2)]
    assert [each.job_id for each in found.jobs] == [1, 2]
    assert found.free_at == NOW + 90
    assert found.removes == 2
    assert not found.blocks


def test_idle_nodes_are_free_now_and_endless_jobs_leave_the_time_open():
    assert workers(target=2).free_at == 0
    endless = workers(job(1, 0, 1, 2, end=None))
    assert endless.free_at is None
    assert endless.unforeseen
    assert "endless" in codes(endless.warnings)


def test_without_slurm_nothing_is_claimed_about_nodes_and_jobs():
    found = plan([pod(n) for n in range(3)], None)
    assert not found.known
    assert found.removes == 2
    assert found.selected == ()
    assert codes(found.warnings) == ["slurm-unknown"]
    assert "connection refused" in found.warnings[0]


@pytest.mark.parametrize(
    ("state", "pods", "code"),
    [
        (nodeset(3, updated=2), None, "rollout"),
        (nodeset(3), [pod(0), pod(1), given_up(2, gate=Tag("prod/gpu", 0).text())], "foreign-gate"),
        (nodeset(3), [pod(0, deletion_cost=INT32_MIN), pod(1), pod(2)], "deletion-cost"),
    ],
)
def test_what_forbids_a_scale_in_blocks_the_plan(state, pods, code):
    found = plan(pods or [pod(n) for n in range(3)], [node(n) for n in range(3)], state=state)
    assert codes(found.blocks) == [code]


def test_an_autoscaler_of_the_nodeset_blocks_the_plan():
    assert codes(workers(writers=("ScaledObject/gpu",)).blocks) == ["autoscaler"]


def test_rollout_blocks_also_when_slurm_is_away():
    assert codes(plan([pod(0), pod(1)], None, state=nodeset(2, updated=0)).blocks) == ["rollout"]


def test_node_that_cannot_be_made_free_blocks_only_when_it_must_go():
    nodes = [node(0), node(1), node(2, "DOWN", "fan is broken", user="root")]
    pods = [pod(n) for n in range(3)]
    assert codes(plan(pods, nodes, target=0).blocks) == ["blocked-node"]
    retained = plan(pods, nodes, target=1)
    assert retained.blocks == ()
    assert codes(retained.warnings) == ["odd-node"]
    assert "root marked it" in retained.warnings[0]


def test_foreign_drains_count_openly_on_both_sides():
    nodes = [
        node(0, "MIXED+DRAIN", "bad DIMM", user="root"),
        node(1),
        node(2, "IDLE+DRAIN", "slurm-operator: Node was cordoned"),
    ]
    found = plan([pod(n) for n in range(3)], nodes, [job(1, 0)], target=2)
    assert [each.kind for each in found.selected] == [Kind.HELD]
    texts = dict(zip(codes(found.warnings), found.warnings, strict=True))
    assert "gpu-2 (selected) is drained by slurm-operator" in texts["foreign-drain-selected"]
    assert "gpu-0 (retained) is drained by root: 'bad DIMM'" in texts["foreign-drain-retained"]


def test_drain_of_ours_is_no_foreign_drain():
    found = plan([pod(0), given_up(1)], [node(0), held(1)])
    assert found.warnings == ()


def test_drain_without_a_name_is_somebodys():
    found = plan([pod(0), pod(1)], [node(0), node(1, "IDLE+DRAIN", "x")])
    assert "drained by somebody" in found.warnings[0]


def test_forced_and_unregistered_pods_are_told():
    pods = [pod(0), pod(1), pod(2, ready=False), pod(3, slurm_states=frozenset())]
    found = plan(pods, [node(0), node(1), node(2)], target=2)
    assert [each.pod.name for each in found.selected] == [NAME(2), NAME(3)]
    assert codes(found.warnings) == ["forced", "unregistered"]
    assert [is_forced(each.pod) for each in found.selected] == [True, False]


def test_a_node_that_only_the_operator_sees_is_told():
    found = plan([pod(0), pod(1)], [node(0)], target=1)
    assert codes(found.warnings) == ["unregistered", "seen-elsewhere"]
    assert "check slurmrest.url" in found.warnings[1]


def test_many_pods_are_told_in_short():
    found = plan([pod(n, ready=n < 2) for n in range(12)], [node(n) for n in range(12)], target=2)
    assert "and 2 more" in found.warnings[0]


def test_jobs_on_both_sides_are_told_as_waited_for_whole():
    found = workers(job(1, 0, 2), job(2, 1, end=NOW + 10**6), target=2)
    assert "split-jobs" in codes(found.warnings)
    assert "split-jobs" not in codes(workers(job(1, 2), job(2, 1), job(3, 0), target=2).warnings)


def test_reservation_on_a_chosen_node_is_told():
    found = workers(target=0, reservations=[reservation("maint", "gpu-1", NOW, NOW + 99)])
    assert list(found.warnings) == ["gpu-1 is counted on by reservation maint"]


def test_missing_and_surplus_pods_are_told():
    found = plan([pod(0), pod(1)], [node(0), node(1)], target=1, state=nodeset(3, updated=2))
    assert codes(found.warnings) == ["pod-count"]
    assert "will delete 1" in found.warnings[0]


def test_uncertain_prediction_would_block():
    """It can't come to that with our costs; without them old releases are uncertain."""
    pods = [pod(0, cordon=True), pod(1, cordon=True)]
    both = plan(pods, [node(0), node(1)], target=0).selected
    assert codes(_choice_blocks(both[:1], both[1:], 0, 1, V110)) == ["prediction"]
    assert predicted_victims(pods, 1, V110).uncertain
    assert plan(pods, [node(0), node(1)]).blocks == ()
    assert predicted_victims(pods, 1, V110, {NAME(0): BASE_COST}).is_exactly([NAME(0)])


# -- limits ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_share=0.5), "limit-share"),
        (Limits(max_jobs=1), "limit-jobs"),
        (Limits(max_job_age_s=99), "limit-age"),
    ],
)
def test_limit_that_is_exceeded_blocks_and_one_that_is_just_met_does_not(limits, code):
    jobs = [job(1, 2, start_time=NOW - 100), job(2, 1, start_time=NOW - 50), job(3, 0, start_time=NOW - 10**6, end=None)]
    assert codes(workers(*jobs, limits=limits).over) == [code]
    enough = Limits(max_share=0.67, max_jobs=2, max_job_age_s=100)
    assert workers(*jobs, limits=enough).over == ()


def test_the_share_is_judged_without_slurm_too():
    found = plan([pod(n) for n in range(4)], None, target=1, limits=Limits(max_share=0.5))
    assert codes(found.over) == ["limit-share"]
    assert "3 of 4 pods" in found.over[0]


def test_job_of_unknown_start_is_older_than_any_limit():
    assert codes(workers(job(1, 2, 1, 0, start_time=None), limits=Limits(max_job_age_s=10**6)).over) == ["limit-age"]


def test_one_job_on_two_nodes_counts_once():
    assert workers(job(1, 0, 1, 2), limits=Limits(max_jobs=1)).blocks == ()


def test_share_of_nothing_is_no_division():
    assert plan([pod(0)], [node(0)], target=0, state=nodeset(0), limits=Limits(max_share=0.1)).blocks == ()


# -- words -----------------------------------------------------------------------------------------------------------------


def test_props_are_flat_and_hold_only_absolute_times():
    found = workers(job(1, 2, 1, array_job_id=1, array_task_id=7, partition="gpu", end=NOW + 60), job(2, 0))
    props = found.written.props
    assert props["schema"] == 1
    assert (props["from"], props["to"]) == (3, 1)
    assert [each["node"] for each in props["nodes"]] == ["gpu-2", "gpu-1"]
    assert props["nodes"][0] == {
        "node": "gpu-2",
        "pod": NAME(2),
        "kind": "busy",
        "free_at": "2027-01-15T08:01:00Z",
        "jobs": ["1_7"],
        "jobs_total": 1,
    }
    assert props["jobs"] == [
        {
            "job": "1_7",
            "user": "alice",
            "partition": "gpu",
            "state": "RUNNING",
            "nodes": 2,
            "started": "2027-01-15T07:00:00Z",
            "ends_by": "2027-01-15T08:01:00Z",
        }
    ]
    assert props["free_at"] == "2027-01-15T08:01:00Z"


def test_plan_of_very_many_jobs_lists_some_and_says_how_many():
    props = workers(*[job(n, 2, 1) for n in range(1, 1001)]).written.props
    assert len(props["jobs"]) == 200
    assert props["jobs_total"] == 1000
    assert len(props["nodes"][-1]["jobs"]) == 16
    assert props["nodes"][-1]["jobs_total"] == 1000


def test_second_preview_of_an_unchanged_cluster_is_the_same():
    jobs = [job(1, 2, end=NOW + 60), job(2, 1, end=None), job(3, 0, state="SUSPENDED")]
    first = workers(*jobs, limits=Limits(max_jobs=0, max_share=0.1)).written.props
    assert workers(*jobs, limits=Limits(max_jobs=0, max_share=0.1), now=NOW + 59).written.props == first


def test_lines_say_per_node_whose_jobs_and_until_when():
    assert plan_lines(workers(job(1, 2), job(2, 1, end=None), target=0)) == (
        "gpu-0 (idle): no job, free now",
        "gpu-2 (busy): 1 of alice, until 2027-01-15T09:00:00Z",
        "gpu-1 (endless): 2 of alice, of no known end",
    )


def test_unknown_plan_claims_nothing():
    props = unknown_plan("gpu", 3, 1, "no kubeconfig").written.props
    assert not props["known"]
    assert props["nodes"] == props["jobs"] == []
    assert "no kubeconfig" in props["warnings"][0]
    assert plan([pod(0), pod(1)], None).written.props.keys() == props.keys()


def test_jobs_in_words_stay_short():
    assert jobs_in_words([]) == "no job"
    assert jobs_in_words([job(1, 0, user_name="")]) == "1 job (1 of unknown), the last ends by 2027-01-15T09:00:00Z"
    many = jobs_in_words([job(n, 0) for n in range(1, 10)])
    assert many.startswith("9 jobs (1 of alice, 2 of alice, 3 of alice, 4 of alice and 5 more)")
    assert jobs_in_words([job(1, 0), job(2, 0, end=None)]).endswith("of no known end")
    stopped = jobs_in_words([job(1, 0, state="SUSPENDED")])
    assert stopped == "1 job (1 of alice, suspended), of no known end"
    hangs = jobs_in_words([job(1, 0, state="COMPLETED+COMPLETING")])
    assert hangs == "1 job (1 of alice, completing), over but for the epilog, or for a process that can't be killed"


@given(st.none() | st.integers())
def test_any_number_is_a_time_or_unknown(seconds):
    assert iso(seconds) == "unknown" or iso(seconds).endswith("Z")


# -- the whole, on random clusters -----------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from([0, 0, -3, BASE_COST])), min_size=1, max_size=6),
    st.integers(0, 6),
    st.sampled_from(["1.0.1", "1.1.0", "1.2.0", "1.2.1"]),
)
def test_with_the_costs_of_the_plan_the_operator_deletes_exactly_the_chosen_pods(raw, target, version):
    def carrying(costs):
        return [
            pod(n, ready=ready, cordon=cordon, deletion_cost=costs.get(NAME(n), cost))
            for n, (ready, cordon, cost) in enumerate(raw)
        ]

    pods = carrying({})
    release = OperatorVersion.parse(version)
    found = plan(pods, [node(n) for n in range(len(pods))], target=target, version=release)
    selected = [each.pod.name for each in found.selected]
    assert len(selected) == max(len(pods) - target, 0)
    costs = dict.fromkeys(selected, cost_below(each for each in pods if each.name not in selected))
    assert predicted_victims(carrying(costs), target, release).is_exactly(selected)
    assert predicted_victims(pods, target, release, costs) == predicted_victims(carrying(costs), target, release)
    assert not found.blocks


def test_plan_of_the_same_views_is_the_same_plan():
    views = workers(job(1, 2))
    assert workers(job(1, 2)) == views
    assert replace(views) == views


@pytest.mark.parametrize(
    "record", [node(0, "IDLE+DRAIN+COMPLETING"), node(0, "MIXED+DRAIN"), node(0, "UNKNOWN"), node(0, "DOWN", "fan")]
)
def test_a_node_that_is_not_free_is_not_said_to_be_free_now(record):
    """With no job of the list on it: an epilog that hangs, a state not understood, a person's mark."""
    found = plan([pod(0)], [record], target=0)
    assert found.free_at is None
    props = found.written.props
    assert (props["free_at"], props["nodes"][0]["free_at"]) == ("unknown", "unknown")
    assert plan_lines(found) == (f"gpu-0 ({found.selected[0].kind.name.lower()}): no job, of no known end",)


def test_plans_name_jobs_that_lose_by_a_node_they_are_not_on():
    """A --nodelist of a removed node ends its job wherever it runs; a waiting job may find no node any more."""
    named = job(7, 0, partition="all", required=("gpu-0", "gpu-1", "gpu-2"))
    waits = job(8, state="PENDING", partition="gpu", least=3)
    nodes = [node(n, partitions=["gpu", "all"]) for n in range(3)]
    cluster = ClusterView.of(nodes, [named, waits])
    seen = Observation(NOW, V110, tuple(pod(n) for n in range(3)), cluster=cluster)
    scale_in = plan_scale_in(seen, nodeset(3), 2, DrainPolicy(), OWNER)
    removal = plan_teardown(seen, nodeset(3), OWNER)
    for found in (scale_in, removal):
        texts = dict(zip(codes(found.warnings), found.warnings, strict=True))
        assert texts["nodelist"].startswith("gpu-2 is named by --nodelist of 1 job (7 of alice)")
        assert "8 of alice in gpu" in texts["stranded"]
        assert set(texts.values()) <= set(found.written.props["warnings"])
