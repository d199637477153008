"""Settings that stand beside the one that they belong to, one level of indentation too far left. Pure.

YAML takes them for settings of the level above, where they are unknown or names of somebody's own, so each would be judged,
and mended, as what it isn't.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import BaseModel

from slinky_iac.config.chart.translation import advice
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import SECRET_KEYS, StackConfig


@dataclass(frozen=True)
class Shifted:
    """A setting at the wrong level."""

    path: str
    """Where it is."""
    owner: str
    """Path of the setting that it belongs to."""

    def finding(self, line: int) -> Finding:
        """What to say of it. ``line``: that of the owner."""
        owner = self.owner.rpartition(".")[2]
        return at(self.path).error(
            f"belongs to {name_of(owner)} in line {line}, and isn't indented below it: indent it, and all that is below it,"
            " by two"
        )

    def explains(self, path: str) -> bool:
        """Whether what is said of a path only follows from this."""
        return any(path == place or path.startswith(f"{place}.") for place in (self.path, self.owner))


@dataclass(frozen=True)
class _Level:
    """What the names of a mapping are: fields of ``model``, or names of somebody's own for values of ``model``."""

    model: type[BaseModel]
    named: bool

    @property
    def fields(self) -> Mapping[str, Any]:
        return {field.alias or name: field.annotation for name, field in self.model.model_fields.items()}

    def below(self, key: str) -> _Level | None:
        """The level below a key; None where that holds no settings."""
        return _Level(self.model, named=False) if self.named else _held(self.fields.get(key))

    def has(self, key: str, value: object) -> bool:
        """Whether a key may stand here: as a name of somebody's own, one with a value such as these have."""
        if not self.named:
            return key in self.fields
        if key not in self.fields or value is None or value == {}:
            return True
        return isinstance(value, Mapping) and any(field in self.fields for field in value)


def _held(annotation: Any, *, named: bool = False) -> _Level | None:  # noqa: ANN401 - annotations are any object
    """The level that a value of this type is; None for a list, and where no settings are in it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Level(annotation, named)
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, list | tuple | frozenset):
        return None
    named = named or (isinstance(origin, type) and issubclass(origin, Mapping))
    return next((at for part in getattr(annotation, "__args__", ()) if (at := _held(part, named=named)) is not None), None)


def shifted(sections: Mapping[str, object]) -> tuple[Shifted, ...]:
    """All such settings of a stack's file, by its sections."""
    plain = {name: value for name, value in sections.items() if name not in SECRET_KEYS}
    return tuple(_shifted(plain, _Level(StackConfig, named=False), ""))


def _shifted(data: Mapping[Any, object], level: _Level, path: str) -> Iterator[Shifted]:
    owner: str | None = None
    for key, value in data.items():
        name, here = str(key), f"{path}.{key}".removeprefix(".")
        if not level.has(name, value):
            if owner is not None and _belongs(here, value, level, owner, data[owner]):
                yield Shifted(here, f"{path}.{owner}".removeprefix("."))
            continue
        owner, below = name, level.below(name)
        if isinstance(value, Mapping) and below is not None:
            yield from _shifted(value, below, here)


def _belongs(path: str, value: object, level: _Level, owner: str, owners: object) -> bool:
    """Whether a key that can't stand at its level is one of the level below the setting before it."""
    key, below = path.rpartition(".")[2], level.below(owner)
    if below is None or not (owners is None or isinstance(owners, Mapping)):
        return False
    if below.named:
        return owners is None and isinstance(value, Mapping) and any(field in below.fields for field in value)
    if key not in below.fields or (isinstance(owners, Mapping) and key in owners):
        return False
    return owners is None or level.named or advice(path, value) is None
