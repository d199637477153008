"""The one loop of all rotations: look, plan, do the step that is due, look again; stop where it is somebody else's turn.

No record of steps is kept. Each run finds its step by the configuration's secrets, the stack's state, the cluster's Secrets,
the files in pods and on hosts, and which daemon takes which token; so a run that was cut short anywhere is run again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Final

from slinky_iac.commands import children
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.agreement import Agreement, Held
from slinky_iac.commands.rotation.cluster import Cluster, Run, Snapshot, connected, read, read_to_import
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.commands.rotation.host_scripts import Via, host_in_turn, hosts_of
from slinky_iac.commands.rotation.model import START, Host, Plan, Step, Turn
from slinky_iac.commands.rotation.planned_stop import refuse_unrotatable
from slinky_iac.config.reading.values import Values
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Key
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.kube.wire import Clock

EVERY_S: Final = 1.0


@dataclass(frozen=True)
class RotationContext:
    """The ports of a rotation: Pulumi, Kubernetes and Slurm, outside hosts (``via`` None: no way to them), a clock, and
    where to say what is done."""

    engine: Engine
    say: Callable[[str], None]
    via: Via | None = None
    backups: tuple[str, ...] = ()
    """Hosts of backup slurmctlds that the configuration doesn't name."""
    folder: str = host_scripts.FOLDER
    """Slurm's folder on outside hosts."""
    clock: Clock = field(default_factory=Clock)
    run: Run = children.run
    """Runs kubectl."""
    connect: Callable[[StackConfig, Run], AbstractContextManager[Cluster]] = connected
    read: Callable[[Engine], Values] = read
    read_to_import: Callable[[Engine], Values] = read_to_import
    new_key: Callable[[Key], bytes] = lambda key: key.form.generate()

    @contextmanager
    def snapshot(self, values: Values | None = None) -> Iterator[Snapshot]:
        """What is so now, with connections that are closed at the end."""
        current = values if values is not None else self.read(self.engine)
        with self.connect(current.config, self.run) as cluster:
            yield Snapshot(current, cluster, hosts_of(current.config, self.backups), self.via, self.folder)

    def place(
        self, hosts: Iterable[Host], script: Callable[[Host], str], files: Sequence[host_scripts.File], *, advice: str
    ) -> None:
        """Run ``script`` of each host on it, one after the other, and see that it has just these ``files`` then.

        Raises :class:`RotationError` with ``advice`` where it hasn't; the hosts after that one are left alone.
        """
        via = self.via
        assert via is not None
        for host in hosts:
            self.say(f"  {host.name} ({', '.join(host.roles)})")
            said = host_scripts.parse_report(via.script(host, script(host)))
            has = {name: seen.digest for name, seen in said.items()}
            if wrong := [file.name for file in files if has.get(file.name) != file.digest]:
                raise RotationError(f"host {host.name}: {', '.join(wrong)} isn't what was sent to it. {advice}")

    def promote_next(self, key: Key, keys: KeyMaterial) -> None:
        """The next key becomes the one in use, and that the previous one, where a rotation of it has one; at every cut both
        keys and a plan that continues are left. Nothing happens where there is no next key."""
        own, following = keys.secret(key.config), keys.secret(key.next)
        if following is None:
            return
        if own != following:
            if key.previous and own is not None:
                self.engine.set_key(key.previous, own)
            self.engine.set_key(key.config, following)
        self.engine.remove(key.next)

    def wait_until(self, late: Callable[[], str], within_s: float, failure: Callable[[str], str]) -> None:
        """Wait until ``late`` names nothing. Raises :class:`RotationError` with ``failure`` of what is late at the end."""
        end = self.clock.monotonic() + within_s
        while why := late():
            if self.clock.monotonic() > end:
                raise RotationError(failure(why))
            self.clock.sleep(EVERY_S)


@dataclass(frozen=True)
class KeyRotation(ABC):
    """Replaces one key of one stack, as far as it can; a subclass has what differs from key to key. Every method may raise
    :class:`RotationError`; what was done stays, and the next run continues from there."""

    key: Key
    context: RotationContext
    confirmed: str | None = None
    """Name of the hosts' step that the caller says is done, where nothing else tells."""
    of: ClassVar[Key]
    """The key that it is for; a planned stop is for any."""
    no_stop: ClassVar[str] = ""
    """Why a planned stop isn't for this key; empty where it may be."""
    script_is_secret: ClassVar[bool] = True
    """Whether what goes to a host holds a key."""
    advice: ClassVar[str] = "Its daemons may have read it: repair the host and run this again at once"
    """What to do about a host that hasn't what was sent to it."""

    @classmethod
    def agreements(cls, snapshot: Snapshot) -> Iterable[Agreement]:  # noqa: ARG003
        """What must be so of the key, in all places that hold it."""
        return ()

    @classmethod
    def shown(cls, snapshot: Snapshot) -> Iterable[Held]:  # noqa: ARG003
        """Where the key is held, where that is more than the bytes of its Secret."""
        return ()

    def refuse(self, values: Values, *, start: bool | None) -> None:  # noqa: ARG002
        """Raises where this stack's key can't be replaced in this way. ``start``: whether the caller has said that it may
        begin; None: nothing will be done."""
        refuse_unrotatable(values.config, self.key)

    @abstractmethod
    def plan(self, snapshot: Snapshot, done: Sequence[str]) -> Plan:
        """All steps, and where the rotation stands; ``done``: steps that this run has carried out. Changes nothing."""

    @abstractmethod
    def check_start(self, snapshot: Snapshot) -> None:
        """Raises where none may begin now."""

    @abstractmethod
    def act(self, snapshot: Snapshot, step: str) -> None:
        """Carry out a step of the stack's own, but the making of a key."""

    @abstractmethod
    def files(self, snapshot: Snapshot, step: str) -> list[host_scripts.File]:
        """What a hosts' step places."""

    def on_hosts(self, snapshot: Snapshot, step: Step) -> None:
        """Run a hosts' step and see that it took effect; there is a way to hosts."""
        files = self.files(snapshot, step.name)
        self.context.place(step.hosts, lambda host: self.host_script(host, files), files, advice=self.advice)

    def host_script(self, host: Host, files: Sequence[host_scripts.File]) -> str:
        """The script of a hosts' step for one host."""
        return host_scripts.change(host, files, folder=self.context.folder)

    def due_on_hosts(self, _snapshot: Snapshot, plan: Plan) -> Step | None:
        """The step that scripts are made for now."""
        return plan.due

    def await_done(self, snapshot: Snapshot, step: str, within_s: float, failure: Callable[[str], str]) -> None:
        """Wait until ``step`` is due no more, as the cluster tells."""

        def late() -> str:
            plan = self.plan(snapshot, ())
            shows = plan.due is None or plan.due.name != step
            return "" if shows else "; ".join(plan.notes) or f"{step} doesn't show"

        self.context.wait_until(late, within_s, failure)

    def standing(self) -> Plan:
        """Where the rotation stands. Changes nothing."""
        with self._snapshot() as snapshot:
            return self.plan(snapshot, ())

    def script(self, name: str) -> str:
        """The script of the hosts' step that is due, for the host ``name``; it may hold a key.

        Raises :class:`RotationError` where no such step is due, or the host has no part in it.
        """
        with self._snapshot() as snapshot:
            step, host = host_in_turn(self.due_on_hosts(snapshot, self.plan(snapshot, ())), name)
            return self.host_script(host, self.files(snapshot, step.name))

    def run(self, *, start: bool) -> Plan:
        """Carry on until it is somebody else's turn, or done. ``start``: begin where none is under way.

        Raises :class:`RotationError` where a step can't be done or isn't seen to be; what was done stays, and the next run
        continues from there.
        """
        done: list[str] = []
        context = self.context
        while True:
            with self._snapshot(start=start) as snapshot:
                plan = self.plan(snapshot, done)
                # Who says that the last step is done begins no other.
                may_start = start and not done and self.confirmed != plan.steps[-1].name
                step = next_step(plan, done, start=may_start, via=context.via)
                if step is None:
                    return plan
                if not plan.under_way:
                    self.check_start(snapshot)
                context.say(f"{step.name}: {step.title}")
                if step.name == START:
                    context.engine.set_key(self.key.next, context.new_key(self.key))
                elif step.turn is Turn.HOSTS:
                    self.on_hosts(snapshot, step)
                else:
                    self.act(snapshot, step.name)
                done.append(step.name)

    @contextmanager
    def _snapshot(self, *, start: bool | None = None) -> Iterator[Snapshot]:
        values = self.context.read(self.context.engine)
        self.refuse(values, start=start)
        with self.context.snapshot(values) as snapshot:
            yield snapshot


def next_step(plan: Plan, done: Sequence[str], *, start: bool, via: Via | None) -> Step | None:
    """The step that a run does next; None where it ends: nothing is due, nothing may ``start``, or hosts can't be reached.

    Raises :class:`RotationError` where the step that was ``done`` last is due again.
    """
    step = plan.due
    if step is None or not (plan.under_way or start) or (step.turn is Turn.HOSTS and via is None):
        return None
    if done and step.name == done[-1]:
        raise RotationError(
            f"step {step.name} was done, but its effect isn't visible: {'; '.join(plan.notes)}. Run this again"
        )
    return step
