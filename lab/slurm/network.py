"""The outside network on this machine: one bridge, one veth pair a host, routes; no address translation.

All of it but the bridge dies with the hosts: a veth pair goes when the network namespace of its other end does (which
a dying TCP connection may delay for minutes, so `down` does not wait for it).
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import LabError
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
        if not self._links(bridge):
            _ip(f"link add {bridge} type bridge forward_delay 0")
        _ip(f"addr replace {self.network.gateway}/{self.network.subnet.prefixlen} dev {bridge}", f"link set {bridge} up")
        if self.network.pods is not None:
            # While the pod network is not there, a host's question to cluster DNS must fail here instead of
            # leaving this machine through its default route. The pod bridge's own route has a better metric.
            _ip(f"route replace unreachable {self.network.pods} metric {GUARD_METRIC}")
        if FORWARD.read_text().strip() != "1":
            FORWARD.write_text("1\n")

    def attach(self, host: Host, pid: int) -> None:
        """Join the network namespace of process `pid` as `host`, if it is not joined yet."""
        inside = ["nsenter", "-t", str(pid), "-n"]
        side = f"{self.network.prefix}{host.name}"
        if not _json([*inside, "ip", "-j", "link", "show", "dev", "eth0"]):
            if self._links(side):  # left over from a namespace that the kernel has not taken down yet
                subprocess.run(["ip", "link", "del", side], capture_output=True, check=False)
            # The same host always has the same hardware address: neighbours keep the old one for half a minute.
            mac = self.network.mac(host.offset)
            _ip(f"link add {side} type veth peer name eth0 address {mac} netns {pid}")
        _ip(f"link set {side} master {self.network.bridge}", f"link set {side} up")
        _ip(
            f"addr replace {self.network.address(host.offset)}/{self.network.subnet.prefixlen} dev eth0",
            "link set eth0 up",
            f"route replace default via {self.network.gateway}",
            inside=inside,
        )

    def down(self) -> None:
        """Remove the bridge, what is left of the hosts' links, and our route."""
        for name in self.leftovers():
            subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
        if self.network.pods is not None:
            guard = ["unreachable", str(self.network.pods), "metric", GUARD_METRIC]
            subprocess.run(["ip", "route", "del", *guard], capture_output=True, check=False)
        left = self.leftovers()
        if left:
            raise LabError(f"network interfaces {', '.join(left)} could not be removed; try `ip link del NAME`")

    def leftovers(self) -> list[str]:
        """Names of our interfaces that exist on this machine."""
        names = [str(link["ifname"]) for link in _json(["ip", "-j", "link", "show"])]
        return [name for name in names if name == self.network.bridge or name.startswith(self.network.prefix)]

    def _links(self, name: str) -> list[Any]:
        return _json(["ip", "-j", "link", "show", "dev", name])


def _ip(*commands: str, inside: list[str] | None = None) -> None:
    """Run `ip` commands as one batch. Raises LabError with what `ip` said."""
    argv = [*(inside or []), "ip", "-batch", "-"]
    done = subprocess.run(argv, input="\n".join(commands) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`ip {'; '.join(commands)}` failed: {done.stderr.strip()}; the lab needs root")


def _json(argv: list[str]) -> list[Any]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        return []
    answer = json.loads(done.stdout)
    return [entry for entry in answer if entry] if isinstance(answer, list) else []
