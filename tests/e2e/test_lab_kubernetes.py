"""The lab's Kubernetes is a real one: pods on every node, names, Services, logs, exec, and routes to the hosts outside."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from lab import own_images, paths, supervise
from lab.kubernetes.layout import NODES
from lab.slurm import hosts, topology
from tests.e2e.world import World

NAMESPACE = "lab-test"
WEB = "mkdir /tmp/www; hostname > /tmp/www/index.html; echo serving; exec httpd -f -h /tmp/www"
MANIFEST = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "web", "namespace": NAMESPACE},
                "spec": {
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {
                            "terminationGracePeriodSeconds": 0,
                            "containers": [
                                {"name": "web", "image": own_images.BUSYBOX, "command": ["sh", "-c", WEB]},
                            ],
                        },
                    },
                },
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "web", "namespace": NAMESPACE},
                "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]},
            },
        ],
    }
)


def kubectl(*arguments: str, stdin: str = "") -> str:
    argv = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", *arguments]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def pods(world: World) -> Iterator[dict[str, dict[str, str]]]:
    """One web pod a node: node name to {"name", "ip"}."""
    kubectl("apply", "-f", "-", stdin=MANIFEST)

    def running() -> bool:
        found = json.loads(kubectl("-n", NAMESPACE, "get", "daemonset", "web", "-o", "json"))["status"]
        return int(found.get("numberReady", 0)) == len(NODES)

    supervise.await_true("a pod runs on every node", running, 60)
    items = json.loads(kubectl("-n", NAMESPACE, "get", "pods", "-l", "app=web", "-o", "json"))["items"]
    yield {i["spec"]["nodeName"]: {"name": i["metadata"]["name"], "ip": i["status"]["podIP"]} for i in items}
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def cluster_ip() -> str:
    return kubectl("-n", NAMESPACE, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")


def test_every_node_runs_pods_with_addresses_of_its_own_range(pods: dict[str, dict[str, str]]) -> None:
    assert {node.name for node in NODES} == set(pods)
    for node in NODES:
        assert pods[node.name]["ip"].startswith(str(node.pods.network_address).rpartition(".")[0] + ".")


def test_logs_and_exec_reach_every_node(pods: dict[str, dict[str, str]]) -> None:
    for pod in pods.values():
        assert kubectl("-n", NAMESPACE, "logs", pod["name"]) == "serving\n"
        assert kubectl("-n", NAMESPACE, "exec", pod["name"], "--", "hostname").strip() == pod["name"]


def test_service_proxy_of_the_api_server_reaches_pods(pods: dict[str, dict[str, str]]) -> None:
    said = kubectl("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/services/web:http/proxy/")
    assert said.strip() in {pod["name"] for pod in pods.values()}


def test_pods_resolve_services_and_outside_hosts_and_nothing_else(pods: dict[str, dict[str, str]]) -> None:
    pod = pods["node-2"]["name"]

    def lookup(name: str) -> str:
        argv = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", "-n", NAMESPACE, "exec", pod, "--", "nslookup", name]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30).stdout

    assert cluster_ip() in lookup(f"web.{NAMESPACE}.svc.cluster.local.")
    ctl = next(host for host in topology.HOSTS if host.name == "ctl")
    assert str(topology.OUTSIDE.network_address + ctl.offset) in lookup("ctl.")
    assert "NXDOMAIN" in lookup("no-such-host.")


def test_outside_hosts_reach_every_pod_and_the_service(pods: dict[str, dict[str, str]]) -> None:
    names = {pod["name"] for pod in pods.values()}
    for pod in pods.values():
        said = hosts.run("login-1", ["curl", "-sS", "-m", "5", f"http://{pod['ip']}/"]).stdout
        assert said.strip() == pod["name"]
    for target in (cluster_ip(), f"web.{NAMESPACE}.svc.cluster.local"):
        assert hosts.run("login-1", ["curl", "-sS", "-m", "5", f"http://{target}/"]).stdout.strip() in names


def test_pods_reach_outside_hosts_directly(pods: dict[str, dict[str, str]]) -> None:
    ctl = next(host for host in topology.HOSTS if host.name == "ctl")
    address = str(topology.OUTSIDE.network_address + ctl.offset)
    for pod in pods.values():
        said = kubectl("-n", NAMESPACE, "exec", pod["name"], "--", "ping", "-c1", "-W3", address)
        assert "1 packets received" in said
