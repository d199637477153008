"""What a release of slurm-operator makes of a piece of a pod that a custom resource gives: one table, by field.

From 1.1.0 on mappings are merged field by field (``StrategicMergePatch`` of ``internal/utils/structutils/kube.go``, 1.1.0 to
1.2.1). 1.0 lets a mapping take the place of its own whole one, and knows a few fields not at all (``UseNonZeroOrDefault`` of
``internal/builder/container.go`` and ``pod_template.go``, which are the same from 1.0.1 to 1.0.5 and on the branch of August
2026; its own mappings are in ``*_app.go``). Lists of both are joined. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names
from slinky_iac.releases import LINES, OperatorVersion

DAEMONS: Final[Mapping[str, str]] = {
    "controller": "slurmctld",
    "accounting": "slurmdbd",
    "restapi": "slurmrestd",
    "nodesets": "slurmd",
    "logins": "login",
}
"""The operator's name of the daemon's own container, and of its field, by the section of the settings."""


@dataclass(frozen=True)
class Loss:
    """What a release loses of one field of ``raw.pod`` or ``raw.container``."""

    piece: str
    """``pod`` or ``container``."""
    name: str
    """The field."""
    words: str = ""
    """What follows, where the field can't be taken."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """The operator's own mapping, where the field is taken: this program says it beside what is given."""
    lines: frozenset[str] = frozenset({"1.0"})
    """Lines of releases that lose it."""
    cure: str = "Remove it, or use slurm-operator 1.1 or newer"
    """What to do, where the field can't be taken."""


def _of_user(uid: int) -> dict[str, Any]:
    return {"runAsNonRoot": True, "runAsUser": uid, "runAsGroup": uid}


def _users(uid: int) -> tuple[Loss, ...]:
    return (
        Loss("pod", "securityContext", own={**_of_user(uid), "fsGroup": uid}),
        Loss("container", "securityContext", own=_of_user(uid)),
    )


_NOBODY: Final = 65534
_UNREAD: Final = "doesn't read it, and the pod would be without it"
_SEARCHES: Final = Loss(
    "pod",
    "dnsConfig",
    "lets it take the place of its own, which has the search domain of the pods' names: daemons and users would not find"
    " them by name",
)
_LINES: Final = frozenset(f"1.{minor}" for minor in LINES)
_EVERY: Final = (
    Loss("pod", "hostAliases", _UNREAD),
    Loss("pod", "schedulerName", _UNREAD),
    # k8s.io/api v0.35 has it, which 1.0 and 1.1 are built with; v0.36, of 1.2, has schedulingGroup in its place.
    Loss("pod", "workloadRef", _UNREAD, cure="Remove it, or use slurm-operator 1.1"),
    Loss("pod", "workloadRef", _UNREAD, lines=_LINES - {"1.0", "1.1"}, cure="Remove it"),
    Loss("container", "envFrom", _UNREAD),
    Loss("container", "restartPolicyRules", _UNREAD),
)
_PROBES: Final = tuple(
    Loss(
        "container",
        name,
        "crashes at it, since a login pod has none of its own (nil pointer in BuildContainer): no pod is made any more",
        lines=frozenset({"1.1"}),
        cure="Remove it, or use slurm-operator 1.2",
    )
    for name in ("livenessProbe", "startupProbe")
)
_WHOLE: Final[Mapping[str, tuple[Loss, ...]]] = {
    "controller": _users(names.SLINKY_UID),
    "accounting": _users(names.SLINKY_UID),
    "restapi": _users(_NOBODY),
    "nodesets": (
        _SEARCHES,
        Loss(
            "container",
            "lifecycle",
            "lets it take the place of its own, whose preStop hook takes the node out of Slurm before its pod goes: Slurm"
            " would send jobs to a node that is gone",
        ),
        Loss(
            "container",
            "securityContext",
            own={"privileged": True, "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]}},
        ),
    ),
    "logins": (_SEARCHES, *_PROBES),
}


def losses(version: OperatorVersion, section: str) -> tuple[Loss, ...]:
    """What a release loses of the raw pieces of a section's parts."""
    return tuple(loss for loss in (*_EVERY, *_WHOLE[section]) if version.line in loss.lines)


def own(section: str, piece: str) -> dict[str, Any]:
    """The operator's own mappings in ``pod`` or ``container`` of a section's parts, by field, in every release."""
    return {loss.name: dict(loss.own) for loss in _WHOLE[section] if loss.piece == piece and loss.own}


def refused(version: OperatorVersion, section: str, given: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Fields that are given and can't be taken with this release, each by its path below ``raw``, with the sentence."""
    for loss in losses(version, section):
        if loss.words and given[loss.piece].get(loss.name) is not None:
            yield (
                f"{loss.piece}.{loss.name}",
                f"isn't taken with slurm-operator {version}, which {loss.words}. {loss.cure}",
            )


def read(version: OperatorVersion, section: str, piece: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` without what a release doesn't know."""
    unread = {loss.name for loss in losses(version, section) if loss.piece == piece and loss.words == _UNREAD}
    return {name: value for name, value in given.items() if name not in unread}


def completed(
    version: OperatorVersion, section: str, piece: str, given: Mapping[str, Any], ours: Mapping[str, Any]
) -> dict[str, Any]:
    """``given`` with the operator's own part of each mapping that would take the place of its whole one. ``ours``: what this
    program renders of the same piece; a mapping in it has taken that place already."""
    fields = dict(given)
    for loss in losses(version, section):
        theirs = fields.get(loss.name)
        if loss.piece == piece and loss.own and loss.name not in ours and isinstance(theirs, Mapping):
            fields[loss.name] = beside(theirs, loss.own)
    return fields


def beside(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Both: mappings field by field, lists one behind the other. Of two values ours stays."""
    both = {**theirs, **ours}
    for name in ours.keys() & theirs.keys():
        upper, lower = ours[name], theirs[name]
        if isinstance(upper, Mapping) and isinstance(lower, Mapping):
            both[name] = beside(upper, lower)
        elif isinstance(upper, list) and isinstance(lower, list):
            both[name] = [*upper, *lower]
    return both
