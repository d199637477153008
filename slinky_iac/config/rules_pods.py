"""Rules of raw pieces of pods, which pass through to Kubernetes: its own types judge them (kubernetes_types)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config import kubernetes_types
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Volume

_EXTENDED: Final = re.compile(r"(?=.{1,253}/)[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def _pieces(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Volumes, tolerations and affinity: a field that Kubernetes lacks is dropped, and the pod isn't what was meant."""
    pods = {"controller": config.controller.pod, "accounting": config.accounting.pod, "restapi": config.restapi.pod}
    volumes: dict[str, tuple[Volume, ...]] = {}
    for kind, found in (("nodesets", config.nodesets), ("logins", config.logins)):
        for name, each in found.items():
            pods[f"{kind}.{name}"], volumes[f"{kind}.{name}"] = each.pod, each.volumes
    for path, pod in pods.items():
        yield from _faults(f"{path}.pod.tolerations", "[Toleration]", pod.tolerations)
        yield from _faults(f"{path}.pod.affinity", "Affinity", pod.affinity)
    for path, several in volumes.items():
        for number, volume in enumerate(several):
            where = f"{path}.volumes.{number}.source"
            yield from _faults(where, "Volume", volume.source)
            if len(volume.source) > 1:
                named = ", ".join(map(name_of, volume.source))
                yield at(where).error(f"has {named}; Kubernetes takes one source of a volume")


def _faults(path: str, kind: str, value: object) -> Iterator[Finding]:
    for below, why in kubernetes_types.faults(kind, value):
        yield at(path + below.replace("[", ".").replace("]", "")).error(
            f"{why}. The API server doesn't read it, and the pod would lack it or not start"
        )


def _resources(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Names of devices that Kubernetes refuses in the pod, which is made after `up` has ended."""
    for name, nodeset in config.nodesets.items():
        for each in nodeset.resources.extended:
            if _EXTENDED.fullmatch(each) is None:
                yield at(f"nodesets.{name}.resources.extended.{name_of(each)}").error(
                    "is not the name of a device plugin's resource, which is DOMAIN/NAME, for example nvidia.com/gpu"
                )


RULES = (_pieces, _resources)
