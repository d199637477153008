"""Keys of Slinky's chart ``slurm-operator`` by release, and what of a file of its values a release doesn't read. Pure.

Source: ``helm/slurm-operator/values.yaml`` of slurm-operator v1.0.0 to v1.2.1 and of main in August 2026 (1.3), names only;
the charts' templates read no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.releases import OperatorVersion
from slinky_iac.text import closest

Path = tuple[str, ...]
_BOTH: Final = ("operator", "webhook")
"""Levels of which each has the same keys, where the table writes ``*``."""
_SOME: Final[Mapping[tuple[int | None, ...], str]] = {
    (0, 0, 0, 0): """
        certManager.duration certManager.enabled certManager.renewBefore certManager.secretName crds.enabled fullnameOverride
        imagePullPolicy imagePullSecrets nameOverride namespaceOverride priorityClassName *.affinity *.enabled *.healthPort
        *.image.repository *.image.tag *.imagePullPolicy *.logLevel *.metricsPort *.replicas *.resources
        *.serviceAccount.create *.serviceAccount.name *.tolerations webhook.timeoutSeconds operator.accountingWorkers
        operator.controllerWorkers operator.loginsetWorkers operator.nodesetWorkers operator.restapiWorkers
        operator.slurmclientWorkers operator.tokenWorkers global
    """,
    (None, 0, 0, 0): "*.leaderElection *.pdb.enabled *.pdb.minAvailable webhook.serverPort",
    (5, 2, 1, 0): "*.metricsSecure",
    (None, 1, 0, 0): """
        *.namespaces webhook.mutating.failurePolicy webhook.mutating.matchPolicy webhook.nodeSelector
        webhook.validating.failurePolicy webhook.validating.matchPolicy
    """,
    (None, None, 0, 0): """
        extraObjects propagatedNodeConditions *.image.digest *.pdb.maxUnavailable *.podSecurityContext *.securityContext
        *.topologySpreadConstraints operator.nodeSelector operator.profile operator.profileAddr
    """,
    (None, None, None, 0): """
        webhook.mutating.matchConditions webhook.podsBinding webhook.validating.matchConditions
        webhook.validating.namespaceSelector
    """,
}
KEYS: Final = {
    tuple(key.replace("*", level).split(".")): first
    for first, keys in _SOME.items()
    for key in keys.split()
    for level in (_BOTH if "*" in key else ("",))
}
"""Each key, and by minor number the first patch release that reads it; None where no release of that line does."""


def read_by(
    values: Mapping[str, Any], version: OperatorVersion, left: list[tuple[str, str]], above: Path = ()
) -> dict[str, Any]:
    """Values without those that the chart of a release doesn't read; these are added to ``left``, each with why."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        path = (*above, str(key))
        below = [known for known in KEYS if known[: len(path)] == path]
        if path not in KEYS and below:
            kept[key] = read_by(value, version, left, path) if isinstance(value, Mapping) else value
        elif why := _unread(path, version):
            left.append((".".join(path), why))
        else:
            kept[key] = value
    return {key: value for key, value in kept.items() if value != {} or values[key] == {}}


def _unread(path: Path, version: OperatorVersion) -> str:
    """Why a key has no effect; empty where it has one."""
    chart = f"the operator's chart {version}"
    if (first := KEYS.get(path)) is None:
        near = _near(path)
        return f"isn't a key of {chart}, and has no effect{f'; did you mean {near}?' if near else ''}"
    since = first[version.minor]
    if since is not None and version.patch >= since:
        return ""
    others = [f"1.{minor}.{patch}" for minor, patch in enumerate(first) if patch is not None]
    return f"{chart} doesn't read it, and it has no effect; of each line these do, and newer ones: {', '.join(others)}"


def _near(path: Path) -> str:
    """The key that a word is very like: of its level, else of the levels below; empty where that would be a guess."""
    depth = len(path) - 1
    for names in (_level(path[:-1]), _below(path[:-1])):
        low = {place[-1 if len(place) > len(path) else depth]: place for place in names}
        if close := closest(path[-1], low):
            return ".".join(low[close])
    return ""


def _level(above: Path) -> Iterator[Path]:
    depth = len(above)
    return (known[: depth + 1] for known in KEYS if known[:depth] == above and len(known) > depth)


def _below(above: Path) -> Iterator[Path]:
    depth = len(above)
    return (known for known in KEYS if known[:depth] == above and len(known) > depth + 1)
