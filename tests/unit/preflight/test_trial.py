"""A trial of a stack's files by the daemons themselves: it can reach nothing that lives, and what they say is what is told.

That slurmctld itself takes and refuses what it should is tests/faults/test_slurm_words.py.
"""

from __future__ import annotations

import base64
import io
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.reading.load import load
from slinky_iac.errors import KubeForbidden, ProjectError
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.ask_trials import ask_trials
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import DaemonTrial, TrialFacts
from slinky_iac.preflight.trial import LIFE_S, MOST, packed, trial_of, trial_pod
from slinky_iac.specs.trial import script, trial_files, trials
from tests.stacks import form, minimal
from tests.unit.preflight import test_ask_pods, test_cli
from tests.unit.preflight.made import FACTS, NOW, stack

INSIDE = form("all-in-kubernetes")
TAKEN = "release slurmctld slurm 26.05.5\nverdict slurmctld taken\n"
REFUSED = "release slurmctld slurm 26.05.5\nverdict slurmctld refused\nsaid slurmctld fatal: no such thing\n"


def of(**sections: Any) -> str:
    return trial_files(load(minimal(**sections)))["slurm.conf"]


def test_slurm_conf_has_what_the_operator_writes_and_all_that_the_stack_adds() -> None:
    extra = {"SlurmctldParameters": "enable_stepmgr", "PrologFlags": "Contain"}
    controller = {"extraConf": extra, "prolog": {"p.sh": "#!/bin/sh\n"}, "configFiles": {"cgroup.conf": "x\n"}}
    nodesets = {"gpu": {"replicas": 1, "gres": ["gpu:1"], "partition": {"config": {"MaxTime": "60"}}}}
    config = load(minimal(operator={"version": "1.2.1"}, controller=controller, nodesets=nodesets))
    files = trial_files(config)
    lines = files["slurm.conf"].splitlines()
    assert {"NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu MaxTime=60", "Prolog=p.sh", "GresTypes=gpu"} <= {*lines}
    assert lines[-1] == "SlurmctldParameters=enable_configless,enable_stepmgr,reconfig_on_restart"
    assert "AccountingStorageType=accounting_storage/none" in lines
    assert files["cgroup.conf"] == "x\n"
    assert "slurmdbd.conf" not in files


def test_up_to_1_1_the_operators_own_lines_are_there_and_the_users_come_last() -> None:
    text = of(operator={"version": "1.1.2"}, controller={"extraConf": {"PrologFlags": "Alloc"}})
    assert text.index("PrologFlags=Contain") < text.index("PrologFlags=Alloc")
    assert "PrologFlags=Contain" not in of(operator={"version": "1.2.1"})


def test_slurmdbd_is_tried_where_it_is_in_kubernetes() -> None:
    assert [each.daemon for each in trials(INSIDE)] == ["slurmctld", "slurmdbd"]
    assert [each.daemon for each in trials(form("slurmdbd-outside"))] == ["slurmctld"]
    assert trials(form("all-outside")) == ()
    assert "StorageType=accounting_storage/mysql" in trial_files(INSIDE)["slurmdbd.conf"]


@pytest.mark.parametrize("each", trials(INSIDE), ids=lambda each: each.daemon)
def test_the_pod_has_nothing_of_the_cluster_and_reaches_nothing(each: Any) -> None:
    spec = trial_pod(INSIDE, each, "slinky-trial-1")["spec"]
    assert list(kubernetes_types.faults("PodSpec", spec)) == []
    assert spec["automountServiceAccountToken"] is False
    assert {tuple(volume) for volume in spec["volumes"]} == {("name", "emptyDir")}
    assert (spec["dnsPolicy"], spec["dnsConfig"]) == ("None", {"nameservers": ["127.0.0.1"]})
    assert spec["activeDeadlineSeconds"] == LIFE_S
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "runAsUser": 401,
        "runAsGroup": 401,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_files_travel_as_they_are_and_too_many_are_refused() -> None:
    files = {"slurm.conf": "A=1\n", "job_submit.lua": "-- \u00e4\n"}
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed(files)))) as archive:
        found = {member.name: archive.extractfile(member) for member in archive}
        assert {name: file.read().decode() for name, file in found.items() if file is not None} == files
    noise = base64.b64encode(bytes(at * 7919 % 251 for at in range(MOST * 2)) + str(range(9)).encode()).decode()
    scattered = "".join(noise[at * 7 % len(noise)] + str(at) for at in range(MOST))
    with pytest.raises(ValueError, match="a pod's environment holds"):
        packed({"slurm.conf": scattered})


@pytest.mark.parametrize(
    ("message", "seen"),
    [
        (TAKEN, DaemonTrial("slurmctld", "taken", "slurm 26.05.5")),
        (REFUSED, DaemonTrial("slurmctld", "refused", "slurm 26.05.5", ("fatal: no such thing",))),
        ("left slurm.conf QOS\n", DaemonTrial("slurmctld", "silent", left=("QOS",))),
        ("verdict slurmctld perhaps\nverdict slurmdbd taken\n", DaemonTrial("slurmctld", "silent")),
        ("", DaemonTrial("slurmctld", "silent")),
    ],
)
def test_what_a_pod_wrote_is_read_and_no_verdict_is_made_up(message: str, seen: DaemonTrial) -> None:
    assert trial_of(message, "slurmctld") == seen


def judged(config: Any, trial: TrialFacts | None) -> list[Check]:
    return [each for each in checks(config, replace(FACTS, trial=trial)) if each.name == "trial"]


def test_slurmctlds_own_sentence_is_the_verdict() -> None:
    (check,) = judged(INSIDE, TrialFacts((trial_of(REFUSED, "slurmctld"),)))
    assert check.verdict is Verdict.PROBLEM
    assert "fatal: no such thing" in check.got
    assert "controller" in check.change
    (check,) = judged(INSIDE, TrialFacts((trial_of(TAKEN + "left slurm.conf QOS\n", "slurmctld"),)))
    assert check.verdict is Verdict.FINE
    assert "not tried: QOS" in check.got
    (check,) = judged(INSIDE, TrialFacts((trial_of("", "slurmctld"),)))
    assert check.verdict is Verdict.UNKNOWN
    (check,) = judged(INSIDE, TrialFacts(trouble="forbidden"))
    assert (check.verdict, "forbidden" in check.got) == (Verdict.UNKNOWN, True)
    assert judged(INSIDE, None) == []


def test_an_outside_slurmctld_is_tried_on_its_host() -> None:
    (check,) = judged(stack(), TrialFacts())
    assert check.verdict is Verdict.UNKNOWN
    assert "try.sh" in check.change


def ask(kube: test_ask_pods.FakeKube) -> TrialFacts:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    return ask_trials(kube, INSIDE, clock=Clock(wall=lambda: NOW, monotonic=lambda: now[0], sleep=sleep), wait_s=5)


def test_both_pods_are_read_and_deleted() -> None:
    words = TAKEN + TAKEN.replace("slurmctld", "slurmdbd")
    kube = test_ask_pods.FakeKube(phases=[test_ask_pods.pod("Running"), test_ask_pods.pod("Succeeded", words)])
    seen = ask(kube)
    assert [(each.daemon, each.verdict) for each in seen.daemons] == [("slurmctld", "taken"), ("slurmdbd", "taken")]
    assert (len(kube.deleted), kube.there) == (2, {})


def test_a_pod_that_never_runs_is_unknown_with_kubernetes_words() -> None:
    kube = test_ask_pods.FakeKube(phases=[test_ask_pods.pod("Pending", trouble="0/3 nodes are available")])
    seen = ask(kube)
    assert {(each.verdict, each.said) for each in seen.daemons} == {("silent", ("0/3 nodes are available",))}
    assert kube.there == {}


def test_a_pod_that_may_not_be_made_is_said() -> None:
    kube = test_ask_pods.FakeKube(on_make=test_ask_pods.raising(KubeForbidden("pods is forbidden")))
    assert ask(kube).trouble == "pods is forbidden"
    assert kube.there == {}


def test_the_command_asks_for_it_only_where_it_is_told_to() -> None:
    seen: list[Any] = []
    test_cli.run("--try", seen=seen)
    test_cli.run(seen=seen)
    assert [scope.trial for _, scope, _ in seen] == [True, False]
    for other in ("--no-pod", "--from-here-only"):
        with pytest.raises(ProjectError, match="--try makes a short-lived pod"):
            test_cli.run("--try", other)


def tried(folder: Path, daemon: str, program: str) -> list[str]:
    """What the script says with a stand-in for the daemon."""
    bash = shutil.which("bash")
    assert bash
    (folder / "bin").mkdir()
    (folder / "bin" / daemon).write_text(f"#!{bash}\n{program}\n")
    (folder / "bin" / daemon).chmod(0o755)
    (folder / "bin" / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "bin" / "id").chmod(0o755)
    text = f"PATH={folder}/bin:$PATH\n{script()}\ntrial {folder}/etc {daemon}"
    done = subprocess.run([bash, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


CONF = """\
ClusterName=c
SlurmUser=slurm
SlurmctldHost=ctl.example.org(192.0.2.1)
include more.conf
SlurmctldPrimaryOnProg=/sbin/take-over
AccountingStorageType = accounting_storage/slurmdbd
AccountingStorageHost=dbd
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
PartitionName=all Nodes=ALL QOS=high \\
  AllowQos="a,b" MaxTime=60
"""
MORE = "StateSaveLocation=/var/spool/slurmctld\nNodeName=metal-1 NodeAddr=192.0.2.7 Port=6818 CPUs=2\n"


def test_nothing_of_the_living_cluster_stays_in_the_file_that_is_tried(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "slurm.conf").write_text(CONF)
    (etc / "more.conf").write_text(MORE)
    (etc / "slurm.key").write_bytes(b"the cluster's own")
    said = tried(
        tmp_path, "slurmctld", '[ "$1" = -V ] && echo slurm 26.05.5 || { echo "Running as primary controller"; sleep 9; }'
    )
    assert said == [
        "left slurm.conf SlurmctldPrimaryOnProg",
        "left slurm.conf QOS",
        "left slurm.conf AllowQos",
        "release slurmctld slurm 26.05.5",
        "verdict slurmctld taken",
    ]
    text = (etc / "slurm.conf").read_text()
    for living in ("192.0.2", "ctl.example.org", "/var/spool", "dbd", "take-over", "high", "/etc/slurm/", "include"):
        assert living not in text
    assert "NodeName=metal-1 CPUs=2" in text
    assert "PartitionName=all Nodes=ALL MaxTime=60" in " ".join(text.split())
    assert (etc / "slurm.key").read_bytes() != b"the cluster's own"
    made = {path.name for path in etc.iterdir()}
    assert made == {"slurm.conf", "more.conf", "slurm.key", "jwt.key", "state"}, "root writes nothing else where slurm may"


@pytest.mark.parametrize(
    ("program", "verdict", "words"),
    [
        (
            'echo "[2026-11-25T18:00:00.000] fatal: Unable to process configuration file"; exit 1',
            "refused",
            "fatal: Unable to",
        ),
        ('echo "Running as primary controller"; echo "fatal: no mcs plugin"; exit 1', "refused", "fatal: no mcs plugin"),
        ("exit 1", "refused", "it printed nothing"),
        ('echo "fatal: _open_ports: Unable to listen"; exit 1', "silent", "_open_ports"),
    ],
)
def test_a_daemon_that_ends_has_refused(tmp_path: Path, program: str, verdict: str, words: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/slurm.conf").write_text("ClusterName=c\nSlurmUser=slurm\n")
    said = tried(tmp_path, "slurmctld", f'[ "$1" = -V ] || {{ {program}; }}')
    assert f"verdict slurmctld {verdict}" in said
    assert any(words in line for line in said if line.startswith("said slurmctld "))
