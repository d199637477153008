"""What rules find in the sections that can be read, where others can't: so that a file shows all its errors at once. Pure.

Rules judge a whole configuration. So what can't be read is left out, or has a stand-in where it must be there, and of what
the rules then say only that is kept which is about other sections, and doesn't speak of a stand-in.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from slinky_iac.config.findings import Finding, Level
from slinky_iac.config.reading.levels import MARKERS, meant_by
from slinky_iac.config.reading.load import examined, resolved
from slinky_iac.config.stack import SECRET_KEYS, StackConfig

_ROUNDS: Final = 8
"""What has taken a place can show what else is wrong there."""
_STAND_IN: Final = "stand-in"
_STAND_INS: Final[Mapping[str, object]] = {
    "bool_type": False,
    "dict_type": {},
    "float_type": 1,
    "int_type": 1,
    "int_parsing": 1,
    "model_type": {},
    "model_attributes_type": {},
    "tuple_type": [],
}
_TEXTS: Final = (_STAND_IN, f"{_STAND_IN}:1", "26.05", "1.2.1", f"/{_STAND_IN}", f"https://{_STAND_IN}", "1Gi")
"""Texts of which a field that must be there takes one."""
_LARGE: Final = 10**12
"""Python makes no text of a number of 4,300 digits."""
_BY_NAME: Final = frozenset(
    field.alias or name for name, field in StackConfig.model_fields.items() if get_origin(field.annotation) is dict
)
"""Sections with parts by name."""
_OF_ALL: Final[Mapping[str, frozenset[str]]] = {
    "networkPolicies": frozenset(),
    "keys": frozenset({"controller", "accounting", "external", "slurmrest"}),
    "cluster": frozenset({"keys", "operator"}),
}
"""Sections of which rules judge by others, and these: nothing is said of them where one of these has a fault; of none, where
any has."""


_BESIDE_IMAGES: Final = frozenset({"cluster", *_BY_NAME, "networkPolicies", "drain", "kubernetes", "operator"})
"""Sections that don't say where a daemon is; where another one has a fault, it is not known whose images are needed."""
_LINES: Final = frozenset({"extraConf", "configFiles", "config"})
"""Settings that hold lines of Slurm's files, which few others change the meaning of."""


def without_faults(data: Mapping[str, object]) -> StackConfig | None:
    """The configuration with what can't be read left out, or with a stand-in; None where that is not possible."""
    try:
        left: dict[str, Any] = copy.deepcopy({str(name): value for name, value in data.items() if name not in SECRET_KEYS})
    except RecursionError:
        return None
    tried: dict[tuple[int | str, ...], int] = {}
    for _ in range(_ROUNDS):
        try:
            StackConfig.model_validate(resolved(left), by_alias=True, by_name=False)
        except ValidationError as invalid:
            for error in invalid.errors(include_url=False):
                _replace(left, error, tried)
        except RecursionError:
            return None
        else:
            return examined(left)[0]
    return None


def of_sound(findings: Iterable[Finding], faults: Sequence[Finding], kept: StackConfig) -> Iterator[Finding]:
    """Of what rules say of ``kept``, which :func:`without_faults` made, the errors about sections and named parts without a
    fault, and about lines of Slurm's files beside one."""
    unsound = {_part(fault.path) for fault in faults}
    sections = {part.partition(".")[0] for part in unsound}
    pairs = [part.split(".", 1) for part in unsound if "." in part]
    lost = {_STAND_IN, *(name for section, name in pairs if name not in getattr(kept, section))}
    for finding in findings:
        section = finding.path.partition(".")[0]
        if finding.level is not Level.ERROR or any(_says(finding.message, name) for name in lost):
            continue
        if finding.path.startswith("cluster.images.") and sections - _BESIDE_IMAGES:
            continue
        if section in _OF_ALL and (sections & _OF_ALL[section] or not _OF_ALL[section]):
            continue
        if not unsound & {_part(finding.path), section} or _is_line_beside(finding.path, faults):
            yield finding


def _says(message: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message) is not None


def _is_line_beside(path: str, faults: Sequence[Finding]) -> bool:
    """Whether a finding is about a line of a file of Slurm's, and no fault is in that file or about where its daemon is."""
    parts = path.split(".")
    last = next((number for number, part in enumerate(parts) if part in _LINES), None)
    if last is None:
        return False
    file, place = ".".join(parts[: last + 1]), f"{parts[0]}.external"
    return not any(
        f"{file}.".startswith(f"{fault.path}.") or f"{fault.path}.".startswith((f"{file}.", f"{place}.")) for fault in faults
    )


def _part(path: str) -> str:
    section, dot, rest = path.partition(".")
    return f"{section}{dot}{rest.partition('.')[0]}" if section in _BY_NAME else section


def _replace(data: dict[str, Any], invalid: ErrorDetails, tried: dict[tuple[int | str, ...], int]) -> None:
    """Take away what is wrong in its place, or put there what a field of its type can have."""
    location = tuple(part for part in invalid["loc"] if part not in MARKERS)
    kind, above = invalid["type"], _at(data, location[:-1])
    if not location or above is None:
        return
    last = location[-1]
    if isinstance(above, list):
        above.clear()  # without one, the others' places would be other ones
    elif kind == "missing" or location in tried:
        count = tried[location] = tried.get(location, -1) + 1
        above[last] = copy.deepcopy(_STAND_INS.get(kind, _TEXTS[count % len(_TEXTS)]))
    elif kind == "string_type" and isinstance(invalid["input"], int | float) and abs(invalid["input"]) < _LARGE:
        above[last] = str(invalid["input"])
    elif kind == "extra_forbidden":
        value, name = above.pop(last, None), meant_by(invalid["loc"])
        if name and name not in above:
            above[name] = value
    elif isinstance(last, str) and last in above:
        if kind == "value_error" and isinstance(above[last], Mapping) and above[last] and "[key]" not in invalid["loc"]:
            above[last] = {}
        else:
            above.pop(last)


def _at(data: Any, location: Sequence[int | str]) -> Any:  # noqa: ANN401 - a place in plain data
    here = data
    for part in location:
        there = part in here if isinstance(here, dict) else isinstance(here, list) and part in range(len(here))
        if not there:
            return None
        here = here[part]
    return here if isinstance(here, dict | list) else None
