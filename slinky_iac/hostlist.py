"""Slurm's hostlist syntax: ``gpu-[0-3,07-09],metal-1,r[1-2]n[01-04]`` and back.

What Slurm does (``src/common/hostlist.c``; slurm.conf(5), NodeName): a comma parts expressions outside brackets and
ranges inside them; the width of a range is that of its lower bound (``[08-10]`` is 08, 09, 10); several brackets
multiply, the last one running fastest; order and repeats of the text are kept. Job records of slurmrestd hold such
expressions, and not sorted ones (``g-[1,0]``).

Stricter than Slurm where its leniency would hide a mistake: empty expressions between commas, blanks in the text and
ranges that run backwards are errors, each with its position.

Why no library: python-hostlist is GPL, and reads ``a,,b``; ClusterShell sorts, and reads ``@group`` as no node and ``a!b``
as ``a``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

from slinky_iac.config.shown import LONGEST_HOSTLIST, name_of, shown
from slinky_iac.errors import HostlistError

DEFAULT_LIMIT = 100_000
"""Most names that one expression may stand for: ``n[0-999999999]`` must not eat the machine."""

MAX_DIGITS = 18
"""Longest run of digits read as a number; longer runs outside brackets stay plain text. slurmctld lists jobs of every host
that it has, also of one that is named by a timestamp."""

_PART = re.compile(r"(?:[^,\[]++|\[[^\]]*+\]?)++")
_LITERAL = re.compile(r"[^\s,\[\]]+")
_RANGE = re.compile(rf"([0-9]{{1,{MAX_DIGITS}}})(?:-([0-9]{{1,{MAX_DIGITS}}}))?")
_TAIL = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}\Z")


@dataclass(frozen=True)
class _Span:
    """Numbers from ``low`` to ``high``, both included, padded with zeros to ``width`` digits."""

    low: int
    high: int
    width: int

    def __len__(self) -> int:
        return self.high - self.low + 1

    def texts(self) -> Iterator[str]:
        return (f"{number:0{self.width}d}" for number in range(self.low, self.high + 1))


_Spans = tuple[_Span, ...]


def expand(expr: str, limit: int = DEFAULT_LIMIT) -> tuple[str, ...]:
    """Names that ``expr`` stands for, in its order and with its repeats; ``""`` stands for none.

    :raises HostlistError: malformed text (with its position), or more than ``limit`` names.
    """
    names: list[str] = []
    for segments in _parse(expr):
        count = prod(sum(len(span) for span in segment) for segment in segments if not isinstance(segment, str))
        if len(names) + count > limit:
            many = f"stands for more than {limit} names; none was expanded"
            said = f"hostlist {_shown(expr)} {many}. Name fewer nodes at once, or raise the limit on purpose."
            raise HostlistError(said, many)
        names.extend("".join(choice) for choice in product(*map(_texts, segments)))
    return tuple(names)


def bracketed(ports: str) -> str:
    """Ports of a NodeName= line as a hostlist: several need no brackets there (``build_node_line_info`` of node_conf.c)."""
    return ports if ports.startswith("[") or not re.search("[,-]", ports) else f"[{ports}]"


def split(text: str) -> list[str]:
    """The expressions of a list, each as it is written: commas in brackets don't part, and a bracket without its end goes to
    the end of the text. What an expression stands for isn't looked at."""
    return _PART.findall(text)


def compress(names: Iterable[str]) -> str:
    """One short expression for ``names``: sorted by :func:`natural_key`, each name once, padding kept.

    Only the last number of a name goes into brackets, as in ``scontrol show hostlist`` with one dimension.

    :raises HostlistError: a name that isn't a single host name (empty, or with blanks, commas or brackets).
    """
    unique = sorted({_checked(name) for name in names}, key=natural_key)
    pieces: list[str] = []
    for prefix, group in groupby(unique, key=lambda name: _split(name)[0]):
        digits = [_split(name)[1] for name in group]
        if not digits[0]:  # the bare prefix is a name too, and sorts before its numbers
            pieces.append(prefix)
        runs = list(_runs(text for text in digits if text))
        if len(runs) == 1 and "-" not in runs[0]:
            pieces.append(prefix + runs[0])
        elif runs:
            pieces.append(f"{prefix}[{','.join(runs)}]")
    return ",".join(pieces)


def natural_key(name: str) -> tuple[str, int, int]:
    """Sort key under which ``gpu-2`` comes before ``gpu-10`` and before ``gpu-02``."""
    prefix, digits = _split(name)
    return prefix, int(digits) if digits else -1, len(digits)


def _parse(expr: str) -> Iterator[tuple[str | _Spans, ...]]:
    """Each comma-separated expression as its segments: literal text, or the spans of a bracket."""
    at = 0
    while at < len(expr):
        segments: list[str | _Spans] = []
        while at < len(expr) and expr[at] != ",":
            segment, at = _segment(expr, at)
            segments.append(segment)
        if not segments:
            raise _fault(expr, at, "an empty name before this comma")
        yield tuple(segments)
        at += 1
        if at == len(expr):  # the text ended with the comma just passed
            raise _fault(expr, at - 1, "nothing after this comma")


def _segment(expr: str, at: int) -> tuple[str | _Spans, int]:
    """The segment that begins at ``at``, and the position after it."""
    if expr[at] == "[":
        return _bracket(expr, at)
    literal = _LITERAL.match(expr, at)
    if literal is None:
        what = "a ']' without its '['" if expr[at] == "]" else "a blank or control character"
        raise _fault(expr, at, what)
    return literal[0], literal.end()


def _bracket(expr: str, at: int) -> tuple[_Spans, int]:
    """The spans of the bracket that opens at ``at``, and the position after its end."""
    spans: list[_Span] = []
    here = at + 1
    while True:
        match = _RANGE.match(expr, here)
        if match is None:
            raise _fault(expr, here, f"expected a number of 1 to {MAX_DIGITS} digits, such as 3 or 07-09")
        low, high = match[1], match[2] or match[1]
        if int(low) > int(high):
            raise _fault(expr, here, f"the range {match[0]} runs backwards")
        spans.append(_Span(int(low), int(high), len(low)))
        here = match.end()
        closing = expr[here : here + 1]
        if closing == "]":
            return tuple(spans), here + 1
        if closing != ",":
            raise _fault(expr, here, f"expected ',' or ']' to end the bracket opened at position {at}")
        here += 1


def _texts(segment: str | _Spans) -> tuple[str, ...]:
    if isinstance(segment, str):
        return (segment,)
    return tuple(text for span in segment for text in span.texts())


def _runs(digits: Iterable[str]) -> Iterator[str]:
    """``7``, ``8``, ``9``, ``10`` as ``7-10``: neighbours that one range's width can hold."""
    first = last = ""
    for text in digits:
        if first and text == f"{int(last) + 1:0{len(first)}d}":
            last = text
            continue
        if first:
            yield _run(first, last)
        first = last = text
    if first:
        yield _run(first, last)


def _run(first: str, last: str) -> str:
    return first if first == last else f"{first}-{last}"


def _split(name: str) -> tuple[str, str]:
    """A name as its text and its last number's digits (``""`` where it doesn't end in one)."""
    tail = _TAIL.search(name)
    return (name[: tail.start()], tail[0]) if tail else (name, "")


def _checked(name: str) -> str:
    if _LITERAL.fullmatch(name) is None:
        why = "isn't a single host name: it is empty, or holds a blank, a comma or a bracket"
        raise HostlistError(f"{_shown(name)} {why}. Expand expressions before compressing names.", why)
    return name


def _fault(expr: str, at: int, what: str) -> HostlistError:
    why = f"position {at}: {what}"
    return HostlistError(f"hostlist {_shown(expr)}, {why}", why)


def _shown(text: str) -> str:
    """``text`` for an error message: what has only names and numbers between the signs of a hostlist is quoted, and all else
    may be a secret that stands where it shouldn't."""
    parts = re.split(r"[][,\s]", text)
    plain = len(text) <= LONGEST_HOSTLIST and all(name_of(part) == part for part in parts)
    return repr(text) if plain else shown(text)
