"""Raw pieces laid beside what this program renders (config/raw.py). A rule has refused what it renders itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slinky_iac.config.raw import Raw
from slinky_iac.specs.shared import Spec


def with_raw(spec: Spec, raw: Raw, container: str) -> Spec:
    """A custom resource's spec with its raw pieces; ``container``: the field of the daemon's own container."""
    found = dict(spec)
    if raw.pod:
        template = found.get("template", {})
        found["template"] = {**template, "spec": _beside(template.get("spec", {}), raw.pod)}
    if raw.container:
        found[container] = _beside(found[container], raw.container)
    if raw.service:
        service = found.get("service", {})
        found["service"] = {**service, "spec": _beside(service.get("spec", {}), raw.service)}
    return _beside(found, raw.spec)


def _beside(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Spec:
    """Both: mappings field by field, lists one behind the other. Of two values ours stays."""
    found = {**theirs, **ours}
    for field in ours.keys() & theirs.keys():
        upper, lower = ours[field], theirs[field]
        if isinstance(upper, Mapping) and isinstance(lower, Mapping):
            found[field] = _beside(upper, lower)
        elif isinstance(upper, list) and isinstance(lower, list):
            found[field] = [*upper, *lower]
    return found
