"""Hosts of srun and salloc: pods of login sets, of clients and of notebooks. They end once nothing runs from them.

A job of sbatch continues without the host where it was submitted. srun and salloc don't: slurmctld lets such a job run to
its time limit with nothing attached to it (26.05.5, watched).

What stays open: a person may begin a session between the last look and the deletion, which is a moment. Nothing can close a
login pod to people and keep the sessions in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.drain import waiting
from slinky_iac.drain.driver import ALL_JOBS_IDLE, ALL_JOBS_S, Task, drive
from slinky_iac.drain.losses import Change, Loss, who_loses
from slinky_iac.drain.observe import jobs_view
from slinky_iac.drain.proof import Met, prove
from slinky_iac.drain.protocol import DeleteOwned, Done, Patience, Step, Wait
from slinky_iac.drain.session import Session
from slinky_iac.drain.session_hosts import SessionHosts
from slinky_iac.drain.settings import Settings
from slinky_iac.kube.objects import WrittenMeta
from slinky_iac.kube.pods import hosts_of


@dataclass(frozen=True, kw_only=True)
class SessionSettings(SessionHosts, Settings):
    """Props of the gate of such pods."""

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> SessionSettings:
        """Read props, from a program or from a state file. Raises ValueError where another program wrote them."""
        return cls(**cls.common(props, str(props["host"])), **cls.fields_of(props))


@pulumi_state.as_written()
def in_state(state: State) -> tuple[SessionSettings, ...]:
    """Settings of all such gates of a stack."""
    return tuple(SessionSettings.from_props(resource.made) for resource in state.all(pulumi_state.dynamic("SessionsGate")))


@dataclass(frozen=True)
class SessionLook:
    """What was seen."""

    now: int
    meta: WrittenMeta | None
    """Of what makes the pods; None where there is none (any more)."""
    change: Change
    lost: tuple[Loss, ...]


def look(session: Session, settings: SessionSettings) -> SessionLook:
    """One look: pods, then jobs; Slurm is not asked where there are no pods. Raises what the clients raise."""
    kind, space = settings.kind, settings.namespace
    meta = session.kube.meta(kind, space, settings.resource) if kind else None
    change = Change() if kind and meta is None else ending(session, space, settings.selector)
    lost = who_loses(change, jobs_view(session, settings.cluster, settings.hide)) if change else ()
    return SessionLook(session.now(), meta, change, lost)


def ending(session: Connection, namespace: str, selector: str) -> Change:
    """The end of the pods of a selector; empty where there is none. Raises what Kubernetes raises."""
    return Change.of_hosts(hosts_of(session.kube, namespace, selector))


def next_step(seen: SessionLook, goal: Patience, settings: SessionSettings) -> Step:
    """Wait until nothing would be lost, then delete."""
    if settings.kind and seen.meta is None:
        return Done()
    if seen.meta is not None and seen.meta.deletion_timestamp is not None:
        return Wait(f"{settings.what} is being deleted")
    later = waiting.until_none(
        seen.lost,
        seen.now,
        goal,
        seen.change,
        then=f"{settings.what} ends" if settings.kind else f"{settings.what} may end",
        late=(
            f"{settings.what} can't end yet, since these would lose their srun or salloc",
            f"and it stays. Let them end, or cancel them (scancel). {settings.again}",
        ),
    )
    return later or (DeleteOwned(settings.what) if settings.kind else Done())


class SessionTask(Task[SessionLook]):
    """Wait until nothing runs from the pods, then delete what makes them."""

    settings: SessionSettings
    doing = "waiting for srun and salloc"
    acts_at_deadline = True
    idle = ALL_JOBS_IDLE
    least_poll_s = ALL_JOBS_S

    def __init__(self, session: Session, settings: SessionSettings) -> None:
        met = Met(settings.owner, anywhere=True, stands="They are gone: the same command again ends well.")
        super().__init__(session, settings, settings.policy.deadline_s, met)
        self._meta: WrittenMeta | None = None

    def look(self) -> SessionLook:
        seen = look(self.session, self.settings)
        self._meta = seen.meta
        return seen

    def decide(self, seen: SessionLook) -> Step:
        self.met.wait_for((loss.job for loss in seen.lost), self.session.now())
        return next_step(seen, self.patience, self.settings)

    def act(self, step: Step) -> None:
        settings = self.settings
        if not isinstance(step, DeleteOwned):
            super().act(step)
        elif self._meta is not None:
            self.session.kube.delete(settings.kind, settings.namespace, self._meta)

    def ended(self, _seen: SessionLook) -> str:
        return f"nothing of srun or salloc is left in {self.settings.what}"

    def undo(self) -> None:
        """Nothing was changed."""

    def stays(self) -> str:
        return f"{self.settings.what} stays. {self.settings.again}"


def finish(session: Session, settings: SessionSettings) -> None:
    """End the pods once nothing runs from them; with ``interruptSessions`` that is the engine's to do, at once.

    Raises DrainDeadline where the wait is over, and what the clients raise.
    """
    if settings.interrupts:
        return
    task = SessionTask(session, settings)
    drive(task)
    prove(session, settings, task.met)
