"""A rollout as a machine that hypothesis drives: our runs, kills, users, people, an operator that loses its Slurm client.

Invariants: no job dies by the deletion of a pod, suspended ones counted; no person's drain is overwritten or ended with its
pod; never are more nodes away for us than the strategy allows; once the faults end, one more run replaces every pod of an
earlier template and leaves nothing of ours behind.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from slinky_iac.drain.protocol import Done, Goal, Stop, Wait
from slinky_iac.drain.rollout import roll_step
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from tests.unit.drain.model import OURS, Node, world
from tests.unit.drain.scale_in_machine import OWNER, PICK, VERSIONS, Everybody, pick


class Rollout(Everybody):
    """One NodeSet under OnDelete, one stack, everybody else."""

    runs = 0

    @initialize(
        version=st.sampled_from(VERSIONS),
        pods=st.integers(1, 5),
        policy=st.sampled_from(["keep", "keep", "undo", "requeue"]),
        at_once=st.integers(1, 3),
    )
    def start(self, version, pods, policy, at_once):
        self.w = world(version, pods)
        self.w.on_delete = True
        self.policy, self.at_once = DrainPolicy(deadline_s=900, on_deadline=policy), at_once

    def new_up(self, target=None):
        self.runs += 1
        live = self.w.replicas
        self.goal = Goal(
            owner=OWNER,
            current=live,
            target=live if target is None else target,
            policy=self.policy,
            deadline_at=self.w.now + self.policy.deadline_s,
            why="rollout",
            run=f"r{self.runs}",
            rolls=self.at_once,
        )

    @rule(again=st.booleans())
    def up(self, again):
        """`pulumi up`, with a new template or, after a run that was killed, with the same."""
        if not again:
            self.w.template, self.w.generation = self.w.template + 1, self.w.generation + 1
        self.new_up()

    @precondition(lambda self: self.goal is not None)
    @rule(share=st.sampled_from([1.0, 1.0, 1.0, 1.0, 0.5, 0.0]))
    def step(self, share):
        """Look, decide, act: first what the number asks for, which must leave the rollout's drains alone."""
        seen = self.w.observe()
        number = next_step(seen, self.goal)
        step = number if not isinstance(number, Done) else roll_step(seen, self.goal)
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
                self.w.act(step, share)
                if share < 1:
                    self.goal = None

    @precondition(lambda self: self.goal is not None)
    @rule()
    def operator_and_we(self):
        for _ in range(3):
            if self.goal is not None:
                self.w.sync(refresh=True)
                self.step(1.0)

    @rule(first=PICK, second=PICK, end=st.sampled_from([None, 60, 600]))
    def job_starts(self, first, second, end):
        places = [pod.node for pod in self.w.pods.values() if self.w.can_start_on(pod)]
        nodes = {pick(places, first), pick(places, second)} - {None}
        self.w.start_job(nodes, end, requeueable=bool(first % 2))

    @rule(number=PICK, what=st.sampled_from(["drains", "undrains", "edits", "cordons", "deletes"]))
    def somebody(self, number, what):
        pod, node = pick(self.w.pods.values(), number), pick(self.w.nodes.values(), number)
        match what:
            case "drains" if node is not None:
                self.w.person_drains(node, f"bad DIMM {number}", self.w.now + 900 if number % 7 == 0 else None)
            case "undrains" if node is not None and not node.wrong:
                node.drain, node.reason, node.resume_after = False, "", None
            case "edits" if pod is not None:
                pod.annotations.pop(("gate", "pod-deletion-cost", "pod-cordon")[number % 3], None)
                if number % 3 == 0:
                    self.w.note_taken(pod.node)
            case "cordons" if pod is not None:
                pod.kube_cordoned = not pod.kube_cordoned
            case "deletes" if pod is not None and not pod.terminating and not self.w.jobs_on(pod.node):
                self.w.delete(pod)
            case _:
                pass

    @rule(refresh=st.booleans())
    def operator_syncs(self, refresh):
        self.w.sync(refresh=refresh)

    @rule(number=PICK, what=st.sampled_from(["starts ready", "starts unready", "flips", "kubelet reaps"]))
    def pod(self, number, what):
        w = self.w
        if what == "kubelet reaps":
            w.reap()
            return
        flips = what == "flips"
        pod = pick([pod for pod in w.pods.values() if pod.running is flips and not pod.terminating], number)
        if pod is not None:
            w.register(pod)
            pod.ready, pod.ready_changed = not pod.ready if flips else what == "starts ready", w.now

    @invariant()
    def no_job_is_lost(self):
        if hasattr(self, "w"):
            assert self.w.lost == []

    @invariant()
    def no_more_nodes_are_held_than_the_strategy_allows(self):
        if hasattr(self, "w"):
            held = [node.name for node in self.w.nodes.values() if node.drain and node.reason.startswith(OURS)]
            assert len(held) <= self.at_once

    def teardown(self):
        if not hasattr(self, "w"):
            return
        w = self.w
        w.operator_up = w.client = w.rest_up = True
        for pod in w.pods.values():
            pod.kube_cordoned = False
            pod.annotations.pop("pod-cordon", None)  # docs: with OnDelete nobody else takes it back
        for node in w.nodes.values():
            if node.drain and not node.reason.startswith(OURS):
                node.drain, node.reason = False, ""
        self.policy = DrainPolicy(deadline_s=100_000)
        self.new_up()
        for _ in range(200):
            if self.goal is None:
                break
            self.settle()
            self.step(1.0)
        left = [pod.name for pod in w.pods.values() if pod.template != w.template]
        assert not left, f"{left} were not replaced: {roll_step(w.observe(), self.goal) if self.goal else ''}"
        assert w.lost == []
        self.nothing_of_ours_is_left()

    def settle(self):
        """Half a minute in which jobs end, pods start and the operator looks."""
        self.w.half_a_minute()

    def nothing_of_ours_is_left(self):
        self.settle()
        self.undo_leftovers()
        for pod in self.w.pods.values():
            assert "gate" not in pod.annotations, f"our tag is left on {pod.name}"
            assert not self.w.nodes.get(pod.node, Node("")).reason.startswith(OURS), f"our drain is left on {pod.node}"

    def undo_leftovers(self):
        """What the wait for the members gives back after a rollout: marks on pods of the newest template."""
        self.undo()
