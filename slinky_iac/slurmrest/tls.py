"""TLS to a slurmrestd at a URL: whom to believe, who we are, from files that may be replaced while a gate waits.

The files are read at each request. They are small, and a rotation of certificates thus needs no restart: a gate that
has waited for hours uses the new ones from its next look on.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from slinky_iac.errors import KubeUnreachable, SlurmrestUnreachable
from slinky_iac.kube.connection import tls_context

Connect = Callable[[ssl.SSLContext], httpx.BaseTransport]
Material = tuple[bytes | None, bytes | None, bytes | None]

EXPIRED, NOT_YET_VALID = 10, 9
OTHER_NAMES = frozenset({62, 64})
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH (openssl's x509_vfy.h)."""
UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})
NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING"})
WANTS_CLIENT = frozenset({"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE"})
REFUSED_CLIENT = frozenset(
    {"TLSV1_ALERT_UNKNOWN_CA", "SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_CERTIFICATE_UNKNOWN"}
    | {"SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_REVOKED", "TLSV1_ALERT_DECRYPT_ERROR"}
    | {"SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "TLSV1_ALERT_ACCESS_DENIED"}
)
MISSING_CLIENT = "the server demands a client certificate: set clientCertFile and clientKeyFile"


@dataclass(frozen=True)
class Files:
    """PEM files: who signed the server's certificate (None: the system's authorities), and our own certificate."""

    ca: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None

    def read(self) -> Material:
        """Raises :class:`SlurmrestUnreachable` naming the file that can't be read, is empty, or has no partner."""
        if (self.client_cert is None) != (self.client_key is None):
            raise SlurmrestUnreachable("clientCertFile and clientKeyFile go together: one of them is not set")
        return (
            _content("CA file", self.ca),
            _content("client certificate", self.client_cert),
            _content("client key", self.client_key),
        )

    def context(self, material: Material) -> ssl.SSLContext:
        """Raises :class:`SlurmrestUnreachable` where the material isn't PEM or key and certificate don't fit."""
        ca, cert, key = material
        where = ", ".join(str(path) for path in (self.ca, self.client_cert, self.client_key) if path is not None)
        try:
            return tls_context(ca=ca, cert=cert, key=key, where=where)
        except KubeUnreachable as error:
            raise SlurmrestUnreachable(str(error)) from None


def _content(what: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SlurmrestUnreachable(f"{what} {path} can't be read: {error.strerror}") from None
    if not content.strip():
        raise SlurmrestUnreachable(f"{what} {path} is empty: nothing was sent")
    return content


class TlsTransport(httpx.BaseTransport):
    """Sends requests by ``connect``'s transport, which is made again when a file has changed; explains TLS's refusals."""

    def __init__(self, files: Files, connect: Connect) -> None:
        """Raises :class:`SlurmrestUnreachable` where the files can't be used as they are now."""
        self._files = files
        self._connect = connect
        self._lock = threading.Lock()
        self._made: list[httpx.BaseTransport] = []
        self._material = files.read()
        self._inner = self._make(self._material)

    def __repr__(self) -> str:
        return f"TlsTransport({self._files!r})"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            inner = self._current()
        except SlurmrestUnreachable as error:  # of this moment only: the next look reads the files again
            raise httpx.ConnectError(str(error), request=request) from None
        try:
            response = inner.handle_request(request)
        except httpx.TransportError as error:
            why = explained(error, self._files, request.url.host)
            if why is None:
                raise
            raise httpx.ConnectError(why, request=request) from None
        if not _may_be_a_proxys(response):
            return response
        page = response.read()
        if (why := _proxys_word(page, self._files)) is not None:
            raise httpx.ConnectError(why, request=request)
        return httpx.Response(response.status_code, headers=response.headers, content=page)

    def close(self) -> None:
        for made in self._made:
            made.close()

    def _current(self) -> httpx.BaseTransport:
        material = self._files.read()
        with self._lock:
            if material != self._material:
                self._inner = self._make(material)
                self._material = material
            return self._inner

    def _make(self, material: Material) -> httpx.BaseTransport:
        made = self._connect(self._files.context(material))
        self._made.append(made)  # those before it may still be read from by another thread: closed with the last
        return made


def served_until(url: str, files: Files, timeout_s: float) -> float:
    """When the certificate that ``url`` (https) offers runs out, in seconds since 1970, by a handshake; nothing is asked.

    :raises SlurmrestUnreachable: a file can't be used, or the certificate isn't to be believed, with what to do.
    :raises OSError: there is no connection.
    """
    parts = httpx.URL(url)
    context = files.context(files.read())
    with socket.create_connection((parts.host, parts.port or 443), timeout=timeout_s) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=parts.host) as tls:
                shown = tls.getpeercert() or {}
        except ssl.SSLError as error:
            raise SlurmrestUnreachable(explained(error, files, parts.host) or "TLS failed") from None
    return float(ssl.cert_time_to_seconds(str(shown["notAfter"])))


def explained(error: BaseException, files: Files, host: str) -> str | None:
    """What a TLS failure means and what to do; None where the failure isn't TLS's. None of them let the request through."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _server_refused(cause, files, host)
    reason = cause.reason or ""
    if reason in NO_TLS:
        return "what answers there speaks no TLS: check host and port, or ask its admin for https"
    if reason in WANTS_CLIENT and files.client_cert is None:
        return MISSING_CLIENT
    if reason in REFUSED_CLIENT | WANTS_CLIENT and files.client_cert is not None:
        return _refused_client(files, reason)
    return f"TLS failed ({reason.replace('_', ' ').lower()})" if reason else "TLS failed"


def _may_be_a_proxys(response: httpx.Response) -> bool:
    """nginx finishes the handshake with any client, and then refuses it by a page (ngx_http_special_response.c)."""
    is_page = response.headers.get("content-type", "").startswith("text/html")
    length = response.headers.get("content-length", "")
    return response.status_code == 400 and is_page and length.isascii() and length.isdecimal() and len(length) <= 4


def _proxys_word(page: bytes, files: Files) -> str | None:
    if b"No required SSL certificate was sent" in page:
        return MISSING_CLIENT if files.client_cert is None else _refused_client(files, "it took it for none")
    if b"The SSL certificate error" in page:
        return _refused_client(files, "its proxy said 400")
    return None


def _refused_client(files: Files, why: str) -> str:
    return (
        f"the server refused the client certificate {files.client_cert} ({why}): set clientCertFile to one that is valid and"
        " signed by an authority that the server asks for"
    )


def _server_refused(error: ssl.SSLCertVerificationError, files: Files, host: str) -> str:
    trusted = "the system's authorities" if files.ca is None else f"the authorities in {files.ca}"
    if error.verify_code == EXPIRED:
        return f"the certificate of {host}, or its authority's in {trusted}, has expired: renew it there"
    if error.verify_code == NOT_YET_VALID:
        return f"the certificate of {host} isn't valid yet: compare the clocks"
    if error.verify_code in OTHER_NAMES:
        return f"the certificate is for other names than {host}: the host in the URL must be one of its names"
    if error.verify_code in UNKNOWN_AUTHORITY:
        return f"the certificate of {host} is signed by none of {trusted}: set caFile to its authority"
    return f"the certificate of {host} was refused: {error.verify_message}"
