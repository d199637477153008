"""kube-router's firewall on every node of a lab that is up: NetworkPolicies hold while a test asks, never by `lab up`.

Only its firewall runs: pods' network and Services stay with the lab's CNI and kube-proxy. It is a process in each node's
namespaces, as kubelet is, and its rules are in the node's own tables. The module proxy serves no newer release.
"""

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import apt, obtain, supervise, tools
from lab.errors import LabError
from lab.kubernetes import layout, machine, pki
from lab.kubernetes.cluster import Kubernetes
from lab.kubernetes.layout import Node
from lab.obtain import Say

NEEDED = {"ipset": "ipset"}
HOOKS = ("INPUT", "FORWARD", "OUTPUT")
SYNC = "30s"
"""How often it writes all rules again; changes of pods and policies are written at once."""


def program(*, say: Say = print) -> Path:
    """kube-router; built if it is not in CACHE, and what it runs is installed. Raises LabError if it can't be had."""
    apt.ensure(NEEDED, say=say)
    return obtain.ensure((tools.ENFORCER,), say=say)["kube-router"]


@contextmanager
def enforced(kubernetes: Kubernetes, *, say: Say = print) -> Iterator[None]:
    """Policies hold on every node inside of this, and on none after it."""
    binary = program(say=say)
    try:
        for node in kubernetes.nodes:
            argv = machine.entered(kubernetes.home, node, _argv(kubernetes, node, binary))
            supervise.start(_name(node), argv, restarts=True)
        for node in kubernetes.nodes:
            what = f"kube-router of {node.name} is before all forwarded packets"
            supervise.await_true(what, lambda node=node: _hooked(kubernetes, node), 60, log=_name(node))  # type: ignore[misc]
        yield
    finally:
        for node in kubernetes.nodes:
            supervise.stop(_name(node))
            _unhook(kubernetes, node)


def _name(node: Node) -> str:
    return f"{node.name}-kube-router"


def _argv(kubernetes: Kubernetes, node: Node, binary: Path) -> list[str]:
    return [
        str(binary), "--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--run-loadbalancer=false",
        f"--kubeconfig={pki.kubeconfig(kubernetes.home, 'admin')}", f"--hostname-override={node.name}",
        f"--service-cluster-ip-range={layout.SERVICE_NET}", f"--iptables-sync-period={SYNC}",
        "--health-port=0", "--metrics-port=0", "--v=1",
    ]  # fmt: skip


def _hooked(kubernetes: Kubernetes, node: Node) -> bool:
    return any("KUBE-ROUTER-FORWARD" in rule for rule in _rules(kubernetes, node, "FORWARD"))


def _unhook(kubernetes: Kubernetes, node: Node) -> None:
    """Take the jumps to its chains away: what is left of them sees no packet."""
    for hook in HOOKS:
        for rule in _rules(kubernetes, node, hook):
            if "-j KUBE-ROUTER-" in rule:
                _iptables(kubernetes, node, "-D", *shlex.split(rule)[1:])


def _rules(kubernetes: Kubernetes, node: Node, chain: str) -> list[str]:
    return _iptables(kubernetes, node, "-S", chain).splitlines()


def _iptables(kubernetes: Kubernetes, node: Node, *arguments: str) -> str:
    argv = machine.entered(kubernetes.home, node, ["iptables", "-w", *arguments])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`iptables {' '.join(arguments)}` failed on {node.name}: {done.stderr.strip()}")
    return done.stdout
