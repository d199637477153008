"""What scripts read of a preflight stays: names of checks, and whole answers of recorded worlds, word for word.

Where a sentence is changed on purpose, ``python -m tests.unit.preflight.test_recorded`` writes ``recorded.json`` again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import JWT
from slinky_iac.keys.catalogue import SLURM as SLURM_KEY
from slinky_iac.preflight.check import Run, Verdict
from slinky_iac.preflight.compare import checks, expected, judged
from slinky_iac.preflight.facts import CertificateFacts, Clock, Facts, PodFacts, PodVerdict, Tried
from slinky_iac.slurmrest.objects import Number
from tests.stacks import minimal, outside
from tests.unit.preflight.made import (
    CONF,
    CTL,
    DBD,
    FACTS,
    KUBE,
    NOW,
    POD,
    SLURM,
    UNASKED,
    node,
    partition,
    slurm,
    stack,
)

FILE = Path(__file__).with_name("recorded.json")
NAMES = {
    *("accounting", "admin-level", "api-server", "auth-jwt", "auth-type", "certificate", "cgroup", "clock", "cluster-name"),
    *("kubelet", "pod-resources", "pods-accepted", "topology"),
    *(
        "configless",
        "connect",
        "encryption",
        "fence",
        "gres-conf",
        "gres-types",
        "jwt-key",
        "key-age",
        "key-secret",
        "login-hosts",
    ),
    *(
        "max-node-count",
        "power-saving",
        "registered-host",
        "select-type",
        "trial",
        "qos",
        "tres",
        "metrics-crash",
        "metal-hosts",
        "metrics",
        "munge-key",
        "network-policies",
        "nodeset-lines",
        "partitions",
        "partitions-left",
    ),
    *("pod", "pods-and-metal", "pods-reached", "pods-registered", "public-set", "rest-version", "return-to-service"),
    *(
        "slurm-key",
        "slurm-uid",
        "slurmctld",
        "slurmctld-backups",
        "slurmctld-host",
        "slurmctld-port",
        "slurmdbd",
        "slurmrestd",
        "state-code",
        "token-key",
    ),
    *("token-set", "use-client-ids", "version-image", "version-slurmctld", "version-slurmd", "version-slurmdbd"),
    "version-slurmrestd",
}
WRONG_CONF = type(CONF)(
    ClusterName="other",
    AuthType="auth/munge",
    AuthInfo="ttl=90",
    AuthAltTypes=[],
    AuthAltParameters="",
    CredType="cred/munge",
    SlurmctldParameters=[],
    SlurmctldPort=7000,
    MaxNodeCount=2,
    ReturnToService="none",
    GresTypes=["nic"],
    SlurmUserId=64030,
    AccountingStorageType="",
    ProctrackType="proctrack/cgroup",
    TaskPlugin=[],
    SuspendProgram="/opt/off",
    ResumeProgram="/opt/on",
    SuspendTime=Number(set=True, number=300),
)
WRONG = replace(
    FACTS,
    here=(Tried(CTL, "connection refused"), Tried(DBD, "the name is not known here")),
    kube=replace(
        KUBE,
        serves={"fence": False},
        keys={SLURM_KEY.label: "SHA256:other", JWT.label: "SHA256:other"},
        pods=(
            PodVerdict("restapi", "slurm"),
            PodVerdict("nodesets.gpu", "slurm", refused='pods "NAME" is forbidden: violates PodSecurity "baseline:latest"'),
            PodVerdict("logins.main", "slurm", trouble="no answer"),
        ),
    ),
    pod=PodFacts(
        (replace(POD, tried=(Tried(CTL, "no answer"), Tried(DBD, "the name is not known there")), slurmd="27.05.0"),)
    ),
    slurm=replace(
        SLURM,
        conf=WRONG_CONF,
        version="25.05.3",
        served=("v0.0.43",),
        tokens={"configuration": "refused"},
        partitions=(partition("old", "gpu"),),
        jobs_by_partition={"old": 3},
        nodes=(node("gpu-0", "NOT_RESPONDING"), node("metal-1", "DOWN", version="")),
        clusters=(),
        clock=Clock("slurmctld", NOW + 90, NOW, NOW + 1),
        release="26.11.0",
    ),
    certificates=(CertificateFacts("slurmrest.url", "https://rest:6820", 86_400),),
    foreign=("a provider of another program",),
)
INSIDE = load(minimal(nodesets={"gpu": {"replicas": 2}}))
WORLDS: dict[str, tuple[StackConfig, Facts]] = {
    "fits": (stack(), FACTS),
    "before the first update": (stack(), UNASKED),
    "nothing fits": (stack(), WRONG),
    "rs256 refused": (stack(keys={"tokens": "rs256"}), slurm(tokens={"configuration (RS256)": "refused"})),
    "in Kubernetes": (INSIDE, FACTS),
    "in Kubernetes, before the first update": (INSIDE, UNASKED),
    "auth/munge": (load(outside(keys={"auth": "auth/munge"})), FACTS),
}


def said(config: StackConfig, facts: Facts) -> dict[str, list[Any]]:
    """What each run says, as JSON has it."""
    runs = {
        "whole": checks(config, facts),
        "from here": checks(config, facts, from_here_only=True),
        "preview": tuple(judged(Run.PREVIEW, config, facts)),
    }
    return {name: json.loads(json.dumps([asdict(each) for each in found])) for name, found in runs.items()}


@pytest.mark.parametrize("name", WORLDS)
def test_a_recorded_world_is_judged_word_for_word_as_before(name: str) -> None:
    assert said(*WORLDS[name]) == json.loads(FILE.read_text())[name]


def test_no_check_loses_its_name() -> None:
    assert {row.name for row in expected()} == NAMES


def test_the_recording_holds_each_verdict_of_most_checks() -> None:
    runs = [run for world in json.loads(FILE.read_text()).values() for run in world.values()]
    seen = {(each["name"], each["verdict"]) for run in runs for each in run}
    assert {name for name, _ in seen} >= NAMES - {
        "select-type",
        "trial",
        "qos",
        "tres",
        "metrics-crash",
        "slurmctld-backups",
        "slurmctld-host",
        "admin-level",
        "key-age",
        "public-set",
        "network-policies",
        "pod",
        "metrics",
        "pod-resources",
        "topology",
        "kubelet",
    }
    assert {verdict for _, verdict in seen} == {str(each) for each in Verdict}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(said(*world))}" for name, world in WORLDS.items())
    FILE.write_text("{\n" + ",\n".join(lines).replace("}, {", "},\n{") + "\n}\n")
