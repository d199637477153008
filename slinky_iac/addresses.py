"""What a URL's text tells of the way to its host. Pure: no name is resolved."""

from __future__ import annotations

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
