"""What a URL's text tells of the way to its host. Pure: no name is resolved."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def in_clear(url: str) -> bool:
    """Whether what is sent to ``url`` can be read on the network: it isn't https, and its host isn't this machine."""
    parts = urlsplit(url)
    return parts.scheme != "https" and not is_loopback(parts.hostname or "")
