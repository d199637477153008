"""The calls on slurmrestd, as plain methods. Each returns frozen values or raises a :class:`SlurmrestError`.

There is no method for a single node: its GET is stale (facts/slurmrestd.md#trap-3), and the list costs one call whatever its
length. Reads are repeated on passing trouble, within a budget. Writes are not: after a failed one, look at what is so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

import httpx

from slinky_iac.errors import SlurmrestGarbage, SlurmrestRefused, SlurmrestVersionError
from slinky_iac.kube.wire import SIEVE
from slinky_iac.names import REASON_PREFIX
from slinky_iac.slurmrest import controller, drains, versions
from slinky_iac.slurmrest.answers import NO_SUCH_JOB, NO_SUCH_NODE, Envelope, read, read_without_tres
from slinky_iac.slurmrest.controller import JobActionResult
from slinky_iac.slurmrest.current_jobs import StatesAnswer, Wanted, current_jobs
from slinky_iac.slurmrest.drains import CHUNK, BulkResult, Sorted, Update, carry_out, chunked, in_order, owned
from slinky_iac.slurmrest.external_nodes import ExternalSession
from slinky_iac.slurmrest.lists import JobRows, JobsAnswer, NodeRows, NodesAnswer
from slinky_iac.slurmrest.objects import Node
from slinky_iac.slurmrest.session import LONG
from slinky_iac.slurmrest.shared import FRESH_S

_JOB = re.compile(r"[0-9]{1,10}([_+][0-9]{1,10})?")


class SlurmrestClient(ExternalSession):
    """One user of one slurmrestd; opens nothing until the first call. Close it, or use ``with``. Not for two threads."""

    def ping(self, *, budget_s: float | None = None) -> controller.Pings:
        """Whether slurmctld answers slurmrestd. No proof of the token (facts/slurmrestd.md#trap-8): see :meth:`diag`."""
        return self._get("ping/", controller.Pings, budget_s)

    def served(self) -> tuple[str, ...]:
        """All REST versions that slurmrestd serves, newest first."""
        left = self._left()
        return versions.served(lambda path: self._send("GET", path, "ping", left()))

    def diag(self, *, budget_s: float | None = None) -> controller.Diag:
        """Proof that slurmctld takes our tokens. :raises SlurmrestAuthError: it doesn't."""
        return self._get("diag/", controller.Diag, budget_s)

    def nodes(self, *, allow_none: bool = False, budget_s: float | None = None) -> NodesAnswer:
        """All nodes.

        A list without any node is an error unless ``allow_none``: every node would be "gone", and so safe to delete.
        """
        answer = self.nodes_since(None, allow_none=allow_none, budget_s=budget_s)
        if answer is None:
            raise SlurmrestGarbage("nodes: 304 without having been asked for changes")
        return answer

    def nodes_since(
        self, since: int | None, *, allow_none: bool = False, budget_s: float | None = None
    ) -> NodesAnswer | None:
        """The same; None where nothing changed since ``since`` (a ``last_update``), which costs next to nothing."""
        params = {"update_time": str(since)} if since is not None else None
        response, asked = self._listed("nodes/", "nodes", NodeRows, self._lists(budget_s), params)
        if response.status_code == 304 and since is not None:
            return None
        body = read(response, controller.RowlessNodes, "nodes")
        rows: NodeRows = response.extensions[SIEVE]
        answer = rows.answer(body, asked, self._clock.monotonic())
        if not answer.nodes and not allow_none:
            raise SlurmrestGarbage(
                f"nodes: {self._shown} lists no node at all. If that is right (a cluster before its first node), the "
                "caller has to say so; else nothing may be concluded from it"
            )
        return answer

    def nodes_again(self, last: NodesAnswer, *, allow_none: bool = False) -> NodesAnswer:
        """All nodes as they are now, cheaply where nothing changed since ``last``."""
        asked = self._clock.monotonic()
        answer = self.nodes_since(last.last_update or None, allow_none=allow_none)
        return last.still_so(asked, self._clock.monotonic()) if answer is None else answer

    def jobs(self, *, budget_s: float | None = None) -> JobsAnswer:
        """All jobs that slurmctld remembers. With PrivateData set, a user who isn't an admin sees fewer, unsaid."""
        return self._job_rows(*self._listed("jobs/", "jobs", JobRows, self._lists(budget_s)), "jobs")

    def _job_rows(self, response: httpx.Response, asked: float, what: str) -> JobsAnswer:
        body = read(response, controller.RowlessJobs, what)
        rows: JobRows = response.extensions[SIEVE]
        return rows.answer(body, asked, self._clock.monotonic())

    def job_states(self, ids: Collection[int] = (), *, budget_s: float | None = None) -> StatesAnswer:
        """States of all jobs, or of those of ``ids`` that slurmctld knows (24.05 on). No PrivateData hides any."""
        params = {"job_id": [str(job_id) for job_id in ids]} if ids else None
        left = self._lists(budget_s)
        path = self._path("jobs/state/", left())
        asked = self._clock.monotonic()
        response = self._send("GET", path, "job states", left(), params=params, most=LONG, patient=True)
        body = read(response, controller.JobStates, "job states")
        return StatesAnswer(body.by_job(), len(body.jobs), asked, self._clock.monotonic())

    def job_records(self, job_id: int, *, budget_s: float | None = None) -> JobsAnswer:
        """The record of a job, with an array's all its tasks', with a het job's all its parts'; none where there is none."""
        response, asked = self._listed(f"job/{job_id:d}", "job", JobRows, self._left(budget_s))
        try:
            return self._job_rows(response, asked, f"job {job_id}")
        except SlurmrestRefused as error:
            if error.error_number != NO_SUCH_JOB:
                raise
            return JobsAnswer((), 0, asked, self._clock.monotonic())

    def jobs_after(self, moment: float, *, wanted: Wanted = "all", fresh_s: float = FRESH_S) -> JobsAnswer:
        """The jobs that are ``wanted``, asked after ``moment``: where that is when nodes were answered, what both lists call
        free was free. How they are asked for: :mod:`slinky_iac.slurmrest.current_jobs`.

        One answer serves all clients of this process that were given the same :class:`SharedJobs`, ask the same slurmrestd
        as the same user, and name a moment before its question was sent. It is ``fresh_s`` old at most.
        """
        who = (*self._who, wanted)
        last = self._shared.last(who)
        return self._shared.after(
            moment,
            who,
            lambda left: current_jobs(self, wanted, self._left(left), last.counted if last is not None else None),
            budget_s=self._lists_s,
            monotonic=self._clock.monotonic,
            fresh_s=fresh_s,
        )

    def controller_cluster(self) -> str:
        """ClusterName of slurmctld itself; ``""`` where slurmrestd can't tell, as before 26.05.

        ``meta.slurm.cluster`` of any answer (:attr:`NodesAnswer.cluster`) is what slurmrestd's own slurm.conf says: one that
        leads to another cluster's slurmctld says it all the same (run).
        """
        return self._conf(self._left()).ClusterName

    def slurm_user(self) -> str:
        """SlurmUser of slurmctld; ``""`` where slurmrestd can't tell, as before 26.05."""
        return (self._conf(self._left()).SlurmUser or "").partition("(")[0]

    def _conf(self, left: Callable[[], float]) -> controller.ConfName:
        if self.version(budget_s=left()) != versions.CONF_SINCE:
            return controller.ConfName()
        try:
            return self._get("conf", controller.ConfNameBody, left(), most=LONG).slurm_conf
        except (SlurmrestRefused, SlurmrestGarbage, SlurmrestVersionError):
            return controller.ConfName()

    def reservations(self) -> tuple[controller.Reservation, ...]:
        """All reservations, past ones excepted."""
        return self._get("reservations/", controller.Reservations, most=LONG).reservations

    def partitions(self) -> tuple[controller.Partition, ...]:
        """All partitions, those without a node too. slurmdbd may be down."""
        left, what = self._left(), "partitions/"
        response = self._send("GET", self._path(what, left()), what, left(), most=LONG)
        whole = read_without_tres(response, controller.SomePartitions, what)
        return (whole or read(response, controller.Partitions, what)).partitions

    def set_partition_state(self, name: str, state: str) -> None:
        """Set the state of a partition that is there: slurmrestd makes one that isn't, so look first.

        slurmctld keeps the state over restarts and reconfigurations, whatever slurm.conf says (load_all_part_state).
        :raises SlurmrestVersionError: slurmrestd is older than 26.05.
        """
        left = self._left()
        self._require(versions.PARTITIONS_SINCE, "a partition's state can be set", left, ": nothing was changed")
        body = {"partitions": [{"name": name, "partition": {"state": [state]}}]}
        self._write("POST", "partitions/", Envelope, f"set partition {name} {state}", body, budget_s=left())

    def hosts(self) -> dict[str, controller.Host]:
        """What slurmctld has of each node's line, by name; none before its first node."""
        return {node.name: node for node in self._get("nodes/", controller.Hosts, most=LONG).nodes}

    def slurmctld_began(self) -> int | None:
        """When slurmctld last began with its configuration, by a start or a reconfiguration; None before Slurm 26.05."""
        left = self._left()
        if self.version(budget_s=left()) != versions.PARTITIONS_SINCE:
            return None
        began = self._get("conf", controller.ConfMetaBody, left()).slurm_conf_meta.BOOT_TIME
        return (began or None) if isinstance(began, int) else began.value

    def drain(
        self,
        names: Iterable[str],
        reason: str,
        resume_after_s: int | None = None,
        *,
        seen: NodesAnswer | None = None,
        budget_s: float | None = None,
    ) -> BulkResult:
        """Drain the nodes with our ``reason`` (made by ``names.drain_reason``); renew those that we drained before.

        Nodes that somebody else drained are left alone (``FOREIGN``), judged by ``seen`` or else by a look of its own.
        ``resume_after_s``: slurmctld undrains after so long; None keeps the timer that is set. A race is left
        between look and POST, so look again and check that the reason is ours.
        """
        wanted = drains.checked_names(names)
        drains.owner_of(reason)
        return self._update(
            wanted,
            lambda look: drains.sort_for_drain(wanted, look, reason, resume_after_s),
            lambda node: node.drained_or_draining and owned(node.reason, [drains.owner_of(reason)]),
            seen,
            budget_s,
        )

    def clear_hold(self, ends: Mapping[str, int]) -> BulkResult:
        """Let drains stand for good that slurmctld would end, whosesoever they are, where the end is still this one; reason
        and user stay. A race is left between look and POST: a node that is undrained there is drained again."""
        wanted = drains.checked_names(ends)
        return self._update(
            wanted,
            lambda look: drains.sort_for_clearing(wanted, look, ends),
            lambda node: node.resume_after.value != ends[node.name],
            None,
            None,
        )

    def undrain(self, names: Iterable[str], *, owners: Iterable[str] = (REASON_PREFIX,)) -> BulkResult:
        """Lift the drains whose reason begins with one of ``owners``; others' are left alone (``FOREIGN``).

        DOWN stays DOWN, and then the reason stays too: put the old one back with :meth:`set_reason`.
        """
        # UNDRAIN, since RESUME fails on idle nodes (facts/slurmrestd.md#trap-9).
        return self._update_owned(names, owners, lambda node: "DRAIN" not in node.state, {"state": ["UNDRAIN"]})

    def resume(self, names: Iterable[str], *, owners: Iterable[str]) -> BulkResult:
        """Return nodes that are DOWN or drained to service where the reason begins with one of ``owners``.

        For records that an earlier pod of the same name left behind; unlike UNDRAIN this lifts DOWN too.
        """
        return self._update_owned(names, owners, lambda node: not node.state & {"DOWN", "DRAIN"}, {"state": ["RESUME"]})

    def set_reason(self, names: Iterable[str], reason: str, *, owners: Iterable[str] = (REASON_PREFIX,)) -> BulkResult:
        """Change only the reason, and only where the one there begins with one of ``owners``."""
        drains.checked_reason(reason)
        return self._update_owned(names, owners, lambda node: node.reason == reason, {"reason": reason})

    def _update_owned(
        self, names: Iterable[str], owners: Iterable[str], is_so: Callable[[Node], bool], change: dict[str, object]
    ) -> BulkResult:
        wanted, whose = drains.checked_names(names), tuple(owners)
        return self._update(wanted, lambda look: drains.sort_by(wanted, look, whose, is_so, change), is_so)

    def delete_node(self, name: str) -> bool:
        """Delete a dynamic node's record; False where there was none.

        Slurm refuses allocated, completing and reserved nodes, but **not** one with a suspended job, which then hangs
        for ever (facts/slurmrestd.md#trap-4): only for nodes that :mod:`slinky_iac.drain.free` calls free.
        """
        (wanted,) = drains.checked_names([name])
        try:
            self._write("DELETE", f"node/{wanted}", Envelope, f"delete node {wanted}")
        except SlurmrestRefused as error:
            if error.error_number != NO_SUCH_NODE:
                raise
            return False
        return True

    def cancel_jobs(self, ids: Iterable[int | str], signal: str | None = None) -> tuple[JobActionResult, ...]:
        """Cancel jobs, or send them ``signal`` (``SIGTERM`` …); what Slurm said about each.

        A signal goes to the batch script too (FULL_JOB), which Slurm leaves out otherwise. Nothing is sent for no ids:
        to Slurm, a filter without jobs means all of them.
        """
        jobs = _checked_jobs(ids)
        if signal is not None and not (signal.isascii() and signal.isalnum()):
            raise ValueError(f"{signal!r} isn't a signal's name: nothing was sent")
        flags = ["VERBOSE"] if signal is None else ["VERBOSE", "FULL_JOB"]
        extra = {} if signal is None else {"signal": signal}
        left = self._left()
        results: list[JobActionResult] = []
        for at in range(0, len(jobs), CHUNK):
            part = jobs[at : at + CHUNK]
            body = {"jobs": list(part), "flags": flags, **extra}
            said = self._write("DELETE", "jobs/", controller.JobStatuses, "cancel jobs", body, budget_s=left(), most=LONG)
            results += said.results(part)
        return tuple(results)

    def requeue_jobs(self, ids: Iterable[int | str]) -> tuple[JobActionResult, ...]:
        """Put running jobs back into the queue; what Slurm said about each.

        :raises SlurmrestVersionError: slurmrestd is older than 26.05.
        """
        jobs = _checked_jobs(ids)
        left = self._left()
        then = ": nothing was requeued. Cancel them, wait for their end, or choose another policy"
        self._require(versions.REQUEUE_SINCE, "jobs can be requeued", left, then)
        return tuple(self._requeued(job, left()) for job in jobs)

    def _requeued(self, job: str, budget_s: float) -> JobActionResult:
        # One POST for each: of several, an error names the failed ones in prose only, and says nothing of the others.
        try:
            self._write("POST", "jobs/requeue", Envelope, f"requeue job {job}", {"jobs": [job]}, budget_s=budget_s)
        except SlurmrestRefused as error:
            return JobActionResult(job, error.error_number, str(error))
        return JobActionResult(job, 0, "")

    def _update(
        self,
        names: tuple[str, ...],
        sort: Callable[[NodesAnswer], Sorted],
        is_done: Callable[[Node], bool],
        seen: NodesAnswer | None = None,
        budget_s: float | None = None,
    ) -> BulkResult:
        if not names:
            return BulkResult(())
        left = self._left(budget_s)
        look = seen or self.nodes(budget_s=left())
        plan = sort(look)
        updates = [update for group, change in plan.groups for update in chunked(group, change)]

        def post(update: Update) -> None:
            self._write("POST", "nodes/", Envelope, "update nodes", update.body(), budget_s=left())

        done = carry_out(updates, seen=look, post=post, look=lambda: self.nodes(budget_s=left()), is_done=is_done)
        return in_order(names, done, plan.settled)


def _checked_jobs(ids: Iterable[int | str]) -> tuple[str, ...]:
    """Job ids as texts (``17``, ``12_3``, ``20+1``), each once. :raises ValueError: anything else."""
    jobs = tuple(dict.fromkeys(str(i) for i in ids))
    for job in jobs:
        if _JOB.fullmatch(job) is None:
            raise ValueError(f"{job!r} isn't a job id: nothing was sent")
    return jobs
