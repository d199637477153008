"""The certificates of slurmrestds at https addresses: shown in a real handshake, and judged by the days that are left."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.preflight.ask import ask_certificates
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.facts import CertificateFacts, Facts
from tests.pki import Pair, authority, issued
from tests.unit.preflight.made import found, stack
from tests.unit.slurmrest.test_tls import Serve, TlsServer, serve, trusting

__all__ = ["serve"]

DAY = 86_400
URL = "https://rest.example.org"
SHOWN = CertificateFacts("slurmrest.url", URL)


@pytest.fixture(scope="module")
def ca() -> Pair:
    return authority()


def asked(folder: Path, ca: Pair, server: TlsServer, **more: Any) -> CertificateFacts:
    access = {"url": server.url(), "caFile": str(trusting(folder, ca)), **more}
    (seen,) = ask_certificates(stack(slurmrest=access), 2.0, now=time.time)
    assert server.tokens == [], "nothing is sent but the handshake"
    return seen


def test_a_believed_certificate_tells_how_long_it_holds(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    seen = asked(tmp_path, ca, serve(issued(ca, "127.0.0.1", days=100)))
    assert (seen.path, seen.refused, seen.trouble) == ("slurmrest.url", "", "")
    assert seen.left_s is not None
    assert abs(seen.left_s - 100 * DAY) < 60


@pytest.mark.parametrize(
    ("fault", "words"), [("expired", "has expired"), ("another CA", "signed by none"), ("another name", "other names")]
)
def test_one_that_is_not_believed_tells_why(serve: Serve, ca: Pair, tmp_path: Path, fault: str, words: str) -> None:
    pair = {
        "expired": issued(ca, "127.0.0.1", days=-1),
        "another CA": issued(authority("somebody else's"), "127.0.0.1"),
        "another name": issued(ca, "rest.example.org"),
    }[fault]
    seen = asked(tmp_path, ca, serve(pair))
    assert words in seen.refused
    assert seen.left_s is None


def test_the_users_slurmrestd_is_looked_at_too_and_plain_http_is_not(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    server = serve(issued(ca, "127.0.0.1"))
    users = {"slurmrestd": {"url": server.url(), "caFile": str(trusting(tmp_path, ca))}}
    (seen,) = ask_certificates(stack(external=users), 2.0, now=time.time)
    assert seen.path == "external.slurmrestd.url"
    plain = {"slurmrestd": {"url": "http://rest.example.org:6820"}}
    assert ask_certificates(stack(external=plain), 2.0, now=time.time) == ()


def test_a_port_that_nobody_listens_on_is_no_verdict_on_a_certificate(tmp_path: Path, ca: Pair) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    access = {"url": f"https://127.0.0.1:{port}", "caFile": str(trusting(tmp_path, ca))}
    (seen,) = ask_certificates(stack(slurmrest=access), 2.0, now=time.time)
    assert (seen.left_s, seen.refused) == (None, "")
    assert "refused" in seen.trouble


@pytest.mark.parametrize(
    ("seen", "verdict", "words"),
    [
        (replace(SHOWN, left_s=31 * DAY), Verdict.FINE, "valid for another 31 days"),
        (replace(SHOWN, left_s=29 * DAY), Verdict.WARNING, "runs out in 29 days"),
        (replace(SHOWN, refused="has expired: renew it there"), Verdict.PROBLEM, "has expired"),
        (replace(SHOWN, trouble="Connection refused"), Verdict.UNKNOWN, "not shown: Connection refused"),
    ],
)
def test_the_last_thirty_days_are_a_warning_and_a_refusal_a_problem(
    seen: CertificateFacts, verdict: Verdict, words: str
) -> None:
    (check,) = found("certificate", Facts(certificates=(seen,)))
    assert (check.verdict, check.source, URL in check.subject) == (verdict, "here", True)
    assert words in check.got
