"""What happens when the wait is over and jobs still run: only what the policy names, and only to jobs on held nodes."""

from __future__ import annotations

from collections.abc import Sequence

from slinky_iac.drain.actions import NEXT_STEP, Cancel, Requeue, Signal, Step, Stop, Wait
from slinky_iac.drain.cost import Candidate
from slinky_iac.drain.mark import signalled, tag_of
from slinky_iac.drain.observation import Goal
from slinky_iac.drain.policy import LAST_RESORT_S
from slinky_iac.drain.scene import Scene
from slinky_iac.drain.text import iso, jobs_in_words
from slinky_iac.drain.view import JobView


def touched(goal: Goal, now: int) -> str:
    """What a run that ends unfinished may have done to jobs: nothing before the deadline, and what the policy says after."""
    acted = now >= goal.deadline_at and goal.policy.overtime_s > 0
    return "Jobs were touched only as the policy says" if acted else "Nothing was killed"


def late(goal: Goal, why: str, progress: Sequence[str] = ()) -> Stop:
    """The end of a run whose wait is over."""
    undo = goal.policy.on_deadline == "undo"
    what = "the drains are taken back" if undo else f"what is drained stays drained. {NEXT_STEP}"
    detail = "".join(f"\n  {line}" for line in progress)
    return Stop(
        f"the deadline ({iso(goal.deadline_at)}) is over; {why}. {touched(goal, goal.ends_at)}, and {what}{detail}",
        cause="deadline",
        undo=undo,
    )


def deadline_step(scene: Scene) -> Step:
    """The policy's next act for jobs that still hold chosen nodes."""
    goal = scene.goal
    if goal.policy.on_deadline == "requeue" and scene.held_jobs:
        return _requeue(scene)
    if goal.policy.on_deadline == "cancel" and scene.held_jobs:
        return _signal_then_cancel(scene)
    if goal.policy.on_deadline in {"requeue", "cancel"} and _emptying(scene):
        return Wait("the jobs are gone; their nodes will be free in a moment", scene.progress())
    return late(goal, "these nodes are not free", scene.progress())


def _requeue(scene: Scene) -> Step:
    goal = scene.goal
    jobs = _distinct(scene)
    working = [job for job in jobs if "COMPLETING" not in job.states]
    movable = tuple(job.handle for job in working if job.requeueable)
    if scene.seen.now >= goal.ends_at:
        return _gave_up(scene, "jobs are still there though they were requeued")
    if movable:
        return Requeue(movable)
    if working:
        return late(goal, f"these jobs may not be requeued: {jobs_in_words(working)}", scene.progress())
    return Wait("requeued jobs are leaving their nodes", scene.progress())


def _signal_then_cancel(scene: Scene) -> Step:
    goal = scene.goal
    unwarned: list[tuple[Candidate, JobView]] = []
    warned_at = goal.deadline_at
    for each, job in scene.held_jobs:
        at = _signalled_at(each, goal)
        if "COMPLETING" in job.states:
            continue
        if job.start is not None and at is not None and job.start < at:
            warned_at = max(warned_at, at)
            continue
        unwarned.append((each, job))
    if unwarned:
        marks = {each.pod.name: signalled(each.pod, goal.owner, scene.seen.now) for each, _ in unwarned}
        jobs = {job.job_id: job.handle for _, job in unwarned}
        handles = tuple(handle for _, handle in sorted(jobs.items()))
        return Signal(handles, goal.policy.signal, tuple(mark for mark in marks.values() if mark is not None))
    cancel_at = warned_at + goal.policy.grace_s
    if scene.seen.now < cancel_at:
        return Wait(f"jobs were sent {goal.policy.signal}; they are cancelled at {iso(cancel_at)}", scene.progress())
    if scene.seen.now >= cancel_at + LAST_RESORT_S:
        return _gave_up(scene, "jobs are still there though they were cancelled")
    working = tuple(job.handle for job in _distinct(scene) if "COMPLETING" not in job.states)
    return Cancel(working) if working else Wait("cancelled jobs are leaving their nodes", scene.progress())


def _emptying(scene: Scene) -> bool:
    """Whether all that is left is that slurmctld calls the nodes idle: they are drained and their jobs are gone."""
    soon = scene.seen.now < scene.goal.ends_at
    return soon and all(each.record is not None and each.record.drained_flag and not each.jobs for each in scene.unfree)


def _signalled_at(each: Candidate, goal: Goal) -> int | None:
    """When the jobs on a pod's node were signalled in this run; a job that began later was not among them.

    A signal before this run's deadline belongs to an earlier run, whose user may have changed their mind since.
    """
    tag = tag_of(each.pod, goal.owner)
    if tag is None or tag.signal_at is None or tag.signal_at < goal.deadline_at:
        return None
    return tag.signal_at


def _gave_up(scene: Scene, why: str) -> Stop:
    lines = "".join(f"\n  {line}" for line in scene.progress())
    return Stop(f"{why}. What is drained stays drained. {NEXT_STEP}{lines}", cause="deadline")


def _distinct(scene: Scene) -> list[JobView]:
    distinct = {job.job_id: job for _, job in scene.held_jobs}
    return [job for _, job in sorted(distinct.items())]
