"""Bare-metal hosts in groups, as slurm.conf has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from slinky_iac.config.slurm.slurmd_hosts import SlurmdHost
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import compress, expand

Group = tuple[str, str | None, Mapping[str, str]]
"""Names and addresses as hostlists, and the parameters of their NodeName= line."""


def node_groups(hosts: Iterable[SlurmdHost]) -> tuple[Group, ...]:
    """The groups of hosts that one entry of the settings names by a hostlist, in its order. Those that the node table gives
    other parameters than the host before begin a group of their own."""
    groups: list[Group] = []
    for _, entry in groupby(hosts, key=lambda host: host.path):
        parts = [tuple(same) for _, same in groupby(entry, key=_of_all)]
        groups += [_written(parts[0])] if len(parts) == 1 else map(_compressed, parts)
    return tuple(groups)


def hosts_in(member: str) -> tuple[str, ...]:
    """The hosts that a member of a partition names by a hostlist, else the text itself."""
    try:
        return expand(member) or (member,)
    except HostlistError:
        return (member,)


def _of_all(host: SlurmdHost) -> tuple[tuple[str, str], ...]:
    """What all hosts of a line have: not the port, where each has its own."""
    return tuple(parameter for parameter in host.config.items() if not host.ports or parameter[0].lower() != "port")


def _with_ports(host: SlurmdHost, ports: str) -> Mapping[str, str]:
    return {key: ports if host.ports and key.lower() == "port" else value for key, value in host.config.items()}


def _written(hosts: tuple[SlurmdHost, ...]) -> Group:
    """All hosts of an entry, as it has them."""
    return (*hosts[0].written, _with_ports(hosts[0], hosts[0].ports))


def _compressed(hosts: tuple[SlurmdHost, ...]) -> Group:
    addresses = [host.address for host in hosts if host.address is not None]
    ports = ",".join(value for host in hosts for key, value in host.config.items() if key.lower() == "port")
    address = addresses[0] if len(set(addresses)) == 1 else _short(addresses) or None
    return _short([host.name for host in hosts]), address, _with_ports(hosts[0], ports)


def _short(names: list[str]) -> str:
    """One expression for names in this order: slurmctld pairs names and addresses by it."""
    if len(names) < 2:
        return "".join(names)
    text = compress(names)
    return text if list(expand(text)) == names else ",".join(names)
