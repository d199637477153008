"""The record of a cluster, one ConfigMap: what a gate has closed or drained before slurm.conf loses it or slurmctld ends,
written down first (:class:`slinky_iac.cluster.partition_closing.Held`) and given back from there; and the lease of the run
that may do so (:mod:`slinky_iac.drain.lease`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from slinky_iac import names
from slinky_iac.cluster.partition_closing import ENTRY, Held, place
from slinky_iac.drain import conf_steps, lease
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.fresh import TRIES
from slinky_iac.drain.lease import Lease, LeaseLook, lease_step, superseded
from slinky_iac.drain.observe import partition_states
from slinky_iac.drain.protocol import Step
from slinky_iac.drain.session import Session, undrain
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.errors import DrainBlocked, KubeConflict, KubeError, KubeNotFound, SlurmrestError, StateError
from slinky_iac.slurmrest.drains import Outcome

Entries = Mapping[str, str]
Changed = Mapping[str, str | None]


class Record:
    """The ConfigMap, as one gate reads and changes it. All raise what Kubernetes raises."""

    def __init__(self, session: Session, settings: GateSettings | OutsideSettings | ConfSettings) -> None:
        self.session = session
        self.settings = settings
        self.cluster = session.reach.namespace, settings.controller
        self.where = f"ConfigMap {session.reach.namespace}/{place(settings.controller)}"

    def held(self) -> Held:
        """What is held; nothing where there is no ConfigMap."""
        return self.held_in(self.entries())

    def hold(self, held: Held) -> None:
        """Remember ``held``."""
        self.change(lambda _: {ENTRY: held.text() if held else None})

    def closing(self, states: Mapping[str, str], before: Mapping[str, str]) -> None:
        """Remember partitions that get these states now; what an earlier run found is what they had ``before``."""
        held = self.held()
        had = {**before, **held.partitions}
        set_to = {**held.closed, **states}
        unusual = {name: state for name, state in set_to.items() if state != conf_steps.CLOSED.get(had.get(name, ""))}
        self.hold(replace(held, partitions=had, closed=unusual))

    def remember(self, partition: str, before: str | None) -> None:
        """Add one partition with the state that it had, unless it is held already; None forgets it."""

        def change(entries: Entries) -> Changed:
            held = self.held_in(entries)
            others = {name: state for name, state in held.partitions.items() if name != partition}
            was = held.partitions.get(partition, before)
            wanted = replace(held, partitions=others if before is None or was is None else {**others, partition: was})
            return {ENTRY: wanted.text() if wanted else None}

        self.change(change)

    def reopen(self, name: str) -> None:
        """Open a NodeSet's own partition where the gate of its predecessor closed it.

        For a NodeSet that is replaced: slurmctld may never have read a file without the partition, and then keeps its state.
        """
        if name not in self.held().partitions:
            return
        with self.leased():
            held = self.held()
            before = {partition: state for partition, state in held.partitions.items() if partition == name}
            self._open(replace(held, partitions=before), partition_states(self.session.slurm))
            self.remember(name, None)

    def restore(self, held: Held, states: Mapping[str, frozenset[str]]) -> None:
        """Set partitions to the states that they had, where ours still stand, and undrain hosts that carry our reason, also
        that of the stack's earlier name.

        Raises DrainBlocked, after all else is done, where another stack's drain is on a host that ours had drained.
        """
        session, owner = self.session, self.settings.owner
        self._open(held, states)
        others: list[str] = []
        for stack in sorted({*held.hosts.values()} - {""}):
            hosts = tuple(sorted(host for host, by in held.hosts.items() if by == stack))
            undrained = undrain(session.slurm, hosts, replace(owner, stack=stack), session.report)
            for host in undrained.results:
                reason = host.before.reason if host.outcome is Outcome.FOREIGN and host.before is not None else ""
                if reason.startswith(names.REASON_PREFIX) and not reason.startswith(f"{names.REASON_PREFIX}{owner.stack}/"):
                    others.append(f"{host.name} ({reason!r})")
                elif host.outcome is Outcome.FOREIGN:
                    session.report(f"{host.name} stays out of service: {host.why}", severity="warning", keep=True)
        if others:
            raise DrainBlocked(
                f"{owner.text}: another stack has drained {', '.join(others)}, which this stack had drained for a change of"
                " slurm.conf. That drain was left as it is, and all else was given back. Return the host by that stack, or"
                f" by `scontrol update nodename={others[0].partition(' ')[0]} state=resume`; then run `pulumi up` again"
            )

    def _open(self, held: Held, states: Mapping[str, frozenset[str]]) -> None:
        for name, before in sorted(held.partitions.items()):
            ours = held.closed.get(name, conf_steps.CLOSED.get(before, ""))
            if ours in states.get(name, frozenset()):
                self.session.slurm.set_partition_state(name, before)
                self.session.report(f"partition {name} is {before} again", keep=True)

    def remove(self) -> None:
        """Delete the ConfigMap, where there is one: slurmctld is gone, and with it what was closed and drained. A Controller
        that this very run makes again has a new one."""
        self.change(dict.fromkeys)
        self.session.this_run.had.discard(self.cluster)

    @contextmanager
    def leased(self) -> Iterator[None]:
        """Inside of it this run is the only one that touches the cluster's hosts and partitions, as far as :meth:`keep` is
        called before each act. Raises DrainBlocked where another run lives."""
        run, last = self.session.this_run, [False]
        try:
            with run.used(self.cluster) as last:
                drive(LeaseTask(self))
                yield
        finally:
            if last == [True]:
                self._end()

    def keep(self) -> None:
        """Renew this run's lease where that is due. Raises DrainBlocked where it isn't this run's any more."""

        def change(entries: Entries) -> Changed:
            stored_lease = self.lease(entries)
            if stored_lease is None or stored_lease.id != self.session.this_run.id:
                raise DrainBlocked(f"{self.settings.owner.text}: {superseded(stored_lease, self.where)}")
            age = self.session.now() - stored_lease.renewed
            return {} if 0 <= age < lease.RENEW_S and not stored_lease.ended else self.own()

        self.change(change)

    def _end(self) -> None:
        """Mark the lease as ended, so that the next run needn't watch it."""

        def change(entries: Entries) -> Changed:
            stored_lease = Lease.read(entries.get(lease.ENTRY, ""))
            ours = stored_lease is not None and stored_lease.id == self.session.this_run.id
            return {lease.ENTRY: replace(stored_lease, ended=True).text()} if stored_lease is not None and ours else {}

        try:
            self.change(change)
        except KubeError as error:
            self.session.report(f"the lease runs out in {lease.STALE_S} s, since its end could not be written: {error}")

    def own(self) -> Changed:
        """The lease as this run's, renewed now."""
        return {lease.ENTRY: Lease(self.session.this_run.id, self.session.asked_by, self.session.now()).text()}

    def lease(self, entries: Entries) -> Lease | None:
        """The lease; None where there is none. Raises StateError where it can't be read."""
        text = entries.get(lease.ENTRY, "")
        stored_lease = Lease.read(text)
        if text and stored_lease is None:
            space, name = self.session.reach.namespace, place(self.settings.controller)
            what = f'[{{"op":"remove","path":"/data/{lease.ENTRY}"}}]'
            raise StateError(
                f"{self.where}: its entry {lease.ENTRY} can't be read (got {text[:80]!r}), so whether another run is at work"
                f" isn't known. Nothing was changed. When none is: `kubectl patch configmap -n {space} {name} --type=json -p"
                f" '{what}'`, then `pulumi up` again"
            )
        return stored_lease

    def held_in(self, entries: Entries) -> Held:
        """What was closed, by these entries. Raises StateError where it can't be read."""
        try:
            return Held.read(entries[ENTRY]) if ENTRY in entries else Held()
        except ValueError:
            space, name = self.session.reach.namespace, place(self.settings.controller)
            raise StateError(
                f"{self.where} notes which partitions and hosts gates have closed, and its entry {ENTRY} can't be read."
                " Nothing was changed. `scontrol show partition` shows partitions that aren't UP: open yours (`scontrol"
                " update partitionname=NAME state=UP`). Then, while no other run is at work, `kubectl delete configmap -n"
                f" {space} {name}` and `pulumi up`, which names the hosts that are still drained"
            ) from None

    def entries(self) -> Entries:
        """All of it; empty where there is no ConfigMap."""
        try:
            return self.session.kube.config_map(self.session.reach.namespace, place(self.settings.controller)).data
        except KubeNotFound:
            return {}

    def change(self, of: Callable[[Entries], Changed]) -> None:
        """Change entries by what they are, again where somebody else was faster."""
        kube, namespace, name = self.session.kube, self.session.reach.namespace, place(self.settings.controller)
        for left in reversed(range(TRIES)):
            try:
                config_map = kube.config_map(namespace, name)
            except KubeNotFound:
                config_map = None
            data = {} if config_map is None else config_map.data
            wanted = {key: text for key, text in of(data).items() if text != data.get(key)}
            if not wanted:
                return
            try:
                kube.write_config_map(namespace, name, config_map, wanted)
            except (KubeConflict, KubeNotFound):
                if not left:
                    raise
            else:
                return


def require_record(record: Record, settings: ConfSettings) -> None:
    """Before a run that finds no record at all, which is the first one, or one after somebody has deleted it.

    Raises DrainBlocked where hosts carry this gate's drain: what they waited for is not known any more. Of a partition
    nothing says who closed it: a warning names one that takes no job.
    """
    wanted, session = settings.lines, record.session
    if not (wanted.hosts or wanted.partitions) or record.entries():
        return
    try:
        nodes = session.slurm.nodes(allow_none=True).by_name() if wanted.hosts else {}
        states = partition_states(session.slurm)
    except SlurmrestError:  # a first run: slurmctld may not have begun
        return
    if left := sorted(name for name in wanted.hosts if settings.owner.holds(nodes.get(name))):
        raise DrainBlocked(
            f"{settings.owner.text}: {', '.join(left)} still drained for a change of slurm.conf (reason"
            f" {nodes[left[0]].reason!r}). {record.where} said for which change, and is gone. Nothing was changed. Wait"
            " until `scontrol show node` shows the host as slurm.conf is to have it. Then run `scontrol update"
            f" nodename={','.join(left)} state=undrain`, and `pulumi up` again"
        )
    for name in sorted(wanted.partitions.keys() & states.keys()):
        if states[name] & conf_steps.TAKES_NONE:
            session.report(
                f"partition {name} is {'+'.join(sorted(states[name]))} and takes no job, and this stack has no record of"
                f" having closed it. If no other admin did: `scontrol update partitionname={name} state=up`",
                severity="warning",
                keep=True,
            )


class LeaseTask(Task[LeaseLook]):
    """Take the lease; where another run may have it still, see whether that run lives."""

    doing = "waiting for another run's lease"
    least_poll_s = 5.0

    def __init__(self, record: Record) -> None:
        super().__init__(record.session, record.settings)
        self._record = record
        self._first: Lease | None = None
        self._since = 0.0

    def look(self) -> LeaseLook:
        entries = self._record.entries()
        stored_lease, at = self._record.lease(entries), self.session.steady()
        if self._first is None:
            self._first, self._since = stored_lease, at
        return LeaseLook(stored_lease, self._record.held_in(entries), self._first, at - self._since)

    def decide(self, seen: LeaseLook) -> Step:
        self._seen, run = seen.lease, self.session.this_run
        return lease_step(seen, run.id, had=self._record.cluster in run.had, where=self._record.where)

    def act(self, step: Step) -> None:  # noqa: ARG002 - there is one
        """Write it, if it is still as it was seen."""
        record = self._record

        def change(entries: Entries) -> Changed:
            if record.lease(entries) != self._seen:
                raise KubeConflict(f"{record.where}: another run took the lease. Look again")
            return record.own()

        record.change(change)
        self.session.this_run.had.add(record.cluster)

    def stays(self) -> str:
        return "This gate changed nothing, and `pulumi up` continues"
