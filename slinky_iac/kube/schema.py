"""Which fields the installed custom resource definitions have.

The operator changed its schema inside ``v1beta1``, so features are told by the schema and never by the apiVersion
(facts/slurm-operator.md#one-version-several-schemas).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from slinky_iac.errors import KubeError

VERSION = "v1beta1"


@dataclass(frozen=True)
class CrdSchema:
    """openAPI schema of the ``v1beta1`` version of a CRD, as served; ``raw`` is its ``openAPIV3Schema`` as plain JSON."""

    name: str
    operator_version: str
    """The Helm chart's ``app.kubernetes.io/version`` label, empty where the CRD was applied by hand."""
    raw: dict[str, object] = field(repr=False, hash=False)

    def has(self, path: str) -> bool:
        """Whether ``spec.controllerRef.namespace`` (dots between names; arrays are looked into) is a known field."""
        at: object = self.raw
        for name in path.split("."):
            at = _property(at, name)
            if at is None:
                return False
        return True


def _property(schema: object, name: str) -> object:
    while isinstance(schema, dict) and "items" in schema and "properties" not in schema:
        schema = schema["items"]
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(name) if isinstance(properties, dict) else None


def read_crd(body: bytes, name: str) -> CrdSchema:
    """Raises :class:`KubeError` where ``body`` is no CRD that serves ``v1beta1``."""
    try:
        data = json.loads(body)
        version = next(v for v in data["spec"]["versions"] if v["name"] == VERSION and v["served"])
        raw = version["schema"]["openAPIV3Schema"]
        label = (data["metadata"].get("labels") or {}).get("app.kubernetes.io/version", "")
        properties = raw["properties"]
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        properties, raw, label = None, {}, ""
    if not isinstance(properties, dict) or not isinstance(label, str):
        raise KubeError(f"CRD {name} serves no {VERSION} with a schema: is this Slinky's slurm-operator?", status=200)
    return CrdSchema(name, label, raw)
