"""The outside network on this machine: one bridge, one veth pair a host, routes; no address translation.

All of it but the bridge dies with the hosts: a veth pair goes when the network namespace of its other end does (which
a dying TCP connection may delay for minutes, so `down` does not wait for it).
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import links
from lab.slurm.topology import Host, Network

GUARD_METRIC = "4000000000"
FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


@dataclass(frozen=True)
class Outside:
    """Makes and removes `network` in the machine's own network namespace."""

    network: Network

    def up(self) -> None:
        """Bridge with the gateway's address, forwarding on. Does nothing that is done already."""
        bridge = self.network.bridge
        if not links.known(bridge):
            links.ip(f"link add {bridge} type bridge forward_delay 0")
        links.ip(
            f"addr replace {self.network.gateway}/{self.network.subnet.prefixlen} dev {bridge}", f"link set {bridge} up"
        )
        if self.network.pods is not None:
            # While the pod network is not there, a host's question to cluster DNS must fail here instead of
            # leaving this machine through its default route. The pod bridge's own route has a better metric.
            links.ip(f"route replace unreachable {self.network.pods} metric {GUARD_METRIC}")
        if FORWARD.read_text().strip() != "1":
            FORWARD.write_text("1\n")

    def attach(self, host: Host, pid: int) -> None:
        """Join the network namespace of process `pid` as `host`, if it is not joined yet."""
        inside = ["nsenter", "-t", str(pid), "-n"]
        side = f"{self.network.prefix}{host.name}"
        if not links.known("eth0", inside=inside):
            if links.known(side):  # left over from a namespace that the kernel has not taken down yet
                links.delete(side)
            # The same host always has the same hardware address: neighbours keep the old one for half a minute.
            mac = self.network.mac(host.offset)
            links.ip(f"link add {side} type veth peer name eth0 address {mac} netns {pid}")
        links.ip(f"link set {side} master {self.network.bridge}", f"link set {side} up")
        links.ip(
            f"addr replace {self.network.address(host.offset)}/{self.network.subnet.prefixlen} dev eth0",
            "link set eth0 up",
            f"route replace default via {self.network.gateway}",
            inside=inside,
        )

    def down(self) -> None:
        """Remove the bridge, what is left of the hosts' links, and our route."""
        if self.network.pods is not None:
            guard = ["unreachable", str(self.network.pods), "metric", GUARD_METRIC]
            subprocess.run(["ip", "route", "del", *guard], capture_output=True, check=False)
        links.remove(self.network.bridge, self.network.prefix)

    def leftovers(self) -> list[str]:
        """Names of our interfaces that exist on this machine."""
        return links.of_lab(self.network.bridge, self.network.prefix)
