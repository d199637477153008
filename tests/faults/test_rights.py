"""Least rights, watched: a ServiceAccount with what `rights` prints does its work, and used every right that it has.

What it used is read from the API server's audit log; a right that nothing used and a request that was refused fail the test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import yaml

from lab import paths
from lab.kubernetes.render import AUDITED
from lab.stacks import Stack
from slinky_iac.commands.rights.table import rights
from slinky_iac.config.reading.load import load
from slinky_iac.specs.rights import Right, Use
from tests.e2e.accounts import Event, events, log_size, of_table, refused, used
from tests.e2e.gated import NAMESPACE, Gated, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, steps

STACK = "least"
OPERATOR = "slinky"


def own_settings(replicas: int) -> Settings:
    """The gated stack's, in namespaces that are made beside it: Roles must be there before the stack."""
    found = settings(replicas)
    found["slinky-iac:cluster"] |= {"createNamespace": False}
    found["slinky-iac:operator"] |= {"createNamespace": False}
    return found


@dataclass
class Least:
    """The stack, an account for each use, and the audit log."""

    world: World
    stack: Stack
    begun: int
    """Where the audit log ended before."""

    def write(self, replicas: int) -> None:
        self.world.stack(STACK, own_settings(replicas))

    def python(self, *words: str, use: Use) -> subprocess.CompletedProcess[str]:
        """A command of ours, as the account of that use."""
        env = {**os.environ, **self.stack.env, "KUBECONFIG": self.kubeconfig(use)}
        return subprocess.run(
            [sys.executable, "-m", "slinky_iac", *words, "--stack", STACK],
            cwd=self.stack.folder, env=env, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def as_account(self, use: Use) -> Stack:
        """The stack as the account of that use has it."""
        return replace(self.stack, env={**self.stack.env, "KUBECONFIG": self.kubeconfig(use)})

    def kubeconfig(self, use: Use) -> str:
        return str(paths.STATE / f"slinky-{use}.kubeconfig")

    def grant(self, use: Use) -> None:
        """Apply what `rights` prints, for a ServiceAccount with a token of its own."""
        printed = self.python("rights", "--for", str(use), use=Use.APPLY)
        assert printed.returncode == 0, printed.stderr
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"slinky-{use}", "namespace": AUDITED}}
        self.world.kubectl("apply", "-f", "-", stdin=json.dumps(account))
        self.world.kubectl("apply", "-f", "-", stdin=printed.stdout)
        token = self.world.kubectl("-n", AUDITED, "create", "token", f"slinky-{use}", "--duration=2h").stdout.strip()
        admin = yaml.safe_load(paths.KUBECONFIG.read_text())
        admin["users"] = [{"name": each["name"], "user": {"token": token}} for each in admin["users"]]
        file = paths.STATE / f"slinky-{use}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(admin))

    def granted(self, use: Use) -> tuple[Right, ...]:
        sections = {name.split(":", 1)[1]: value for name, value in own_settings(1).items()}
        return rights(load(sections), use)

    def events(self, use: Use) -> list[Event]:
        """The audit log's lines of an account."""
        return events(self.begun, f"slinky-{use}")


@pytest.fixture(scope="module")
def least(world: World, slurm: Slurm) -> Iterator[Least]:
    world.vacate()
    for name in (NAMESPACE, OPERATOR):
        world.kubectl("create", "namespace", name)
    world.kubectl("create", "namespace", AUDITED, check=False)  # other tests' accounts may be there
    least = Least(world, world.stack(STACK, own_settings(2)), log_size())
    least.kubeconfig(Use.APPLY)
    (paths.STATE / f"slinky-{Use.APPLY}.kubeconfig").write_bytes(paths.KUBECONFIG.read_bytes())
    for use in (Use.APPLY, Use.REVIEW):
        least.grant(use)
    yield least
    slurm.cancel_all()
    world.vacate()
    for name in (NAMESPACE, OPERATOR):
        world.kubectl("delete", "namespace", name, check=False)
    for use in (Use.APPLY, Use.REVIEW):
        name = f"slinky-{use}-{NAMESPACE}-slurm"
        world.kubectl("delete", "clusterrole,clusterrolebinding", name, check=False)


def test_an_account_with_the_rights_of_apply_lives_a_stack_s_whole_life_and_uses_each(least: Least, slurm: Slurm) -> None:
    own = least.as_account(Use.APPLY)
    own.up()
    least.world.await_pods(NAMESPACE, "gpu", 2)
    job = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "5")
    slurm.await_running(job)
    least.write(1)
    gated = Gated(least.world, slurm, own)
    run = gated.start_up()
    await_true("gpu-1 is gone", lambda: gated.pods() == ["gpu-0"], 240)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    assert "RUNNING" in slurm.job_state(job)

    review = least.as_account(Use.REVIEW)
    assert steps(review.pulumi("preview", "--json")) == []
    least.write(0)
    preview = review.pulumi("preview", "--json")
    assert "gpu" in str(steps(preview)), preview.stdout[-2000:]
    for use, words in (
        (Use.REVIEW, ("drift",)),
        (Use.REVIEW, ("drain", "status")),
        (Use.APPLY, ("status", "--json")),
        (Use.APPLY, ("keys", "verify")),
    ):
        done = least.python(*words, use=use)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    least.write(1)

    slurm.finish(job)
    own.pulumi("refresh", "--yes", "--skip-preview")
    taken = {"nodesets.slinky.slurm.net": "slurm-worker-gpu", "secrets": "slurm-auth-slurm"}
    for kind, name in taken.items():
        as_review = ("--kubeconfig", least.kubeconfig(Use.REVIEW), "-n", NAMESPACE)
        denied = least.world.kubectl(*as_review, "delete", kind, name, check=False)
        assert "forbidden" in denied.stderr.lower()
    own.destroy()

    seen = least.events(Use.APPLY)
    assert refused(seen) == set()
    assert of_table(least.granted(Use.APPLY)) - used(seen) == set(), "a right that nothing used"
    looked = least.events(Use.REVIEW)
    assert refused(each for each in looked if "kubectl" not in each["userAgent"]) == set()
    named = {f"slinky-review: delete {kind} {NAMESPACE}/{name}" for kind, name in taken.items()}
    assert refused(looked) == named, "what was refused is named"
    assert of_table(least.granted(Use.REVIEW)) - used(looked) == set(), "a right that nothing used"
