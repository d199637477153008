"""The model as the program meets it: what it sees of the machinery, and its steps carried out there.

The hands check, whatever decided a step, that it touches nothing of a person's, of the operator's or of another gate's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.protocol import (
    Cancel,
    ClearHold,
    CordonAnnotate,
    DeleteNodeSet,
    DeletePods,
    Drain,
    Observation,
    Release,
    RenewHold,
    Requeue,
    Resume,
    RevokePermit,
    SetCosts,
    SetReason,
    SetReplicas,
    Signal,
    TriggerSync,
    Undrain,
)
from slinky_iac.kube import objects as kube
from slinky_iac.releases import OperatorVersion
from slinky_iac.slurmrest.concurrent_calls import AT_ONCE
from tests.made.jobs import job as made_job
from tests.made.nodes import node as made_node
from tests.made.nodesets import nodeset
from tests.made.pods import pod as made_pod
from tests.unit.drain.operator_model import OPERATOR, PERSON, Job, Machinery, Node, Pod

__all__ = ["OPERATOR", "OURS", "PERSON", "Job", "Node", "Pod", "World", "world"]

OURS = "slinky-iac:dev/gpu"
_node, _job, _pod, _nodeset = (lru_cache(maxsize=1 << 13)(make) for make in (made_node, made_job, made_pod, nodeset))
"""Most of what a walk sees is as it was at the last look: a frozen value that looks the same is made once."""


@dataclass
class World(Machinery):
    """Everything outside the program, with the program's eyes and hands in it."""

    permitted: bool = False
    """A gate was cut off between its permission and the write."""

    # -- eyes ----------------------------------------------------------------------------------------------------------
    def observe(self) -> Observation:
        cluster = None
        if self.rest_up:
            nodes = [
                _node(
                    each.name, "+".join(sorted(self.states(each))), reason=each.reason, user=each.user,
                    reason_changed_at=each.reason_at, resume_after=each.resume_after,
                )
                for each in self.nodes.values()
            ]  # fmt: skip
            jobs = [
                _job(
                    each.job_id, ",".join(each.nodes), _state(each), start_time=each.start, end_time=each.end,
                    limit=None if each.end is None else 10, requeue=each.requeueable, partition="",
                )
                for each in self.jobs.values()
            ]  # fmt: skip
            cluster = ClusterView.of(nodes, jobs)
        return Observation(
            now=self.now,
            version=self.version,
            pods=tuple(self._view(each) for each in self.pods.values()),
            nodeset=_nodeset(
                "hpc-worker-gpu",
                self.replicas,
                generation=self.generation,
                observed_generation=self.observed_generation,
                updated=len(self.pods),
                permitted=self.permitted,
                on_delete=self.on_delete,
                revision=f"v{self.template}" if self.generation == self.observed_generation else "v0",
            ),
            cluster=cluster,
            problem="" if self.rest_up else "connection refused",
        )

    def _view(self, each: Pod) -> kube.Pod:
        return self._shown(each, ordinal=each.ordinal, revision=f"v{each.template}")

    @staticmethod
    def _shown(each: Pod, make: Callable[..., kube.Pod] = _pod, **of_its_mode: object) -> kube.Pod:
        return make(
            each.name,
            slurm_node=each.node,
            scheduled=each.scheduled,
            phase="Running" if each.running else "Pending",
            ready=each.ready,
            terminating=each.terminating,
            cost_text=each.annotations.get("pod-deletion-cost"),
            deadline=each.deadline,
            cordon=each.cordon,
            gate=each.annotations.get("gate", ""),
            ready_changed=each.ready_changed,
            created=each.created,
            slurm_states=frozenset(each.conditions),
            slurm_reason=each.condition_reason,
            **of_its_mode,
        )

    # -- hands ---------------------------------------------------------------------------------------------------------
    def act(self, step: object, share: float = 1.0) -> None:
        """Carry out a step, or the first ``share`` of it, and check that it may be."""
        on_pods = {
            SetCosts: self._set_costs,
            TriggerSync: self._set_costs,
            CordonAnnotate: self._cordon_annotate,
            Release: self._release,
            RevokePermit: self._revoke,
            SetReplicas: self._set_replicas,
            DeleteNodeSet: self._delete_nodeset,
            DeletePods: self._delete_pods,
            RenewHold: self._renew,
        }
        on_slurm = {
            Drain: self._drain,
            ClearHold: self._clear,
            Undrain: self._undrain,
            SetReason: self._reword,
            Resume: self._resume,
            Requeue: self._end_jobs,
            Cancel: self._end_jobs,
            Signal: self._signal,
        }
        if type(step) in on_pods:
            on_pods[type(step)](step, share)
        else:
            act = on_slurm[type(step)]
            if self.rest_up:
                act(step, share)

    def _set_costs(self, step, share):
        for mark in self._part(step.pods, share):
            annotations = self._pod(mark.pod).annotations
            assert "dev/gpu" in annotations.get("gate", "dev/gpu"), "another gate's tag overwritten"
            annotations["pod-deletion-cost"], annotations["gate"] = str(mark.cost), mark.tag
            node = self.nodes.get(self._pod(mark.pod).node)
            if node is not None and node.reason.startswith(OURS):
                node.note_lost = False

    def holds_under_others(self) -> list[str]:
        """Drains of others that slurmctld would end at a moment that we set and noted."""
        tagged = {
            pod.node for pod in self.pods.values() if not pod.terminating and "dev/gpu" in pod.annotations.get("gate", "")
        }
        return [
            f"{node.name}: {node.reason}"
            for node in self.nodes.values()
            if node.name in tagged and node.drain and not node.reason.startswith(OURS)
            if node.hold_is_ours and node.resume_after is not None and not node.note_lost
        ]

    def _set_replicas(self, step, share):
        if share > 0:
            added = self.names_coming(step.replicas) - self.names_coming(self.replicas)
            used = {name for name in added if self.in_use(name)}
            assert not used or not self.rest_up, f"raised over names in use: {used}"  # R5
            self.replicas, self.generation = step.replicas, self.generation + 1

    def _delete_nodeset(self, _step, share):
        """All its pods go at once, whatever runs there; another NodeSet of the name is empty as yet."""
        if share > 0:
            self.replicas, self.generation = 0, self.generation + 1
            self.observed_generation = self.generation
            for pod in self.pods.values():
                if not pod.terminating:
                    self.delete(pod)

    def _revoke(self, _step, share):
        self.permitted = self.permitted and share == 0

    def _delete_pods(self, step, share):
        assert len(step.pods) <= AT_ONCE, "what the look proved grows old while pods wait for their turn"
        for number, each in enumerate(step.pods):  # some at once: where it ends early, any of them is done
            self._delete_pod(each, 1 if 0 < share < 1 and number % 2 else share)

    def _delete_pod(self, step, share):
        pod = self._pod(step.pod)
        node = self.nodes.get(pod.node)
        assert node is None or not node.reason.startswith(PERSON), "a person's drain ended with its pod"
        if share > 0 and not pod.terminating:
            used = {name for name in self.names_coming(self.replicas, pod.name) if self.in_use(name)}
            assert not used, f"replaced by a pod with a name in use: {used}"
            if step.record and not self.rest_up:
                return
            if step.record:
                assert not self.jobs_on(step.record), "slurmctld deletes no record under a job, and a suspended one hangs"
                self.nodes.pop(step.record, None)
            if share == 1:
                self.delete(pod)

    def _resume(self, step, share):
        for name in self._part(step.nodes, share):
            node = self.nodes[name]
            assert node.reason.startswith((OURS, OPERATOR)), f"somebody else's state lifted: {node}"
            assert not node.wrong, f"slurmctld refuses to resume {node}"
            assert node.drain or node.down, f"slurmctld refuses to resume a node in service: {node}"
            node.drain, node.down, node.reason, node.resume_after = False, False, "", None

    def _cordon_annotate(self, step, share):
        for pod in self._part(step.pods, share):
            self._pod(pod).annotations["pod-cordon"] = "true"

    def _release(self, step, share):
        for unmark in self._part(step.pods, share):
            annotations = self._pod(unmark.pod).annotations
            assert "dev/gpu" in annotations["gate"], "another gate's tag removed"
            del annotations["gate"]
            self.note_taken(self._pod(unmark.pod).node)
            if unmark.restore_cost:
                del annotations["pod-deletion-cost"]
                if unmark.was is not None:
                    annotations["pod-deletion-cost"] = unmark.was
            if unmark.uncordon:
                annotations.pop("pod-cordon", None)

    def _drain(self, step, share):
        assert step.reason.startswith(OURS + ":")
        for name in self._part(step.nodes, share):
            node = self.nodes[name]
            assert not node.reason.startswith(PERSON), f"a person's reason overwritten: {node}"
            assert not (node.drain and node.reason.startswith(OPERATOR)), f"operator's drain overwritten: {node}"
            node.drain, node.reason, node.user, node.reason_at = True, step.reason, "pulumi", self.now
            node.resume_after = None if step.resume_after_s is None else self.now + step.resume_after_s
            node.hold_is_ours, node.note_lost = True, False

    def _renew(self, step, share):
        """Pods first, which are written whole, each with its cordon; then slurmctld."""
        marks = {mark.pod: mark for mark in step.marks}
        for pod in self._part(tuple({*marks, *step.cordoned}), min(1.0, 2 * share)):
            self._set_tags([marks[pod]] if pod in marks else ())
            self._pod(pod).annotations |= {"pod-cordon": "true"} if pod in step.cordoned else {}
        for name in self._part(step.nodes, max(0.0, 2 * share - 1)) if self.rest_up else ():
            node = self.nodes[name]
            assert node.drain
            assert node.reason.startswith(OURS), f"somebody else's drain renewed: {node}"
            node.resume_after = self.now + step.resume_after_s

    def _clear(self, step, share):
        for name in self._part(step.nodes, share):
            node = self.nodes[name]
            assert node.drain
            assert not node.reason.startswith(OURS), f"our own drain made endless: {node}"
            if node.resume_after == step.ends[name]:
                tag = next(pod.annotations["gate"] for pod in self.pods.values() if pod.node == name)
                # Between the drain and its note, theirs can't be told from ours: cleared, the node stays drained.
                assert node.hold_is_ours or '"hold":0' in tag, f"somebody else's own end of a drain cleared: {node}"
                node.resume_after = None
        self._set_tags(self._part(step.marks, share if share == 1 else 0))

    def _set_tags(self, marks):
        for mark in marks:
            self._pod(mark.pod).annotations["gate"] = mark.tag

    def _undrain(self, step, share):
        for name in self._part(step.nodes, share):
            node = self.nodes[name]
            assert node.reason.startswith(OURS), f"somebody else's drain lifted: {node}"
            assert not node.wrong, f"slurmctld refuses to undrain {node}"
            node.drain, node.resume_after = False, None
            if not node.down:
                node.reason = ""

    def _reword(self, step, share):
        for name in self._part(step.nodes, share):
            assert self.nodes[name].reason.startswith(OURS), "somebody else's reason changed"
            self.nodes[name].reason = step.reason

    def _end_jobs(self, step, share):
        for job in self._part(step.jobs, share):
            self.jobs.pop(job, None)

    def _signal(self, step, share):
        for job in self._part(step.jobs, share):
            if job in self.jobs:
                self.jobs[job] = replace(self.jobs[job], signalled_at=self.now)

    @staticmethod
    def _part(items, share: float):
        """What is done of a step: some requests are under way at once, so what is done where it ends early has gaps."""
        return items if share >= 1 else (*items[1::2], *items[::2])[: int(len(items) * share)]

    def _pod(self, name: str) -> Pod:
        return next(pod for pod in self.pods.values() if pod.name == name)


def world(version: str, pods: int) -> World:
    """A settled NodeSet of ``pods`` ready, registered workers that the operator has seen."""
    made = World(version=OperatorVersion.parse(version), replicas=pods)
    for ordinal in range(pods):
        made.pods[ordinal] = Pod(
            ordinal, created=made.now - 5000, scheduled=True, running=True, ready=True, ready_changed=made.now - 4000
        )
        made.nodes[f"gpu-{ordinal}"] = Node(f"gpu-{ordinal}")
    made.sync(refresh=True)
    return made


def _state(job: Job) -> str:
    return "COMPLETED+COMPLETING" if job.completing else "SUSPENDED" if job.suspended else "RUNNING"
