"""Each check: fine where it fits, named where it doesn't, unknown where there was no answer; never fine by silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.blueprint.places import Place
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import (
    Clock,
    Facts,
    PodFacts,
    Tried,
)
from slinky_iac.slurmrest.objects import Number
from tests.made.pods import worker_pod
from tests.made.slurm import cluster
from tests.unit.preflight.made import (
    BY_HAND,
    CTL,
    DBD,
    FACTS,
    JWT_PRINT,
    NOW,
    OTHER_PRINT,
    POD,
    UNASKED,
    conf,
    found,
    kube,
    node,
    partition,
    pod,
    slurm,
    stack,
    verdicts,
    workers,
)

FINE, WARNING, PROBLEM, UNKNOWN = Verdict.FINE, Verdict.WARNING, Verdict.PROBLEM, Verdict.UNKNOWN
REFUSED = "connection refused"
SERVICE = Place("accounting", "slurmdbd's Service", "slurm-accounting.slurm", 6819)


def test_where_everything_fits_only_what_nobody_can_be_asked_about_is_open() -> None:
    seen = checks(stack(), FACTS)
    assert {each.name for each in seen if each.verdict is not FINE} == BY_HAND
    assert {each.verdict for each in seen} == {FINE, UNKNOWN}


def test_where_nobody_could_be_asked_nothing_about_slurm_is_fine() -> None:
    seen = checks(stack(), replace(UNASKED, here=(), pod=PodFacts(trouble="no pod", skipped=True)))
    assert {each.name for each in seen if each.verdict is FINE} == {"api-server", "fence", "encryption"}
    assert {each.verdict for each in seen} == {FINE, UNKNOWN}


def test_what_is_unknown_says_how_to_find_out() -> None:
    for each in checks(stack(), UNASKED):
        if each.verdict is UNKNOWN:
            assert each.change, each
            assert each.paste or each.name in {"version-slurmd", "version-image", "encryption"}, each


def test_what_is_wrong_says_what_to_change() -> None:
    wrong = slurm(partitions=(), nodes=(), clusters=(), tokens={"configuration": "refused"}, served=("v0.0.43",))
    for each in checks(stack(), wrong):
        if each.verdict in (PROBLEM, WARNING):
            assert each.change, each


def unready(for_s: int, trouble: str = "") -> Facts:
    """A pod of the NodeSet is there, and not ready."""
    return kube(workers=workers(worker_pod("gpu-0", ready=False, created=NOW - for_s, trouble=trouble)))


METAL = tuple(node(f"metal-{number}") for number in range(1, 1026))
"""Nodes of an own slurm.conf, of which the stack names the first."""
SAVING: dict[str, Any] = {
    "SuspendProgram": "/opt/off",
    "ResumeProgram": "/opt/on",
    "SuspendTime": Number(set=True, number=300),
}
CASES: list[tuple[str, Facts, Verdict, str]] = [
    ("cluster-name", conf(ClusterName="other"), PROBLEM, "name: other"),
    ("cluster-name", conf(ClusterName=None), UNKNOWN, ""),
    ("cluster-name", slurm(conf=None, clusters=(cluster("x", "h", 1, 11520),)), PROBLEM, ""),
    ("cluster-name", slurm(conf=None), UNKNOWN, ""),
    ("slurmctld-port", conf(SlurmctldPort=7000), PROBLEM, "port: 7000"),
    ("auth-type", conf(AuthType="auth/munge", CredType="cred/munge"), PROBLEM, "AuthType=auth/slurm"),
    ("auth-type", conf(AuthType=None), UNKNOWN, ""),
    ("auth-type", conf(AuthType="slurm", CredType="auth/slurm"), FINE, ""),
    ("auth-type", conf(AuthType="slurm", CredType="munge"), PROBLEM, "CredType=cred/slurm"),
    ("auth-jwt", conf(AuthAltTypes=["munge", "jwt"]), FINE, ""),
    ("auth-jwt", conf(AuthAltTypes=["munge"]), PROBLEM, "AuthAltTypes=munge,auth/jwt"),
    ("auth-jwt", conf(AuthAltTypes=[]), PROBLEM, "AuthAltTypes=auth/jwt"),
    ("auth-jwt", conf(AuthAltTypes=None), UNKNOWN, ""),
    ("use-client-ids", conf(AuthInfo="ttl=90"), WARNING, "AuthInfo=ttl=90,use_client_ids"),
    ("use-client-ids", conf(AuthInfo=""), WARNING, "AuthInfo=use_client_ids"),
    ("use-client-ids", conf(AuthInfo=None), UNKNOWN, ""),
    ("configless", conf(SlurmctldParameters=["a"]), PROBLEM, "SlurmctldParameters=a,enable_configless"),
    ("configless", conf(SlurmctldParameters=None), UNKNOWN, ""),
    ("select-type", conf(SelectType="select/cons_tres"), FINE, ""),
    ("select-type", conf(SelectType="select/linear"), PROBLEM, "SelectType=select/cons_tres"),
    ("max-node-count", conf(MaxNodeCount=2), PROBLEM, "MaxNodeCount=1024"),
    ("max-node-count", conf(MaxNodeCount=0), PROBLEM, "MaxNodeCount=1024"),
    ("max-node-count", conf(MaxNodeCount=3), WARNING, "MaxNodeCount=1024"),
    ("max-node-count", conf(MaxNodeCount=None), UNKNOWN, ""),
    ("max-node-count", slurm(conf=conf(MaxNodeCount=1024).slurm.conf, nodes=METAL), PROBLEM, "MaxNodeCount=1027"),
    ("max-node-count", slurm(nodes=None), UNKNOWN, "grep -c ^NodeName="),
    ("return-to-service", conf(ReturnToService="none"), WARNING, "ReturnToService=2"),
    ("return-to-service", conf(ReturnToService=None), UNKNOWN, ""),
    ("gres-types", conf(GresTypes=["nic"]), PROBLEM, "GresTypes=nic,gpu"),
    ("gres-types", conf(GresTypes=None), UNKNOWN, ""),
    ("power-saving", conf(**SAVING), PROBLEM, "SuspendExcStates=DYNAMIC_NORM"),
    ("power-saving", conf(**SAVING | {"SuspendExcStates": ["DOWN"]}), PROBLEM, "SuspendExcStates=DOWN,DYNAMIC_NORM"),
    ("power-saving", conf(**SAVING | {"SuspendExcStates": ["DOWN", "DYNAMIC_NORM"]}), FINE, ""),
    ("power-saving", conf(**SAVING | {"SuspendExcParts": ["gpu"]}), FINE, ""),
    ("power-saving", conf(**SAVING | {"SuspendExcNodes": ["gpu"]}), FINE, ""),
    ("power-saving", conf(**SAVING | {"SuspendTime": Number(set=False, infinite=True)}), FINE, ""),
    ("power-saving", conf(**SAVING | {"ResumeProgram": ""}), FINE, ""),
    ("slurm-uid", conf(SlurmUserId=64030), PROBLEM, "usermod -u 401 slurm"),
    ("slurm-uid", conf(SlurmUserId=None), UNKNOWN, "id -u slurm"),
    ("cgroup", conf(ProctrackType="proctrack/cgroup"), UNKNOWN, "IgnoreSystemd=yes"),
    ("cgroup", conf(TaskPlugin=["task/cgroup"]), UNKNOWN, "IgnoreSystemd=yes"),
    ("cgroup", conf(TaskPlugin=["affinity", "cgroup"]), UNKNOWN, "IgnoreSystemd=yes"),
    ("cgroup", conf(TaskPlugin=None), UNKNOWN, ""),
    ("accounting", conf(AccountingStorageType=""), PROBLEM, "AccountingStorageHost=dbd.example.org"),
    ("accounting", conf(AccountingStoragePort=7819), PROBLEM, "port: 7819"),
    (
        "partitions",
        slurm(partitions=(partition("all", "gpu"),)),
        PROBLEM,
        "PartitionName=gpu Nodes=gpu MaxTime=UNLIMITED",
    ),
    ("partitions", slurm(partitions=()), PROBLEM, "NodeSet=gpu Feature=gpu"),
    ("partitions", slurm(partitions=None), UNKNOWN, "PartitionName=all Nodes=gpu"),
    (
        "nodeset-lines",
        slurm(partitions=(partition("gpu"), partition("all"))),
        WARNING,
        "NodeSet=gpu Feature=gpu",
    ),
    (
        "partitions-left",
        slurm(
            partitions=(
                partition("gpu", "gpu"),
                partition("all", "gpu"),
                partition("old", "gpu"),
            ),
            jobs_by_partition={"old": 14},
        ),
        WARNING,
        "scontrol update partitionname=old state=drain",
    ),
    ("slurmdbd", slurm(clusters=(cluster("lab"),)), PROBLEM, ""),
    ("slurmdbd", slurm(clusters=(cluster("other", "h", 6817, 11520),)), PROBLEM, ""),
    ("slurmdbd", slurm(clusters=None, failed={"clusters": "error 7000"}), UNKNOWN, ""),
    ("registered-host", slurm(clusters=(cluster("lab", "10.0.0.9", 6817, 11520),)), WARNING, "pgrep -a slurmctld"),
    ("metal-hosts", slurm(nodes=(node("gpu-0"), node("gpu-1"))), PROBLEM, "NodeName=metal-1 NodeAddr=10.0.0.5 CPUs=4"),
    ("metal-hosts", slurm(nodes=(node("metal-1", "IDLE", "NOT_RESPONDING"),)), PROBLEM, "systemctl status slurmd"),
    ("metal-hosts", slurm(nodes=(node("metal-1", "UNKNOWN"),)), PROBLEM, "systemctl status slurmd"),
    ("metal-hosts", slurm(nodes=None), UNKNOWN, "NodeName=metal-1"),
    ("pods-registered", slurm(nodes=(node("gpu-0"), node("metal-1"))), PROBLEM, ""),
    ("pods-reached", slurm(nodes=(node("gpu-0", "DOWN", "NOT_RESPONDING"), node("gpu-1"))), PROBLEM, ""),
    ("pods-reached", slurm(nodes=None), UNKNOWN, ""),
    ("pods-reached", kube(workers={}), UNKNOWN, ""),
    ("jwt-key", slurm(tokens={"configuration": "refused"}), PROBLEM, "base64 -w0"),
    ("jwt-key", slurm(tokens={"configuration": "unknown"}, token_trouble="502"), UNKNOWN, ""),
    ("jwt-key", slurm(tokens={}, token_trouble="none at hand"), UNKNOWN, "openssl dgst"),
    ("key-secret", kube(keys={"slurm.key": OTHER_PRINT, "JWT key": JWT_PRINT}), PROBLEM, "slurm.key"),
    ("key-secret", kube(keys={}, keys_trouble={"JWT key": "HTTP 403"}), UNKNOWN, ""),
    ("slurm-key", kube(workers=workers()), UNKNOWN, "slurm.key"),
    ("slurm-key", unready(20), UNKNOWN, "slurm.key"),
    (
        "slurm-key",
        unready(90, "slurmd: ImagePullBackOff (no such image)"),
        UNKNOWN,
        "slurm.key",
    ),
    ("slurm-key", unready(90), WARNING, "openssl dgst"),
    (
        "slurm-key",
        unready(90, "slurmd: CrashLoopBackOff (back-off 20s)"),
        WARNING,
        "openssl dgst",
    ),
    ("slurm-key", slurm(nodes=(node("gpu-0", version=""), node("gpu-1", "DOWN", "NOT_RESPONDING"))), UNKNOWN, ""),
    ("clock", slurm(clock=Clock("slurmctld", NOW + 20, NOW, NOW)), WARNING, "timedatectl"),
    ("clock", slurm(clock=Clock("slurmctld", NOW - 400, NOW, NOW)), PROBLEM, "timedatectl"),
    ("clock", slurm(clock=None), UNKNOWN, "date -u"),
    ("clock", pod(clock=Clock("pod on node-1", NOW + 300, NOW, NOW + 5)), PROBLEM, "timedatectl"),
    ("version-slurmctld", slurm(version="25.05.3"), PROBLEM, ""),
    ("version-slurmctld", slurm(version="25.11.1"), PROBLEM, 'slurmVersion: "25.11"'),
    ("version-slurmctld", slurm(version="26.11.0"), WARNING, 'slurmVersion: "26.11"'),
    ("version-slurmctld", slurm(conf=None, clusters=None), UNKNOWN, "slurmctld -V"),
    ("version-slurmrestd", slurm(release="26.11.0"), PROBLEM, ""),
    ("version-slurmrestd", slurm(release="24.05.1"), PROBLEM, ""),
    ("version-slurmd", slurm(nodes=(node("metal-1", version="26.11.0"),)), PROBLEM, ""),
    ("version-slurmd", slurm(nodes=(node("metal-1", version="24.05.9"),)), PROBLEM, ""),
    ("version-image", pod(slurmd="26.11.0"), PROBLEM, ""),
    ("version-slurmdbd", slurm(slurmdbd_answers=None, failed={"slurmdbd_answers": "502"}), UNKNOWN, "slurmdbd -V"),
    ("version-slurmdbd", slurm(release="25.11.0"), UNKNOWN, "slurmdbd -V"),
    ("rest-version", slurm(served=("v0.0.43",)), PROBLEM, ""),
    ("auth-jwt", slurm(conf=None, tokens={"configuration": "unknown"}, hung_up="5005"), PROBLEM, "AuthAltTypes=auth/jwt"),
    ("rest-version", slurm(served=("v0.0.38",)), PROBLEM, ""),
    ("rest-version", slurm(served=None, failed={"served": "502"}), UNKNOWN, ""),
    (
        "slurmrestd",
        slurm(unanswered={"Service slurm/slurm-restapi": "503"}),
        PROBLEM,
        "logs -l app.kubernetes.io/name=slurmrestd --tail=50",
    ),
    ("slurmrestd", kube(restapi_pods=0), PROBLEM, "describe pods"),
    ("slurmrestd", UNASKED, UNKNOWN, "url: https://HOST:6820"),
    ("slurmctld", slurm(tokens={"configuration": "unknown"}, silent={"slurmctld": "504"}), PROBLEM, "scontrol ping"),
    ("slurmdbd", slurm(clusters=None, silent={"slurmdbd": "error 7000"}), PROBLEM, "systemctl status slurmdbd"),
    ("fence", kube(serves={"fence": False}), PROBLEM, "fence: false"),
    ("fence", kube(serves={"fence": None}), UNKNOWN, "kubectl version"),
    ("api-server", kube(trouble="no kubeconfig"), PROBLEM, ""),
    ("pod", replace(FACTS, pod=PodFacts(trouble="ErrImageNeverPull")), WARNING, ""),
    ("connect", pod(tried=(Tried(CTL, REFUSED, "10.0.0.1"),)), PROBLEM, "ss -ltnp 'sport = :6817'"),
    ("connect", pod(tried=(Tried(DBD, "the name is not known there"),)), PROBLEM, "getent hosts dbd.example.org"),
    ("connect", pod(tried=(Tried(SERVICE, REFUSED),)), PROBLEM, "endpointslices"),
    ("connect", replace(FACTS, pod=PodFacts(trouble="--no-pod was given", skipped=True)), UNKNOWN, "/dev/tcp/"),
]


@pytest.mark.parametrize(("name", "facts", "verdict", "paste"), CASES)
def test_each_check_names_what_is_wrong_or_unknown_with_the_line_to_paste(
    name: str, facts: Facts, verdict: Verdict, paste: str
) -> None:
    told = [each for each in found(name, facts) if each.verdict is verdict]
    assert told, [(each.name, each.verdict, each.got) for each in found(name, facts)]
    assert any(paste in line for each in told for line in (*each.paste, "")), [each.paste for each in told]


def test_every_check_that_can_fail_has_a_case() -> None:
    names = {each.name for facts in (FACTS, UNASKED) for each in checks(stack(), facts)}
    assert names - {name for name, *_ in CASES} == BY_HAND


def test_a_case_makes_no_other_check_worse_than_unknown_where_they_are_independent() -> None:
    for name, facts in (("configless", conf(SlurmctldParameters=[])), ("auth-jwt", conf(AuthAltTypes=[]))):
        bad = {each.name for each in checks(stack(), facts) if each.verdict is PROBLEM}
        assert bad == {name}


def test_unreachable_from_here_is_nothing_where_pods_reach_it() -> None:
    facts = replace(FACTS, here=(Tried(CTL, "the name is not known here"),))
    assert verdicts("connect", facts)[:1] == [FINE]
    assert "pods reach it" in found("connect", facts)[0].got
    alone = replace(facts, pod=PodFacts(trouble="--no-pod was given", skipped=True))
    assert verdicts("connect", alone) == [WARNING, UNKNOWN]
    assert "without --no-pod" in found("connect", alone)[1].change
    closed = replace(facts, pod=PodFacts(trouble="the API server could not be asked"))
    assert "--no-pod" not in found("connect", closed)[1].change, "nobody gave it"
    neither = replace(facts, pod=PodFacts((replace(POD, tried=(Tried(CTL, REFUSED),)),)))
    assert verdicts("connect", neither) == [PROBLEM, WARNING]


def test_the_slurmrestd_that_drains_go_through_must_answer_from_here_whoever_else_reaches_it() -> None:
    place = Place("slurmrest.url", "slurmrestd", "rest", 6820)
    facts = replace(FACTS, here=(Tried(place, REFUSED),), pod=PodFacts((replace(POD, tried=(Tried(place),)),)))
    assert PROBLEM in verdicts("connect", facts)


def test_a_slurmrestd_for_users_is_no_pods_need() -> None:
    place = Place("external.slurmrestd.url", "slurmrestd", "rest", 6820)
    assert WARNING in verdicts("connect", pod(tried=(Tried(place, REFUSED),)))


def test_a_wrong_key_of_the_configuration_is_told_from_a_right_one_in_the_secret() -> None:
    facts = replace(slurm(tokens={"configuration": "refused", "Secret": "accepted"}), keys={"JWT key": OTHER_PRINT})
    told = found("jwt-key", facts)
    assert [each.verdict for each in told] == [PROBLEM, FINE]
    assert "another key (the other one is accepted)" in told[0].got
    assert (OTHER_PRINT in told[0].subject, JWT_PRINT in told[1].subject) == (True, True)


def test_keys_that_could_not_be_decrypted_are_unknown() -> None:
    facts = replace(slurm(tokens={}), keys={}, keys_trouble="incorrect passphrase")
    assert [(each.verdict, each.got) for each in found("jwt-key", facts)] == [(UNKNOWN, "incorrect passphrase")]


def test_an_existing_secret_that_is_not_there_is_a_problem_before_the_first_up() -> None:
    names = {"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}
    assert verdicts("key-secret", replace(kube(keys={}), keys={}), stack(keys=names)) == [PROBLEM, PROBLEM]


def test_a_secret_of_an_external_store_that_is_not_there_yet_is_a_warning_with_who_makes_it() -> None:
    keys = {"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}, "madeBy": "Vault"}
    checks = found("key-secret", replace(kube(keys={}), keys={}), stack(keys=keys))
    assert {(each.verdict, "Vault must create it" in each.change) for each in checks} == {(WARNING, True)}


DAY = 86400


@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ({"slurm.key": 3 * DAY, "JWT key": 400 * DAY}, [FINE, WARNING]),
        ({"slurm.key": 366 * DAY}, [WARNING, UNKNOWN]),
        ({}, [UNKNOWN, UNKNOWN]),
    ],
)
def test_a_key_older_than_the_site_allows_is_a_warning(ages: dict[str, float], expected: list[Verdict]) -> None:
    assert sorted(verdicts("key-age", kube(keys_age_s=ages), stack(keys={"maxAge": "365d"}))) == sorted(expected)
    assert verdicts("key-age", kube(keys_age_s=ages)) == []


def test_slurmctlds_release_is_read_from_slurmdbd_where_slurmctld_does_not_tell() -> None:
    (told,) = found("version-slurmctld", slurm(conf=None))
    assert (told.verdict, "26.05" in told.got) == (FINE, True)


def test_three_major_releases_back_are_understood_from_2411_on() -> None:
    assert verdicts("version-slurmd", slurm(nodes=(node("metal-1", version="24.11.5"),))) == [FINE]
    old = slurm(version="24.05.0", nodes=(node("metal-1", version="22.05.9"),))
    assert verdicts("version-slurmd", old) == [PROBLEM]


def test_partitions_of_a_slurmctld_in_kubernetes_are_the_operators() -> None:
    inside: dict[str, Any] = {"controller": None, "keys": {"source": "generated"}, "accounting": {"enabled": False}}
    config = stack(**{**inside, "external": None, "accounting": {"enabled": False, "external": None}})
    (told,) = found("partitions", slurm(partitions=()), config)
    assert (told.verdict, told.paste) == (PROBLEM, ())
    assert found("partitions", UNASKED, config) == []


def test_a_slurmctld_in_kubernetes_that_is_not_made_yet_is_one_unknown_not_fifteen() -> None:
    config = stack(
        controller=None, keys={"source": "generated"}, accounting={"enabled": False, "external": None}, external=None
    )
    seen = checks(config, replace(UNASKED, here=()))
    told = [(each.name, each.subject) for each in seen if each.verdict is UNKNOWN]
    assert ("slurmctld", "slurmctld and slurmrestd") in told
    assert {name for name, _ in told} <= {"slurmctld", "version-image", "encryption"}
    silent = replace(UNASKED, kube=replace(UNASKED.kube, restapi=True, restapi_pods=0))
    assert PROBLEM in verdicts("slurmrestd", silent, config), "one that is there and doesn't serve is another matter"


def test_lines_of_a_slurmctld_in_kubernetes_go_into_no_file_of_a_host() -> None:
    config = stack(controller=None, keys={"source": "generated"}, accounting={"enabled": False, "external": None})
    facts = conf(ReturnToService="none", MaxNodeCount=1, SlurmctldParameters=[], GresTypes=[])
    told = [each for each in checks(config, facts) if each.verdict in (PROBLEM, WARNING)]
    assert {each.name for each in told} == {"return-to-service", "max-node-count", "configless", "gres-types"}
    assert all(each.at.startswith("by `pulumi up`") for each in told)


def test_a_nodeset_without_a_partition_of_its_own_can_not_be_seen() -> None:
    config = stack(nodesets={"gpu": {"partition": {"enabled": False}}}, partitions=None)
    told = found("nodeset-lines", slurm(partitions=()), config)
    assert [(each.verdict, each.paste) for each in told] == [(UNKNOWN, ("NodeSet=gpu Feature=gpu",))]


def test_a_slurmrestd_that_is_too_old_is_told_by_its_release() -> None:
    (old,) = [each for each in found("rest-version", slurm(served=("v0.0.42", "v0.0.41"))) if each.verdict is PROBLEM]
    assert old.got == "v0.0.42, v0.0.41, without v0.0.44: it is Slurm 24.11"
