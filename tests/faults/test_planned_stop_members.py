"""Keys change in a planned stop where slurmctld and slurmdbd are in Kubernetes, and a metal host and a login host outside,
which joined by the hand-off: those get the key last, once slurmctld is back.

Watched: a job on metal goes on through it, one on a pod is waited for, queue and accounts are there afterwards, and a run
that failed at the last step is carried on instead of beginning another stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from lab.slurm import blank, keys, site
from lab.slurm.hosts import LAB as HOSTS
from tests.e2e.joining import Joining
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE
from tests.e2e.world import Settings, World
from tests.faults.inside_parts import database, queue_volume
from tests.faults.on_any_host import VIA
from tests.faults.test_planned_stop import Stopped
from tests.faults.test_planned_stop import settings as stopping

METAL, LOGIN = "metal-3", "login-2"
DATABASE = "slurm_acct_db_members"


def settings(addresses: dict[str, str]) -> Settings:
    """slurmctld with its queue in a volume, slurmdbd with its database in the lab's MariaDB, one pod; imported keys."""
    found = stopping("imported")
    found["slinky-iac:cluster"]["images"]["slurmdbd"] = IMAGE
    found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
    found["slinky-iac:accounting"] = {"database": {"host": "dbd", "name": DATABASE, "username": "slurm"}, "pod": GRACE}
    metal = {"name": METAL, "address": addresses[METAL], "config": {"CPUs": 2, "RealMemory": 1000}}
    login = {"name": LOGIN, "address": addresses[LOGIN]}
    found["slinky-iac:external"] = {"slurmdHosts": [metal], "loginHosts": [login]}
    return found


@dataclass
class Hybrid(Stopped):
    """The stack, and the hosts that joined it."""

    hands: Joining | None = None

    def user(self, *argv: str) -> str:
        """A command of a user on the login host."""
        return HOSTS.run(LOGIN, list(argv), user="alice", timeout=90).stdout

    def submitted(self, *options: str) -> str:
        """A batch job of that user; returns its number."""
        return self.user("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", *options).strip()

    def accounted(self, *jobs: str) -> list[str]:
        """What slurmdbd says of jobs, one line a run."""
        said = self.slurm("sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs), "-o", "JobID,State,NodeList,ExitCode")
        return said.splitlines()


@pytest.fixture(scope="module")
def hybrid(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hybrid]:
    world.vacate()
    with queue_volume(world), database(DATABASE):
        addresses = {host: blank.LAB.up(host) for host in (METAL, LOGIN)}
        try:
            stack = world.stack("stop-members", settings(addresses))
            password = keys.ensure(site.LAB.keys).database
            stack.pulumi("config", "set", "--secret", "databasePassword", stdin=password)
            found = Hybrid(world, stack, hands=Joining(stack, addresses, tmp_path_factory.mktemp("hands")))
            stack.up()
            join(found)
            yield found
        finally:
            for host in addresses:
                blank.LAB.down(host)
            world.vacate()


def join(hybrid: Hybrid) -> None:
    """Both hosts, by what the hand-off renders and nothing else; slurmctld's name they ask of the lab's DNS."""
    hands = hybrid.hands
    assert hands is not None
    hands.handoff("hand", "--with-keys", "--role", "slurmd", "--role", "login")
    for role, host in (("slurmd", METAL), ("login", LOGIN)):
        HOSTS.run(host, [hands.carry(f"hand/{role}", host) + "/install.sh"])
        hands.await_checked(host, role)


def digest(host: str) -> str:
    return sha256(HOSTS.inside(host, "etc/slurm/slurm.key").read_bytes()).hexdigest()


def unreachable_while(away: Path, folder: Path) -> str:
    """A way to hosts that fails, while a file is there, where the login host is to change: it could be asked before."""
    program = folder / "broken-ssh"
    program.write_text(f"""#!/bin/bash
script=$(cat)
[[ ! -e {away} || $1 != {LOGIN} || $script != *systemctl* ]] || exit 9
{VIA.format(host='"$1"')} <<< "$script"
""")
    program.chmod(0o755)
    return f"{program} {{host}}"


def test_members_get_the_key_last_and_nothing_is_lost(hybrid: Hybrid, tmp_path: Path) -> None:
    old, pods = hybrid.key("slurm"), hybrid.pods()
    assert hybrid.user("srun", "-w", METAL, "-t1", "hostname") == f"{METAL}\n"
    earlier = hybrid.submitted("-w", "solo-0", "-t1", "--wrap=hostname")
    waiting = hybrid.submitted("--hold", "-t1", "--wrap=hostname")
    on_pod = hybrid.submitted("-w", "solo-0", "-t2", "--wrap=sleep 25")
    on_metal = hybrid.submitted("-w", METAL, "-t30", "--wrap=while [ ! -e /tmp/enough ]; do sleep 1; done")
    await_true("both run", lambda: {hybrid.state(on_pod), hybrid.state(on_metal)} == {"RUNNING"}, 60)
    assert [step["name"] for step in hybrid.plan("slurm")["steps"]] == ["make", "remove", "key", "up", "members"]

    away = tmp_path / "away"
    away.touch()
    broken = unreachable_while(away, tmp_path)
    failed = hybrid.keys("rotate", "slurm", "--stop", "--via", broken, check=False)
    new = hybrid.key("slurm")
    assert (failed.returncode, new == old) == (1, False), failed.stdout + failed.stderr
    assert f"host {LOGIN}" in failed.stderr
    assert (digest(METAL), digest(LOGIN)) == (sha256(new).hexdigest(), sha256(old).hexdigest())
    away.unlink()
    after = hybrid.pods()
    assert not set(after.values()) & set(pods.values()), "every pod is a new one"

    hybrid.keys("rotate", "slurm", "--stop", "--via", broken)
    assert (hybrid.key("slurm"), hybrid.pods()) == (new, after), "it was carried on, not begun again"
    assert {digest(METAL), digest(LOGIN)} == {sha256(new).hexdigest()}
    assert (hybrid.joins(old), hybrid.joins(new)) == (False, True)

    assert hybrid.state(on_metal) == "RUNNING", "it went on"
    HOSTS.inside(METAL, "tmp/enough").touch()
    hybrid.slurm("scontrol", "release", waiting)
    for job in (on_metal, waiting):
        await_true(f"job {job} has ended", lambda job=job: hybrid.state(job) == "COMPLETED", 60)  # type: ignore[misc]
    jobs = (earlier, on_pod, on_metal)
    await_true("slurmdbd has heard of it", lambda: all("|COMPLETED|" in row for row in hybrid.accounted(*jobs)), 60)
    rows = hybrid.accounted(*jobs)
    assert rows == [f"{earlier}|COMPLETED|solo-0|0:0", f"{on_pod}|COMPLETED|solo-0|0:0", f"{on_metal}|COMPLETED|{METAL}|0:0"]
    assert sorted(hybrid.user("srun", "-N2", "-w", f"solo-0,{METAL}", "-t1", "hostname").split()) == [METAL, "solo-0"]
    hybrid.whole()
