"""TLS before a real slurmrestd in Kubernetes: what is readable on the wire, who is refused, and rotation under a gate.

The proxy is a real nginx beside slurmrestd in its pod. Gates go to it through the API server, and with a client certificate
by its node port.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from lab.kubernetes import layout
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import nginx, site
from slinky_iac.errors import SlurmrestUnreachable
from slinky_iac.kube.wire import Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.e2e.gated import NAMESPACE, NODES, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, ready
from tests.faults.sniffer import Sniffer
from tests.pki import Pair, authority, issued

ADDRESS = str(layout.NODES[0].address)
NODE_PORT, TLS_PORT, PLAIN_PORT = 30843, 6843, 6820
HEADER = b"X-SLURM-USER-TOKEN"
TLS_RECORD = b"\x17\x03\x03"
"""Begins each encrypted record (RFC 8446, 5.1)."""
SINCE = str(datetime.now(UTC).date() - timedelta(days=1))
COMMON = {"image": nginx.IMAGE, "service": {"type": "NodePort", "nodePort": NODE_PORT}}
GENERATED = COMMON | {"source": "generated", "since": SINCE, "hosts": [ADDRESS]}
GIVEN = COMMON | {"source": "existing", "secret": "rest-cert", "clientCaSecret": "rest-clients"}
PLAIN = "http://10.99.0.12:6820"
"""slurmrestd outside, for the gates."""
POD = {"terminationGrace": "2s"}


@pytest.fixture(scope="module")
def stack(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    KUBERNETES.load(nginx.image())
    gated = bring_up(world, slurm, "tls")
    yield gated
    slurm.cancel_all()
    gated.stack.destroy()


def secret(world: World, name: str, kind: str, **files: bytes) -> None:
    data = {entry.replace("_", "."): base64.b64encode(content).decode() for entry, content in files.items()}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "type": kind}
    world.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump(body | {"data": data}))


def offer(world: World, pair: Pair) -> None:
    """Make this the server's certificate."""
    secret(world, "rest-cert", "kubernetes.io/tls", tls_crt=pair.pem, tls_key=pair.key_pem)


def demand(world: World, ca: Pair) -> None:
    """Let clients in whom this authority has signed."""
    secret(world, "rest-clients", "Opaque", ca_crt=ca.pem)


def presented() -> bytes:
    """The certificate that the node port offers now, whatever it is worth; empty where none is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((ADDRESS, NODE_PORT), timeout=5) as plain, context.wrap_socket(plain) as tls:
            return tls.getpeercert(binary_form=True) or b""
    except OSError:
        return b""


CONNECTIONS = 30
"""Connections in a row that must present the same certificate."""


def await_presented(pair: Pair) -> None:
    """Wait until nginx offers this certificate, and no other: the kubelet brings a changed Secret within a minute or so, and
    workers of before the reload take new connections for a moment beside the new ones."""
    wanted = pair.cert.public_bytes(serialization.Encoding.DER)
    await_true("nginx offers the new certificate only", lambda: all(presented() == wanted for _ in range(CONNECTIONS)), 180)


def asked(ca_file: Path, *mine: Path, host: str = ADDRESS) -> SlurmrestClient:
    """A client of the node port with slurmctld's own JWT key."""
    key = (site.LAB.keys / "jwt_hs256.key").read_bytes()
    endpoint = Direct(f"https://{host}:{NODE_PORT}", ca_file, *(mine or (None, None)))
    return SlurmrestClient(endpoint, [key], retry=Retry(tries=1), budget_s=20)


def scale_in(stack: Gated, slurm: Slurm, while_it_waits: Callable[[], None], **more: Any) -> None:
    """Three busy nodes to two; the selected one ends its job when ``while_it_waits`` has returned."""
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "3" if node == "gpu-1" else "30") for node in NODES}
    slurm.await_running(*jobs.values())
    stack.write(2, {"deadline": "9m"}, **more)
    run = stack.start_up()
    try:
        await_true("gpu-1 is drained by us", lambda: run.poll() is not None or stack.drained("gpu-1"), 120)
        assert run.poll() is None, run.communicate()[0]
        while_it_waits()
        stack.finish_when_drained(run, ["gpu-1"], jobs["gpu-1"])
        stack.await_pods("gpu-0", "gpu-2")
        assert all("RUNNING" in slurm.job_state(jobs[node]) for node in ("gpu-0", "gpu-2"))
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            stack.stack.unlock()
        slurm.cancel_all()


def test_gates_go_by_tls_and_no_token_can_be_read_on_the_way(stack: Gated, world: World, slurm: Slurm) -> None:
    stack.up(3, restapi={"pod": POD, "tls": GENERATED})
    outputs = stack.stack.outputs()
    assert outputs["slurmrestdUrl"] == f"https://slurm-restapi-tls.slurm:{TLS_PORT}"
    with Sniffer() as wire:
        scale_in(stack, slurm, lambda: None, restapi={"pod": POD, "tls": GENERATED})
        await_true("the operator has asked", lambda: HEADER.lower() in wire.said(PLAIN_PORT).lower(), 60)
    encrypted = wire.said(TLS_PORT)
    assert encrypted.count(TLS_RECORD) > 20, "the gate went another way"
    assert HEADER.lower() not in encrypted.lower()
    assert b"eyJ" not in encrypted
    assert b"eyJ" in wire.said(PLAIN_PORT), "slurm-operator's own way is plain HTTP, and so the listener can read tokens"


def test_the_authority_in_the_outputs_is_the_one_that_signed(stack: Gated, tmp_path: Path) -> None:
    stack.up(3, restapi={"pod": POD, "tls": GENERATED})
    ca = tmp_path / "ca.pem"
    ca.write_text(str(stack.stack.outputs()["slurmrestdCa"]))
    await_true("TLS is there", presented, 120)
    said = subprocess.run(
        ["openssl", "s_client", "-connect", f"{ADDRESS}:{NODE_PORT}", "-CAfile", str(ca),
         "-verify_return_error", "-verify_ip", ADDRESS, "-brief"],
        input="", capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert "Verification: OK" in said.stdout + said.stderr, said
    assert "TLSv1.3" in said.stdout + said.stderr
    with asked(ca) as client:
        assert client.diag().meta.slurm.cluster == "lab"


def test_a_renewal_changes_the_certificate_and_no_pod(stack: Gated, world: World, tmp_path: Path) -> None:
    stack.up(3, restapi={"pod": POD, "tls": GENERATED})
    await_true("TLS is there", presented, 120)
    before, pods = presented(), restapi_pods(world)
    today = str(datetime.now(UTC).date())
    ca = str(stack.stack.outputs()["slurmrestdCa"])
    stack.up(3, restapi={"pod": POD, "tls": GENERATED | {"since": today}})
    await_true("nginx offers the new certificate", lambda: presented() not in (before, b""), 180)
    assert restapi_pods(world) == pods
    assert stack.stack.outputs()["slurmrestdCa"] == ca


def restapi_pods(world: World) -> set[str]:
    found = world.objects("pods", NAMESPACE)
    return {p["metadata"]["uid"] for p in found if p["metadata"]["labels"].get("app.kubernetes.io/name") == "slurmrestd"}


@pytest.fixture(scope="module")
def ca() -> Pair:
    return authority("the site's authority")


def mutual(folder: Path, ca: Pair) -> dict[str, Any]:
    """Settings of gates that come by the node port, with a client certificate."""
    crt, key = issued(ca, client="gates").write(folder, "gates")
    ca_file = ca.write(folder, "ca")[0]
    access = {"url": f"https://{ADDRESS}:{NODE_PORT}", "caFile": str(ca_file)}
    return {
        "restapi": {"pod": POD, "tls": GIVEN},
        "slurmrest": access | {"clientCertFile": str(crt), "clientKeyFile": str(key)},
    }


@pytest.fixture(scope="module")
def guarded(stack: Gated, world: World, ca: Pair, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A given certificate, and clients that must show one."""
    offer(world, issued(ca, ADDRESS))
    demand(world, ca)
    settings = mutual(tmp_path_factory.mktemp("gates"), ca)
    stack.up(3, **settings)
    return settings


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("another CA", "is signed by none of the authorities in"),
        ("expired", "has expired: renew it there"),
        ("another name", "is for other names than"),
    ],
)
def test_a_server_that_is_not_to_be_believed_gets_no_token(
    guarded: dict[str, Any], world: World, ca: Pair, tmp_path: Path, fault: str, words: str
) -> None:
    offered = {
        "another CA": issued(authority("somebody else's"), ADDRESS),
        "expired": issued(ca, ADDRESS, days=-1),
        "another name": issued(ca, "slurmrestd.example.org"),
    }[fault]
    mine = issued(ca, client="gates").write(tmp_path, "gates")
    offer(world, offered)
    try:
        await_presented(offered)
        with asked(ca.write(tmp_path, "ca")[0], *mine) as client, pytest.raises(SlurmrestUnreachable) as refused:
            client.diag()
    finally:
        offer(world, good := issued(ca, ADDRESS))
    assert words in str(refused.value)
    await_presented(good)


def test_a_client_without_a_certificate_or_with_a_strangers_is_refused(
    guarded: dict[str, Any], ca: Pair, tmp_path: Path
) -> None:
    ca_file = ca.write(tmp_path, "ca")[0]
    with asked(ca_file, *issued(ca, client="gates").write(tmp_path, "gates")) as client:
        assert client.diag().meta.slurm.cluster == "lab"
    stranger = issued(authority("somebody else's"), client="stranger").write(tmp_path, "stranger")
    old = issued(ca, client="gates", days=-1).write(tmp_path, "old")
    for mine in ((), stranger, old):
        with asked(ca_file, *mine) as client, pytest.raises(SlurmrestUnreachable) as refused:
            client.diag()
        assert "clientCertFile" in str(refused.value), refused.value


def test_certificates_are_replaced_while_a_gate_waits(
    stack: Gated, guarded: dict[str, Any], world: World, slurm: Slurm, ca: Pair
) -> None:
    """Another authority for both sides, and new certificates of both: the same run of the gate goes on by them."""
    stack.up(3, **guarded)
    slurm.await_registered(*NODES)
    folder = Path(guarded["slurmrest"]["caFile"]).parent
    later, server = authority("the next authority"), issued(ca, ADDRESS)

    def rotate() -> None:
        nonlocal server
        server = issued(later, ADDRESS)
        offer(world, server)
        demand(world, later)
        await_presented(server)
        mutual(folder, later)

    scale_in(stack, slurm, rotate, **guarded)
    with asked(folder / "ca.crt", folder / "gates.crt", folder / "gates.key") as client:
        assert client.diag().meta.slurm.cluster == "lab"


def test_without_its_certificate_slurmrestd_is_there_for_the_operator(stack: Gated, world: World) -> None:
    """The operator takes busy nodes for drained when no slurmrestd is ready: TLS may not take it away."""
    stack.up(
        3,
        restapi={"pod": POD, "tls": COMMON | {"source": "existing", "secret": "there-is-none"}},
        slurmrest={"url": PLAIN, "allowPlainHttp": True},
    )
    await_true("one slurmrestd is ready", lambda: len(ready_restapi(world)) == 1, 120)
    assert presented() == b""


def ready_restapi(world: World) -> list[str]:
    found = world.objects("pods", NAMESPACE)
    return [
        pod["metadata"]["name"]
        for pod in found
        if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "slurmrestd" and ready(pod)
    ]
