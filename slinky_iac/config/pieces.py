"""What a stack gives to the pods of each part, by every door: a typed setting and `raw` side by side, in Kubernetes' form.

A rule over a pod asks here, so that what one door refuses no other takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slinky_iac.config.kubernetes.pieces import Piece, listed
from slinky_iac.config.raw import Raw
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Volume


@dataclass(frozen=True)
class Part:
    """One part that has raw pieces, with its typed settings of the same fields."""

    path: str
    """Of the part in the settings."""
    raw: Raw
    section: str
    env: Mapping[str, str] | None = None
    """Its setting `env`; None where it has none."""
    volumes: tuple[Volume, ...] | None = None
    """Its setting `volumes`; None where it has none."""
    service: str = ""
    """Type of its Service; empty where it has none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its pods, by their setting."""

    def variables(self) -> Iterator[tuple[str, Piece]]:
        """Variables of the daemon's container, each with the setting that says it."""
        for name, value in (self.env or {}).items():
            yield f"{self.path}.env.{name}", {"name": name, "value": value}
        for each in listed(self.raw.container, "env"):
            yield f"{self.path}.raw.container.env", each

    def sources(self) -> Iterator[tuple[str, Piece]]:
        """Volumes of the pod, likewise."""
        for volume in self.volumes or ():
            yield f"{self.path}.volumes", {"name": volume.name, **volume.source}
        for each in listed(self.raw.pod, "volumes"):
            yield f"{self.path}.raw.pod.volumes", each

    def containers(self) -> list[tuple[Piece, str]]:
        """The daemon's own container and those beside it, each with its place below `raw`."""
        return [(self.raw.container, "container"), *self.beside()]

    def beside(self) -> list[tuple[Piece, str]]:
        """Init containers and sidecars, likewise."""
        fields = ("initContainers", "containers")
        return [(each, f"pod.{name}") for name in fields for each in listed(self.raw.pod, name)]


def parts(config: StackConfig) -> Iterator[Part]:
    """Each part that has raw pieces."""
    daemons = ("controller", config.controller), ("accounting", config.accounting), ("restapi", config.restapi)
    for section, each in daemons:
        yield Part(section, each.raw, section, service=each.service.type, labels=each.pod.labels)
    for name, nodeset in config.nodesets.items():
        yield Part(f"nodesets.{name}", nodeset.raw, "nodesets", nodeset.env, nodeset.volumes, labels=nodeset.pod.labels)
    for name, login in config.logins.items():
        yield Part(f"logins.{name}", login.raw, "logins", None, login.volumes, login.service.type, login.pod.labels)
