"""Unknown checks in groups: what each waits for, said once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.preflight import check_conf
from slinky_iac.preflight.check import BY_HAND, Check, Verdict
from slinky_iac.preflight.facts import Facts

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
    left = [each for each in checks if each.verdict is Verdict.UNKNOWN]
    found = []
    for belongs, said, change, paste in _causes(facts):
        members = tuple(each for each in left if belongs(each))
        if len(members) > 1:
            found.append(Group(members, said, change, paste))
            left = [each for each in left if each not in members]
    return tuple(found)


_Cause = tuple[Callable[[Check], bool], str, str, tuple[str, ...]]


def _causes(facts: Facts) -> tuple[_Cause, ...]:
    kube, slurm = facts.kube, facts.slurm
    causes: list[_Cause] = [
        (lambda each: each.source == BY_HAND, "checks can only be made by hand", "", ()),
        (
            lambda each: each.name == "encryption",
            "connections are in plain text, or may be; --all says what each carries",
            "",
            (),
        ),
    ]
    if kube.trouble:
        causes.append((lambda each: each.source == "Kubernetes", "checks wait for the Kubernetes API server", "", ()))
    if facts.pod.trouble and not facts.pod.reports:
        said = f"checks need a short-lived pod: {facts.pod.trouble}"
        causes.append((lambda each: each.name == "connect" and each.source not in ("here", "slurmctld"), said, "", ()))
    if not slurm.way:
        sooner = SOONER if facts.host is None else ""
        said = f"checks wait for slurmrestd, {_no_slurmrestd(facts)}"
        paste = _BY_HANDOFF if sooner else ()
        causes.append((lambda each: each.source in _SLURM or each.name in _SLURM, said, sooner, paste))
    elif slurm.tokens and "accepted" not in slurm.tokens.values():
        said = "checks wait for a token that slurmctld accepts (jwt-key)"
        causes.append((lambda each: each.source in _SLURM and each.name != "jwt-key", said, "", ()))
    else:
        said = "checks wait for the first NodeSet pod that is registered with slurmctld"
        causes.append((lambda each: each.name in _OF_PODS, said, "", ()))
        if slurm.conf is None:
            said = "checks need slurm.conf, which slurmctld doesn't report by REST before Slurm 26.05"
            sooner = SOONER
            causes.append((lambda each: each.name in _OF_CONF, said, sooner, _BY_HANDOFF))
    return tuple(causes)


def _no_slurmrestd(facts: Facts) -> str:
    if facts.slurm.unanswered:
        return "which doesn't answer"
    if facts.kube.restapi and facts.kube.restapi_pods == 0:
        return "whose pod isn't ready"
    if facts.kube.trouble:
        return "which can't be reached: the Kubernetes API server doesn't answer"
    return "which comes with the first `pulumi up`"
