"""The lease on a cluster: which run may touch its bare-metal hosts and partitions. Pure.

`pulumi cancel` takes a lock away and ends no run, and a backend of files asks for its lock at the start only. So a run
takes this lease before it changes anything there, renews it while it works and before each act, and marks it as ended. A
second run watches the lease of one that hasn't ended: where it is renewed meanwhile that run lives, and the second one
stops; where it isn't for :data:`STALE_S`, its process is taken for dead. A run that finds that another one has begun since
it began itself, dead or alive, changes nothing more.

Wire format: the entry ``run`` of the record's ConfigMap (:func:`slinky_iac.cluster.partition_closing.place`), JSON
``{"by":"alice@desk","ended":false,"id":"1a2b3c4d","renewed":1764194568}``. Its writes are conditioned on the
``resourceVersion`` of the look.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain.protocol import Done, Step, Stop, Wait
from slinky_iac.drain.words import iso, named

ENTRY: Final = "run"
RENEW_S: Final = 15
"""Age at which a run renews its lease."""
STALE_S: Final = 60
"""Time without a renewal after which the run is taken for dead, by the watcher's own clock. A look that takes longer (tens
of thousands of jobs) may lose the lease; its run then ends at its next act."""
Cluster = tuple[str, str]
"""Namespace and Controller."""


@dataclass(frozen=True)
class Lease:
    """A run's hold on the cluster."""

    id: str
    """Of the run: one for each plugin process."""
    by: str
    """Who asked for it."""
    renewed: int
    """Seconds since the epoch, by the run's clock."""
    ended: bool = False

    @property
    def words(self) -> str:
        """``run 1a2b3c4d of alice@desk, last renewed 2026-…Z``."""
        return f"run {self.id} of {self.by}, last renewed {iso(self.renewed)}"

    def text(self) -> str:
        """The entry's value."""
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Lease | None:
        """The value back; None where it isn't one that this program wrote."""
        try:
            raw: Any = json.loads(text)
            lease = cls(**raw)
        except (ValueError, TypeError, RecursionError):
            return None
        right = {"id": str, "by": str, "renewed": int, "ended": bool}
        return lease if all(type(getattr(lease, name)) is kind for name, kind in right.items()) else None


@dataclass
class ThisRun:
    """This process's run."""

    id: str = field(default_factory=lambda: secrets.token_hex(4))
    had: set[Cluster] = field(default_factory=set)
    """Clusters whose lease it has had: it doesn't take one back that another run has had since."""
    _users: Counter[Cluster] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def used(self, cluster: Cluster) -> Iterator[list[bool]]:
        """Inside of it a gate works under the lease; afterwards the list says whether it was the last that did."""
        last: list[bool] = []
        with self._lock:
            self._users[cluster] += 1
        try:
            yield last
        finally:
            with self._lock:
                self._users[cluster] -= 1
                last.append(self._users[cluster] == 0)


THIS_RUN: Final = ThisRun()


@dataclass(frozen=True)
class TakeLease(Step):
    """Write the lease as this run's, if it is still the one of this look."""

    doing = "taking the cluster's lease"


@dataclass(frozen=True)
class LeaseLook:
    """What one look shows of the lease."""

    lease: Lease | None
    held: Held
    first: Lease | None = None
    """What the first look showed."""
    waited: float = 0.0
    """Seconds since then."""


def lease_step(seen: LeaseLook, run: str, *, had: bool, where: str) -> Step:
    """The next step towards the lease. ``had``: this run has had it before. ``where``: the ConfigMap."""
    lease = seen.lease
    if had and (lease is None or lease.id != run):
        return Stop(superseded(lease, where), "blocked")
    if lease is None or lease.ended:
        return TakeLease()
    if lease.id == run:
        return Done()
    if lease != seen.first:
        return Stop(
            f"another run is at work on this cluster: {lease.words} ({where}, entry {ENTRY}). It holds {_held(seen.held)}."
            " This gate changed nothing. Let that run end, or interrupt it where it runs (Ctrl-C); then `pulumi up` again"
            " continues",
            "blocked",
        )
    if seen.waited >= STALE_S:
        return TakeLease()
    return Wait(
        f"another run may still be at work: {lease.words}. If it doesn't renew its lease within {STALE_S} s, it is dead, and"
        " this run continues"
    )


def superseded(lease: Lease | None, where: str) -> str:
    """Why a run that has had the lease ends."""
    if lease is None:
        return (
            f"this run ends and changes nothing more, since somebody removed its record ({where}). What it closed or drained"
            " stays so; `pulumi up` again says what that is"
        )
    return (
        f"this run ends and changes nothing more, since another run began after it: {lease.words} ({where}, entry {ENTRY})."
        " What is drained or closed is the later run's matter; `pulumi up` again continues"
    )


def _held(held: Held) -> str:
    partitions, hosts = named(held.partitions), named(held.hosts)
    parts = [f"{what} {names}" for what, names in (("partitions", partitions), ("hosts", hosts)) if names]
    return " and ".join(parts) or "no partition and no host for slurm.conf"
