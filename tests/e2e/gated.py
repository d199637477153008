"""One NodeSet of three pods behind its gates, in a stack of its own: what the drain tests work on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.demo import apply_lines_of
from lab.stacks import Stack
from slinky_iac.names import NODESET_SCALE
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings, steps

STACK = "gated"
"""A module of tests that says `STANDS_ON = STACK` may find it up, as another module has left it, and leaves it up."""
NODESET = "gpu"
NODES = ("gpu-0", "gpu-1", "gpu-2")
NAMESPACE = "slurm"
RESOURCE = f"slurm-worker-{NODESET}"
"""Name of the NodeSet custom resource."""


def settings(
    replicas: int, drain: Mapping[str, object] | None = None, nodeset: Mapping[str, object] | None = None, **more: object
) -> Settings:
    """The dev stack's settings with one NodeSet only, these drain settings, and whatever else is said about the NodeSet
    or in other sections."""
    found = dev_settings()
    gpu = (
        found["slinky-iac:nodesets"]["gpu"]
        | {"replicas": replicas, "drain": {"deadline": "4m", **(drain or {})}}
        | dict(nodeset or {})
    )
    found["slinky-iac:nodesets"] = {NODESET: gpu}
    found["slinky-iac:partitions"] = {}
    return found | {f"slinky-iac:{name}": value for name, value in more.items()}


@dataclass
class Gated:
    """The stack with its NodeSet, as it is now."""

    world: World
    slurm: Slurm
    stack: Stack
    current: Settings = field(default_factory=dict)

    @property
    def applied(self) -> Settings | None:
        """The settings, once they were applied and as long as no others were written; another module may have done it."""
        return self.world.applied.get(self.stack.name)

    def changed(self) -> None:
        """The stack is no more as its settings say: the next test that wants it so has to bring it up."""
        self.world.applied.pop(self.stack.name, None)

    def write(self, replicas: int, drain: Mapping[str, object] | None = None, **more: Any) -> None:
        """Write the stack's settings (``nodeset``: more of the NodeSet's, else sections by name); nothing is applied."""
        self.current = settings(replicas, drain, **more)
        self.world.stack(self.stack.name, self.current)

    def up(self, replicas: int, drain: Mapping[str, object] | None = None, **more: Any) -> None:
        """Write settings and apply them; fails the test where `pulumi up` does."""
        self.write(replicas, drain, **more)
        self.stack.up()
        self.world.applied[self.stack.name] = self.current

    def try_up(self) -> subprocess.CompletedProcess[str]:
        """Apply the settings that are written, whatever comes of it."""
        return self.stack.up(check=False)

    def start_up(self, *more: str, command: str = "up") -> subprocess.Popen[str]:
        """Apply the settings that are written, or destroy the stack, in a process group of its own."""
        self.changed()
        return subprocess.Popen(
            ["pulumi", command, "--yes", "--skip-preview", "--non-interactive", "--stack", self.stack.name, *more],
            cwd=self.stack.folder,
            env=self.stack.environment(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def kill(self, run: subprocess.Popen[str]) -> None:
        """End an update as the loss of its machine does, and lift its lock."""
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        self.stack.unlock()

    def drained(self, *nodes: str) -> bool:
        """Whether all these nodes carry a drain of this stack's NodeSet."""
        found = self.slurm.nodes()
        ours = f"slinky-iac:{self.stack.name}/{NODESET}: "
        return all("DRAIN" in found[node]["state"] and found[node]["reason"].startswith(ours) for node in nodes)

    def finish_when_drained(self, run: subprocess.Popen[str], nodes: Sequence[str], *jobs: int) -> None:
        """See that an update in flight drains these nodes and waits for these jobs, let them end, and see it succeed."""
        await_true(f"{nodes} are drained by us", lambda: self.drained(*nodes), 120)
        assert all("RUNNING" in self.slurm.job_state(job) for job in jobs)
        assert run.poll() is None, "it waits for the jobs"
        self.slurm.finish(*jobs)
        out, _ = run.communicate(timeout=300)
        assert run.returncode == 0, out

    def plan(self) -> dict[str, Any]:
        """The gate's plan in a preview of the settings that are written."""
        report = json.loads(self.stack.pulumi("preview", "--json").stdout)
        for step in report["steps"]:
            if step["urn"].endswith("-scale"):
                found: dict[str, Any] = step["newState"]["inputs"]["plan"]
                return found
        raise AssertionError("the preview has no NodeSetScale")

    def told(self) -> str:
        """What the gate's state says of its last drain."""
        rows = json.loads(self.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
        (gate,) = (row for row in rows if row["type"] == NODESET_SCALE)
        return str(gate["outputs"].get("lastDrain", ""))

    def changes(self) -> list[tuple[str, str]]:
        """Steps of a preview that change something."""
        return steps(self.stack.pulumi("preview", "--json"))

    def planned_nodes(self) -> list[str]:
        """Slurm nodes that a preview selects."""
        return sorted(node["node"] for node in self.plan()["nodes"])

    def pods(self) -> list[str]:
        """Slurm node names of the pods that are there to stay."""
        return sorted(self.world.pods(NAMESPACE, NODESET))

    def annotations(self) -> dict[str, dict[str, str]]:
        """Annotations of the pods, by Slurm node name, ours only."""
        ours = ("nodeset.slinky.slurm.net/pod-deletion-cost", "slinky-iac/scale-in")
        return {
            node: {key: value for key, value in pod["metadata"].get("annotations", {}).items() if key in ours}
            for node, pod in self.world.pods(NAMESPACE, NODESET).items()
        }

    def await_pods(self, *nodes: str) -> None:
        """Wait until exactly these pods are left."""
        await_true(f"the pods are exactly {nodes}", lambda: self.pods() == sorted(nodes), 90)

    def reset(self, drain: Mapping[str, object] | None = None) -> None:
        """Three idle, registered nodes, no drain, no job: where every test begins."""
        self.slurm.cancel_all()
        for node, states in self.slurm.states().items():
            if node in NODES and "DRAIN" in states:
                self.slurm.admin("scontrol", "update", f"nodename={node}", "state=undrain")
        wanted = settings(3, drain)
        if self.applied == wanted and self.pods() == sorted(NODES):  # a test may have written the number by kubectl
            self.current = wanted
        else:
            self.up(3, drain)
        self.slurm.await_registered(*NODES)
        self.world.await_pods(NAMESPACE, NODESET, 3)  # a gate waits for pods that are only just coming

    def disown_replicas(self) -> None:
        """Take back the claims to `spec.replicas` that `kubectl scale` and autoscalers leave: the next `pulumi up` that
        writes them would meet a conflict."""
        kind = ("nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE)
        found = json.loads(self.world.kubectl("get", *kind, "-o", "json", "--show-managed-fields").stdout)
        claims = [
            at
            for at, each in enumerate(found["metadata"]["managedFields"])
            if not each["manager"].startswith("pulumi") and "f:replicas" in each["fieldsV1"].get("f:spec", {})
        ]
        removals = [{"op": "remove", "path": f"/metadata/managedFields/{at}"} for at in reversed(claims)]
        self.world.kubectl("patch", *kind, "--type=json", "-p", json.dumps(removals))

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` for :func:`slinky_iac.cluster.pulumi_state.export`."""
        return self.stack.pulumi(*(each for each in arguments if each != "--non-interactive"))

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m slinky_iac` in the project's folder."""
        return self.stack.program(*arguments)


def bring_up(world: World, slurm: Slurm, name: str = STACK) -> Gated:
    """Three pods behind gates; the outside slurm.conf has their lines. No test has to destroy it: see `World.vacate`."""
    gated = Gated(world, slurm, world.named(name))
    gated.reset()
    apply_lines_of(gated.stack)
    slurm.await_registered(*NODES)
    return gated
