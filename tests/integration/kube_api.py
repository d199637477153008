"""A real Kubernetes API server without nodes: etcd and kube-apiserver of the lab, on loopback, for one module of tests."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import obtain, tools
from slinky_iac.parts.fence.policy import Policy

ADMISSION = "admissionregistration.k8s.io/v1"
TOKEN = "a-token-of-the-test"
TRIES = 3


@dataclass(frozen=True)
class KubeApi:
    """Where it is, and kubectl."""

    kubeconfig: Path

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl; its failure is the test's."""
        command = ["kubectl", f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make_nodes(self, *names: str) -> None:
        """Node objects that no kubelet is behind."""
        for name in names:
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"example.org/rack": "r1"}}}
            self.kubectl("apply", "-f", "-", stdin=json.dumps(node))

    def make_policy(self, policy: Policy) -> None:
        """One of the fence's policies, and its binding."""
        for kind, spec in (("ValidatingAdmissionPolicy", policy.spec), ("ValidatingAdmissionPolicyBinding", policy.binding)):
            body = {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": policy.name}, "spec": spec}
            self.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def node(self, name: str) -> dict[str, Any]:
        """metadata of a node."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "node", name, "-o", "json", "--show-managed-fields"))
        return dict(found["metadata"])


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def write_kubeconfig(file: Path, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    """A kubeconfig of one cluster and one user, each as the file's format has it."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "one", "user": user}],
    }
    file.write_text(json.dumps(config))


@contextmanager
def served(folder: Path) -> Iterator[KubeApi]:
    """The server, until the block ends. Started again where it ended before it was ready: a port that was free when it was
    chosen can be somebody's connection by then."""
    for attempt in map(str, range(TRIES)):
        with _running(folder / attempt) as (made, programs):
            if _is_ready(made, programs):
                yield made
                return
    logs = "\n".join(path.read_text()[-800:] for path in sorted(folder.glob("*/*.log")))
    raise AssertionError(f"etcd or the API server ended {TRIES} times before it was ready:\n{logs}")


@contextmanager
def _running(folder: Path) -> Iterator[tuple[KubeApi, list[subprocess.Popen[bytes]]]]:
    folder.mkdir()
    etcd, peer, api = free_port(), free_port(), free_port()
    key = folder / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n")
    program = obtain.ensure([tools.tool("kubernetes")], say=lambda _line: None)["kube-apiserver"]
    commands = [
        ["etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}",
         f"--advertise-client-urls=http://127.0.0.1:{etcd}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
         "--unsafe-no-fsync"],
        [str(program), f"--etcd-servers=http://127.0.0.1:{etcd}", f"--secure-port={api}", "--bind-address=127.0.0.1",
         "--advertise-address=127.0.0.1", f"--cert-dir={folder}/certs", f"--token-auth-file={folder}/tokens.csv",
         "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
         f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
         "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true"],
    ]  # fmt: skip
    made = KubeApi(folder / "kubeconfig")
    cluster = {"server": f"https://127.0.0.1:{api}", "insecure-skip-tls-verify": True}
    write_kubeconfig(made.kubeconfig, cluster, {"token": TOKEN})
    programs: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{Path(command[0]).name}.log").open("w") as log:
                programs.append(subprocess.Popen(command, stdout=log, stderr=log))
        yield made, programs
    finally:
        for each in reversed(programs):
            each.terminate()
            try:
                each.wait(30)
            except subprocess.TimeoutExpired:  # kube-apiserver waits a minute for the requests of an engine that was killed
                each.kill()
                each.wait(30)


def _is_ready(made: KubeApi, programs: list[subprocess.Popen[bytes]]) -> bool:
    """Wait until the server is; False where one of the programs ended instead."""
    until = time.monotonic() + 90
    command = ["kubectl", f"--kubeconfig={made.kubeconfig}", "get", "--raw=/readyz", "--request-timeout=2s"]
    while subprocess.run(command, capture_output=True, check=False, timeout=30).returncode:
        assert time.monotonic() < until, "the API server isn't ready in 90 s"
        if any(program.poll() is not None for program in programs):
            return False
        time.sleep(0.3)
    return True
