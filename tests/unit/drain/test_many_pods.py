"""Writes of many pods: some at once, each on the version that was looked at, and all over before anything follows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.free import LEFT_BEHIND
from slinky_iac.drain.protocol import (
    ClearHold,
    CordonAnnotate,
    DeletePods,
    Mark,
    RenewHold,
    Replaced,
    SetCosts,
    SetReplicas,
    Step,
)
from slinky_iac.drain.scale import forget_removed, settle
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.errors import DrainBlocked, KubeConflict
from slinky_iac.kube.wire import Clock
from slinky_iac.names import ANNOTATION_DELETION_COST, ANNOTATION_POD_CORDON, CONDITION_PREFIX
from slinky_iac.slurmrest.concurrent_calls import AT_ONCE
from tests.gate_site import NODESETS, PODS, Site
from tests.made.rows import node, number
from tests.unit.drain.made import OWNER
from tests.unit.drain.model_session import settings

PODS_COUNT = 60
RESTAPI = "/apis/apps/v1/namespaces/slurm/deployments/hpc-restapi"
NAMES = tuple(f"hpc-worker-g0-{ordinal}" for ordinal in range(PODS_COUNT))
MARKS = tuple(Mark(name, -7, "tag") for name in NAMES)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(1, each=PODS_COUNT)
    with made.server:
        yield made


@pytest.fixture
def looked(site: Site, tmp_path: Path) -> Iterator[Session]:
    """A gate that has looked, at a server that takes its time from then on."""
    reach = site.reach(tmp_path)
    with open_session(reach, "", report=lambda *_args, **_more: None) as session:
        session.observe(settings(1, resource="hpc-worker-g0", reach=reach))
        site.server.delay_s, site.server.most_at_once = 0.02, 0
        yield session


def annotated(site: Site, annotation: str) -> list[str]:
    pods = site.server.objects[PODS]["items"]
    return [pod["metadata"]["name"] for pod in pods if annotation in pod["metadata"].get("annotations", {})]


@pytest.mark.parametrize(
    ("step", "annotation"),
    [(SetCosts(MARKS), ANNOTATION_DELETION_COST), (CordonAnnotate(NAMES), ANNOTATION_POD_CORDON)],
)
def test_pods_are_annotated_some_at_once_each_in_one_request(
    site: Site, looked: Session, step: SetCosts | CordonAnnotate, annotation: str
) -> None:
    """One after the other, 1,000 pods took 10 to 50 s a pass."""
    looked.act(step, OWNER)
    assert annotated(site, annotation) == list(NAMES)
    assert 1 < site.server.most_at_once <= AT_ONCE
    assert sorted(site.server.written) == sorted(("PATCH", f"{PODS}/{name}") for name in NAMES)


def shows(site: Site, count: int) -> None:
    """slurm-operator reports the drain of so many more pods: a write each, while the gate looks on."""
    drained = {name: node for name, node in site.slurm.nodes.items() if "DRAIN" in node["state"]}
    there = [(body, drained.get(body["spec"]["hostname"])) for body in site.server.objects[PODS]["items"]]
    late = [(body, record) for body, record in there if record and len(body["status"]["conditions"]) == 1]
    for body, record in late[:count]:
        words = {"Idle": "", "Drain": record["reason"]}
        body["status"]["conditions"] += [
            {"type": f"{CONDITION_PREFIX}{state}", "status": "True", "message": text} for state, text in words.items()
        ]
        body["metadata"]["resourceVersion"] = str(int(body["metadata"]["resourceVersion"]) + 1)


class Watched(Session):
    """A gate whose operator reports ten more drains after each act and in each pause; it ends before it writes replicas."""

    def __init__(self, site: Site, reach: Reach, stack: ExitStack) -> None:
        super().__init__(reach, lambda *_args, **_more: None, stack, budget_s=60, clock=Clock())
        self.site, self.acts = site, list[str]()

    def act(self, step: Step, owner: Owner) -> None:
        self.acts.append(type(step).__name__)
        if isinstance(step, SetReplicas):
            raise DrainBlocked("before the write")
        super().act(step, owner)
        shows(self.site, 10)

    def pause(self, seconds: float) -> bool:
        del seconds
        shows(self.site, 10)
        return False

    def engine_lives(self) -> bool:
        return True


@pytest.mark.parametrize("held", [False, True])
def test_drains_that_the_operator_reports_in_six_portions_are_cordoned_in_one_pass(
    site: Site, tmp_path: Path, held: bool
) -> None:
    """Each portion had a pass of its own, after a whole look of its own: some seconds each at 1,000 nodes. With a hold,
    a longer one is noted on each pod by the same write, and set in the same pass."""
    site.slurm.jobs.clear()
    site.slurm.wall = lambda: int(time.time())
    site.server.objects[f"{NODESETS}/hpc-worker-g0"]["spec"]["updateStrategy"] = {"type": "OnDelete"}
    site.server.objects[RESTAPI] = {"metadata": {"name": "hpc-restapi"}, "status": {"availableReplicas": 1}}
    gate = settings(0, resource="hpc-worker-g0", reach=site.reach(tmp_path), policy=DrainPolicy(hold_factor=2 * held))
    with ExitStack() as stack:
        session = Watched(site, gate.reach, stack)
        with pytest.raises(DrainBlocked, match="before the write"):
            settle(session, gate)
    cordoned = "RenewHold" if held else "CordonAnnotate"
    assert session.acts == ["SetCosts", "Drain", "TriggerSync", cordoned, "SetReplicas"]
    asked = site.asked()
    assert sum(asked.pop(name) for name in NAMES) == 2 * PODS_COUNT + 1, "each pod marked and cordoned, one touched"
    whole = ("slurm/v/diag/", "slurm/v/jobs/state/", "slurm/v/conf", "slurm/v/reservations/")
    looks = ("pods", "horizontalpodautoscalers", "scaledobjects", "hpc-restapi")
    once = ("jwt", "slurm/v/ping/")
    assert asked == {
        **dict.fromkeys(once, 1),
        **dict.fromkeys(whole, 5),  # 9 with six passes
        **dict.fromkeys(looks, 12 - held),  # 16
        "NodeSet": 16 - held,  # 20
        "slurm/v/nodes/": 13,  # 17
    }


def test_a_pod_that_another_has_written_since_is_left_alone_and_all_writes_are_over_by_then(
    site: Site, looked: Session
) -> None:
    theirs = site.server.objects[f"{PODS}/{NAMES[9]}"]["metadata"]
    theirs |= {"annotations": {ANNOTATION_DELETION_COST: "5"}, "resourceVersion": "2"}
    with pytest.raises(KubeConflict, match=NAMES[9]):
        looked.act(SetCosts(MARKS), OWNER)
    assert site.server.under_way == 0
    before = len(site.server.asked)
    assert theirs["annotations"] == {ANNOTATION_DELETION_COST: "5"}
    assert {*NAMES[:9]} <= set(annotated(site, ANNOTATION_DELETION_COST))
    assert len(annotated(site, ANNOTATION_DELETION_COST)) < PODS_COUNT, "what was not begun is left for the next look"
    assert len(site.server.asked) == before


def test_pods_are_deleted_some_at_once_each_after_its_record(site: Site, looked: Session) -> None:
    """One look a deletion: a batch of 500 pods took 500 lists of pods and nodes."""
    going = NAMES[:AT_ONCE]
    theirs = site.server.objects[f"{PODS}/{NAMES[1]}"]["metadata"]
    theirs |= {"annotations": {ANNOTATION_DELETION_COST: "5"}, "resourceVersion": "2"}
    with pytest.raises(KubeConflict, match=NAMES[1]):
        looked.act(DeletePods(tuple(Replaced(name, name.removeprefix("hpc-worker-")) for name in going)), OWNER)
    assert site.server.most_at_once > 1
    gone = [name for name in going if f"{PODS}/{name}" not in site.server.objects]
    assert gone == [name for name in going if name != NAMES[1]]
    order = [path.rpartition("/")[2] for method, path in site.server.written if method == "DELETE"]
    assert all(order.index(name.removeprefix("hpc-worker-")) < order.index(name) for name in going)
    lists = [path for path in site.server.asked if path.endswith("/jobs/state/")]
    assert len(lists) == 2, "who is named by --nodelist is asked once for all of them"


def test_records_of_removed_nodes_are_deleted_some_at_once(site: Site, looked: Session) -> None:
    """500 removed nodes are 500 requests."""
    left = [f"gpu-{ordinal}" for ordinal in range(2 * AT_ONCE)]
    site.slurm.add(*(node(name, "DOWN", "DYNAMIC_NORM", reason=LEFT_BEHIND[0], user="slurm") for name in left))
    said: list[str] = []
    looked.report = lambda text, **_more: said.append(text)
    forget_removed(looked, settings(0))
    assert not {*left} & site.slurm.nodes.keys()
    assert site.server.most_at_once > 1
    assert sorted(said) == sorted(f"deleted Slurm's record of {name}, which has no pod any more" for name in left)


@pytest.mark.parametrize(
    ("step", "slurm_first"),
    [(RenewHold(("g0-0",), 900, MARKS), False), (ClearHold({"g0-0": 900}, MARKS), True)],
)
def test_marks_are_all_written_before_or_after_the_act_on_slurm(
    site: Site, looked: Session, step: RenewHold | ClearHold, slurm_first: bool
) -> None:
    """The mark says that a hold is being set, and that it was cleared."""
    if slurm_first:
        drained = {"state": ["IDLE", "DRAIN"], "reason": "bad DIMM", "resume_after": number(900)}
        site.slurm.nodes["g0-0"] |= drained
    looked.act(step, OWNER)
    of_slurm = [at for at, (method, path) in enumerate(site.server.written) if "/proxy/" in path]
    marks = [at for at, (method, _) in enumerate(site.server.written) if method == "PATCH"]
    assert len(marks) == PODS_COUNT
    assert max(of_slurm) < min(marks) if slurm_first else max(marks) < min(of_slurm)
