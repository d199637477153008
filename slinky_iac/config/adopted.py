"""Custom resources of a living Helm release that a stack takes over: which object each is, and what stays as it is there.

The stack says nothing of a field that stays: with server-side apply the API server leaves it alone then, so no value of it
has to be in the stack's file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel
from slinky_iac.config.paths import without

KINDS: Final = ("Controller", "Accounting", "RestApi", "NodeSet", "LoginSet")
"""Kinds that Slinky's chart makes, in the order in which they are shown."""
LABELS: Final = "metadata.labels"
ANNOTATIONS: Final = "metadata.annotations"
LINES: Final = "spec.extraConf."
"""Before a parameter of slurm.conf that the stack itself adds."""
OWN_LINE: Final = "ReturnToService"
"""That parameter."""
_OBJECT: Final = rf"^({'|'.join(KINDS)}) [a-z0-9]([a-z0-9-]{{0,61}}[a-z0-9])?$"
_PLACE: Final = r"^(metadata\.(labels|annotations)|spec(\.[A-Za-z][A-Za-z0-9]{0,62}){1,8})$"


class AdoptedObject(Section):
    """One of them."""

    uid: str = Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    """Its UID. Another object under its name is refused, in a preview too."""
    keep: tuple[Annotated[str, Field(pattern=_PLACE)], ...] = ()
    """Fields that stay as they are in Kubernetes, because a change of them restarts pods, e.g. metadata.labels or
    spec.slurmrestd.env. A setting of such a field has no effect. Remove a line when the pods may restart: the next
    `pulumi up` writes the field, and gates wait for the jobs."""


class Adopted(Section):
    """What the stack took over from a Helm release of Slinky's chart (docs/chart.md)."""

    release: DnsLabel
    """Name of the Helm release. While Helm has it, no update is made: `slinky adopt --let-go` takes it from Helm."""
    record: str | None = Field(default=None, pattern=r"^sh\.helm\.release\.v1\.[a-z0-9.-]{1,200}\.v[0-9]{1,9}$")
    """Name of the Secret with Helm's record of it, by which an update sees who has it. Without it the release has no record,
    because Argo CD made its objects."""
    namespace: DnsLabel | None = None
    """Namespace of the release; by default the cluster's."""
    objects: dict[Annotated[str, Field(pattern=_OBJECT)], AdoptedObject]
    """The custom resources, each by its kind and its name in Kubernetes, e.g. "NodeSet slurm-worker-gpu"."""

    def object(self, kind: str, name: str) -> AdoptedObject | None:
        """That of a kind and name; None where the stack makes it itself."""
        return self.objects.get(f"{kind} {name}")


def kept(adopted: Adopted | None, kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A rendered spec without the fields that stay as they are in Kubernetes."""
    rest = dict(spec)
    own = None if adopted is None else adopted.object(kind, name)
    for place in () if own is None else own.keep:
        path = place.split(".")
        if path[0] == "spec" and not place.startswith(LINES):
            rest = without(rest, path[1:])
    return rest


def keeps_line(adopted: Adopted | None, name: str) -> bool:
    """Whether slurm.conf of the Controller of that name stays without the parameter that the stack adds."""
    own = None if adopted is None else adopted.object("Controller", name)
    return own is not None and LINES + OWN_LINE in own.keep
