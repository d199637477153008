"""Values that slurm-operator takes for "not given" where it merges what a custom resource says into pods of its own making.

From 1.1.0 on these are false, 0 and an empty text, list or mapping, at any depth of mappings; not inside lists
(``internal/utils/structutils/kube.go``, ``removeEmpty``, 1.1.0 to 1.2.1 and main of August 2026). 1.0 merges what it is
given. The rules of a rendered stack (:mod:`slinky_iac.specs.dropped`) and the reader of the chart's values go by it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Place = tuple[str, ...]
CONSEQUENCES: Final = {
    "securityContext.privileged": ("privileged", "slurmd would run privileged all the same; leave the setting out"),
    "terminationGracePeriodSeconds": (
        "pod.terminationGrace",
        "the pod would have the operator's own period; give 1 or more",
    ),
    "nodeSelector": (
        "pod.nodeSelector",
        "pods would be placed as if it weren't there; give such a label in pod.affinity, as a matchExpressions entry with"
        " operator: Exists",
    ),
    "affinity": ("pod.affinity", "pods would be placed as if it weren't there; leave it out"),
}
"""What the setting of a field is called, what follows and what to do instead, by the field's place in the spec."""
ELSE: Final = "the pod would have the operator's own value"


def places(part: Mapping[str, Any], above: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Places in mappings, mappings in mappings included, that hold an empty value, and that value."""
    for key, value in part.items():
        here = (*above, str(key))
        if isinstance(value, Mapping) and value:
            yield from places(value, here)
        elif not value and value is not None:
            yield here, value


def text(value: object) -> str:
    """An empty value in a message."""
    return str(value).lower() if isinstance(value, bool) else str(value) if value == 0 else "empty"
