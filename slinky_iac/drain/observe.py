"""From the answers of Kubernetes and slurmrestd to one :class:`Observation`, and to one look at what slurm.conf loses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.snapshot import ClusterView, Workers
from slinky_iac.drain import daemons
from slinky_iac.drain.conf_steps import ConfLook
from slinky_iac.drain.cost import undecided
from slinky_iac.drain.members import taken_back
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings, Settings, pseudonym
from slinky_iac.errors import (
    DrainBlocked,
    KubeForbidden,
    KubeNotFound,
    SlurmrestAuthError,
    SlurmrestElsewhere,
    SlurmrestError,
    SlurmrestVersionError,
)
from slinky_iac.kube import marks
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.machines import names_for_new_pods, names_of_others
from slinky_iac.kube.scalers import writers
from slinky_iac.names import ANNOTATION_POD_CORDON
from slinky_iac.selection import DAEMON
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.lists import JobsAnswer, NodesAnswer
from slinky_iac.slurmrest.objects import Job, Node
from slinky_iac.slurmrest.shared import FRESH_S
from slinky_iac.slurmrest.versions import PARTITIONS_SINCE

LASTING: Final = (SlurmrestAuthError, SlurmrestElsewhere, SlurmrestVersionError)
"""A refused token, another cluster's slurmctld, an unsuitable slurmrestd: no later look would be better."""
PREVIEW_S: Final = 20.0
"""Seconds that one question of a preview may take: it is looked at by somebody who waits."""
REUSED_S: Final = 30.0
"""Age up to which a look that only continues to wait takes an earlier list of jobs again."""
REST: Final = 4.0
"""So many times as long as a list of jobs took it is taken again: 50,000 records take a busy slurmrestd a minute."""


Chooses = Callable[[Mapping[str, Node]], bool]
"""Whether nodes are still to be chosen, by those of the NodeSet that are drained: the queue may name some."""


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

    slurmrestd's passing silence is part of the observation (``cluster`` is None, ``problem`` says why). A refused token,
    an unsuitable slurmrestd or a RestApi that was deleted is raised: no later look would be better. So is everything from
    Kubernetes.
    """
    reach = settings.reach
    workers = Workers.look(kube, reach.namespace, settings.resource)
    if workers.nodeset is None:
        return Look(Observation(now=now, version=settings.version))
    others = writers(kube, reach.namespace, settings.resource, settings.leaving) if settings.by_stack else ()

    def chooses(drained: Mapping[str, Node]) -> bool:
        return undecided(workers.pods, drained, settings.owner, settings.target)

    answers, problem = ask_slurm(slurm, [pod.slurm_node for pod in workers.pods], last, settings.hide, queue=chooses)
    ready = kube.deployment_available(reach.namespace, reach.restapi_service) > 0
    if answers is None and not ready:
        require_restapi(kube, reach)
    seen = Observation(
        now,
        settings.version,
        workers.pods,
        workers.nodeset,
        writers=others,
        cluster=None if answers is None else answers.view,
        restapi_ready=ready,
        problem=problem,
    )
    return Look(completed(seen, kube, settings, is_makers), answers)


def require_restapi(kube: KubeClient, reach: Reach) -> None:
    """Raises DrainBlocked where the RestApi itself isn't there: no wait brings slurmrestd back then. Gates come after the
    RestApi in an update and before it in a destroy, so somebody else deleted it."""
    name = names.restapi_of(reach.restapi_service)
    try:
        marks.custom(kube, reach.namespace, "restapis", name)
    except KubeNotFound:
        raise DrainBlocked(
            f"{names.deleted('restapis', reach.namespace, name)}, which makes it again, also before a `pulumi destroy`."
            " Nothing more was changed"
        ) from None


def completed(
    seen: Observation,
    kube: KubeClient,
    settings: GateSettings,
    is_makers: Callable[[KubeClient, str, str, str], bool] = marks.is_makers,
) -> Observation:
    """The look with what is asked for only where it matters: Kubernetes nodes on which new pods may come, where these get
    their Slurm names from them, and pods that slurm-operator has cordoned and not uncordoned."""
    state, space = seen.nodeset, settings.reach.namespace
    if state is not None and (settings.selection is not None or state.spec.scaling_mode == DAEMON):
        seen = replace(seen, machines=kube.machines())
        if settings.selection is not None and seen.cluster is not None:
            coming = daemons.names_coming(seen, settings.selection) & seen.cluster.nodes.keys()
            others = names_of_others(kube, space, state) if coming else {}
            seen = replace(seen, neighbours={name: others[name] for name in sorted(coming & others.keys())})
    staying = sum(1 for pod in seen.pods if not pod.terminating)
    by_number = seen.machines is None
    if by_number and state is not None and state.on_host_network and (settings.target > staying or seen.outdated):
        with suppress(KubeForbidden):
            seen = replace(seen, free_machines=names_for_new_pods(kube, space, state))
    held = (pod.name for pod in taken_back(seen, settings))
    cordoned = frozenset(name for name in held if is_makers(kube, space, name, ANNOTATION_POD_CORDON))
    return replace(seen, cordoned=cordoned) if cordoned else seen


def ask_slurm(
    slurm: Callable[[], SlurmrestClient],
    members: Collection[str],
    last: Answers | None,
    hide: str,
    *,
    queue: Chooses = lambda _: False,
) -> tuple[Answers | None, str]:
    """Slurm's side of one look, or why there is none. Raises what no later look would mend.

    ``queue``: whether jobs that wait matter too, and are read where there are not too many.
    """
    try:
        return _answers(slurm(), members, last, hide, queue), ""
    except LASTING:
        raise
    except SlurmrestError as error:
        return None, str(error)


def _answers(client: SlurmrestClient, members: Collection[str], last: Answers | None, hide: str, queue: Chooses) -> Answers:
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
    jobs = client.jobs_after(since, wanted="affordable" if queue(held) else "held", fresh_s=fresh_s)
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


def require_cluster(cluster: str, name: str) -> None:
    """Raise SlurmrestElsewhere where the cluster ``cluster`` answers and not the one of this name; either may be unknown."""
    if "" not in (cluster, name) and cluster != name:
        raise SlurmrestElsewhere(
            f"slurmctld of cluster {cluster!r} answers, and this stack's is {name!r}. Nothing is drained or changed there."
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
    return {partition.name: partition.partition.state for partition in client.partitions()}
