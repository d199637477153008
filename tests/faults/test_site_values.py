"""What real sites set, on real parts: each setting's effect on kubelet, containerd, the API server or Slurm's own daemons.

One stack has all of it (tests/faults/site_parts.py): an own registry with a pull secret, storage classes, prolog and epilog,
quotas and resources, users, root's keys, node ports, raw pieces. The tests of this file are one life and run in this order.
"""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import engine, images, paths
from lab.kubernetes import layout, machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import keys, ldap, site
from lab.slurm.hosts import LAB as HOSTS
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import IMAGE, INSIDE
from tests.e2e.world import Settings, World, ready, steps
from tests.faults import site_parts, site_registry
from tests.faults.identity_parts import on_node
from tests.faults.inside_parts import answered, database, pairs
from tests.faults.later_operator import Inside
from tests.faults.site_parts import FAILS, MARKS, SIGNALLED, USER
from tests.faults.slurm_jobs import SlurmJobs
from tests.integration import leaks

NODES = ("site-0", "site-1")
MEMORY = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max"
MI = 2**20
SSH = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o ConnectTimeout=10 -o LogLevel=ERROR"
SURVEY = "#!/bin/sh\nsrun sh -c 'echo $SLURMD_NODENAME $(id -un) $(id -gn)'\n"


@dataclass
class Site(SlurmJobs):
    """The cluster, and what the site has beside it."""

    cluster: Inside
    private_key: str
    registries: dict[str, Path]
    """Folder of the registry in each Kubernetes node."""
    parts: tuple[Path, str, Path]
    """Kubeconfig, root's public key, and the job's script."""

    @property
    def world(self) -> World:
        return self.cluster.world

    def settings(self, **nodeset: Any) -> Settings:
        """The stack's settings. ``nodeset``: other values of what all NodeSets have."""
        return site_parts.settings(*self.parts, **nodeset)

    def pod(self, name: str) -> dict[str, Any]:
        """A pod by the beginning of its name, the newest where there are several."""
        found = [each for each in self.world.objects("pods", INSIDE) if each["metadata"]["name"].startswith(name)]
        return max(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))

    def inside(self, pod: str, container: str, *argv: str, stdin: str = "", check: bool = True) -> str:
        """What a command in a container of a pod prints."""
        name = self.pod(pod)["metadata"]["name"]
        place = ("exec", "-i", "-n", INSIDE, name, "-c", container, "--")
        return self.world.kubectl(*place, *argv, stdin=stdin, check=check).stdout

    def slurm(self, *argv: str) -> str:
        """What a command beside slurmctld prints."""
        return answered(self.world, *argv)

    def port(self, service: str) -> int:
        """The node port of a Service."""
        shown = json.loads(self.world.kubectl("get", "service", "-n", INSIDE, service, "-o", "json").stdout)
        return int(shown["spec"]["ports"][0]["nodePort"])

    def completed(self, *options: str) -> str:
        """The number of a job that has come to its end, its epilog included."""
        number = self.slurm("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "--wrap=true", *options).strip()
        await_true(f"job {number} has ended", lambda: self.state(number) == "COMPLETED", 120)
        return number


@contextmanager
def served(password: str, folders: dict[str, Path]) -> Iterator[None]:
    """The site's registry in each Kubernetes node, with the workers' image."""
    with ExitStack() as stack:
        for node in layout.NODES:
            images.import_into(KUBERNETES.home.socket(node), ldap.image())  # the login image: it has a client of ssh
            stack.enter_context(site_registry.running(node, IMAGE, password, folders[node.name]))
        yield


@contextmanager
def storage(world: World) -> Iterator[None]:
    """Folders of the site's file server, and classes and volumes that lead to them. Claims must be gone before the end."""
    made = (*site_parts.CLASSES, *site_parts.VOLUMES)
    names = [f"{each['kind']}/{each['metadata']['name']}" for each in made]
    on_node("rm", "-rf", site_parts.FOLDER)  # a run that was killed leaves its queue, which would be taken up
    on_node("install", "-d", "-o", "401", "-g", "401", site_parts.QUEUE, site_parts.OTHER)
    on_node("install", "-d", "-m", "1777", *site_parts.DISKS, site_parts.SCRATCH, f"{site_parts.SCRATCH}/software")
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(made))
    try:
        yield
    finally:
        world.kubectl("delete", *names)
        on_node("rm", "-rf", site_parts.FOLDER)


@pytest.fixture(scope="module")
def hpc(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    world.vacate()
    folder = tmp_path_factory.mktemp("site")
    private_key, public_key = site_parts.root_key()
    kubeconfig, script = folder / "kubeconfig", folder / "survey.sh"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(site_parts.contexts(world.env["KUBECONFIG"]))
    script.write_text(SURVEY)
    pulled, stored = secrets.token_urlsafe(12), keys.ensure(site.LAB.keys).database
    registries = {node.name: folder / f"registry-{node.name}" for node in layout.NODES}
    with served(pulled, registries), storage(world), database(site_parts.DATABASE):
        try:
            world.kubectl("create", "namespace", INSIDE)
            own = (
                site_registry.pull_secret(site_parts.PULL, INSIDE, pulled),
                site_parts.secret(site_parts.PASSWORD, secret=stored),
                site_parts.secret(site_parts.SSSD, **{"sssd.conf": "[sssd]\n"}),
            )
            world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(own))
            parts = (kubeconfig, public_key, script)
            made = world.stack("site-values", site_parts.settings(*parts))
            # The environment's kubeconfig isn't a cluster's: what the stack's file names is all that there is.
            stack = replace(made, env={**made.env, "KUBECONFIG": str(folder / "none")})
            stack.up()
            yield Site(Inside(world, stack), private_key, registries, parts)
            for user in ("slurm", USER):
                answered(world, "scancel", f"--user={user}")  # a destroy waits for jobs
            assert [leaks.find(each, engine.BACKEND, stack.folder, paths.LOGS) for each in (pulled, stored)] == [[], []]
        finally:
            world.vacate()
            world.kubectl("delete", "namespace", INSIDE, "--ignore-not-found")


def test_workers_have_an_image_of_a_registry_that_lets_no_one_else_in(hpc: Site) -> None:
    pod = hpc.pod("inside-worker-site-0")
    assert ready(pod)
    requests = site_registry.asked(hpc.registries[pod["spec"]["nodeName"]])
    assert {status for status, path in requests if "/manifests/" in path} == {200, 401}
    assert requests[0][0] == 401

    stranger: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": INSIDE},
        "spec": {
            "containers": [
                {
                    "name": "one",
                    "image": site_registry.IMAGE,
                    "imagePullPolicy": "Always",
                    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"memory": "64Mi"}},
                }
            ],
            "terminationGracePeriodSeconds": 0,
        },
    }
    hpc.world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(stranger))
    try:
        await_true("without the Secret it is refused", lambda: "401 Unauthorized" in waits_for(hpc.pod("stranger")), 120)
    finally:
        hpc.world.kubectl("delete", "pod", "-n", INSIDE, "stranger", "--wait=false")


def waits_for(pod: dict[str, Any]) -> str:
    """Why the pod's container doesn't start."""
    states = [each["state"] for each in pod["status"].get("containerStatuses", ())]
    return "".join(str(each.get("waiting", {}).get("message", "")) for each in states)


def test_slurmctlds_queue_is_in_a_volume_of_the_named_class_and_outlives_its_pod(hpc: Site) -> None:
    (claim,) = [each for each in hpc.world.objects("pvc", INSIDE) if "controller" in each["metadata"]["name"]]
    assert (claim["status"]["phase"], claim["spec"]["volumeName"]) == ("Bound", "site-queue")
    held = hpc.slurm("sbatch", "--parsable", "--hold", "-D", "/tmp", "--wrap=true").strip()
    before = hpc.pod("inside-controller-0")["metadata"]["uid"]
    hpc.world.kubectl("delete", "pod", "-n", INSIDE, "inside-controller-0")
    await_true("it is another pod", lambda: hpc.cluster.uids().get("inside-controller-0") not in (None, before), 120)
    assert hpc.state(held) == "PENDING"
    hpc.slurm("scancel", held)
    assert "job_state" in on_node_said("find", site_parts.QUEUE, "-name", "job_state*")
    assert on_node_said("ls", "-A", site_parts.OTHER) == ""


def on_node_said(*argv: str) -> str:
    """What a command on a Kubernetes node prints."""
    entered = machine.entered(KUBERNETES.home, layout.NODES[0], list(argv))
    return subprocess.run(entered, check=True, cwd="/", timeout=60, capture_output=True, text=True).stdout


def test_prolog_and_epilog_run_for_each_job_on_its_node(hpc: Site) -> None:
    number = hpc.completed("-w", "site-0")
    wanted = [f"prolog {number} 401", f"epilog {number} 401"]
    await_true("both have run", lambda: [each for each in marks(hpc, "site-0") if f" {number} " in each] == wanted, 60)
    assert not [each for each in marks(hpc, "site-1") if f" {number} " in each]


def marks(hpc: Site, node: str) -> list[str]:
    """What prolog and epilog have left on a node."""
    return hpc.inside(f"inside-worker-{node}", "slurmd", "sh", "-c", f"test ! -e {MARKS} || cat {MARKS}").splitlines()


def test_a_prolog_that_fails_drains_its_node_and_its_job_runs_once_that_is_mended(hpc: Site) -> None:
    hpc.inside("inside-worker-site-1", "slurmd", "touch", FAILS)
    place = ("-w", "site-1", "-D", "/tmp", "-o", "/dev/null")
    number = hpc.slurm("sbatch", "--parsable", "--requeue", *place, "--wrap=true").strip()
    await_true("the node is drained", lambda: "DRAIN" in hpc.node("site-1")["State"], 120)
    shown = hpc.slurm("scontrol", "-o", "show", "node", "site-1")
    assert "Reason=Prolog error" in shown
    await_true("its job is back in the queue", lambda: hpc.state(number) == "PENDING", 120)
    hpc.inside("inside-worker-site-1", "slurmd", "rm", FAILS)
    hpc.slurm("scontrol", "update", "nodename=site-1", "state=resume")
    hpc.slurm("scontrol", "release", number)
    await_true("its job runs", lambda: hpc.state(number) == "COMPLETED", 180)


@pytest.mark.parametrize(
    ("pod", "container", "mebibytes"),
    [
        ("inside-controller-0", "slurmctld", 768),
        ("inside-controller-0", "logfile", 96),
        ("inside-accounting-0", "slurmdbd", 512),
        ("inside-restapi", "slurmrestd", 512),
        ("inside-login-main", "login", 640),
        ("inside-worker-site-0", "slurmd", 500),
        ("inside-worker-site-0", "logfile", 96),
    ],
)
def test_the_kernel_holds_each_container_to_its_memory(hpc: Site, pod: str, container: str, mebibytes: int) -> None:
    assert int(hpc.inside(pod, container, "sh", "-c", MEMORY)) == mebibytes * MI


def test_a_quota_of_cpu_and_memory_counts_every_pod(hpc: Site) -> None:
    """Kubernetes admits no pod to such a namespace that has a container without requests."""
    (quota,) = hpc.world.objects("resourcequotas", INSIDE)
    used = quota["status"]["used"]
    assert int(used["pods"]) == len([each for each in hpc.world.objects("pods", INSIDE) if "deletionTimestamp" not in each])
    assert used["requests.memory"] != "0"


@pytest.mark.parametrize(("pod", "daemon"), [("inside-controller-0", "slurmctld"), ("inside-accounting-0", "slurmdbd")])
def test_raw_arguments_make_a_daemon_as_nice_as_they_say(hpc: Site, pod: str, daemon: str) -> None:
    said = hpc.inside(pod, daemon, "sh", "-c", f"ps -C {daemon} -o ni=")
    assert set(said.split()) == {site_parts.NICE}


def test_raw_arguments_reach_slurmrestd(hpc: Site) -> None:
    said = hpc.inside("inside-restapi", "slurmrestd", "ps", "-C", "slurmrestd", "-o", "args=")
    assert "--max-connections 77" in said


def test_a_raw_piece_of_a_pod_reaches_it(hpc: Site) -> None:
    said = hpc.inside("inside-accounting-0", "slurmdbd", "cat", "/etc/resolv.conf")
    assert f"{site_parts.OPTION['name']}:{site_parts.OPTION['value']}" in said.split()


def test_raw_and_plain_variables_reach_the_containers(hpc: Site) -> None:
    locale = site_parts.LOCALE
    assert hpc.inside("inside-controller-0", "slurmctld", "printenv", locale["name"]).strip() == locale["value"]
    worker = "inside-worker-site-0"
    assert hpc.inside(worker, "slurmd", "printenv", "SITE_NODE").strip() == hpc.pod(worker)["spec"]["nodeName"]
    assert hpc.inside(worker, "slurmd", "printenv", "SITE").strip() == "north"


def test_nodes_are_what_slurmd_was_told_and_the_partition_has_its_limit(hpc: Site) -> None:
    node = hpc.node("site-0")
    assert node["Weight"] == "7"
    assert {"site", "avx512"} <= set(node["AvailableFeatures"].split(","))
    assert pairs(hpc.slurm("scontrol", "-o", "show", "partition", "site"))["MaxTime"] == "00:30:00"


def test_jobs_write_to_the_sites_folder_and_only_read_its_software(hpc: Site) -> None:
    text = secrets.token_hex(8)
    hpc.slurm("srun", "-w", "site-0", "-t1", "sh", "-c", f"echo {text} > /scratch/software/version")
    assert hpc.slurm("srun", "-w", "site-1", "-t1", "cat", "/software/version").strip() == text
    refused = hpc.slurm("srun", "-w", "site-1", "-t1", "sh", "-c", "! touch /software/mine 2>&1")
    assert "Read-only file system" in refused


def test_slurmdbd_has_its_password_from_the_sites_secret_and_its_own_settings(hpc: Site) -> None:
    shown = hpc.slurm("sacctmgr", "show", "configuration")
    (purge,) = [line.split("=")[1].strip() for line in shown.splitlines() if line.startswith("PurgeJobAfter")]
    assert purge == "12 months"
    number = hpc.completed()
    row = ("sacct", "-X", "-n", "-P", "-j", number, "-o", "State")
    await_true("slurmdbd has the job", lambda: hpc.slurm(*row).strip() == "COMPLETED", 60)


def test_slurmdbd_is_reached_by_its_node_port(hpc: Site) -> None:
    port = hpc.port("inside-accounting")
    assert port == 30819 or not site_parts.TAKES_PORT
    assert all(takes(str(node.address), port) for node in layout.NODES)


def takes(address: str, port: int) -> bool:
    """Whether a host outside gets a connection."""
    argv = ["timeout", "5", "bash", "-c", 'exec 3<>"/dev/tcp/$0/$1"', address, str(port)]
    return HOSTS.run("login-1", argv, check=False).returncode == 0


def test_two_slurmrestd_answer_a_users_own_token_at_the_nodes_that_they_are_on(hpc: Site) -> None:
    """With externalTrafficPolicy: Local no other node takes the connection."""
    pods = [each for each in hpc.world.objects("pods", INSIDE) if each["metadata"]["name"].startswith("inside-restapi")]
    assert [ready(each) for each in pods] == [True, True]
    there, port = {each["spec"]["nodeName"] for each in pods}, hpc.port("inside-restapi")
    assert {node.name for node in layout.NODES if takes(str(node.address), port)} == there
    found = json.loads(hpc.world.kubectl("get", "secret", "-n", INSIDE, "portal-pass", "-o", "json").stdout)
    assert found["immutable"] is True
    token = base64.b64decode(found["data"]["token"]).decode()
    for node in layout.NODES:
        if node.name in there:
            url = f"http://{node.address}:{port}/slurm/v0.0.44/ping/"
            headers = f"X-SLURM-USER-NAME: {USER}\nX-SLURM-USER-TOKEN: {token}\n"
            said = HOSTS.run("login-1", ["curl", "-sS", "-m", "30", "-H", "@-", url], stdin=headers).stdout
            assert [each["responding"] for each in json.loads(said)["pings"]] == [True]


def test_root_comes_in_with_the_sites_key_by_the_login_nodes_port_and_runs_a_job(hpc: Site) -> None:
    save = "umask 077; cat > /tmp/site-key"
    hpc.inside("inside-login-main", "login", "sh", "-c", save, stdin=hpc.private_key)
    address = site_parts.LOGIN_NODE.address
    shell = f"ssh {SSH} -i /tmp/site-key -p {site_parts.SSH_PORT} root@{address} 'id -un; printenv SITE; srun -t1 hostname'"
    said = hpc.inside("inside-login-main", "login", "sh", "-c", shell).split()
    assert (said[:2], said[2] in NODES) == (["root", "north"], True)
    assert takes(str(address), site_parts.SSH_PORT)
    assert not takes(str(site_parts.ELSEWHERE.address), site_parts.SSH_PORT)
    stranger = (
        f"ssh-keygen -q -t ed25519 -N '' -f /tmp/other <<< y >/dev/null; {shell.replace('/tmp/site-key', '/tmp/other')} 2>&1"
    )
    assert "Permission denied" in hpc.inside("inside-login-main", "login", "bash", "-c", stranger, check=False)


def test_the_survey_and_the_smoke_jobs_ran_as_the_sites_user(hpc: Site) -> None:
    fields = "JobName,Account,QOS,NNodes,State"
    listed = ("sacct", "-X", "-n", "-P", "-S", "now-2hours", "-u", USER, "-o", fields)
    rows = [line.split("|") for line in hpc.slurm(*listed).splitlines()]
    assert ["physics", "normal", "2", "COMPLETED"] in [row[1:] for row in rows], rows
    assert len([row for row in rows if row[-1] == "COMPLETED"]) >= 2, rows
    said = on_node_said("sh", "-c", f"cat {site_parts.SCRATCH}/survey-*.out").splitlines()
    assert sorted(said)[:2] == [f"site-0 {USER} physics", f"site-1 {USER} physics"]


def test_no_token_lives_longer_than_the_site_allows(hpc: Site) -> None:
    refused = hpc.cluster.stack.program("token", "--user", USER, "--lifespan", "2h")
    assert refused.returncode == 1
    assert "keys.maxTokenLifespan allows 60 to 3600 s" in refused.stderr
    assert hpc.cluster.program("token", "--user", USER, "--lifespan", "30m").count(".") == 2


def test_slurmctld_serves_metrics(hpc: Site) -> None:
    way = f"/api/v1/namespaces/{INSIDE}/pods/inside-controller-0:6817/proxy/metrics/nodes"
    assert "slurm_nodes" in hpc.world.kubectl("get", "--raw", way).stdout


def test_the_operator_is_in_the_sites_namespace_and_a_preview_repeats_only_what_runs_each_time(hpc: Site) -> None:
    pods = hpc.world.objects("pods", site_parts.OPERATOR)
    assert [ready(each) for each in pods] == [True]
    preview = hpc.cluster.stack.pulumi("preview", "--json")
    assert {op for op, name in steps(preview) if "survey" not in name and "smoke" not in name} == set()
    said = hpc.cluster.program("check", str(hpc.cluster.stack.config_file))
    assert "the lab is a network of its own" in said


def test_a_new_template_replaces_every_worker_which_keeps_its_own_disk(hpc: Site) -> None:
    for node in NODES:
        hpc.inside(f"inside-worker-{node}", "slurmd", "sh", "-c", f"echo {node} > /disk/mine")
    claims = {each["metadata"]["name"]: each for each in hpc.world.objects("pvc", INSIDE)}
    bound = {claims[f"disk-inside-worker-{node}"]["spec"]["volumeName"] for node in NODES}
    assert bound == {"site-disk-0", "site-disk-1"}
    before = hpc.cluster.uids()
    hpc.cluster.write(hpc.settings(env={"SITE": "south"}))
    hpc.cluster.stack.up()
    after = hpc.cluster.uids()
    for node in NODES:
        pod = f"inside-worker-{node}"
        assert after[pod] != before[pod]
        assert hpc.inside(pod, "slurmd", "cat", "/disk/mine").strip() == node
        assert hpc.inside(pod, "slurmd", "printenv", "SITE").strip() == "south"


def test_a_scale_in_names_no_user_is_held_to_the_sites_limit_and_signals_as_it_says(hpc: Site) -> None:
    script = f"trap 'echo $SLURM_JOB_ID >> {SIGNALLED}; exit 0' USR2; sleep infinity & wait"
    place = ("-D", "/tmp", "-o", "/dev/null", "-t10", f"--wrap={script}")
    jobs = {node: hpc.slurm("sbatch", "--parsable", "-w", node, *place).strip() for node in NODES}
    for each in jobs.values():
        await_true(f"job {each} runs", lambda each=each: hpc.state(each) == "RUNNING", 120)  # type: ignore[misc]
    drain = {"registerDeadline": "5m", "showUsers": False, "maxAtOnce": 1, "deadline": "5s", "onDeadline": "cancel"}
    drain |= {"signal": "SIGUSR2", "grace": "30s"}
    fewer = hpc.settings(env={"SITE": "south"}, drain={**drain, "limits": {"maxJobAge": "1s"}})
    fewer["slinky-iac:nodesets"]["site"]["replicas"] = 1
    del fewer["slinky-iac:jobs"], fewer["slinky-iac:smoke"]  # they would wait for the job that stays
    hpc.cluster.write(fewer)
    refused = hpc.cluster.stack.pulumi("preview", check=False)
    assert refused.returncode != 0
    assert "maxJobAge" in refused.stdout + refused.stderr

    fewer["slinky-iac:nodesetDefaults"]["drain"] = drain
    hpc.cluster.write(fewer)
    (told,) = hpc.cluster.plan()["jobs"]
    assert told["user"].startswith("user-")
    hpc.cluster.stack.up()
    (left,) = [node for node in NODES if f"inside-worker-{node}" in hpc.cluster.uids()]
    (gone,) = {*NODES} - {left}
    assert on_node_said("cat", f"{site_parts.SCRATCH}/signalled").split() == [jobs[gone]]
    assert hpc.state(jobs[left]) == "RUNNING"
