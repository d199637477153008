"""The nodes' bridge, their cables and the routes to their pods; no address translation anywhere.

Cables die with the network namespace of the node they lead to; the routes die with the bridge.
"""

import subprocess

from lab import links
from lab.errors import LabError
from lab.kubernetes import layout
from lab.kubernetes.layout import Node

COMMENT = "slinky-lab"


def up(nodes: tuple[Node, ...]) -> None:
    """Bridge, routes to every node's pods, and to Services by way of the first node's kube-proxy. Repeatable."""
    bridge = layout.BRIDGE
    if not links.known(bridge):
        links.ip(f"link add {bridge} type bridge forward_delay 0")
    links.ip(
        f"addr replace {layout.GATEWAY}/{layout.NODE_NET.prefixlen} dev {bridge}",
        f"link set {bridge} up",
        *(f"route replace {node.pods} via {node.address} dev {bridge}" for node in nodes),
        f"route replace {layout.SERVICE_NET} via {nodes[0].address} dev {bridge}",
    )
    _let_through()


def attach(node: Node, nodes: tuple[Node, ...], pid: int) -> None:
    """Join the network namespace of process `pid` to the bridge as `node`, if it is not joined yet."""
    inside = ["nsenter", "-t", str(pid), "-n"]
    if not links.known("eth0", inside=inside):
        if links.known(node.link):  # left over from a namespace that the kernel has not taken down yet
            links.delete(node.link)
        links.ip(f"link add {node.link} type veth peer name eth0 netns {pid}")
        # A Service that this node's kube-proxy doesn't know yet has no way from its pods, as in a cluster. By the machine's
        # route it would go through the first node, whose address slurmctld would then take for that of a new slurmd.
        links.ip(f"rule add from {node.pods} to {layout.SERVICE_NET} unreachable", inside=inside)
    links.ip(f"link set {node.link} master {layout.BRIDGE}", f"link set {node.link} up")
    links.ip(
        f"addr replace {node.address}/{layout.NODE_NET.prefixlen} dev eth0",
        "link set eth0 up",
        f"route replace default via {layout.GATEWAY}",
        *(f"route replace {other.pods} via {other.address}" for other in nodes if other != node),
        inside=inside,
    )


def down() -> None:
    """Remove the bridge, what is left of the cables, and our forwarding rules."""
    for rule in _rules():
        subprocess.run(["iptables", "-w", "-D", *rule.split()[1:]], capture_output=True, check=False)
    links.remove(layout.BRIDGE, layout.LINK_PREFIX)


def _let_through() -> None:
    """Accept forwarded traffic of the bridge where the machine (Docker, a firewall) would drop it.

    An untouched FORWARD chain stays untouched: there is then nothing to clean up.
    """
    chain = _iptables("-S", "FORWARD").splitlines()
    if chain == ["-P FORWARD ACCEPT"] or _rules():
        return
    for side in ("-i", "-o"):
        _iptables("-I", "FORWARD", side, layout.BRIDGE, "-m", "comment", "--comment", COMMENT, "-j", "ACCEPT")


def _rules() -> list[str]:
    done = subprocess.run(["iptables", "-w", "-S", "FORWARD"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if COMMENT in line]


def _iptables(*arguments: str) -> str:
    done = subprocess.run(["iptables", "-w", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`iptables {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout
