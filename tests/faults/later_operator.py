"""Stacks on slurm-operator 1.1.0, which the lab has when a test asks for it: lab/later_operator.py says what mix that is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from lab import charts, engine, later_operator, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import keys, site
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, exec_in, inside
from tests.e2e.world import Settings, World, dev_settings, encrypted, gate_plan
from tests.faults.inside_parts import answered, bring_login, database, pairs, queue_volume
from tests.faults.slurm_jobs import SlurmJobs
from tests.integration import leaks

DATABASE = "slurm_acct_db_inside"
Edit = Callable[[Settings], None]


def on_later_operator(found: Settings) -> None:
    """The stack's own operator is 1.1.0, from its own charts."""
    operator = found["slinky-iac:operator"]
    operator["version"] = later_operator.VERSION
    operator["chart"] = {"path": str(charts.chart_dir(later_operator.VERSION))}
    operator["values"]["operator"]["image"] = {"repository": later_operator.REPOSITORY, "tag": later_operator.VERSION}


def labs_own(_found: Settings) -> None:
    """The stack's own operator is the lab's: 1.0.1, or one that you have built."""


def release_of(operator: Edit) -> OperatorVersion:
    """Which release that is."""
    return OperatorVersion.parse(dev_settings(operator)["slinky-iac:operator"]["version"])


EARLIER, LATER = sorted((labs_own, on_later_operator), key=release_of)
"""The upgrade that this lab can make: from 1.0.1 to 1.1.0, or from 1.1.0 to one that you have built."""


def all_inside(tokens: str, *, operator: Edit = on_later_operator, **nodeset: Any) -> Settings:
    """All daemons in Kubernetes, slurmdbd too, whose database is in the lab's MariaDB; slurmctld's queue is in a volume.

    ``nodeset``: more of the NodeSet's settings.
    """

    def edit(found: Settings) -> None:
        inside(found)
        operator(found)
        found["slinky-iac:cluster"]["images"] |= {"slurmdbd": IMAGE, "login": IMAGE, "sidecar": IMAGE}
        found["slinky-iac:keys"] = {"source": "generated", "protect": False, "tokens": tokens}
        found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
        found["slinky-iac:accounting"] = {
            "database": {"host": "dbd", "name": DATABASE, "username": "slurm"},
            "pod": GRACE,
        }
        found["slinky-iac:nodesets"]["solo"] |= {"replicas": 3, **nodeset}
        found["slinky-iac:logins"] = {"main": {"sssdConfFrom": {"secret": "sssd"}, "pod": GRACE}}

    return dev_settings(edit)


@dataclass
class Inside(SlurmJobs):
    """A cluster that is wholly in Kubernetes, and what commands about it said."""

    world: World
    stack: Stack
    said: list[str] = field(default_factory=list)

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """`python -m slinky_iac` in the project's folder, in a process group of its own."""
        return self.stack.started(*arguments)

    def program(self, *arguments: str, check: bool = True) -> str:
        """What `python -m slinky_iac` prints; fails where it does, unless told otherwise."""
        done = self.stack.program(*arguments, timeout=900)
        self.said += [done.stdout, done.stderr]
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def set(self, path: str, value: str) -> None:
        """A setting of the stack; nothing is applied."""
        self.stack.pulumi("config", "set", "--path", f"slinky-iac:{path}", value)

    def write(self, settings: Settings) -> None:
        """Write other settings; the stack's secrets stay, and nothing is applied."""
        document = yaml.safe_load(self.stack.config_file.read_text())
        written = {**document, "config": {**settings, **encrypted(self.stack)}}
        self.stack.config_file.write_text(yaml.safe_dump(written))

    def slurm(self, *argv: str) -> str:
        """A command beside slurmctld."""
        return exec_in(self.world, *argv)

    def submit(self, node: str, script: str, *options: str) -> str:
        """Submit a batch job to a node; its number."""
        place = ["-w", node, "-n1", "-D", "/tmp", "-o", "/dev/null", *options]
        return self.slurm("sbatch", "--parsable", *place, f"--wrap={script}").strip()

    def shown(self, number: str) -> dict[str, str]:
        """The same, once slurmctld answers."""
        return pairs(answered(self.world, "scontrol", "-o", "show", "job", number))

    def finish(self, *jobs: str) -> None:
        """Let jobs that are held by tests.e2e.slurm.HELD end with exit code 0, once slurmctld answers."""
        answered(self.world, "scancel", "--batch", "--signal=USR1", *jobs)

    def await_running(self, *jobs: str) -> None:
        """Wait until all these jobs run."""
        await_true(f"jobs {jobs} run", lambda: all(self.state(job) == "RUNNING" for job in jobs), 60)

    def on(self, node: str, *argv: str) -> str:
        """A command in the worker pod of a node."""
        pod = f"inside-worker-{node}"
        return self.world.kubectl("exec", "-n", INSIDE, pod, "-c", "slurmd", "--", *argv).stdout

    def uids(self) -> dict[str, str]:
        """UID of each pod of the cluster, by name."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.world.objects("pods", INSIDE)}

    def workers(self) -> list[str]:
        """Slurm nodes of the worker pods that are there to stay."""
        labelled = [
            pod for pod in self.world.objects("pods", INSIDE) if pod["metadata"]["name"].startswith("inside-worker-")
        ]
        return sorted(pod["spec"]["hostname"] for pod in labelled if "deletionTimestamp" not in pod["metadata"])

    def plan(self) -> dict[str, Any]:
        """The gate's plan in a preview of the settings that are written."""
        return gate_plan(self.stack.pulumi("preview", "--json"))


@contextmanager
def lived(world: World, *, operator: Edit = on_later_operator, settings: Settings | None = None) -> Iterator[Inside]:
    """Three worker pods, slurmctld with its queue in a volume, slurmdbd, slurmrestd and a login pod; gone in the end.

    ``settings``: what it comes up with in place of `all_inside`.
    """
    if operator is on_later_operator:
        later_operator.load(KUBERNETES)
    world.vacate()
    with queue_volume(world), database(DATABASE):
        try:
            found = Inside(world, world.stack("later-inside", settings or all_inside("hs256", operator=operator)))
            password = keys.ensure(site.LAB.keys).database
            found.stack.pulumi("config", "set", "--secret", "databasePassword", stdin=password)
            found.stack.up()
            bring_login(world)
            yield found
            found.slurm("scancel", "-u", "slurm")  # a destroy waits for jobs
            assert leaks.find(password, engine.BACKEND, found.stack.folder, paths.LOGS) == [], "the database's password"
        finally:
            world.vacate()
