"""The plan that replaces slurm.key (auth/slurm) under running jobs. Pure; keys and files stand here by their hashes only.

Since 24.05 a daemon with slurm.jwks signs with one key and takes tokens of several (auth/slurm ``internal.c``). So every
daemon first learns the new key, then all change to it, then the old one goes. slurmd in pods reads the file when slurmctld
is reconfigured, on hosts too from its second life on (``scripts``). Running jobs ask their slurmd for tokens (slurmstepd
holds no key), so they notice nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.key_lifecycle.model import START, Host, Rotation, Step, Turn, staged

LEARN_PODS: Final = "learn-pods"
LEARN_HOSTS: Final = "learn-hosts"
CHANGE_PODS: Final = "change-pods"
CHANGE_HOSTS: Final = "change-hosts"
FORGET_PODS: Final = "forget-pods"
FORGET_HOSTS: Final = "forget-hosts"
OF_PODS: Final = frozenset({LEARN_PODS, CHANGE_PODS, FORGET_PODS})


@dataclass(frozen=True)
class SlurmFacts:
    """What is so now. ``wanted`` and all files are SHA-256 of a slurm.jwks, keys are fingerprints."""

    current: str
    coming: str | None
    previous: str | None
    wanted: str
    """slurm.jwks as the configuration makes it."""
    held: str | None
    """slurm.jwks in the cluster's Secret; None: there is none."""
    key_held: str | None = None
    """Fingerprint of slurm.key in the cluster's Secret."""
    pods: Mapping[str, str | None] = field(default_factory=dict)
    """slurm.jwks as each slurmd pod sees it; None: it has none, or couldn't be asked."""
    confirmed: Mapping[str, str | None] = field(default_factory=dict)
    """slurm.jwks on each outside host; None: not known."""
    hosts: tuple[Host, ...] = ()
    unmanaged_nodes: tuple[str, ...] | None = ()
    """Nodes that answer slurmctld and are neither pods of this stack nor hosts that it names; None: not known."""


def rotation(facts: SlurmFacts) -> Rotation:
    """The plan, and where it stands."""
    due = _due(facts)
    return Rotation("slurm", staged(_steps(facts.hosts), due), under_way=due != START, notes=_notes(facts))


def _steps(hosts: tuple[Host, ...]) -> tuple[Step, ...]:
    reload = "slurm.jwks on every host; slurmdbd's restart; at last slurmctld's `scontrol reconfigure`"
    return (
        Step(START, Turn.OURS, "make the new key: secret slurmKeyNext of this stack", "nothing uses it yet"),
        Step(
            LEARN_PODS,
            Turn.OURS,
            "`pulumi up`: slurm.jwks of the pods names the new key besides the old one",
            "read by slurmd at the reconfiguration of the next step; every pod's file is awaited first",
        ),
        Step(
            LEARN_HOSTS,
            Turn.HOSTS,
            f"{reload}: they sign with the old key, and take the new one",
            "slurmd and sackd that began with slurm.key are restarted this once: jobs go on, but for a second srun and"
            " sbatch fail there. A host that is left out is cut off at the next change, its jobs lost at SlurmdTimeout",
            hosts=hosts,
        ),
        Step(
            CHANGE_PODS,
            Turn.OURS,
            "slurmKey is the new key, slurmKeyPrevious the old one; `pulumi up`: pods' slurm.jwks signs with the new",
            "and slurm.key's Secret holds the new key. Everybody takes both, so the order of hosts doesn't matter",
        ),
        Step(
            CHANGE_HOSTS,
            Turn.HOSTS,
            f"{reload}: they sign with the new key, and take the old one; slurm.key becomes the new key",
            "from here nobody signs with the old key",
            hosts=hosts,
        ),
        Step(
            FORGET_PODS,
            Turn.OURS,
            "slurmKeyPrevious goes; `pulumi up`: the pods' slurm.jwks names the new key only",
            "read at the reconfiguration of the next step",
        ),
        Step(
            FORGET_HOSTS,
            Turn.HOSTS,
            f"{reload}: they know the new key only",
            "from here the old key is refused everywhere",
            hosts=hosts,
        ),
    )


def _due(facts: SlurmFacts) -> str:
    """By the configuration's secrets first (each step of ours begins by changing them), then by what pods and hosts have."""
    if facts.coming is not None and facts.previous is not None:
        return CHANGE_PODS  # cut short between two of its settings
    if facts.coming is None and facts.previous is None and facts.key_held is None:
        return START  # no Secret: a stack before its first `pulumi up`
    of_pods, of_hosts, then = _stage(facts)
    if not _pods_have(facts):
        return of_pods
    if of_hosts == FORGET_HOSTS and not facts.confirmed:
        return then  # nobody can be asked: a stack at rest looks just so
    return then if _hosts_have(facts) else of_hosts


def _stage(facts: SlurmFacts) -> tuple[str, str, str]:
    if facts.coming is not None:
        return (CHANGE_PODS, CHANGE_PODS, CHANGE_PODS) if facts.coming == facts.current else _LEARN
    return _CHANGE if facts.previous is not None else _FORGET


_LEARN = (LEARN_PODS, LEARN_HOSTS, CHANGE_PODS)
_CHANGE = (CHANGE_PODS, CHANGE_HOSTS, FORGET_PODS)
_FORGET = (FORGET_PODS, FORGET_HOSTS, START)


def _pods_have(facts: SlurmFacts) -> bool:
    key_waits = facts.coming is None and facts.key_held != facts.current
    return facts.held == facts.wanted and not key_waits and all(file == facts.wanted for file in facts.pods.values())


def _hosts_have(facts: SlurmFacts) -> bool:
    return all(facts.confirmed.get(host.name) == facts.wanted for host in facts.hosts)


def _notes(facts: SlurmFacts) -> tuple[str, ...]:
    found = [] if facts.unmanaged_nodes == () else [of_unmanaged_nodes(facts)]
    found += [f"pod {pod}: {_said(file, facts.wanted)}" for pod, file in sorted(facts.pods.items())]
    return (*found, *(f"host {h.name}: {_said(facts.confirmed.get(h.name), facts.wanted)}" for h in facts.hosts))


def of_unmanaged_nodes(facts: SlurmFacts) -> str:
    """What to do about nodes that no step reaches."""
    if facts.unmanaged_nodes is None:
        return (
            "unknown whether there are nodes that no step reaches: slurmctld can't be asked. They are cut off at"
            f" {CHANGE_HOSTS}, and their jobs lost"
        )
    more = f" and {len(facts.unmanaged_nodes) - 8} more" if len(facts.unmanaged_nodes) > 8 else ""
    return (
        f"no step reaches {', '.join(facts.unmanaged_nodes[:8])}{more}, which answer slurmctld and are neither pods nor"
        " hosts of this stack: name them in external.slurmdHosts, or bring them slurm.jwks yourself in"
        f" {LEARN_HOSTS}; otherwise they are cut off at {CHANGE_HOSTS}, and their jobs lost"
    )


def _said(file: str | None, wanted: str) -> str:
    if file is None:
        return "its slurm.jwks isn't known"
    return "has the slurm.jwks that this stack makes" if file == wanted else "has another slurm.jwks than this stack makes"
