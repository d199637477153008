"""The real hands of a gate on the model, where a look takes its time and others write meanwhile.

slurm-operator writes the NodeSet's status with each job that starts or ends (``syncNodeSetStatus``), and a pod's annotation
with each job's end: each such write makes a new resourceVersion, and a write on an earlier one is refused.
"""

from __future__ import annotations

from contextlib import ExitStack

from msgspec.structs import replace as with_fields

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.observe import Look
from slinky_iac.drain.protocol import Drain, RenewHold, SetReason, Undrain
from slinky_iac.drain.session import Session
from slinky_iac.errors import KubeConflict, KubeNotFound
from slinky_iac.kube.wire import Clock
from slinky_iac.slurmrest.drains import BulkResult
from tests.unit.drain.model import World

KEYS = {
    names.ANNOTATION_GATE: "gate",
    names.ANNOTATION_DELETION_COST: "pod-deletion-cost",
    names.ANNOTATION_POD_CORDON: "pod-cordon",
}


class BusyKube:
    """An API server that refuses a write on any but the newest resourceVersion of what it writes."""

    def __init__(self, w: World, counts_s: float, others_s: float = 0) -> None:
        """``counts_s``: between two writes of the status. ``others_s``: a request takes so long."""
        self.w, self.counts_s, self.others_s = w, counts_s, others_s
        self.written, self.conflicts = 0, 0
        self.annotations: dict[str, str] = {}
        self.deadlines = 0
        self.gone = False

    def _version(self) -> str:
        return f"{self.written}.{int(self.w.now // self.counts_s)}"

    def nodeset(self, _namespace, _name):
        if self.gone:
            raise KubeNotFound("gone", status=404)
        found = self.w.observe().nodeset
        meta = with_fields(
            found.metadata, resource_version=self._version(), annotations={**found.metadata.annotations, **self.annotations}
        )
        return with_fields(found, metadata=meta)

    def _take(self, seen_version):
        self.w.now += self.others_s
        if seen_version != self._version():
            self.conflicts += 1
            raise KubeConflict("somebody changed it since we looked. Look again", status=409)
        self.written += 1

    def annotate_nodeset(self, namespace, state, annotations):
        self._take(state.metadata.resource_version)
        for key, text in annotations.items():
            if text is None:
                self.annotations.pop(key, None)
            else:
                self.annotations[key] = text
        return self.nodeset(namespace, state.name)

    def set_replicas(self, namespace, state, replicas):
        self._take(state.metadata.resource_version)
        self.w.replicas, self.w.generation = replicas, self.w.generation + 1
        return self.nodeset(namespace, state.name)

    def delete_nodeset(self, _namespace, state):
        self._take(state.metadata.resource_version)
        self.gone = True

    def pods_of(self, *_):
        return tuple(self._at(pod) for pod in self.w.observe().pods)

    def _at(self, pod):
        return with_fields(pod, metadata=with_fields(pod.metadata, resource_version=self._version()))

    def pod(self, _namespace, name):
        return next((pod for pod in self.pods_of() if pod.name == name), None)

    def annotate_pod(self, _namespace, pod, annotations):
        self._take(pod.metadata.resource_version)
        there = self.w._pod(pod.name).annotations
        for key, text in annotations.items():
            if text is None:
                there.pop(KEYS[key], None)
            else:
                there[KEYS[key]] = text

    def listed(self, *_, **__):
        return ()


class SlurmOfModel:
    """What the gate does in Slurm, done in the model."""

    def __init__(self, w: World) -> None:
        self.w = w

    def drain(self, nodes, reason, hold, *, seen=None):
        del seen
        renews = all(self.w.nodes[name].drain for name in nodes)
        self.w.act(RenewHold(nodes, hold) if renews else Drain(nodes, reason, hold))
        return BulkResult(())

    def undrain(self, nodes, *, owners):
        del owners
        self.w.act(Undrain(nodes))
        return BulkResult(())

    def set_reason(self, nodes, reason, *, owners):
        del owners
        self.w.act(SetReason(nodes, reason))
        return BulkResult(())


class BusySession(Session):
    """A gate's own session; what it sees and does is the model. A look takes ``look_s``."""

    slurm = None
    watched = True

    def __init__(self, w: World, kube: BusyKube, stack: ExitStack, look_s: float) -> None:
        super().__init__(Reach("slurm", "hpc-restapi", "jwt", "jwt.key"), self._say, stack, budget_s=1, clock=Clock())
        self.w, self.kube, self.slurm, self.look_s = w, kube, SlurmOfModel(w), look_s
        self.said: list[str] = []

    def _say(self, text, **_more):
        self.said.append(text)

    def now(self):
        return int(self.w.now)

    def steady(self):
        return float(self.w.now)

    def engine_lives(self):
        return True

    def pause(self, seconds):
        self.w.now += max(seconds, 1)
        self.w.now = int(self.w.now)
        self.w.expire_holds()
        self.w.reap()
        self.w.sync(refresh=True)
        return False

    def _look(self, settings, last):
        del settings, last
        self.w.now = int(self.w.now)
        if self.look_s:
            self.w.sync(refresh=True)  # the operator looked during the last one
        seen = self.w.observe()
        if self.kube.gone:
            seen = type(seen)(seen.now, seen.version)
        else:
            state = self.kube.nodeset("", "")
            seen = type(seen)(**{**vars_of(seen), "nodeset": state, "pods": self.kube.pods_of()})
        self._require_last(seen.nodeset)
        self._seen, self._pods = seen, seen.pods_by_name
        self.w.now = int(self.w.now + self.look_s)
        return Look(seen)


def vars_of(seen):
    """Its fields, without what was derived from them."""
    return {name: getattr(seen, name) for name in seen.__dataclass_fields__}
