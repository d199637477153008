"""``drain watch``: how far each drain of the stack is, whose jobs it waits for and until when. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.commands.output import Paint, clipped, columns
from slinky_iac.drain.free import Busy, Free, verdict
from slinky_iac.drain.mark import tag_of
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.text import bar, counted, last_job
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import full, plain, span, until

MOST_JOBS: Final = 5
"""Jobs of one node that are shown."""


@dataclass(frozen=True)
class NodeView:
    """A node that a drain of this stack holds."""

    node: str
    state: str
    free: bool
    why: str
    """Why it isn't free, where no job says so."""
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class DrainView:
    """One NodeSet."""

    nodeset: str
    pods: int
    replicas: int | None
    nodes: tuple[NodeView, ...]
    since: int | None
    """When the first of its nodes was drained."""
    reason: str
    deadline_s: int
    problem: str = ""
    """Why nothing is known."""

    @property
    def free(self) -> int:
        """Nodes that no job keeps."""
        return sum(1 for each in self.nodes if each.free)


def view(settings: GateSettings, seen: Observation) -> DrainView:
    """What a look at one NodeSet says of this stack's drains."""
    cluster = seen.cluster
    found: list[NodeView] = []
    since: int | None = None
    reason = ""
    for pod in seen.pods:
        record = None if cluster is None else cluster.nodes.get(pod.slurm_node)
        ours = settings.owner.holds(record)
        if not ours and tag_of(pod, settings.owner) is None:
            continue
        if record is not None and ours:
            began = record.reason_changed_at.value
            since = began if since is None or (began is not None and began < since) else since
            reason = record.reason
        judged = None if cluster is None else verdict(pod.slurm_node, cluster, seen.now)
        found.append(
            NodeView(
                node=pod.slurm_node,
                state=record.state_text if record is not None else "no record",
                free=isinstance(judged, Free),
                why="Slurm could not be asked" if judged is None else "" if isinstance(judged, Free) else judged.why,
                jobs=judged.jobs if isinstance(judged, Busy) else (),
            )
        )
    replicas = None if seen.nodeset is None else seen.nodeset.spec.replicas
    deadline = settings.policy.deadline_s
    return DrainView(
        settings.owner.nodeset, len(seen.pods), replicas, tuple(found), since, reason, deadline, problem=seen.problem
    )


def screen(stack: str, views: Sequence[DrainView], now: int, *, colour: bool, width: int, leave: bool) -> str:
    """The screen. ``leave``: somebody sits in front of it, and is told how to end it."""
    paint = Paint(colour)
    how = ". Ctrl-C ends this view, not the drain" if leave else ""
    lines = [paint(clipped(f"{plain(stack) or 'the selected stack'}: drains at {full(now)}{how}", width), "bold")]
    if not views:
        lines += ["", "  the stack has no NodeSet"]
    for each in views:
        lines += ["", *_drain(each, now, paint, width)]
    return "\n".join(lines) + "\n"


def _drain(each: DrainView, now: int, paint: Paint, width: int) -> Iterable[str]:
    pods = f"{counted(each.pods, 'pod')}" + (f" of {each.replicas} asked for" if each.replicas is not None else "")
    if each.problem:
        yield paint(clipped(f"{each.nodeset}: not known: {plain(each.problem)}", width), "yellow")
    if not each.nodes:
        yield clipped(f"{each.nodeset}: {pods}; nothing of this stack's is drained or marked", width)
        return
    total = len(each.nodes)
    head = f"{bar(each.free, total, 24)} {each.free} of {total} nodes are free"
    shade = "green" if each.free == total else "cyan"
    jobs = tuple({job.job_id: job for node in each.nodes for job in node.jobs}.values())
    yield f"{paint(each.nodeset, 'bold')}: {paint(head, shade)}; {pods}"
    if each.since is not None:
        limit = each.since + each.deadline_s
        text = f"  drained {span(now - each.since)} ago; deadline of a run that began then: {until(limit, now)}"
        yield clipped(text, width)
        yield clipped(f"  reason: {plain(each.reason)}", width)
    last = last_job(jobs)
    if last is not None:
        end = "no known end" if last.expected_end is None else f"by {until(last.expected_end, now)}"
        yield clipped(f"  {counted(len(jobs))}; the last is {plain(last.label)} of {plain(last.user_name)}, {end}", width)
    rows = [("NODE", "STATE", "JOB", "USER", "PARTITION", "ENDS BY"), *_rows(each.nodes, now)]
    yield from (line if colour_in(line) else clipped(line, width) for line in columns(rows, paint, {"free": "green"}))


def colour_in(line: str) -> bool:
    """Whether a line holds escapes, which must not be cut."""
    return "\x1b" in line


def _rows(nodes: Iterable[NodeView], now: int) -> Iterable[tuple[str, ...]]:
    for each in sorted(nodes, key=lambda node: node.node):
        start = (plain(each.node, 40), plain(each.state, 30))
        if not each.jobs:
            yield (*start, "free" if each.free else plain(each.why, 60), "", "", "")
        for number, job in enumerate(each.jobs[:MOST_JOBS]):
            end = "unknown" if job.expected_end is None else until(job.expected_end, now)
            who = (plain(job.label, 20), plain(job.user_name, 20), plain(job.partition, 20), end)
            yield (*(start if number == 0 else ("", "")), *who)
        if len(each.jobs) > MOST_JOBS:
            yield ("", "", f"and {len(each.jobs) - MOST_JOBS} more", "", "", "")
