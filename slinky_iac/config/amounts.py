"""`requests` and `limits` of a NodeSet in a stack's file, as Kubernetes has them: together they are one setting. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.config.chart import as_yaml, masked
from slinky_iac.config.chart_values import SAME, Several, resources
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.mistakes import Location, nested
from slinky_iac.config.shown import place

_DEPTH: Final = {"nodesets": 4, "nodesetDefaults": 3}
"""Parts of the path of an amount, by its section."""


def is_amount(location: Location, value: object) -> bool:
    """Whether an unknown setting is one of the two."""
    in_place = _DEPTH.get(str(location[0])) == len(location) and location[-2] == "resources"
    return in_place and location[-1] in ("limits", "requests") and isinstance(value, Mapping)


def amounts(location: Location, given: Mapping[str, Any]) -> Finding:
    """One finding about both, with what they are together. ``given``: all that is at the location, the section around."""
    where = at(place(".".join(map(str, location))))
    both = {name: each for name, each in given.items() if name in ("limits", "requests") and isinstance(each, Mapping)}
    others = {name: each for name, each in given.items() if name not in both}
    found = resources(both)
    own = found.settings.get(SAME) if isinstance(found, Several) else None
    said = [*found.notes, *(f"{key} {why}" for key, why in found.left)] if isinstance(found, Several) else []
    words = f"{' and '.join(sorted(both, reverse=True))} {'is no setting' if len(both) == 1 else 'are no settings'}"
    words += f"; {'; '.join(said) or 'requests equal limits here: `cpus`, `memory` and `extended`'}"
    if not isinstance(own, Mapping) or any(others.get(name, each) != each for name, each in own.items()):
        return where.error(words)
    instead = nested(location, {**own, **others})
    return where.error(words, as_yaml(masked(instead)), instead)
