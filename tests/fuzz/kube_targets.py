"""What comes from Kubernetes: kubeconfigs, credentials of plugins, objects, annotations that anybody with a pod's rights
wrote, and HTTP itself, byte for byte from a socket."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import yaml

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain.lease import Lease
from slinky_iac.drain.ranking import class_of
from slinky_iac.drain.tags import Tag
from slinky_iac.errors import KubeError
from slinky_iac.kube import scalers
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.connection import Credentials, KubeTransport
from slinky_iac.kube.exec_plugin import ExecPlugin
from slinky_iac.kube.kubeconfig import KubeSource, load
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.sockets import SocketTransport
from slinky_iac.kube.wire import BoundedTransport, Clock, NoAnswer, Retry, Sender, Timeouts
from tests.fuzz.target import SECRET, Target
from tests.made.kubernetes import kube_access
from tests.made.scalers import target
from tests.unit.kube.test_client import a_nodeset, meta, nodeset_body, pod_body

CLOCK = Clock(wall=lambda: 1_795_235_000.0, sleep=lambda _s: None)
KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "one",
    "contexts": [
        {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "slurm"}},
        {"name": "two", "context": {"cluster": "d", "user": "p"}},
    ],
    "clusters": [
        {"name": "c", "cluster": {"server": "https://one:6443/", "certificate-authority-data": "Y2E="}},
        {"name": "d", "cluster": {"server": "http://two", "insecure-skip-tls-verify": True, "proxy-url": "http://p:1"}},
    ],
    "users": [
        {"name": "u", "user": {"token": SECRET, "client-key-data": base64.b64encode(SECRET.encode()).decode()}},
        {"name": "p", "user": {"username": "a", "password": SECRET}},
        {
            "name": "q",
            "user": {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1beta1",
                    "command": "./get",
                    "args": [SECRET],
                    "env": [{"name": "T", "value": SECRET}],
                }
            },
        },
    ],
}
STATUS = (200, 200, 200, 200, 200, 200, 200, 400, 401, 403, 404, 409, 500, 503)


def _kubeconfig(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for context in (None, "two"):
        load(KubeSource(content="\n" + text + "\n#:", context=context), env={}, home=Path("/nonexistent"))


def _plugin(data: bytes) -> None:
    """A credential plugin that prints the fuzzed bytes."""
    plugin = ExecPlugin("/bin/get", (), (), "v1", interactive_always=False, provide_cluster_info=True)

    def run(_argv: list[str], _env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], 0, data, b"")

    access = kube_access(exec=plugin)
    transport = KubeTransport(
        access,
        clock=CLOCK,
        credentials=Credentials(access, clock=CLOCK, env={}, command=run),
        connect=lambda _tls: httpx.MockTransport(lambda _request: httpx.Response(200)),
    )
    transport.handle_request(httpx.Request("GET", "https://api:6443/"))


def asking_kube(call: Callable[[ShortPodClient], object]) -> Callable[[bytes], None]:
    """``call`` of a client that gets the fuzzed bytes, whatever it asks."""

    def read(data: bytes) -> None:
        def handle(request: httpx.Request) -> httpx.Response:
            echoed = request.headers.get("authorization", "").encode()
            kind = "application/json" if len(data) % 3 else "text/html"
            status = STATUS[len(data) % len(STATUS)]
            return httpx.Response(status, content=data.replace(b"ECHO", echoed), headers={"content-type": kind})

        access = kube_access(token=SECRET)
        transport = KubeTransport(access, clock=CLOCK, connect=lambda _tls: httpx.MockTransport(handle))
        with ShortPodClient(access, clock=CLOCK, retry=Retry(tries=1), transport=transport) as kube:
            call(kube)

    return read


NODESET = a_nodeset()


def _pods(kube: KubeClient) -> None:
    for pod in kube.pods_of("slurm", NODESET):
        class_of(pod)
        assert (pod.slurm_states, pod.trouble, pod.deletion_cost, pod.deadline, pod.cordon) is not None
        if pod.gate:
            Tag.read(pod.gate)


def _nodeset(kube: KubeClient) -> None:
    found = kube.nodeset("slurm", "lab-worker-gpu")
    assert (found.permitted, found.frozen, found.template, found.observed, found.rolling(3)) is not None


def _tag(data: bytes) -> str | None:
    found = Tag.read(data.decode("utf-8", "replace"))
    if found is not None:
        assert Tag.read(found.text()) == found
    return None


def _lease(data: bytes) -> None:
    found = Lease.read(data.decode("utf-8", "replace"))
    assert found is None or Lease.read(found.text()) == found


def _held(data: bytes) -> None:
    found = Held.read(data.decode("utf-8", "replace"))
    assert Held.read(found.text()).text() == found.text()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def listed(*items: object) -> bytes:
    return _json({"kind": "List", "metadata": {}, "items": list(items)})


REFUSAL = _json({"kind": "Status", "message": f"no \x1b[2J\u202e {'x' * 400} ECHO", "code": 403})
SCALER = {
    "metadata": meta("keda", annotations={"autoscaling.keda.sh/paused": "true"}),
    "spec": {
        "scaleTargetRef": target("lab-worker-gpu"),
        "minReplicas": 1,
        "maxReplicas": 4,
        "minReplicaCount": 0,
        "maxReplicaCount": 9,
    },
}
SECRET_OBJECT = {
    "metadata": meta("lab-auth-slurm"),
    "data": {"slurm.key": base64.b64encode(SECRET.encode()).decode(), "other": "not base64 " + SECRET},
}
EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {
        "token": SECRET,
        "expirationTimestamp": "2027-01-01T00:00:00Z",
        "clientCertificateData": "C",
        "clientKeyData": SECRET,
    },
}
TAGS = (
    b'{"cost":-1000000000,"hold":null,"nudged_at":null,"owner":"dev/gpu","was":null}',
    b'{"cost":-1000000000,"hold":1795236000,"nudged_at":1795235000,"owner":"dev/gpu","was":"5"}',
    b'{"cost":-1000000000,"owner":"dev/gpu","was":null}',
)


class Server:
    """Answers each connection with the bytes that it was given last, and ends it."""

    def __init__(self) -> None:
        self.answer = b""
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            taken, _ = self._listener.accept()
            with taken:
                taken.settimeout(2)
                try:
                    taken.recv(65536)
                    taken.sendall(self.answer.replace(b"ECHO", SECRET.encode()))
                    taken.shutdown(socket.SHUT_WR)
                    while taken.recv(65536):
                        pass
                except OSError:
                    pass


class _Http:
    """Real HTTP over loopback; one server a process, made when it is first needed. Addresses of 127.0.0.0/8 take turns, so
    that ports in TIME_WAIT never run out."""

    def __init__(self) -> None:
        self._server: Server | None = None
        self._turn = count()

    def __call__(self, data: bytes) -> None:
        self._server = self._server or Server()
        self._server.answer = data
        host = f"127.0.0.{1 + next(self._turn) % 250}"
        transport = BoundedTransport(SocketTransport(None), clock=CLOCK, timeouts=Timeouts(1.0, 1.0, 1.0))
        with httpx.Client(base_url=f"http://{host}:{self._server.port}", transport=transport, trust_env=False) as client:
            headers = {"authorization": f"Bearer {SECRET}", "x-slurm-user-token": SECRET}
            sender = Sender(client, Clock(sleep=lambda _s: None), Retry(tries=1))
            found = sender.send("GET", "/x", budget_s=2.0, repeatable=False, again=lambda _r: False, headers=headers)
        assert SECRET.encode() not in found.content
        assert SECRET not in str(found.headers)


def _answer(head: str, body: bytes = b"") -> bytes:
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


HTTP = (
    _answer("HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 7\nConnection: close", b'{"a":1}'),
    _answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b'3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n'),
    _answer("HTTP/1.1 100 Continue") + _answer("HTTP/1.1 511 Network Authentication Required\nContent-Length: 0"),
    _answer("HTTP/1.0 404 Not Found\nX-Echo: Bearer ECHO\nSet-Cookie: a=ECHO", b"token ECHO"),
    _answer("HTTP/1.1 302 Found\nLocation: http://169.254.169.254/\nContent-Length: 0"),
    _answer("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: 3", b"\x1f\x8b\x08"),
)

TARGETS = (
    Target("kubeconfig", (_json(KUBECONFIG), yaml.safe_dump(KUBECONFIG).encode()), _kubeconfig, (KubeError,), window=32),
    Target("kubeconfig-plugin", (_json(EXEC),), _plugin, (KubeError,)),
    Target("kube-pods", (listed(pod_body(0), pod_body(1)), REFUSAL), asking_kube(_pods), (KubeError,)),
    Target(
        "kube-nodeset",
        (_json(nodeset_body()), REFUSAL),
        asking_kube(_nodeset),
        (KubeError,),
    ),
    Target(
        "kube-scalers",
        (listed(SCALER), REFUSAL),
        asking_kube(lambda kube: scalers.writers(kube, "slurm", "gpu")),
        (KubeError,),
    ),
    Target(
        "kube-secret",
        (_json(SECRET_OBJECT), REFUSAL),
        asking_kube(lambda k: k.secret("slurm", "x")),
        (KubeError,),
        window=32,
    ),
    Target("pod-annotation-scale-in", TAGS, _tag, ()),
    Target("held", (b'{"began":7,"hosts":{"m-1":"prod"},"partitions":{"batch":"UP"}}',), _held, (ValueError,)),
    Target("lease", (b'{"by":"alice@desk","ended":false,"id":"1a2b3c4d","renewed":1764194568}',), _lease, ()),
    Target("http", HTTP, _Http(), (NoAnswer,)),
)
