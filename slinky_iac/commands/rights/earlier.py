"""Updates whose objects a stack may still have, from `pulumi stack history --json`. Pure.

What left the settings is removed by the next `pulumi up`, with the rights to do so. An update that failed, or that left
something out, has made some of its objects and removed some of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_PARTS: Final = tuple(
    f"pulumi.flag.{name}" for name in ("target", "target-replace", "target-dependents", "exclude", "exclude-protected")
)
"""What pulumi writes down of a command that leaves something out."""


def unfinished(entries: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The entries (newest first, as pulumi lists them) back to the last `up` that succeeded and left nothing out; without
    those before a `destroy` that did."""
    found = []
    for entry in entries:
        whole = entry.get("result") == "succeeded" and not _left_out(entry)
        if whole and entry.get("kind") == "destroy":
            break
        if entry.get("kind") in ("update", "destroy"):
            found.append(entry)
        if whole and entry.get("kind") == "update":
            break
    return tuple(found)


def _left_out(entry: Mapping[str, Any]) -> bool:
    environment = entry.get("environment")
    return not isinstance(environment, dict) or any(name in environment for name in _PARTS)
