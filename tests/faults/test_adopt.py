"""`slinky adopt` on a release of Slinky's chart that runs: slurmctld, slurmrestd and worker pods with jobs. The stack takes
it over and no pod restarts; from then on a scale-in waits for jobs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import charts, paths
from lab.slurm import conf
from lab.stacks import Stack
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import hybrid, started
from tests.e2e.world import World, dev_settings, gate_plan, ready, steps

SPACE, RELEASE = "charted", "charted-slurm"
WORKERS = ("solo-0", "solo-1")
IMAGE = {"image": {"repository": "slinky-lab/slurm", "tag": "26.05"}}
SIDECAR = {"image": {"repository": "slinky-lab/busybox", "tag": "1"}}
POD = {"terminationGracePeriodSeconds": 2}
VALUES: dict[str, Any] = {
    "clusterName": SPACE,
    "imagePullPolicy": "Never",
    "configFiles": {"cgroup.conf": conf.cgroup_conf()},
    "controller": {
        "slurmctld": IMAGE,
        "reconfigure": IMAGE,
        "logfile": SIDECAR,
        "persistence": {"enabled": False},
        "extraConfMap": {"ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none"},
        "podSpec": POD,
    },
    "restapi": {"slurmrestd": IMAGE, "podSpec": POD},
    "nodesets": {
        "slinky": {"enabled": False},
        "solo": {
            "enabled": True,
            "replicas": 2,
            "slurmd": IMAGE,
            "logfile": SIDECAR,
            "podSpec": POD,
            "partition": {"enabled": True},
        },
    },
    "loginsets": {"slinky": {"enabled": False}},
}
PROGRAM = f"""
from pulumi_kubernetes.helm.v3 import Release

Release({RELEASE!r}, name={RELEASE!r}, namespace={SPACE!r}, create_namespace=True, chart="chart", values={VALUES!r})
"""
VENDOR = '{{- define "vendor.dcgm.enabled" -}}{{- end }}'
"""What the chart's templates/vendor says where it is switched off: Go leaves folders of that name out of a module."""


@dataclass
class Charted:
    """The release."""

    world: World
    operator: Stack
    """The stack that has slurm-operator; its folder has the program."""

    def kubectl(self, *words: str) -> str:
        return self.world.kubectl("-n", SPACE, *words).stdout

    def slurm(self, *argv: str) -> str:
        """A command beside slurmctld."""
        return self.kubectl("exec", f"{RELEASE}-controller-0", "-c", "slurmctld", "--", *argv)

    def job(self, number: str) -> str:
        """State of a job, how often it was begun again, and where it is."""
        shown = self.slurm("scontrol", "-o", "show", "job", number)
        return " ".join(re.findall(r"\b(?:JobState|Restarts|NodeList)=\S+", shown))

    def pods(self) -> dict[str, str]:
        """UID of each pod by name."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.world.objects("pods", SPACE)}

    def adopt(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`slinky adopt`, as its user runs it."""
        return self.operator.program("adopt", *words)


@pytest.fixture(scope="module")
def charted(ground: None, world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Charted]:
    """The operator is another stack's; the release is Helm's."""
    operator = world.stack("side-a", dev_settings(hybrid))
    operator.up()
    helm = tmp_path_factory.mktemp("helm")
    chart = shutil.copytree(charts.chart_dir() / "slurm", helm / "chart")
    if not (chart / "templates" / "vendor").is_dir():
        (chart / "templates" / "_off.tpl").write_text(VENDOR)
    (helm / "Pulumi.yaml").write_text((paths.REPO / "Pulumi.yaml").read_text())
    (helm / "venv").symlink_to(paths.REPO / "venv")
    (helm / "__main__.py").write_text(PROGRAM)
    by_helm = Stack("helm", helm, world.env)
    by_helm.pulumi("stack", "select", "--create", "helm")
    by_helm.up()
    found = Charted(world, operator)
    names = {f"{RELEASE}-worker-{name}" for name in WORKERS}
    await_true(
        "the workers are ready",
        lambda: {pod["metadata"]["name"] for pod in world.objects("pods", SPACE) if ready(pod)} >= names,
        180,
    )
    await_true(
        "slurmctld has them", lambda: found.slurm("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split() == [*WORKERS], 90
    )
    yield found
    for job in found.slurm("squeue", "-h", "-o", "%A").split():
        found.slurm("scancel", job)
    by_helm.pulumi("stack", "rm", "--force", "--yes")
    world.vacate()
    world.kubectl("delete", "namespace", SPACE, check=False)


def test_a_release_with_jobs_is_taken_over_and_no_pod_restarts(charted: Charted, tmp_path: Path) -> None:
    jobs = {
        node: charted.slurm(
            "sbatch", "--parsable", "-p", "solo", "-w", node, "-D/tmp", "-o/dev/null", "-t20", f"--wrap={HELD}"
        ).strip()
        for node in WORKERS
    }
    running = {node: f"JobState=RUNNING Restarts=0 NodeList={node}" for node in WORKERS}
    await_true("the jobs run", lambda: {node: charted.job(job) for node, job in jobs.items()} == running, 60)
    before = charted.pods()

    file = tmp_path / "Pulumi.adopted.yaml"
    stack = charted.world.named("adopted")
    told = charted.adopt("--namespace", SPACE, "--release", RELEASE, "--out", str(file))
    assert told.returncode == 0, told.stdout + told.stderr
    stack.init(file, charts.chart_dir(), {})
    refused = stack.pulumi("preview", check=False)
    assert refused.returncode != 0
    assert "--let-go" in refused.stdout + refused.stderr, "Helm has it still"
    let_go = charted.adopt("--let-go", str(stack.config_file))
    assert let_go.returncode == 0, let_go.stdout + let_go.stderr
    planned = {operation for operation, _ in steps(stack.pulumi("preview", "--json"))}
    assert planned <= {"create", "import", "update"}, planned
    stack.up()
    assert charted.pods() == before
    assert {node: charted.job(job) for node, job in jobs.items()} == running
    assert steps(stack.pulumi("preview", "--json")) == []

    document = yaml.safe_load(stack.config_file.read_text())
    document["config"]["slinky-iac:nodesets"]["solo"]["replicas"] = 1
    stack.config_file.write_text(yaml.safe_dump(document))
    (gone,) = {node["node"] for node in gate_plan(stack.pulumi("preview", "--json"))["nodes"]}
    run = started(stack, "up", "--skip-preview")
    await_true(
        f"{gone} is drained by the gate",
        lambda: "slinky-iac:adopted/solo" in charted.slurm("scontrol", "-o", "show", "node", gone),
        120,
    )
    assert run.poll() is None, "it waits for the job"
    assert charted.job(jobs[gone]) == running[gone]
    charted.slurm("scancel", "--batch", "--signal=USR1", jobs[gone])
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    (kept,) = set(WORKERS) - {gone}
    assert charted.job(jobs[kept]) == running[kept]
    assert charted.pods() == {name: uid for name, uid in before.items() if not name.endswith(gone)}
