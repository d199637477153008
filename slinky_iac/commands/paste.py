"""What `slinky check` shows to paste below ``config:``. It is shown only if pasting it does what is said: what comes out can
be read, has every other value, and the findings that it mends are gone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import yaml

from slinky_iac import pulumi_yaml, safe_yaml
from slinky_iac.commands import mend
from slinky_iac.config.chart.translation import as_yaml, masked, merged
from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.load import examined
from slinky_iac.config.reading.stack_file import Place
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import PROJECT

BY_NAME: Final = frozenset({"clients", "logins", "nodesets", "partitions"})
"""Sections that have one part for each name of the user's."""


def names_of(pasted: str) -> list[str]:
    """The sections of what :func:`block` gave, and of those that have a part for each name, which parts alone."""
    return [
        f"{name} ({', '.join(map(name_of, value))} alone)"
        if name.removeprefix(f"{PROJECT}:") in BY_NAME and isinstance(value, dict)
        else name
        for name, value in yaml.safe_load(pasted).items()
    ]


def block(now: Mapping[str, object], places: Sequence[Place]) -> tuple[str, list[str]]:
    """YAML to paste below ``config:``: each section once and whole, of NodeSets and other parts by name those alone that
    change, with what the file has and what was found; empty where there is none. And the paths of what is left out of it,
    since it has a value that may not be shown: to paste it would change the value."""
    findings = [place.finding for place in places if not place.finding.reason]
    whole = _whole(now, findings)
    shown: dict[str, Any] = {}
    lost: list[str] = []
    for name, value in whole.items():
        parts = _changed_parts(now.get(name), value) if name in BY_NAME and isinstance(value, Mapping) else {"": value}
        kept = {
            part: settings
            for part, settings in parts.items()
            if masked(settings, part or name) == settings and name_of(part) == part
        }
        lost += [f"{name}.{name_of(part)}" if part else name for part in parts if part not in kept]
        if kept:
            shown[name] = kept if "" not in parts else value
    return (as_yaml(shown) if shown else ""), lost


def _whole(now: Mapping[str, object], findings: Sequence[Finding]) -> dict[str, Any]:
    """Each section that changes, as it is then."""
    changed = {
        name
        for finding in findings
        if finding.instead is not None
        for name in (finding.path.split(".")[0], *finding.instead)
    }
    new = mend.sections(now, findings)
    whole: dict[str, Any] = {name: new[name] for name in new if name in changed and new[name] != now.get(name)}
    for finding in findings:
        if finding.paste and finding.instead is None:
            pasted = {name.removeprefix(f"{PROJECT}:"): value for name, value in yaml.safe_load(finding.paste).items()}
            for name, value in pasted.items():
                have = whole.get(name, now.get(name) if isinstance(now.get(name), Mapping) else {})
                whole[name] = merged(have, value) if isinstance(value, Mapping) else value
    return whole


def tried(now: Mapping[str, object], places: Sequence[Place], unsure: Iterable[str] = ()) -> tuple[Place, ...]:
    """The same findings, without what stands for one where putting it in its place isn't harmless. ``unsure``: paths of
    words that are read otherwise than they look, of which only a person can say what is meant."""
    mends = [place.finding for place in places if _mends(now, place.finding)]
    undecided = {path.partition(".")[0] for path in unsure}
    sure = [finding for finding in mends if undecided.isdisjoint(_whole(now, [finding]))]
    before = _faults(now) if sure else frozenset()
    kept = sure if sure == mends and _is_harmless(now, mends, before) else []
    if not kept:
        for finding in sure:
            kept += [finding] if _is_harmless(now, [*kept, finding], before) else []
    return tuple(
        place if place.finding in kept else replace(place, finding=replace(place.finding, paste="", instead=None))
        for place in places
    )


def _mends(now: Mapping[str, object], finding: Finding) -> bool:
    """Whether something stands for what was found and can take its place: a setting with another value already stays."""
    return bool(finding.paste) if finding.instead is None else mend.sections(now, [finding]) != dict(now)


def _is_harmless(now: Mapping[str, object], mends: Sequence[Finding], before: frozenset[tuple[str, str]]) -> bool:
    """Whether what stands for findings can be read as it is meant, ends them, puts no other fault in their places, and keeps
    every value of which nothing was found. ``before``: the faults of the sections as they are now."""
    whole = _whole(now, mends)
    after = {**mend.sections(now, mends), **whole}
    read = safe_yaml.read(as_yaml(whole), pulumi_yaml.StackLoader) if whole else {}
    if not isinstance(read, dict) or {name.removeprefix(f"{PROJECT}:"): section for name, section in read.items()} != _plain(
        whole
    ):
        return False
    left = _faults(after)
    if any((finding.path, finding.message) in left for finding in mends):
        return False
    if any(_is_below(finding.path, path) for finding in mends for path, _ in left - before):
        return False
    there = dict(_values(after))
    return all(
        value is None
        or there.get(path, _NONE) == value
        or any(_is_below(path, finding.path) for finding in mends)
        or (
            value is True and any(_is_below(inner_path, path) for inner_path in there)
        )  # a switch, where what it switches on is now
        for path, value in _values(now)
    )


_NONE: Final = object()


def _faults(sections: Mapping[str, object]) -> frozenset[tuple[str, str]]:
    """What can't be read in the sections: paths and words."""
    return frozenset((fault.path, fault.message) for fault in examined(sections)[1])


def _values(sections: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, section in sections.items():
        yield from mend.leaves(section, name)


def _plain(value: Any) -> Any:  # noqa: ANN401 - plain data
    if isinstance(value, Mapping):
        return {name: _plain(child) for name, child in value.items()}
    return [_plain(child) for child in value] if isinstance(value, list | tuple) else value


def _is_below(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}.")


def is_in(path: str, pasted: str) -> bool:
    """Whether the section of a path is in what is to be pasted, and of parts by name the part."""
    section, _, below = path.partition(".")
    shown = yaml.safe_load(pasted).get(f"{PROJECT}:{section}")
    return shown is not None and (section not in BY_NAME or below.partition(".")[0] in shown)


def _changed_parts(now: object, new: Mapping[str, Any]) -> dict[str, Any]:
    """Parts by name that aren't as the file has them; all of them where none is, since one was taken away then."""
    before = now if isinstance(now, Mapping) else {}
    return {part: settings for part, settings in new.items() if part not in before or before[part] != settings} or dict(new)
