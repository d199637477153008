"""`slinky adopt` on a release of Slinky's chart that helm has installed: all daemons, a login set and worker pods with jobs.
The stack takes it over and no pod restarts, also where each step is killed; from then on a scale-in waits for jobs. Then the
release goes back to helm."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from lab import charts, tools
from lab.stacks import Stack
from slinky_iac.config.chart.translation import merged
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import started
from tests.e2e.world import World, gate_plan, steps
from tests.faults.charted import RELEASE, SPACE, WORKERS, Charted, installed

BUSY = WORKERS[:2]
FORCE = {tools.HELM_3: "--force", tools.HELM_4: "--force-conflicts"}
"""What lets `helm upgrade` write what a stack has written last."""
ONE_WORKER = {"nodesets": {"solo": {"replicas": 1}}}
"""What is left when it goes back."""
KILLED_AFTER = (" imported", " updated")
"""What `pulumi up` says of a step, after which it is killed."""


@dataclass
class Taken:
    """A release, the stack that takes it over, and the jobs of its users."""

    charted: Charted
    helm: str
    """Its version."""
    stack: Stack
    jobs: dict[str, str]
    """By node."""
    pods: dict[str, str] = field(default_factory=dict)
    """As they were before."""

    def jobs_run(self, *nodes: str) -> bool:
        """Whether the jobs of these nodes run there, and were never begun again."""
        told = {node: self.charted.job(self.jobs[node]) for node in nodes}
        found = {(node, job["JobState"], job["Restarts"], job["NodeList"]) for node, job in told.items()}
        return found == {(node, "RUNNING", "0", node) for node in nodes}

    def killed(self, run: subprocess.Popen[str], word: str) -> None:
        """Kill a command, with SIGKILL, once it has said this."""
        assert run.stdout is not None
        said = []
        for line in run.stdout:
            said.append(line)
            if word in line:
                break
        else:
            raise AssertionError(f"{word!r} wasn't said: {''.join(said)[-4000:]}")
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        self.charted.said += said


@pytest.fixture(scope="module", params=[tools.HELM_3, tools.HELM_4])
def taken(
    request: pytest.FixtureRequest, ground: None, world: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Taken]:
    """Jobs run on two of the three workers when it begins."""
    with installed(world, request.param, tmp_path_factory.mktemp("charted")) as charted:
        jobs = {node: charted.submit(node) for node in BUSY}
        found = Taken(charted, request.param, world.named("adopted"), jobs, charted.pods())
        await_true("the jobs run", lambda: found.jobs_run(*BUSY), 60)
        yield found


@contextmanager
def session(charted: Charted) -> Iterator[subprocess.Popen[str]]:
    """An srun in the login pod, with a step on the third worker."""
    script = "trap 'exit 0' USR1; sleep infinity & wait"
    argv = ["kubectl", "exec", "-n", SPACE, charted.login(), "-c", "login", "--"]
    argv += ["srun", "-p", "solo", "-w", WORKERS[2], "-t", "60", "--job-name=session", "sh", "-c", script]
    with subprocess.Popen(argv, env=charted.world.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as srun:
        try:
            await_true("srun has its step", lambda: srun.poll() is not None or number(charted), 60)
            assert srun.poll() is None, srun.stdout and srun.stdout.read()
            yield srun
        finally:
            srun.kill()


def number(charted: Charted) -> str:
    """The session's job, once it runs."""
    return charted.slurm("squeue", "-h", "-n", "session", "-t", "R", "-o", "%A").strip()


def test_a_release_with_jobs_is_taken_over_and_no_pod_restarts(taken: Taken, tmp_path: Path) -> None:
    charted, stack = taken.charted, taken.stack
    keys = charted.secrets()
    file = tmp_path / "Pulumi.adopted.yaml"
    with session(charted) as srun:
        told = charted.adopt("--namespace", SPACE, "--release", RELEASE, "--out", str(file))
        assert told.returncode == 0, told.stdout + told.stderr
        stack.init(file, charts.chart_dir(), {})
        refused = stack.pulumi("preview", check=False)
        assert refused.returncode != 0
        assert "--let-go" in refused.stdout + refused.stderr, "Helm has it still"

        words = ("adopt", "--let-go", str(stack.config_file))
        taken.killed(charted.operator.started(*words, PYTHONUNBUFFERED="1"), "claims of Helm")
        assert charted.releases() == [RELEASE], "helm has it until the last step"
        let_go = charted.adopt(*words[1:])
        assert let_go.returncode == 0, let_go.stdout + let_go.stderr
        assert charted.releases() == []
        planned = {operation for operation, _ in steps(stack.pulumi("preview", "--json"))}
        assert planned <= {"create", "import", "update"}, planned

        for word in KILLED_AFTER:
            taken.killed(started(stack, "up", "--skip-preview", group=True), word)
            assert charted.pods() == taken.pods
            stack.unlock()
        planned = {operation for operation, _ in steps(stack.pulumi("preview", "--json"))}
        assert planned <= {"create", "import", "update", "refresh"}, planned
        stack.up()
        assert charted.pods() == taken.pods
        assert taken.jobs_run(*BUSY)
        assert charted.secrets().items() >= keys.items(), "keys and passwords are as they were"
        assert steps(stack.pulumi("preview", "--json")) == []
        again = charted.adopt(*words[1:])
        assert again.returncode == 0, again.stdout + again.stderr
        assert srun.poll() is None
        charted.slurm("scancel", "--signal=USR1", number(charted))
        assert srun.wait(60) == 0, "the session lived through it"


def test_helm_can_do_nothing_to_it(taken: Taken) -> None:
    charted = taken.charted
    for words in (("uninstall", RELEASE), ("rollback", RELEASE, "1")):
        gone = charted.helm(*words, check=False)
        assert gone.returncode != 0
        assert "not found" in gone.stderr, gone.stderr
    for command in (("upgrade",), ("install",), ("upgrade", "--install")):
        refused = charted.install(*command, check=False)
        assert refused.returncode != 0, refused.stdout
        charted.said.append(refused.stderr)
    assert charted.pods() == taken.pods
    assert steps(taken.stack.pulumi("preview", "--json")) == []


def test_the_next_scale_in_waits_for_jobs(taken: Taken) -> None:
    charted, stack = taken.charted, taken.stack
    document = yaml.safe_load(stack.config_file.read_text())
    document["config"]["slinky-iac:nodesets"]["solo"]["replicas"] = 1
    stack.config_file.write_text(yaml.safe_dump(document))
    gone = {node["node"] for node in gate_plan(stack.pulumi("preview", "--json"))["nodes"]}
    (busy,) = gone & {*BUSY}
    (kept,) = {*WORKERS} - gone
    run = started(stack, "up", "--skip-preview")
    drained = "slinky-iac:adopted/solo"
    await_true(f"{busy} is drained", lambda: drained in charted.slurm("scontrol", "-o", "show", "node", busy), 120)
    assert run.poll() is None, "it waits for the job"
    assert taken.jobs_run(*BUSY)
    charted.finish(taken.jobs[busy])
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    assert taken.jobs_run(kept)
    assert charted.accounted(taken.jobs[busy]) == {taken.jobs[busy]: f"COMPLETED|{busy}|0:0"}
    assert charted.pods() == {name: uid for name, uid in taken.pods.items() if not name.endswith((*gone,))}


def test_the_way_back_restarts_no_pod(taken: Taken) -> None:
    """docs/chart.md, word by word. A plain `helm upgrade` would be refused (4), or leave what the stack has changed (3)."""
    charted, stack = taken.charted, taken.stack
    pods, keys = charted.pods(), charted.secrets()
    (busy,) = [node for node in BUSY if f"{RELEASE}-worker-{node}" in pods]
    stack.pulumi("stack", "rm", "--force", "--preserve-config", "--yes")
    assert stack.config_file.exists()
    fence = f".{SPACE}.{RELEASE}"
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        for name in charted.kubectl("get", kind, "-o", "name").split():
            if name.endswith(fence):
                charted.kubectl("delete", name)
    given_back(charted)
    assert charted.releases() == [RELEASE]
    charted.values.write_text(yaml.safe_dump(merged(yaml.safe_load(charted.values.read_text()), ONE_WORKER)))
    charted.install("upgrade", FORCE[taken.helm])
    nodeset = charted.object("nodeset", f"{RELEASE}-worker-solo")
    if "nodesetDefaults" in (charted.chart / "values.yaml").read_text():  # the chart of 1.0 sets none by these values
        assert nodeset["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    assert nodeset["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    await_true("the operator has seen all of it", charted.is_settled, 60)
    assert charted.pods() == pods
    assert taken.jobs_run(busy)
    assert charted.secrets() == keys


def test_it_is_taken_over_again_and_destroyed_and_helm_has_it_with_the_same_keys(taken: Taken, tmp_path: Path) -> None:
    charted, stack = taken.charted, taken.stack
    pods, keys = charted.pods(), charted.secrets()
    file = tmp_path / "Pulumi.adopted.yaml"
    words = ("--namespace", SPACE, "--release", RELEASE, "--out")
    other = charted.adopt(*words, str(tmp_path / "other.yaml"))
    assert (other.returncode, "another Pulumi program writes" in other.stdout) == (3, True), other.stdout
    assert "--stopped pulumi" in " ".join(other.stdout.split())
    again = charted.adopt("--stopped", "pulumi", *words, str(file))
    assert again.returncode == 0, again.stdout + again.stderr
    stack.init(file, charts.chart_dir(), {})
    let_go = charted.adopt("--stopped", "pulumi", "--let-go", str(stack.config_file))
    assert let_go.returncode == 0, let_go.stdout + let_go.stderr
    stack.up()
    assert charted.pods() == pods

    charted.cancel_all()
    stack.destroy("--exclude-protected")
    await_true("all pods are gone", lambda: charted.pods() == {}, 120)
    refused = charted.install("install", check=False)
    assert "already exists" in refused.stderr, "helm's records stay"
    given_back(charted)
    charted.install("upgrade")
    await_true("the pods are there", lambda: len(charted.pods()) == len(pods), 120)
    after = charted.secrets()
    assert {name: after[name][1] for name in keys if "host-keys" not in name} == {
        name: held for name, (_, held) in keys.items() if "host-keys" not in name
    }


def given_back(charted: Charted) -> None:
    """Let helm find the release again."""
    charted.kubectl("label", "secret", "-l", f"owner=slinky-iac,name={RELEASE}", "owner=helm", "--overwrite")
