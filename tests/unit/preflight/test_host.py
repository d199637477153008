"""`--via`: slurmctld's host answers before the first `up` what slurmrestd answers later; silence stays unknown."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.preflight.ask import ask_host, require_host
from slinky_iac.commands.preflight.host_answer import SCRIPT, read
from slinky_iac.commands.preflight.report import summary
from slinky_iac.errors import ProjectError
from slinky_iac.keys.raw import fingerprint
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, SlurmFacts
from tests.unit.preflight.made import FACTS, KUBE, NOW, slurm, stack

VIA = "ssh root@{host} sh -s"
RAW = {"slurm.key": b"1" * 1024, "JWT key": b"2" * 32}
HASHES = {label: sha256(raw).hexdigest() for label, raw in RAW.items()}
CONFIG = {
    "AccountingStorageHost": "dbd",
    "AccountingStoragePort": "6819",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AuthAltTypes": "auth/jwt",
    "AuthInfo": "use_client_ids",
    "AuthType": "auth/slurm",
    "ClusterName": "lab",
    "CredType": "cred/slurm",
    "GresTypes": "gpu",
    "JobAcctGatherType": "jobacct_gather/cgroup",
    "MaxNodeCount": "1024",
    "ProctrackType": "proctrack/cgroup",
    "ReturnToService": "2",
    "SlurmUser": "slurm(401)",
    "SlurmctldParameters": "enable_configless",
    "SlurmctldPort": "6817",
    "SLURM_VERSION": "26.05.5",
    "TaskPlugin": "(null)",
}
BEFORE = replace(
    FACTS,
    kube=replace(KUBE, restapi=False, restapi_pods=0, workers={}, keys={}),
    slurm=SlurmFacts(trouble="no slurmrestd runs yet", failed={"conf": "no slurmrestd"}),
    keys={label: fingerprint(raw) for label, raw in RAW.items()},
)
"""Before the first `pulumi up`."""


def answer(
    cgroup: str = "IgnoreSystemd=yes",
    clusters: str = "lab|10.0.0.1|6817|11520",
    gres: str = "AutoDetect=nvidia",
    nodes: str = "NodeName=metal-1 State=IDLE \nNodeName=metal-2 State=IDLE ",
    **over: str,
) -> str:
    """What the script prints; ``over``: parameters, or parts by their names with `_` for `.`."""
    hashed = {"slurm.key": HASHES["slurm.key"], "jwt.key": HASHES["JWT key"]}
    parts = {
        "config": "\n".join(f"{key:24}= {value}" for key, value in {**CONFIG, **over}.items()),
        "clock": str(NOW),
        "partitions": "PartitionName=gpu NodeSets=gpu Nodes=(null)\nPartitionName=all NodeSets=gpu,metal Nodes=metal-1",
        "nodes": nodes,
        "release": "slurm-wlm 26.05.5",
        "clusters": clusters,
        "cgroup": cgroup,
        "gres": gres,
        **{name: f"{over.get(name.replace('.', '_'), value)}  -" for name, value in hashed.items()},
    }
    return "".join(f"== {name}\n{text}\n" for name, text in parts.items()) + "== end\n"


def asked(out: str = "", code: int = 0, facts: Facts = BEFORE, error: Exception | None = None) -> Facts:
    seen: list[Any] = []

    def run(argv: Any, *, input: str, timeout: float, env: Any) -> subprocess.CompletedProcess[str]:
        seen.append((list(argv), input))
        if error is not None:
            raise error
        return subprocess.CompletedProcess(argv, code, out, "Permission denied" if code else "")

    found = ask_host(facts, stack(), VIA, clock=Clock(wall=lambda: float(NOW)), run=run, env={})
    assert seen == [(["ssh", "root@ctl.example.org", "sh", "-s"], SCRIPT)]
    return found


def rows(facts: Facts, name: str) -> list[Check]:
    return [each for each in checks(stack(), facts) if each.name == name]


def verdicts(facts: Facts) -> dict[str, set[Verdict]]:
    found: dict[str, set[Verdict]] = {}
    for each in checks(stack(), facts):
        found.setdefault(each.name, set()).add(each.verdict)
    return found


ANSWERED = (
    *(
        "auth-jwt",
        "auth-type",
        "cgroup",
        "cluster-name",
        "configless",
        "gres-conf",
        "gres-types",
        "jwt-key",
        "max-node-count",
    ),
    *("nodeset-lines", "partitions", "return-to-service", "slurm-key", "slurm-uid", "slurmctld-host", "slurmctld-port"),
    *("slurmdbd", "use-client-ids", "version-slurmctld", "version-slurmdbd", "accounting"),
)


def test_before_the_first_up_the_host_answers_what_waits_for_slurmrestd() -> None:
    found = verdicts(asked(answer()))
    assert {name: found.get(name) for name in ANSWERED} == {key: {Verdict.FINE} for key in ANSWERED}
    without = verdicts(BEFORE)
    assert {name for name in ANSWERED if Verdict.UNKNOWN in without.get(name, set())} >= {
        "auth-type",
        "jwt-key",
        "slurm-key",
    }


@pytest.mark.parametrize(
    ("out", "name", "said"),
    [
        (answer(AuthType="auth/munge"), "auth-type", "are auth/munge and cred/slurm"),
        (answer(ClusterName="other"), "cluster-name", "is 'other', and the stack says 'lab'"),
        (answer(SlurmctldParameters="(null)"), "configless", "enable_configless"),
        (
            answer(SuspendProgram="/opt/off", ResumeProgram="/opt/on", SuspendTime="300 sec", SuspendExcStates="DOWN"),
            "power-saving",
            "pods of gpu that are idle for 300 s",
        ),
        (answer(SlurmUser="slurm(64030)"), "slurm-uid", "is 64030 there"),
        (answer(slurm_key="0" * 64), "slurm-key", "slurmctld's host has another one, SHA256:AAAA"),
        (answer(jwt_key="0" * 64), "jwt-key", "slurmctld's host has another one, SHA256:AAAA"),
        (answer(cgroup="IgnoreSystemd=no"), "cgroup", "lacks IgnoreSystemd=yes, and proctrack/cgroup"),
        (answer(gres=""), "gres-conf", "names no GPU: slurmd in pods would find none"),
        (answer(gres="AutoDetect=off"), "gres-conf", "names no GPU"),
        (answer(clusters="other|10.0.0.9|6817|11520"), "slurmdbd", "lab"),
    ],
)
def test_what_does_not_fit_is_a_problem_before_anything_is_created(out: str, name: str, said: str) -> None:
    (row,) = rows(asked(out), name)
    assert (row.verdict, said in f"{row.subject} {row.got}") == (Verdict.PROBLEM, True), row


@pytest.mark.parametrize(
    "facts",
    [
        asked(code=255),
        asked(error=FileNotFoundError()),
        asked(error=subprocess.TimeoutExpired("ssh", 180)),
        asked("Last login: today\n"),
        asked(answer().replace("== end\n", "")),
    ],
    ids=["refused", "no ssh", "slow", "no answer", "cut short"],
)
def test_a_host_that_does_not_answer_leaves_all_unknown_and_says_why(facts: Facts) -> None:
    (row,) = rows(facts, "slurmctld-host")
    assert row.verdict is Verdict.UNKNOWN
    others = {name: each for name, each in verdicts(facts).items() if name != "slurmctld-host"}
    assert others == verdicts(BEFORE)


def test_what_the_host_can_not_say_stays_unknown() -> None:
    silent = answer(cgroup="-", clusters="-", slurm_key="", jwt_key="").replace(
        "PartitionName=gpu NodeSets=gpu Nodes=(null)", "-"
    )
    silent = silent.replace("PartitionName=all NodeSets=gpu,metal Nodes=metal-1\n", "")
    found = verdicts(asked(silent))
    names = ("cgroup", "slurmdbd", "version-slurmdbd", "slurm-key", "jwt-key", "partitions")
    assert {name: found[name] for name in names} == {key: {Verdict.UNKNOWN} for key in names}


FULL = "\n".join(f"NodeName=metal-{number} State=IDLE " for number in range(64))


@pytest.mark.parametrize(
    ("nodes", "most", "verdict", "said"),
    [
        (FULL, "64", Verdict.PROBLEM, "is 64, and must hold 2 pods of the stack and 64 other nodes"),
        (f"{FULL}\nNodeName=gpu-0 AvailableFeatures=gpu State=IDLE+DYNAMIC_NORM ", "65", Verdict.PROBLEM, "64 other"),
        (FULL, "1024", Verdict.FINE, "64 other nodes"),
        ("-", "1024", Verdict.UNKNOWN, "how many slurmctld has is not known"),
    ],
)
def test_the_clusters_own_nodes_take_room_of_max_node_count(nodes: str, most: str, verdict: Verdict, said: str) -> None:
    (row,) = rows(asked(answer(nodes=nodes, MaxNodeCount=most)), "max-node-count")
    assert (row.verdict, said in row.got) == (verdict, True), row


def test_what_slurmrestd_said_counts_before_the_host() -> None:
    facts = asked(answer(ClusterName="other", MaxNodeCount="1"), facts=slurm())
    assert (facts.slurm.conf, facts.slurm.partitions) == (slurm().slurm.conf, slurm().slurm.partitions)


def test_a_slurm_conf_that_rest_does_not_tell_comes_from_the_host() -> None:
    facts = asked(answer(), facts=slurm(conf=None, failed={"conf": "REST v0.0.44"}))
    assert facts.slurm.conf is not None
    assert "conf" not in facts.slurm.failed
    assert verdicts(facts)["configless"] == {Verdict.FINE}


def test_without_it_the_screen_names_the_command_and_with_it_not() -> None:
    texts = [summary("lab", found, facts) for facts in (BEFORE, asked(answer())) for found in (checks(stack(), facts),)]
    assert ["slinky preflight --via 'ssh root@{host} sh -s'" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    ("over", "via"),
    [
        ({"controller": {"external": None}, "external": {"slurmdHosts": [], "loginHosts": []}}, VIA),
        ({}, "ssh 'root"),
        ({}, " "),
    ],
)
def test_a_stack_without_such_a_host_is_refused(over: dict[str, Any], via: str) -> None:
    with pytest.raises(ProjectError, match="--via"):
        require_host(stack(**over), via)


@given(st.lists(st.sampled_from(answer().splitlines()) | st.text(max_size=40)).map("\n".join))
def test_any_answer_is_read_or_named_as_none(out: str) -> None:
    host, found = read("ctl", out, NOW, NOW)
    assert bool(host.trouble) == (found.conf is None)
