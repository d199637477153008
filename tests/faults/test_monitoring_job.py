"""The CronJob of `monitoring.status` on the lab: a pod looks by a document of the stack, with the least rights and no state;
node_exporter reads what it writes, Prometheus scrapes that, and alerts fire and clear by it alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lab import apt, images, paths
from lab import slurm as outside
from lab.kubernetes import machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import program
from slinky_iac import names
from slinky_iac.commands.rights.table import rights
from slinky_iac.parts.monitoring.objects import FILE
from slinky_iac.specs.rights import Use
from tests.e2e import accounts
from tests.e2e.gated import NAMESPACE, NODES, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.prepare import PROMETHEUS
from tests.faults.prometheus import Prometheus
from tests.wheel import build

STANDS_ON = "gated"
ACCOUNT = "slinky-status"
CRONJOB = "slurm-status"
DRAIN = {"deadline": "15s"}
PORT = 9100
ROUNDS = count()
OF_THE_STATE = {"slinky_last_update_time_seconds", "slinky_last_update_succeeded"}
"""What only the stack's state and its history have."""


@dataclass(frozen=True)
class Eyes:
    """The stack with its CronJob, and what reads the file."""

    gated: Gated
    prometheus: Prometheus
    folder: Path

    @property
    def text(self) -> str:
        """What the last pod has written."""
        return (self.folder / FILE).read_text()

    def look(self) -> dict[str, Any]:
        """Run the CronJob's pod now; returns the pod."""
        name = f"status-by-hand-{next(ROUNDS)}"
        kubectl = self.gated.world.kubectl
        kubectl("create", "job", "-n", NAMESPACE, name, f"--from=cronjob/{CRONJOB}")
        ended = kubectl("wait", "-n", NAMESPACE, "--for=condition=Complete", "--timeout=90s", f"job/{name}", check=False)
        said = kubectl("logs", "-n", NAMESPACE, f"job/{name}", check=False)
        assert ended.returncode == 0, ended.stderr + said.stdout + said.stderr
        (pod,) = [each for each in self.gated.world.objects("pods", NAMESPACE)
                  if each["metadata"]["labels"].get("job-name") == name]  # fmt: skip
        kubectl("delete", "job", "-n", NAMESPACE, name, "--wait=false")
        return dict(pod)

    def await_alert(self, name: str, *, fires: bool) -> None:
        """Until the alert is as wanted, by pods' looks alone."""

        def so() -> bool:
            self.look()
            return (name in self.prometheus.firing()) is fires

        await_true(f"{name} {'fires' if fires else 'clears'}", so, 150, every=1)


def settings(folder: Path, node: str) -> dict[str, object]:
    own = {
        "image": program.NAME,
        "serviceAccount": ACCOUNT,
        "folder": str(folder),
        "schedule": "* * * * *",
        "nodeSelector": {"kubernetes.io/hostname": node},
    }
    return {"status": own}


@pytest.fixture(scope="module")
def eyes(gated: Gated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eyes]:
    apt.ensure(PROMETHEUS)
    tmp = tmp_path_factory.mktemp("eyes")
    node = KUBERNETES.nodes[-1]
    images.import_into(KUBERNETES.home.socket(node), program.image(build(tmp / "dist")))
    folder = paths.STATE / "textfile"
    folder.mkdir(mode=0o755)
    serve = ["setpriv", "--pdeathsig", "KILL", "prometheus-node-exporter",
             "--collector.disable-defaults", "--collector.textfile",
             f"--collector.textfile.directory={folder}", f"--web.listen-address={node.address}:{PORT}"]  # fmt: skip
    with (tmp / "node_exporter.log").open("w") as log:
        exporter = subprocess.Popen(machine.entered(KUBERNETES.home, node, serve), stdout=log, stderr=log)
    prometheus = Prometheus(tmp, exporter=f"{node.address}:{PORT}")
    prometheus.start()
    try:
        gated.reset(DRAIN)
        gated.up(3, DRAIN, monitoring=settings(folder, node.name))
        kubectl = gated.world.kubectl
        kubectl("create", "serviceaccount", "-n", NAMESPACE, ACCOUNT)
        kubectl("apply", "--server-side", "-f", "-", stdin=gated.cli("rights", "--for", "status").stdout)
        yield Eyes(gated, prometheus, folder)
        gated.up(3, DRAIN)
        left = [gated.world.kubectl("get", kind, "-n", NAMESPACE, name, check=False).returncode for kind, name in MADE]
        assert left == [1, 1], "the stack takes both away"
    finally:
        prometheus.stop()
        exporter.terminate()
        exporter.wait(20)
        gated.world.kubectl("delete", "serviceaccount", "-n", NAMESPACE, ACCOUNT, check=False)
        shutil.rmtree(folder)


MADE = (("cronjob", CRONJOB), ("configmap", "slurm-watched"))


def numbers(text: str) -> dict[str, str]:
    """Each series with its value."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def without_the_state(series: set[str]) -> set[str]:
    """Series that a look without the state has: not the last update, and `matches` of the key that signs only."""
    unread = re.compile(r'slinky_key_matches{key="slurm\.key"')
    return {each for each in series if each.partition("{")[0] not in OF_THE_STATE and not unread.match(each)}


def may_read(gated: Gated, secret: str) -> bool:
    """Whether the pod's account may read a Secret."""
    account = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    asked = gated.world.kubectl("auth", "can-i", "get", f"secret/{secret}", "-n", NAMESPACE, "--as", account, check=False)
    return asked.stdout.strip() == "yes"


def at_desk(own: dict[str, str]) -> dict[str, str]:
    """Without the endpoint that pods know by its name, and the lab's machine doesn't."""
    return {each: own[each] for each in own if 'endpoint="slurmrestd for users"' not in each}


def test_kubernetes_starts_it_and_prometheus_has_all_that_a_person_sees(eyes: Eyes) -> None:
    await_true("the schedule's own pod has written", (eyes.folder / FILE).exists, 150)
    pod = eyes.look()
    assert numbers(eyes.text)['slinky_endpoint_up{endpoint="slurmrestd for users",stack="gated"}'] == "1"
    own, person = at_desk(numbers(eyes.text)), at_desk(numbers(eyes.gated.cli("status", "--prometheus").stdout))
    assert own.keys() == without_the_state(set(person))
    changing = re.compile("slinky_(status_time|endpoint_latency|key_age)_seconds")
    assert {each: own[each] for each in own if not changing.match(each)} == {
        each: person[each] for each in own if not changing.match(each)
    }
    assert own['slinky_status_unknown{stack="gated"}'] == "0"
    may = [may_read(eyes.gated, f"slurm-auth-{each}") for each in ("jwths256", "slurm")]
    assert may == [True, False], "the key that signs, and no other"
    (container,) = pod["spec"]["containers"]
    assert [each["name"] for each in container["env"]] == ["HOME", "POD"]
    found = [each["name"] for each in pod["spec"]["volumes"] if "secret" in each]
    assert found == []
    asked_for = eyes.prometheus.ask
    await_true(
        "Prometheus has it by node_exporter", lambda: asked_for("query", query="slinky_nodeset_registered")["result"], 30
    )
    await_true("there is a status", lambda: not {"SlinkyStatusAbsent", "SlinkyStatusAway"} & eyes.prometheus.firing(), 30)


def test_a_drain_past_its_deadline_fires_and_clears_by_pods_alone(eyes: Eyes, slurm: Slurm) -> None:
    reason = names.drain_reason(eyes.gated.stack.name, "gpu", "scale-in 3->2")
    slurm.admin("scontrol", "update", f"nodename={NODES[0]}", "state=drain", f"reason={reason}")
    try:
        eyes.await_alert("SlinkyDrainPastDeadline", fires=True)
    finally:
        slurm.admin("scontrol", "update", f"nodename={NODES[0]}", "state=undrain")
    eyes.await_alert("SlinkyDrainPastDeadline", fires=False)


def test_a_slurmctld_that_hangs_leaves_no_old_number_behind(eyes: Eyes) -> None:
    eyes.look()
    assert "slinky_nodeset_registered" in eyes.text
    outside.pause("ctl", "slurmctld")
    try:
        eyes.look()
        own = numbers(eyes.text)
        assert own['slinky_endpoint_up{endpoint="slurmctld",stack="gated"}'] == "0"
        assert int(own['slinky_status_unknown{stack="gated"}']) > 0
        assert not [each for each in own if each.startswith(("slinky_nodeset_registered", "slinky_drain_"))
                    and "deadline" not in each]  # fmt: skip
    finally:
        outside.resume("ctl", "slurmctld")
    eyes.look()
    assert "slinky_nodeset_registered" in eyes.text


def test_anyone_with_the_document_and_an_account_sees_the_screen_without_pulumi(eyes: Eyes, tmp_path: Path) -> None:
    kept = eyes.gated.world.kubectl("get", "configmap", "-n", NAMESPACE, "slurm-watched", "-o", "json")
    file = tmp_path / names.WATCHED_FILE
    file.write_text(json.loads(kept.stdout)["data"][names.WATCHED_FILE])
    granted = accounts.Accounts(eyes.gated.world.kubectl).grant(eyes.gated.stack, Use.STATUS)
    begun = accounts.log_size()
    shown = eyes.gated.stack.program("status", "--from", str(file), KUBECONFIG=granted, PATH="/usr/bin:/bin")
    assert "Kubernetes API        up" in shown.stdout, shown.stdout
    assert "its Secret isn't read here" in shown.stdout
    asked = accounts.events(begun, f"{eyes.gated.stack.name}-{Use.STATUS}")
    assert accounts.refused(asked) == set(), "`rights --for status` prints all that it needs"
    wanted = accounts.of_table(rights(accounts.settings_of(eyes.gated.stack), Use.STATUS))
    assert accounts.used(asked) == wanted, "and no more"
