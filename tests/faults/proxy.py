"""A man in the middle between the gate and the real slurmrestd, who can misbehave in every way a network can."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import jwt

from lab.slurm import site
from slinky_iac.slurmrest.auth import HEADER


class Mode(StrEnum):
    """What the proxy does with a request."""

    PASS = "pass"
    REFUSE = "refuse"
    """Close the connection without a word."""
    HANG = "hang"
    """Accept, and answer nothing for as long as this mode lasts."""
    ERROR = "error"
    """HTTP 500 with an HTML page."""
    GARBAGE = "garbage"
    """HTTP 200 with JSON that means nothing."""
    EMPTY = "empty"
    """HTTP 200 with well-formed, empty lists: the most dangerous answer of all."""
    SLOW = "slow"
    """The real answer, three seconds late."""
    EXPIRED = "expired"
    """HTTP 511 with Slurm's error 1007, as for an expired token."""


_EXPIRED = (
    b'{"errors":[{"description":"","error_number":1007,"error":"Protocol authentication error","source":""}],"warnings":[]}'
)


def expired_token() -> str:
    """A token of slurmctld's own key whose time is over."""
    now = int(time.time())
    claims = {"iat": now - 600, "exp": now - 300, "sun": "slurm"}
    return jwt.encode(claims, (site.LAB.keys / "jwt_hs256.key").read_bytes(), algorithm="HS256")


class FaultProxy:
    """Serves on a loopback port and forwards to ``host:port`` unless told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self.mode = Mode.PASS
        self.to = (host, port)
        """Where requests go."""
        self.next_token: str | None = None
        """Put in place of the token of the next request, once."""
        self.before: Callable[[str, str], bool] | None = None
        """Called with method and path of each request; where it says so, the request is not sent on and nothing answered."""
        self.after: Callable[[str, str], bool] | None = None
        """The same once slurmrestd has answered; where it says so, the answer is lost."""
        self.refusals = 0
        """Tokens that slurmctld has refused."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                proxy.answer(self, *proxy.to, body)

            do_GET = do_POST = do_DELETE = handle_any

            def log_message(self, format: str, *args: object) -> None:
                """Requests carry tokens: nothing is logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.mode = Mode.PASS
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, host: str, port: int, body: bytes) -> None:
        """Answer one request as the mode says."""
        mode = self.mode
        if mode is Mode.HANG:
            while self.mode is Mode.HANG:
                time.sleep(0.2)
            handler.close_connection = True
            return
        if mode is Mode.REFUSE:
            handler.close_connection = True
            return
        if mode is Mode.SLOW:
            time.sleep(3)
        made_up = {
            Mode.ERROR: (500, "text/html", b"<html>Internal Server Error</html>"),
            Mode.GARBAGE: (200, "application/json", b'{"nodes": "many", "jobs": 7}'),
            Mode.EMPTY: (200, "application/json", b'{"nodes":[],"jobs":[],"errors":[],"warnings":[],"last_update":{}}'),
            Mode.EXPIRED: (511, "application/json", _EXPIRED),
        }
        if mode in made_up:
            _send(handler, *made_up[mode])
            return
        connection = http.client.HTTPConnection(host, port, timeout=60)
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in {"host", "connection"}}
        if self.next_token is not None and HEADER.lower() in (name.lower() for name in headers):
            headers = {name: value for name, value in headers.items() if name.lower() != HEADER.lower()}
            headers[HEADER], self.next_token = self.next_token, None
        if self.before is not None and self.before(handler.command, handler.path):
            handler.close_connection = True
            return
        try:
            connection.request(handler.command, handler.path, body or None, headers)
            real = connection.getresponse()
            self.refusals += real.status == 511
            if self.after is not None and self.after(handler.command, handler.path):
                real.read()
                handler.close_connection = True
                return
            _send(handler, real.status, real.headers.get("content-type", "text/plain"), real.read())
        except (OSError, http.client.HTTPException):  # slurmrestd or the client is gone
            handler.close_connection = True
        finally:
            connection.close()


def _send(handler: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
    handler.send_response(status)
    if status != 304:
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    if status != 304:
        handler.wfile.write(body)
