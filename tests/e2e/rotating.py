"""A stack whose keys are replaced while jobs run on its pods and on metal, one step after the other."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab import paths
from lab import slurm as outside
from lab.demo import apply_lines_of
from lab.slurm import cluster, conf, keys, site
from lab.stacks import Stack, imported_keys
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.host_scripts import Via, hosts_of
from slinky_iac.config.reading.load import load
from slinky_iac.errors import SlurmrestAuthError
from slinky_iac.keys.raw import several_keys as jwks
from slinky_iac.slurmrest.auth import SigningKey
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.e2e.slurm import Slurm
from tests.e2e.world import Settings, World, dev_settings
from tests.integration import leaks

NODES = ("gpu-0", "gpu-1", "metal-1", "metal-2")
LOG = "/tmp/steps-$SLURM_JOB_ID"
STEPS = f"while true; do srun -n1 --quiet hostname >> {LOG} 2>&1 || echo LOST >> {LOG}; sleep 1; done"
NAMESPACE = "slurm"


def settings(replicas: int) -> Settings:
    """Two pods that can take part in a rotation, beside two metal hosts; the keys' Secrets are protected."""
    found = dev_settings()
    found["slinky-iac:nodesets"] = {"gpu": {"replicas": replicas, "pod": {"terminationGrace": "2s"}}}
    found["slinky-iac:partitions"] = {}
    found["slinky-iac:keys"] = {"source": "imported", "jwks": True}
    return found


@dataclass
class Rotated:
    """A stack with jobs on all its nodes, before and after its keys are replaced."""

    world: World
    slurm: Slurm
    stack: Stack
    jobs: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Start a job on each node, and wait until all run."""
        for node in NODES:
            line = ["sbatch", "--parsable", "-w", node, "-n1", "-D", "/tmp", "-o", "/dev/null", f"--wrap={STEPS}"]
            self.jobs[node] = int(self.slurm.user(*line).split(";")[0])
        self.slurm.await_running(*self.jobs.values())

    def keys(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `slinky keys` in the project's folder; what it says is kept."""
        return self.program("keys", *arguments)

    def program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m slinky_iac` there."""
        done = self.stack.program(*arguments, timeout=900)
        self.said += [done.stdout, done.stderr]
        return done

    def rotate(self, which: str, *more: str) -> subprocess.CompletedProcess[str]:
        """`keys rotate` with a way to the hosts."""
        return self.keys("rotate", which, "--via", VIA, *more)

    def now(self) -> dict[str, bytes]:
        """The keys of the stack's configuration."""
        values = json.loads(self.stack.pulumi("config", "--json", "--show-secrets").stdout)
        names = ("slurmKey", "jwtKey")
        return {name: base64.b64decode(values[f"slinky-iac:{name}"]["value"]) for name in names}

    def log(self, node: str) -> list[str]:
        """What the steps of the job on a node have printed so far."""
        file = f"/tmp/steps-{self.jobs[node]}"
        if node.startswith("metal"):
            return cluster.LAB.hosts.inside(node, file.lstrip("/")).read_text().splitlines()
        pod = f"slurm-worker-{node}"
        return self.world.kubectl("exec", "-n", NAMESPACE, pod, "-c", "slurmd", "--", "cat", file).stdout.splitlines()

    def unharmed(self) -> dict[str, int]:
        """Steps that each job has run; fails where a job has ended or one of its steps has failed."""
        states = {node: self.slurm.job_state(job) for node, job in self.jobs.items()}
        assert states == dict.fromkeys(self.jobs, frozenset({"RUNNING"}))
        restarts = {self.slurm.jobs()[job]["restart_cnt"] for job in self.jobs.values()}
        assert restarts == {0}
        logs = {node: self.log(node) for node in self.jobs}
        strange = {node: [line for line in lines if line != node] for node, lines in logs.items()}
        assert not any(strange.values()), f"steps failed: {strange}"
        return {node: len(lines) for node, lines in logs.items()}


VIA = f"env PYTHONPATH={paths.REPO} {sys.executable} -m tests.e2e.on_host {{host}}"


def lab_has(slurm_key: bytes, jwt_key: bytes) -> None:
    """Make these the lab's keys, each host with a plain slurm.key, as after `lab up`."""
    keys.put(site.LAB.keys / conf.KEY, slurm_key, mode=0o600)
    keys.put(site.LAB.keys / conf.JWT_KEY, jwt_key, mode=0o600)
    cluster.LAB.write()
    for host in cluster.LAB.members():
        for file in cluster.LAB.hosts.inside(host.name, "etc/slurm").glob("slurm.jwks*"):
            file.unlink()
        cluster.LAB.hosts.inside(host.name, "usr/local/sbin/systemctl").unlink(missing_ok=True)
    for daemon in cluster.LAB.daemons():
        if daemon.name in {"slurmdbd", "slurmctld", "slurmd", "sackd"}:
            outside.daemon_restart(daemon.host, daemon.name)


def has_taken_part_before(world: World) -> None:
    """Hosts as a first rotation leaves them, so that none of their daemons is restarted while jobs run."""
    document = [host_scripts.File("slurm.jwks", jwks(imported_keys()["slurmKey"]))]
    hosts = hosts_of(load({name.split(":")[1]: section for name, section in settings(2).items()}))
    for host in hosts:
        ran = subprocess.run(
            Via(VIA).command(host),
            input=host_scripts.change(host, document),
            text=True,
            check=False,
            env={**os.environ, **world.env},
        )
        assert ran.returncode == 0


def lived(world: World, slurm: Slurm) -> Iterator[Rotated]:
    """The stack with its jobs; afterwards it is gone, and the lab's hosts have the keys that it had last."""
    slurm.cancel_all()
    world.vacate()
    stack = world.stack("rotating", settings(2))
    stack.up()
    apply_lines_of(stack)
    slurm.await_registered(*NODES)
    found = Rotated(world, slurm, stack)
    has_taken_part_before(world)
    found.begin()
    yield found
    slurm.cancel_all()
    has = found.now()
    world.vacate()
    lab_has(has["slurmKey"], has["jwtKey"])


def accepted(key: SigningKey) -> bool:
    """Whether slurmctld takes a token made with a key, asked through the outside slurmrestd."""
    rest = site.LAB.network.address(12)
    with SlurmrestClient(Direct(f"http://{rest}:6820", plain_http=True), [key]) as client:
        try:
            client.diag()
        except SlurmrestAuthError:
            return False
    return True


def joins(key: bytes) -> bool:
    """Whether slurmctld gives its configuration to a sackd that has nothing but this slurm.key."""
    hosts = cluster.LAB.hosts
    keys.put(hosts.inside("login-1", "tmp/try.key"), key, mode=0o600, owner=401)
    script = """install -d -o slurm -g slurm /run/slurm-try
    export SLURM_SACK_KEY=/tmp/try.key SLURM_SACK_JWKS=/nonexistent RUNTIME_DIRECTORY=/run/slurm-try
    exec timeout 4 setpriv --reuid=slurm --regid=slurm --clear-groups \
        /usr/sbin/sackd -D --port 6899 --conf-server ctl:6817"""
    done = hosts.run("login-1", ["sh", "-c", script], check=False, timeout=30)
    hosts.inside("login-1", "tmp/try.key").unlink()
    assert ("Protocol authentication error" in done.stderr) != ("running" in done.stderr), done.stderr
    return "running" in done.stderr


def verify(rotated: Rotated) -> None:
    """Every place that holds a key holds the configuration's, and every daemon takes it."""
    done = rotated.keys("verify", "--via", VIA)
    assert done.returncode == 0, done.stdout + done.stderr


def leaked(rotated: Rotated, folder: Path, *raw: bytes) -> list[str]:
    """Places where a key is in what the commands said."""
    for number, said in enumerate(rotated.said):
        (folder / str(number)).write_text(said)
    return [place for key in raw for place in leaks.find(key, folder)]
