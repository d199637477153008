"""The machine of a scale-in, with what comes from further away: another cluster's nodes in the same Slurm, a slurmctld that
loses its state and gets it back, a second run that begins while the first still has an act in hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.proof import Met
from slinky_iac.drain.protocol import DeleteNodeSet, Done, SetReplicas, Step, Stop, Wait
from slinky_iac.drain.scale import ScaleTask
from slinky_iac.drain.steps import next_step
from slinky_iac.slurmrest.daemons import Accounted
from tests.made.jobs import run
from tests.unit.drain.model import Job, Node, World
from tests.unit.drain.model_session import settings
from tests.unit.drain.scale_in_machine import OWNER, PICK, ScaleIn

CONDITIONED = (SetReplicas, SetSelection, DeleteNodeSet)
"""Acts that Kubernetes refuses once another run has written its stamp on the NodeSet."""


@dataclass
class DaemonsSession:
    """What a task asks before it ends pods that slurmctld has no record of: slurmdbd, which knows the jobs."""

    w: World

    @property
    def slurm(self) -> DaemonsSession:
        return self

    def now(self) -> int:
        return self.w.now

    def steady(self) -> float:
        return float(self.w.now)

    def running(self, since: int, *, cluster: str, budget_s: float) -> tuple[Accounted, ...]:
        del cluster, budget_s
        rows = [job for job in self.w.hidden.values() if not job.completing]
        times = {"end": 0, "elapsed": 1, "limit": {"set": False, "infinite": False, "number": 0}}
        return tuple(
            run(job.job_id, "RUNNING", nodes=",".join(job.nodes), time={"start": max(job.start, since), **times})
            for job in rows
        )

    def report(self, text: str, **_more: object) -> None:
        raise AssertionError(f"slurmdbd answers: {text}")


class Wider(ScaleIn):
    """As :class:`ScaleIn`, in a wider world."""

    @rule(number=PICK)
    def foreign_comes(self, number):
        """A daemon of another cluster registers under a name that a pod of ours could get, with a job."""
        w, name = self.w, f"gpu-{number % 8}"
        if w.saved is not None or len(w.pods) < w.replicas or any(pod.node == name for pod in w.pods.values()):
            return  # a pod that is being made already can't be held back
        w.nodes[name] = Node(name)
        w.foreign.add(name)
        w.jobs[w.next_job] = Job(w.next_job, (name,), w.now, None)
        w.next_job += 1

    @rule(number=PICK)
    def foreign_goes(self, number):
        ordered = sorted(self.w.foreign)
        if ordered:
            self.forget_foreign(ordered[number % len(ordered)])

    def forget_foreign(self, name):
        w = self.w
        w.foreign.discard(name)
        w.nodes.pop(name, None)
        w.jobs = {number: job for number, job in w.jobs.items() if name not in job.nodes}

    @rule()
    def state_is_lost(self):
        """slurmctld starts with an empty state; daemons do not register again, and jobs run on."""
        w = self.w
        if w.saved is not None:
            return
        for name in sorted(w.foreign):
            self.forget_foreign(name)
        w.saved, w.hidden = w.nodes, {**w.hidden, **w.jobs}
        w.nodes, w.jobs = {}, {}

    @precondition(lambda self: self.w.saved is not None)
    @rule()
    def state_is_back(self):
        w = self.w
        if w.saved is None:
            return
        there = {pod.node for pod in w.pods.values() if not pod.terminating}
        for name, record in w.saved.items():
            if name not in there:
                record.down = True
            w.nodes.setdefault(name, record)
        w.jobs = {**w.hidden, **w.jobs}
        w.hidden, w.saved = {}, None

    @precondition(lambda self: self.goal is not None)
    @rule(replicas=st.integers(0, 6))
    def second_run(self, replicas):
        """`pulumi cancel`, then another `up`, while the first run has looked and not yet acted."""
        late = self.decided(self.w.observe())
        self.new_up(replicas)
        if not isinstance(late, (Wait, Done, Stop, *CONDITIONED)):
            self.w.act(late)

    def decided(self, seen) -> Step:
        """The protocol's step; one that ends pods without a record is put to slurmdbd."""
        step = next_step(seen, self.goal)
        if not self.w.hidden:
            return step
        task = ScaleTask(DaemonsSession(self.w), settings(self.goal.target, policy=self.goal.policy), self.goal, Met(OWNER))
        return task._accounts_first(seen, step)

    def open_case(self, pod, job) -> str:
        if pod.node in self.w.nodes:
            return super().open_case(pod, job)
        case, first = self.taken_back.get(pod.node, ("", 0))
        if case and job.job_id >= first:
            return case
        return "R2" if pod.name in self.turned_to else ""

    def teardown(self):
        if hasattr(self, "w"):
            self.state_is_back()
            for name in sorted(self.w.foreign):
                self.forget_foreign(name)
        super().teardown()
