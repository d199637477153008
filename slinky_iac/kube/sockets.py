"""An HTTP transport of which every read and write ends when its whole call's time is over.

httpx and httpcore bound each read on its own: a server that sends one byte of a header now and then, or interim answers
without end, or a chunk extension without end, holds a caller for ever. httpcore lets its sockets be replaced, and here they
know when the call that they serve ends.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, cast, runtime_checkable

import httpcore
import httpx

from slinky_iac.addresses import in_clear

SECRET_HEADERS: Final = ("x-slurm-user-token", "authorization")
"""Headers that hold a secret."""
KEPT_S = 5.0
"""An idle connection is closed after this long, as httpx does: load balancers forget idle ones without a word."""
OVER = "the time given for the whole call is over"
_left: ContextVar[Callable[[], float] | None] = ContextVar("left", default=None)
"""Seconds left of the call that this thread carries out."""

_ERRORS = {
    getattr(httpcore, name): getattr(httpx, name)
    for name in (
        "ConnectTimeout",
        "ReadTimeout",
        "WriteTimeout",
        "PoolTimeout",
        "ConnectError",
        "ReadError",
        "WriteError",
        "ProxyError",
        "UnsupportedProtocol",
        "LocalProtocolError",
        "RemoteProtocolError",
    )
}


@contextmanager
def whole_call_ends(deadline: float, monotonic: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Within this block no socket of a :class:`SocketTransport` waits past ``deadline`` by the clock ``monotonic``."""
    before = _left.set(lambda: deadline - monotonic())
    try:
        yield
    finally:
        _left.reset(before)


def _bounded(timeout: float | None, error: type[Exception]) -> float | None:
    """``timeout``, or what is left of the call if that is less. Raises ``error`` where nothing is."""
    left = _left.get()
    if left is None:
        return timeout
    seconds = left()
    if seconds <= 0:
        raise error(OVER)
    return seconds if timeout is None else min(timeout, seconds)


@contextmanager
def _as_timeout(error: type[Exception]) -> Iterator[None]:
    """Says of a time-out that it was the whole call's, where it was."""
    try:
        yield
    except error:
        left = _left.get()
        if left is not None and left() <= 0:
            raise error(OVER) from None
        raise


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes end with the call."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _as_timeout(httpcore.ReadTimeout):
            return self._inner.read(max_bytes, _bounded(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _as_timeout(httpcore.WriteTimeout):
            self._inner.write(buffer, _bounded(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        bound = _bounded(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, bound))

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Plain sockets, each a :class:`_Stream`."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        bound = _bounded(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, bound, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


@runtime_checkable
class _Closes(Protocol):
    def close(self) -> None: ...


class _Body(httpx.SyncByteStream):
    """An answer's body, with httpx's errors for httpcore's."""

    def __init__(self, body: Iterable[bytes]) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._body

    def close(self) -> None:
        if isinstance(self._body, _Closes):
            self._body.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        known = next((ours for theirs, ours in _ERRORS.items() if type(error) is theirs), None)
        if known is None:
            raise
        raise known(str(error)) from error


class InTheClearError(httpx.UnsupportedProtocol):
    """A token would have crossed the network in plain HTTP; nothing was sent."""


class SocketTransport(httpx.BaseTransport):
    """HTTP/1.1 by way of httpcore's pool. ``proxy`` is an http:// or https:// URL, with user and password or without.

    Every request of this program leaves here, so here a token (:data:`SECRET_HEADERS`) is kept from plain HTTP to another
    host, whichever client put it on. ``plain_http``: the settings accept it for this server (slurmrest.allowPlainHttp).

    Raises ValueError for a proxy of another kind.
    """

    def __init__(self, tls: ssl.SSLContext | None, proxy: str | None = None, *, plain_http: bool = False) -> None:
        self._plain_http = plain_http
        # Without a context of its own httpcore would load all the machine's CAs, which takes longer than an answer.
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if tls is None else tls
        if proxy is None:
            self._pool = httpcore.ConnectionPool(ssl_context=trusted, network_backend=_Backend(), keepalive_expiry=KEPT_S)
            return
        made = httpx.Proxy(proxy)
        if made.url.scheme not in ("http", "https"):
            raise ValueError("a proxy must be http:// or https://")
        self._pool = httpcore.HTTPProxy(
            proxy_url=httpcore.URL(scheme=made.url.raw_scheme, host=made.url.raw_host, port=made.url.port, target=b"/"),
            proxy_auth=made.raw_auth,
            ssl_context=trusted,
            network_backend=_Backend(),
            keepalive_expiry=KEPT_S,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if not self._plain_http and any(name in request.headers for name in SECRET_HEADERS) and in_clear(str(url)):
            raise InTheClearError(
                f"a token would go to {url.host} in plain http, where a listener can take it: nothing was sent. Use an https"
                " address; a plain one of slurmrestd is accepted with allowPlainHttp: true beside its url",
                request=request,
            )
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx():
            response = self._pool.handle_request(asked)
        body = _Body(cast("Iterable[bytes]", response.stream))
        return httpx.Response(response.status, headers=response.headers, stream=body, extensions=response.extensions)

    def close(self) -> None:
        self._pool.close()
