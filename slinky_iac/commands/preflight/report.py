"""What a preflight found, for a terminal and for programs. Pure.

The summary has what is wrong in full, what could not be checked in groups with what each waits for, and what is right on one
line. Tables fit the width given, or 100 columns; lines to paste are printed as they are, however long. Texts of others are
made harmless.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from slinky_iac.commands import output
from slinky_iac.commands.output import Paint, clipped
from slinky_iac.preflight import check_conf
from slinky_iac.preflight.check import BY_HAND, Check, Verdict
from slinky_iac.preflight.facts import Facts
from slinky_iac.text import plain

_SLURM: Final = frozenset({"slurmctld", "slurmdbd", "slurmrestd"})
_OF_PODS: Final = frozenset({"pods-reached", "pods-registered", "slurm-key"})
"""Checks that slurmctld answers once a pod of a NodeSet is registered."""
_OF_CONF: Final = frozenset(row.name for row in check_conf.EXPECTED)
_BY_HANDOFF: Final = ("slinky preflight --via 'ssh root@{host} sh -s'", "slinky handoff --role slurmctld --out handoff")


SOONER: Final = (
    "To know most of it now, ask slurmctld's host by ssh, or render a script and run its `slurm-check-slurmctld` there"
)


@dataclass(frozen=True)
class Group:
    """Unknown checks with one cause."""

    checks: tuple[Check, ...]
    said: str
    """After the number of checks: ``checks wait for …``."""
    change: str = ""
    """What to do to know sooner."""
    paste: tuple[str, ...] = ()


def grouped(checks: Sequence[Check], facts: Facts) -> tuple[Group, ...]:
    """The unknown checks that share a cause with another one; what is left stands for itself."""
    left = [check for check in checks if check.verdict is Verdict.UNKNOWN]
    groups = []
    for belongs, said, change, paste in _causes(facts):
        members = tuple(check for check in left if belongs(check))
        if len(members) > 1:
            groups.append(Group(members, said, change, paste))
            left = [check for check in left if check not in members]
    return tuple(groups)


_Cause = tuple[Callable[[Check], bool], str, str, tuple[str, ...]]


def _causes(facts: Facts) -> tuple[_Cause, ...]:
    kube, slurm = facts.kube, facts.slurm
    causes: list[_Cause] = [
        (lambda check: check.source == BY_HAND, "checks can only be made by hand", "", ()),
        (
            lambda check: check.name == "encryption",
            "connections are in plain text, or may be; --all says what each carries",
            "",
            (),
        ),
    ]
    if kube.trouble:
        causes.append((lambda check: check.source == "Kubernetes", "checks wait for the Kubernetes API server", "", ()))
    if facts.pod.trouble and not facts.pod.reports:
        said = f"checks need a short-lived pod: {facts.pod.trouble}"
        causes.append((lambda check: check.name == "connect" and check.source not in ("here", "slurmctld"), said, "", ()))
    if not slurm.way:
        sooner = SOONER if facts.host is None else ""
        said = f"checks wait for slurmrestd, {_no_slurmrestd(facts)}"
        paste = _BY_HANDOFF if sooner else ()
        causes.append((lambda check: check.source in _SLURM or check.name in _SLURM, said, sooner, paste))
    elif slurm.tokens and "accepted" not in slurm.tokens.values():
        said = "checks wait for a token that slurmctld accepts (jwt-key)"
        causes.append((lambda check: check.source in _SLURM and check.name != "jwt-key", said, "", ()))
    else:
        said = "checks wait for the first NodeSet pod that is registered with slurmctld"
        causes.append((lambda check: check.name in _OF_PODS, said, "", ()))
        if slurm.conf is None:
            said = "checks need slurm.conf, which slurmctld doesn't report by REST before Slurm 26.05"
            sooner = SOONER
            causes.append((lambda check: check.name in _OF_CONF, said, sooner, _BY_HANDOFF))
    return tuple(causes)


def _no_slurmrestd(facts: Facts) -> str:
    if facts.slurm.unanswered:
        return "which doesn't answer"
    if facts.kube.restapi and facts.kube.restapi_pods == 0:
        return "whose pod isn't ready"
    if facts.kube.trouble:
        return "which can't be reached: the Kubernetes API server doesn't answer"
    return "which comes with the first `pulumi up`"


WIDTH: Final = 100
SHADES: Final = {Verdict.PROBLEM: "red", Verdict.WARNING: "yellow", Verdict.UNKNOWN: "cyan", Verdict.FINE: "green"}
_INDENT: Final = " " * 10
_WIDEST_SOURCE: Final = 20
_LONGEST: Final = 700


def counts(checks: Sequence[Check]) -> dict[str, int]:
    """How many checks came to each verdict, the worst first."""
    return {verdict.value: sum(check.verdict is verdict for check in checks) for verdict in Verdict}


def headline(cluster: str, checks: Sequence[Check]) -> str:
    """One line: ``preflight of lab: 1 problem, 2 unknown, 20 fine``."""
    numbers = {name: count for name, count in counts(checks).items() if count}
    words = [f"{n} {name}{'s' if n > 1 and name in ('problem', 'warning') else ''}" for name, n in numbers.items()]
    return f"preflight of {plain(cluster)}: {', '.join(words) or 'nothing to check'}"


def as_text(cluster: str, checks: Sequence[Check], *, colour: bool = False, width: int = WIDTH) -> str:
    """All checks as a table, the worst first, ending with a line break."""
    paint = Paint(colour)
    lines = [paint(headline(cluster, checks), "bold")]
    if checks:
        source = min(max(len(plain(check.source)) for check in checks), _WIDEST_SOURCE)
        columns = _Columns(max(len(check.name) for check in checks), source, width)
        lines += ["", paint(columns.row("VERDICT", "CHECK", "FROM", "WHAT CAME BACK"), "dim")]
        for check in checks:
            lines += _lines(check, columns, paint)
    return "\n".join(lines) + "\n"


def summary(cluster: str, checks: Sequence[Check], facts: Facts, *, colour: bool = False, width: int = WIDTH) -> str:
    """Problems and warnings as a table, what else is unknown by its cause, and the names of the rest."""
    paint, groups = Paint(colour), grouped(checks, facts)
    apart = {id(check) for group in groups for check in group.checks}
    whole = [check for check in checks if check.verdict is not Verdict.FINE and id(check) not in apart]
    lines = as_text(cluster, whole, colour=colour, width=width).splitlines()[1:] if whole else []
    for group in groups:
        lines += _folded(Verdict.UNKNOWN, f"{len(group.checks)} {group.said}", group.checks, paint, width)
        lines += _advice(group.change, group.paste, width)
    good = [check for check in checks if check.verdict is Verdict.FINE]
    if good:
        lines += _folded(Verdict.FINE, f"{len(good)} check{'s' if len(good) > 1 else ''}", good, paint, width)
    end = _ending(checks, folded=bool(groups or good))
    return "\n".join([paint(headline(cluster, checks), "bold"), *lines, "", paint(end, "bold")]) + "\n"


def _folded(verdict: Verdict, said: str, checks: Sequence[Check], paint: Paint, width: int) -> list[str]:
    """The names of many checks in the place of their rows."""
    times = Counter(check.name for check in checks)
    listed = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in times.items())
    lines = textwrap.wrap(f"{plain(said, _LONGEST)}: {listed}", width - len(_INDENT), break_on_hyphens=False)
    first = f"{paint(verdict.value, SHADES[verdict])}{' ' * (len(_INDENT) - len(verdict.value))}{lines[0]}"
    return ["", first, *(f"{_INDENT}{line}" for line in lines[1:])]


def _ending(checks: Sequence[Check], *, folded: bool) -> str:
    numbers = counts(checks)
    words = (("problem", "problem"), ("warning", "warning"), ("unknown check", "unknown"))
    said = [f"{numbers[name]} {word}{'s' if numbers[name] > 1 else ''}" for word, name in words if numbers[name]]
    if numbers["problem"]:
        end = f"{said[0]}: correct {'them' if numbers['problem'] > 1 else 'it'}, then run preflight again"
    else:
        end = "; ".join(["No problem found", *said])
    return f"{end}.{' --all shows every check.' if folded else ''}"


@dataclass(frozen=True)
class _Columns:
    """Widths of the second and third column; the first is as wide as its longest word, the last has what is left."""

    name: int
    source: int
    width: int

    @property
    def text(self) -> int:
        return self.width - len(self.row("", "", "", "|")) + 1

    def row(self, verdict: str, name: str, source: str, text: str) -> str:
        return f"{verdict:<8}  {name:<{self.name}}  {clipped(source, self.source):<{self.source}}  {text}"


def _lines(check: Check, columns: _Columns, paint: Paint) -> Iterator[str]:
    first, *rest = _wrapped(f"{check.subject}: {check.got}", columns.text)
    row = columns.row(check.verdict.value, check.name, plain(check.source), first)
    mark = len(check.verdict.value)
    yield paint(row[:mark], SHADES[check.verdict]) + row[mark:]
    yield from (columns.row("", "", "", line) for line in rest)
    if check.reason:
        yield from (columns.row("", "", "", line) for line in _wrapped(f"Acknowledged: {check.reason}", columns.text))
        return
    place = f", {check.at}" if check.paste and check.at else ""
    yield from _advice(f"{check.change.rstrip('.:')}{place}" if check.change else "", check.paste, columns.width)


def _advice(change: str, paste: Sequence[str], width: int) -> Iterator[str]:
    if change:
        advice = _wrapped(f"{change}{':' if paste else '.'}", width - len(_INDENT) - 3)
        yield from (f"{_INDENT}{'-> ' if at == 0 else '   '}{line}" for at, line in enumerate(advice))
    for line in paste:
        yield from (f"{_INDENT}       {part}" for part in _harmless(line))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(plain(text, _LONGEST), width, break_on_hyphens=False) or [""]


def _harmless(line: str) -> list[str]:
    return [f"{' ' * (len(part) - len(part.lstrip()))}{plain(part, 2000)}" for part in line.split("\n")]


def as_json(stack: str, cluster: str, checks: Sequence[Check]) -> str:
    """The same as JSON, ``schema`` 1, ending with a line break."""
    body = {
        "stack": stack,
        "cluster": cluster,
        "counts": counts(checks),
        "checks": [asdict(check) | {"verdict": check.verdict.value} for check in checks],
    }
    return output.as_json(body) + "\n"
