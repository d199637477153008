"""One rule of a Role as a value: what the parts say of their own, and what `slinky rights` prints."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CORE: Final = ""
"""The API group of Kubernetes' first kinds."""


class Use(StrEnum):
    """What an account is for."""

    REVIEW = "review"
    """`pulumi preview`, `plan`, `drift`, `drain status`. Of `status` all but the fingerprint of slurm.key."""
    APPLY = "apply"
    """`pulumi up`, `refresh`, `destroy`, `drain cancel`, `keys`, `status`; and all of review."""
    PREFLIGHT = "preflight"
    """`preflight` with its short-lived pods; and what it reads."""
    STATUS = "status"
    """`status --from`, and so the CronJob of `monitoring.status`: the least of all."""


@dataclass(frozen=True)
class Right:
    """One rule. ``names`` empty: all objects; ``namespace`` None: a ClusterRole's."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()
    namespace: str | None = None
    seldom: bool = False
    """Not seen in the audit log of a scale-in and a stack's life: an upgrade of the operator does it, for example."""
