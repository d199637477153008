"""NetworkPolicies in preflight: its pod has no label of the cluster, so a connection that is made shows that none holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.blueprint.places import Place
from slinky_iac.preflight.check import Check
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, PodFacts, Tried
from tests.unit.preflight.made import FACTS, POD, slurm, stack

RESTAPI = Place("restapi", "slurmrestd's Service", "slurm-restapi.slurm", 6820)
ON: dict[str, Any] = {"networkPolicies": {"enabled": True, "apiServer": [{"cidr": "10.0.0.1"}]}}


def seen(facts: Facts, trouble: str, **over: Any) -> Check:
    report = replace(POD, tried=(Tried(RESTAPI, trouble, "10.96.0.7"),))
    found = checks(stack(**over), replace(facts, pod=PodFacts((report,))))
    (said,) = [each for each in found if RESTAPI.host in each.subject]
    return said


def test_a_pod_that_is_refused_shows_that_policies_hold() -> None:
    said = seen(FACTS, "no answer in 5 s", **ON)
    assert (said.name, said.verdict) == ("network-policies", "fine")


def test_a_pod_that_gets_through_shows_that_none_holds() -> None:
    said = seen(FACTS, "", **ON)
    assert (said.name, said.verdict) == ("network-policies", "warning")
    assert "enforces none" in str(said)


def test_a_silent_slurmrestd_shows_nothing() -> None:
    said = seen(slurm(nodes=None, failed={"nodes": "no answer"}), "no answer in 5 s", **ON)
    assert (said.name, said.verdict) == ("network-policies", "unknown")


@pytest.mark.parametrize(("trouble", "verdict"), [("", "fine"), ("no answer in 5 s", "problem")])
def test_without_policies_every_pod_must_get_through(trouble: str, verdict: str) -> None:
    said = seen(FACTS, trouble)
    assert (said.name, said.verdict) == ("connect", verdict)


def test_on_the_host_network_a_pod_may_get_through() -> None:
    bare = ON | {"nodesets": {"gpu": {"pod": {"hostNetwork": True}}}}
    bare["networkPolicies"] = ON["networkPolicies"] | {"nodes": ["10.0.0.0/24"]}
    assert seen(FACTS, "", **bare).verdict == "fine"
