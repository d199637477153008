"""Which proxy the environment names for a URL, by the rules that kubectl has from Go.

Source: golang.org/x/net ``http/httpproxy`` (``FromEnvironment``, ``ProxyFunc``). Python's ``urllib`` has others: it knows no
networks, no ports, sends loopback to the proxy and takes ALL_PROXY.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from slinky_iac.addresses import is_loopback

_PORTS: Final = {"http": 80, "https": 443}


def proxy_of(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy for ``url`` (http or https), as a URL; None where it is reached without one."""
    parts = urlsplit(url)
    name = f"{parts.scheme}_proxy"
    proxy = env.get(name.upper()) or env.get(name) or ""
    if not proxy or parts.scheme not in _PORTS or (parts.scheme == "http" and env.get("REQUEST_METHOD")):
        return None
    host = _ascii(parts.hostname or "")
    target = _Target(host, parts.port or _PORTS[parts.scheme], _address(host))
    if is_loopback(host) or _is_listed(target, env.get("NO_PROXY") or env.get("no_proxy") or ""):
        return None
    return proxy if proxy.startswith(("http://", "https://", "socks5://")) else f"http://{proxy}"


@dataclass(frozen=True)
class _Target:
    host: str
    port: int
    address: IPv4Address | IPv6Address | None


def _is_listed(target: _Target, listed: str) -> bool:
    """Whether NO_PROXY names it: ``*`` names all; else an address, a network, or a name with all below it."""
    entries = [entry.strip().lower() for entry in listed.split(",")]
    return "*" in entries or any(_is_named(target, entry) for entry in entries if entry)


def _is_named(target: _Target, entry: str) -> bool:
    network, slash, bits = entry.partition("/")
    if slash and bits.isdecimal():
        with suppress(ValueError):
            subnet = ip_network(f"{_address(network) or network}/{_bits(network, bits)}", strict=False)
            return target.address is not None and target.address in subnet
    name, port = _split(entry)
    if port not in ("", str(target.port)):
        return False
    if (address := _address(name)) is not None:
        return address == target.address
    below = _ascii(name[1:] if name.startswith("*.") else name)
    return bool(below) and (target.host.endswith(f".{below.removeprefix('.')}") or target.host == below)


def _bits(network: str, bits: str) -> str:
    """The length of a prefix; of an IPv4 network that is written as an IPv6 one the length within IPv4."""
    with suppress(ValueError):
        written = IPv6Network(f"{network}/128").network_address
        if written.ipv4_mapped is not None and int(bits) >= 96:
            return str(int(bits) - 96)
    return bits


def _split(entry: str) -> tuple[str, str]:
    """A name or an address, and the port behind it; no port where there is none."""
    if entry.startswith("["):
        name, closed, port = entry[1:].partition("]:")
        return (name, port) if closed else (entry, "")
    name, _, port = entry.rpartition(":")
    return (name, port) if name and ":" not in name else (entry, "")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _ascii(name: str) -> str:
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name
