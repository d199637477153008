"""NodeSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.kube.objects import NodeSet
from tests.made.kubernetes import meta
from tests.made.wire import read


def nodeset(
    name: str,
    replicas: int,
    *,
    generation: int = 1,
    observed_generation: int = 1,
    updated: int | None = None,
    on_delete: bool = False,
    deleting: bool = False,
    frozen: str | None = None,
    permitted: bool = False,
    revision: str = "",
    template: str = "",
    annotations: Mapping[str, str] | None = None,
    partition: bool = False,
    template_spec: Mapping[str, Any] | None = None,
    mode: str = "StatefulSet",
    padding: int = 0,
) -> NodeSet:
    """A NodeSet, settled unless said."""
    written = {
        names.ANNOTATION_FREEZE: frozen,
        names.ANNOTATION_PERMIT: names.permit_to_delete(generation) if permitted else None,
        names.ANNOTATION_TEMPLATE: template or None,
        **(annotations or {}),
    }
    body = {
        "metadata": meta(
            name,
            deleting=deleting,
            generation=generation,
            annotations={key: text for key, text in written.items() if text is not None},
        ),
        "spec": {
            "replicas": replicas,
            "updateStrategy": {"type": "OnDelete" if on_delete else "RollingUpdate"},
            "partition": {"enabled": partition},
            "template": {"spec": dict(template_spec or {})},
            "scalingMode": mode,
            "ordinalPadding": padding,
        },
        "status": {
            "replicas": replicas,
            "updatedReplicas": replicas if updated is None else updated,
            "observedGeneration": observed_generation,
            "nodeSetHash": revision,
        },
    }
    return read(NodeSet, body)
