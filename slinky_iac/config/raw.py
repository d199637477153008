"""The door for what has no setting of its own: raw pieces of a custom resource's pod, container, Service and spec.

They are laid beside what this program renders, never over it: a field that a setting or the operator owns is refused with
the name of the setting (rules_raw, rules_pieces). What a release of the operator would lose of its own by them is said
beside them, or they are refused (raw_merge). So gates, digests and policies read one spec.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from slinky_iac.config.base import Section


class Raw(Section):
    """Raw pieces, as Kubernetes has them, for what has no setting."""

    pod: dict[str, Any] = Field(default_factory=dict)
    """More fields of the pod (PodSpec), e.g. {runtimeClassName: nvidia}."""
    container: dict[str, Any] = Field(default_factory=dict)
    """More fields of the daemon's container, e.g. {args: [-v], lifecycle: …} or env with valueFrom."""
    service: dict[str, Any] = Field(default_factory=dict)
    """More fields of the Service (ServiceSpec), e.g. {externalTrafficPolicy: Local}. Read at its creation only."""
    spec: dict[str, Any] = Field(default_factory=dict)
    """More fields of the custom resource itself: those of NodeSets and login sets that no gate depends on."""

    @field_validator("*", mode="before")
    @classmethod
    def _nothing(cls, given: object) -> object:
        """As Kubernetes reads a field without a value."""
        return {} if given is None else given
