"""Users that only `identity.passwd` knows, on a cluster that is wholly in Kubernetes: by REST, in jobs, and by ssh."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import ldap
from tests.e2e.running import results
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import IMAGE, INSIDE, inside
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.identity_parts import HOMES, VOLUME, by_ssh, home, on_node
from tests.faults.inside_parts import bring_login
from tests.faults.later_operator import Inside

CAROL, DAVE = {"uid": 3001, "gid": 3001, "groups": ["physics"]}, {"uid": 3002, "gid": 3000}
GROUPS = {"physics": 3000}
LATE = 120
"""kubelet looks at a ConfigMap within its own period, and the sidecar each 5 s."""


def known(**users: dict[str, Any]) -> Settings:
    """A stack whose slurmctld is in Kubernetes and knows these users besides its image's."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:cluster"]["images"] |= {"login": ldap.IMAGE, "sidecar": IMAGE}
        found["slinky-iac:identity"] = {"passwd": {"users": users, "groups": GROUPS}}
        found["slinky-iac:nodesets"]["solo"] |= {"volumes": [VOLUME]}
        found["slinky-iac:logins"] = {"main": {"sssdConfFrom": {"secret": "sssd"}, "volumes": [VOLUME]}}

    return dev_settings(edit)


@pytest.fixture(scope="module")
def cluster(world: World) -> Iterator[Inside]:
    world.vacate()
    KUBERNETES.load(ldap.image())  # it has a client of ssh
    home("carol", 3001)
    try:
        found = Inside(world, world.stack("identity", known(carol=CAROL)))
        found.stack.up()
        bring_login(world)
        yield found
        found.slurm("scancel", "-u", "slurm")
    finally:
        world.vacate()
        on_node("rm", "-rf", HOMES)


def run_as(cluster: Inside, user: str, *, users: dict[str, dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    """`pulumi up` with a job of this user."""
    job = {"user": user, "command": ["id"], "partition": "solo", "workingDirectory": "/tmp", "output": f"/tmp/id-{user}"}
    cluster.write({**known(**users), "slinky-iac:jobs": {f"id-{user}": job}})
    return cluster.stack.up(check=False)


def test_a_rest_job_of_a_user_that_no_image_knows_runs_as_her_with_her_groups(cluster: Inside) -> None:
    done = run_as(cluster, "carol", users={"carol": CAROL})
    assert done.returncode == 0, done.stdout
    assert results(cluster.stack)["id-carol"]["state"] == "COMPLETED"
    said = cluster.on("solo-0", "cat", "/tmp/id-carol")
    assert said.strip() == "uid=3001(carol) gid=3001(carol) groups=3001(carol),3000(physics)"


def test_ssh_into_a_login_pod_as_her_has_her_home_and_submits(cluster: Inside) -> None:
    said = by_ssh(cluster, "carol", 3001, "id -un; id -Gn; pwd; srun -p solo -t1 id -un; srun -p solo -t1 pwd")
    assert said == ["carol", "carol physics", "/home/carol", "carol", "/home/carol"]


def test_a_user_who_comes_later_is_known_with_no_pod_replaced_and_jobs_run_on(cluster: Inside) -> None:
    refused = run_as(cluster, "dave", users={"carol": CAROL})
    assert refused.returncode != 0
    assert "job-user-unknown" in refused.stdout
    cluster.write(known(carol=CAROL))
    cluster.stack.up()
    job = cluster.submit("solo-0", "sleep infinity")
    cluster.await_running(job)
    before = cluster.uids()
    cluster.write(known(carol=CAROL, dave=DAVE))
    cluster.stack.up()
    place = ("exec", "-n", INSIDE, "inside-controller-0", "-c", "slurmctld", "--")
    await_true(
        "slurmctld's pod knows dave", lambda: not cluster.world.kubectl(*place, "id", "dave", check=False).returncode, LATE
    )
    node = ("exec", "-n", INSIDE, "inside-worker-solo-0", "-c", "slurmd", "--")
    await_true("slurmd's pod too", lambda: not cluster.world.kubectl(*node, "id", "dave", check=False).returncode, LATE)
    cluster.slurm("scancel", job)
    done = run_as(cluster, "dave", users={"carol": CAROL, "dave": DAVE})
    assert done.returncode == 0, done.stdout
    assert cluster.on("solo-0", "cat", "/tmp/id-dave").strip() == "uid=3002(dave) gid=3000(physics) groups=3000(physics)"
    assert cluster.uids() == before, "no pod was replaced"
