"""The scale-in protocol as a machine that hypothesis, or dice, drive: our runs, users, people, faults, in any order.

Invariants: no job dies by the deletion of a pod that our lower replicas caused; no person's and no operator's drain is
overwritten, renewed or lifted by us (checked in the model's hands); once the faults end, one more run comes to its goal
and leaves nothing of ours behind.

Between the write of replicas and the pods' end people undrain doomed nodes, kept pods lose readiness, and doomed pods win it
or register. What steps.py leaves open there (R1 to R3) is told apart exactly: a job that began on a node after that, and of
which the operator has not heard, or which is suspended; and a job on a kept pod that the operator takes for a doomed one
without a client, or with the job suspended. Any other job that dies is lost.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slinky_iac.drain.members import undo_steps
from slinky_iac.drain.protocol import Cancel, ClearHold, DeleteNodeSet, Done, Goal, Requeue, Signal, Step, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.drain.steps import next_step
from tests.unit.drain.model import OPERATOR, OURS, PERSON, Node, World, world

OWNER = Owner("dev", "gpu")
STRANGE = ("drains", "undrains", "downs", "edits", "edits all", "cordons", "scales")
VERSIONS = ("1.0.1", "1.0.5", "1.1.0", "1.1.2", "1.2.0", "1.2.1")
PICK = st.integers(0, 1_000_000)


def pick(items, number):
    """One of ``items`` by a number; None when there are none."""
    ordered = list(items)
    return ordered[number % len(ordered)] if ordered else None


class Everybody(RuleBasedStateMachine):
    """What happens to a stack's run whatever it is about: kills, jobs that end, faults, time."""

    w: World
    goal: Goal | None = None

    def kill(self):
        self.goal = None

    def undo(self):
        """`drain cancel`."""
        self.kill()
        for step in undo_steps(self.w.observe(), OWNER):
            if not isinstance(step, Wait):
                self.w.act(step)
        assert not self.w.rest_up or not self.w.holds_under_others()

    def check_holds(self, step):
        """A living run leaves no hold of ours under another's drain, and none of its own drains without an end."""
        if not self.w.rest_up:
            return
        assert isinstance(step, ClearHold) or not self.w.holds_under_others()
        if isinstance(step, Wait) and step.progress:
            endless = [
                node.name
                for node in self.w.nodes.values()
                if node.drain
                and node.reason.startswith(OURS)
                and node.resume_after is None  # a reason alone may stay
                and not node.wrong  # slurmctld returns no such node, so a gate that doesn't take it leaves it and names it
            ]
            assert not endless, f"drained for ever, if this run is killed now: {endless}"

    @rule(number=PICK, what=st.sampled_from(["ends", "ends", "completes", "is suspended or resumed"]))
    def job(self, number, what):
        job = pick(self.w.jobs.values(), number)
        if job is None:
            return
        if what == "ends" or job.completing:
            del self.w.jobs[job.job_id]
        elif what == "completes":
            job.completing, job.suspended = True, False
        else:
            job.suspended = not job.suspended

    @rule(what=st.sampled_from(["kill", "undo", "client lost", "client back", "operator", "slurmrestd", "slurmctld"]))
    def fault(self, what):
        """We are killed, the operator restarts without a client, stops or starts; so does slurmrestd; slurmctld restarts."""
        w = self.w
        match what:
            case "kill":
                self.kill()
            case "undo":
                self.undo()
            case "client lost":
                w.client = False
            case "client back":
                w.client = w.operator_up = True
                if w.rest_up:
                    w.refresh()
            case "operator":
                w.operator_up = not w.operator_up
            case "slurmctld":
                w.slurmctld_starts()
            case _:
                w.rest_up = not w.rest_up

    @rule(number=PICK)
    def registers(self, number):
        """A slurmd registers as something else than it is configured to be; or as that again."""
        node = pick(self.w.nodes.values(), number)
        if node is not None:
            self.w.registers(node, wrong=not node.wrong)

    @rule(seconds=st.sampled_from([2, 30, 61, 130, 400, 1000, 4000]))
    def time_passes(self, seconds):
        self.w.now += seconds
        self.w.expire_holds()


class ScaleIn(Everybody):
    """One NodeSet, one stack, everybody else."""

    asks_twice = True
    """Whether the decider is asked again at every look: it must say the same."""
    runs = 0
    last: Step | None = None
    """The step that was taken last."""

    @initialize(
        version=st.sampled_from(VERSIONS),
        pods=st.integers(1, 6),
        policy=st.sampled_from(["keep", "keep", "undo", "requeue", "cancel"]),
        at_once=st.sampled_from([None, None, 1, 2]),
        on_delete=st.booleans(),
    )
    def start(self, version, pods, policy, at_once, on_delete):
        """``on_delete``: what Gated, the default, makes of a NodeSet; the operator then returns no pod's node."""
        self.w = world(version, pods)
        self.w.on_delete = on_delete
        self.policy = DrainPolicy(deadline_s=900, on_deadline=policy, grace_s=60, max_at_once=at_once)
        self.wanted = pods
        self.w.open_case = self.open_case
        self.taken_back: dict[str, tuple[str, int]] = {}
        """Doomed nodes that were undrained or registered: which case, and the first job that can have begun since."""
        self.cordoned: set[str] = set()
        """Pods whose Kubernetes node was cordoned: on_delete leaves them drained after the uncordon."""
        self.turned_from: set[str] = set()
        """Pods that were doomed before readiness turned the operator to others."""
        self.turned_to: set[str] = set()
        """Those others."""

    # -- our side ------------------------------------------------------------------------------------------------------
    @precondition(lambda self: self.goal is None)
    @rule(replicas=st.integers(0, 6))
    def up(self, replicas):
        self.new_up(replicas)

    @rule(replicas=st.integers(0, 6))
    def new_up(self, replicas):
        """`pulumi up` with some number of replicas; an earlier run of this stack is dead by then."""
        self.wanted = replicas
        self.runs += 1
        self.goal = Goal(
            owner=OWNER,
            current=self.w.replicas,
            target=replicas,
            policy=self.policy,
            deadline_at=self.w.now + self.policy.deadline_s,
            why=f"scale-in {self.w.replicas}->{replicas}",
            run=f"r{self.runs}",
        )

    @precondition(lambda self: self.goal is None)
    @rule()
    def removal(self):
        """`pulumi destroy`, or an `up` without this NodeSet."""
        self.new_up(0)
        self.goal = replace(self.goal, teardown=True, why="NodeSet is removed")

    @precondition(lambda self: self.goal is not None)
    @rule()
    def step_on(self):
        self.step(1.0)

    @precondition(lambda self: self.goal is not None)
    @rule()
    def operator_and_we(self):
        """The ordinary course: the operator looks, then we do; thrice."""
        for _ in range(3):
            if self.goal is not None:
                self.w.sync(refresh=True)
                self.step(1.0)

    @precondition(lambda self: self.goal is not None)
    @rule(share=st.sampled_from([0.9, 0.5, 0.0]))
    def step(self, share):
        """Look, decide, act; a share under 1 is a kill in the middle of the act."""
        seen = self.w.observe()
        step = self.decided(seen)
        assert not self.asks_twice or self.decided(seen) == step, "the decider has a memory"
        self.last = step
        self.check_holds(step)
        match step:
            case Wait():
                pass
            case Done():
                self.goal = None
            case Stop(undo=undo):
                self.goal = None
                if undo:
                    self.undo()
            case _:
                self.check_policy(step)
                self.w.act(step, share)
                if share < 1 or isinstance(step, DeleteNodeSet):
                    self.goal = None
                elif isinstance(step, Signal):
                    told = dict.fromkeys(step.jobs, self.w.now)
                    self.goal = replace(self.goal, signalled={**self.goal.signalled, **told})

    def decided(self, seen) -> Step:
        """The protocol's step."""
        return next_step(seen, self.goal)

    def check_policy(self, step):
        if isinstance(step, Requeue | Cancel):
            assert self.w.now >= self.goal.deadline_at, "jobs touched before the deadline"
        if isinstance(step, Requeue):
            assert self.policy.on_deadline == "requeue"
            assert all(self.w.jobs[job].requeueable for job in step.jobs if job in self.w.jobs)
        if isinstance(step, Cancel):
            assert self.policy.on_deadline == "cancel"
            for job in step.jobs:
                at = self.w.jobs[job].signalled_at
                assert at is not None, "cancelled without a signal"
                assert self.w.now >= at + self.policy.grace_s, "cancelled within its grace"

    # -- Slurm's users -------------------------------------------------------------------------------------------------
    @rule(first=PICK, second=PICK, wide=st.booleans(), end=st.sampled_from([None, 60, 600, 600, 600]))
    def job_starts(self, first, second, wide, end):
        places = [pod.node for pod in self.w.pods.values() if self.w.can_start_on(pod)]
        nodes = {pick(places, first), pick(places, second) if wide else pick(places, first)} - {None}
        self.w.start_job(nodes, end, requeueable=bool(first % 2))

    # -- people --------------------------------------------------------------------------------------------------------
    @rule(number=PICK, what=st.sampled_from(STRANGE))
    def somebody(self, number, what):
        pod = pick(self.w.pods.values(), number)
        node = pick(self.w.nodes.values(), number)
        match what:
            case "drains" if node is not None:
                self.w.person_drains(node, f"bad DIMM {number}", self.w.now + 900 if number % 7 == 0 else None)
            case "undrains" if node is not None and not node.wrong:
                if any(each.node == node.name for each in self.w.pods.values() if each.name in self.given_up()):
                    self.taken_back.setdefault(node.name, ("R1", self.w.next_job))
                node.drain, node.reason, node.resume_after = False, "", None
            case "edits" | "edits all" if pod is not None and pod.name not in self.doomed():
                keys = ("gate", "pod-deletion-cost", "pod-cordon")
                for key in keys if what == "edits all" else keys[number % 3 :][:1]:
                    pod.annotations.pop(key, None)
                    if key == "gate":
                        self.w.note_taken(pod.node)
                if number % 5 == 0:
                    pod.annotations["pod-deletion-cost"] = str(number % 7 - 3)
            case "downs" if node is not None and node.name not in self.doomed_nodes() and not node.drain:
                node.down, node.reason, node.user = True, f"{PERSON} fan {number}", "root"
                for job in self.w.jobs_on(node.name):
                    del self.w.jobs[job.job_id]
            case "cordons" if pod is not None:
                pod.kube_cordoned = not pod.kube_cordoned
                self.cordoned.add(pod.name)
            case "scales" if not self.doomed() and number % 7 > self.w.replicas:
                # Lowering replicas by hand is the operator's own, unguarded scale-in: not ours to model.
                self.w.replicas, self.w.generation = number % 7, self.w.generation + 1
            case _:
                pass

    # -- the machinery -------------------------------------------------------------------------------------------------
    @rule(refresh=st.booleans(), coin=st.integers(0, 1))
    def operator_syncs(self, refresh, coin):
        self.w.coin = coin
        self.w.sync(refresh=refresh)

    @rule()
    def operator_syncs_afresh(self):
        self.w.sync(refresh=True)

    @precondition(lambda self: not (self.w.rest_up and self.w.operator_up and self.w.client))
    @rule()
    def faults_end(self):
        w = self.w
        w.operator_up = w.client = w.rest_up = True
        w.refresh()

    @rule(number=PICK, what=st.sampled_from(["starts ready", "starts unready", "flips", "kubelet reaps"]))
    def pod(self, number, what):
        w, before = self.w, self.doomed()
        if what == "kubelet reaps":
            w.reap()
        elif what == "flips":
            pod = pick([pod for pod in w.pods.values() if pod.running and not pod.terminating], number)
            if pod is not None:
                pod.ready, pod.ready_changed = not pod.ready, w.now
        else:
            pod = pick([pod for pod in w.pods.values() if not pod.running and not pod.terminating], number)
            if pod is not None:
                if pod.name in self.given_up():
                    self.taken_back.setdefault(pod.node, ("R3", w.next_job))
                w.register(pod)
                pod.ready, pod.ready_changed = what == "starts ready", w.now
        if what != "kubelet reaps" and (turned := self.doomed() - before):
            self.turned_from |= before
            self.turned_to |= turned

    def open_case(self, pod, job) -> str:
        """Which of the cases that the protocol leaves open the death of this job is; ``""`` for none."""
        states, _ = self.w.cache.get(pod.node, (frozenset(), ""))
        heard = self.w.client and pod.node in self.w.cache and not ("DRAIN" in states and not self.w.nodes[pod.node].drain)
        case, first = self.taken_back.get(pod.node, ("", 0))
        if case and job.job_id >= first and (job.suspended or not heard):
            return case
        if pod.name in self.turned_to and (job.suspended or not self.w.client or pod.node not in self.w.cache):
            return "R2"
        return ""

    # -- what must hold ------------------------------------------------------------------------------------------------
    def doomed(self) -> set[str]:
        """Pods beyond the replicas asked for: what the last write gave up, until they are gone."""
        count = len(self.w.pods) - self.w.replicas
        return {pod.name for pod in self.w.ranked()[:count]} if count > 0 else set()

    def given_up(self) -> set[str]:
        """The same, and what was doomed before readiness turned the operator to others: it may turn back."""
        return self.doomed() | self.turned_from

    def doomed_nodes(self) -> set[str]:
        doomed = self.doomed()
        return {pod.node for pod in self.w.pods.values() if pod.name in doomed}

    @invariant()
    def no_job_is_lost(self):
        if hasattr(self, "w"):
            assert self.w.lost == []
            if not self.doomed():
                self.taken_back.clear()
                self.turned_from.clear()
                self.turned_to.clear()

    def teardown(self):
        if not hasattr(self, "w"):
            return
        self.faults_end()
        for pod in self.w.pods.values():
            pod.kube_cordoned = False
        self.comes_to_its_goal()
        assert self.w.lost == []
        self.nothing_of_ours_is_left()

    def comes_to_its_goal(self):
        """One more `up`, with people gone home, in a bounded number of looks."""
        w, target = self.w, self.wanted
        self.policy = DrainPolicy(deadline_s=100_000)
        self.settle()
        self.new_up(target)
        for _ in range(150):
            if self.goal is None:
                break
            self.settle()
            self.step(1.0)
        assert w.replicas == target, f"no end: {next_step(w.observe(), self.goal)}"
        for _ in range(6):
            self.settle()
        assert len(w.pods) == target

    def settle(self):
        """Half a minute in which everybody does their work: jobs end, pods start, the operator looks."""
        self.w.half_a_minute()

    def nothing_of_ours_is_left(self):
        alive = {pod.node: pod for pod in self.w.pods.values()}
        for name, pod in alive.items():
            record = self.w.nodes.get(name, Node(name))
            assert not record.reason.startswith(OURS), f"our drain is left on {name}"
            assert "gate" not in pod.annotations, f"our tag is left on {pod.name}"
            if not record.drain:
                assert not pod.cordon, f"a cordon is left on {pod.name}"
            kept = self.w.on_delete and pod.name in self.cordoned
            assert not record.reason.startswith(OPERATOR) or kept or record.down, f"the operator's drain is left on {name}"
