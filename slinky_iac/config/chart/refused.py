"""What of the chart's values is a setting that the stack refuses: it is left out by its key in the chart, with the reason.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.config.chart.translation import Taken
from slinky_iac.config.operator.empty_values import CONSEQUENCES, ELSE, Place, places, text
from slinky_iac.config.paths import mapping, value_at, without
from slinky_iac.config.slurm.scripts import of_lifecycle

_OF_PODS: Final[tuple[Place, ...]] = (
    ("raw", "pod"),
    ("raw", "container"),
    *(("raw", "spec", each) for each in ("logfile", "reconfigure", "initconf")),
    ("pod", "nodeSelector"),
    ("pod", "affinity"),
)
"""Settings of a part that become fields of a pod or a container, as they are."""
_ALONE: Final[tuple[Place, ...]] = (("pod", "terminationGrace"), ("privileged",))
_DRAINED: Final = "the NodeSet's gate drains the node before its pod ends, so there is nothing to do for it"
_MERGED: Final = "from 1.1.0 on slurm-operator treats empty values as missing, so this has no effect with Helm either"


def leave_refused(taken: Taken, *, drops_empty: bool) -> None:
    """Move it from the settings to what is left out. ``drops_empty``: whether the release's operator drops empty values."""
    for sections, name, path in _parts(taken.settings):
        part = sections[name]
        gone: set[str] = set()
        for place, why in _refused(part, drops_empty=drops_empty):
            part = without(part, place)
            taken.left.append((_key(taken.used, f"{path}.{'.'.join(place)}"), why))
            ends = range(1, len(place) + 1)
            gone |= {f"{path}.{'.'.join(place[:end])}" for end in ends if value_at(part, place[:end]) is None}
        sections[name] = part
        taken.used[:] = [each for each in taken.used if each[1] not in gone]
    taken.left[:] = dict.fromkeys(taken.left)


def _parts(settings: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Where each part with a pod is: the mapping that has it, its name there, its path."""
    yield from ((settings, name, name) for name in ("controller", "accounting", "restapi") if _is_part(settings, name))
    for kind in ("nodesets", "logins"):
        sets = settings.get(kind)
        if isinstance(sets, dict):
            yield from ((sets, name, f"{kind}.{name}") for name in sets if _is_part(sets, name))


def _is_part(sections: Mapping[str, Any], name: str) -> bool:
    return isinstance(sections.get(name), dict)


def _refused(part: Mapping[str, Any], *, drops_empty: bool) -> list[tuple[Place, str]]:
    """Places of what is refused, and why; a place once."""
    hooks = [
        (("raw", "container", "lifecycle", hook), f"it {what.partition('; ')[0]}: {_DRAINED}")
        for hook, what in of_lifecycle(value_at(part, ("raw", "container", "lifecycle")))
    ]
    found = [*hooks, *(_empty(part) if drops_empty else ())]
    return list({place: (place, why) for place, why in reversed(found)}.values())[::-1]


def _empty(part: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Values that the operator drops, and why each is left out."""
    consequences = dict(CONSEQUENCES.values())
    for of_pod in _OF_PODS:
        then = consequences.get(".".join(of_pod), ELSE)
        yield from ((place, _why(value, then)) for place, value in places(mapping(value_at(part, of_pod)), of_pod))
    for place in _ALONE:
        value = value_at(part, place)
        if value is not None and not value:
            yield place, _why(value, consequences[".".join(place)])


def _why(value: object, then: str) -> str:
    return f"is {text(value)}, and {_MERGED}: {then}"


def _key(used: list[tuple[str, str]], setting: str) -> str:
    """The chart's key of a setting."""
    above = [each for each in used if setting == each[1] or setting.startswith(f"{each[1]}.")]
    if not above:
        return setting
    key, place = max(above, key=lambda each: len(each[1]))
    return key + setting.removeprefix(place)
