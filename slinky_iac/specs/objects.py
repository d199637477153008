"""One Kubernetes object that the stack makes: what components register, and what `slinky rights` names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import Key


@dataclass(frozen=True, kw_only=True)
class Object:
    """An object of the stack. ``logical`` is the end of its logical name, which the state has."""

    logical: str
    api_version: str
    kind: str
    name: str
    body: Mapping[str, Any]
    """All but its metadata and secrets: ``spec``, ``data``, and so on."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels besides those of every object of the stack."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    """Its namespace; empty: the cluster's."""
    is_shared: bool = False
    """Whether others write it too: its annotations stay, and all else is taken over from the one that has set it."""
    namespaced: bool = True
    """Whether its kind is namespaced; else it is cluster-scoped."""
    after: str = ""
    """Logical name of the object that is made before it; empty where none has to be."""
    key: Key | None = field(default=None, repr=False)
    """The key in it, which its component adds. Where the program doesn't have that, the object isn't made."""

    def space(self, cluster: str) -> str | None:
        """Its namespace, where the cluster's is ``cluster``; None where its kind has none."""
        return (self.namespace or cluster) if self.namespaced else None

    @property
    def group(self) -> str:
        """API group; empty for the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def resource(self) -> str:
        """The kind as RBAC names it."""
        one = self.kind.lower()
        return f"{one.removesuffix('y')}ies" if one.endswith("y") else f"{one}s"


def key_secret(config: ClusterConfig, key: Key) -> Object:
    """The Secret with a key; its component adds that."""
    name, body = config.secret_of(key).name, {"immutable": True} if key.is_immutable else {}
    return Object(logical=f"{key.logical}-secret", api_version="v1", kind="Secret", name=name, body=body, key=key)
