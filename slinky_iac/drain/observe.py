"""From the answers of Kubernetes and slurmrestd to one :class:`Observation`; to one look at what slurm.conf loses; and what
slurmdbd says of jobs: before pods go of which slurmctld knows nothing, and afterwards of those that a drain met.

A drain ends only when its nodes are free, so no job should be lost. Whether that is so, only the accounts can tell. A job is
lost where one of its runs ended NODE_FAIL on such a node since the drain began: so slurmctld ends a job whose node goes,
requeued or not. What its user, its own limit, a preemption or the drain's policy ended is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster.snapshot import ClusterView, Workers
from slinky_iac.drain.conf_steps import ConfLook
from slinky_iac.drain.free_machines import with_free_machines
from slinky_iac.drain.members import taken_back
from slinky_iac.drain.protocol import Cancel, Observation, Requeue, Step, Undrain
from slinky_iac.drain.settings import GateSettings, Owner, Settings, pseudonym
from slinky_iac.drain.tags import tag_of
from slinky_iac.drain.words import counted, iso, whose
from slinky_iac.errors import DrainLost, SlurmrestAuthError, SlurmrestElsewhere, SlurmrestError, SlurmrestVersionError
from slinky_iac.kube import marks
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.scalers import rivals
from slinky_iac.names import ANNOTATION_POD_CORDON
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.daemons import Accounted
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer
from slinky_iac.slurmrest.objects import Job, Node
from slinky_iac.slurmrest.shared import FRESH_S
from slinky_iac.slurmrest.versions import PARTITIONS_SINCE

if TYPE_CHECKING:
    from slinky_iac.drain.session import Session

LASTING: Final = (SlurmrestAuthError, SlurmrestElsewhere, SlurmrestVersionError)
"""A refused token, another cluster's slurmctld, an unsuitable slurmrestd: no later look would be better."""
REUSED_S: Final = 30.0
"""Age up to which a look that only continues to wait takes an earlier list of jobs again."""
REST: Final = 4.0
"""So many times as long as a list of jobs took it is taken again: 50,000 records take a busy slurmrestd a minute."""


@dataclass(frozen=True)
class Answers:
    """Slurm's side of one look, and what the next one may take from it."""

    nodes: NodesAnswer
    jobs: JobsAnswer
    view: ClusterView
    held: Mapping[str, Node]
    """Drained nodes of the NodeSet's pods, drained by us or by others: the gate waits for their jobs."""
    since: float
    """When these were first answered as they are."""
    whole: bool
    """Nodes and then jobs were asked for by this look. False: slurmctld said that no node has changed, or the jobs are of an
    earlier look, since when no drained node has changed."""


@dataclass(frozen=True)
class Look:
    """One look, and what the next one starts from."""

    observation: Observation
    answers: Answers | None = None
    """None where Slurm didn't answer."""

    @property
    def whole(self) -> bool:
        """All of it was asked for by this look."""
        return self.answers is None or self.answers.whole


def look(
    kube: KubeClient,
    slurm: Callable[[], SlurmrestClient],
    settings: GateSettings,
    now: int,
    last: Answers | None = None,
    *,
    is_makers: Callable[[KubeClient, str, str, str], bool] = marks.is_makers,
) -> Look:
    """Look at one NodeSet.

    With ``last``, an earlier list of nodes is taken again where slurmctld says that nothing changed since (5 ms instead of
    300 ms with 5,000 nodes), and a list of jobs of :data:`REUSED_S` where no drained node has changed. slurmctld judges by
    its own clock, which is another one after a fail-over to a backup: good enough to continue a wait by, not to end one.

    slurmrestd's passing silence is part of the observation (``cluster`` is None, ``problem`` says why). A refused token
    or an unsuitable slurmrestd is raised: no later look would be better. So is everything from Kubernetes.
    """
    reach = settings.reach
    found = Workers.look(kube, reach.namespace, settings.resource)
    if found.nodeset is None:
        return Look(Observation(now=now, version=settings.version))
    all_scalers = () if settings.scaler == "autoscaler" else kube.scalers_of(reach.namespace, settings.resource)
    answers, problem = ask_slurm(slurm, [pod.slurm_node for pod in found.pods], last, settings.hide)
    seen = Observation(
        now=now,
        version=settings.version,
        pods=found.pods,
        nodeset=found.nodeset,
        autoscalers=rivals(all_scalers, settings.leaving),
        cluster=None if answers is None else answers.view,
        restapi_ready=kube.deployment_available(reach.namespace, reach.restapi_service) > 0,
        problem=problem,
    )
    return Look(with_cordoned(with_free_machines(seen, kube, settings), kube, settings, is_makers), answers)


def with_cordoned(
    seen: Observation,
    kube: KubeClient,
    settings: GateSettings,
    is_makers: Callable[[KubeClient, str, str, str], bool] = marks.is_makers,
) -> Observation:
    """The look with the pods that slurm-operator has cordoned and not uncordoned."""
    held = (pod.name for pod in taken_back(seen, settings))
    cordoned = frozenset(name for name in held if is_makers(kube, settings.reach.namespace, name, ANNOTATION_POD_CORDON))
    return replace(seen, cordoned=cordoned) if cordoned else seen


def ask_slurm(
    slurm: Callable[[], SlurmrestClient], members: Collection[str], last: Answers | None, hide: str, *, queue: bool = False
) -> tuple[Answers | None, str]:
    """Slurm's side of one look, or why there is none. Raises what no later look would mend.

    ``queue``: for a plan, which names jobs that wait too where there are not too many.
    """
    try:
        return _answers(slurm(), members, last, hide, queue=queue), ""
    except LASTING:
        raise
    except SlurmrestError as error:
        return None, str(error)


def _answers(client: SlurmrestClient, members: Collection[str], last: Answers | None, hide: str, *, queue: bool) -> Answers:
    # Without pods there is nothing to conclude from Slurm's lists, so a cluster before its first node may be empty.
    empty = not members
    nodes = client.nodes(allow_none=empty) if last is None else client.nodes_again(last.nodes, allow_none=empty)
    listed = last is None or nodes.nodes is not last.nodes.nodes
    own = set(members)
    held = {node.name: node for node in nodes.nodes if node.name in own and "DRAIN" in node.state}
    if last is None or held != last.held:
        since, fresh_s = nodes.answered, FRESH_S
    else:
        since, fresh_s = last.since, max(REUSED_S, REST * (last.jobs.answered - last.jobs.asked))
    jobs = client.jobs_after(since, wanted="affordable" if queue else "held", fresh_s=fresh_s)
    if last is None or jobs is not last.jobs:
        view = _view(client, nodes, jobs, hide)
    else:
        view = replace(last.view, nodes=nodes.by_name()) if listed else last.view
    return Answers(nodes, jobs, view, held, since, whole=listed and jobs.asked >= nodes.answered)


def cluster_view(client: SlurmrestClient, *, allow_none: bool = False, hide: str = "", waits: bool = False) -> ClusterView:
    """Slurm's side of one look, the jobs that wait only with ``waits``. Raises what the client raises; so it does for a
    list without nodes, unless ``allow_none``."""
    nodes = client.nodes(allow_none=allow_none)
    return _view(client, nodes, client.jobs_after(nodes.answered, wanted="live" if waits else "held"), hide)


def _view(client: SlurmrestClient, nodes: NodesAnswer, jobs: JobsAnswer, hide: str) -> ClusterView:
    listed = (shown(job, hide) for job in jobs.jobs)
    name, left_out = _controller(client, jobs), jobs.left_out
    return ClusterView.of(nodes.nodes, listed, client.reservations(), name=name, queue_left_out=left_out)


def _controller(client: SlurmrestClient, jobs: JobsAnswer) -> str:
    """ClusterName of the slurmctld that made these lists, ``""`` where unknown. Never slurmrestd's own: it has the name that
    the stack rendered for it, whichever slurmctld it leads to."""
    if not jobs.clusters:
        return client.controller_cluster()
    return next(iter(jobs.clusters)) if len(jobs.clusters) == 1 else ""


def require_cluster(found: str, name: str) -> None:
    """Raise SlurmrestElsewhere where the cluster ``found`` answers and not the one of this name; either may be unknown."""
    if "" not in (found, name) and found != name:
        raise SlurmrestElsewhere(
            f"slurmctld of cluster {found!r} answers, and this stack's is {name!r}. Nothing is drained or changed there."
            " Check slurmrest.url, then run `pulumi up` again."
        )


def jobs_view(session: Connection, cluster: str, hide: str) -> ClusterView:
    """The jobs that aren't over, without nodes. Raises what the client raises, and SlurmrestElsewhere."""
    listed = session.slurm.jobs_after(session.steady(), wanted="live")
    require_cluster(_controller(session.slurm, listed), cluster)
    return ClusterView.of((), (shown(job, hide) for job in listed.jobs))


def shown(job: Job, hide: str) -> Job:
    """The job as plans, progress and messages may show it. ``hide``: of :attr:`Settings.hide`."""
    return job.of(pseudonym(job.user_name, hide)) if hide else job


def conf_look(session: Connection, settings: Settings) -> ConfLook:
    """One look of the gates around slurm.conf.

    Partitions are asked for before jobs, so that a job that came in before a partition closed is seen. Raises what the
    client raises, and SlurmrestElsewhere where another cluster's slurmctld answers.
    """
    client = session.slurm
    states = partition_states(client)
    nodes = client.nodes(allow_none=True)
    can_close = client.version() == PARTITIONS_SINCE
    # What ended is asked for where slurmctld may not lose a partition of a job that it remembers.
    listed = client.jobs_after(nodes.answered, wanted="live" if can_close else "all")
    require_cluster(_controller(client, listed), settings.cluster)
    jobs = tuple(shown(job, settings.hide) for job in listed.jobs)
    seen = ClusterView.of(nodes.nodes, jobs)
    return ConfLook(session.now(), partitions=states, cluster=seen, jobs=jobs, can_close=can_close)


def partition_states(client: SlurmrestClient) -> dict[str, frozenset[str]]:
    """States of all partitions that slurmctld has."""
    return {each.name: each.partition.state for each in client.partitions()}


LOST: Final = "NODE_FAIL"
BUDGET_S: Final = 15.0
"""Seconds for one question: where there is no slurmdbd, an update shall not wait for it."""
ROUNDS: Final = 10
"""Questions, a second apart, until slurmdbd has heard of the end of every job: slurmctld tells it with a delay."""


@dataclass
class Met:
    """Nodes that a run drained and the jobs that it saw there, from all its looks."""

    owner: Owner
    nodes: set[str] = field(default_factory=set)
    jobs: dict[int, Job] = field(default_factory=dict)
    since: int | None = None
    """When the first of these nodes was drained, by slurmctld's clock."""
    ended: set[int | str] = field(default_factory=set)
    """Handles of jobs that the policy ended."""
    kept: set[int] = field(default_factory=set)
    """Jobs that ran on a node when it was returned: their end is not waited for."""
    there: dict[str, frozenset[int]] = field(default_factory=dict)
    """Jobs by node in the last look, of nodes that were drained then."""
    anywhere: bool = False
    """A job that was met is lost by a NODE_FAIL on any node: the run was not about nodes alone."""
    stands: str = "The nodes are gone as asked for: `pulumi up` again ends well."
    """What is so after a loss, and what to do."""

    def see(self, seen: Observation) -> None:
        """Add what a look shows."""
        if seen.cluster is None:
            return
        self.there = {}
        for pod in seen.pods:
            record = seen.cluster.nodes.get(pod.slurm_node)
            if record is None or not record.drained_or_draining:
                continue
            if not self.owner.owns(record.reason) and tag_of(pod, self.owner) is None:
                continue
            self.nodes.add(pod.slurm_node)
            found = {job.job_id: job for job in seen.cluster.jobs(pod.slurm_node)}
            self.jobs |= found
            self.there[pod.slurm_node] = frozenset(found)
            began = seen.now if record.reason_changed_at.value is None else record.reason_changed_at.value
            self.since = began if self.since is None else min(self.since, began)

    def wait_for(self, jobs: Iterable[Job], now: int, nodes: Iterable[str] = ()) -> None:
        """Add jobs that a look shows, and the nodes that they have to leave."""
        found = {job.job_id: job for job in jobs if job.active}
        if found:
            self.nodes |= set(nodes)
            self.jobs |= found
            self.since = now if self.since is None else self.since

    def did(self, step: Step) -> None:
        """Add what the policy did to jobs, and which jobs continue since their nodes were returned."""
        match step:
            case Requeue(jobs) | Cancel(jobs):
                self.ended |= set(jobs)
            case Undrain(nodes):
                still = set().union(*(jobs for name, jobs in self.there.items() if name not in nodes))
                self.kept |= {job for name in nodes for job in self.there.get(name, ())} - still
            case _:
                pass


def still_running(session: Session, settings: GateSettings, pods: Collection[Pod]) -> str:
    """Jobs that run, by slurmdbd, on pods whose nodes slurmctld has no record of; ``""`` where there is none.

    A slurmctld that lost its state knows neither, and pods do not register a second time. Only runs younger than their pod
    count: earlier ones ended with an earlier pod. Where slurmdbd does not answer, that is said, and nothing held up.
    """
    made = {pod.slurm_node: pod.created for pod in pods}
    if not made:
        return ""
    unknown = f"slurmctld has no record of {', '.join(sorted(made)[:8])}"
    try:
        since, cluster = min(made.values()), settings.cluster
        runs = session.slurm.running(since, cluster=cluster, budget_s=BUDGET_S)
    except SlurmrestError as error:
        text = f"{unknown}, and slurmdbd could not be asked for jobs there: {error}"
        session.report(text, severity="warning", keep=True)
        return ""
    there = {run.job_id for run in runs for node in run.node_names if node in made and run.time.start >= made[node]}
    if not there:
        return ""
    return (
        f"{unknown}, and by slurmdbd these jobs run there: {_numbers(there)}. slurmctld may have lost its state"
        " (StateSaveLocation). Give it its state back, and the gate waits for the jobs; or, if they are over,"
        " `sacctmgr show runawayjobs` ends them in slurmdbd"
    )


def prove(session: Session, settings: Settings, met: Met) -> str:
    """What became of the jobs, in a sentence; ``""`` where nothing was drained. Told as the run's last words, too.

    Raises DrainLost where slurmdbd says that a job was lost.
    """
    if met.since is None:
        return ""
    try:
        runs = _asked(session, settings, met)
    except SlurmrestError as error:
        text = (
            f"{counted(len(met.jobs))} met by the drain; slurmdbd could not be asked, so it is not proven that none was"
            f" lost: {error}"
        )
        session.report(f"{settings.owner.text}: {text}", keep=True)
        return text
    lost = lost_runs(runs, met)
    if lost:
        raise DrainLost(_lost_in_words(settings, met, lost))
    text = _in_words(met, runs)
    session.report(f"{settings.owner.text}: {text}", keep=True)
    return text


def _asked(session: Session, settings: Settings, met: Met) -> tuple[Accounted, ...]:
    """Runs of the jobs that the drain met, and of any other that ended with its node meanwhile."""
    cluster = settings.cluster
    runs: tuple[Accounted, ...] = ()
    for asked in range(ROUNDS):
        runs = session.slurm.accounted(met.jobs, cluster=cluster, budget_s=BUDGET_S)
        if not open_jobs(runs, met) or asked == ROUNDS - 1 or session.pause(1):
            break
    failed = session.slurm.failed_since(met.since or 0, cluster=cluster, budget_s=BUDGET_S)
    return tuple(dict.fromkeys((*runs, *failed)))


def open_jobs(runs: Collection[Accounted], met: Met) -> set[int]:
    """Jobs that slurmdbd doesn't know, or of whose end it hasn't heard since the drain began. Not those that continue."""
    since = met.since or 0
    return met.jobs.keys() - met.kept - {run.job_id for run in runs if not run.goes_on and run.time.end >= since}


def lost_runs(runs: Collection[Accounted], met: Met) -> tuple[Accounted, ...]:
    """Runs that ended with one of these nodes since the drain began. Of a job that was met, one of no known node is one."""
    failed = (run for run in runs if LOST in run.state.current and (not run.time.end or run.time.end >= (met.since or 0)))
    return tuple(
        run
        for run in failed
        if not met.nodes.isdisjoint(run.node_names) or (run.job_id in met.jobs and (met.anywhere or not run.node_names))
    )


def _in_words(met: Met, runs: Collection[Accounted]) -> str:
    """``14 jobs ran on, 0 lost``."""
    ended = {number for number, job in met.jobs.items() if job.handle in met.ended}
    unheard = open_jobs(runs, met) - ended
    kept = met.kept & met.jobs.keys() - ended
    parts = [f"{counted(len(met.jobs) - len(ended) - len(unheard) - len(kept))} ran on"]
    parts += [f"{len(kept)} on returned nodes, whose end was not waited for"] if kept else []
    parts += [f"{len(ended)} ended as onDeadline says"] if ended else []
    parts += [f"{len(unheard)} of whose end slurmdbd has not heard ({_numbers(unheard)})"] if unheard else []
    return ", ".join([*parts, "0 lost"])


def _lost_in_words(settings: Settings, met: Met, lost: Collection[Accounted]) -> str:
    jobs: Mapping[int, Accounted] = {run.job_id: run for run in lost}
    each = "; ".join(_lost(run, met.jobs.get(number)) for number, run in sorted(jobs.items())[:8])
    return (
        f"{settings.owner.text}: {len(jobs)} job(s) of {len({*met.jobs, *jobs})} lost with their nodes, by slurmdbd: {each}."
        f" Tell their users; `sacct -D -j {_numbers(jobs)}` shows each run. A job that slurmctld has not requeued must be"
        f" submitted again. {met.stands} Please report it: no job should be lost by a drain"
    )


def _lost(run: Accounted, job: Job | None) -> str:
    who = str(run.job_id) if job is None else whose(job)
    return f"{who} ({'+'.join(sorted(run.state.current))} on {', '.join(run.node_names[:4])} at {iso(run.time.end or None)})"


def _numbers(jobs: Collection[int]) -> str:
    shown = ",".join(str(number) for number in sorted(jobs)[:8])
    return shown if len(jobs) <= 8 else f"{shown},…"
