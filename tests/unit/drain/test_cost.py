"""The choice is the cheapest there is for the stated cost: compared with every other choice on small clusters."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import RESERVATION_HORIZON_S, Kind, assess, choose, drainable
from tests.made.slurm import reservation
from tests.unit.drain.made import NOW, OURS, OWNER, held, job, node, pod
from tests.unit.examples import examples


def assessed(pods, nodes, jobs=(), reservations=()):
    return assess(pods, ClusterView.of(nodes, jobs, reservations), NOW, OWNER)


def selected(pods, nodes, jobs, target, reservations=()):
    """Ordinals of the pods selected."""
    return [each.pod.ordinal for each in choose(assessed(pods, nodes, jobs, reservations), target)]


def three(*jobs, target, reservations=(), **changes):
    """The choice among three workers, of which some are special."""
    pods = [changes.get(f"pod{n}", pod(n)) for n in range(3)]
    nodes = [changes.get(f"node{n}", node(n)) for n in range(3)]
    return selected(pods, [each for each in nodes if each is not None], jobs, target, reservations)


def test_idle_nodes_go_before_busy_ones_and_higher_ordinals_first():
    assert three(job(1, 2), target=2) == [1]
    assert three(job(1, 2), target=1) == [1, 0]
    assert three(job(1, 2), target=0) == [1, 0, 2]
    assert three(target=2) == [2]


def test_of_busy_nodes_the_one_free_soonest_goes():
    assert three(job(1, 0, end=NOW + 9), job(2, 1, end=NOW + 5), job(3, 2, end=NOW + 7), target=2) == [1]


def test_job_without_an_end_is_avoided_for_any_that_has_one():
    assert three(job(1, 2, end=None), job(2, 1, end=NOW + 10**8), job(3, 0, end=NOW + 10**8), target=2) == [1]


def test_suspended_job_has_no_known_end():
    assert three(job(1, 2, state="SUSPENDED"), job(2, 1), job(3, 0), target=2) == [1]


def test_completing_job_counts_as_ending_when_it_was_to_end():
    assert three(job(1, 2, state="COMPLETING", end=NOW), job(2, 1), job(3, 0), target=2) == [2]


def test_node_that_a_reservation_counts_on_goes_after_busy_ones():
    reserved = [reservation("maint", "gpu-[1-2]", NOW + RESERVATION_HORIZON_S, NOW + 10**6)]
    assert three(job(1, 0), target=2, reservations=reserved) == [0]


@pytest.mark.parametrize(("start", "end"), [(NOW + RESERVATION_HORIZON_S + 1, NOW + 10**6), (NOW - 9, NOW)])
def test_reservation_far_off_or_over_does_not_count(start, end):
    assert three(target=2, reservations=[reservation("far", "gpu-2", start, end)]) == [2]


def test_node_that_we_drained_before_is_chosen_again_whatever_runs_there():
    assert three(job(1, 0, end=None), node0=held(0, "MIXED+DRAIN"), target=2) == [0]


def test_of_nodes_that_we_drained_the_one_free_soonest_is_kept_chosen():
    drained = {f"node{n}": held(n, "MIXED+DRAIN") for n in range(3)}
    assert three(job(1, 0, end=NOW + 9), job(2, 1, end=NOW + 5), job(3, 2, end=None), target=2, **drained) == [1]


def test_node_drained_by_a_person_goes_before_one_in_service():
    assert three(node0=node(0, "IDLE+DRAIN", "bad DIMM", user="root"), target=2) == [0]


def test_node_without_record_goes_before_idle_ones():
    assert three(node0=None, target=2) == [0]


def test_node_that_is_down_goes_before_idle_ones():
    assert three(node0=node(0, "DOWN+NOT_RESPONDING", "Not responding"), target=2) == [0]


def test_terminating_pod_goes_first():
    assert three(job(1, 0, end=None), pod0=pod(0, terminating=True), target=2) == [0]


def queued(number, *ordinals):
    """A job that waits for these nodes by --nodelist."""
    return job(number, state="PENDING", end=None, required=[f"gpu-{n}" for n in ordinals])


@pytest.mark.parametrize(
    "others",
    [(), (job(1, 0), job(2, 1)), (job(1, 0, end=None), job(2, 1, end=None)), (job(1, 0), job(2, 1), job(3, 2, end=NOW + 1))],
    ids=["idle", "busy", "without an end", "itself busy"],
)
def test_node_that_a_pending_job_names_goes_after_all_that_none_names(others):
    """Its record goes with its pod, and the job would wait for ever, or end at slurmctld's next start."""
    assert three(*others, queued(9, 2), target=2) == [1]
    assert three(*others, queued(9, 2), target=1) == [1, 0]
    assert three(*others, queued(9, 2), target=0)[-1] == 2


def test_a_pending_job_that_names_a_node_changes_no_choice_that_is_made_or_not_ours():
    broken = node(0, "UNKNOWN")
    assert three(queued(9, 0, 1, 2), node0=held(0), target=2) == [0], "what is drained stays chosen"
    assert three(queued(9, 2), pod2=pod(2, ready=False), target=2) == [2], "slurm-operator takes it first"
    assert three(queued(9, 1, 2), node0=broken, target=1) == [2, 1], "one that can't be made free stays the last"
    assert three(job(9, state="PENDING", end=None, required=None), target=2) == [2], "it may be any node"


@pytest.mark.parametrize(
    "odd", [node(2, "UNKNOWN"), node(2, "IDLE+FAIL", "disk"), node(2, "DOWN", "fan is broken"), node(2, "")]
)
def test_node_that_cannot_be_made_free_goes_last_and_says_why(odd):
    assert three(job(1, 0, end=None), node2=odd, target=2) == [1]
    assert three(job(1, 0, end=None), node2=odd, target=1) == [1, 0]
    blocked = assessed([pod(2)], [odd])[0]
    assert blocked.kind is Kind.BLOCKED
    assert blocked.trouble


def test_jobs_on_a_node_without_record_block_it():
    assert assessed([pod(0)], [], [job(1, 0)])[0].kind is Kind.BLOCKED


@pytest.mark.parametrize(
    ("reason", "allowed"),
    [
        ("", True),
        (OURS, True),
        (f"{OURS} : Not responding", True),
        ("slurm-operator: Pod is terminating", True),
        ("Pod is terminating", True),
        ("Not responding", True),
        (" : Not responding", True),
        ("Node unexpectedly rebooted", True),
        ("bad DIMM", False),
        ("slinky-iac:dev/gpu-2: scale-in", False),
        ("slinky-iac:prod/gpu: scale-in", False),
    ],
)
def test_no_persons_words_and_no_other_stacks_are_overwritten(reason, allowed):
    assert drainable(node(0, "DOWN", reason), OWNER) is allowed


def test_what_the_operator_takes_first_is_chosen_first_even_if_it_is_busy():
    assert three(job(1, 0, end=None), pod0=pod(0, ready=False), target=2) == [0]
    assert three(job(1, 0, end=None), pod0=pod(0, phase="Failed", ready=False), target=1) == [0, 2]


def test_inside_a_class_that_the_cut_divides_the_cheapest_goes():
    broken = {"pod0": pod(0, ready=False), "pod1": pod(1, ready=False)}
    assert three(job(1, 1, end=None), target=2, **broken) == [0]


def test_nodes_of_one_job_are_removed_together():
    """Six busy nodes with one end: the four of one job go, not two each of two jobs."""
    jobs = [job(1, 0, 1, 2, 3), job(2, 4, 5), job(3, 6, 7)]
    pods, nodes = [pod(n) for n in range(8)], [node(n, "ALLOCATED") for n in range(8)]
    assert sorted(selected(pods, nodes, jobs, 4)) == [0, 1, 2, 3]
    assert sorted(selected(pods, nodes, jobs, 6)) == [6, 7]  # a job that fits goes whole; the higher ordinals
    assert sorted(selected(pods, nodes, jobs, 2)) == [0, 1, 2, 3, 6, 7]


def test_job_paid_for_already_costs_nothing_more():
    """gpu-0 goes first; of the equally dear gpu-1 and gpu-2, the one that gpu-0's own job holds."""
    jobs = [job(1, 0, 1), job(2, 1, end=NOW + 5), job(3, 2), job(4, 2, end=NOW + 5)]
    first = choose(assessed([pod(n) for n in range(3)], [node(n, "MIXED") for n in range(3)], jobs), 1)
    assert [each.pod.ordinal for each in first] == [0, 1]
    workers, rows = [({}, "MIXED")] * 3, [((0, 1), NOW + 3600), ((1,), NOW + 5), ((2,), NOW + 3600), ((2,), NOW + 5)]
    rows = [(where, end, "RUNNING") for where, end in rows]
    assert raw_cost([each.pod.ordinal for each in first], workers, rows)[1] == 1


def test_a_job_without_an_end_counts_beside_one_that_ends_soon():
    """The node with both is the dearer one, and the job without an end keeps it."""
    jobs = [job(1, 2, end=None), job(2, 2, end=NOW + 5), job(3, 1, end=NOW + 9000)]
    pods, nodes = [pod(1), pod(2)], [node(1, "MIXED"), node(2, "MIXED")]
    assert selected(pods, nodes, jobs, 1) == [1]
    dearest = next(each for each in assessed(pods, nodes, jobs) if each.pod.ordinal == 2)
    assert (dearest.endless, dearest.end, dearest.holder) == (True, 0, 1)


def test_job_on_a_pod_that_the_operator_takes_first_costs_nothing_more():
    broken = pod(1, ready=False)
    assert three(job(1, 2), job(2, 0, 1), pod1=broken, target=1) == [1, 0]


def test_nobody_is_chosen_when_nobody_is_too_many():
    assert three(target=3) == []
    assert three(target=9) == []


def test_order_is_by_cost_so_that_idle_nodes_are_drained_first():
    assert three(job(1, 2, end=NOW + 9), job(2, 1, end=NOW + 5), target=0) == [0, 1, 2]


ENDS = st.sampled_from([None, NOW + 10, NOW + 10, NOW + 20])
JOBS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True),
        ENDS,
        st.sampled_from(["RUNNING"] * 4 + ["SUSPENDED"]),
    ),
    max_size=6,
)
STATES = st.sampled_from(["IDLE"] * 5 + ["DOWN", "IDLE+DRAIN", "UNKNOWN", "ours", "none"])
NAMES = st.sets(st.integers(0, 6), max_size=3)
PODS = st.sampled_from(
    [{}] * 6 + [{"ready": False}, {"scheduled": False, "phase": "Pending", "ready": False}, {"terminating": True}]
)


RANKS = {"ours": 1, "none": 2, "DOWN": 3, "IDLE+DRAIN": 4, "IDLE": 5, "MIXED": 6}
BUSY, ENDLESS, NAMED, UNCLEAR = 6, 8, 9, 10


def raw_row(number, workers, jobs, named):
    """What one pod's removal costs, by the rows alone: rank, whether an end is unknown, the last end, jobs; and the job that
    keeps it longest, the widest of these."""
    changes, state = workers[number]
    here = [
        (job, where, None if kind == "SUSPENDED" else end)
        for job, (where, end, kind) in enumerate(jobs, 1)
        if number in where
    ]
    endless = [row for row in here if row[2] is None]
    last = max((end for _, _, end in here if end is not None), default=0)
    longest = endless or [row for row in here if row[2] == last]
    holder = min(((-len(where), job) for job, where, _ in longest), default=(0, None))[1]
    if changes.get("terminating"):
        rank = 0
    elif state == "UNKNOWN" or (state == "none" and here):
        rank = UNCLEAR
    elif number in named and state == "IDLE":
        rank = NAMED
    elif here and state != "ours":
        rank = ENDLESS if endless else BUSY
    else:
        rank = RANKS[state]
    return (rank, bool(endless), 0 if endless else last, len(here)), holder


def raw_class(number, workers):
    """What the operator compares before any cost: without a machine, not running, not ready go first."""
    changes, _ = workers[number]
    return changes.get("scheduled", True), changes.get("phase", "Running") == "Running", changes.get("ready", True)


def raw_classes(choice, workers):
    return sorted(raw_class(each.pod.ordinal, workers) for each in choice)


def raw_cost(numbers, workers, jobs, named=()):
    """What a choice costs: the dearest pods first; of equally dear choices, how many jobs are waited for longest."""
    rows = [raw_row(number, workers, jobs, named) for number in numbers]
    return tuple(sorted((cost for cost, _ in rows), reverse=True)), len({holder for _, holder in rows} - {None})


def lists(workers, jobs, named):
    pods = [pod(n, **changes) for n, (changes, _) in enumerate(workers)]
    nodes = [held(n) if state == "ours" else node(n, state) for n, (_, state) in enumerate(workers) if state != "none"]
    made = [job(n, *where, end=end, state=state) for n, (where, end, state) in enumerate(jobs, 1)]
    return pods, nodes, [*made, *(queued(100 + number, number) for number in named)]


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(PODS, STATES), min_size=1, max_size=7), JOBS, NAMES, st.integers(0, 7))
def test_no_other_choice_that_the_operator_would_make_is_cheaper(workers, jobs, named, target):
    pods, nodes, made = lists(workers, jobs, named)
    candidates = assessed(pods, nodes, made)
    choice = choose(candidates, target)
    count = max(len(pods) - target, 0)
    assert len(choice) == len({each.pod.name for each in choice}) == count
    classes = sorted(raw_class(number, workers) for number in range(len(pods)))[:count]
    possible = [others for others in combinations(candidates, count) if raw_classes(others, workers) == classes]
    assert raw_classes(choice, workers) == classes
    if not possible:
        assert not choice
        return
    costs = [raw_cost([each.pod.ordinal for each in others], workers, jobs, named) for others in possible]
    assert raw_cost([each.pod.ordinal for each in choice], workers, jobs, named) == min(costs)


@given(
    st.lists(st.tuples(PODS, STATES), min_size=1, max_size=7),
    JOBS,
    NAMES,
    st.integers(0, 7),
    st.randoms(use_true_random=False),
)
def test_choice_does_not_depend_on_the_order_of_the_lists(workers, jobs, named, target, dice):
    pods, nodes, made = lists(workers, jobs, named)
    first = selected(pods, nodes, made, target)
    for each in (pods, nodes, made):
        dice.shuffle(each)
    assert selected(pods, nodes, made, target) == first
