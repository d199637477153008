"""A transport that speaks to one API server as one user: TLS, client certificates, tokens, exec plugins, proxies.

The Kubernetes client and slurmrestd's service-proxy endpoint both stand on it. Credentials are added here, below the
clients, so that their code never sees them.

Why no library: of exec plugins, lightkube doesn't implement v1, kr8s sets no time limit, and the kubernetes package reads no
client certificate and keeps no answer.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx

from slinky_iac import causes
from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.exec_plugin import ExecPlugin
from slinky_iac.kube.kubeconfig import KubeAccess
from slinky_iac.kube.proxies import proxy_of
from slinky_iac.kube.sockets import SocketTransport
from slinky_iac.kube.wire import Clock, quote

EXEC_TIMEOUT_S = 60.0
"""Seconds that a credential plugin may take; cloud CLIs need up to ten."""
TOKEN_FILE_LIFE_S = 60.0
"""A token file is read again after this long: the kubelet rotates projected tokens (client-go does the same)."""
EXPIRY_MARGIN_S = 10.0

Command = Callable[[list[str], Mapping[str, str]], "subprocess.CompletedProcess[bytes]"]


def for_children(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without ``PULUMI_*``, of which one is the passphrase: no plugin, host or agent needs it."""
    return {name: value for name, value in env.items() if not name.startswith("PULUMI_")}


def run_command(argv: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a credential plugin without a terminal, bounded in time."""
    return subprocess.run(
        argv, env=for_children(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=EXEC_TIMEOUT_S, check=False
    )


@dataclass(frozen=True)
class Credential:
    """What goes with a request: an Authorization header, a client certificate, both or nothing."""

    header: str | None = field(default=None, repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    expires: float | None = None
    """Wall seconds after which it has to be asked for again; None: never."""


def tls_context(
    *, ca: bytes | None, insecure: bool = False, cert: bytes | None = None, key: bytes | None = None, where: str
) -> ssl.SSLContext:
    """TLS as kubectl does it: the CA given, or the system's; ``cert`` and ``key`` are PEM, and never reach a message.

    Raises :class:`KubeUnreachable` naming ``where`` the bad material came from.
    """
    if insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        if ca is not None and not ca.strip():
            raise KubeUnreachable(
                f"{where}: the certificate authority is empty, and all public ones would be trusted. Nothing was sent."
                " Copy the file again"
            )
        try:
            context = ssl.create_default_context(cadata=ca.decode("ascii") if ca is not None else None)
        except (ssl.SSLError, ValueError):
            raise KubeUnreachable(
                f"{where}: the certificate authority isn't PEM with whole certificates. Copy the file again"
            ) from None
        # Python 3.13 began to refuse an authority without key usage, which `openssl req -x509` makes and kubectl takes.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cert is not None and key is not None:
        try:
            with _piped(cert) as chain, _piped(key) as private:
                context.load_cert_chain(chain, private, password="")
        except (ssl.SSLError, OSError, ValueError):  # over a pipe OpenSSL doesn't say which: errno is its seek's
            raise KubeUnreachable(
                f"{where}: client certificate and key don't fit together, or aren't PEM without a passphrase. Copy both"
                " again, or log in again"
            ) from None
    return context


@contextmanager
def _piped(content: bytes) -> Iterator[str]:
    """A path that gives ``content`` once: the ssl module loads certificates only from paths, and a file with a key in it
    stays behind a SIGKILL. A pipe has no place on a disk. Raises BlockingIOError for more than a pipe holds, which is more
    than any chain of certificates has."""
    reading, writing = os.pipe()
    try:
        try:
            os.set_blocking(writing, False)
            if os.write(writing, content) != len(content):
                raise BlockingIOError
        finally:
            os.close(writing)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


class Credentials:
    """Who we are to one API server: asked for once, and again when it is over or was refused. For any number of threads.

    A cloud's plugin starts a command line tool for each credential, half a second and more. Who comes while it runs gets
    what it gave, its failure too.
    """

    def __init__(
        self, access: KubeAccess, *, clock: Clock, env: Mapping[str, str] | None = None, command: Command = run_command
    ) -> None:
        self._access = access
        self._clock = clock
        self._env = os.environ if env is None else env
        self._command = command
        self._lock = threading.Lock()
        self._known: Credential | None = None
        self._failed: tuple[KubeUnreachable | None, float] = (None, 0.0)
        """What the plugin's last failure was, and when it came."""

    def __repr__(self) -> str:
        return f"Credentials({self._access.server!r})"

    @property
    def may_change(self) -> bool:
        """Whether another answer than the last may come: of a plugin, or of a file."""
        return self._access.user.exec is not None or self._access.user.token_file is not None

    def now(self, refused: Credential | None = None) -> Credential:
        """What to send with a request. ``refused``: the one that the API server has just refused; where another is known
        meanwhile, it is that. Raises :class:`KubeUnreachable`."""
        asked = self._clock.monotonic()
        with self._lock:
            known = self._known
            if known is not None and known is not refused and (known.expires is None or self._clock.wall() < known.expires):
                return known
            failure, came = self._failed
            if failure is not None and came > asked:
                raise KubeUnreachable(failure.why, advice=failure.advice)
            try:
                self._known = self._ask()
            except KubeUnreachable as error:
                self._failed = (error, self._clock.monotonic())
                raise
            return self._known

    def _ask(self) -> Credential:
        """Credentials in client-go's order: certificate with any of token, token file, basic; exec only without."""
        user = self._access.user
        cert, key = user.client_cert, user.client_key
        if user.token_file is not None:
            header = f"Bearer {_token_from(user.token_file)}"
            return Credential(header, cert, key, self._clock.wall() + TOKEN_FILE_LIFE_S)
        if user.token is not None:
            return Credential(f"Bearer {_header_safe(user.token, self._access.origin)}", cert, key)
        if user.username is not None:
            pair = f"{user.username}:{user.password or ''}".encode()
            return Credential(f"Basic {base64.b64encode(pair).decode()}", cert, key)
        if user.exec is not None and cert is None:
            return self._from_plugin(user.exec)
        return Credential(None, cert, key)

    def _from_plugin(self, plugin: ExecPlugin) -> Credential:
        """Raises :class:`KubeUnreachable`; the plugin's stdout (a credential) is never quoted, its stderr is."""
        name = Path(plugin.command).name
        if plugin.interactive_always:
            raise KubeUnreachable(
                f"credential plugin {name} wants a terminal (interactiveMode: Always): none here. Give a"
                " kubeconfig whose plugin asks for nothing, or one with a token"
            )
        env = {**self._env, **dict(plugin.env), "KUBERNETES_EXEC_INFO": json.dumps(self._exec_info(plugin))}
        try:
            done = self._command([plugin.command, *plugin.args], env)
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise KubeUnreachable(
                f"credential plugin {name} of {self._access.origin} didn't run: {_why_not(error)}",
                advice=f"Install {name} and put it on PATH" if isinstance(error, OSError) else f"Run `{name}` by hand",
            ) from None
        if done.returncode != 0:
            said = quote(done.stderr.decode("utf-8", "replace"))
            raise KubeUnreachable(f"credential plugin {name} ended with {done.returncode}: {said}", advice="Log in again")
        credential = _exec_credential(done.stdout, name)
        if credential.expires is not None and credential.expires <= self._clock.wall():
            raise KubeUnreachable(
                f"credential plugin {name} gave a credential that has already expired", advice="Log in again"
            )
        return credential

    def _exec_info(self, plugin: ExecPlugin) -> dict[str, object]:
        spec: dict[str, object] = {"interactive": False}
        if plugin.provide_cluster_info:
            access = self._access
            cluster: dict[str, object] = {"server": access.server, "insecure-skip-tls-verify": access.insecure}
            if access.ca is not None:
                cluster["certificate-authority-data"] = base64.b64encode(access.ca).decode()
            spec["cluster"] = cluster
        return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _why_not(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it gave no answer in {EXEC_TIMEOUT_S:g} s"
    return (
        (error.strerror or "it can't be started").lower() if isinstance(error, OSError) else "its arguments can't be passed"
    )


_shared: dict[KubeAccess, Credentials] = {}
_sharing = threading.Lock()


def shared(access: KubeAccess, clock: Clock) -> Credentials:
    """The credentials of this process for what a kubeconfig says; where it says something else, others."""
    with _sharing:
        return _shared.setdefault(access, Credentials(access, clock=clock))


def _own(headers: httpx.Headers) -> list[tuple[str, str]]:
    """A request's headers without those of another identity."""
    return [(name, value) for name, value in headers.multi_items() if not name.lower().startswith("impersonate-")]


class KubeTransport(httpx.BaseTransport):
    """Sends requests to ``access.server`` with its user's credentials; on 401 asks for fresh ones, once.

    Opens nothing until the first request. ``credentials``: None stands for those that the whole process shares. ``connect``
    makes the transport below for a TLS context (tests pass their own); None stands for httpx's.
    """

    def __init__(
        self,
        access: KubeAccess,
        *,
        clock: Clock,
        credentials: Credentials | None = None,
        connect: Callable[[ssl.SSLContext], httpx.BaseTransport] | None = None,
    ) -> None:
        self._access = access
        self._credentials = credentials or shared(access, clock)
        self._connect = connect or self._http
        self._lock = threading.Lock()
        self._inner: dict[tuple[bytes | None, bytes | None], httpx.BaseTransport] = {}
        """By client certificate and key: a plugin may give others, while a request of another thread has the old."""

    def __repr__(self) -> str:
        return f"KubeTransport({self._access.server!r})"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        credential = self._credentials.now()
        response = self._send(request, credential)
        # slurmrestd behind the service proxy has a 401 of its own, in plain text: that one isn't about us.
        ours = response.status_code == 401 and "json" in response.headers.get("content-type", "")
        if ours and self._credentials.may_change:
            response.close()
            response = self._send(request, self._credentials.now(refused=credential))
        return response

    def close(self) -> None:
        for inner in self._inner.values():
            inner.close()

    def lent(self) -> httpx.BaseTransport:
        """The same for one of several clients: its sockets outlive that client."""
        return _Lent(self)

    def _send(self, request: httpx.Request, credential: Credential) -> httpx.Response:
        with self._lock:
            which = (credential.cert, credential.key)
            if which not in self._inner:
                self._inner[which] = self._connect(self._tls(credential))
            inner = self._inner[which]
        if credential.header is not None:
            request.headers["authorization"] = credential.header
        if others := self._access.user.impersonation:
            # Several headers have one name, for groups; they replace what an earlier try of this request left.
            request.headers = httpx.Headers([*_own(request.headers), *others])
        if self._access.tls_server_name is not None:
            request.extensions = {**request.extensions, "sni_hostname": self._access.tls_server_name}
        return inner.handle_request(request)

    def _tls(self, credential: Credential) -> ssl.SSLContext:
        access = self._access
        if access.server.startswith("http://") and access.ca is None and credential.cert is None:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no TLS is spoken: no need to load all the machine's CAs
        return tls_context(
            ca=access.ca, insecure=access.insecure, cert=credential.cert, key=credential.key, where=access.origin
        )

    def _http(self, tls: ssl.SSLContext) -> httpx.BaseTransport:
        proxy = self._access.proxy_url or proxy_of(self._access.server, os.environ)
        try:
            return SocketTransport(tls, proxy)
        except (ValueError, httpx.InvalidURL):
            raise KubeUnreachable(
                f"{self._access.origin}: the proxy-url can't be used; allowed are http:// and https://"
            ) from None


class _Lent(httpx.BaseTransport):
    """A transport that isn't closed with the client that uses it."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._inner.handle_request(request)


def _exec_credential(stdout: bytes, name: str) -> Credential:
    try:
        data = json.loads(stdout)
        status = data["status"]
        token = status.get("token")
        cert, key = status.get("clientCertificateData"), status.get("clientKeyData")
        stamp = status.get("expirationTimestamp")
        expires = datetime.fromisoformat(stamp).timestamp() - EXPIRY_MARGIN_S if stamp else None
        credential = Credential(
            header=f"Bearer {_header_safe(token, name)}" if token else None,
            cert=cert.encode() if cert else None,
            key=key.encode() if key else None,
            expires=expires,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        credential = Credential()
    if credential.header is None and (credential.cert is None or credential.key is None):
        raise KubeUnreachable(
            f"credential plugin {name} printed no ExecCredential with a token or certificate: "
            "run it by hand and log in again"
        )
    return credential


def _token_from(path: Path) -> str:
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KubeUnreachable(f"token file {path} can't be read ({causes.of_file(error)})") from None
    if not token:
        raise KubeUnreachable(f"token file {path} is empty")
    return _header_safe(token, f"token file {path}")


def _header_safe(token: str, where: str) -> str:
    """A token with a line break or non-ASCII letters would end up, quoted, in an error of the HTTP library."""
    if not token.isascii() or not token.isprintable():
        raise KubeUnreachable(f"{where}: the token has characters that can't be in a header. Make a new one")
    return token
