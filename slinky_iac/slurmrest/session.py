"""One connection to one slurmrestd: route, token, version, bounds. :mod:`slinky_iac.slurmrest.client` has the calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import httpx

from slinky_iac.errors import SlurmrestUnreachable, SlurmrestVersionError
from slinky_iac.kube import tally, wire
from slinky_iac.kube.wire import Caller, Clock, MakeSieve, NoAnswer, Retry, Timeouts
from slinky_iac.slurmrest import versions
from slinky_iac.slurmrest.answers import Envelope, is_passing, read
from slinky_iac.slurmrest.auth import MAX_LIFE_S, SigningKey, SlurmJwtAuth
from slinky_iac.slurmrest.endpoints import Connect, Endpoint, route
from slinky_iac.slurmrest.shared import SharedJobs

MOST: Final = 1 << 20
"""Bytes of an answer that has no reason to be long."""
LONG: Final = 64 << 20
"""Bytes of an answer that grows with the cluster and is held in memory: partitions, reservations, words about jobs."""
LARGE: Final = (
    " slurmrestd builds the list of all job records before its first byte, in some 150 kB of its memory and 1 to 2 ms each:"
    " where there are more than 20,000, see the page of evidence on performance, 'A look at many jobs'."
)
Body = TypeVar("Body", bound=Envelope)


class Session(Caller):
    """What all calls share. Opens nothing until the first call."""

    server = tally.SLURMRESTD

    def __init__(  # noqa: PLR0913 - all but two by keyword, each with a default
        self,
        endpoint: Endpoint,
        keys: Sequence[SigningKey] | None,
        *,
        again: Callable[[], Sequence[SigningKey]] | None = None,
        user: str = "slurm",
        token_life_s: int = MAX_LIFE_S,
        clock: Clock | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        budget_s: float = 120.0,
        lists_s: float | None = None,
        shared: SharedJobs | None = None,
        transport: httpx.BaseTransport | None = None,
        connect: Connect | None = None,
    ) -> None:
        """``keys``: raw bytes of jwt_hs256.key, both of them while it is being rotated, or the RSA key; None: no
        token is sent. ``again``: gives
        the keys as they are now, asked when all are refused. ``user``: see :class:`SlurmJwtAuth`. ``budget_s``: seconds
        that a call may take, tries and pauses together, unless the call says otherwise. ``lists_s``: the same for nodes
        and jobs, which slurmrestd builds whole before their first byte (None: no longer than other calls). ``shared``:
        see :meth:`SlurmrestClient.jobs_after`. ``connect``: see :func:`route`. ``transport`` is for
        tests."""
        clock = clock or Clock()
        way = route(endpoint, clock=clock, connect=connect)
        auth = None
        if keys is not None:
            auth = SlurmJwtAuth(keys, again=again, clock=clock.wall, user=user, life_s=token_life_s)
        super().__init__(way.base_url, transport or way.transport, clock=clock, timeouts=timeouts, retry=retry, auth=auth)
        self._clock = clock
        self._shown = way.shown
        self._budget_s = budget_s
        self._lists_s = budget_s if lists_s is None else lists_s
        self._shared = shared or SharedJobs()
        self._who = (way.base_url, user)
        self._spoken: str | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown!r})"

    def version(self, *, budget_s: float | None = None) -> str:
        """The REST version spoken with this slurmrestd, asked for once."""
        if self._spoken is None:
            left = self._left(budget_s)
            self._spoken = versions.negotiate(lambda path: self._send("GET", path, "ping", left()), self._shown)
        return self._spoken

    def _left(self, budget_s: float | None = None) -> Callable[[], float]:
        """Seconds of this call's budget that are left, at each asking."""
        deadline = self._clock.monotonic() + (self._budget_s if budget_s is None else budget_s)
        return lambda: deadline - self._clock.monotonic()

    def _lists(self, budget_s: float | None = None) -> Callable[[], float]:
        """The same for nodes and jobs."""
        return self._left(self._lists_s if budget_s is None else budget_s)

    def _require(self, version: str, what: str, left: Callable[[], float], then: str = "") -> None:
        """Raises :class:`SlurmrestVersionError` where slurmrestd is older than ``version``, of Slurm 26.05."""
        if self.version(budget_s=left()) != version:
            raise SlurmrestVersionError(
                f"slurmrestd at {self._shown} speaks {self.version()}, and {what} over REST only from {version}"
                f" (Slurm 26.05) on{then}"
            )

    def _path(self, rest: str, budget_s: float, api: str = "slurm") -> str:
        return f"/{api}/{self.version(budget_s=budget_s)}/{rest}"

    def _get(
        self, rest: str, model: type[Body], budget_s: float | None = None, api: str = "slurm", *, most: int = MOST
    ) -> Body:
        left = self._left(budget_s)
        return read(self._send("GET", self._path(rest, left(), api), rest, left(), most=most), model, rest)

    def _write(
        self,
        method: str,
        rest: str,
        model: type[Body],
        what: str,
        json: object = None,
        *,
        budget_s: float | None = None,
        most: int = MOST,
    ) -> Body:
        """One write, which is never repeated."""
        left = self._left(budget_s)
        return read(self._send(method, self._path(rest, left()), what, left(), json=json, most=most), model, what)

    def _listed(
        self, rest: str, what: str, rows: MakeSieve, left: Callable[[], float], params: wire.Params = None
    ) -> tuple[httpx.Response, float]:
        """A long list, and when it was asked for."""
        path = self._path(rest, left())
        asked = self._clock.monotonic()
        return self._send("GET", path, what, left(), params=params, rows=rows), asked

    def _send(
        self,
        method: str,
        path: str,
        what: str,
        budget_s: float,
        *,
        params: wire.Params = None,
        json: object = None,
        rows: MakeSieve | None = None,
        most: int = MOST,
        patient: bool = False,
    ) -> httpx.Response:
        """``rows``: for the long lists, which slurmrestd builds whole before it sends their first byte. ``most``: bytes
        that any other answer may have; ``patient``: it is built whole, too."""
        bounds: dict[str, object] = {wire.MOST: most, wire.PATIENT: patient or rows is not None}
        if rows is not None:
            bounds[wire.SIEVE] = rows
        reading = method == "GET"
        try:
            return self._sender.send(
                method,
                path,
                budget_s=budget_s,
                repeatable=reading,
                again=is_passing,
                params=params,
                json=json,
                bounds=bounds,
            )
        except NoAnswer as error:
            unsure = " It may have been done, or be done in a moment: look again." if error.maybe_done else ""
            large = LARGE if what == "jobs" and "ConnectError" not in str(error) else ""
            raise SlurmrestUnreachable(
                f"{what.rstrip('/')}: no answer from slurmrestd at {self._shown}: {error}.{'' if reading else unsure}{large}"
            ) from None
