"""``slinky drain status|plan|watch|cancel``: what our drains left behind, what a removal would wait for, how
far drains are, and giving it all back, without a `pulumi up`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Final

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.pulumi_command import Runner, run_pulumi
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.cluster.which import require_recorded
from slinky_iac.commands.output import Paint, add_every, add_json, add_stack, as_json, clipped, columns, terminal, watch
from slinky_iac.drain import removals, scale, sessions
from slinky_iac.drain.free import Busy, Free, verdict
from slinky_iac.drain.plan import DrainPlan, plan_machine, plan_teardown
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.removals import Removal
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.sessions import SessionSettings
from slinky_iac.drain.settings import GateSettings, Settings, gates
from slinky_iac.drain.status import NodeStatus, status_of
from slinky_iac.drain.tags import tag_of
from slinky_iac.drain.words import bar, iso, last_job, whose
from slinky_iac.drain.written_plan import Plans
from slinky_iac.engine.plugin_process import console_report
from slinky_iac.errors import DrainBlocked, KubeError, SlinkyError, SlurmrestError, StateError
from slinky_iac.kube.machines import require_machine
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted, full, plain, span, until

SessionOf = Callable[[Settings], AbstractContextManager[Session]]
MOST_JOBS: Final = 5
"""Jobs of one node that are shown."""
LATE: Final = "after the deadline"


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
    pods: int = 0
    asked: int | None = None
    """Pods that the NodeSet asks for; None: not known."""
    nodes: tuple[NodeView, ...] = ()
    since: int | None = None
    """When the first of its nodes was drained."""
    reason: str = ""
    deadline_s: int = 0
    problem: str = ""
    """Why nothing is known."""

    @property
    def free(self) -> int:
        """Nodes that no job keeps."""
        return sum(1 for node in self.nodes if node.free)


def view(settings: GateSettings, seen: Observation) -> DrainView:
    """What a look at one NodeSet says of this stack's drains."""
    cluster = seen.cluster
    nodes: list[NodeView] = []
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
        judged = None if cluster is None else verdict(pod.slurm_node, cluster, seen.now, forgets=True)
        nodes.append(
            NodeView(
                node=pod.slurm_node,
                state=record.state_text if record is not None else "no record",
                free=isinstance(judged, Free),
                why="Slurm could not be asked" if judged is None else "" if isinstance(judged, Free) else judged.why,
                jobs=judged.jobs if isinstance(judged, Busy) else (),
            )
        )
    asked = None if seen.nodeset is None else Workers(seen.nodeset, seen.pods).wanted
    deadline, name = settings.policy.deadline_s, settings.owner.nodeset
    return DrainView(name, len(seen.pods), asked, tuple(nodes), since, reason, deadline, seen.problem)


def screen(stack: str, views: Sequence[DrainView], now: int, *, colour: bool, width: int, leave: bool) -> str:
    """The screen. ``leave``: a person looks at it; the screen says how to end it."""
    paint = Paint(colour)
    how = ". Ctrl-C ends this view, not the drain" if leave else ""
    lines = [paint(clipped(f"{plain(stack)}: drains at {full(now)}{how}", width), "bold")]
    for drain_view in views:
        lines += ["", *_drain(drain_view, now, paint, width)]
    return "\n".join(lines) + "\n"


def _drain(drain_view: DrainView, now: int, paint: Paint, width: int) -> Iterable[str]:
    pods = f"{counted(drain_view.pods, 'pod')}" + (
        f" of {drain_view.asked} asked for" if drain_view.asked is not None else ""
    )
    if drain_view.problem:
        yield paint(clipped(f"{drain_view.nodeset}: not known: {plain(drain_view.problem)}", width), "yellow")
    if not drain_view.nodes:
        yield clipped(f"{drain_view.nodeset}: {pods}; nothing of this stack's is drained or marked", width)
        return
    total = len(drain_view.nodes)
    head = f"{bar(drain_view.free, total, 24)} {drain_view.free} of {total} nodes are free"
    shade = "green" if drain_view.free == total else "cyan"
    jobs = tuple({job.job_id: job for node in drain_view.nodes for job in node.jobs}.values())
    yield f"{paint(drain_view.nodeset, 'bold')}: {paint(head, shade)}; {pods}"
    limit = None if drain_view.since is None or not drain_view.deadline_s else drain_view.since + drain_view.deadline_s
    if drain_view.since is not None:
        yield clipped(f"  {_time(now - drain_view.since, drain_view.deadline_s, limit, now)}", width)
        yield clipped(f"  reason: {plain(drain_view.reason)}", width)
    last = last_job(jobs)
    if last is not None:
        end = "no known end" if last.expected_end is None else f"by {until(last.expected_end, now)}"
        late = limit is not None and (last.expected_end is None or last.expected_end > limit)
        text = f"  {counted(len(jobs))}; the last is {plain(last.label)} of {plain(last.user_name)}, {end}"
        shown = clipped(f"{text}, {LATE}" if late else text, width)
        yield paint(shown, "red") if late else shown
    rows = [("NODE", "STATE", "JOB", "USER", "PARTITION", "ENDS BY", ""), *_rows(drain_view.nodes, now, limit)]
    lines = columns(rows, paint, {"free": "green", LATE: "red"})
    yield from (line if "\x1b" in line else clipped(line, width) for line in lines)  # no escape may be cut


def _time(passed_s: int, deadline_s: int, limit: int | None, now: int) -> str:
    """How much of the wait is over: while one long job is waited for, the number of free nodes stands still."""
    drained = f"drained {span(passed_s)} ago"
    if limit is None:
        return f"{drained}; the wait has no deadline"
    left = f"deadline {until(limit, now)} of a run that began then"
    return f"{bar(min(passed_s, deadline_s), deadline_s, 16)} {drained}; {left}"


def _rows(nodes: Iterable[NodeView], now: int, limit: int | None) -> Iterable[tuple[str, ...]]:
    for node_view in sorted(nodes, key=lambda node: node.node):
        start = (plain(node_view.node, 40), plain(node_view.state, 30))
        if not node_view.jobs:
            yield (*start, "free" if node_view.free else plain(node_view.why, 60), "", "", "", "")
        for number, job in enumerate(node_view.jobs[:MOST_JOBS]):
            end = "unknown" if job.expected_end is None else until(job.expected_end, now)
            late = limit is not None and (job.expected_end is None or job.expected_end > limit)
            who = (plain(job.label, 20), plain(job.user_name, 20), plain(job.partition, 20), end, LATE if late else "")
            yield (*(start if number == 0 else ("", "")), *who)
        if len(node_view.jobs) > MOST_JOBS:
            yield ("", "", f"and {len(node_view.jobs) - MOST_JOBS} more", "", "", "", "")


CODES = "exit codes: 0 done; 1 the stack's state, Kubernetes or Slurm could not be asked; 2 wrong arguments"
ACTS = (
    ("status", "show drained nodes, whose drain it is, and the jobs on them"),
    ("plan", "show which nodes and whose jobs a removal or a destroy would wait for"),
    ("watch", "show the progress of this stack's drains, whose jobs they wait for and until when; ends with Ctrl-C"),
    ("cancel", "undo this stack's drains and pod annotations, and nothing else"),
)
WHOSE = {"ours": "this stack", "operator": "slurm-operator"}
"""Owners of a drain as people call them; others are called what they are."""
WIDTH: Final = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="COMMAND")
    for name, text in ACTS:
        act = acts.add_parser(name, help=text)
        add_stack(act)
        act.add_argument("--nodeset", help="one NodeSet; by default all")
        if name == "plan":
            act.add_argument(
                "--node",
                metavar="KUBERNETES-NODE",
                help="before this machine is serviced: the NodeSets' pods on it, whose jobs run there, and until when",
            )
        if name == "watch":
            add_every(act)
            act.add_argument("--until-done", action="store_true", help="end when nothing of this stack's is drained")
        else:
            add_json(act)


def _opened(settings: Settings) -> AbstractContextManager[Session]:
    require_recorded(settings.kubernetes, settings.reach, settings.owner.text)
    return open_session(settings.reach, settings.urn, report=console_report())


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi, opened: SessionOf = _opened) -> int:
    """Carry out one act. Raises what reading the state and asking the clusters raise; returns the exit code."""
    state = pulumi_state.export(arguments.stack, pulumi)
    logins = sessions.in_state(state) if arguments.act == "plan" and arguments.node is None else ()
    stack = arguments.stack or state.stack or pulumi_state.selected(pulumi)
    chosen = _chosen(state, arguments.nodeset, plain(stack), also=logins)
    if arguments.act == "watch":
        _watch(arguments, stack, chosen, opened)
        return 0
    if arguments.act == "status":
        rows, unknown = status(chosen, opened)
        for trouble in unknown:
            print(f"not known: {trouble}", file=sys.stderr)
        data: dict[str, object] = {"drains": [asdict(row) for row in rows], "unknown": unknown}
        text = [line for row in rows for line in _row(row)] or ([] if unknown else ["nothing is drained or marked"])
    elif arguments.act == "plan" and arguments.node is not None:
        drain_plans = machine_plans(arguments.node, chosen, opened)
        data = Plans(plans=tuple(plan.written for plan in drain_plans)).props
        unknown = [plan.nodeset for plan in drain_plans if not plan.known]
        text = [*(line for plan in drain_plans for line in _plan(plan)), _in_all(plain(arguments.node), drain_plans)]
    elif arguments.act == "plan":
        drain_plans = plans(chosen, opened)
        hosts = [] if arguments.nodeset else session_plans(logins, opened)
        data = Plans(plans=(*(plan.written for plan in drain_plans), *(host.plan for host in hosts))).props
        unknown = [plan.nodeset for plan in drain_plans if not plan.known]
        text = [*(line for plan in drain_plans for line in _plan(plan)), *(f"{host.name}: {host.text}" for host in hosts)]
        text = text or ["Kubernetes has none of this stack's NodeSets any more, so a removal waits for no job"]
    else:
        taken = cancel(chosen, opened)
        data, unknown = {"steps": taken}, []
        text = [f"given back, in {counted(taken, 'step')}" if taken else "nothing of this stack's was left to return"]
    if arguments.json or text:
        print(as_json(data) if arguments.json else "\n".join(text))
    return 1 if unknown else 0


def _row(row: NodeStatus) -> Iterable[str]:
    until = f", returned by slurmctld at {row.returns}" if row.returns else ""
    whose = f"drained by {WHOSE.get(row.owner, row.owner)}" if row.owner else "marked, not drained"
    yield f"{row.nodeset}: {row.node} {row.states}, {whose}{until}: {row.reason!r}"
    yield from (f"    job {job}" for job in row.jobs)


def _plan(plan: DrainPlan) -> Iterable[str]:
    yield f"{plan.nodeset}: {counted(plan.removes, 'node')}"
    yield from (f"    {line}" for line in plan_lines(plan))
    yield from (f"    {text}" for text in (*plan.blocks, *plan.warnings))


def plan_lines(plan: DrainPlan) -> tuple[str, ...]:
    """One line a node that is selected, for people."""
    shown = []
    for node in plan.selected:
        named = [whose(job) + (f", {job.of_stack}" if job.of_stack else "") for job in node.jobs[:4]]
        known = f"until {iso(node.end)}" if node.jobs else "free now"
        until = "of no known end" if node.unforeseen else known
        shown.append(f"{node.pod.slurm_node} ({node.kind.name.lower()}): {', '.join(named) or 'no job'}, {until}")
    return tuple(shown)


def _watch(arguments: argparse.Namespace, stack: str, chosen: Sequence[GateSettings], opened: SessionOf) -> None:
    tty, (colour, _) = sys.stdout.isatty(), terminal(WIDTH)

    def frame(width: int) -> tuple[str, bool]:
        views = [_looked_at(settings, opened) for settings in chosen]
        text = screen(stack, views, int(time.time()), colour=colour, width=width, leave=tty)
        return text, arguments.until_done and not any(view.nodes or view.problem for view in views)

    watch(frame, WIDTH, arguments.every)


def _looked_at(settings: GateSettings, opened: SessionOf) -> DrainView:
    """One NodeSet's drains; what can't be asked is shown, and asked again at the next look."""
    try:
        with opened(settings) as session:
            return view(settings, session.observe(settings))
    except (KubeError, SlurmrestError) as error:
        return DrainView(settings.owner.nodeset, deadline_s=settings.policy.deadline_s, problem=str(error))


def status(chosen: Iterable[GateSettings], opened: SessionOf) -> tuple[list[NodeStatus], list[str]]:
    """Drains and marks of these NodeSets, and what could not be asked about them: without Slurm's answer a pod's mark is
    all that is seen. Raises what asking Kubernetes raises."""
    rows: list[NodeStatus] = []
    unknown: list[str] = []
    for settings in chosen:
        with opened(settings) as session:
            seen = session.observe(settings)
            if seen.problem:
                unknown.append(f"{settings.owner.text}: {seen.problem}")
            rows += status_of(settings, seen)
    return rows, unknown


def plans(chosen: Iterable[GateSettings], opened: SessionOf) -> list[DrainPlan]:
    """What removing these NodeSets would wait for: a preview shows no deletion's plan, so this does.

    NodeSets that aren't there (any more) have none. Raises what asking the clusters raises.
    """
    made: list[DrainPlan] = []
    for settings in chosen:
        with opened(settings) as session:
            seen = session.observe(settings, queue=True)
            if seen.nodeset is not None:
                made.append(plan_teardown(seen, seen.nodeset, settings.owner))
    return made


def machine_plans(machine: str, chosen: Sequence[GateSettings], opened: SessionOf) -> list[DrainPlan]:
    """What the service of one Kubernetes node would wait for, by NodeSet with a pod there. Raises as :func:`plans`, and
    where no pod is there as :func:`require_machine`."""
    made: list[DrainPlan] = []
    for settings in chosen:
        with opened(settings) as session:
            seen = session.observe(settings, queue=True)
            plan = None if seen.nodeset is None else plan_machine(seen, seen.nodeset, settings.owner, machine)
            made += [] if plan is None else [plan]
    if not made:
        with opened(chosen[0]) as session:
            require_machine(session.kube, machine)
    return made


def _in_all(machine: str, drain_plans: Sequence[DrainPlan]) -> str:
    """When a Kubernetes node is free of jobs; never a guess."""
    if not drain_plans:
        return f"{machine}: Kubernetes has no pod of these NodeSets there, so its service waits for no job of theirs"
    if not all(plan.known for plan in drain_plans):
        return f"{machine}: not known, since Slurm could not be asked"
    if any(plan.unforeseen for plan in drain_plans):
        return f"{machine}: free of jobs at a time that is not known"
    jobs = {job.job_id for plan in drain_plans for job in plan.jobs}
    ends = max(plan.free_at or 0 for plan in drain_plans)
    return f"{machine}: {counted(len(jobs))}, the last one ends by {iso(ends)}" if jobs else f"{machine}: no job, free now"


def session_plans(chosen: Iterable[SessionSettings], opened: SessionOf) -> list[Removal]:
    """The same for pods of srun and salloc."""
    made: list[Removal] = []
    for settings in chosen:
        with opened(settings) as session:
            plan = removals.of_sessions(session, settings)
            made += [] if plan is None else [plan]
    return made


def cancel(chosen: Iterable[GateSettings], opened: SessionOf) -> int:
    """Give back our drains and marks and nothing else; returns how many steps it took.

    Trouble with one NodeSet keeps none of the others; at the end all of it is raised as one DrainBlocked.
    """
    taken = 0
    left: list[str] = []
    for settings in chosen:
        try:
            with opened(settings) as session:
                taken += scale.give_back(session, settings)
        except SlinkyError as error:
            left.append(str(error))
    if left:
        raise DrainBlocked("\n".join(left))
    return taken


def _chosen(
    state: State, nodeset: str | None, stack: str, *, also: Collection[SessionSettings] = ()
) -> Sequence[GateSettings]:
    """The NodeSets to ask about. ``also``: what else of the stack the act asks about. Raises :class:`StateError` where that
    is nothing: without a question there is no answer."""
    gates_by_name = gates(state)
    if not gates_by_name and not also:
        raise StateError(
            f"stack {stack} has no NodeSet that `pulumi up` made, so Slurm was not asked and nothing is known of drains and"
            " jobs. Is it the right one? `pulumi stack ls` lists all; then `pulumi stack select NAME`, or --stack NAME"
        )
    if nodeset is None:
        return list(gates_by_name.values())
    if nodeset not in gates_by_name:
        known = ", ".join(gates_by_name) or "none"
        raise StateError(f"stack {stack} has no NodeSet {nodeset!r} (it has: {known})")
    return [gates_by_name[nodeset]]
