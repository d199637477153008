"""Hosts and ports, and what a URL's text tells of the way to its host. Pure: no name is resolved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def in_clear(url: str) -> bool:
    """Whether what is sent to ``url`` can be read on the network: it isn't https, and its host isn't this machine."""
    parts = urlsplit(url)
    return parts.scheme != "https" and not is_loopback(parts.hostname or "")


@dataclass(frozen=True)
class Target:
    """Where something is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_port(self.host, self.port)


def listed(targets: Iterable[Target]) -> str:
    """Several as ``--conf-server`` and SLURM_CONF_SERVER take them: the first that answers counts (``fetch_config.c``; run
    with sinfo of 26.05)."""
    return ",".join(map(str, targets))


def host_port(host: str, port: int | str) -> str:
    """``host:port`` as daemons take it after ``--conf-server``: an IPv6 address is in brackets there (watched with 26.05;
    without them Slurm takes what is before the first colon for the host)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
