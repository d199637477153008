"""The planned stop: how a key is replaced where not every daemon can know two keys at a time. Pure; no key stands here.

Every resource whose pods read the key is deleted, gates first, which drain; then it is made again with the new one. The
rest of the stack stays: the operator and its CRDs, on which other stacks may live, and the namespace, and in it the volume
with slurmctld's queue. All pods must be gone before the first comes back: kubelet keeps an immutable Secret for as long as
one pod of a node has it, and a new pod would get the old key (``watch_based_manager.go``, 1.34).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import Resource
from slinky_iac.commands.rotation.host_scripts import FOLDER
from slinky_iac.commands.rotation.model import START, Host, Plan, Step, Turn, staged
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import SLURM, Key, Role

REMOVE: Final = "remove"
KEY: Final = "key"
DAEMONS: Final = "daemons"
UP: Final = "up"
MEMBERS: Final = "members"
PODS: Final = names.DAEMON_PODS
PODS_S: Final = 600
"""Longest wait for the last of them to be gone; drained workers end within their terminationGrace."""
_ORDER: Final = (Role.SLURMDBD, Role.SLURMCTLD, Role.BACKUP, Role.SLURMD, Role.LOGIN)
"""slurmd and sackd fetch their configuration from slurmctld when they start, so slurmctld has the key before them."""


AND_STOP: Final = "`--plan` shows it, and `--stop` carries it out"


def reason(config: StackConfig, key: Key) -> str | None:
    """Why this stack's key can't be replaced under running jobs, and what there is instead; None where it can."""
    if not config.key_source.configured:
        return (
            f"keys.source is {config.key_source.setting}: only imported keys are replaced step by step under running jobs."
            " Others need a planned stop"
        )
    if config.slurmctld.reads_one_key:
        return "slurmctld is in Kubernetes: its pod reads one key, and only when it starts. It needs a planned stop"
    if key is SLURM and key not in config.bundled:
        return (
            "keys.jwks is false: slurmd's pods know one key only. Set it to true and run `pulumi up` (this once the pods of"
            " every NodeSet are replaced, drained), then run this again. Where that can't be, it needs a planned stop"
        )
    return None


def refuse_unrotatable(config: StackConfig, key: Key) -> None:
    """Raises :class:`RotationError` for a stack whose key can't be replaced under running jobs, with what it can do."""
    why = reason(config, key)
    if why is not None:
        raise RotationError(f"{why}: {AND_STOP}. Nothing was changed")


@dataclass(frozen=True)
class StopFacts:
    """What is so now. Keys as fingerprints."""

    config: StackConfig
    holders: tuple[Resource, ...] = ()
    """What the key was made with, in the state: the generator, then the Secret."""
    daemons: tuple[Resource, ...] = ()
    """Custom resources in the state whose pods read the key when they start, slurmdbd's and slurmctld's first."""
    blank: bool = False
    """Whether the state holds nothing at all: there was no `pulumi up` yet."""
    current: str | None = None
    """The configuration's key; None unless keys are imported."""
    next_key: str | None = None
    confirmed: str | None = None
    """Name of the hosts' step that is known to be done."""
    hosts: tuple[Host, ...] = ()
    stack: str | None = None
    """The stack's name, where the commands have to name it."""
    backups: tuple[str, ...] = ()
    """Hosts of backup slurmctlds that the configuration doesn't name."""
    folder: str = FOLDER
    """Slurm's folder on outside hosts."""


def plan_of(key: Key, facts: StopFacts) -> Plan:
    """All steps of a planned stop with their commands, and where it stands."""
    due, steps = _due(key, facts), tuple(_steps(key, facts))
    return Plan(
        key,
        staged(steps, steps[0].name if due is None else due),
        under_way=due is not None,
        notes=(reason(facts.config, key) or "",),
        stop=True,
    )


def _due(key: Key, facts: StopFacts) -> str | None:
    """The step that is due; None where no stop is under way, or nothing can tell, as with Secrets made outside the stack.

    A generated key has no other mark than its lifted protection: with keys.protect off there is none before it is gone."""
    source = facts.config.key_source
    if facts.blank or not source.in_state:
        return None
    if source.makes_values and facts.config.keys.protect and not all(holder.protect for holder in facts.holders):
        return REMOVE
    before, _ = split_hosts(key, facts)
    to_hosts = DAEMONS if before and facts.confirmed != DAEMONS else UP
    if source.awaited:
        return None if facts.holders else to_hosts
    if facts.next_key is None:
        return None if facts.holders else UP
    if facts.next_key != facts.current:
        return REMOVE if facts.holders or facts.daemons else KEY
    return to_hosts


def unmarked(facts: StopFacts) -> bool:
    """Whether a removal may have been cut short that left no mark: a generated key without protection, and custom resources
    of the configuration that aren't in the state."""
    config = facts.config
    if config.keys.protect or not config.key_source.makes_values:
        return False
    kinds = [daemon.type.rsplit(":", 1)[-1] for daemon in facts.daemons]
    wanted = {"Controller": 1, "RestApi": 1, "NodeSet": len(config.nodesets), "LoginSet": len(config.logins)}
    return any(kinds.count(kind) < number for kind, number in wanted.items())


def split_hosts(key: Key, facts: StopFacts) -> tuple[tuple[Host, ...], tuple[Host, ...]]:
    """Hosts that get the key before `pulumi up`, and those that can only start once it has brought slurmctld back."""
    early = {Role.SLURMDBD} if facts.config.slurmctld.pods else set(_ORDER)
    late = set(_ORDER) - early
    return _with_roles(facts.hosts, early & key.readers), _with_roles(facts.hosts, late & key.readers)


def _with_roles(hosts: Iterable[Host], roles: set[Role]) -> tuple[Host, ...]:
    """The hosts as far as they have one of these roles, in the order in which they start."""
    kept = (Host(host.name, tuple(role for role in _ORDER if role in {*host.roles} & roles)) for host in hosts)
    return tuple(sorted((host for host in kept if host.roles), key=lambda host: _ORDER.index(host.roles[0])))


def _steps(key: Key, facts: StopFacts) -> Iterator[Step]:
    config, source, own = facts.config, facts.config.key_source, _own(facts)
    before, after = split_hosts(key, facts)
    file = f"{key.name}.key.new"
    if source.configured:
        yield Step(
            START,
            Turn.OURS,
            f"make the new key: secret {key.next} of this stack",
            "nothing uses it before everything else is stopped",
            commands=(
                f"slinky keys generate {key.name} --out {file}",
                " ".join([f"base64 -w0 {file} | pulumi config set --secret slinky-iac:{key.next}", *own]),
                f"rm {file}",
            ),
        )
    held = "what represents the key in the state" if source.awaited else "the key's Secret"
    yield Step(
        REMOVE,
        Turn.OURS,
        f"remove {held} and all whose pods read it: NodeSets are drained first, by their gates. Then wait until no pod"
        " is left",
        f"{_of_store(config, key)}{_kept(config)}. At drain.deadline with jobs still running it stops, with their"
        " nodes drained: run it again to continue to wait" + ("; sessions on login pods end" if config.logins else ""),
        commands=_removal(facts, own),
    )
    if source.configured:
        adopt = " | ".join(
            _lines([f"pulumi config get slinky-iac:{key.next}", f"pulumi config set --secret slinky-iac:{key.config}"], own)
        )
        yield Step(KEY, Turn.OURS, f"{key.config} is the new key", "nothing runs with the old one", commands=(adopt,))
    elif not source.in_state:
        title = f"replace the Secret {config.cluster.namespace}/{config.secret_of(key).name}, under its name"
        yield Step(KEY, Turn.PERSON, title, "this stack doesn't make it")
    if before:
        yield Step(
            DAEMONS,
            Turn.HOSTS,
            "the new key, then a restart of each host's daemons, in this order",
            "jobs on metal hosts continue, where slurmctld has these hosts back within SlurmdTimeout",
            hosts=before,
            commands=_scripts(key, before, facts),
        )
    yield Step(
        UP,
        Turn.OURS,
        "`pulumi up`: everything that was removed is made again" + (", with a new key" if source.makes_values else ""),
        "all pods start with the new key",
        commands=_lines([*([f"pulumi config rm slinky-iac:{key.next}"] if source.configured else []), "pulumi up"], own),
    )
    if after:
        yield Step(
            MEMBERS,
            Turn.HOSTS,
            "the new key, then a restart of each host's daemons",
            "after slurmctld is back, since they fetch their configuration from it. slurmctld ends jobs on metal"
            " hosts that don't answer within SlurmdTimeout (300 s by default)",
            hosts=after,
            commands=_scripts(key, after, facts),
        )


def _of_store(config: StackConfig, key: Key) -> str:
    if not config.key_source.awaited:
        return ""
    return f"the Secret {config.cluster.namespace}/{config.secret_of(key).name} has the new key already, from its source. "


def _kept(config: StackConfig) -> str:
    if config.slurmctld.forgets_queue:
        return "slurmctld keeps no volume (controller.persistence is off): the stop waits until the queue is empty"
    if config.slurmctld.keeps_queue:
        return "pending jobs wait in slurmctld's volume, which stays"
    return "slurmctld is outside, and pending jobs wait there"


def kept(config: StackConfig) -> dict[str, str]:
    """Variables of the destroy: the namespace stays, and in it slurmctld's volume with the queue."""
    place = f"{config.cluster.namespace}/{config.cluster.resource_name}"
    return {names.KEEP_QUEUE: place} if config.slurmctld.keeps_queue else {}


def first_removed(facts: StopFacts) -> tuple[Resource, ...]:
    """What is removed with all that was made after it."""
    return facts.holders[:1] or facts.daemons[:2]


def _removal(facts: StopFacts, own: Sequence[str]) -> tuple[str, ...]:
    lines = []
    if protected := [shlex.quote(holder.urn) for holder in facts.holders if holder.protect]:
        lines.append(" ".join(["pulumi state unprotect", *protected]))
    if targets := [f"--target {shlex.quote(holder.urn)}" for holder in first_removed(facts)]:
        variables = [f"{name}={shlex.quote(text)}" for name, text in kept(facts.config).items()]
        lines.append(" ".join([*variables, "pulumi destroy", *targets, "--target-dependents"]))
    return (*_lines(lines, own), shlex.join(awaiting(facts.config)))


def kubectl(config: StackConfig) -> list[str]:
    """How a kubectl command for the stack's Kubernetes begins."""
    access = config.kubernetes
    way = ["--kubeconfig", access.kubeconfig] if access.kubeconfig else []
    return ["kubectl", *way, *(["--context", access.context] if access.context else [])]


def awaiting(config: StackConfig) -> list[str]:
    """The command that waits until no pod of the cluster is left; it ends at once where there is none."""
    wait = ["wait", "--namespace", config.cluster.namespace, "--for=delete", "pod", "--selector", PODS]
    return [*kubectl(config), *wait, f"--timeout={PODS_S}s"]


def _scripts(key: Key, hosts: Iterable[Host], facts: StopFacts) -> tuple[str, ...]:
    own = [*_own(facts), *(f"--backup {shlex.quote(host)}" for host in facts.backups)]
    own += [f"--folder {shlex.quote(facts.folder)}"] if facts.folder != FOLDER else []
    words = " ".join([f"slinky keys rotate {key.name}", *own])
    return tuple(f"{words} --script {host.name} | ssh root@{host.name} sh -s" for host in hosts)


def _own(facts: StopFacts) -> list[str]:
    return [f"--stack {shlex.quote(facts.stack)}"] if facts.stack else []


def _lines(lines: Iterable[str], own: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join([line, *own]) for line in lines)
