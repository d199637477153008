"""Each hop is said as it is in this stack: encrypted only where a setting makes it so, and never fine in plain text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.check_encryption import hops
from tests.stacks import EXAMPLES, ROOT, form, outside, sections
from tests.unit.preflight.made import FACTS, KUBE, found, stack

TLS = {"source": "existing", "secret": "cert"}


def guards(name: str = "all-outside", **over: Any) -> dict[str, str]:
    return {hop.name: hop.guard for hop in hops(form(name, **over))}


def test_by_default_slurm_signs_and_slurmrestd_is_asked_in_plain_text() -> None:
    found_guards = guards()
    assert found_guards["gates-slurmrestd"] == found_guards["operator-slurmrestd"] == "plain"
    assert found_guards["slurm-daemons"] == "signed"
    assert found_guards["slurmdbd-database"] == "outside"


@pytest.mark.parametrize(
    ("over", "hop"),
    [
        ({"restapi": {"tls": TLS}}, "gates-slurmrestd"),
        ({"slurmrest": {"url": "https://rest.example.org:6820"}}, "gates-slurmrestd"),
        ({"external": {"slurmrestd": {"url": "https://rest.example.org"}}}, "users-slurmrestd"),
    ],
)
def test_a_setting_that_encrypts_a_hop_is_seen_and_moves_no_other(over: dict[str, Any], hop: str) -> None:
    before, after = guards(), guards(**over)
    assert after[hop] == "encrypted"
    assert {name: guard for name, guard in after.items() if name != hop} == {n: g for n, g in before.items() if n != hop}


def test_tls_to_the_database_is_seen() -> None:
    plain = guards("all-in-kubernetes")
    tls = guards("all-in-kubernetes", accounting={"database": {"tls": {"caSecret": "db-ca"}}})
    assert (plain["slurmdbd-database"], tls["slurmdbd-database"]) == ("plain", "encrypted")


def test_nothing_of_the_configuration_makes_the_operator_s_hop_or_slurm_s_own_encrypted() -> None:
    all_on = guards(restapi={"tls": TLS}, slurmrest={"url": "https://rest.example.org:6820"})
    assert (all_on["operator-slurmrestd"], all_on["slurm-daemons"]) == ("plain", "signed")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_hop_that_is_not_encrypted_says_what_would_guard_it(example: Any) -> None:
    for hop in hops(load(sections(example))):
        assert bool(hop.change) is (hop.guard != "encrypted")


def test_preflight_calls_no_plain_hop_fine_and_none_a_problem() -> None:
    checks = found("encryption", FACTS)
    by_verdict = {check.verdict for check in checks}
    assert by_verdict == {Verdict.UNKNOWN, Verdict.FINE}
    assert [c.subject for c in checks if c.verdict is Verdict.FINE] == ["here to the API server"]
    assert all("plain text" in c.got or "not known" in c.got for c in checks if c.verdict is Verdict.UNKNOWN)


def test_an_api_server_without_tls_is_a_warning() -> None:
    facts = replace(FACTS, kube=replace(KUBE, server="http://127.0.0.1:8080"))
    (check,) = [each for each in found("encryption", facts, stack()) if each.subject == "here to the API server"]
    assert check.verdict is Verdict.WARNING


def test_an_api_server_whose_certificate_is_not_checked_is_a_warning() -> None:
    facts = replace(FACTS, kube=replace(KUBE, unchecked=True))
    (check,) = [each for each in found("encryption", facts, stack()) if each.subject == "here to the API server"]
    assert check.verdict is Verdict.WARNING
    assert "insecure-skip-tls-verify" in check.got


def test_a_munge_cluster_is_told_of_munge() -> None:
    (hop,) = hops(load(outside(keys={"auth": "auth/munge"})))
    assert "munge" in hop.how


def test_every_hop_is_on_the_page() -> None:
    page = (ROOT / "docs" / "encryption.md").read_text()
    told = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    names = {hop.name for example in EXAMPLES for hop in hops(load(sections(example)))}
    assert names <= told
