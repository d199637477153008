"""slurmctld in Kubernetes loses partitions and hosts while jobs run and wait: each ends COMPLETED, by slurmdbd's own rows.

Without the gate, Slurm ends such jobs with NODE_FAIL and doesn't requeue them (``Killing JobId=… on defunct partition``).

From slurm-operator 1.2 on a changed slurm.conf restarts slurmctld's pod. Without a volume no update may do that under jobs.
So slurmctld has a volume here with such a release, and what is said of a slurmctld without one is asked of 1.0.1 only.

slurmrestd 25.11 can't close a partition. There each update that loses one changes nothing, prints the lines that close it,
and continues once a person has run them. Nor does slurmctld 25.11 tell when it has read its configuration: hosts stay
drained until the next `pulumi up`, once `scontrol show node` shows the new line.
"""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import given_slurm
from lab.slurm import blank, daemons, keys, site
from lab.slurm.cluster import LAB as SLURM
from lab.slurm.hosts import LAB as HOSTS
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.joining import Joining
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, exec_in, started
from tests.e2e.world import Settings, World, dev_settings, encrypted
from tests.faults.inside_parts import answered, database, pairs, queue_volume
from tests.faults.slurm_jobs import SlurmJobs
from tests.faults.test_planned_stop import settings as all_inside

METAL = "metal-3"
DATABASE = "slurm_acct_db_conf"
SECOND = "10.99.0.250"
"""Another address that the metal host gets."""
RESTARTS = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"]).prunes_slurm_conf
"""Whether the lab's operator restarts slurmctld's pod over a changed slurm.conf."""
CLOSES = given_slurm.release() >= "26.05"
"""Whether slurmrestd can close a partition."""
UNTOLD = "doesn't tell when it read its configuration"
SUSPECT = ("Killing JobId", "defunct partition", "Invalid node names", "Failed to reconfigure")


def settings(address: str) -> Settings:
    """Two NodeSets with a partition of their own, each in a shared one too; one for all; a metal host."""
    found = all_inside("imported")
    found["slinky-iac:cluster"]["images"]["slurmdbd"] = IMAGE
    found["slinky-iac:accounting"] = {"database": {"host": "dbd", "name": DATABASE, "username": "slurm"}, "pod": GRACE}
    found["slinky-iac:drain"] = {"deadline": "4m"}
    nodeset = {"replicas": 1, "pod": GRACE, "drain": {"deadline": "4m", "registerDeadline": "4m"}}
    found["slinky-iac:nodesets"] = {"solo": copy.deepcopy(nodeset), "gpu": copy.deepcopy(nodeset)}
    found["slinky-iac:partitions"] |= {"training": {"nodesets": ["gpu"]}, "batch": {"nodesets": ["solo"]}}
    metal = {"name": METAL, "address": address, "config": {"CPUs": 2, "RealMemory": 1000}}
    found["slinky-iac:external"] = {"slurmdHosts": [metal]}
    if RESTARTS:
        found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
        found["slinky-iac:controller"]["extraConf"] |= {"ReturnToService": "2"}
    return found


@dataclass
class Cluster(SlurmJobs):
    """The stack and what it is made of now."""

    world: World
    stack: Stack
    settings: Settings
    since: str
    """When all of it was up. The sidecar that reconfigures complains until slurmctld serves for the first time."""

    def set(self, section: str, **changes: Any) -> None:
        """Change a section: a value to set, None to take out."""
        held = self.settings[f"slinky-iac:{section}"]
        for name, value in changes.items():
            held.pop(name, None)
            if value is not None:
                held[name] = value
        document = yaml.safe_load(self.stack.config_file.read_text())
        document["config"] = {**self.settings, **encrypted(self.stack)}
        self.stack.config_file.write_text(yaml.safe_dump(document))

    def slurm(self, *argv: str) -> str:
        """A command in slurmctld's pod, once that is there."""
        return answered(self.world, *argv) if RESTARTS else exec_in(self.world, *argv)

    def submit(self, *options: str, seconds: int | None = None) -> str:
        """A job that sleeps, or without ``seconds`` runs until :meth:`end`."""
        script = f"sleep {seconds}" if seconds is not None else HELD
        wrap = f"--wrap={script}"
        return self.slurm("sbatch", "--parsable", "--no-requeue", "-D", "/tmp", "-o", "/dev/null", *options, wrap).strip()

    def end(self, *jobs: str) -> None:
        """Let running jobs end by themselves, with exit code 0."""
        for job in jobs:
            await_true(f"job {job} runs", lambda job=job: self.state(job) == "RUNNING", 120)  # type: ignore[misc]
        self.slurm("scancel", "--batch", "--signal=USR1", *jobs)

    def through(self, start: Callable[[], subprocess.Popen[str]], closed: Callable[[], bool], *jobs: str) -> None:
        """A command of pulumi that waits for jobs, once what leaves is closed; then they end, one after the other."""
        run = start()
        try:
            await_true("what leaves is closed, or has to be", lambda: closed() or run.poll() is not None, 300)
            if not CLOSES and run.poll() is not None:
                self.close_by_hand(run.communicate()[0])
                run = start()
            await_true("what leaves is closed", closed, 300)
            for job in jobs:
                self.end(job)
            out, _ = run.communicate(timeout=600)
            if not CLOSES and run.returncode != 0 and UNTOLD in out:
                await_true(
                    "the next `pulumi up` ends well", lambda: self.stack.up(check=False).returncode == 0, 240, every=10.0
                )
                return
        finally:
            run.kill()
        assert run.returncode == 0, out[-6000:]

    def close_by_hand(self, said: str) -> None:
        """What a person does where slurmrestd can't: run the lines that an update prints before it changes anything."""
        lines = dict.fromkeys(re.findall(r"kubectl exec [^;\n]+ state=[a-z]+", said))
        assert "Nothing was changed" in said, said
        assert lines, said
        assert set(self.partitions().values()) == {"UP"}
        for line in lines:
            self.world.kubectl(*line.split()[1:])

    def up(self, closed: Callable[[], bool], *jobs: str) -> None:
        """`pulumi up` while these jobs run or wait."""
        self.through(lambda: started(self.stack, "up", "--skip-preview"), closed, *jobs)

    def two(self, *options: str) -> tuple[str, str]:
        """A job that runs and one that waits for it."""
        first, second = self.submit("--exclusive", *options), self.submit("--exclusive", *options)
        await_true("one runs, one waits", lambda: (self.state(first), self.state(second)) == ("RUNNING", "PENDING"), 60)
        return first, second

    def accounted(self, *jobs: str) -> list[str]:
        """What slurmdbd says of jobs, one line a run."""
        said = self.slurm("sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs), "-o", "JobID,State,ExitCode")
        return said.splitlines()

    def all_completed(self, *jobs: str) -> None:
        wanted = [f"{job}|COMPLETED|0:0" for job in sorted(jobs, key=int)]
        await_true("slurmdbd has heard of it", lambda: "RUNNING" not in "".join(self.accounted(*jobs)), 60)
        assert sorted(self.accounted(*jobs), key=lambda row: int(row.split("|")[0])) == wanted

    def partitions(self) -> dict[str, str]:
        rows = self.slurm("scontrol", "-o", "show", "partition").splitlines()
        return {each["PartitionName"]: each["State"] for each in map(pairs, rows)}

    def node(self, name: str) -> dict[str, str]:
        row = self.slurm("scontrol", "-o", "show", "node", name)
        return pairs(row)

    def plan(self) -> dict[str, Any]:
        """What the preview shows on the gate."""
        steps = json.loads(self.stack.pulumi("preview", "--json").stdout)["steps"]
        (gate,) = [step for step in steps if "ControllerGate" in step["urn"]]
        found: dict[str, Any] = gate["newState"]["inputs"]["plan"]
        return found

    def complaints(self) -> list[str]:
        """What slurmctld said of jobs or of its file that it never should."""
        whole = ("--all-containers", "--tail=-1", f"--since-time={self.since}")
        said = self.world.kubectl("logs", "-n", INSIDE, "inside-controller-0", *whole).stdout
        return [line for line in said.splitlines() if any(word in line for word in SUSPECT)]


@pytest.fixture(scope="module")
def cluster(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    world.vacate()
    with database(DATABASE), queue_volume(world):
        address = blank.LAB.up(METAL)
        try:
            made = settings(address)
            stack = world.stack("conf-gate", made)
            password = keys.ensure(site.LAB.keys).database
            stack.pulumi("config", "set", "--secret", "databasePassword", stdin=password)
            stack.up()
            hands = Joining(stack, {METAL: address}, tmp_path_factory.mktemp("hands"))
            hands.handoff("hand", "--with-keys", "--role", "slurmd")
            HOSTS.run(METAL, [hands.carry("hand/slurmd", METAL) + "/install.sh"])
            hands.await_checked(METAL, "slurmd")
            yield Cluster(world, stack, made, datetime.now(UTC).isoformat())
        finally:
            if any(pod["metadata"]["name"] == "inside-controller-0" for pod in world.objects("pods", INSIDE)):
                exec_in(world, "scancel", "--user=slurm")  # what a failed test left would be waited for
            world.vacate()
            blank.LAB.down(METAL)
            SLURM.write()


def test_a_nodeset_and_its_shared_partition_go_in_one_update_and_its_jobs_end_well(cluster: Cluster) -> None:
    running, waiting = cluster.two("-p", "training")
    own = cluster.submit("-p", "gpu")
    other = cluster.submit("-p", "main", "-w", "solo-0")
    cluster.set("partitions", training=None)
    cluster.set("nodesets", gpu=None)
    plan = cluster.plan()
    assert (plan["partitions"], {job["job"] for job in plan["jobs"]}) == (["gpu", "training"], {running, waiting, own})
    closed = {"training": "DRAIN", "gpu": "DRAIN"}
    cluster.up(lambda: closed.items() <= cluster.partitions().items(), running, waiting, own)
    cluster.all_completed(running, waiting, own)
    await_true("both partitions are gone", lambda: cluster.partitions().keys() == {"batch", "main", "solo"}, 120)
    assert cluster.state(other) == "RUNNING"
    cluster.end(other)
    cluster.all_completed(other)
    assert cluster.complaints() == []


def test_a_renamed_partition_loses_no_job(cluster: Cluster) -> None:
    running, waiting = cluster.two("-p", "batch")
    cluster.set("partitions", batch=None, bulk={"nodesets": ["solo"]})
    cluster.up(lambda: cluster.partitions()["batch"] == "DRAIN", running, waiting)
    cluster.all_completed(running, waiting)
    await_true("it has its new name", lambda: cluster.partitions().keys() == {"bulk", "main", "solo"}, 120)
    cluster.submit("-p", "bulk", seconds=0)
    assert cluster.complaints() == []


def test_a_partition_stays_at_the_deadline_and_opens_again_where_it_is_wanted_after_all(cluster: Cluster) -> None:
    running = cluster.submit("-p", "bulk")
    await_true("it runs", lambda: cluster.state(running) == "RUNNING", 60)
    cluster.set("drain", deadline="5s")
    cluster.set("partitions", bulk=None)
    ended = cluster.stack.up(check=False)
    if not CLOSES:
        cluster.close_by_hand(ended.stdout + ended.stderr)
        ended = cluster.stack.up(check=False)
    assert ended.returncode != 0
    assert (cluster.partitions()["bulk"], cluster.state(running)) == ("DRAIN", "RUNNING"), ended.stdout
    assert f"partition bulk: 1 job ({running} of slurm)" in ended.stdout + ended.stderr, "slurmctld's pod runs as slurm"
    cluster.set("partitions", bulk={"nodesets": ["solo"]})
    cluster.set("drain", deadline="4m")
    if CLOSES:
        assert cluster.plan()["gives_back"] == ["partition bulk"]
    cluster.stack.up()
    if not CLOSES:
        assert cluster.partitions()["bulk"] == "DRAIN", "what a person closed, a person opens"
        cluster.slurm("scontrol", "update", "partitionname=bulk", "state=up")
    assert cluster.partitions()["bulk"] == "UP"
    cluster.end(running)
    cluster.all_completed(running)


def test_other_cpus_of_a_host_wait_for_its_jobs_and_it_goes_back_to_work(cluster: Cluster) -> None:
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    running = cluster.submit("-p", "main", "-w", METAL, "-n2")
    (host,) = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    cluster.set("external", slurmdHosts=[{**host, "config": {"CPUs": 1, "RealMemory": 1000}}])
    cluster.up(lambda: "DRAIN" in cluster.node(METAL)["State"], running)
    cluster.all_completed(running)
    await_true("it has one CPU", lambda: cluster.node(METAL)["CPUTot"] == "1", 60)
    assert "DRAIN" not in cluster.node(METAL)["State"]


def test_another_address_of_a_host_waits_for_its_jobs(cluster: Cluster) -> None:
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    running = cluster.submit("-p", "main", "-w", METAL)
    hosts = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    in_host = ["nsenter", "-t", str(HOSTS.pid(METAL)), "-n", "ip", "addr", "add", f"{SECOND}/24", "dev", "eth0"]
    subprocess.run(in_host, check=True)
    cluster.set("external", slurmdHosts=[{**hosts[0], "address": SECOND}])
    cluster.up(lambda: "DRAIN" in cluster.node(METAL)["State"], running)
    cluster.all_completed(running)
    await_true("it has the address", lambda: cluster.node(METAL)["NodeAddr"] == SECOND, 60)
    await_true("it is at work there", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
    cluster.set("external", slurmdHosts=hosts)
    cluster.stack.up()


def test_a_host_that_is_taken_out_of_the_file_loses_no_job(cluster: Cluster) -> None:
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    running = cluster.submit("-p", "main", "-w", METAL)
    hosts = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    cluster.set("external", slurmdHosts=None)
    assert cluster.plan()["hosts"] == [METAL]
    cluster.up(lambda: "DRAIN" in cluster.node(METAL)["State"], running)
    cluster.all_completed(running)
    await_true("slurmctld forgot the host", lambda: METAL not in cluster.slurm("sinfo", "-h", "-N", "-o", "%N"), 120)
    cluster.set("external", slurmdHosts=hosts)
    cluster.stack.up()


def test_what_a_review_saved_closes_a_partition_and_drains_a_host(cluster: Cluster, tmp_path: Path) -> None:
    """`pulumi up --plan`, the strict way of docs/ci.md: jobs that the review showed are waited for."""
    cluster.set("partitions", reviewed={"nodesets": ["solo"]})
    cluster.stack.up()
    await_true("the partition is there", lambda: "reviewed" in cluster.partitions(), 120)
    running = cluster.submit("-p", "reviewed")
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
    on_host = cluster.submit("-p", "main", "-w", METAL)
    await_true("both run", lambda: {cluster.state(running), cluster.state(on_host)} == {"RUNNING"}, 60)
    hosts = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    cluster.set("partitions", reviewed=None)
    cluster.set("external", slurmdHosts=None)
    saved = tmp_path / "plan.json"
    cluster.stack.pulumi("preview", "--save-plan", str(saved))
    cluster.through(
        lambda: started(cluster.stack, "up", "--plan", str(saved)),
        lambda: cluster.partitions()["reviewed"] == "DRAIN" and "DRAIN" in cluster.node(METAL)["State"],
        *(running, on_host),
    )
    cluster.all_completed(running, on_host)
    await_true("slurmctld forgot both", lambda: "reviewed" not in cluster.partitions(), 120)
    assert METAL not in cluster.slurm("sinfo", "-h", "-N", "-o", "%N")

    cluster.set("external", slurmdHosts=hosts)
    cluster.stack.pulumi("preview", "--save-plan", str(saved))
    cluster.stack.pulumi("up", "--yes", "--plan", str(saved))
    await_true("the host is back", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
    assert cluster.complaints() == []


def test_a_nodeset_that_is_replaced_waits_for_the_queue_of_its_own_partition(cluster: Cluster) -> None:
    """The stack's file keeps the partition, so only the NodeSet's own gate stands before its loss."""
    running, waiting = cluster.two("-p", "solo")
    made = json.loads(cluster.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    (urn,) = [each["urn"] for each in made if each["urn"].endswith("-solo-nodeset")]
    start = lambda: started(cluster.stack, "up", "--skip-preview", "--replace", urn)  # noqa: E731
    cluster.through(start, lambda: cluster.partitions()["solo"] == "DRAIN", running, waiting)
    cluster.all_completed(running, waiting)
    await_true("its partition is open", lambda: cluster.partitions().get("solo") == "UP", 120)
    assert cluster.complaints() == []


def test_a_partition_over_a_nodeset_that_comes_with_it_never_breaks_the_file(cluster: Cluster) -> None:
    solo = cluster.settings["slinky-iac:nodesets"]["solo"]
    cluster.set("nodesets", late=copy.deepcopy(solo))
    cluster.set("partitions", fresh={"nodesets": ["late"]}, spare={"nodesets": []})
    cluster.stack.up()
    await_true("both are there", lambda: {"fresh", "late", "spare"} <= cluster.partitions().keys(), 120)
    job = cluster.submit("-p", "fresh", seconds=0)
    await_true("it has ended", lambda: cluster.state(job) == "COMPLETED", 120)
    assert cluster.complaints() == []


def test_a_partition_goes_while_slurmdbd_is_down_and_its_jobs_end_well(cluster: Cluster) -> None:
    """The operator does not change the Service back, so slurmdbd's next pod is not reachable."""
    world, pod, service = cluster.world, "inside-accounting-0", ("service", "-n", INSIDE, "inside-accounting")
    selector = json.loads(world.kubectl("get", *service, "-o", "json").stdout)["spec"]["selector"]
    running, waiting = cluster.two("-p", "fresh")
    world.kubectl("patch", *service, "--type=merge", "-p", json.dumps({"spec": {"selector": {"nothing": "here"}}}))
    try:
        world.kubectl("delete", "pod", "-n", INSIDE, pod)
        cluster.set("partitions", fresh=None)
        cluster.up(lambda: cluster.partitions()["fresh"] == "DRAIN", running, waiting)
        await_true("the partition is gone", lambda: "fresh" not in cluster.partitions(), 120)
    finally:
        patch = {"spec": {"selector": {"nothing": None, **selector}}}
        world.kubectl("patch", *service, "--type=merge", "-p", json.dumps(patch))
    cluster.all_completed(running, waiting)
    assert cluster.complaints() == []


if not RESTARTS:

    def test_a_slurmctld_that_keeps_no_state_is_not_restarted_over_its_jobs(cluster: Cluster) -> None:
        await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
        running = cluster.submit("-p", "main", "-w", METAL)
        pod = cluster.settings["slinky-iac:controller"]["pod"]
        cluster.set("controller", pod={**pod, "labels": {"team": "hpc"}})
        assert f"1 job ({running} of slurm)" in cluster.stack.pulumi("preview").stdout
        ended = cluster.stack.up(check=False)
        assert ended.returncode != 0
        assert "controller.persistence is off" in ended.stdout + ended.stderr
        assert cluster.state(running) == "RUNNING"
        cluster.set("controller", pod=pod)
        cluster.stack.up()
        cluster.end(running)
        cluster.all_completed(running)


def test_a_host_that_registers_wrongly_is_named_and_ends_no_update(cluster: Cluster) -> None:
    """slurmctld refuses to undrain a host whose slurmd has less than its line says (INVALID_REG).

    The drain is slurmctld's own by then, which it keeps when the line is right again: an admin returns the host.
    """
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    running = cluster.submit("-p", "main", "-w", METAL)
    (host,) = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    cluster.set("external", slurmdHosts=[{**host, "config": {"CPUs": 2, "RealMemory": 90_000_000}}])
    cluster.up(lambda: "DRAIN" in cluster.node(METAL)["State"], running)
    cluster.all_completed(running)
    await_true("slurmctld refuses its registration", lambda: "INVALID_REG" in cluster.node(METAL)["State"], 120)
    beside = cluster.submit("-p", "main", "-w", "solo-0")
    cluster.set("partitions", other={"nodesets": ["solo"]})
    done = cluster.stack.up(check=False)
    assert done.returncode == 0, done.stdout
    cluster.set("external", slurmdHosts=[host])
    cluster.stack.up()
    await_true("it registers as it is", lambda: "INVALID_REG" not in cluster.node(METAL)["State"], 120)
    cluster.stack.up()
    assert (cluster.node(METAL)["State"], cluster.node(METAL)["Reason"]) == ("IDLE+DRAIN", "Low")
    cluster.slurm("scontrol", "update", f"nodename={METAL}", "state=resume")
    await_true("the host works again", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
    cluster.set("partitions", other=None)
    cluster.stack.up()
    cluster.end(beside)
    cluster.all_completed(beside)


def test_a_renamed_stack_gives_back_what_a_killed_update_drained(cluster: Cluster) -> None:
    """The drain has the tag of the stack's name when it began."""
    await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    running = cluster.submit("-p", "main", "-w", METAL)
    (host,) = cluster.settings["slinky-iac:external"]["slurmdHosts"]
    other = 3 - host["config"]["CPUs"]  # an earlier test may have left it with one of its two
    cluster.set("external", slurmdHosts=[{**host, "config": {**host["config"], "CPUs": other}}])
    run = started(cluster.stack, "up", "--skip-preview", group=True)

    def drained() -> bool:
        assert run.poll() is None, run.communicate()[0][-4000:]
        return "DRAIN" in cluster.node(METAL)["State"]

    await_true("it is drained", drained, 300)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    cluster.stack.unlock()
    old = cluster.stack.name
    cluster.stack.pulumi("stack", "rename", "conf-gate-renamed")
    renamed = cluster.world.named("conf-gate-renamed", cluster.stack.folder)
    try:
        cluster.stack = renamed
        cluster.set("external", slurmdHosts=[host])
        renamed.up()
        assert "DRAIN" not in cluster.node(METAL)["State"]
        assert cluster.state(running) == "RUNNING"
        cluster.end(running)
        cluster.all_completed(running)
        await_true("the host works again", lambda: cluster.node(METAL)["State"] == "IDLE", 60)
    finally:
        renamed.pulumi("stack", "rename", old)
        cluster.stack = cluster.world.named(old)


if not RESTARTS:  # the last one: nothing is left of the stack after it

    def test_a_destroy_waits_for_the_queue_and_for_metal(cluster: Cluster) -> None:
        """slurmctld's state isn't kept: what waits would be forgotten, and what runs on metal would run on unknown."""
        await_true("the host is idle", lambda: cluster.node(METAL)["State"] == "IDLE", 120)
        on_metal = cluster.submit("-p", "main", "-w", METAL)
        running, waiting = cluster.two("-p", "bulk")
        cluster.stack.pulumi("state", "unprotect", "--all", "--yes")
        start = lambda: started(cluster.stack, "destroy", "--skip-preview")  # noqa: E731
        cluster.through(start, lambda: set(cluster.partitions().values()) == {"DRAIN"}, on_metal, running, waiting)
        ids = ",".join((on_metal, running, waiting))
        query = f"SELECT id_job, state, exit_code FROM {DATABASE}.inside_job_table WHERE id_job IN ({ids}) ORDER BY id_job;"
        mariadb = ["mariadb", f"--socket={daemons.SOCKET}", "-N", "-B"]
        rows = HOSTS.run(daemons.MARIADB.host, mariadb, stdin=query).stdout.splitlines()
        assert rows == [f"{job}\t3\t0" for job in sorted((on_metal, running, waiting), key=int)], "3 is JOB_COMPLETE"
