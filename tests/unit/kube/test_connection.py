"""Credentials as they go out: tokens, files, plugins, certificates over real TLS; none of them in any message."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.connection import Command, Credential, Credentials, KubeTransport, run_command, tls_context
from slinky_iac.kube.exec_plugin import ExecPlugin
from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.kube.wire import Clock, Retry

TOKEN = "a-secret-bearer-token"
NODESET = {
    "metadata": {"name": "gpu", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-11-21T04:00:00Z"},
    "spec": {},
}


def access(user: KubeUser, server: str = "https://api:6443", ca: bytes | None = None) -> KubeAccess:
    return KubeAccess(
        server=server,
        ca=ca,
        insecure=False,
        tls_server_name=None,
        proxy_url=None,
        namespace="slurm",
        user=user,
        origin="the test",
    )


class Api:
    """Says 401 to all but ``good``, and keeps what came."""

    def __init__(self, good: str | None) -> None:
        self.good = good
        self.seen: list[str | None] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.headers.get("authorization"))
        if self.seen[-1] != self.good:
            return httpx.Response(401, json={"kind": "Status", "message": "Unauthorized"})
        return httpx.Response(200, json=NODESET)


def ask(user: KubeUser, api: Api, *, times: int = 1, step_s: float = 0.0, command: Command = run_command) -> None:
    now = [1_795_235_000.0]
    clock = Clock(wall=lambda: now[0])
    mock = httpx.MockTransport(api.handle)
    credentials = Credentials(access(user), clock=clock, env={}, command=command)
    transport = KubeTransport(access(user), clock=clock, credentials=credentials, connect=lambda tls: mock)
    with httpx.Client(transport=transport, base_url="https://api:6443") as client:
        for _ in range(times):
            assert client.get("/").status_code == 200
            now[0] += step_s


def test_tokens_passwords_and_nothing_at_all() -> None:
    ask(KubeUser(token=TOKEN), Api(f"Bearer {TOKEN}"))
    ask(KubeUser(username="me", password="pass"), Api("Basic bWU6cGFzcw=="))
    ask(KubeUser(), Api(None))


def test_another_identity_goes_with_each_request() -> None:
    seen: list[list[str]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(
            sorted(f"{key}={value}" for key, value in request.headers.multi_items() if key.startswith("impersonate"))
        )
        return httpx.Response(200, json=NODESET)

    named = (("Impersonate-User", "deployer"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    user = KubeUser(token=TOKEN, impersonation=named)
    mock = httpx.MockTransport(handle)
    transport = KubeTransport(access(user), clock=Clock(), connect=lambda tls: mock)
    with httpx.Client(transport=transport, base_url="https://api:6443") as client:
        request = client.build_request("GET", "/")
        client.send(request)
        client.send(request)
    assert seen == [["impersonate-group=a", "impersonate-group=b", "impersonate-user=deployer"]] * 2


def test_a_token_file_is_read_again_when_it_is_rotated(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    api = Api("Bearer old")
    ask(KubeUser(token_file=file), api, times=3, step_s=30)
    now = [0.0]
    api = Api("Bearer old")
    mock = httpx.MockTransport(api.handle)
    user = access(KubeUser(token_file=file))
    transport = KubeTransport(user, clock=Clock(wall=lambda: now[0]), connect=lambda tls: mock)
    with httpx.Client(transport=transport) as client:
        assert client.get("https://api/").status_code == 200
        file.write_text("new\n")
        api.good = "Bearer new"
        assert client.get("https://api/").status_code == 200
    assert api.seen == ["Bearer old", "Bearer old", "Bearer new"]


@pytest.mark.parametrize("content", [None, "", "two\nlines", "umlaut-\u00e4"])
def test_a_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(KubeUnreachable, match="token file") as refused:
        ask(KubeUser(token_file=file), Api(None))
    assert "umlaut" not in str(refused.value)
    assert "two" not in str(refused.value)


class Plugin:
    """A credential plugin that prints what the test gives it, and counts."""

    def __init__(self, *outputs: object, code: int = 0, stderr: bytes = b"") -> None:
        self.outputs = [o if isinstance(o, bytes) else json.dumps(o).encode() for o in outputs]
        self.code = code
        self.stderr = stderr
        self.envs: list[Mapping[str, str]] = []

    def __call__(self, argv: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        self.envs.append(env)
        output = self.outputs.pop(0) if len(self.outputs) > 1 else self.outputs[0]
        return subprocess.CompletedProcess(argv, self.code, output, self.stderr)


def plugin_user(*, interactive: bool = False) -> KubeUser:
    return KubeUser(
        exec=ExecPlugin("aws", ("get-token",), (("AWS_PROFILE", "x"),), "client.authentication.k8s.io/v1", interactive, True)
    )


def credential(token: str, expires: str | None = None) -> dict[str, object]:
    return {"kind": "ExecCredential", "status": {"token": token, "expirationTimestamp": expires}}


def test_a_plugin_is_asked_once_until_its_credential_expires() -> None:
    plugin = Plugin(credential(TOKEN, "2026-11-21T05:25:00Z"))
    ask(plugin_user(), Api(f"Bearer {TOKEN}"), times=5, step_s=60, command=plugin)
    assert len(plugin.envs) == 1
    info = json.loads(plugin.envs[0]["KUBERNETES_EXEC_INFO"])
    assert info["apiVersion"] == "client.authentication.k8s.io/v1"
    assert info["spec"]["cluster"]["server"] == "https://api:6443"
    assert plugin.envs[0]["AWS_PROFILE"] == "x"


class Crowd:
    """16 threads that ask for a credential; the plugin ends when all of them have asked."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.asking = threading.Semaphore(0)
        clock = Clock(wall=lambda: 1_795_235_000.0, monotonic=self.moment)
        self.credentials = Credentials(access(plugin_user()), clock=clock, env={}, command=self.run)

    def moment(self) -> float:
        """Each asks for the time before it waits for the others."""
        self.asking.release()
        return time.monotonic()

    def run(self, argv: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        for _ in range(16):
            assert self.asking.acquire(timeout=30)
        return self.plugin(argv, env)

    def ask(self, refused: Credential | None = None) -> list[str | None]:
        """The header that each gets, or the trouble."""

        def one(_index: int) -> str | None:
            try:
                return self.credentials.now(refused).header
            except KubeUnreachable as error:
                return str(error)

        with ThreadPoolExecutor(16) as pool:
            return [*pool.map(one, range(16))]


def test_threads_that_ask_at_once_run_the_plugin_once() -> None:
    plugin = Plugin(credential(TOKEN), credential("fresh"))
    crowd = Crowd(plugin)
    assert crowd.ask() == [f"Bearer {TOKEN}"] * 16
    assert len(plugin.envs) == 1
    stale = crowd.credentials.now()
    crowd.asking = threading.Semaphore(0)
    assert crowd.ask(refused=stale) == ["Bearer fresh"] * 16
    assert len(plugin.envs) == 2


def test_threads_that_wait_for_a_plugin_that_fails_do_not_run_it_each() -> None:
    plugin = Plugin(b"", code=1, stderr=b"log in first")
    crowd = Crowd(plugin)
    assert all("log in first" in str(said) for said in crowd.ask())
    assert len(plugin.envs) == 1


def test_a_refused_credential_is_asked_for_again_once() -> None:
    plugin = Plugin(credential("stale"), credential(TOKEN))
    api = Api(f"Bearer {TOKEN}")
    ask(plugin_user(), api, command=plugin)
    assert api.seen == ["Bearer stale", f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Plugin(b"no json " + TOKEN.encode()), "printed no ExecCredential"),
        (Plugin({"status": {}}), "printed no ExecCredential"),
        (Plugin({"status": {"clientCertificateData": TOKEN}}), "printed no ExecCredential"),
        (Plugin(credential(TOKEN, "not a date")), "printed no ExecCredential"),
        (Plugin(credential(TOKEN, "2020-01-01T00:00:00Z")), "already expired"),
        (Plugin(credential(TOKEN + "\n")), "can't be in a header"),
        (Plugin(TOKEN.encode(), code=3, stderr=b"SSO session is over"), "ended with 3: SSO session is over"),
    ],
)
def test_what_a_plugin_does_wrong_is_said_without_its_output(plugin: Plugin, said: str) -> None:
    with pytest.raises(KubeUnreachable, match=said) as refused:
        ask(plugin_user(), Api(None), command=plugin)
    assert TOKEN not in "".join(traceback.format_exception(refused.value))


def test_a_plugin_that_is_missing_or_wants_a_terminal() -> None:
    with pytest.raises(KubeUnreachable, match="didn't run"):
        ask(KubeUser(exec=ExecPlugin("/no/such/plugin", (), (), "v1", False, False)), Api(None))
    with pytest.raises(KubeUnreachable, match="terminal"):
        ask(plugin_user(interactive=True), Api(None), command=Plugin(b""))


def test_a_real_command_is_run_without_a_terminal() -> None:
    done = run_command(["/bin/sh", "-c", 'test -t 0 && echo tty; printf "%s" "$A"'], {"A": "b"})
    assert done.stdout == b"b"


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, a server certificate for 127.0.0.1 and a client certificate, made here and gone with the test."""
    folder = tmp_path_factory.mktemp("pki")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca", cwd=folder)
    for name, extra in (("server", ("-addext", "subjectAltName=IP:127.0.0.1,DNS:inner")), ("client", ())):
        openssl(
            *("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}"),
            *("-CA", "ca.crt", "-CAkey", "ca.key", *extra),
            cwd=folder,
        )
    return folder


@pytest.fixture
def tls_server(pki: Path) -> Iterator[tuple[str, list[object]]]:
    """An API server that demands a client certificate; it keeps whose came."""
    seen: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.connection.getpeercert())
            body = json.dumps(NODESET).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Refused clients are the point."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    context.load_verify_locations(pki / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", seen
    server.shutdown()
    server.server_close()
    thread.join(5)


def certified(pki: Path) -> KubeUser:
    return KubeUser(client_cert=(pki / "client.crt").read_bytes(), client_key=(pki / "client.key").read_bytes())


def test_a_client_certificate_proves_who_we_are_over_real_tls(pki: Path, tls_server: tuple[str, list[object]]) -> None:
    url, seen = tls_server
    with KubeClient(access(certified(pki), url, (pki / "ca.crt").read_bytes())) as client:
        assert client.nodeset("slurm", "gpu").name == "gpu"
    assert "client" in str(seen[0])


def test_another_server_name_and_no_check_at_all_are_what_the_kubeconfig_says(
    pki: Path, tls_server: tuple[str, list[object]]
) -> None:
    url, seen = tls_server
    whole = access(certified(pki), url, (pki / "ca.crt").read_bytes())
    for wanted in (replace(whole, tls_server_name="inner"), replace(whole, ca=None, insecure=True)):
        with KubeClient(wanted) as client:
            assert client.nodeset("slurm", "gpu").name == "gpu"
    assert len(seen) == 2
    with (
        KubeClient(replace(whole, tls_server_name="elsewhere"), retry=Retry(tries=1)) as client,
        pytest.raises(KubeUnreachable, match="certificate verify failed"),
    ):
        client.nodeset("slurm", "gpu")


def test_a_server_that_our_ca_does_not_vouch_for_is_not_spoken_to(pki: Path, tls_server: tuple[str, list[object]]) -> None:
    url, seen = tls_server
    for ca in (None, (pki / "client.crt").read_bytes()):
        with (
            KubeClient(access(certified(pki), url, ca), retry=Retry(tries=1)) as client,
            pytest.raises(KubeUnreachable, match="certificate verify failed"),
        ):
            client.nodeset("slurm", "gpu")
    assert seen == []


def test_without_the_certificate_it_demands_the_server_is_unreachable(
    pki: Path, tls_server: tuple[str, list[object]]
) -> None:
    url, seen = tls_server
    with (
        KubeClient(access(KubeUser(), url, (pki / "ca.crt").read_bytes()), retry=Retry(tries=1)) as client,
        pytest.raises(KubeUnreachable, match="no answer"),
    ):
        client.nodeset("slurm", "gpu")
    assert seen == []


def test_certificate_and_key_that_do_not_fit_are_named_not_shown(pki: Path) -> None:
    ca, client, key = (pki / "ca.crt").read_bytes(), (pki / "client.crt").read_bytes(), (pki / "server.key").read_bytes()
    with pytest.raises(KubeUnreachable, match="client certificate and key don't fit") as refused:
        tls_context(ca=ca, cert=client, key=key, where="the test")
    assert "BEGIN" not in "".join(traceback.format_exception(refused.value))
    with pytest.raises(KubeUnreachable, match="authority isn't PEM"):
        tls_context(ca=b"\xff not PEM", where="the test")


@pytest.mark.parametrize("ca", [b"", b"\n"])
def test_an_empty_certificate_authority_is_not_every_public_one(ca):
    with pytest.raises(KubeUnreachable, match="the certificate authority is empty"):
        tls_context(ca=ca, where="the test")


def test_a_credential_plugin_does_not_get_the_passphrase():
    done = run_command(["/usr/bin/env"], {"PATH": "/usr/bin", "PULUMI_CONFIG_PASSPHRASE": "hunter2"})
    assert done.stdout == b"PATH=/usr/bin\n"
