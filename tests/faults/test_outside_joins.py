"""A slurmctld in Kubernetes: hosts outside join by a load balancer's address, then by a node port, with nothing but the
hand-off. Its queue is in a claim of the site's.

The cloud is this module: it gives the Service an address, and the network a route to it, as a cloud's controller does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from lab import links
from lab.kubernetes import layout
from lab.slurm import blank
from lab.slurm.hosts import LAB as HOSTS
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.joining import Joining
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import GRACE, INSIDE, inside, started
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.inside_parts import VOLUME, answered, queue_volume
from tests.faults.slurm_jobs import SlurmJobs

METAL, DISTANT, LOGIN = "metal-3", "metal-4", "login-2"
SLURMD = (METAL, DISTANT)
SERVICE = "inside-controller"
NAME = f"{SERVICE}.{INSIDE}"
CLAIM = "site-queue"
SCHEME = "service.beta.kubernetes.io/aws-load-balancer-scheme"
ADDRESSES = {"internal": "203.0.113.17", None: "198.51.100.17"}
"""What the cloud gives, by the annotation."""
PRIVATE = ADDRESSES["internal"]
BEHIND = layout.NODES[1]
"""The node whose port a host takes. slurmctld's pod is on another one."""
NODE_PORT = 30817
TAKES_PORT = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"]).has_node_ports
"""Whether the lab's operator gives the Service the port that the stack's file names."""


def settings(addresses: Mapping[str, str], kind: str) -> Settings:
    """All in Kubernetes but two slurmd hosts and a login host. ``kind``: type of slurmctld's Service."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:cluster"]["keepNamespace"] = True
        service = {"type": kind, "annotations": {SCHEME: "internal"}}
        found["slinky-iac:controller"] |= {
            "persistence": {"existingClaim": CLAIM},
            "service": service | ({"nodePort": NODE_PORT} if TAKES_PORT else {}),
        }
        found["slinky-iac:nodesets"] = {"solo": {"replicas": 1, "pod": GRACE, "drain": {"registerDeadline": "4m"}}}
        metal = [{"name": each, "address": addresses[each], "config": {"CPUs": 2, "RealMemory": 1000}} for each in SLURMD]
        found["slinky-iac:external"] = {
            "slurmdHosts": metal,
            "loginHosts": [{"name": LOGIN, "address": addresses[LOGIN]}],
        }

    return dev_settings(edit)


@dataclass(frozen=True)
class Site(SlurmJobs):
    """The stack, and the hands that join hosts to it."""

    world: World
    stack: Stack
    hands: Joining

    def slurm(self, *argv: str) -> str:
        """What a command beside slurmctld prints."""
        return answered(self.world, *argv)

    def join(self, role: str, host: str, *more: str) -> str:
        """Render the hand-off with its keys, carry a role's folder to a host and run what is in it; what its check says."""
        self.hands.handoff(f"to-{host}", "--with-keys", "--role", role, *more)
        HOSTS.run(host, [self.hands.carry(f"to-{host}/{role}", host) + "/install.sh"], timeout=180, check=False)
        return self.hands.await_checked(host, role, timeout=180)


@pytest.fixture(scope="module")
def site(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    world.vacate()
    way = f"{PRIVATE} via {layout.NODES[0].address} dev {layout.BRIDGE}"
    with queue_volume(world):
        try:
            links.ip(f"route replace {way}")
            addresses = {host: blank.LAB.up(host) for host in (*SLURMD, LOGIN)}
            stack = world.stack("outside-joins", settings(addresses, "LoadBalancer"))
            run = started(stack, "up", "--skip-preview")
            try:
                await_true("its namespace is there", lambda: f"Namespace /{INSIDE}" in names(world, "namespace"), 300)
                world.kubectl("create", "-f", "-", stdin=yaml.safe_dump(claim()))
                await_true("its Service is there", lambda: balanced(world), 300)
                give_address(world)
                out, _ = run.communicate(timeout=600)
            finally:
                run.kill()
            assert run.returncode == 0, out[-6000:]
            yield Site(world, stack, Joining(stack, addresses, tmp_path_factory.mktemp("hands")))
        finally:
            world.vacate()
            world.kubectl("delete", "namespace", INSIDE, "--ignore-not-found")
            for host in (*SLURMD, LOGIN):
                blank.LAB.down(host)
            links.ip(f"route del {way}")


def names(world: World, kind: str) -> set[str]:
    """`KIND NAMESPACE/NAME` of each object of a kind."""
    items = json.loads(world.kubectl("get", kind, "-A", "-o", "json").stdout)["items"]
    return {f"{each['kind']} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in items}


def claim() -> dict[str, Any]:
    """The site's own claim of the volume."""
    spec = {
        "storageClassName": "",
        "volumeName": VOLUME,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": CLAIM, "namespace": INSIDE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def balanced(world: World) -> dict[str, Any] | None:
    """slurmctld's Service, once it asks for a load balancer."""
    shown = world.kubectl("get", "service", "-n", INSIDE, SERVICE, "-o", "json", check=False).stdout
    found: dict[str, Any] = json.loads(shown or "{}")
    return found if found.get("spec", {}).get("type") == "LoadBalancer" else None


def give_address(world: World) -> None:
    """What a cloud's controller does: the address in the Service's status is of the kind that its annotation asks for."""
    found = balanced(world)
    assert found is not None
    address = ADDRESSES[found["metadata"].get("annotations", {}).get(SCHEME)]
    status = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
    world.kubectl(
        "patch", "service", "-n", INSIDE, SERVICE, "--subresource=status", "--type=merge", f"-p={json.dumps(status)}"
    )


def address_of(host: str) -> str:
    """Where a host finds slurmctld."""
    return HOSTS.run(host, ["getent", "hosts", NAME]).stdout.split()[0]


def test_a_host_joins_by_the_load_balancers_address_and_runs_a_job(site: Site) -> None:
    said = site.join("slurmd", METAL)
    assert f"slurmctld has {METAL} as IDLE" in said
    assert address_of(METAL) == PRIVATE
    assert site.slurm("srun", "-w", METAL, "-t1", "hostname").strip() == METAL


def test_hosts_join_by_a_node_port_and_run_jobs(site: Site) -> None:
    """The operator leaves the Service as it was made, so an admin changes it, too. The host that had joined joins again;
    each node's port is as good."""
    document = yaml.safe_load(site.stack.config_file.read_text())
    document["config"] |= settings(site.hands.addresses, "NodePort")
    site.stack.config_file.write_text(yaml.safe_dump(document))
    site.stack.up()
    site.world.kubectl("patch", "service", "-n", INSIDE, SERVICE, "-p", json.dumps({"spec": {"type": "NodePort"}}))
    port = the_port(site.world)
    assert port == NODE_PORT or not TAKES_PORT
    for host, node in zip(SLURMD, (BEHIND, layout.NODES[2]), strict=True):
        said = site.join("slurmd", host, "--slurmctld-address", str(node.address))
        assert f"slurmctld has {host} as IDLE" in said
        assert HOSTS.run(host, ["systemctl", "show", "-p", "ExecStart", "slinky-slurmctld"]).stdout.count(f":{port} ") == 1
        assert site.slurm("srun", "-w", host, "-t1", "hostname").strip() == host


def the_port(world: World) -> int:
    """The node port of slurmctld's Service."""
    shown = json.loads(world.kubectl("get", "service", "-n", INSIDE, SERVICE, "-o", "json").stdout)
    (port,) = shown["spec"]["ports"]
    assert shown["spec"]["type"] == "NodePort"
    return int(port["nodePort"])


def test_a_user_of_a_login_host_runs_a_job_on_all_of_them(site: Site) -> None:
    site.join("login", LOGIN, "--slurmctld-address", str(layout.NODES[0].address))
    said = HOSTS.run(LOGIN, ["srun", "-N3", "-t1", "hostname"], user="alice", timeout=120).stdout
    assert sorted(said.split()) == [METAL, DISTANT, "solo-0"]


def test_jobs_on_hosts_outlive_slurmctlds_pod_whose_queue_is_in_the_sites_claim(site: Site) -> None:
    place = ("sbatch", "--parsable", "-t5", "-D", "/tmp", "-o", "/dev/null", f"--wrap={HELD}")
    jobs = [site.slurm(*place, "-w", host).strip() for host in SLURMD]
    for job in jobs:
        await_true(f"job {job} runs", lambda job=job: site.state(job) == "RUNNING", 120)  # type: ignore[misc]
    pod = ("pod", "-n", INSIDE, "inside-controller-0")
    before = site.world.kubectl("get", *pod, "-o", "jsonpath={.metadata.uid}").stdout
    site.world.kubectl("delete", *pod)
    await_true("it is another pod", lambda: uid(site.world, pod) not in ("", before), 120)
    for job in jobs:
        assert site.state(job) == "RUNNING"
    site.slurm("scancel", "--batch", "--signal=USR1", *jobs)
    for job in jobs:
        await_true(f"job {job} has ended", lambda job=job: site.state(job) == "COMPLETED", 120)  # type: ignore[misc]
    await_true("hosts are idle", lambda: {site.node(host)["State"] for host in SLURMD} == {"IDLE"}, 120)


def uid(world: World, pod: tuple[str, ...]) -> str:
    """UID of a pod; empty while it isn't there."""
    return world.kubectl("get", *pod, "-o", "jsonpath={.metadata.uid}", check=False).stdout


def test_a_destroy_leaves_the_namespace_and_the_claim(site: Site) -> None:
    site.stack.destroy()
    assert f"Namespace /{INSIDE}" in names(site.world, "namespace")
    assert f"PersistentVolumeClaim {INSIDE}/{CLAIM}" in names(site.world, "persistentvolumeclaims")
