"""The safe external protocol as one pure function: from a look and a goal to the next step.

The caller loops: look, ``next_step``, act, look again. All state is in the cluster (tags and costs on pods, reasons and
``resume_after`` on nodes), so a run that is killed between any two steps, or in the middle of one, is healed by the next.

Order for a scale-in (docs/adr/0005, docs/adr/0010), and why:

1. cost and tag on the selected pods, before the drain: from then on the operator would take exactly them;
2. DRAIN with our reason and the stamp of this run: no new job starts there;
3. wait until every selected node is free by :mod:`slinky_iac.drain.free`, renewing the dead man's switch (*waiting*), and
   until the operator has *seen* each drain in this run. Where only its view is waited for, a touch of a tag makes it look
   at once instead of within 30 s;
4. ``pod-cordon`` on all of them in one pass; without it, volume claims with ``whenScaled: Delete`` stay behind. Before the
   operator has seen the drain it would drain the node itself, overwrite our reason and undrain it at once. And as long as
   jobs are waited for, the dead man's switch must work: with OnDelete the operator drains the node of a cordoned pod
   again, without an end, once slurmctld or a person has returned it. In the same act the hold is made a long one (*handed
   over*): an operator that stops now finds the nodes drained when it starts again. Where an autoscaler writes the number,
   which it may do at any moment, each pod gets its cordon as soon as its node is free;
5. the last look: free, marked, seen, and the operator's own ranking names exactly the selected pods;
6. ``replicas`` is lowered in one write, conditioned on the NodeSet of that look. If anything wrote it since, look again.

A removal ends with the deletion of the NodeSet itself, conditioned in the same way, so no time passes between the last
look and the deletion.

What stays open, because neither Slurm nor Kubernetes offers a condition for it (each needs two things to happen in the
moment between the last look and the operator's next one):

* R1 somebody undrains a selected node and a job starts on it before the operator, with an old view, deletes the pod; or the
  operator sees the job, drains the node again itself, and deletes the pod when the job is suspended;
* R2 a retained pod loses readiness, or a selected one wins it while a retained one is without, and the operator has lost
  its Slurm client (or looked while slurmctld had lost that node, or the retained pod's job was suspended a moment ago): it
  then deletes that pod instead, undrained;
* R3 a selected pod that had no Slurm record registers and takes a job, with the same two ends as R1.
* R4 a person drains a node between our look and our DRAIN: their reason is overwritten. Or one returns a node to service
  between our look and the clearing of our hold under their drain: it is drained again, without a reason.
* R5 the first pods of a NodeSet, made after a wait without an answer from slurmrestd, get names that another cluster's nodes
  have in that Slurm; slurmctld ends the jobs there. So does a pod on the host network that comes to a machine which joined
  Kubernetes after the look while a slurmd of its own was in Slurm.
* R6 a job whose ``--nodelist`` names a node is submitted between the last look and the end of that node's record: slurmctld
  takes it, since the node is only drained, and ends it. So does a person who opens a partition in that moment.
* R7 (DaemonSet mode) a machine's labels or taints change between the last look and the operator's next one: the operator
  then removes another pod, or one less. It drains by its own rule first, as after each such change without a gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import daemons, holds, members, protocol, starting, tags
from slinky_iac.drain.cost import Candidate, Kind
from slinky_iac.drain.deletions import in_flight, nudge
from slinky_iac.drain.free import Free, exchanged, left_records, names_in_use, names_taken
from slinky_iac.drain.plan import foreign_gates, other_mode, state_blocks
from slinky_iac.drain.protocol import WITHOUT_SLURMRESTD, Done, Goal, Observation, Step, Stop, Wait
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.drain.scale_in_state import (
    ScaleInState,
    another_slurm,
    deadline_step,
    judge,
    late,
    none_listed,
    replaced_after,
    unsettled,
)
from slinky_iac.drain.waiting import over_limits
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.selection import Selects

FIRST_ANSWER_S: Final = 60
"""How long the first pods of a NodeSet wait for an answer from Slurm."""


def next_step(seen: Observation, goal: Goal) -> Step:
    """The next act towards ``goal``. Stateless: the same look and goal give the same step."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None and cluster is None:  # Slurm is not asked about a NodeSet that isn't there
        return Done() if goal.teardown else gone()
    early = None if state is None else refused(state, seen.pods, goal) or _first_pods(seen, goal, state)
    if early is not None:
        return early
    if cluster is None:
        return wait(seen, goal, f"{seen.unasked}. {WITHOUT_SLURMRESTD}" if goal.teardown else seen.unasked)
    clear = None if another_slurm(goal, cluster) else holds.under_others(seen, goal.owner)
    return clear or _towards(seen, goal, cluster, state)


def _towards(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSet | None) -> Step:
    if goal.teardown:
        return _teardown_step(seen, goal, cluster)
    if state is None:
        return gone()
    if goal.selects is not None:
        return _select_step(seen, goal, cluster, state, goal.selects)
    return (_raise_step if goal.target >= goal.current else _scale_in_step)(seen, goal, cluster, state)


def refused(state: NodeSet, pods: Collection[Pod], goal: Goal) -> Stop | None:
    """Why this NodeSet may not be changed at all."""
    if state.frozen_in_words:
        return Stop(
            f"{state.frozen_in_words}. Nothing more was changed. Run this command again when the freeze is lifted", "blocked"
        )
    if not goal.teardown and (why := other_mode(state, pods, on_each=goal.selects is not None)):
        return Stop(f"{why}. Nothing was changed", "blocked")
    if state.deleting and not goal.teardown:
        return Stop(f"{state.name} is being deleted. Run `pulumi up --refresh` when it is gone", "blocked")
    return None


def _first_pods(seen: Observation, goal: Goal, state: NodeSet) -> Step | None:
    """A NodeSet without pods is raised without an answer from Slurm, after a wait for one: slurmrestd may still be starting,
    and only it could tell that the names are in use."""
    empty = not seen.pods and state.spec.replicas == goal.current < goal.target
    if not empty or not goal.writes or seen.cluster is not None or goal.selects is not None:
        return None
    began = goal.deadline_at - goal.policy.register_deadline_s
    if seen.now < began + FIRST_ANSWER_S:
        why = f"slurmrestd doesn't answer yet, and is asked first whether the first pods' names are in use: {seen.problem}"
        return Wait(why, soon=True)
    return protocol.SetReplicas(starting.first_number(goal))


def gone() -> Stop:
    """The end where the NodeSet is missing."""
    return Stop("the NodeSet is not there, or not any more. Run `pulumi refresh`, then `pulumi up`", "blocked")


def _raise_step(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSet) -> Step:
    """No node is selected for removal: give back what an earlier run left, then raise the number."""
    another = another_slurm(goal, cluster)
    if another:
        return wait(seen, goal, another)
    step = _release_step(seen, goal, ())
    if not isinstance(step, Done) or state.spec.replicas == goal.target or not goal.writes:
        return step
    if state.spec.replicas != goal.current:
        return _other_writer(goal, state)
    used = names_in_use(seen, goal.owner, goal.target)
    return wait(seen, goal, used) if used else starting.raise_step(seen, goal, state)


def _other_writer(goal: Goal, state: NodeSet) -> Stop:
    return Stop(
        f"replicas of {state.name} are {state.spec.replicas} now; this run set out from {goal.current} for {goal.target}. "
        "Another client writes them: nothing more was changed. Find out which, then run `pulumi up` again",
        "blocked",
    )


def _scale_in_step(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSet) -> Step:
    if state.spec.replicas == goal.target:  # written already
        doomed = predicted_victims(seen.pods, goal.target, seen.version).victims
        return holds.handed_over(judge(seen, goal, cluster), doomed) or _release_step(seen, goal, doomed)
    obstacle = _obstacle(seen, goal, cluster, state)
    if obstacle is not None:
        return obstacle
    stage = judge(seen, goal, cluster)
    if not stage.selected and not goal.writes:
        return _release_step(seen, goal, ())
    begun = _over_limits(stage, state.spec.replicas) or _prepare(stage)
    cordon = None if begun or goal.writes else _cordon(_to_cordon(stage))  # an autoscaler may lower its number at any moment
    return begun or cordon or _wait_for_jobs(stage) or _hand_over(stage)


def _select_step(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSet, wish: Selects) -> Step:
    """Drain the nodes whose machines no longer fit, then write which fit. The operator has no ranking here: the mark says
    whose the drain is, and its cost has no effect."""
    live = daemons.live_selection(seen)
    if live == wish.wanted:  # written already
        doomed = tuple(sorted(daemons.going(seen, wish.wanted)))
        return holds.handed_over(judge(seen, goal, cluster), doomed) or _release_step(seen, goal, doomed)
    blocks = [*state_blocks(seen, state, goal.owner)]
    if live != wish.began:
        blocks = [
            f"which Kubernetes nodes fit {state.name} was written by another client since this run began: nothing more was"
            " changed. Find out which, then run `pulumi up` again"
        ]
    if blocks:
        return Stop("; ".join(blocks), "blocked")
    stage = judge(seen, goal, cluster)
    blind = bool(stage.selected) or (bool(seen.pods) and not state.on_delete)  # with RollingUpdate it replaces what stays
    why = another_slurm(goal, cluster) or (operator_blind(seen, state) if blind else "")
    if why:
        return wait(seen, goal, why)
    if not stage.selected:
        step = _release_step(seen, goal, ())
        return _written(seen, goal, cluster, wish, ()) if isinstance(step, Done) else step
    if not stage.begun and (why := exchanged(seen, [candidate.node for candidate in stage.selected])):
        return Stop(f"{why}. Nothing was drained", "blocked")
    return _over_limits(stage, len(seen.pods)) or _prepare(stage) or _wait_for_jobs(stage) or _select(stage, wish)


def _select(stage: ScaleInState, wish: Selects) -> Step:
    """The write of the selection, if the operator sees what we see of the nodes that go."""
    if unaware := stage.operator_unaware():
        return until_seen(stage, unaware)
    selected = tuple(candidate.name for candidate in stage.selected)
    return _given_away(stage, selected) or _written(stage.seen, stage.goal, stage.cluster, wish, selected)


def _written(seen: Observation, goal: Goal, cluster: ClusterView, wish: Selects, pods: tuple[str, ...]) -> Step:
    coming = daemons.coming(seen, wish.wanted)
    why = names_taken(seen, goal.owner, coming) or replaced_after(seen, cluster, pods)
    left = left_records(seen, goal.owner, coming)
    return wait(seen, goal, why) if why else daemons.SetSelection(wish.wanted, pods, left)


def _over_limits(stage: ScaleInState, current: int) -> Step | None:
    """The end of a run that would touch more than the site allows: a preview that got no answer has judged no limit. Judged
    before the first mark only: jobs that are waited for grow older meanwhile, and what is begun continues."""
    goal = stage.goal
    if stage.begun:
        return None
    jobs = (job for candidate in stage.selected for job in candidate.jobs)
    excesses = over_limits(goal.policy.limits, stage.seen.now, jobs, len(stage.selected), current)
    return Stop(f"nothing was drained: {'; '.join(excesses)}", "blocked") if excesses else None


def _obstacle(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSet) -> Step | None:
    """What must be out of the way before anything is decided, None when nothing is."""
    if state.spec.replicas != goal.current:
        return _other_writer(goal, state)
    blocks = tuple(state_blocks(seen, state, goal.owner))
    if blocks:
        return Stop("; ".join(blocks), "blocked")
    moving = ", ".join(pod.name for pod in unsettled(seen))
    why = another_slurm(goal, cluster)
    if not why and (step := until_gone(seen, goal, state)) is not None:
        return step
    why = (
        why
        or operator_blind(seen, state)
        or (f"not settled yet: {moving} (not ready, and only for a short time)" if moving else "")
    )
    return wait(seen, goal, why) if why else None


def operator_blind(seen: Observation, state: NodeSet) -> str:
    """Why the operator sees less than we do, ``""`` when it doesn't."""
    if not state.observed:
        return "the operator has not yet seen the newest NodeSet"
    if not seen.restapi_ready:
        return "the operator's slurmrestd (RestApi) is not available, so the operator is blind"
    return ""


def until_gone(seen: Observation, goal: Goal, state: NodeSet) -> Step | None:
    """The wait for pods that the operator is deleting; where it has stopped on the way, it is made to look again."""
    why = in_flight(seen, state)
    return (nudge(seen, goal.owner) or wait(seen, goal, why)) if why else None


def _teardown_step(seen: Observation, goal: Goal, cluster: ClusterView) -> Step:
    """Drain all nodes of the NodeSet, then delete it."""
    state = seen.nodeset
    if state is None:
        return Done()
    if state.deleting:
        return wait(seen, goal, f"{state.name} is being deleted")
    if blocks := tuple(foreign_gates(seen.pods, goal.owner)):
        return Stop(blocks[0], "blocked")
    if why := another_slurm(goal, cluster):
        return wait(seen, goal, why)
    if (step := until_gone(seen, goal, state)) is not None:
        return step
    stage = judge(seen, goal, cluster)
    pods = tuple(candidate.name for candidate in stage.selected)
    return _prepare(stage) or _wait_for_jobs(stage) or holds.handed_over(stage, pods) or protocol.DeleteNodeSet(pods)


def _release_step(seen: Observation, goal: Goal, doomed: tuple[str, ...]) -> Step:
    """Give back everything that isn't on ``doomed`` pods, nor on those that the gate replaces next, then be done."""
    held = frozenset(doomed) | (seen.outdated if goal.rolls else frozenset())
    return _first(seen, goal, members.undo_steps(seen, goal.owner, held)) or Done(doomed)


def _first(seen: Observation, goal: Goal, steps: Sequence[Step]) -> Step | None:
    """The first step, None without any; a wait ends at the run's end."""
    step = steps[0] if steps else None
    return wait(seen, goal, step.why) if isinstance(step, Wait) else step


def _prepare(stage: ScaleInState) -> Step | None:
    """Marks and drains as they must be, None when they are."""
    seen, goal = stage.seen, stage.goal
    held = {candidate.name for candidate in stage.selected} | (seen.outdated if goal.rolls else frozenset())
    surplus = _first(seen, goal, members.release_steps(seen, goal.owner, held))
    if surplus is not None:
        return surplus
    return marked_by_us(stage, stage.retained, stage.to_mark) or drained_by_us(stage)


def marked_by_us(stage: ScaleInState, retained: Iterable[Pod], selected: Iterable[Candidate]) -> Step | None:
    """Our mark on every selected pod, with a cost under that of all retained ones, so that the operator takes these first;
    None where it is so."""
    cost = tags.cost_below(retained)
    if cost is None:
        return Stop(tags.NO_COST_BELOW, "blocked")
    drains = {candidate.name for candidate in stage.to_drain}
    marks = (
        tags.mark(node.pod, stage.goal.owner, cost, drains=node.name in drains, drained=node.kind is Kind.OURS)
        for node in selected
    )
    missing = tuple(wanted for wanted in marks if not tags.is_marked(stage.seen.pods_by_name[wanted.pod], wanted))
    return protocol.SetCosts(missing) if missing else None


def drained_by_us(stage: ScaleInState) -> Step | None:
    """Our drain on every selected node, with this run's stamp and a hold that lasts; None where it is so."""
    goal = stage.goal
    if stage.to_drain:
        return protocol.Drain(tuple(candidate.node for candidate in stage.to_drain), goal.reason, goal.policy.hold_s)
    unstamped = () if goal.teardown else stage.of_earlier_runs
    if unstamped:
        return protocol.SetReason(unstamped, goal.reason)
    return holds.while_waiting(stage)


def _wait_for_jobs(stage: ScaleInState) -> Step | None:
    """Waiting, or what the policy says at its end; None when every selected node is free."""
    if not stage.unfree:
        why = none_listed(stage.seen, stage.goal, stage.cluster)
        return wait(stage.seen, stage.goal, why) if why else None
    if stage.seen.now >= stage.goal.deadline_at:
        return _unforeseen(stage) or deadline_step(stage)
    goal = stage.goal
    then = f"replicas go from {goal.current} to {goal.target}" if goal.selects is None else "their machines no longer fit"
    then = "the NodeSet is deleted" if goal.teardown else then
    return holds.noted(stage) or Wait(stage.waiting(then), stage.progress())


def _unforeseen(stage: ScaleInState) -> Step | None:
    """The end of a run without the policy's act where pods are selected whose Kubernetes nodes still fitted when it began: a
    kubelet that is lost for a minute has a taint, too. No plan named their jobs."""
    goal = stage.goal
    if goal.selects is None:
        return None
    since = [candidate.name for candidate in stage.unfree if candidate.name not in goal.selects.leaving]
    if not since:
        return None
    return late(goal, f"jobs are on {', '.join(since)}, of which the Kubernetes nodes no longer fit since", stage.progress())


def _hand_over(stage: ScaleInState) -> Step:
    """The write of replicas, if the operator sees what we see and would take exactly the selected pods."""
    if unaware := stage.operator_unaware():
        return until_seen(stage, unaware)
    if endangered := stage.endangered():
        return wait(stage.seen, stage.goal, endangered)
    selected = tuple(candidate.name for candidate in stage.selected)
    prediction = predicted_victims(stage.seen.pods, stage.goal.target, stage.seen.version)
    if not prediction.is_exactly(selected):
        return Stop(f"the operator would delete {', '.join(prediction.victims)}, not {', '.join(selected)}", "blocked")
    if not stage.goal.writes:
        return _cordon(_to_cordon(stage)) or Done(selected)
    return _given_away(stage, selected) or protocol.SetReplicas(stage.goal.target, selected)


def _given_away(stage: ScaleInState, pods: Collection[str]) -> Step | None:
    """Cordon and long hold that ``pods``, deleted from now on, still lack: one act, with no look between note and hold."""
    cordoned = _to_cordon(stage)
    return holds.handed_over(stage, pods, cordoned) or _cordon(cordoned)


def _cordon(pods: tuple[str, ...]) -> Step | None:
    return protocol.CordonAnnotate(pods) if pods else None


def _to_cordon(stage: ScaleInState) -> tuple[str, ...]:
    """Selected pods without the mark whose nodes are free, and whose drain the operator shows and takes for another's."""
    return tuple(
        candidate.name
        for candidate in stage.selected
        if candidate.record is not None
        and isinstance(stage.verdicts[candidate.name], Free)
        and candidate.drained
        and candidate.record.reason
        and not candidate.record.held_by_operator
        and stage.operator_saw(candidate)
        and not candidate.pod.cordon
        and not candidate.pod.terminating
    )


def until_seen(stage: ScaleInState, why: str) -> Step:
    """The wait for the operator's look; one pod's tag is touched every few seconds, so that it looks at once."""
    owner, now = stage.goal.owner, stage.seen.now
    first = stage.unseen[:1] if now < stage.goal.ends_at else ()
    if marks := tuple(mark for candidate in first if (mark := tags.triggered(candidate.pod, owner, now))):
        return protocol.TriggerSync(marks)
    due = any(tags.just_triggered(candidate.pod, owner, now) for candidate in stage.unseen)
    return wait(stage.seen, stage.goal, why, soon=due)


def wait(seen: Observation, goal: Goal, why: str, *, soon: bool = False) -> Step:
    """Wait for something that isn't jobs, until the run's end."""
    return late(goal, why) if seen.now >= goal.ends_at else Wait(why, soon=soon)
