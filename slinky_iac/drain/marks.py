"""What is written on a pod that goes, and taken back from one that stays: its annotations. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from slinky_iac import names

CORDON: Final = {names.ANNOTATION_POD_CORDON: "true"}
Changes = dict[str, dict[str, str | None]]
"""By pod, its annotations; None removes one."""


@dataclass(frozen=True)
class Mark:
    """Annotations to set on a pod, so that the operator takes it and everybody can see why."""

    pod: str
    cost: int
    tag: str

    @property
    def annotations(self) -> dict[str, str | None]:
        """As they are written."""
        return {names.ANNOTATION_DELETION_COST: str(self.cost), names.ANNOTATION_GATE: self.tag}


@dataclass(frozen=True)
class Unmark:
    """Annotations to take back from a pod: our tag always, the cost and the cordon where they are ours."""

    pod: str
    restore_cost: bool
    """Whether the cost is still the one we set; somebody's newer value is left alone."""
    was: str | None
    """What to put back; None to remove the annotation."""
    uncordon: bool

    @property
    def annotations(self) -> dict[str, str | None]:
        """As they are written."""
        cost = {names.ANNOTATION_DELETION_COST: self.was} if self.restore_cost else {}
        return {names.ANNOTATION_GATE: None, **cost, **(dict.fromkeys(CORDON) if self.uncordon else {})}


def changes(marks: Iterable[Mark | Unmark], cordoned: Iterable[str] = ()) -> Changes:
    """All of them, in one write a pod. ``cordoned``: pods that get ``pod-cordon``."""
    written: Changes = {mark.pod: mark.annotations for mark in marks}
    for pod in cordoned:
        written[pod] = {**written.get(pod, {}), **CORDON}
    return written
