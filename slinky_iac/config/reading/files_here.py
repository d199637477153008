"""Files and folders that a stack's file names and that aren't on this machine: a preview says so late, and in the words of
whatever reads them."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slinky_iac import safe_yaml
from slinky_iac.config.base import Section
from slinky_iac.config.fields import FilePath
from slinky_iac.config.findings import Finding, acknowledged, at
from slinky_iac.config.stack import StackConfig

_CHARTS: Final = ("slurm-operator", "slurm-operator-crds")


def missing(config: StackConfig, folder: Path) -> list[Finding]:
    """A warning for each that isn't there. ``folder``: the project's, where relative paths begin."""
    return list(acknowledged(_missing(config, folder), config.acknowledged))


def _missing(config: StackConfig, folder: Path) -> Iterator[Finding]:
    for path, named in _named(config, ""):
        place = (folder / Path(named).expanduser()).absolute()
        if not place.exists():
            yield _warned(path, f"{place} isn't on this machine. `pulumi preview` needs it where it runs")
        elif path == "operator.chart.path":
            yield from (_warned(path, said) for said in _of_charts(place))


def _warned(path: str, said: str) -> Finding:
    return at(path).warning(said, id="file-not-here")


def _of_charts(place: Path) -> Iterator[str]:
    """What a folder of charts lacks: the charts, or their dependencies, which a checkout of Git has not."""
    for name in _CHARTS:
        chart = place / name
        if not (chart / "Chart.yaml").is_file():
            yield f"{place} has no chart {name}: name the folder that holds {' and '.join(_CHARTS)}"
        elif _dependencies(chart) and not (chart / "charts").is_dir():
            yield f"{chart} lacks the charts that it depends on, as a checkout does: run `helm dependency build {chart}`"


def _dependencies(chart: Path) -> bool:
    try:
        content = safe_yaml.read((chart / "Chart.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, Mapping) and bool(content.get("dependencies"))


def _named(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Paths of this machine that settings have, by the settings' own paths."""
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            here = f"{path}.{field.alias or name}".lstrip(".")
            inner = getattr(value, name)
            if is_path(field) and isinstance(inner, str) and inner and not _elsewhere(value, name):
                yield here, inner
            else:
                yield from _named(inner, here)
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from _named(child, f"{path}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, child in enumerate(value):
            yield from _named(child, f"{path}.{number}")


def _elsewhere(section: BaseModel, field: str) -> bool:
    """Whether a setting's path is of another machine."""
    return isinstance(section, Section) and field in section.elsewhere


def is_path(field: FieldInfo) -> bool:
    """Whether a setting has the type of a path."""
    own = {id(mark) for mark in get_args(FilePath)[1:]}
    return bool(own & {id(mark) for mark in field.metadata}) or any(id(mark) in own for mark in _marks(field.annotation))


def _marks(annotation: Any) -> Iterator[object]:  # noqa: ANN401
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _marks(member)
