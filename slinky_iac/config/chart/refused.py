"""What of the chart's values is a setting that the stack refuses: it is left out by its key in the chart, with the reason.
Pure: who calls :func:`leave_unsound` brings the judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from slinky_iac.config.chart.translation import Taken
from slinky_iac.config.findings import Finding
from slinky_iac.config.operator.empty_values import CONSEQUENCES, ELSE, Place, places, text
from slinky_iac.config.paths import mapping, replaced, value_at, without
from slinky_iac.config.secret_forms import is_secret
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.scripts import of_lifecycle

_OF_PODS: Final[tuple[Place, ...]] = (
    ("raw", "pod"),
    ("raw", "container"),
    *(("raw", "spec", field) for field in ("logfile", "reconfigure", "initconf")),
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
        taken.used[:] = [pair for pair in taken.used if pair[1] not in gone]
    taken.left[:] = dict.fromkeys(taken.left)


Judge = Callable[[dict[str, Any]], Sequence[Finding]]
"""What is wrong with settings."""
_ROUNDS: Final = 20
"""How often settings are judged again: what is left out may be what another piece needs, and a list may have several."""
_OF_A_FILE: Final = re.compile(r"\. Change it or leave it out, or acknowledge it: .*$")
"""Advice on a line of the stack's file, where the setting isn't."""
_ADVICE: Final = re.compile(r"\.? (Leave it out|Remove it|Remove the mount[^.]*)\.?$")


def leave_unsound(taken: Taken, errors: Judge) -> None:
    """Move what the stack's rules refuse from the settings to what is left out, with the rule's own reason: raw pieces,
    mounts, secrets in plain text, and settings that the rule says to remove; of a list or a mapping the one entry over which
    it does, where that is one. Values that only a person can put right stay."""
    for _ in range(_ROUNDS):
        refusals = dict(_refusals(taken, errors))
        for place, why in refusals.items():
            if value_at(taken.settings, place) is not None:  # what was above it may have gone
                _take_out(taken, place, why, errors)
        if not refusals:
            break
    taken.left[:] = dict.fromkeys(taken.left)  # a key for all sets is one


def _take_out(taken: Taken, place: Place, why: str, errors: Judge) -> None:
    value, key = value_at(taken.settings, place), _key(taken.used, ".".join(place))
    entry = _entry(taken.settings, place, errors)
    if entry is None:
        taken.settings = without(taken.settings, place)
    elif isinstance(value, Mapping):
        taken.settings, key = without(taken.settings, (*place, str(entry))), f"{key}.{entry}"
    else:
        named, rest = mapping(value[int(entry)]), [*value[: int(entry)], *value[int(entry) + 1 :]]
        if _is_mounts(place):
            container = "slurmd" if place[0] == "nodesets" else "login"
            key = f"{key.removesuffix(_VOLUMES)}{container}.volumeMounts ({named.get('mountPath')})"
        else:
            key = f"{key} ({name_of(str(named.get('name') or named.get('mountPath') or int(entry) + 1))})"
        taken.settings = replaced(taken.settings, place, rest) if rest else without(taken.settings, place)
    reason = _OF_A_FILE.sub("", _ADVICE.sub("", why)).removeprefix("isn't taken here: ")
    taken.left.append((key, f"`slinky check` refuses it here: {reason}"))
    taken.used[:] = [pair for pair in taken.used if not _is_gone(taken.settings, pair[1], ".".join(place))]


_VOLUMES: Final = "volumes"


def _is_mounts(place: Place) -> bool:
    return place[-1:] == (_VOLUMES,) and "raw" not in place


def _refusals(taken: Taken, errors: Judge) -> Iterator[tuple[Place, str]]:
    """Settings of the chart's keys that are refused as such, and why."""
    for finding in errors(taken.settings):
        path, why = finding.path, finding.message
        place = _place(taken.settings, path)
        value = value_at(taken.settings, place)
        is_found = bool(place) and (".".join(place) == path or not isinstance(value, Mapping))
        is_of_chart = any(f"{path}.".startswith(f"{setting}.") for _, setting in taken.used)
        is_refused = _is_mounts(place) or (is_of_chart and _ADVICE.search(why) is not None)
        is_exposed = finding.exposes or (is_found and isinstance(value, str) and is_secret(place[-1]))
        if is_found and ("raw" in place[:-1] or is_refused or is_exposed):
            yield place, why


def _is_gone(settings: Mapping[str, Any], setting: str, place: str) -> bool:
    """Whether a setting at or above a place isn't there any more."""
    return f"{place}.".startswith(f"{setting}.") and ".".join(_place(settings, setting)) != setting


def _place(settings: Mapping[str, Any], path: str) -> Place:
    """The deepest place of settings on a path, whose keys may have dots themselves."""
    keys: list[str] = []
    inner: Any = settings
    while isinstance(inner, Mapping) and path:
        known = (key for key in inner if isinstance(key, str) and f"{path}.".startswith(f"{key}."))
        key = max(known, key=len, default=None)
        if key is None:
            break
        keys.append(key)
        inner, path = inner[key], path[len(key) + 1 :]
    return tuple(keys)


def _entry(settings: dict[str, Any], place: Place, errors: Judge) -> str | None:
    """The entry of a list, by its number, or of a mapping, without which nothing is said of the whole; None where there is
    no such one."""
    value = value_at(settings, place)
    rests: dict[str, Any] = {}
    if isinstance(value, Mapping) and len(value) > 1:
        rests = {str(key): {name: part for name, part in value.items() if name != key} for key in value}
    elif isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
        rests = {str(number): [*value[:number], *value[number + 1 :]] for number in range(len(value))}
    for entry, rest in rests.items():
        if not any(_place(settings, finding.path) == place for finding in errors(replaced(settings, place, rest))):
            return entry
    return None


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
    refusals = [*hooks, *(_empty(part) if drops_empty else ())]
    return list({place: (place, why) for place, why in reversed(refusals)}.values())[::-1]


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
    above = [pair for pair in used if setting == pair[1] or setting.startswith(f"{pair[1]}.")]
    if not above:
        return setting
    key, place = max(above, key=lambda pair: len(pair[1]))
    return key + setting.removeprefix(place)
