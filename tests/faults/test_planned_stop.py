"""Keys of a cluster that is wholly in Kubernetes change in a planned stop, exactly as the plan prints it, and by `--stop`.

Watched each time: jobs that run are waited for, the queue is there afterwards, the old key is refused, and nothing of it is
left. The first stack has generated keys, a login set, and slurmctld's queue in a volume; the second has imported keys.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab import paths
from lab.stacks import Stack
from slinky_iac.errors import SlurmrestAuthError
from slinky_iac.keys.raw import fingerprint
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import KubeProxy
from tests.e2e import by_hand
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, exec_in, inside
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.inside_parts import await_login, bring_login, queue_volume
from tests.faults.slurm_jobs import SlurmJobs
from tests.integration import leaks

PLACES = {"slurm": ("inside-auth-slurm", "slurm.key"), "jwt": ("inside-auth-jwths256", "jwt_hs256.key")}
TRY = """umask 077; install -d -o slurm -g slurm /run/slurm-try
base64 -d > /run/slurm-try/key; chown slurm /run/slurm-try/key
export SLURM_SACK_KEY=/run/slurm-try/key SLURM_SACK_JWKS=/nonexistent RUNTIME_DIRECTORY=/run/slurm-try
timeout 4 setpriv --reuid=slurm --regid=slurm --clear-groups \\
    /usr/sbin/sackd -D --port 6899 --conf-server inside-controller:6817; rm -r /run/slurm-try"""


def settings(source: str) -> Settings:
    """All in Kubernetes; the operator is this stack's own, and keys are protected, as by default."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:keys"] = {"source": source}

    return dev_settings(edit)


def queue_in_a_volume(found: Settings) -> Settings:
    """slurmctld's state outlives its pod; and a login set."""
    found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
    # The operator's initconf.sh wants getent, or Alpine's addgroup; the lab's busybox has neither.
    found["slinky-iac:cluster"]["images"] |= {"login": IMAGE, "sidecar": IMAGE}
    found["slinky-iac:logins"] = {"main": {"sssdConfFrom": {"secret": "sssd"}, "pod": GRACE}}
    return found


@dataclass
class Stopped(SlurmJobs):
    """A stack, and what its commands said."""

    world: World
    stack: Stack
    said: list[str] = field(default_factory=list)

    def keys(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`slinky keys`."""
        done = self.stack.program("keys", *arguments, timeout=600)
        self.said += [done.stdout, done.stderr]
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, in a process group of its own."""
        return self.stack.started("keys", *arguments)

    def plan(self, which: str) -> dict[str, Any]:
        """`keys rotate --plan`."""
        found: dict[str, Any] = json.loads(self.keys("rotate", which, "--plan", "--json").stdout)["rotation"]
        return found

    def due(self, which: str) -> str | None:
        """Name of the step that is due; None where no stop is under way."""
        plan = self.plan(which)
        return next(step["name"] for step in plan["steps"] if step["state"] == "now") if plan["underWay"] else None

    def key(self, which: str) -> bytes:
        """A key, from its Secret."""
        name, entry = PLACES[which]
        found = json.loads(self.world.kubectl("get", "secret", "-n", INSIDE, name, "-o", "json").stdout)
        return base64.b64decode(found["data"][entry])

    def slurm(self, *argv: str) -> str:
        """A command beside slurmctld."""
        return exec_in(self.world, *argv)

    def pods(self) -> dict[str, str]:
        """UID by name of the cluster's pods."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.world.objects("pods", INSIDE)}

    def submit(self, *options: str) -> str:
        """Submit a batch job; returns its number."""
        return self.slurm("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", *options).strip()

    def joins(self, key: bytes) -> bool:
        """Whether slurmctld gives its configuration to a sackd with this slurm.key."""
        argv = ["exec", "-i", "-n", INSIDE, "inside-worker-solo-0", "-c", "slurmd", "--", "bash", "-c", TRY]
        said = self.world.kubectl(*argv, check=False, stdin=base64.b64encode(key).decode()).stderr
        assert ("Protocol authentication error" in said) != ("running" in said), said
        return "running" in said

    def accepted(self, key: bytes) -> bool:
        """Whether slurmctld takes a token made with this JWT key."""
        source = KubeSource(path=Path(self.world.env["KUBECONFIG"]), context=None)
        with SlurmrestClient(KubeProxy(kubeconfig=source, namespace=INSIDE, service="inside-restapi"), [key]) as client:
            try:
                client.diag(budget_s=60)
            except SlurmrestAuthError:
                return False
        return True

    def left_of(self, key: bytes) -> list[str]:
        """Objects of the namespace that hold this key."""
        wanted = base64.b64encode(key).decode()
        return [
            each["metadata"]["name"]
            for each in self.world.objects("secrets,configmaps", INSIDE)
            if wanted in json.dumps(each)
        ]

    def whole(self) -> None:
        """All daemons take the keys that the stack has, and an update has nothing to do."""
        shown = json.loads(self.keys("show", "--json").stdout)["keys"]
        for which, name in (("slurm", "slurm.key"), ("jwt", "JWT key")):
            held = {row["fingerprint"] for row in shown if row["key"] == name}
            assert held == {fingerprint(self.key(which))}
        self.keys("verify")
        self.stack.pulumi("preview", "--expect-no-changes")


@pytest.fixture(scope="module")
def generated(world: World) -> Iterator[Stopped]:
    world.vacate()
    with queue_volume(world):
        try:
            found = Stopped(world, world.stack("stop-generated", queue_in_a_volume(settings("generated"))))
            found.stack.up()
            bring_login(world)
            yield found
        finally:
            world.vacate()


@pytest.fixture(scope="module")
def imported(world: World) -> Iterator[Stopped]:
    world.vacate()
    try:
        found = Stopped(world, world.stack("stop-imported", settings("imported")))
        found.stack.pulumi("up", "--yes", "--skip-preview")
        yield found
    finally:
        world.vacate()


def test_generated_keys_change_by_the_printed_commands_and_the_queue_stays(generated: Stopped, tmp_path: Path) -> None:
    old, pods = generated.key("slurm"), generated.pods()
    jwt = generated.key("jwt")
    assert generated.slurm("srun", "-t1", "hostname") == "solo-0\n"
    waiting = generated.submit("--hold", "-t1", "--wrap=hostname")
    running = generated.submit("-t1", "--wrap=sleep 20")
    await_true("the job runs", lambda: generated.state(running) == "RUNNING", 30)

    plan = generated.plan("slurm")
    assert [step["name"] for step in plan["steps"]] == ["remove", "up"]
    assert not plan["underWay"]
    for step in plan["steps"]:
        for line in step["commands"]:
            by_hand.run(generated.stack, line, tmp_path)
        assert generated.due("slurm") == {"remove": "up", "up": None}[step["name"]]

    new = generated.key("slurm")
    assert (generated.joins(old), generated.joins(new)) == (False, True)
    assert generated.key("jwt") == jwt, "the other key stays"
    assert not set(generated.pods().values()) & set(pods.values()), "every pod is a new one"
    assert generated.left_of(old) == []
    assert generated.state(running) == "COMPLETED", "it was waited for"
    assert generated.state(waiting) == "PENDING", "the queue is as it was"
    generated.slurm("scontrol", "release", waiting)
    await_true("the job that waited has run", lambda: generated.state(waiting) == "COMPLETED", 60)
    await_login(generated.world)
    generated.whole()
    assert leaks.find(old, paths.STATE / "projects" / generated.stack.name, tmp_path) == []


def test_imported_keys_change_by_the_printed_commands_with_a_look_between_each(imported: Stopped, tmp_path: Path) -> None:
    old, pods = imported.key("slurm"), imported.pods()
    assert imported.slurm("srun", "-t1", "hostname") == "solo-0\n"
    seen = [imported.due("slurm")]
    while True:
        plan = imported.plan("slurm")
        step = next(step for step in plan["steps"] if step["state"] == "now")
        for line in step["commands"]:
            by_hand.run(imported.stack, line, tmp_path)
        seen.append(imported.due("slurm"))
        if step["name"] == "make":
            shown = imported.stack.pulumi("preview").stdout
            assert "slurmKeyNext is set: the key is being replaced in a planned stop" in shown
        if seen[-1] is None:
            break
    assert seen == [None, "remove", "key", "up", None]
    new = imported.key("slurm")
    assert (imported.joins(old), imported.joins(new)) == (False, True)
    assert not set(imported.pods().values()) & set(pods.values())
    assert imported.left_of(old) == []
    assert imported.slurm("srun", "-t1", "hostname") == "solo-0\n"
    imported.whole()


def test_a_stop_that_is_killed_goes_on_where_it_was(imported: Stopped, tmp_path: Path) -> None:
    old = imported.key("jwt")
    running = imported.submit("-t3", "--wrap=sleep 75")  # longer than it takes until the drain begins
    await_true("the job runs", lambda: imported.state(running) == "RUNNING", 30)
    assert imported.keys("rotate", "jwt", "--start", check=False).returncode == 1, "only --stop stops"
    assert imported.due("jwt") is None
    with imported.started("rotate", "jwt", "--stop") as run:
        await_true("its node is drained", lambda: "DRAIN" in imported.slurm("sinfo", "-h", "-o", "%T").upper(), 120)
        os.killpg(run.pid, signal.SIGKILL)
    assert imported.due("jwt") == "remove"
    imported.stack.unlock()
    imported.keys("rotate", "jwt", "--stop")
    new = imported.key("jwt")
    assert new != old
    assert (imported.accepted(old), imported.accepted(new)) == (False, True)
    assert imported.left_of(old) == []
    assert imported.slurm("srun", "-t1", "hostname") == "solo-0\n"
    imported.whole()
    (tmp_path / "said").write_text("".join(imported.said))
    assert leaks.find(old, tmp_path) + leaks.find(new, tmp_path) == []
