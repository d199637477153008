"""What to say of a text that isn't a host. Pure."""

from __future__ import annotations

from collections.abc import Callable

from slinky_iac.config.shown import name_of, shown


def no_host(value: str, is_host: Callable[[str], bool]) -> str:
    """What was got in the place of a host, and what a host is. ``is_host``: whether a text is one."""
    name, _, port = value.rpartition(":")
    if port.isdigit() and ":" not in name and is_host(name):
        return f"got {_shown(value)}; the port goes in `port`"
    if "," in value:
        return f"got {_shown(value)}: one host"
    return f"got {_shown(value)}; a host is an IP address or a DNS name in lower case, without scheme, port, path or zone"


def _shown(value: str) -> str:
    """A host in quotes, whole where it has the form of one: not a word of letters and digits, which may be a secret."""
    is_like = any(sign in value for sign in ".,:") and all(name_of(part) == part for part in value.split(","))
    return repr(value) if is_like else shown(value)
