"""What the parts' own tests give to tests of whole programs: ``whole.py`` of each folder of tests/unit/parts. So a part that
leaves takes its sections along."""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from typing import Any

from tests.stacks import ROOT, Data, merged

_WHOLE = [
    import_module(f"tests.unit.parts.{path.parent.name}.whole")
    for path in sorted((ROOT / "tests" / "unit" / "parts").glob("*/whole.py"))
]


def whole() -> Data:
    """Sections that switch on every part which any stack of daemons can have (``SECTIONS``)."""
    return reduce(merged, (each.SECTIONS for each in _WHOLE if hasattr(each, "SECTIONS")), {})


def given(kind: str) -> Data:
    """Sections in which each setting that takes an Output has a value: ``GIVEN``, and ``GIVEN_OUTSIDE`` beside a slurmctld
    outside."""
    return reduce(merged, (getattr(each, kind, {}) for each in _WHOLE), {})


def of_a_look() -> list[tuple[dict[str, Any], str]]:
    """Settings, and the id of a finding that only a look at the cluster can bring (``OF_A_LOOK``)."""
    return [row for each in _WHOLE for row in getattr(each, "OF_A_LOOK", ())]
