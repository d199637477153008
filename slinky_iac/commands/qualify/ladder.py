"""One rung after the other: install, fill, preview, scale half in by the gate, out again, in by the operator alone, replace
all pods by the gate, destroy."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster.reach import Reach
from slinky_iac.commands.qualify import refusals
from slinky_iac.commands.qualify.cluster import Nodes
from slinky_iac.commands.qualify.fleet import Fleet, of_ladder
from slinky_iac.commands.qualify.model import ALONE, GATE, ROLL, Rung, Step
from slinky_iac.commands.qualify.settings import (
    CLUSTER,
    NODESET,
    PARTITION,
    unguarded,
    with_new_template,
    with_replicas,
)
from slinky_iac.errors import KubeConflict, KubeNotFound, QualifyRefused, SlinkyError
from slinky_iac.kube.tally import KUBERNETES, SLURMRESTD, Tally
from slinky_iac.names import (
    ANNOTATION_PERMIT,
    LABEL_NAME,
    OPERATOR_APP,
    PERMIT_DELETE,
    nodeset_resource,
    permit_to_scale,
)
from slinky_iac.slurmrest.controller import RpcDiag
from slinky_iac.slurmrest.objects import Job

JOB: Final = "slinky-qualify"
JOB_MINUTES: Final = 24 * 60
LOOK_S: Final = 1.0
LIMIT_S: Final = 1800.0
"""Longest wait for any one condition."""
TOUCHED: Final = "slinky-iac/qualify-touched"
OPERATORS_BATCH: Final = 250
"""Pods that slurm-operator drains and deletes in one sync at the most; it takes the next ones when their jobs have ended and
they are gone (1.0.0 to 1.2.1: ``burstReplicas`` in nodeset_sync.go; run: 288 of 576 stopped at 250)."""
NUDGE_S: Final = 60.0
"""How long slurm-operator alone may do nothing before the ladder touches a pod, which makes it look again."""
CLIENT_READS_S: Final = 65.0
"""Age from which slurm-operator's client of a slurmctld has all lists. 1.2.1 starts to keep those of reservations and jobs
30 s after it has made the client, and reads them for the first time after 60 s; a sync of a NodeSet that begins between
waits for them (slurm-client 1.2.1, informer.go; run: a sync of 26.5 s, 38 s after the client was made)."""
RESTAPI_APP: Final = "slurmrestd"
RESOURCE: Final = nodeset_resource(CLUSTER, NODESET)
Run = subprocess.Popen[bytes]
T = TypeVar("T")


class Updates(Protocol):
    """What runs `pulumi`: :class:`slinky_iac.commands.qualify.project.Project`."""

    def write(self, settings: Mapping[str, object], /) -> None:
        """Write the stack's settings."""

    def up(self) -> Run:
        """Begin an update."""

    def preview(self) -> Run:
        """Begin a preview."""

    def destroy(self) -> Run:
        """Begin a destroy."""

    def stop(self, run: Run, /) -> None:
        """End what was begun."""

    def said(self) -> str:
        """The last lines of what was run."""

    def tally(self) -> Tally:
        """Requests since the last call of this."""


def lost(jobs: Collection[Job], expected: Collection[int]) -> int:
    """How many of the expected jobs don't run any more, or have begun again."""
    running = {job.job_id for job in jobs if "RUNNING" in job.job_state and not job.restart_cnt}
    return sum(each not in running for each in expected)


@dataclass(frozen=True)
class _Ended:
    """What was seen while nodes were drained and their jobs ended."""

    drained: float
    """Moment at which the last of them was seen drained."""
    jobs: float
    """Moment at which the last of their jobs was ended."""
    lost: int


@dataclass
class Ladder:
    """One ladder on one cluster."""

    updates: Updates
    nodes: Nodes
    reach: Reach
    say: Callable[[str], None]
    operator: str | None = None
    """The namespace of the slurm-operator that a rung brings; None where it is somebody else's, and is left alone."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stands: bool = False
    """A rung's stack may have resources."""
    _run: Run | None = None
    _alone: Connection | None = None
    """Where slurm-operator scales in without a gate now."""
    _jobs: set[int] = field(default_factory=set)

    def rung(self, settings: Mapping[str, object], count: int) -> Rung:
        """One size, from nothing to nothing. Raises :class:`slinky_iac.errors.SlinkyError`."""
        half = count // 2
        self.nodes.make(count)
        self.stands = True
        full, less = with_replicas(settings, count), with_replicas(settings, count - half)
        open_ = unguarded(full)
        with Fleet(self.reach):
            steps = [self._update("install", full, count)]
            installed = self.now()
            with connected(self.reach) as connection:
                steps.append(self._fill("fill", connection, count))
                steps.append(self._preview(less, count, connection))
                self.operator_reads(installed)
                steps.append(self._scale_in(GATE, connection, count, half, lambda: self._begin(less)))
                steps.append(self._update("scale-out", open_, count, connection))
                self._fill("fill again", connection, count)
                steps.append(self._scale_in(ALONE, connection, count, half, lambda: _lower(connection, count - half)))
                steps.append(self._roll(with_new_template(less), connection, count, count - half))
                self.end_jobs(connection)
            steps.append(self.destroy(count))
        return Rung(count, tuple(steps))

    def operator_reads(self, installed: float) -> None:
        """Wait until slurm-operator's client has read its lists, of a stack that was ``installed`` then."""
        self._await("lists in slurm-operator's client", lambda: self.now() >= installed + CLIENT_READS_S)

    def destroy(self, count: int) -> Step:
        """Destroy the rung's stack."""
        with self._measured("destroy", count) as done:
            self.finish(self.updates.destroy(), "destroy", count)
        self.stands = False
        self._jobs.clear()
        return done()

    def end_jobs(self, connection: Connection) -> None:
        """End all jobs of the ladder, those of an earlier run too: this slurmctld has no others."""
        slurm = connection.slurm
        found = [job.job_id for job in slurm.jobs().jobs if job.name == JOB and "RUNNING" in job.job_state]
        slurm.cancel_jobs(found)
        self._jobs.clear()

    def empty(self, connection: Connection) -> None:
        """End all jobs and take all pods away without any gate: after a rung that was cut off, nodes may be in Slurm or not,
        and a gate would wait to know."""
        self.end_jobs(connection)
        try:
            _lower(connection, 0)
        except KubeNotFound:
            return
        self._await("0 pods", lambda: _removed(connection))

    def interrupt(self) -> None:
        """End the update that runs."""
        if self._run is not None:
            self.updates.stop(self._run)

    # -- steps ---------------------------------------------------------------------------------------------------

    def _update(self, name: str, settings: Mapping[str, object], count: int, connection: Connection | None = None) -> Step:
        with self._measured(name, count, connection) as done:
            self.finish(self._begin(settings), name, count)
        return done()

    def _preview(self, settings: Mapping[str, object], count: int, connection: Connection) -> Step:
        """What `pulumi preview` of the scale-in takes, all of it."""
        self.updates.write(settings)
        with self._measured("preview", count, connection) as done:
            self.finish(self.updates.preview(), "preview", count)
        return done()

    def _fill(self, name: str, connection: Connection, count: int) -> Step:
        """One job on each node that has none."""
        slurm = connection.slurm
        with self._measured(name, count, connection) as done:
            self._await(f"{count} nodes in Slurm", lambda: len(of_ladder(slurm.nodes(allow_none=True).nodes)) == count)
            for _ in range(count - len(self._jobs)):
                self._jobs.add(slurm.submit_external(JOB, PARTITION, JOB_MINUTES))
            self._await(f"{count} running jobs", lambda: not lost(slurm.jobs().jobs, self._jobs))
        return done()

    def _scale_in(self, name: str, connection: Connection, count: int, half: int, order: Callable[[], Run | None]) -> Step:
        slurm = connection.slurm
        with self._measured(name, count, connection) as done:
            began = self.now()
            run = order()
            self._alone = connection if run is None else None
            ended = self._end_jobs_of_drained(
                name, count, connection, half, run, at_once=half if run is not None else OPERATORS_BATCH
            )
            self._await(f"{count - half} pods", lambda: _pods(connection) == count - half)
            after = self.now() - ended.jobs
            self._alone = None
            if run is not None:
                self.finish(run, name, count)
            took = self.now() - began
            gone = ended.lost + lost(slurm.jobs().jobs, self._jobs)
        found = done(seconds=took, drained_s=ended.drained - began, after_jobs_s=after, lost=gone)
        left = count - half
        self._await(f"{left} nodes in Slurm", lambda: len(of_ladder(slurm.nodes(allow_none=True).nodes)) == left)
        return found

    def _roll(self, settings: Mapping[str, object], connection: Connection, count: int, pods: int) -> Step:
        """Replace every pod by the gate; both servers that it asks are restarted after its first batch."""
        with self._measured(ROLL, count, connection) as done:
            began = self.now()
            run = self._begin(settings)
            ended = self._end_jobs_of_drained(
                ROLL, count, connection, pods, run, at_once=1, midway=lambda: self._restart(connection)
            )
            self.finish(run, ROLL, count)
            took = self.now() - began
        return done(seconds=took, drained_s=ended.drained - began, lost=ended.lost)

    def _end_jobs_of_drained(
        self,
        name: str,
        count: int,
        connection: Connection,
        total: int,
        run: Run | None,
        *,
        at_once: int,
        midway: Callable[[], None] = lambda: None,
    ) -> _Ended:
        """As their owners would: end the jobs on ``total`` nodes, whenever ``at_once`` more of them are drained. ``midway``
        is done once, after the first of them."""
        slurm = connection.slurm
        over: set[str] = set()
        gone, drained_at = 0, self.now()

        def going(least: int) -> set[str]:
            """More drained nodes, if there are so many; else none."""
            if run is not None and run.poll() not in (None, 0):
                self.finish(run, name, count)
            try:
                nodes = of_ladder(slurm.nodes(allow_none=True).nodes)
            except SlinkyError:  # slurmrestd is being restarted: not yet
                return set()
            found = {node for node, each in nodes.items() if each.drained_or_draining} - over
            return found if len(found) >= least else set()

        while len(over) < total:
            wanted = min(at_once, total - len(over))
            drained = self._await(f"{wanted} more drained nodes after {len(over)} of {total}", partial(going, wanted))
            drained_at = self.now()
            jobs = slurm.jobs().jobs
            gone += lost(jobs, self._jobs)
            ended = {job.job_id for job in jobs if job.job_id in self._jobs and drained.intersection(job.node_names)}
            slurm.cancel_jobs(sorted(ended))
            self._jobs -= ended
            if not over:
                midway()
            over |= drained
        return _Ended(drained_at, self.now(), gone)

    def _restart(self, connection: Connection) -> None:
        """Delete the pods of slurmrestd, and of slurm-operator where the rung has brought it."""
        places = [(connection.reach.namespace, RESTAPI_APP), *([(self.operator, OPERATOR_APP)] if self.operator else [])]
        for space, app in places:
            for pod in connection.kube.pods_by(space, f"{LABEL_NAME}={app}", f"{app} pods of {space}"):
                with suppress(KubeConflict, KubeNotFound):  # already deleted or replaced
                    connection.kube.delete_worker(space, pod)

    # -- parts of them -------------------------------------------------------------------------------------------

    def _begin(self, settings: Mapping[str, object]) -> Run:
        self.updates.write(settings)
        self._run = self.updates.up()
        return self._run

    def finish(self, run: Run, name: str, count: int) -> None:
        """Wait for the end of an update. Raises :class:`QualifyRefused` where it failed."""
        self._run = run
        code = run.wait()
        self._run = None
        if code:
            raise refusals.failed(name, count, self.updates.said())

    def _await(self, what: str, check: Callable[[], T]) -> T:
        """What ``check`` gives as soon as that is something."""
        ends, nudged = self.now() + LIMIT_S, self.now()
        while not (found := check()):
            if self._alone is not None and self.now() > nudged + NUDGE_S:
                nudged = self.now()
                self.say(f"slurm-operator has done nothing for {NUDGE_S:.0f} s, with {what} to come: a pod was touched")
                _touch(self._alone, nudged)
            if self.now() > ends:
                raise QualifyRefused(
                    f"after {LIMIT_S:.0f} s there are not {what}; the ladder stops and what it made is removed"
                )
            self.sleep(LOOK_S)
        return found

    @contextmanager
    def _measured(self, name: str, count: int, connection: Connection | None = None) -> Iterator[Callable[..., Step]]:
        """What a step took: its requests, its time unless it says its own, the servers' own counts."""
        self.say(f"{count} nodes: {name}")
        self.updates.tally()
        calls = _calls(connection)
        before, began = self.nodes.kube.requests_served(), self.now()
        ended: list[float] = []

        def step(*, seconds: float | None = None, **more: float | int | None) -> Step:
            counted, after = self.updates.tally(), self.nodes.kube.requests_served()
            if counted.throttled:
                raise refusals.throttles(f"a request of the step {name} with {count} nodes")
            ours = counted.requests.total() > 0
            known = _calls(connection)
            same = calls is not None and known is not None and calls.since == known.since
            return Step(
                name,
                ended[0] if seconds is None else seconds,
                kubernetes=counted.of(KUBERNETES) if ours else None,
                slurmrestd=counted.of(SLURMRESTD) if ours else None,
                served=after - before if before is not None and after is not None and after >= before else None,
                gates_mib=counted.gates_kib / 1024 if counted.gates_kib else None,
                calls=known.calls - calls.calls if same and known and calls else None,
                call_seconds=known.seconds - calls.seconds if same and known and calls else None,
                **more,  # type: ignore[arg-type]
            )

        yield step
        ended.append(self.now() - began)


def _calls(connection: Connection | None) -> RpcDiag | None:
    """What slurmctld has answered so far; None where no slurmctld is there."""
    return None if connection is None else connection.slurm.rpc_load()


def _pods(connection: Connection) -> int:
    return len(connection.kube.worker_pods(connection.reach.namespace))


def _removed(connection: Connection) -> bool:
    """Delete the pods that are left, as the fence lets a person do; whether there was none. The operator is refused pods
    that it has not reported as drained, and waits for minutes then."""
    kube, space = connection.kube, connection.reach.namespace
    pods = kube.worker_pods(space)
    for pod in pods:
        with suppress(KubeConflict, KubeNotFound):  # changed or gone since: the next look has it
            kube.annotate_pod(space, pod, {ANNOTATION_PERMIT: PERMIT_DELETE})
            now = kube.pod(space, pod.name)
            if now is not None and now.metadata.uid == pod.metadata.uid:
                kube.delete_worker(space, now)
    return not pods


def _touch(connection: Connection, now: float) -> None:
    """Change an annotation of one worker pod: slurm-operator looks at its NodeSet then, and not before."""
    for pod in connection.kube.worker_pods(connection.reach.namespace)[:1]:
        with suppress(KubeConflict, KubeNotFound):  # changed or gone: that made it look, too
            connection.kube.annotate_pod(connection.reach.namespace, pod, {TOUCHED: f"{now:.0f}"})


def _lower(connection: Connection, replicas: int) -> None:
    """Fewer replicas as a person would write them, with the permission that the fence asks for, and without any gate."""
    kube, space = connection.kube, connection.reach.namespace
    for _ in range(10):
        state = kube.nodeset(space, RESOURCE)
        try:
            permit = {ANNOTATION_PERMIT: permit_to_scale(replicas, state.metadata.generation)}
            kube.set_replicas(space, kube.annotate_nodeset(space, state, permit), replicas)
        except KubeConflict:  # the operator has written its status between
            continue
        return
    raise SlinkyError(
        f"NodeSet {space}/{RESOURCE}: it changes so often that its replicas could not be lowered to {replicas}"
    )
