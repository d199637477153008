"""Partitions and hosts are closed first, then emptied, and nothing goes while a job names it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.conf_steps import (
    ConfGoal,
    ConfLook,
    WaitToForget,
    next_step,
)
from slinky_iac.drain.losses import Change
from slinky_iac.drain.preview import conf_plan
from slinky_iac.drain.protocol import Cancel, ClosePartitions, DeleteOwned, Done, Drain, Requeue, Signal, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy, Limits, Owner
from slinky_iac.drain.waiting import over_limits
from tests.made.nodes import node
from tests.unit.drain.conf_world import Kube
from tests.unit.drain.made import NOW, job
from tests.unit.examples import examples

OWNER = Owner("dev", names.SLURM_CONF_OWNER)
OURS = OWNER.reason("slurm.conf changes")
CONTROLLER = Kube("").controller("slurm", "hpc")


def look(states=None, nodes=(), jobs=(), **more):
    parts = {name: frozenset([state]) for name, state in (states or {}).items()}
    return ConfLook(**{
        "now": NOW, "partitions": parts, "jobs": tuple(jobs), "cluster": ClusterView.of(nodes, jobs)
    } | more)  # fmt: skip


def goal(partitions=(), hosts=(), changed=(), policy=None, **more):
    leaving = Change(partitions=frozenset(partitions), records=frozenset(hosts), nodes=frozenset(changed))
    return ConfGoal(
        **{"owner": OWNER, "leaving": leaving, "policy": policy or DrainPolicy(), "deadline_at": NOW + 60} | more
    )


def host(name="gpu-0", state="IDLE", reason="", **more):
    return node(name, state, reason=reason, **more)


def running(number=1, *ordinals, partition="batch", required=(), **more):
    return job(number, *(ordinals or (0,)), partition=partition, required=required, **more)


def waiting(number=2, partition="batch", required=(), **more):
    return job(number, state="PENDING", end=None, partition=partition, required=required, **more)


@pytest.mark.parametrize(("state", "closed"), [("UP", "DRAIN"), ("DOWN", "INACTIVE")])
def test_a_partition_that_goes_takes_no_new_job_and_starts_what_it_started(state, closed):
    assert next_step(look({"batch": state}), goal(["batch"])) == ClosePartitions({"batch": closed}, {"batch": state})


@pytest.mark.parametrize("state", ["DRAIN", "INACTIVE"])
@pytest.mark.parametrize("each", [running(), waiting(), running(state="SUSPENDED"), running(state="COMPLETED+COMPLETING")])
def test_a_closed_partition_waits_for_jobs_that_run_or_wait_there(state, each):
    assert isinstance(next_step(look({"batch": state}, jobs=[each]), goal(["batch"])), Wait)


def test_it_goes_when_no_job_names_it():
    ended, elsewhere = running(state="COMPLETED"), running(3, partition="all")
    assert next_step(look({"batch": "DRAIN"}, jobs=[ended, elsewhere]), goal(["batch"])) == Done()


def test_a_partition_that_a_reconfiguration_has_opened_again_is_closed_again():
    """Watched with 26.05.5: both a restart and a reconfiguration give it the state of the file."""
    assert isinstance(next_step(look({"batch": "UP"}, jobs=[running()]), goal(["batch"])), ClosePartitions)


def test_an_older_slurmrestd_closes_nothing_and_the_commands_are_named():
    step = next_step(look({"batch": "UP"}, can_close=False), goal(["batch"], by_hand="kubectl exec x --"))
    assert isinstance(step, Stop)
    assert "kubectl exec x -- scontrol update partitionname=batch state=drain" in step.why


def test_an_older_slurmctld_forgets_ended_jobs_before_their_partition_goes():
    """slurm-operator issue 138."""
    seen, wanted = look({"batch": "DRAIN"}, jobs=[running(state="COMPLETED")], can_close=False), goal(["batch"])
    assert isinstance(next_step(seen, wanted), WaitToForget)
    assert isinstance(next_step(seen, replace(wanted, forget_at=NOW + 1)), WaitToForget)
    assert next_step(seen, replace(wanted, forget_at=NOW)) == Done()
    assert next_step(replace(seen, jobs=()), wanted) == Done()


def test_a_host_that_goes_is_drained_then_waited_for():
    assert next_step(look(nodes=[host()]), goal(hosts=["gpu-0"])) == Drain(("gpu-0",), OURS, None)
    drained = host(state="MIXED+DRAIN", reason=OURS)
    assert isinstance(next_step(look(nodes=[drained], jobs=[running()]), goal(hosts=["gpu-0"])), Wait)
    assert next_step(look(nodes=[host(state="IDLE+DRAIN", reason=OURS)]), goal(hosts=["gpu-0"])) == Done()


def test_a_host_that_slurmctld_does_not_know_holds_nothing_up():
    assert next_step(look(), goal(hosts=["gpu-0"])) == Done()


def test_a_suspended_job_keeps_its_host_though_the_node_looks_free():
    drained = host(state="IDLE+DRAIN", reason=OURS)
    step = next_step(look(nodes=[drained], jobs=[running(state="SUSPENDED")]), goal(changed=["gpu-0"]))
    assert isinstance(step, Wait)


def test_a_persons_words_on_a_host_are_not_overwritten():
    step = next_step(look(nodes=[host(state="DOWN", reason="fan", user="root")]), goal(hosts=["gpu-0"]))
    assert isinstance(step, Stop)
    assert "root marked gpu-0" in step.why


def test_jobs_elsewhere_that_name_a_host_that_goes_hold_it_and_not_one_that_only_changes():
    drained = host(state="IDLE+DRAIN", reason=OURS)
    named = [running(1, 3, required=("gpu-0", "gpu-3")), waiting(required=("gpu-0",))]
    assert isinstance(next_step(look(nodes=[drained], jobs=named), goal(hosts=["gpu-0"])), Wait)
    assert next_step(look(nodes=[drained], jobs=named), goal(changed=["gpu-0"])) == Done()


@pytest.mark.parametrize("policy", ["keep", "undo"])
def test_at_the_deadline_no_job_is_touched_and_nothing_goes(policy):
    late = look({"batch": "DRAIN"}, jobs=[running(), waiting()], now=NOW + 60)
    step = next_step(late, goal(["batch"], policy=DrainPolicy(on_deadline=policy)))
    assert isinstance(step, Stop)
    assert (step.cause, step.undo) == ("deadline", policy == "undo")
    assert "partition batch: 1 job (1 of alice)" in step.why
    assert "1 waiting in the queue (2 of alice)" in step.why
    assert "Nothing was killed, slurm.conf is as it was" in step.why


def test_requeue_helps_hosts_and_no_partition():
    """A requeued job waits in the same partition, and a job with --nodelist for the same host."""
    policy = DrainPolicy(on_deadline="requeue")
    drained = host(state="MIXED+DRAIN", reason=OURS)
    jobs = [running(1, partition="all", requeue=True), running(2, partition="all")]
    late = look(nodes=[drained], jobs=jobs, now=NOW + 60)
    assert next_step(late, goal(hosts=["gpu-0"], policy=policy)) == Requeue((1,))
    stuck = look({"batch": "DRAIN"}, jobs=[running(requeue=True)], now=NOW + 60)
    assert isinstance(next_step(stuck, goal(["batch"], policy=policy)), Stop)
    tied = look(nodes=[drained], jobs=[running(partition="all", requeue=True, required=("gpu-0",))], now=NOW + 60)
    assert isinstance(next_step(tied, goal(hosts=["gpu-0"], policy=policy)), Stop)


def test_cancel_signals_then_cancels_and_takes_waiting_jobs_too():
    policy = DrainPolicy(on_deadline="cancel", grace_s=30)
    wanted = goal(["batch"], policy=policy)
    jobs = [running(), waiting()]
    at = lambda now: look({"batch": "DRAIN"}, jobs=jobs, now=now)  # noqa: E731
    assert next_step(at(NOW + 60), wanted) == Signal((1,), "SIGTERM")
    told = replace(wanted, signalled={1: NOW + 60})
    assert isinstance(next_step(at(NOW + 89), told), Wait)
    assert next_step(at(NOW + 90), told) == Cancel((1, 2))
    assert isinstance(next_step(at(wanted.ends_at), told), Stop)


def test_a_destroy_waits_for_every_waiting_job_and_drains_no_host():
    first, last = goal(["batch"], ends="first"), goal(["batch"], ends="last")
    queue = look({"batch": "DRAIN", "other": "UP"}, nodes=[host()], jobs=[waiting(partition="other")])
    at_work = look({"batch": "DRAIN"}, nodes=[host()], jobs=[running(1, 5, partition="other")])
    for wanted in (first, last):
        assert isinstance(next_step(queue, wanted), Wait)
        assert isinstance(next_step(look({"batch": "UP"}, can_close=False, jobs=[waiting()]), wanted), Wait)
    assert next_step(at_work, first) == Done(), "its NodeSet's gate waits"
    assert isinstance(next_step(at_work, last), Wait), "on whatever node: one of no list of the stack's, too"
    assert next_step(look({"batch": "DRAIN"}, controller=CONTROLLER), last) == DeleteOwned("Controller hpc")
    assert next_step(look({"batch": "DRAIN"}), last) == Done()


def test_the_plan_names_what_goes_and_whose_jobs_hold_it_up():
    seen = look(
        {"batch": "UP"}, nodes=[host()], jobs=[running(), waiting(), running(5, 4, required=("gpu-0",), partition="x")]
    )
    plan = conf_plan(seen, goal(["batch"], hosts=["gpu-0"])).props
    assert (plan["partitions"], plan["hosts"], plan["known"], plan["jobs_total"]) == (["batch"], ["gpu-0"], True, 3)
    assert [(each["job"], each["user"], each["waits"]) for each in plan["jobs"]] == [
        ("1", "alice", False),
        ("5", "alice", False),
        ("2", "alice", True),
    ]
    assert (plan["free_at"], plan["blocks"]) == ("unknown", [])
    assert plan["warnings"][0].startswith("gpu-0 is named by --nodelist of 1 job (5 of alice)")
    ends = conf_plan(look({"batch": "UP"}, jobs=[running()]), goal(["batch"])).props["free_at"]
    assert ends == "2027-01-15T09:00:00Z"


def test_a_partition_that_starts_nothing_is_told_with_what_waits_there():
    plan = conf_plan(look({"batch": "INACTIVE"}, jobs=[waiting()]), goal(["batch"])).props
    assert "batch is INACTIVE and starts no job: the 1 that wait there will not leave it" in plan["warnings"][0]


def test_limits_count_waiting_jobs_and_ask_only_running_ones_for_their_age():
    jobs = [running(start_time=NOW - 100), waiting(start_time=None)]
    assert over_limits(Limits(), NOW, jobs) == ()
    assert "more than the 1" in over_limits(Limits(max_jobs=1), NOW, jobs)[0]
    assert over_limits(Limits(max_jobs=2, max_job_age_s=100), NOW, jobs) == ()
    assert "no job that has run longer than 99 s" in over_limits(Limits(max_job_age_s=99), NOW, jobs)[0]


POLICIES = st.sampled_from(["keep", "undo", "requeue", "cancel"])
JOBS = st.builds(
    lambda number, state, on, parts, named: job(
        number,
        *([on] if state not in ("PENDING", "COMPLETED") else []),
        state=state,
        requeue=number % 2 == 0,
        partition=",".join(parts),
        required=[f"gpu-{n}" for n in named],
    ),
    st.integers(1, 9),
    st.sampled_from(["PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "RUNNING+COMPLETING", "STRANGE"]),
    st.integers(0, 2),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=2, unique=True),
    st.lists(st.integers(0, 2), max_size=2),
)
STATES = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["UP", "DOWN", "DRAIN", "INACTIVE"]))
HOSTS = st.lists(st.sampled_from(["gpu-0", "gpu-1"]), unique=True)
NODES = st.lists(
    st.builds(
        lambda n, state: host(f"gpu-{n}", state, OURS if "DRAIN" in state else ""),
        st.integers(0, 2),
        st.sampled_from(["IDLE", "MIXED", "IDLE+DRAIN", "MIXED+DRAIN", "UNKNOWN+DRAIN", "IDLE+DRAIN+COMPLETING"]),
    ),
    unique_by=lambda each: each.name,
)


SOME = st.lists(JOBS, max_size=5, unique_by=lambda each: each.job_id)


@settings(max_examples=examples(200))
@given(STATES, NODES, SOME, st.sets(st.sampled_from("ab")), HOSTS, st.integers(0, 700), st.booleans(), POLICIES)
def test_nothing_leaves_slurm_conf_that_a_job_names_and_no_job_is_touched_but_by_policy(
    states, nodes, jobs, going, hosts, after, can_close, act
):
    wanted = goal(sorted(going), hosts, policy=DrainPolicy(on_deadline=act, grace_s=30))
    seen = look(states, nodes, jobs, now=NOW + after, can_close=can_close)
    step = next_step(seen, wanted)
    if isinstance(step, Done):
        assert all(states.get(name) not in ("UP", "DOWN") for name in going), "a new job could come in"
        for each in (each for each in jobs if not each.over):
            assert each.partitions[0] not in going or (each.waits and not set(each.partitions) <= going)
            assert not set(hosts) & {*each.node_names, *each.required}
        for name in hosts:
            record = seen.cluster.nodes.get(name)
            assert record is None or record.state == frozenset({"IDLE", "DRAIN"})
    if isinstance(step, Requeue | Signal | Cancel):
        assert isinstance(step, {"requeue": Requeue, "cancel": Signal | Cancel}[act])
        assert seen.now >= wanted.deadline_at
        held = [each for each in jobs if each.handle in step.jobs]
        assert all(set(each.partitions) & going or set(hosts) & {*each.node_names, *each.required} for each in held), (
            "only jobs of what leaves"
        )
    if isinstance(step, ClosePartitions):
        assert step.states.keys() <= going
        assert can_close
    if isinstance(step, Drain):
        assert set(step.nodes) <= set(hosts)
