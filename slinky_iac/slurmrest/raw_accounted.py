"""The wire format of slurmdbd's jobs, the same in REST v0.0.44 and v0.0.45; see :mod:`slinky_iac.slurmrest.raw`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slinky_iac.slurmrest.answers import Envelope, Strict
from slinky_iac.slurmrest.models import Accounted
from slinky_iac.slurmrest.raw import Number, States, plain, required


class _RawAccountedState(Strict):
    current: States


class _RawAccountedTime(Strict):
    start: Number | int
    end: Number | int


class _RawAccounted(Strict):
    job_id: Annotated[int, Meta(gt=0)]
    state: _RawAccountedState
    time: _RawAccountedTime
    nodes: str = ""


class AccountedBody(Envelope, kw_only=True):
    """GET /slurmdb/…/jobs/, without steps."""

    jobs: list[_RawAccounted]

    def values(self) -> tuple[Accounted, ...]:
        return tuple(
            Accounted(j.job_id, frozenset(j.state.current), _named(j.nodes), plain(j.time.start), plain(j.time.end))
            for j in self.jobs
        )


def _named(text: str) -> tuple[str, ...]:
    """Nodes of a job that slurmdbd remembers; it writes words for a job that never had one."""
    return () if text == "None assigned" else required(text) or ()
