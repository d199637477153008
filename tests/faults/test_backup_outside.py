"""An outside slurmctld with a backup on a second host, which the stack names: the backup takes over, and what is in
Kubernetes goes on by it, as far as starting new pods and a scale-in; the primary comes back, and no job is lost.

Both hosts share their StateSaveLocation (lab/slurm/cluster.py). Gates ask the slurmrestd in Kubernetes. slurmdbd is asked
after `scontrol reconfigure`: a backup of Slurm 26.05 that took over keeps its records until then (docs/outside-hosts.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from lab import slurm as outside
from lab.demo import apply_lines_of
from lab.slurm import conf, daemons, topology
from lab.slurm.cluster import LAB
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Accounted, Slurm, await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE
from tests.e2e.world import World, dev_settings, ready, steps

PRIMARY, BACKUP = "ctl", "ctl-2"
CLUSTER = dev_settings()["slinky-iac:cluster"]
MORE: dict[str, Any] = {
    # slurm-operator 1.0 gives login pods a script for GNU's cp, which the lab's busybox hasn't.
    "cluster": CLUSTER | {"images": CLUSTER["images"] | {"sidecar": IMAGE}},
    "controller": {"external": {"host": PRIMARY, "port": conf.CTLD_PORT, "backups": [BACKUP]}},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}, "pod": GRACE}},
}
LOGIN = "slurm-login-main"
SSSD = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "sssd", "namespace": NAMESPACE},
    "stringData": {"sssd.conf": "[sssd]\n"},
}
TAKES_OVER_S = 120
"""SlurmctldTimeout is 10 s on the lab; the rest is for a loaded machine."""


@dataclass
class Site:
    """The stack, and the jobs that outlast a test."""

    gated: Gated
    held: dict[str, int] = field(default_factory=dict)
    """Those that run, by node."""
    ended: dict[int, str] = field(default_factory=dict)
    """The node of each that has ended while the backup was in charge."""

    @property
    def slurm(self) -> Slurm:
        """Commands on the login host, whose sackd needs no slurmctld on its host."""
        return self.gated.slurm

    def submit(self, *nodes: str) -> dict[str, int]:
        """Submit one job to each node, and wait until all run. Each runs until :meth:`end`."""
        jobs = {node: self.slurm.submit("-p", NODESET, "-w", node, "-t", "20") for node in nodes}
        self.slurm.await_running(*jobs.values())
        return jobs

    def from_login(self, node: str) -> str:
        """What `hostname` prints on a node, started from the login pod. srun has an end of its own."""
        argv = ("timeout", "90", "srun", "-p", NODESET, "-w", node, "-t1", "hostname")
        pod = login_pod(self.gated.world)["metadata"]["name"]
        return self.gated.world.kubectl("exec", "-n", NAMESPACE, pod, "-c", "login", "--", *argv).stdout.strip()

    def states(self, jobs: dict[str, int]) -> dict[str, tuple[Any, ...]]:
        """State, nodes and restarts of these jobs, by the node that they began on."""
        known = self.slurm.jobs()
        rows = {node: known[job] for node, job in jobs.items()}
        return {node: (row["job_state"], row["nodes"], row["restart_cnt"]) for node, row in rows.items()}

    def end(self, jobs: dict[str, int]) -> None:
        """Let them end, and see in slurmctld that each did so once, where it began."""
        self.slurm.finish(*jobs.values())
        wanted = {node: (["COMPLETED"], node, 0) for node in jobs}
        await_true(f"{jobs} have ended", lambda: self.states(jobs) == wanted, 60)
        self.ended |= {job: node for node, job in jobs.items()}

    def in_slurmdbd(self) -> list[Accounted]:
        """Rows of the jobs that have ended, once slurmdbd has heard of all ends."""
        return sorted(self.slurm.await_completed(*self.ended), key=lambda row: int(row.job))

    def as_ended(self) -> list[Accounted]:
        """What slurmdbd should have of them: one run each, on its node."""
        return [Accounted(str(job), "COMPLETED", node, "0:0") for job, node in sorted(self.ended.items())]


def as_begun(jobs: dict[str, int]) -> dict[str, tuple[Any, ...]]:
    """What `Site.states` says where no job was lost or begun again."""
    return {node: (["RUNNING"], node, 0) for node in jobs}


def login_pod(world: World) -> dict[str, Any]:
    """The login set's pod that is there to stay."""
    found = [
        pod
        for pod in world.objects("pods", NAMESPACE)
        if pod["metadata"]["name"].startswith(LOGIN) and "deletionTimestamp" not in pod["metadata"]
    ]
    return found[0] if len(found) == 1 else {}


def await_login(world: World, other_than: str = "") -> None:
    """Wait until the login set's only pod is ready, and is another than the one of this UID."""

    def there() -> bool:
        pod = login_pod(world)
        return bool(pod) and pod["metadata"]["uid"] != other_than and ready(pod)

    await_true("the login pod is ready", there, 180)


def in_charge(host: str) -> bool:
    """Whether the slurmctld of a host is the one that answers: one that waits says no to /readyz."""
    offset = next(each.offset for each in topology.HOSTS if each.name == host)
    url = f"http://{LAB.site.network.address(offset)}:{conf.CTLD_PORT}/readyz"
    return daemons.http_status(url) in range(200, 300)


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    world.vacate()
    outside.enable_backup()
    try:
        gated = Gated(world, Slurm(LAB.hosts, admin_host="login-1"), world.named("backup-outside"))
        gated.up(3, **MORE)
        apply_lines_of(gated.stack)
        world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(SSSD))
        gated.slurm.await_registered(*NODES)
        world.await_pods(NAMESPACE, NODESET, 3)
        await_login(world)
        yield Site(gated)
        gated.slurm.cancel_all()
    finally:
        outside.daemon_start(PRIMARY, "slurmctld")  # does nothing where it runs
        world.vacate()
        outside.disable_backup()


def test_slurmrestd_and_a_login_pod_know_both_hosts(site: Site) -> None:
    said = json.loads(site.gated.cli("preflight", "--json").stdout)["checks"]
    found = {each["subject"]: (each["verdict"], each["got"]) for each in said if each["name"] == "slurmctld-backups"}
    assert found == {f"backup {BACKUP}": ("fine", "answers it")}
    assert (in_charge(PRIMARY), in_charge(BACKUP)) == (True, False)
    assert site.from_login("gpu-0") == "gpu-0"


def test_the_backup_takes_over_and_jobs_pods_status_and_previews_go_on(site: Site) -> None:
    jobs = site.submit("gpu-0", "gpu-1")
    before = {node: pod["metadata"]["uid"] for node, pod in site.gated.world.pods(NAMESPACE, NODESET).items()}
    outside.daemon_stop(PRIMARY, "slurmctld")
    await_true(f"{BACKUP} is in charge", lambda: in_charge(BACKUP), TAKES_OVER_S)
    assert site.states(jobs) == as_begun(jobs)
    assert site.from_login("gpu-2") == "gpu-2"
    site.end(jobs)
    shown = json.loads(site.gated.cli("status", "--json").stdout)
    states = {each["name"]: each["state"] for each in shown["endpoints"]}
    assert states["slurmctld"] == "down"
    assert {states[name] for name in ("slurmrestd", "slurmctld (backup)", "slurmdbd")} == {"up"}
    assert shown["unknown"] == []
    assert steps(site.gated.stack.pulumi("preview", "--json")) == []
    after = {node: pod["metadata"]["uid"] for node, pod in site.gated.world.pods(NAMESPACE, NODESET).items()}
    assert after == before, "no pod was replaced"


def test_new_pods_get_their_configuration_from_the_backup(site: Site) -> None:
    """The operator's own `--conf-server` names the primary alone, where nothing listens."""
    world = site.gated.world
    assert not in_charge(PRIMARY)
    login, worker = login_pod(world)["metadata"], world.pods(NAMESPACE, NODESET)["gpu-2"]["metadata"]["uid"]
    world.kubectl("delete", "pod", "-n", NAMESPACE, login["name"])
    world.delete_worker(NAMESPACE, f"{RESOURCE}-2")

    def another() -> bool:
        pod = world.pods(NAMESPACE, NODESET).get("gpu-2", {})
        return bool(pod) and pod["metadata"]["uid"] != worker and ready(pod)

    await_true("gpu-2 has another pod", another, 180)
    await_login(world, other_than=login["uid"])
    site.slurm.await_registered("gpu-2")
    assert site.from_login("gpu-2") == "gpu-2"


def test_a_scale_in_by_the_backup_loses_no_job(site: Site) -> None:
    gated = site.gated
    assert not in_charge(PRIMARY)
    jobs = site.submit(*NODES)
    gated.write(2, **MORE)
    (chosen,) = gated.planned_nodes()
    run = gated.start_up()
    try:
        gated.finish_when_drained(run, [chosen], jobs[chosen])
    finally:
        if run.poll() is None:
            gated.kill(run)
    site.held = {node: job for node, job in jobs.items() if node != chosen}
    gated.await_pods(*site.held)
    site.ended[jobs[chosen]] = chosen
    assert site.states(site.held) == as_begun(site.held)
    told = gated.told()
    assert "0 lost" in told, told
    assert "1 job ran on" in told or f"of whose end slurmdbd has not heard ({jobs[chosen]})" in told, told


def test_slurmdbd_hears_of_every_job_once_the_backup_is_reconfigured(site: Site) -> None:
    """What docs/outside-hosts.md says to run. Without it 26.05.5 lost these records when the primary came back."""
    assert not in_charge(PRIMARY)
    site.slurm.admin("scontrol", "reconfigure")
    assert site.in_slurmdbd() == site.as_ended()
    assert in_charge(BACKUP)
    assert site.states(site.held) == as_begun(site.held)


def test_the_primary_comes_back_to_the_jobs_and_nodes_that_are_left(site: Site) -> None:
    assert site.held, "the scale-in left them"
    outside.daemon_start(PRIMARY, "slurmctld")
    await_true(f"{PRIMARY} is in charge alone", lambda: in_charge(PRIMARY) and not in_charge(BACKUP), TAKES_OVER_S)
    site.slurm.await_registered(*site.held)
    assert site.states(site.held) == as_begun(site.held)
    site.end(site.held)
    assert site.in_slurmdbd() == site.as_ended()
    assert set(NODES) & set(site.slurm.nodes()) == set(site.held), "the removed node has no record"
    for node in site.held:
        assert site.from_login(node) == node
    assert steps(site.gated.stack.pulumi("preview", "--json")) == []
