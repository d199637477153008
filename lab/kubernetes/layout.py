"""Who is where in the lab's Kubernetes: addresses, ports, folders. No side effects.

One bridge (slab0, 10.88.0.0/24) in the machine's own network namespace joins the control plane at .1 and the nodes at
.11, .12, …; node N has the pod range 10.88.N.0/24 behind it. Everything is routed, nothing is translated, so the
Slurm hosts outside (10.99.0.0/24) and the pods see each other under their own addresses.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from lab import paths

BRIDGE = "slab0"
LINK_PREFIX = "sk-"
"""Starts the name of every node's interface on the bridge side."""
NODE_NET = IPv4Network("10.88.0.0/24")
POD_NET = IPv4Network("10.88.0.0/16")
SERVICE_NET = IPv4Network("10.96.0.0/16")
GATEWAY = IPv4Address("10.88.0.1")
"""The machine on the bridge: API server and cluster DNS listen here, and it routes between nodes and outside."""
API_SERVICE = IPv4Address("10.96.0.1")
API_PORT = 16443
ETCD_PORT = 12379
ETCD_PEER_PORT = 12380
SCHEDULER_PORT = 12259
CONTROLLER_MANAGER_PORT = 12257
DNS_HEALTH_PORT = 12353
KUBELET_HEALTH_PORT = 10248
"""On the node's own address."""
FRONT_PROXY = "front-proxy"
"""Who the API server is to the servers of its aggregation layer (Kubernetes, "Configure the Aggregation Layer")."""
DOMAIN = "cluster.local"
API_URL = f"https://{GATEWAY}:{API_PORT}"


@dataclass(frozen=True)
class Node:
    """One Kubernetes node. `number` is 1 to 3: it is the last part of the name and of the pod range."""

    number: int

    @property
    def name(self) -> str:
        """Short host name: Slurm uses `hostname -s` of a pod on the host network."""
        return f"node-{self.number}"

    @property
    def address(self) -> IPv4Address:
        """The node on the bridge."""
        return NODE_NET.network_address + 10 + self.number

    @property
    def pods(self) -> IPv4Network:
        """Addresses of the pods on this node; the first is their gateway."""
        return IPv4Network((int(POD_NET.network_address) + (self.number << 8), 24))

    @property
    def link(self) -> str:
        """The machine's end of the node's cable."""
        return f"{LINK_PREFIX}{self.name}"

    @property
    def cgroup(self) -> str:
        """The node's cgroup, relative to each hierarchy's root."""
        return f"{paths.CGROUP}/{self.name}"


NODES = tuple(Node(number) for number in (1, 2, 3))


@dataclass(frozen=True)
class Home:
    """Folders of one Kubernetes under `root`; nothing is made here."""

    root: Path

    @property
    def pki(self) -> Path:
        """Certificates, keys and the kubeconfigs made from them; root only."""
        return self.root / "pki"

    @property
    def etcd(self) -> Path:
        """etcd's data: the whole cluster."""
        return self.root / "etcd"

    def node(self, node: Node) -> Path:
        """A node's own disk."""
        return self.root / "nodes" / node.name

    def socket(self, node: Node) -> Path:
        """containerd's socket, as the machine and the node both see it."""
        return self.node(node) / "containerd.sock"

    def store(self, node: Node) -> Path:
        """containerd's images and snapshots."""
        return self.node(node) / "containerd"
