"""One cause, one next step: a failure says what happened in plain words, and its own remedy follows."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from slinky_iac.cluster.kube_connection import kube_source
from slinky_iac.errors import KubeError, KubeForbidden, KubeUnreachable
from slinky_iac.kube.kubeconfig import KubeSource, load
from slinky_iac.kube.silence import about
from slinky_iac.kube.wire import describe
from tests.unit.kube.test_client import client_of

INTERNAL = re.compile(r"Errno|_ssl\.c|\[SSL|[A-Z][a-z]+(Error|Exception|Timeout)\b|FileNotFound")


@pytest.mark.parametrize(
    ("error", "said", "advice"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "connection refused", "port in the kubeconfig"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "the name isn't known here", "DNS"),
        (httpx.ConnectTimeout(""), "no connection in time", "VPN, firewall"),
        (httpx.ReadTimeout("timed out"), "no answer in time", "VPN, firewall"),
        (httpx.RemoteProtocolError(""), "the server ended the connection", "VPN, firewall"),
        (httpx.ConnectError("certificate verify failed"), "certificate verify failed", "certificate authority"),
        (
            httpx.ConnectError("certificate verify failed: IP address mismatch, certificate is not valid for '10.0.0.1'"),
            "certificate verify failed: IP address mismatch, certificate is not valid for '10.0.0.1'",
            "`tls-server-name`",
        ),
        (
            httpx.ConnectError("certificate verify failed: certificate has expired"),
            "certificate verify failed: certificate has expired",
            "renew it",
        ),
        (httpx.ReadError(""), "the connection failed", "VPN, firewall"),
        (
            httpx.ConnectError(
                "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)"
            ),
            "certificate verify failed: self-signed certificate",
            "certificate authority",
        ),
        (
            httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"),
            "what answers there speaks no TLS",
            "https:// or http:// in the kubeconfig",
        ),
        (
            httpx.ConnectError("[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version (_ssl.c:1006)"),
            "TLS failed: tlsv1 alert protocol version",
            "versions of TLS",
        ),
        (
            httpx.ReadError("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required (_ssl.c:2580)"),
            "TLS failed: tlsv13 alert certificate required",
            "refuses the client certificate",
        ),
        (httpx.ConnectError("[Errno 113] No route to host"), "no route to host", "VPN, firewall and route"),
    ],
)
def test_a_silence_is_said_in_plain_words_with_its_own_remedy(error: Exception, said: str, advice: str) -> None:
    words = describe(error)
    assert words == said
    assert not INTERNAL.search(words)
    assert advice in about(words)


def test_a_page_in_place_of_json_is_a_proxy_s_or_a_login_s() -> None:
    page = "<!DOCTYPE html><title>Sign in with SENTINEL</title>"
    with client_of(lambda _: httpx.Response(200, text=page)) as kube, pytest.raises(KubeError) as refused:
        kube.release()
    assert "it is a page, HTML or XML, as a proxy or a login gives it: look at $HTTPS_PROXY" in str(refused.value)
    assert "SENTINEL" not in str(refused.value)


@pytest.mark.parametrize(
    ("code", "advice"), [(401, "Log in again"), (403, "Ask for the right: `slinky rights --for apply` prints the Roles")]
)
def test_a_refusal_has_the_remedy_of_its_own_cause(code: int, advice: str) -> None:
    kube = client_of(lambda _: httpx.Response(code, json={"kind": "Status", "message": "no"}))
    with kube, pytest.raises(KubeForbidden) as refused:
        kube.release()
    assert refused.value.advice == advice
    assert str(refused.value) == f"{refused.value.why}. {advice}"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            None,
            "Set $KUBECONFIG, or the stack's kubernetes.kubeconfig",
        ),
        ("a: [", "Repair it or make a new one"),
        ("- a", "Make a new one, as your cluster's tool does it"),
        ("apiVersion: v1\nkind: Config\n", "Set the stack's kubernetes.context"),
    ],
)
def test_a_kubeconfig_s_faults_have_each_a_remedy(text: str | None, advice: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(text)
    with pytest.raises(KubeUnreachable) as fault:
        load(KubeSource(), env={}, home=tmp_path, service_account=tmp_path / "no-account")
    assert fault.value.advice == advice
    assert not INTERNAL.search(str(fault.value))


def test_an_option_is_named_by_the_command_that_has_it_alone(tmp_path: Path) -> None:
    def advice(source: KubeSource) -> str | None:
        with pytest.raises(KubeUnreachable) as fault:
            load(source, env={}, home=tmp_path, service_account=tmp_path / "no-account")
        return fault.value.advice

    both = {"options": ("--kubeconfig", "--context")}
    assert advice(kube_source(None, None)) == "Set $KUBECONFIG, or the stack's kubernetes.kubeconfig"
    assert advice(kube_source(None, None, **both)) == "Set $KUBECONFIG, or --kubeconfig"
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("apiVersion: v1\nkind: Config\n")
    assert advice(kube_source(None, "hpc")) == "Set the stack's kubernetes.context to one that it has"
    assert advice(kube_source(None, "hpc", **both)) == "Set --context to one that it has"
