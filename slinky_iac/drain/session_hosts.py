"""Pods in which people run srun and salloc, and their props on the gate and in the list of what stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class SessionHosts:
    """Which pods they are, and what makes them."""

    name: str
    """The setting that they come from, ``logins.main``."""
    namespace: str
    """Of the pods, which may be a client's own."""
    selector: str
    """Labels of the pods."""
    kind: str = ""
    """What makes them, and is deleted by the gate: ``LoginSet``, ``Deployment``; ``""``: nothing that it could delete."""
    resource: str = ""
    interrupts: bool = False
    """Its sessions are not waited for (``interruptSessions``)."""

    @property
    def what(self) -> str:
        """What ends, in words."""
        return f"{self.kind} {self.resource}" if self.kind else f"pods of {self.name}"

    @property
    def again(self) -> str:
        """What to do where its end is refused."""
        by_hand = f"kubectl delete -n {self.namespace} {self.kind.lower()} {self.resource}"
        return "Run the same command again" + (f"; `{by_hand}` ends it all the same" if self.kind else "")

    @property
    def or_else(self) -> str:
        """What to do instead of waiting, in words."""
        return f", or set {self.name}.interruptSessions: true" if self.kind == "LoginSet" else ""

    def props(self) -> dict[str, Any]:
        """All but the name, which is the prop ``host`` of a gate, and a key in the list of what stands."""
        return {
            "podNamespace": self.namespace,
            "podSelector": self.selector,
            "kind": self.kind,
            "resource": self.resource,
            "interrupts": self.interrupts,
        }

    @staticmethod
    def fields_of(props: Mapping[str, Any]) -> dict[str, Any]:
        """The fields back, from a gate's props."""
        return {
            "name": str(props["host"]),
            "namespace": str(props["podNamespace"]),
            "selector": str(props["podSelector"]),
            "kind": str(props.get("kind") or ""),
            "resource": str(props.get("resource") or ""),
            "interrupts": props.get("interrupts") is True,
        }
