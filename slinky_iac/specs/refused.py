"""What Kubernetes refuses in the pods that a stack's custom resources come to, though each piece is right: one check over whole
pods, as slurm-operator merges them (:mod:`.pods`). CRDs keep pods unread, so `pulumi up` would be green and no pod there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config import kubernetes_rules, kubernetes_types
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.pods import Resource, pod_of, resources

_INDEX: Final = re.compile(r"\[\d+\].*")
_WITH_VOLUMES: Final = frozenset({"NodeSet", "LoginSet"})


def refused(config: StackConfig) -> tuple[Finding, ...]:
    """An error for each. ``config`` has no other errors: a spec of a stack that isn't sound can't be rendered."""
    return tuple(dict.fromkeys(finding for each in resources(config) for finding in _of(config, each)))


def _of(config: StackConfig, each: Resource) -> Iterator[Finding]:
    pod = pod_of(config, each)
    if pod is None:
        return
    spec = pod["spec"]
    for below, why in (*kubernetes_types.faults("PodSpec", spec, whole=True), *kubernetes_rules.references(spec)):
        yield at(f"{each.path}.{_setting(each, below)}").error(
            f"{why}. Kubernetes would refuse the pod, which slurm-operator makes after `pulumi up` has ended"
        )


def _setting(each: Resource, below: str) -> str:
    """The setting of a place in the pod. Numbers of entries are those of the pod, so they are left out."""
    field, _, rest = below.removeprefix(".").partition(".")
    name = _INDEX.sub("", field)
    if name == "containers":
        return f"raw.container.{_INDEX.sub('', rest)}".rstrip(".")
    if name == "volumes" and each.kind in _WITH_VOLUMES:
        return "volumes"
    return f"raw.pod.{name}"
