"""A write lands on a newer version only where nothing that the look concluded from has changed: each part, alone."""

import msgspec
import pytest

from slinky_iac import names
from slinky_iac.drain.fresh import as_seen, same_marks, same_pod
from slinky_iac.kube.objects import NodeSet, Pod
from tests.unit.drain.made import nodeset, pod, seen

LOOK = seen([pod(0, revision="a"), pod(1, revision="a")], [])


def plain(value):
    return msgspec.to_builtins(value)


def changed(value, kind, path, to):
    """The same with one value of its wire format changed."""
    body = plain(value)
    at = body
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return msgspec.convert(body, kind)


NODESET = {
    "uid": (("metadata", "uid"), "another"),
    "generation": (("metadata", "generation"), 2),
    "deletion": (("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z"),
    "observed": (("status", "observedGeneration"), 0),
    "revision": (("status", "nodeSetHash"), "b"),
    "annotation": (("metadata", "annotations"), {"slinky-iac/freeze": ""}),
}
POD = {
    "uid": (("metadata", "uid"), "another"),
    "deletion": (("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z"),
    "tag": (("metadata", "annotations"), {names.ANNOTATION_GATE: "x"}),
    "cost": (("metadata", "annotations"), {names.ANNOTATION_DELETION_COST: "1"}),
    "cordon": (("metadata", "annotations"), {names.ANNOTATION_POD_CORDON: "true"}),
    "machine": (("spec", "nodeName"), ""),
    "phase": (("status", "phase"), "Failed"),
    "host name": (("spec", "hostname"), "gpu-7"),
    "conditions": (("status", "conditions"), []),
    "revision": (("metadata", "labels"), {names.LABEL_POD_INDEX: "1"}),
}
DRAIN = f"{names.CONDITION_PREFIX}Drain"


def pods(*change):
    last = LOOK.pods[1]
    return (LOOK.pods[0], changed(last, Pod, *change) if change else last)


@pytest.mark.parametrize("name", NODESET)
def test_each_part_of_a_nodeset(name):
    other = changed(nodeset(2), NodeSet, *NODESET[name])
    assert as_seen(LOOK, nodeset(2), pods(), 1)
    assert not as_seen(LOOK, other, pods(), 1)


def test_a_permission_of_our_own_is_no_change():
    other = changed(nodeset(2), NodeSet, ("metadata", "annotations"), {names.ANNOTATION_PERMIT: "scale:1@1"})
    assert as_seen(LOOK, other, pods(), 1)


@pytest.mark.parametrize("name", POD)
def test_each_part_of_a_pod(name):
    assert not as_seen(LOOK, nodeset(2), pods(*POD[name]), 0)
    assert not same_pod(LOOK.pods[1], pods(*POD[name])[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((), ({"type": DRAIN, "status": "True", "message": ""},)),
        ((), ({"type": f"{names.CONDITION_PREFIX}Idle", "status": "True"}, {"type": DRAIN, "status": "True"})),
        (({"type": DRAIN, "status": "True", "message": "a"},), ({"type": DRAIN, "status": "True", "message": "b"},)),
    ],
)
def test_the_drain_that_the_operator_shows(one, other):
    first, second = (
        changed(LOOK.pods[1], Pod, ("status", "conditions"), [*plain(LOOK.pods[1])["status"]["conditions"], *each])
        for each in (one, other)
    )
    assert not same_pod(first, second)
    assert same_marks(first, second)


def test_a_pod_more_and_a_pod_less():
    assert not as_seen(LOOK, nodeset(2), LOOK.pods[:1], 1)
    assert not as_seen(LOOK, nodeset(2), (*LOOK.pods, pod(2)), 1)


def test_other_pods_that_the_operator_would_take():
    """A job's end changes `pod-deadline` only, which is part of the ranking."""
    later = pods(("metadata", "annotations"), {names.ANNOTATION_POD_DEADLINE: "2030-01-01T00:00:00Z"})
    assert not as_seen(LOOK, nodeset(2), later, 1)
