"""The safe external protocol as one pure function: from a look and a goal to the next step.

The caller loops: look, ``next_step``, act, look again. All state is in the cluster (tags and costs on pods, reasons and
``resume_after`` on nodes), so a run that is killed between any two steps, or in the middle of one, is healed by the next.

Order for a scale-in (slinky.md section 3, "Safe external protocol"), and why:

1. cost and tag on the chosen pods, before the drain: from then on the operator would take exactly them;
2. DRAIN with our reason: no new job starts there;
3. ``pod-cordon`` once the operator has *seen* the drain: earlier it would drain the node itself, overwrite our reason and
   undrain it at once; without it, volume claims with ``whenScaled: Delete`` stay behind. Where only its view is waited
   for, a touch of a tag makes it look at once instead of within 30 s;
4. wait until every chosen node is free by :mod:`slinky_iac.drain.free`, renewing the dead man's switch;
5. the last look: free, marked, held for long enough, seen by the operator, and the operator's own ranking names exactly
   the chosen pods. Then, and only in that very look, ``Done``: the caller lowers ``replicas`` in one write.

What stays open, because neither Slurm nor Kubernetes offers a condition for it (each needs two things to happen in the
seconds between the last look and the operator's next one):

* R1 somebody undrains a chosen node and a job starts on it before the operator, with an old view, deletes the pod;
* R2 a kept pod loses readiness, or a chosen one wins it while a kept one is without, and the operator has lost its Slurm
  client (or the kept pod's job was suspended a moment ago): it then deletes that pod instead, undrained;
* R3 a chosen pod that had no Slurm record registers and takes a job.
* R4 a person drains a node between our look and our DRAIN: their reason is overwritten.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.drain.actions import CordonAnnotate, Done, Drain, Nudge, RenewHold, SetCosts, Step, Stop, Wait
from slinky_iac.drain.cost import Kind
from slinky_iac.drain.deadline import deadline_step, late
from slinky_iac.drain.limits import limit_findings
from slinky_iac.drain.mark import cost_below, is_marked, just_nudged, mark, nudged, tag_of
from slinky_iac.drain.observation import Goal, Observation
from slinky_iac.drain.plan import foreign_gates, state_blocks
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.drain.scene import Scene, scene, unsettled
from slinky_iac.drain.undo import release_steps
from slinky_iac.drain.view import ClusterView, NodeSetView

REMOVAL_HOLD_S: Final = 30 * 24 * 3600
"""How long nodes stay drained once their NodeSet may be removed, unless somebody gives them back."""
WITHOUT_SLURMRESTD = "docs/operations.md, 'Without slurmrestd', says how to remove NodeSets that nobody can be asked about"


def next_step(seen: Observation, goal: Goal) -> Step:
    """The next act towards ``goal``. Stateless: the same look and goal give the same step."""
    if seen.nodeset is None and seen.cluster is None:  # nobody asks Slurm about a NodeSet that isn't there
        return Done(()) if goal.teardown else _gone()
    if seen.cluster is None:
        why = f"Slurm could not be asked: {seen.problem}"
        return _wait(seen, goal, f"{why}. {WITHOUT_SLURMRESTD}" if goal.teardown else why)
    if goal.teardown:
        return _teardown_step(seen, goal, seen.cluster)
    if seen.nodeset is None:
        return _gone()
    if goal.target >= goal.current:
        return _release_step(seen, goal, ())
    return _scale_in_step(seen, goal, seen.cluster, seen.nodeset)


def _gone() -> Stop:
    return Stop("the NodeSet is not there, or not any more. Run `pulumi refresh`, then `pulumi up`", "blocked")


def _scale_in_step(seen: Observation, goal: Goal, cluster: ClusterView, state: NodeSetView) -> Step:
    if state.replicas == goal.target:  # written already: by an earlier run that was killed then, or by somebody else
        return _release_step(seen, goal, predicted_victims(seen.pods, goal.target, seen.version).victims)
    obstacle = _obstacle(seen, goal, state)
    if obstacle is not None:
        return obstacle
    stage = scene(seen, goal, cluster)
    if not stage.chosen:
        return _release_step(seen, goal, ())
    return _over_limits(stage, state) or _prepare(stage) or _wait_for_jobs(stage) or _hand_over(stage)


def _over_limits(stage: Scene, state: NodeSetView) -> Step | None:
    """The end of a run that would touch more than the site allows: a preview that got no answer has judged no limit.

    Judged before the first mark only: jobs that are waited for grow older meanwhile, and what is begun goes on.
    """
    goal = stage.goal
    if any(each.kind is Kind.OURS or tag_of(each.pod, goal.owner) is not None for each in stage.chosen):
        return None
    found = [text for _, text in limit_findings(stage.chosen, state.replicas, goal.policy.limits, stage.seen.now)]
    return Stop(f"nothing was drained: {'; '.join(found)}", "blocked") if found else None


def _obstacle(seen: Observation, goal: Goal, state: NodeSetView) -> Step | None:
    """What must be out of the way before anything is decided, None when nothing is."""
    if state.replicas != goal.current:
        return Stop(
            f"replicas of {state.name} are {state.replicas} now; this run set out from {goal.current} for {goal.target}. "
            "Somebody else writes them: nothing more was changed. Find out who, then run `pulumi up` again",
            "blocked",
        )
    blocks = state_blocks(seen.pods, state, goal.owner)
    if blocks:
        return Stop("; ".join(block.text for block in blocks), "blocked")
    why = _in_flight(seen, state) or _not_yet(seen, state)
    return _wait(seen, goal, why) if why else None


def _not_yet(seen: Observation, state: NodeSetView) -> str:
    """What will be well by itself in a moment, ``""`` when all is."""
    if state.generation != state.observed_generation:
        return "the operator has not yet seen the newest NodeSet"
    if not seen.restapi_ready:
        return "the operator's slurmrestd (RestApi) is not available, so the operator is blind"
    moving = unsettled(seen)
    if moving:
        return f"not settled yet: {', '.join(pod.name for pod in moving)} (not ready, and only for a short time)"
    return ""


def _in_flight(seen: Observation, state: NodeSetView) -> str:
    """Why nothing may be marked or drained while the operator is deleting pods, ``""`` when it isn't.

    It ranks anew at every look: a cost or a drain of ours would turn it to another pod, which it deletes by its own rule
    of "drained", in which a suspended job is none.
    """
    surplus = len(seen.pods) - state.replicas
    if surplus <= 0:
        return ""
    return f"an earlier scale-in isn't over: {surplus} pod(s) more than the {state.replicas} that {state.name} asks for"


def _teardown_step(seen: Observation, goal: Goal, cluster: ClusterView) -> Step:
    """All nodes of the NodeSet free: the NodeSet may go."""
    blocks = tuple(foreign_gates(seen.pods, goal.owner))
    if blocks:
        return Stop(blocks[0].text, "blocked")
    why = _in_flight(seen, seen.nodeset) if seen.nodeset is not None else ""
    if seen.nodeset is not None and seen.nodeset.rolling(len(seen.pods)):
        why = "a rolling update replaces pods: no node stays drained until it is over"
    if why:
        return _wait(seen, goal, why)
    stage = scene(seen, goal, cluster)
    step = _prepare(stage) or _wait_for_jobs(stage) or _hold_on(stage)
    return step or Done(tuple(each.pod.name for each in stage.chosen))


def _hold_on(stage: Scene) -> Step | None:
    """A long hold before the NodeSet goes, None where it is set.

    With the end of this run the gate is out of the state. If the NodeSet's own deletion then fails, whoever repeats the
    destroy, hours later, deletes it with no gate before it: the nodes must not have been returned by then.
    """
    ending = _ours_until(stage, stage.seen.now + REMOVAL_HOLD_S // 2)
    return RenewHold(ending, REMOVAL_HOLD_S) if ending else None


def _ours_until(stage: Scene, moment: int) -> tuple[str, ...]:
    """Nodes under our drain that slurmctld would return before ``moment``."""
    return tuple(
        each.pod.node
        for each in stage.chosen
        if each.kind is Kind.OURS
        and each.record is not None
        and each.record.resume_after is not None
        and each.record.resume_after < moment
    )


def _release_step(seen: Observation, goal: Goal, doomed: tuple[str, ...]) -> Step:
    """Give back everything that isn't on ``doomed`` pods, then be done."""
    nodes = {pod.node for pod in seen.pods if pod.name in doomed}
    steps = release_steps(seen, goal.owner, lambda pod: pod.name not in doomed, lambda node: node not in nodes)
    if not steps:
        return Done(doomed)
    return _wait(seen, goal, steps[0].why) if isinstance(steps[0], Wait) else steps[0]


def _prepare(stage: Scene) -> Step | None:
    """Marks and drains as they must be, None when they are."""
    seen, goal = stage.seen, stage.goal
    kept_nodes = {pod.node for pod in stage.kept}
    kept_pods = {pod.name for pod in stage.kept}
    surplus = release_steps(seen, goal.owner, lambda pod: pod.name in kept_pods, lambda node: node in kept_nodes)
    if surplus:
        return _wait(seen, goal, surplus[0].why) if isinstance(surplus[0], Wait) else surplus[0]
    cost = cost_below(stage.kept)
    if cost is None:
        return Stop("a kept pod has the lowest deletion cost there is, so the operator would delete it first", "blocked")
    marks = [mark(each.pod, goal.owner, cost) for each in stage.to_mark]
    missing = tuple(wanted for wanted in marks if not is_marked(seen.pods_by_name[wanted.pod], wanted))
    if missing:
        return SetCosts(missing)
    if stage.to_drain:
        nodes = tuple(each.pod.node for each in stage.to_drain)
        return Drain(nodes, goal.owner.reason(goal.why), goal.policy.hold_s)
    hold = goal.policy.hold_s or goal.policy.min_hold_s
    ending = _ours_until(stage, seen.now + hold // 2)
    if ending:
        return RenewHold(ending, hold)
    return None if goal.teardown else _cordon(stage)


def _cordon(stage: Scene) -> Step | None:
    """``pod-cordon`` on pods whose drain the operator has seen and takes for somebody else's."""
    pods = tuple(
        each.pod.name
        for each in stage.chosen
        if each.record is not None
        and each.record.drained_flag
        and each.record.reason
        and not each.record.held_by_operator()
        and stage.operator_saw(each)
        and not each.pod.cordon
        and not each.pod.terminating
    )
    return CordonAnnotate(pods) if pods else None


def _wait_for_jobs(stage: Scene) -> Step | None:
    """Waiting, or what the policy says at its end; None when every chosen node is free."""
    if not stage.unfree:
        return None
    if stage.seen.now >= stage.goal.deadline_at:
        return deadline_step(stage)
    return Wait(f"{len(stage.unfree)} of {len(stage.chosen)} nodes are not free", stage.progress())


def _hand_over(stage: Scene) -> Step:
    """Done if the operator sees what we see and would take exactly the chosen pods."""
    unaware = stage.operator_unaware()
    if unaware:
        return _nudge(stage) or _wait(stage.seen, stage.goal, unaware, soon=_answer_is_due(stage))
    endangered = stage.endangered()
    if endangered:
        return _wait(stage.seen, stage.goal, endangered)
    chosen = tuple(each.pod.name for each in stage.chosen)
    prediction = predicted_victims(stage.seen.pods, stage.goal.target, stage.seen.version)
    if not prediction.is_exactly(chosen):
        return Stop(f"the operator would delete {', '.join(prediction.victims)}, not {', '.join(chosen)}", "blocked")
    return Done(chosen)


def _nudge(stage: Scene) -> Step | None:
    """One pod's tag touched, so that the operator looks now; None where that was done a moment ago, or can't help."""
    if not stage.unseen or stage.seen.now >= stage.goal.ends_at:
        return None
    wanted = nudged(stage.unseen[0].pod, stage.goal.owner, stage.seen.now)
    return Nudge((wanted,)) if wanted is not None else None


def _answer_is_due(stage: Scene) -> bool:
    return any(just_nudged(each.pod, stage.goal.owner, stage.seen.now) for each in stage.unseen)


def _wait(seen: Observation, goal: Goal, why: str, *, soon: bool = False) -> Step:
    """Wait for something that isn't jobs, until the run's end."""
    return late(goal, why) if seen.now >= goal.ends_at else Wait(why, soon=soon)
