"""Whose slurmctld slurmdbd has under the cluster's name: two of one name share one record, and nothing else would say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.config.findings import acknowledged
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.preflight.check import Check, Run, Verdict
from slinky_iac.preflight.compare import checks, judged
from slinky_iac.preflight.facts import Facts, PodFacts, Tried
from slinky_iac.preflight.preview import findings
from tests.made.slurm import cluster
from tests.unit.preflight.made import CTL, DBD, FACTS, POD, stack

FINE, WARNING, UNKNOWN, PROBLEM = Verdict.FINE, Verdict.WARNING, Verdict.UNKNOWN, Verdict.PROBLEM
POD_AT = frozenset({"10.244.0.7", "10.0.0.20"})
"""Address of slurmctld's pod, and of the node that it is on."""
AT: dict[str, Any] = {"controller": {"external": {"host": "10.0.0.1", "port": 6817}}}


def inside(**over: Any) -> StackConfig:
    """slurmctld in Kubernetes, slurmdbd outside."""
    return stack(**{"controller": None, **over})


def seen(
    host: str = "", port: int = 6817, *, pods: frozenset[str] | None = POD_AT, restapi: bool | None = True, **slurm: Any
) -> Facts:
    """slurmdbd has the cluster from this host."""
    asked = replace(FACTS.slurm, **{"clusters": (cluster("lab", host, port, 11520),), **slurm})
    return replace(FACTS, slurm=asked, kube=replace(FACTS.kube, restapi=restapi, slurmctld=pods))


def unmade(host: str = "", port: int = 6817, **slurm: Any) -> Facts:
    """Before the first `pulumi up`."""
    return seen(host, port, pods=frozenset(), restapi=False, **slurm)


def told(name: str, config: StackConfig, facts: Facts) -> Check:
    (check,) = [each for each in checks(config, facts) if each.name == name]
    return check


CASES: list[tuple[str, StackConfig, Facts, Verdict, str]] = [
    ("not made yet", inside(), unmade("10.0.0.9"), PROBLEM, "isn't this stack's: the stack has made none yet"),
    ("another port", inside(), seen("10.0.0.9", 7817), PROBLEM, "isn't this stack's: that one has port 6817"),
    ("another port, pods unknown", inside(), seen("10.0.0.9", 7817, pods=None), PROBLEM, "has port 6817"),
    ("slurmdbd's host by name", inside(), seen(DBD.host), PROBLEM, "runs on slurmdbd's host"),
    ("slurmdbd's host by address", inside(), seen("10.0.0.2"), PROBLEM, "runs on slurmdbd's host"),
    ("slurmdbd's host, mapped", inside(), seen("::ffff:10.0.0.2"), PROBLEM, "runs on slurmdbd's host"),
    ("loopback of slurmdbd's host", inside(), seen("127.0.0.1"), PROBLEM, "runs on slurmdbd's host"),
    ("a slurmd host", inside(), seen("10.0.0.5"), PROBLEM, "runs on metal-1"),
    ("a slurmd host, pods unknown", inside(), seen("10.0.0.5", pods=None), UNKNOWN, "slurmctld's pods aren't known"),
    ("its pod", inside(), seen("10.244.0.7"), FINE, "slurmctld's pod"),
    ("its pod's node", inside(), seen("10.0.0.20"), FINE, "slurmctld's pod"),
    ("an address of no pod", inside(), seen("10.0.0.9"), UNKNOWN, "slurmctld's pods have 10.0.0.20, 10.244.0.7"),
    ("half made", inside(), seen("10.0.0.9", pods=frozenset()), UNKNOWN, "slurmctld has no pod"),
    ("half unknown", inside(), seen("10.0.0.9", pods=frozenset(), restapi=None), UNKNOWN, "slurmctld has no pod"),
    ("outside, itself", stack(), seen("10.0.0.1"), FINE, "controller.external"),
    ("outside, another", stack(), seen("10.0.0.9"), WARNING, "controller.external.host is ctl.example.org (10.0.0.1)"),
    ("outside by address, another", stack(**AT), seen("10.0.0.9"), WARNING, "controller.external.host is 10.0.0.1"),
    ("outside, slurmdbd's", stack(), seen("127.0.0.1"), WARNING, "controller.external.host is ctl.example.org (10.0.0.1)"),
    ("beside slurmdbd", stack(accounting={"external": {"host": CTL.host}}), seen("127.0.0.1"), FINE, "controller.external"),
]


@pytest.mark.parametrize(("config", "facts", "verdict", "said"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_whose_the_registered_slurmctld_is(config: StackConfig, facts: Facts, verdict: Verdict, said: str) -> None:
    check = told("registered-host", config, facts)
    assert (check.verdict, said in check.got) == (verdict, True), check
    host = next(iter(facts.slurm.clusters or ())).controller.host
    assert host in check.got, "the host that slurmdbd has is named"


def test_a_second_slurmctld_is_told_with_what_follows_and_both_ways_out() -> None:
    check = told("registered-host", inside(), unmade("10.0.0.9", 6820))
    assert (check.paste, check.at) == (
        ("external: {host: 10.0.0.9, port: 6820}",),
        "in Pulumi.<stack>.yaml, under slinky-iac:controller",
    )
    assert all(word in check.change for word in ("takes over the record", "same numbers", "cluster.name"))
    assert told("registered-host", inside(), unmade("127.0.0.1")).paste == (f"external: {{host: {DBD.host}, port: 6817}}",)


def test_a_host_of_two_addresses_is_only_a_warning_with_the_command_that_tells() -> None:
    check = told("registered-host", stack(), seen("10.0.0.9"))
    assert (check.paste, check.at) == (("pgrep -a slurmctld",), "on 10.0.0.9")


def test_a_backup_that_took_over_is_the_stacks_own() -> None:
    config = stack(controller={"external": {"host": "10.0.0.1", "backups": ["10.0.0.3"]}})
    assert told("registered-host", config, seen("10.0.0.3")).verdict is FINE


@pytest.mark.parametrize("registered", ["10.0.0.9", "127.0.0.1"])
def test_a_name_that_did_not_resolve_leaves_it_unknown(registered: str) -> None:
    unresolved = (Tried(CTL, "the name is not known here"), Tried(DBD, "the name is not known here"))
    facts = replace(seen(registered), here=unresolved, pod=PodFacts(trouble="--no-pod was given", skipped=True))
    check = told("registered-host", stack(), facts)
    assert check.verdict is UNKNOWN
    assert check.paste[0].startswith("getent hosts ")
    by_pod = replace(facts, pod=PodFacts((replace(POD, tried=FACTS.here),)))
    assert told("registered-host", stack(), by_pod).verdict is WARNING, "a pod resolved both"


def test_previews_tell_a_second_slurmctld_and_no_second_address_of_the_right_host() -> None:
    def said(config: StackConfig, facts: Facts) -> list[Verdict]:
        return [each.verdict for each in judged(Run.PREVIEW, config, facts) if each.name == "registered-host"]

    quick = Facts(slurm=seen("10.0.0.9", 7817).slurm)
    assert said(inside(), quick) == [PROBLEM]
    assert said(stack(**AT), Facts(slurm=seen("10.0.0.9").slurm)) == []


@pytest.mark.parametrize(
    ("facts", "verdict", "said"),
    [
        (unmade(clusters=()), FINE, "free"),
        (unmade(), WARNING, "has records of the name"),
        (unmade(clusters=None, failed={"clusters": "error 7000"}), UNKNOWN, "error 7000"),
        (unmade(clusters=None, silent={"slurmdbd": "error 7000"}), PROBLEM, "error 7000"),
        (seen(clusters=()), PROBLEM, "isn't there"),
        (seen(), PROBLEM, "no slurmctld is registered"),
    ],
)
def test_before_its_slurmctld_is_made_a_name_that_slurmdbd_lacks_is_right(facts: Facts, verdict: Verdict, said: str) -> None:
    check = told("slurmdbd", inside(), facts)
    assert (check.verdict, said in check.got) == (verdict, True), check
    assert "pod" not in check.at or facts.kube.slurmctld, "there is no pod to run a command in"


def test_without_an_outside_slurmdbd_or_an_answer_nothing_is_said_of_the_host() -> None:
    def rows(config: StackConfig, facts: Facts) -> list[Check]:
        return [each for each in checks(config, facts) if each.name == "registered-host"]

    assert rows(inside(accounting={"enabled": False, "external": None}), seen("10.0.0.9")) == []
    assert rows(inside(), unmade(clusters=None)) == [], "the check of slurmdbd says that it wasn't asked"
    assert rows(inside(), unmade("10.0.0.9", 0)) == rows(stack(), seen(clusters=())) == []


PROXY = "preflight.registered-host@dbd.example.org"


def by_proxy(key: str = PROXY, **over: Any) -> StackConfig:
    return inside(acknowledged={key: "a TCP proxy on slurmdbd's host leads there"}, **over)


@pytest.mark.parametrize("host", [DBD.host, "10.0.0.2", "127.0.0.1"])
def test_a_proxy_on_slurmdbds_host_is_acknowledged_for_that_host(host: str) -> None:
    """slurmdbd sees the proxy's host, and no answer tells this stack's slurmctld behind it from one there."""
    check = told("registered-host", inside(), seen(host))
    assert f"{PROXY}: WHY" in check.change
    accepted = told("registered-host", by_proxy(), seen(host))
    assert (accepted.verdict, accepted.reason) == (WARNING, "a TCP proxy on slurmdbd's host leads there")


@pytest.mark.parametrize(
    "facts",
    [unmade("10.0.0.2"), seen("10.0.0.2", 7817), seen("10.0.0.5")],
    ids=["not made yet", "another port", "elsewhere"],
)
def test_what_no_proxy_on_that_host_explains_stays_a_problem(facts: Facts) -> None:
    check = told("registered-host", by_proxy(), facts)
    assert (check.verdict, check.reason) == (PROBLEM, "")


def test_the_whole_check_is_acknowledged_by_nothing() -> None:
    """A second slurmctld elsewhere would be, too."""
    with pytest.raises(ConfigError, match="acknowledged for one"):
        by_proxy("preflight.registered-host")


def test_a_preview_takes_the_same_acknowledgement() -> None:
    quick = judged(Run.PREVIEW, inside(), Facts(here=FACTS.here, slurm=seen("10.0.0.2").slurm))
    (finding,) = (each for each in findings(quick) if each.id == "preflight.registered-host")
    assert f"{finding.id}@{finding.path}" == PROXY
    assert [each.reason for each in acknowledged([finding], by_proxy().acknowledged)] != [""]
