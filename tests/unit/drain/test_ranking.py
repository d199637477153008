"""The ranking is the operator's, release by release: a table of its steps, and its own comparison transcribed."""

from functools import cmp_to_key
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.ranking import orders_cordoned_pods, overrides_reasons, predicted_victims
from slinky_iac.kube.annotations import read_cost, read_flag
from slinky_iac.releases import OperatorVersion
from tests.unit.drain.made import NOW, pod

OLD = ["1.0.0", "1.0.1", "1.0.4", "1.1.0", "1.1.1", "1.2.0"]
FIXED = ["1.0.5", "1.0.6", "1.1.2", "1.2.1", "1.2.2"]

# One row a step: the first pod goes, although every later step speaks for the second.
STEPS = [
    ("unscheduled before scheduled", {"scheduled": False, "phase": "Running"}, {"phase": "Pending", "ready": False}),
    ("pending before unknown", {"phase": "Pending"}, {"phase": "Unknown", "ready": False}),
    ("failed weighs as pending", {"phase": "Failed"}, {"phase": "Unknown", "ready": False}),
    ("unknown before running", {"phase": "Unknown"}, {"ready": False, "deletion_cost": -5}),
    ("not ready before ready", {"ready": False}, {"deletion_cost": -(2**31)}),
    ("lower cost first", {"deletion_cost": -1, "deadline": NOW}, {"deletion_cost": 0}),
    ("no deadline before any", {}, {"deadline": NOW, "cordon": True}),
    ("earlier deadline first", {"deadline": NOW}, {"deadline": NOW + 1, "cordon": True}),
    ("cordoned first", {"cordon": True}, {"ordinal": 9}),
    ("higher ordinal first", {"ordinal": 9, "ready_changed": NOW - 9}, {"ready_changed": NOW}),
]


@pytest.mark.parametrize("version", OLD + FIXED)
@pytest.mark.parametrize(("step", "goes", "stays"), STEPS, ids=[row[0] for row in STEPS])
def test_each_step_of_the_ranking_outweighs_all_later_ones(version, step, goes, stays):
    one, two = pod(1, **{"name": "goes", **goes}), pod(2, **{"name": "stays", "ordinal": 2, **stays})
    for order in permutations((one, two)):
        prediction = predicted_victims(order, 1, OperatorVersion.parse(version))
        assert prediction.victims == ("goes",), step
        assert prediction.uncertain == frozenset()


@pytest.mark.parametrize(("pods", "replicas", "count"), [(4, 4, 0), (4, 9, 0), (4, 1, 3), (4, 0, 4), (0, 0, 0)])
def test_as_many_go_as_there_are_too_many_pods(pods, replicas, count):
    prediction = predicted_victims([pod(n) for n in range(pods)], replicas, OperatorVersion(1, 1, 0))
    assert prediction.victims == tuple(f"hpc-worker-gpu-{n}" for n in range(pods - 1, pods - 1 - count, -1))


def test_terminating_and_failed_pods_are_counted_like_any_other():
    pods = [pod(0), pod(1), pod(2, terminating=True), pod(3, phase="Failed", ready=False)]
    assert predicted_victims(pods, 3, OperatorVersion(1, 1, 0)).victims == ("hpc-worker-gpu-3",)


@pytest.mark.parametrize("version", OLD)
def test_cut_between_cordoned_equals_is_uncertain_in_old_releases(version):
    pods = [pod(0), pod(1, cordon=True), pod(2, cordon=True), pod(3, cordon=True, deletion_cost=7)]
    prediction = predicted_victims(pods, 3, OperatorVersion.parse(version))
    assert prediction.uncertain == {"hpc-worker-gpu-1", "hpc-worker-gpu-2"}
    assert not prediction.is_exactly({"hpc-worker-gpu-2"})


@pytest.mark.parametrize("version", FIXED)
def test_cut_between_cordoned_equals_is_certain_since_the_fix(version):
    pods = [pod(0), pod(1, cordon=True), pod(2, cordon=True)]
    assert predicted_victims(pods, 2, OperatorVersion.parse(version)).is_exactly({"hpc-worker-gpu-2"})


@pytest.mark.parametrize("version", OLD)
def test_a_deletion_cost_makes_old_releases_certain(version):
    pods = [pod(0), pod(1, cordon=True, deletion_cost=-1), pod(2, cordon=True)]
    assert predicted_victims(pods, 2, OperatorVersion.parse(version)).is_exactly({"hpc-worker-gpu-1"})


@pytest.mark.parametrize("version", OLD + FIXED)
def test_releases_are_told_apart_as_their_sources_are(version):
    assert orders_cordoned_pods(OperatorVersion.parse(version)) is (version in FIXED)
    assert overrides_reasons(OperatorVersion.parse(version)) is (version in FIXED or version == "1.2.0")


COSTS = [
    *((None, 0), ("", 0), ("0", 0), ("7", 7), ("-7", -7), ("-007", -7), ("-0", 0), ("2147483647", 2**31 - 1)),
    *(("-2147483648", -(2**31)), ("2147483648", 0), ("-2147483649", 0), ("+3", 0), ("007", 0), ("00", 0), ("-", 0)),
    *(("x", 0), ("1_0", 0), (" 1", 0), ("1.0", 0), ("\u0667", 0), ("9" * 400, 0)),
]


@pytest.mark.parametrize(
    ("text", "cost"),
    COSTS,
)
def test_cost_is_read_as_the_operator_reads_it(text, cost):
    assert read_cost(text) == cost


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        *((word, True) for word in ("1", "t", "T", "true", "True", "TRUE")),
        *((word, False) for word in (None, "", "yes", "tRUE")),
    ],
)
def test_flag_is_read_as_the_operator_reads_it(text, flag):
    assert read_flag(text) is flag


PODS = st.builds(
    dict,
    scheduled=st.booleans(),
    phase=st.sampled_from(["Pending", "Unknown", "Running", "Running", "Failed"]),
    ready=st.booleans(),
    deletion_cost=st.sampled_from([0, 0, -1, 5]),
    deadline=st.sampled_from([None, NOW, NOW + 5]),
    cordon=st.booleans(),
)


def less(one, two):  # noqa: PLR0911 - one return a step, as in Go
    """ActivePods.Less of the fixed releases up to the ordinal, which no two pods share."""
    weight = {"Pending": 0, "Unknown": 1, "Running": 2}
    if one.scheduled != two.scheduled:
        return not one.scheduled
    if weight.get(one.status.phase, 0) != weight.get(two.status.phase, 0):
        return weight.get(one.status.phase, 0) < weight.get(two.status.phase, 0)
    if one.ready != two.ready:
        return not one.ready
    if one.deletion_cost != two.deletion_cost:
        return one.deletion_cost < two.deletion_cost
    if one.deadline != two.deadline:
        return (one.deadline or 0) < (two.deadline or 0)
    if one.cordon != two.cordon:
        return one.cordon
    return one.ordinal > two.ordinal


@given(st.lists(PODS, max_size=8), st.integers(0, 8))
def test_prediction_is_the_operators_own_sort(raw, replicas):
    pods = [pod(n, **values) for n, values in enumerate(raw)]
    ranked = sorted(pods, key=cmp_to_key(lambda a, b: -1 if less(a, b) else 1))
    expected = tuple(each.name for each in ranked[: max(len(pods) - replicas, 0)])
    assert predicted_victims(pods, replicas, OperatorVersion(1, 2, 1)).victims == expected


@given(st.lists(PODS, max_size=7), st.integers(0, 7), st.randoms(use_true_random=False))
def test_old_releases_take_only_what_is_certain_or_named_uncertain(raw, replicas, dice):
    """Whatever Go's sort makes of the contradiction: any order of cordoned equals is covered."""
    pods = [pod(n, **values) for n, values in enumerate(raw)]
    dice.shuffle(pods)
    ranked = sorted(
        pods,
        key=lambda p: (
            p.scheduled,
            {"Pending": 0, "Unknown": 1, "Running": 2}.get(p.status.phase, 0),
            p.ready,
            p.deletion_cost,
            p.deadline or 0,
            not p.cordon,
            0 if p.cordon else -p.ordinal,
        ),
    )
    taken = {each.name for each in ranked[: max(len(pods) - replicas, 0)]}
    prediction = predicted_victims(pods, replicas, OperatorVersion(1, 1, 0))
    assert taken ^ set(prediction.victims) <= prediction.uncertain
    assert len(taken) == len(prediction.victims)
