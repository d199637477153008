"""Who comes in the middle of a rotation of slurm.key goes through the rest of it: a host that joins with nothing but the
hand-off, and a pod of a scale-out, each with a job on it. The rotation is killed where half of the hosts sign with the new
key. A login host that joined before it began isn't restarted by it, as hosts are that others set up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

import pytest
import yaml

from lab.slurm import blank
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.hosts import LAB as HOSTS
from lab.stacks import imported_keys
from slinky_iac.keys.raw import several_keys as jwks
from tests.e2e.joining import Joining
from tests.e2e.rotating import NODES, STEPS, Rotated, joins, lived
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World
from tests.faults.on_any_host import VIA

METAL, LOGIN, POD = "metal-3", "login-2", "gpu-2"
ALL = ("login-1", LOGIN, "metal-1", "metal-2", METAL, "dbd", "ctl")
JWKS, KEY = "etc/slurm/slurm.jwks", "etc/slurm/slurm.key"


@dataclass
class Joined:
    """A stack whose pods and hosts run steps, and two blank hosts that are to join it."""

    rotated: Rotated
    hands: Joining

    def write(self, change: Callable[[Settings], None]) -> None:
        """Edit the stack's settings as an admin does; what is encrypted stays."""
        file = self.rotated.stack.config_file
        document = yaml.safe_load(file.read_text())
        change(document["config"])
        file.write_text(yaml.safe_dump(document))

    def install(self, role: str, host: str, *more: str) -> None:
        """Render the hand-off with its keys, carry a role's folder to a host and run what is in it."""
        self.hands.handoff(f"to-{host}", "--with-keys", "--role", role)
        HOSTS.run(host, [self.hands.carry(f"to-{host}/{role}", host) + "/install.sh", *more])

    def keep_busy(self, node: str) -> None:
        """A job on a node that runs one step after the other."""
        line = ["sbatch", "--parsable", "-w", node, "-n1", "-D", "/tmp", "-o", "/dev/null", f"--wrap={STEPS}"]
        self.rotated.jobs[node] = int(self.rotated.slurm.user(*line).split(";")[0])
        self.rotated.slurm.await_running(self.rotated.jobs[node])


@pytest.fixture(scope="module")
def joined(world: World, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    life = lived(world, slurm)
    try:
        rotated = next(life)
        addresses = {host: blank.LAB.up(host) for host in (METAL, LOGIN)}
        yield Joined(rotated, Joining(rotated.stack, addresses, tmp_path_factory.mktemp("hands")))
    finally:
        slurm.cancel_all()
        CLUSTER.write()
        for host in (METAL, LOGIN):
            blank.LAB.down(host)
        CLUSTER.reconfigure()
        for _ in life:
            pass


def kill_where_hosts_change(rotated: Rotated) -> None:
    """Begin a rotation and kill it, with all that it started, once the login hosts have the file of `change-hosts`."""
    with rotated.stack.started("keys", "rotate", "slurm", "--start", "--via", VIA) as run:
        assert run.stderr is not None
        changing = False
        for line in run.stderr:
            rotated.said.append(line)
            changing = changing or line.startswith("change-hosts")
            if changing and line.startswith("  metal-1"):
                break
        else:
            raise AssertionError("".join(rotated.said))
        os.killpg(run.pid, signal.SIGKILL)


def digest(host: str, path: str) -> str:
    """SHA-256 of a file on a host."""
    return sha256(HOSTS.inside(host, path).read_bytes()).hexdigest()


def life_of(host: str, service: str) -> str:
    """What systemd calls this life of a service: another one after every start, the same after a reconfiguration."""
    return HOSTS.run(host, ["systemctl", "show", "-p", "InvocationID", "--value", service]).stdout.strip()


def test_who_joins_in_the_middle_of_a_rotation_goes_through_the_rest_of_it(joined: Joined) -> None:
    rotated, hands, slurm = joined.rotated, joined.hands, joined.rotated.slurm
    old = imported_keys()["slurmKey"]
    login = {"name": LOGIN, "address": hands.addresses[LOGIN]}
    joined.write(lambda found: found["slinky-iac:external"]["loginHosts"].append(login))
    rotated.stack.up()
    joined.install("login", LOGIN)
    assert not HOSTS.inside(LOGIN, JWKS).exists(), "at rest slurm.key is all"
    first = life_of(LOGIN, "sackd")

    kill_where_hosts_change(rotated)
    new = rotated.now()["slurmKey"]
    both = sha256(jwks(new, old)).hexdigest()
    assert [digest(host, JWKS) == both for host in ("login-1", LOGIN, "metal-2", "ctl")] == [True, True, False, False]

    metal = {"name": METAL, "address": hands.addresses[METAL], "config": {"CPUs": 2, "RealMemory": 1000}}

    def more(found: Settings) -> None:
        found["slinky-iac:external"]["slurmdHosts"].append(metal)
        found["slinky-iac:nodesets"]["gpu"]["replicas"] = 3

    joined.write(more)
    joined.install("slurmctld", "ctl", "--edit")
    CLUSTER.reconfigure()
    rotated.stack.up()  # not before slurmctld knows the host
    slurm.await_registered(POD)
    joined.install("slurmd", METAL)
    hands.await_checked(METAL, "slurmd")
    assert (digest(METAL, JWKS), digest(METAL, KEY)) == (both, sha256(new).hexdigest())
    for node in (METAL, POD):
        joined.keep_busy(node)
    middle, before = life_of(METAL, "slurmd"), rotated.unharmed()

    done = rotated.keys("rotate", "slurm", "--via", VIA)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (joins(old), joins(new)) == (False, True)
    assert {digest(host, JWKS) for host in ALL} == {sha256(jwks(new)).hexdigest()}, "they know the new key alone"
    assert digest(METAL, KEY) == sha256(new).hexdigest(), "as it is needed where slurm.jwks is lost"
    await_true("steps go on everywhere", lambda: all(rotated.unharmed()[n] > before[n] + 3 for n in rotated.jobs), 90)
    assert {*rotated.jobs} == {*NODES, METAL, POD}
    assert (life_of(LOGIN, "sackd"), life_of(METAL, "slurmd")) == (first, middle), "neither was restarted"
    slurm.cancel_all()
    said = HOSTS.run(
        LOGIN, ["srun", "-N6", "-w", ",".join(rotated.jobs), "-t1", "hostname"], user="alice", timeout=90
    ).stdout
    assert sorted(said.split()) == sorted(rotated.jobs)
    done = rotated.keys("verify", "--via", VIA)
    assert done.returncode == 0, done.stdout + done.stderr
