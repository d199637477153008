"""Who is where outside Kubernetes: hosts, addresses, and the two forms of a hosts file. No side effects.

The outside network is 10.99.0.0/24 on a bridge in the machine's own network namespace, where the pod network's
bridge is as well, so the kernel routes between them without address translation; slurmctld sees pods as they are.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from lab.errors import LabError

CLUSTER_DNS = IPv4Address("10.88.0.1")
SEARCH = ("slurm.svc.cluster.local", "svc.cluster.local", "cluster.local")
PODS = IPv4Network("10.88.0.0/16")
OUTSIDE = IPv4Network("10.99.0.0/24")
METAL = re.compile(r"metal-([1-9][0-9]?)")


@dataclass(frozen=True)
class Network:
    """The outside network. `bridge` is at most 15 characters, as every Linux interface name."""

    bridge: str = "slab-out"
    prefix: str = "so-"
    """Starts the name of every host's interface on the bridge side."""
    subnet: IPv4Network = OUTSIDE
    pods: IPv4Network | None = PODS
    """While there is no route to it, packets to it are refused here; None leaves that alone."""

    @property
    def gateway(self) -> IPv4Address:
        """The bridge's own address, every host's default route."""
        return self.subnet.network_address + 1

    def address(self, offset: int) -> IPv4Address:
        """The address at `offset` in the subnet."""
        return self.subnet.network_address + offset

    def mac(self, offset: int) -> str:
        """A locally administered hardware address made of the IP address: `0a:63` and its four bytes."""
        return ":".join(f"{byte:02x}" for byte in (0x0A, 0x63, *self.address(offset).packed))


@dataclass(frozen=True)
class Host:
    """One outside host: its name and its place in the subnet."""

    name: str
    offset: int


HOSTS: tuple[Host, ...] = (
    Host("ctl", 10),
    Host("dbd", 11),
    Host("rest", 12),
    Host("ctl-2", 13),
    Host("metal-1", 21),
    Host("metal-2", 22),
    Host("login-1", 31),
)
FIXED = frozenset(host.name for host in HOSTS)
OPTIONAL = frozenset({"ctl-2"})
METAL_OFFSETS = range(21, 31)
LOGIN = re.compile(r"login-([1-9])")
LOGIN_OFFSETS = range(31, 40)


def metal(name: str) -> Host:
    """A bare-metal host by its name. Raises LabError for a name without a place: metal-1 to metal-10 have one."""
    match = METAL.fullmatch(name)
    if match is None or int(match[1]) > len(METAL_OFFSETS):
        raise LabError(f"{name!r} isn't a bare-metal host; names are metal-1 to metal-{len(METAL_OFFSETS)}")
    return Host(name, METAL_OFFSETS[int(match[1]) - 1])


def blank(name: str) -> Host:
    """A host that the lab itself never starts: `metal-3` to `metal-10`, `login-2` to `login-9`; LabError for others."""
    if METAL.fullmatch(name) and name not in FIXED:
        return metal(name)
    match = LOGIN.fullmatch(name)
    if match is None or name in FIXED:
        raise LabError(f"{name!r} is no place for a blank host; there are metal-3 to metal-10 and login-2 to login-9")
    return Host(name, LOGIN_OFFSETS[int(match[1]) - 1])


def names_file(network: Network, hosts: tuple[Host, ...]) -> str:
    """`address name` a line, for CoreDNS: every host outside Kubernetes, nothing else."""
    return "".join(f"{network.address(host.offset)} {host.name}\n" for host in hosts)


def etc_hosts(network: Network, hosts: tuple[Host, ...]) -> str:
    """/etc/hosts of every outside host: the names are there before cluster DNS is."""
    return f"127.0.0.1 localhost\n::1 localhost\n{names_file(network, hosts)}"


def resolv_conf() -> str:
    """/etc/resolv.conf of every outside host: cluster DNS, asked once and briefly, since it may not be up yet."""
    return f"nameserver {CLUSTER_DNS}\nsearch {' '.join(SEARCH)}\noptions ndots:2 timeout:1 attempts:1\n"
