"""What a stack gives to the pods of each part, by every door: a typed setting and `raw` side by side, in Kubernetes' form.

A rule over a pod asks here, so that what one door refuses no other takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import normpath

from slinky_iac.config.kubernetes.pieces import Piece, listed
from slinky_iac.config.operator.own_pieces import OwnPieces, own_pieces
from slinky_iac.config.operator.pod_places import covers, is_ours
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
    own: OwnPieces
    """What the operator has in its pod."""
    env: Mapping[str, str] | None = None
    """Its setting `env`; None where it has none."""
    volumes: tuple[Volume, ...] | None = None
    """Its setting `volumes`; None where it has none."""
    service: str = ""
    """Type of its Service; empty where it has none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its pods, by their setting."""

    def has_volume(self, name: str) -> bool:
        """Whether the pod has, or may have, a volume of this name of the operator's or of this program's."""
        return name in self.own.volumes or is_ours(name)

    def hides(self, place: str) -> bool:
        """Whether a mount there takes the place of what the daemon runs, loads or reads as its own."""
        return covers(place) or normpath(place.strip()) in self.own.places

    def variables(self) -> Iterator[tuple[str, Piece]]:
        """Variables of the daemon's container, each with the setting that says it."""
        for name, value in (self.env or {}).items():
            yield f"{self.path}.env.{name}", {"name": name, "value": value}
        for variable in listed(self.raw.container, "env"):
            yield f"{self.path}.raw.container.env", variable

    def sources(self) -> Iterator[tuple[str, Piece]]:
        """Volumes of the pod, likewise."""
        for own in self.volumes or ():
            yield f"{self.path}.volumes", {"name": own.name, **own.source}
        for volume in listed(self.raw.pod, "volumes"):
            yield f"{self.path}.raw.pod.volumes", volume

    def containers(self) -> list[tuple[Piece, str]]:
        """The daemon's own container and those beside it, each with its place below `raw`."""
        return [(self.raw.container, "container"), *self.beside()]

    def beside(self) -> list[tuple[Piece, str]]:
        """Init containers and sidecars, likewise."""
        fields = ("initContainers", "containers")
        return [(container, f"pod.{name}") for name in fields for container in listed(self.raw.pod, name)]


def parts(config: StackConfig) -> Iterator[Part]:
    """Each part that has raw pieces."""
    version, cluster = config.operator_version, config.cluster.name
    daemons = ("controller", config.controller), ("accounting", config.accounting), ("restapi", config.restapi)
    for section, daemon in daemons:
        own = own_pieces(version, section, cluster=cluster)
        yield Part(section, daemon.raw, section, own, service=daemon.service.type, labels=daemon.pod.labels)
    for name, nodeset in config.nodesets.items():
        path, own = f"nodesets.{name}", own_pieces(version, "nodesets", ssh=nodeset.ssh.enabled)
        yield Part(path, nodeset.raw, "nodesets", own, nodeset.env, nodeset.volumes, labels=nodeset.pod.labels)
    for name, login in config.logins.items():
        path, own = f"logins.{name}", own_pieces(version, "logins")
        yield Part(path, login.raw, "logins", own, None, login.volumes, login.service.type, login.pod.labels)
