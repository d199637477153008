"""How every request is sent: bounded in time, in size and in tries, and without its secrets in what comes back.

Used by the Kubernetes client and by the slurmrestd client. Pulumi's provider process never hears of Ctrl-C and has
four threads for all resources, so a call without a bound would hold a quarter of the update for ever.

Why no library: tenacity and stamina repeat a call; they have no deadline within an answer, no limit of its size, no word on
whether the request was sent, and take no secret out of it.
"""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Protocol, Self

import httpx

from slinky_iac.errors import SlinkyError
from slinky_iac.kube import tally
from slinky_iac.kube.sockets import SECRET_HEADERS, whole_call_ends
from slinky_iac.text import one_line

DEADLINE = "slinky_deadline"
"""Request extension: the monotonic second after which its caller has stopped waiting."""
MOST = "slinky_most"
"""Request extension: the most bytes that the answer may have; without it :data:`MAX_BYTES`."""
PATIENT = "slinky_patient"
"""Request extension: this answer may be silent for all the time that is left, because its server builds it whole first."""
SIEVE = "slinky_sieve"
"""Request extension: makes the :class:`Sieve` that a good answer's body goes through. Response extension: that sieve."""
HIDDEN = "[hidden]"
MAX_BYTES = 64 << 20
"""Of one answer that is held in memory, unless its request says otherwise: a page of 500 pods is 10 MB."""
MAX_SIEVED = 1 << 32
"""Of one answer that is read while it comes: 100,000 jobs are 1 GB from slurmrestd 26.05."""
"""Characters of an answer that an error message may quote."""


@dataclass(frozen=True)
class Clock:
    """Everything that isn't a function of its arguments; tests put their own in."""

    wall: Callable[[], float] = time.time
    """Seconds since 1970, for claims in tokens: slurmctld compares them with its own clock."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    """Uniform in [0, 1), for the jitter of retries."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds that one try may wait. The read time must exceed twice Slurm's MessageTimeout (default 10 s): slurmrestd
    itself waits that long for slurmctld before it answers 502 or 504."""

    connect_s: float = 5.0
    read_s: float = 30.0
    write_s: float = 30.0


@dataclass(frozen=True)
class Retry:
    """Up to ``tries`` tries; pauses are a random part of first_s, 2·first_s, 4·first_s … but at most ``most_s``."""

    tries: int = 4
    first_s: float = 0.5
    most_s: float = 8.0

    def pause_s(self, tries_done: int, dice: float) -> float:
        """Seconds to wait after ``tries_done`` tries; ``dice`` in [0, 1). Never less than half, so that it does wait."""
        return float(min(self.most_s, self.first_s * 2 ** (tries_done - 1)) * (0.5 + dice / 2))


class NoAnswer(SlinkyError):
    """No answer, and further tries were useless or not allowed; the clients turn it into an error of their own.

    ``maybe_done`` is False only where the request certainly didn't reach the server.
    """

    def __init__(self, why: str, *, maybe_done: bool, tries: int) -> None:
        self.why = why
        self.maybe_done = maybe_done
        self.tries = tries
        super().__init__(f"{why} ({tries} {'try' if tries == 1 else 'tries'})")


class AnswerTooLargeError(httpx.TransportError):
    """The answer is larger than we are willing to hold in memory."""


def secrets_of(request: httpx.Request) -> tuple[str, ...]:
    """The values in a request that must never be shown: whole header values, and a bearer token without its scheme."""
    values = (request.headers.get(name, "") for name in SECRET_HEADERS)
    return tuple(part for value in values for part in (value, value.partition(" ")[2]) if part)


def quote(text: str, request: httpx.Request | None = None) -> str:
    """``text`` fit for an error message: without the request's secrets, on one line, printable, short."""
    for secret in secrets_of(request) if request is not None else ():
        text = text.replace(secret, HIDDEN)
    return one_line(text)


def describe(error: Exception, request: httpx.Request | None = None) -> str:
    """One clause about a failure below HTTP, such as ``connection refused``, in words that need no manual of Python."""
    text = _ERRNO.sub("", quote(str(error), request))
    known = next((words for kind, words in _KINDS if isinstance(error, kind)), "the connection failed")
    if text in ("", "timed out"):
        return known
    if tls := _SSL.match(text):
        said = tls[1] if tls[1].startswith("certificate verify failed") else f"TLS failed: {tls[1]}"
        return "what answers there speaks no TLS" if tls[1] in _NO_TLS else said
    named = _NAME_UNKNOWN.search(text)
    return "the name isn't known here" if named else f"{text[:1].lower()}{text[1:]}" if text[:2].istitle() else text


_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_SSL = re.compile(r"\[SSL[^\]]*\] (.*?)(?: \(_ssl\.c:\d+\))?$")
"""What Python's ssl says, with the name and the line of its own C code around it."""
_NO_TLS = ("wrong version number", "record layer failure", "http request", "unknown protocol")
_NAME_UNKNOWN = re.compile(r"Name or service not known|Temporary failure in name resolution|nodename nor servname")
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (httpx.ConnectTimeout, "no connection in time"),
    (httpx.PoolTimeout, "no connection was free in time"),
    (httpx.WriteTimeout, "it took no request in time"),
    (httpx.TimeoutException, "no answer in time"),
    (httpx.RemoteProtocolError, "the server ended the connection"),
)


class Sieve(Protocol):
    """Takes an answer's body as it comes, and leaves what the caller is to see as the body."""

    def feed(self, chunk: bytes) -> None:
        """The next piece."""

    def rest(self) -> bytes:
        """The body that is left, after the last piece."""


Params = Mapping[str, str | list[str]] | None
"""Of a URL; a list is its name once for each."""
MakeSieve = Callable[[Callable[[bytes], bytes]], Sieve]
"""Makes a sieve for one try; it is given what takes the request's secrets out of bytes."""


class BoundedTransport(httpx.BaseTransport):
    """Reads the whole answer within the request's deadline and a size, and takes the request's secrets out of it.

    Proxies and debug pages echo requests; what an answer echoes would else end in a message, a log or a state file.
    """

    def __init__(self, inner: httpx.BaseTransport, *, clock: Clock, timeouts: Timeouts, server: str = "") -> None:
        """``server``: what :mod:`slinky_iac.kube.tally` counts the requests under."""
        self._server = server
        self._inner = inner
        self._clock = clock
        self._timeouts = timeouts

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = float(request.extensions.get(DEADLINE, self._clock.monotonic() + 600))
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise httpx.ConnectTimeout("the time given for the whole call is over", request=request)
        limits = self._timeouts
        request.extensions = {
            **request.extensions,
            "timeout": {
                "connect": min(left, limits.connect_s),
                "pool": min(left, limits.connect_s),
                "read": left if request.extensions.get(PATIENT) else min(left, limits.read_s),
                "write": min(left, limits.write_s),
            },
        }
        with whole_call_ends(deadline, self._clock.monotonic):
            try:
                response = self._inner.handle_request(request)
            except httpx.HTTPError:
                tally.note(self._server, tally.NO_ANSWER)
                raise
            tally.note(self._server, response.status_code)
            try:
                return self._taken(response, request, deadline)
            finally:
                response.close()

    def _taken(self, response: httpx.Response, request: httpx.Request, deadline: float) -> httpx.Response:
        """The whole answer, through its sieve where it has one and is good, without the request's secrets."""
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            raise httpx.DecodingError("the answer is compressed, which wasn't asked for", request=request)
        secrets = [secret.encode() for secret in secrets_of(request)]

        def hide(data: bytes) -> bytes:
            for secret in secrets:
                data = data.replace(secret, HIDDEN.encode())
            return data

        make: MakeSieve | None = request.extensions.get(SIEVE)
        if make is None or response.status_code != 200:
            gathered = io.BytesIO()
            for chunk in self._chunks(response, request, deadline, request.extensions.get(MOST, MAX_BYTES)):
                gathered.write(chunk)
            return self._shown(response, hide(gathered.getvalue()), request, {})
        sieve = make(hide)
        for chunk in self._chunks(response, request, deadline, MAX_SIEVED):
            sieve.feed(chunk)
        return self._shown(response, hide(sieve.rest()), request, {SIEVE: sieve})

    def close(self) -> None:
        self._inner.close()

    def _chunks(self, response: httpx.Response, request: httpx.Request, deadline: float, most: int) -> Iterator[bytes]:
        size = 0
        if not isinstance(response.stream, httpx.SyncByteStream):
            raise httpx.ReadError("the answer has no body to read", request=request)
        for chunk in response.stream:
            size += len(chunk)
            if size > most:
                raise AnswerTooLargeError(f"the answer is over {most} bytes", request=request)
            if self._clock.monotonic() > deadline:
                raise httpx.ReadTimeout("the answer was still coming when the time was over", request=request)
            yield chunk

    @staticmethod
    def _shown(
        response: httpx.Response, body: bytes, request: httpx.Request, extensions: dict[str, object]
    ) -> httpx.Response:
        drop = {"content-encoding", "content-length", "transfer-encoding", "set-cookie"}
        kept = [(k, quote(v, request)) for k, v in response.headers.multi_items() if k.lower() not in drop]
        headers = [(k.encode("latin-1", "replace"), v.encode("utf-8", "replace")) for k, v in kept]
        return httpx.Response(response.status_code, headers=headers, content=body, extensions=extensions)


@dataclass(frozen=True)
class Sender:
    """An httpx client with its bounds; one for each endpoint."""

    client: httpx.Client
    clock: Clock
    retry: Retry

    def send(
        self,
        method: str,
        path: str,
        *,
        budget_s: float,
        repeatable: bool,
        again: Callable[[httpx.Response], bool],
        params: Params = None,
        json: object = None,
        headers: dict[str, str] | None = None,
        bounds: Mapping[str, object] | None = None,
    ) -> httpx.Response:
        """Send until there is an answer that ``again`` doesn't call passing trouble.

        ``repeatable`` False: only what certainly did not reach the server is sent again, and a troubled answer is
        handed to the caller at once. Raises :class:`NoAnswer` after the last try or when the next pause would pass
        the budget (seconds for all tries together), unless an earlier try had a troubled answer: that one says more than
        a silence, and is returned. ``bounds``: further extensions of the request (:data:`MOST`, :data:`PATIENT`,
        :data:`SIEVE`).
        """
        deadline = self.clock.monotonic() + budget_s
        tries = 0
        troubled: httpx.Response | None = None
        while True:
            tries += 1
            request = self.client.build_request(
                method, path, params=params, json=json, headers=headers, extensions={**(bounds or {}), DEADLINE: deadline}
            )
            pause = self.retry.pause_s(tries, self.clock.random())
            try:
                response = self.client.send(request)
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
                unsent = isinstance(
                    error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol
                )
                trouble = NoAnswer(describe(error, request), maybe_done=not unsent, tries=tries)
                lasting = isinstance(error, AnswerTooLargeError | httpx.DecodingError | httpx.UnsupportedProtocol)
                if lasting or not (repeatable or unsent) or self._over(tries, pause, deadline):
                    if troubled is not None:
                        return troubled
                    raise trouble from None
            else:
                if not repeatable or not again(response) or self._over(tries, pause, deadline):
                    return response
                troubled = response
            self.clock.sleep(pause)

    def _over(self, tries: int, pause: float, deadline: float) -> bool:
        return tries >= self.retry.tries or self.clock.monotonic() + pause >= deadline


class Caller:
    """A client of one endpoint, with the bounds above and no proxy of the environment. Close it, or use ``with``."""

    server: ClassVar[str] = ""
    """What it asks, for :mod:`slinky_iac.kube.tally`."""

    def __init__(
        self,
        base_url: str,
        transport: httpx.BaseTransport,
        *,
        clock: Clock,
        timeouts: Timeouts | None,
        retry: Retry | None,
        auth: httpx.Auth | None = None,
    ) -> None:
        bounded = BoundedTransport(transport, clock=clock, timeouts=timeouts or Timeouts(), server=self.server)
        headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "slinky-iac"}
        client = httpx.Client(base_url=base_url, transport=bounded, auth=auth, headers=headers, trust_env=False)
        self._sender = Sender(client, clock, retry or Retry())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._sender.client.close()
