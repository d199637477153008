"""What of a file of values a release of Slinky's chart ``slurm`` doesn't read: keys of another release, in another spelling,
of other tools, or misspelt. They are named and taken away, since with Helm they have no effect. Pure.

Source: ``helm/slurm/values.yaml`` and ``templates/`` of slurm-operator v1.0.5, v1.1.2, v1.2.1 and main. Helm's templates
read a key in one spelling of small and capital letters alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.config.chart.table import ANY, ROWS, Row
from slinky_iac.config.chart.translation import UNKNOWN, Path, fits, is_empty, row_of, words_of
from slinky_iac.config.kubernetes.types import fields
from slinky_iac.releases import LINES
from slinky_iac.text import closest

SETS: Final = {"nodesets": "nodesetDefaults", "loginsets": "loginsetDefaults"}
"""Keys of sets, and of what all sets of a kind have."""
_OLD: Final = frozenset({0})
_NEW: Final = frozenset({1, 2, 3})
_SOME: Final[Mapping[frozenset[int], str]] = {
    frozenset(): "accounting.initconf",
    _OLD: """
        slurmKeyRef jwtHs256KeyRef priorityClassName loginsets.*.sssdConf nodesets.*.useResourceLimits
    """,
    frozenset({0, 1}): "nodesets.*.taintKubeNodes",
    _NEW: """
        slurmKey jwtKey jwksKeys priorityClass sssd loginsets.*.strategy nodesets.*.ordinalPadding nodesets.*.scalingMode
        nodesets.*.ssh nodesets.*.workloadDisruptionProtection
    """,
    frozenset({2, 3}): """
        nodesetDefaults loginsetDefaults controller.inplaceReconfigure extraObjects restapi.pdb vendor.google
        nodesets.*.oversubscribeNode nodesets.*.pinToNode nodesets.*.pruneSlurmNodeRecords
        accounting.slurmdbd.image.digest controller.logfile.image.digest controller.reconfigure.image.digest
        controller.slurmctld.image.digest restapi.slurmrestd.image.digest nodesets.*.slurmd.image.digest
        nodesets.*.logfile.image.digest loginsets.*.login.image.digest loginsets.*.initconf.image.digest
    """,
    frozenset({3}): """
        controller.ha prologScriptRefs epilogScriptRefs prologSlurmctldScriptRefs epilogSlurmctldScriptRefs
    """,
}
BY_RELEASE: Final = {key: lines for lines, keys in _SOME.items() for key in keys.split()}
"""Keys that not all releases of the chart read, and the minor numbers of those that do; ``*`` is any name."""
_BY_PATTERN: Final = {tuple(key.split(".")): lines for key, lines in BY_RELEASE.items()}
_THERE: Final[Mapping[str, Mapping[frozenset[int], str]]] = {
    "priorityClassName": {_NEW: "priorityClass: {enabled: true, name: …}"},
    "slurmKeyRef": {_NEW: "slurmKey: {create: false, secretRef: …}"},
    "jwtHs256KeyRef": {_NEW: "jwtKey: {create: false, secretRef: …}"},
    "loginsets.*.sssdConf": {_NEW: "sssd.conf"},
    "priorityClass": {_OLD: "priorityClassName"},
    "slurmKey": {_OLD: "slurmKeyRef"},
    "jwtKey": {_OLD: "jwtHs256KeyRef"},
    "sssd": {_OLD: "loginsets.NAME.sssdConf"},
    "nodesetDefaults": {_OLD | {1}: "a line in each NodeSet"},
    "loginsetDefaults": {_OLD | {1}: "a line in each login set"},
}
"""What the releases that don't read a key have in its place."""
_ALONE: Final = ("controller.external", "accounting.external", "loginsets", "partitions", *SETS.values())
"""Keys of the chart that have no row of their own, since they are read before."""
_KNOWN: Final = (
    *(tuple(place.split(".")) for place in (*(row.at for row in ROWS if not row.typed), *_ALONE)),
    *_BY_PATTERN,
)


@dataclass
class Unread:
    """What is named, and why."""

    left: list[tuple[str, str]] = field(default_factory=list)
    meant: set[str] = field(default_factory=set)
    """Paths that were misspelt, as they are spelt."""


def read_by(values: Mapping[str, Any], minor: int, unread: Unread, above: Path = ()) -> dict[str, Any]:
    """Values without those that chart 1.``minor`` doesn't read; these are added to ``unread`` where they say something."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        path = (*above, str(key))
        if why := _unread(_of_a_set(path), path, minor, unread):
            unread.left += [(".".join(path), why)] if not is_empty(value) else []
        else:
            deeper = isinstance(value, Mapping) and any(
                len(known) > len(_of_a_set(path)) for known in _same(_of_a_set(path))
            )
            kept[key] = read_by(value, minor, unread, path) if deeper else value
    return kept


def _unread(at: Path, path: Path, minor: int, unread: Unread) -> str:
    """Why a key isn't read; empty where it is, and where its name is unlike every other one's."""
    lines = BY_RELEASE.get(".".join(path)) if len(path) == 1 else _lines(at)
    if lines is not None and minor not in lines:
        others = " and ".join(f"1.{line}" for line in LINES if line in lines)
        only = f"chart 1.{minor} doesn't read it, {f'only {others}' if others else 'and no other release does'}"
        return f"{only}{_instead(path if len(path) == 1 else at, minor) or _without(path)}"
    at = path if len(path) == 1 else at
    level = dict.fromkeys(known[len(at) - 1] for known in _same(at[:-1]) if len(known) >= len(at))
    return "" if at[-1] in level or "*" in level or not level else _misspelt(path, list(level), unread)


def _instead(at: Path, minor: int) -> str:
    """What the release has in the place of a key that it doesn't read."""
    there = next((there for key, there in _THERE.items() if fits(tuple(key.split(".")), at)), {})
    return next((f". There it is `{words}`" for lines, words in there.items() if minor in lines), "")


def _without(path: Path) -> str:
    """What it means that a key isn't read, and what there is here."""
    row = row_of(path)
    return f", so it has no effect with Helm{'' if row is None or '``' in words_of(row, path) else f'. {_here(row, path)}'}"


def _here(row: Row, path: Path) -> str:
    words = words_of(row, path).removesuffix("; remove the line")  # the line is the chart's file's
    words = f"it {words}" if words.startswith("is ") else words
    return words[:1].upper() + words[1:] if " here" in words else f"Here {words}"


def _misspelt(path: Path, level: list[str], unread: Unread) -> str:
    """What to say of a word that isn't one of its level's; empty for one that is unlike each, or free there."""
    low = {word.lower(): word for word in level}
    if right := low.get(path[-1].lower()):
        unread.meant.add(".".join((*path[:-1], right)))
        return f"did you mean {right}? The chart reads only that spelling, so this has no effect with Helm"
    if ANY in level:
        return _of_kubernetes(path, level, unread)
    if (row := row_of(path)) is not None:
        return f"the chart doesn't read it, so it has no effect with Helm. {_here(row, path)}" if row.typed else ""
    if close := closest(path[-1], low.values()):
        unread.meant.add(".".join((*path[:-1], close)))
        return f"{UNKNOWN}; did you mean {close}? What is below it isn't carried over"
    return ""


_KINDS: Final = {
    **dict.fromkeys(("container", "logfile", "reconfigure", "initconf"), ("Container", "container")),
    "persistence": ("PersistentVolumeClaimSpec", "claim"),
}
"""What has the fields of one of Kubernetes' types alone, by the last word of the raw piece that it is: the type, and what to
call it."""


def _of_kubernetes(path: Path, level: list[str], unread: Unread) -> str:
    """What to say of a word below what has the fields of one of Kubernetes' types alone: the API server drops others. Empty
    for a field, and for a level that has any word."""
    at, word = _of_a_set(path), path[-1]
    row = row_of((*at[:-1], ANY))
    kind, called = _KINDS.get("" if row is None else row.setting.removesuffix(f".{ANY}").rpartition(".")[2], ("", ""))
    known = fields(kind) if kind else ()
    if not kind or word in known:
        return ""
    if any(place[len(at) - 2] == word for place in _same(at[:-2]) if len(place) > len(at) - 2):
        return f"the chart has it one level up, {'.'.join((*path[:-2], word))}; here it had no effect"
    said = f"isn't a field of a {called}, so it had no effect"
    if close := closest(word, (name for name in (*level, *known) if name != ANY)):
        unread.meant.add(".".join((*path[:-1], close)))
        return f"{said}; did you mean {close}?"
    return said


def _of_a_set(path: Path) -> Path:
    """A key for all sets as that of one set."""
    kind = next((sets for sets, common in SETS.items() if common == path[0]), "")
    return (kind, "*", *path[1:]) if kind else path


def _same(path: Path) -> Iterator[Path]:
    """Keys of the chart that begin with a path, in its spelling."""
    return (
        known
        for known in _KNOWN
        if len(known) >= len(path) and all(want in ("*", got) for want, got in zip(known, path, strict=False))
    )


def _lines(at: Path) -> frozenset[int] | None:
    return next((lines for pattern, lines in _BY_PATTERN.items() if fits(pattern, at)), None)
