"""What to say of a text that isn't a host. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from slinky_iac.config.shown import name_of, shown

_MOST: Final = 255
_RANGE: Final = re.compile(r"((?:\d{1,3}\.){3})(\d{1,3}-\d{1,3})")
"""Addresses as networks' tools take them: ``10.1.0.1-4``."""


def no_host(value: str, is_host: Callable[[str], bool], *, several: bool = False) -> str:
    """What was got in the place of a host, and what a host is. ``is_host``: whether a text is one. ``several``: whether a
    hostlist is taken."""
    name, _, port = value.rpartition(":")
    if port.isdigit() and ":" not in name and is_host(name):
        return f"got {_shown(value)}; the port goes in `port`"
    numbers = value.split(".")
    if len(numbers) == 4 and all(number.isascii() and number.isdigit() for number in numbers):
        large = next((number for number in numbers if int(number) > _MOST), "")
        why = f"{large} is above {_MOST}" if large else "none of them begins with 0"
        return f"got {_shown(value)}; an IPv4 address is four numbers of 0 to {_MOST}, and {why}"
    if several and (match := _RANGE.fullmatch(value)):
        return f"got {_shown(value)}; addresses of several hosts are a hostlist, as {match[1]}[{match[2]}]"
    if "," in value:
        return f"got {_shown(value)}: one host"
    return f"got {_shown(value)}; a host is an IP address or a DNS name in lower case, without scheme, port, path or zone"


def _shown(value: str) -> str:
    """A host in quotes, whole where it has the form of one: not a word of letters and digits, which may be a secret."""
    is_like = any(sign in value for sign in ".,:") and all(name_of(part) == part for part in value.split(","))
    return repr(value) if is_like else shown(value)
