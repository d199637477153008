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
from slinky_iac.commands.qualify import by_hand, refusals
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
from slinky_iac.kube.fake_nodes import between
from slinky_iac.kube.tally import KUBERNETES, SLURMRESTD, Tally
from slinky_iac.names import (
    LABEL_NAME,
    OPERATOR_APP,
    nodeset_resource,
)
from slinky_iac.slurmrest.controller import RpcDiag
from slinky_iac.slurmrest.objects import Job

JOB: Final = "slinky-qualify"
JOB_MINUTES: Final = 24 * 60
LOOK_S: Final = 1.0
LIMIT_S: Final = 1800.0
"""Longest wait for any one condition."""
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

    def stop(self) -> None:
        """End what was begun last, if it still runs. Another Ctrl-C meanwhile doesn't leave it running."""

    def said(self) -> str:
        """The last lines of what was run."""

    def tally(self) -> Tally:
        """Requests since the last call of this."""


def lost(jobs: Collection[Job], expected: Collection[int]) -> int:
    """How many of the expected jobs don't run any more, or have begun again."""
    running = {job.job_id for job in jobs if "RUNNING" in job.job_state and not job.restart_cnt}
    return sum(job_id not in running for job_id in expected)


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
    _alone: Connection | None = None
    """Where slurm-operator scales in without a gate now."""
    steps: list[Step] = field(default_factory=list)
    """Those that have ended of the rung that is under way."""
    _jobs: set[int] = field(default_factory=set)
    """Jobs that are expected to run now."""
    _fleet: Fleet | None = None

    def rung(self, settings: Mapping[str, object], count: int) -> Rung:
        """One size, from nothing to nothing. Raises :class:`slinky_iac.errors.SlinkyError`."""
        half, steps = count // 2, self.steps
        self.nodes.make(count)
        self.stands = True
        full, less = with_replicas(settings, count), with_replicas(settings, count - half)
        open_ = unguarded(full)
        with self.kept():
            steps.append(self._update("install", full, count))
            installed = self.now()
            with connected(self.reach) as connection:
                steps.append(self._fill("fill", connection, count))
                steps.append(self._preview(less, count, connection))
                self.operator_reads(installed)
                steps.append(self._scale_in(GATE, connection, count, half, lambda: self._begin(less)))
                steps.append(self._update("scale-out", open_, count, connection))
                self._fill("fill again", connection, count)
                steps.append(self._scale_in(ALONE, connection, count, half, lambda: by_hand.lower(connection, count - half)))
                steps.append(self._roll(with_new_template(less), connection, count, count - half))
                self.end_jobs(connection)
            steps.append(self.destroy(count))
        rung = Rung(count, tuple(steps))
        steps.clear()
        return rung

    def operator_reads(self, installed: float) -> None:
        """Wait until slurm-operator's client has read its lists, of a stack that was ``installed`` then."""
        self._await("lists in slurm-operator's client", lambda: self.now() >= installed + CLIENT_READS_S)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Records in Slurm are kept as pods are, inside of ``with``."""
        with Fleet(self.reach) as fleet:
            self._fleet = fleet
            try:
                yield
            finally:
                self._fleet = None

    def destroy(self, count: int) -> Step:
        """Destroy the rung's stack."""
        with self._measured("destroy", count) as done:
            self.take_down(count)
        return done()

    def take_down(self, count: int) -> None:
        """The same without a figure of it: a server that throttles is no reason to leave something there."""
        self.finish(self.updates.destroy(), "destroy", count)
        self.stands = False
        self._jobs.clear()

    def end_jobs(self, connection: Connection) -> None:
        """End all jobs of the ladder, those of an earlier run too: this slurmctld has no others."""
        slurm = connection.slurm
        slurm.cancel_jobs([job.job_id for job in _own_jobs(slurm.jobs().jobs)])
        self._jobs.clear()

    def empty(self, connection: Connection) -> None:
        """End all jobs and take all pods away without any gate: after a rung that was cut off, nodes may be in Slurm or not,
        and a gate would wait to know."""
        self.end_jobs(connection)
        try:
            by_hand.lower(connection, 0)
        except KubeNotFound:
            return
        self._await("0 pods", lambda: by_hand.removed(connection))

    def interrupt(self) -> None:
        """End the update that runs, however often Ctrl-C comes meanwhile: nothing may run beside what removes the rung."""
        ended = False
        while not ended:
            with suppress(KeyboardInterrupt):
                self.updates.stop()
                ended = True

    def account(self, jobs: Collection[Job]) -> int:
        """How many jobs were lost since the last time; each counts once, in the step that first saw it."""
        gone = {job_id for job_id in self._jobs if lost(jobs, {job_id})}
        self._jobs -= gone
        return len(gone)

    # -- steps ---------------------------------------------------------------------------------------------------

    def _update(self, name: str, settings: Mapping[str, object], count: int, connection: Connection | None = None) -> Step:
        with self._measured(name, count, connection) as done:
            self.finish(self._begin(settings), name, count)
        return done(lost=None if connection is None else self.account(connection.slurm.jobs().jobs))

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
            for _ in range(count - len(_own_jobs(slurm.jobs().jobs))):
                self._jobs.add(slurm.submit_external(JOB, PARTITION, JOB_MINUTES))
            self._await(f"{count} running jobs", lambda: not lost(slurm.jobs().jobs, self._jobs))
        return done()

    def _scale_in(self, name: str, connection: Connection, count: int, half: int, order: Callable[[], Run | None]) -> Step:
        slurm = connection.slurm
        with self._measured(name, count, connection) as done:
            began = self.now()
            run = order()
            with self._touching(connection if run is None else None):
                ended = self._end_jobs_of_drained(
                    name, count, connection, half, run, at_once=half if run is not None else OPERATORS_BATCH
                )
                self._await(f"{count - half} pods", lambda: by_hand.pods(connection) == count - half)
                after = self.now() - ended.jobs
            if run is not None:
                self.finish(run, name, count)
            took = self.now() - began
            gone = ended.lost + self.account(slurm.jobs().jobs)
        step = done(seconds=took, drained_s=ended.drained - began, after_jobs_s=after, lost=gone)
        left = count - half
        self._await(f"{left} nodes in Slurm", lambda: len(of_ladder(slurm.nodes(allow_none=True).nodes)) == left)
        return step

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
            gone = ended.lost + self.account(connection.slurm.jobs().jobs)
        return done(seconds=took, drained_s=ended.drained - began, lost=gone)

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
            node_names = {node for node, record in nodes.items() if record.drained_or_draining} - over
            return node_names if len(node_names) >= least else set()

        while len(over) < total:
            wanted = min(at_once, total - len(over))
            drained = self._await(f"{wanted} more drained nodes after {len(over)} of {total}", partial(going, wanted))
            drained_at = self.now()
            jobs = slurm.jobs().jobs
            gone += self.account(jobs)
            ended = {job.job_id for job in _own_jobs(jobs) if drained.intersection(job.node_names)}
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
        return self.updates.up()

    def finish(self, run: Run, name: str, count: int) -> None:
        """Wait for the end of an update. Raises :class:`QualifyRefused` where it failed."""
        if run.wait():
            raise refusals.failed(name, count, self.updates.said())

    @contextmanager
    def _touching(self, alone: Connection | None) -> Iterator[None]:
        """Waits inside of it touch a pod where slurm-operator is ``alone``. None after it does: those of the removal after a
        Ctrl-C find this connection closed."""
        self._alone = alone
        try:
            yield
        finally:
            self._alone = None

    def _await(self, what: str, check: Callable[[], T]) -> T:
        """What ``check`` gives as soon as that is something."""
        ends, nudged = self.now() + LIMIT_S, self.now()
        while not (answer := check()):
            if self._alone is not None and self.now() > nudged + NUDGE_S:
                nudged = self.now()
                self.say(f"slurm-operator has done nothing for {NUDGE_S:.0f} s, with {what} to come: a pod was touched")
                by_hand.touch(self._alone, nudged)
            trouble = self._trouble()
            if self._fleet is not None and self._fleet.broken:
                raise QualifyRefused(f"there are not {what}, and the ladder stops here.{trouble}")
            if self.now() > ends:
                raise QualifyRefused(f"after {LIMIT_S:.0f} s there are not {what}; the ladder stops here.{trouble}")
            self.sleep(LOOK_S)
        return answer

    def _trouble(self) -> str:
        """Why no record comes or goes, as a sentence; empty where that is not known."""
        said = "" if self._fleet is None else self._fleet.trouble
        return f" The last look at pods and Slurm failed: {said}" if said else ""

    @contextmanager
    def _measured(self, name: str, count: int, connection: Connection | None = None) -> Iterator[Callable[..., Step]]:
        """What a step took: its requests, its time unless it says its own, the servers' own counts."""
        self.say(f"{count} nodes: {name}")
        self.updates.tally()
        calls = _calls(connection)
        before, began = self.nodes.kube.requests_served(), self.now()
        ended: list[float] = []

        def step(*, seconds: float | None = None, **more: float | int | None) -> Step:
            counted, served = self.updates.tally(), between(before, self.nodes.kube.requests_served())
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
                served=served,
                gates_mib=counted.gates_kib / 1024 if counted.gates_kib else None,
                calls=known.calls - calls.calls if same and known and calls else None,
                call_seconds=known.seconds - calls.seconds if same and known and calls else None,
                **more,  # type: ignore[arg-type]
            )

        yield step
        ended.append(self.now() - began)


def _own_jobs(jobs: Collection[Job]) -> list[Job]:
    """The ladder's jobs that have or want a node, those that began again too."""
    return [job for job in jobs if job.name == JOB and not {"RUNNING", "PENDING"}.isdisjoint(job.job_state)]


def _calls(connection: Connection | None) -> RpcDiag | None:
    """What slurmctld has answered so far; None where no slurmctld is there."""
    return None if connection is None else connection.slurm.rpc_load()
