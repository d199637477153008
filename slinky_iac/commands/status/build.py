"""From a stack's state and one look to the screen. Pure: what wasn't answered stays unknown.

Three things show, without decrypting the configuration, that a key is being replaced: secrets that are set only meanwhile,
keys that are handed out beside the one in use, and, in a planned stop, what of the stack's state is gone or has lost its
protection. The step isn't always known: `keys rotate … --plan` looks at everything. The history has the configuration of
each update too, which is never looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from slinky_iac.commands.rotation.planned_stop import REMOVE, UP, StopFacts, plan_of, reason
from slinky_iac.commands.status.facts import Facts, KeyPlace
from slinky_iac.commands.status.model import (
    NOT_ASKED,
    NOT_READ,
    Answer,
    Endpoint,
    Guarded,
    Key,
    KeyChange,
    LastUp,
    Seen,
    Status,
    Version,
)
from slinky_iac.commands.status.nodes import drains, groups
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys import catalogue
from slinky_iac.keys.catalogue import JWT
from slinky_iac.keys.registry import ROTATING
from slinky_iac.parts.registry import GUARDS
from slinky_iac.releases import of_protocol
from slinky_iac.text import moment

NO_USER: Final = "unknown: the backend records no user"


def last_up(entries: Sequence[Mapping[str, Any]]) -> LastUp | None:
    """The newest update among ``entries`` (newest first, as pulumi lists them); None where there is none."""
    for number, entry in enumerate(entries):
        if entry.get("kind") == "update":
            changes = entry.get("resourceChanges")
            counts = sorted(changes.items()) if isinstance(changes, dict) else ()
            newer = [f"{update.get('kind')} {update.get('result')}" for update in reversed(entries[:number])]
            return LastUp(
                result=str(entry.get("result") or "unknown"),
                started=moment(entry.get("startTime")),
                ended=moment(entry.get("endTime")),
                who=_who(entry.get("environment")),
                changes={str(op): count for op, count in counts if isinstance(count, int)},
                message=str(entry.get("message") or "").strip().partition("\n")[0],
                later=f"since then: {', '.join(newer)}" if newer else "",
            )
    return None


def _who(environment: object) -> str:
    """Who ran it, as far as pulumi wrote it down: the CI run, or the commit that was checked out and its author."""
    known = environment.items() if isinstance(environment, dict) else ()
    said = {key: value for key, value in known if isinstance(value, str)}
    head, author = said.get("git.head", "")[:9], said.get("git.author") or said.get("git.committer", "")
    dirty = " with changes" if said.get("git.dirty") == "true" else ""
    commit = f"commit {head}{dirty}{f' by {author}' if author else ''}" if head else ""
    run = said.get("ci.build.url") or said.get("ci.build.id", "")
    ci = f"CI {said['ci.system']}{f' {run}' if run else ''}" if said.get("ci.system") else ""
    return "; ".join(part for part in (ci, commit) if part) or NO_USER


UNKNOWN: Final = "unknown"
_OUTSIDE: Final = "made outside this stack: as the Secret has it now"


def status(facts: Facts, seen: Seen) -> Status:
    """The screen."""
    return Status(
        taken_at=seen.now,
        stack=facts.stack,
        cluster=facts.cluster,
        holds=facts.resources,
        endpoints=tuple(_endpoints(facts, seen)),
        versions=tuple(_versions(facts, seen)),
        groups=groups(facts, seen),
        drains=drains(facts, seen) if facts.reach is not None else (),
        keys=tuple(_aged(replace(_key(place, seen), signs=_signs(place, facts, seen)), seen) for place in facts.keys),
        last=last_up(seen.history.value) if seen.history.value is not None else None,
        unknown=seen.troubles(),
        key_changes=key_changes(facts, seen),
        guards={name: _guard(name, facts, seen) if facts.reach is not None else None for name in GUARDS},
    )


def _guard(name: str, facts: Facts, seen: Seen) -> Guarded:
    if not facts.guards.get(name):
        return Guarded("off")
    answer = seen.guards.get(name)
    if answer is None or answer.value is None:
        return Guarded("unknown")
    return Guarded("broken" if answer.value else "stands", answer.value)


def _endpoints(facts: Facts, seen: Seen) -> Iterable[Endpoint]:
    if facts.reach is None:
        return
    reach, kube = facts.reach, seen.kube
    yield _endpoint("Kubernetes API", reach.context or "current context", kube, kube.value or "")
    proxy = f"{reach.namespace}/{reach.restapi_service} (service proxy)"
    newest, *older = seen.served.value or ("",)
    served = f"REST {', '.join((newest, *(version.removeprefix('v0.0') for version in older)))}" if newest else ""
    yield _endpoint("slurmrestd", reach.url or proxy, seen.slurmrestd, served)
    if facts.has_slurmctld:
        yield from _slurmctld(facts, seen)
    if facts.has_slurmdbd:
        yield _slurmdbd(facts, seen)
    if seen.users_url:
        yield _endpoint("slurmrestd for users", seen.users_url, seen.users_slurmrestd, seen.users_slurmrestd.value or "")


def _endpoint(name: str, where: str, answer: Answer[object], text: str) -> Endpoint:
    """What a question says of the endpoint that was asked; ``text`` where it answered."""
    if answer.known:
        return Endpoint(name, where, "up", answer.ms, text)
    return Endpoint(name, where, "unknown" if answer.trouble.startswith(NOT_ASKED) else "down", text=answer.trouble)


def _slurmctld(facts: Facts, seen: Seen) -> Iterable[Endpoint]:
    where = facts.slurmctld or "in Kubernetes"
    pings = seen.slurmrestd.value.pings if seen.slurmrestd.value is not None else ()
    if not pings:
        yield Endpoint("slurmctld", where, "unknown", text="slurmrestd, which knows, doesn't answer")
    for ping in pings:
        name = "slurmctld" if ping.primary or len(pings) == 1 else "slurmctld (backup)"
        place = f"{ping.hostname} ({where})" if ping.primary else ping.hostname
        if ping.responding:
            text = "takes our token" if seen.token.known else "answers slurmrestd"
            yield Endpoint(name, place, "up", seen.token.ms if seen.token.known else None, text)
        elif seen.token.known:  # a slurmctld took the token, so this one is really silent
            yield Endpoint(name, place, "down", text="doesn't answer slurmrestd")
        else:
            yield Endpoint(name, place, "down", text=seen.token.trouble)


def _slurmdbd(facts: Facts, seen: Seen) -> Endpoint:
    where, answer = facts.slurmdbd or "in Kubernetes", seen.slurmdbd
    here = [cluster for cluster in answer.value or () if cluster.name == facts.cluster]
    if not here:
        text = f"doesn't know the cluster {facts.cluster}"
    elif not here[0].controller.host:
        text = f"answers, but no slurmctld of {facts.cluster} is registered with it"
    else:
        text = f"has slurmctld at {here[0].controller.host}:{here[0].controller.port}"
    return _endpoint("slurmdbd", where, answer, text)


def _versions(facts: Facts, seen: Seen) -> Iterable[Version]:
    if facts.reach is None:
        return
    yield _operator(facts, seen)
    yield Version("slurmrestd", seen.slurmrestd.value.meta.slurm.release if seen.slurmrestd.value is not None else UNKNOWN)
    if facts.has_slurmctld:
        yield _slurmctld_version(facts, seen)
    if facts.has_slurmdbd:
        yield Version("slurmdbd", UNKNOWN, "REST doesn't tell: `slurmdbd -V` on its host")
    nodes = seen.nodes.value.nodes if seen.nodes.value is not None else ()
    released = Counter(node.version or UNKNOWN for node in nodes)
    for release, count in sorted(released.items(), reverse=True):
        yield Version("slurmd", release, f"on {count} node{'s' if count > 1 else ''}")
    if seen.nodes.value is None:
        yield Version("slurmd", UNKNOWN)


def _operator(facts: Facts, seen: Seen) -> Version:
    if not seen.operator.value:
        why = seen.operator.trouble.removeprefix(NOT_ASKED) if seen.operator.trouble.startswith(NOT_ASKED) else "not asked"
        return Version("slurm-operator", UNKNOWN, f"the stack is written for {facts.operator or UNKNOWN}; {why}")
    tag = seen.operator.value[0].rpartition(":")[2]
    same = tag.removeprefix("v") == facts.operator
    return Version("slurm-operator", tag, "" if same else f"but the stack is written for {facts.operator or UNKNOWN}")


def _slurmctld_version(facts: Facts, seen: Seen) -> Version:
    clusters = seen.slurmdbd.value or ()
    protocol = next(
        (cluster.rpc_version for cluster in clusters if cluster.name == facts.cluster and cluster.controller.host), 0
    )
    if release := of_protocol(protocol):
        return Version("slurmctld", release, f"by the protocol that slurmdbd knows of it ({protocol})")
    return Version("slurmctld", UNKNOWN, "`scontrol show config | grep VERSION` on its host")


def _key(place: KeyPlace, seen: Seen) -> Key:
    where = f"{place.namespace}/{place.secret}"
    answer = seen.keys.get(place.name)
    known = place.fingerprint if place.fingerprint.startswith("SHA256:") else ""
    if answer is None or answer.value is None:
        trouble = "" if answer is None else answer.trouble
        text = NOT_READ if trouble == f"{NOT_ASKED}{NOT_READ}" else "the Secret could not be read" if answer else ""
        return Key(place.name, where, known or _only(place), place.made, "unknown", text)
    live = answer.value
    made = live.made if live.made is not None else place.made
    if not live.fingerprint:
        return Key(place.name, where, known or _only(place), place.made, "differs", f"there is no Secret with {place.entry}")
    if place.public is not None:
        agrees = live.fingerprint.removeprefix("kid ") in place.public
        text = live.text or ("" if agrees else "the stack has published another")
        return Key(place.name, where, live.fingerprint, made, "differs" if text else "same", text)
    if not known:
        if place.record is None:
            return Key(place.name, where, live.fingerprint, made, "unknown", _OUTSIDE)
        known = "" if live.text else live.fingerprint  # the state knows it again
    if live.fingerprint == known:
        return Key(place.name, where, known, made, "same")
    text = live.text or f"the Secret holds {live.fingerprint}"
    return Key(place.name, where, known or live.fingerprint, made, "differs", text)


def _aged(key: Key, seen: Seen) -> Key:
    """The key, with a word where it is older than keys.maxAge."""
    most = None if seen.config is None else seen.config.keys.max_age
    if most is None or key.made is None or seen.now - key.made <= most:
        return key
    old = f"older than keys.maxAge ({most // 86400} d): `slinky docs keys` says how it is replaced"
    return replace(key, text="; ".join(filter(None, [key.text, old])))


def _only(place: KeyPlace) -> str:
    """The token key by what is public, where that names one; while it is being replaced two are, and which is unknown."""
    return f"kid {min(place.public)}" if place.public is not None and len(place.public) == 1 else UNKNOWN


def _signs(place: KeyPlace, facts: Facts, seen: Seen) -> tuple[str, ...]:
    """Whose tokens a key signs. The operator's are always the JWT key's."""
    signing = facts.signing
    if not signing and seen.config is not None:  # a stack without a gate: its commands go by the configuration
        signing = seen.config.signing.key.label
    own = ("this stack",) if place.name == signing else ()
    if place.name == JWT.label:
        return ("operator", *own)
    return own or (("unknown",) if place.public is not None and not signing else ())


_GENERATED: Final[Mapping[str, str]] = {
    REMOVE: "it isn't protected, as keys.protect wants: a stop has begun, or the next `pulumi up` sets it",
    UP: "the state has no such key: the next `pulumi up` makes one",
}
"""What the steps that can be due leave in the state, where the key is generated."""


def key_changes(facts: Facts, seen: Seen) -> tuple[KeyChange, ...] | None:
    """All keys that are being replaced; None where nothing tells of any and the configuration is unknown."""
    changes = tuple(change for key in ROTATING if (change := _change(key, facts, seen)) is not None)
    return None if not changes and not seen.configured.known and facts.resources else changes


def _change(key: catalogue.Key, facts: Facts, seen: Seen) -> KeyChange | None:
    configured, config, answer = seen.configured.value, seen.config, seen.keys.get(key.label)
    marks = () if configured is None else tuple(mark for mark in key.rotation_secrets if mark in configured.marks)
    besides = answer.value.besides if answer is not None and answer.value is not None else ()
    how = _how(key, config)
    signs = [f"{mark} is set" for mark in marks]
    if besides:
        signs.append(key.second)
    if how == "planned stop" and config is not None:
        signs += _stopped(key, config, facts, marked=bool(marks))
    if not signs:
        return None
    stack = f" --stack {facts.stack}" if facts.stack else ""
    return KeyChange(key.label, how, tuple(signs), besides, f"slinky keys rotate {key.name} --plan{stack}")


def _how(key: catalogue.Key, config: StackConfig | None) -> Literal["under running jobs", "planned stop", "unknown"]:
    if key not in catalogue.DAEMON_KEYS:
        return "under running jobs"
    if config is None:
        return "unknown"
    return "under running jobs" if reason(config, key) is None else "planned stop"


def _stopped(key: catalogue.Key, config: StackConfig, facts: Facts, *, marked: bool) -> Iterator[str]:
    """What the state tells about a planned stop."""
    holders = facts.holders.get(key.label, ())
    if key not in config.auth.keys:
        return
    if config.key_source.makes_values:
        plan = plan_of(key, StopFacts(config, holders, facts.daemons, blank=not facts.resources))
        if plan.under_way and plan.due is not None:
            yield _GENERATED[plan.due.name]
    elif marked:
        there = bool(holders or facts.daemons)
        yield "its Secret and the daemons' resources are there" if there else "its Secret and all that reads it are removed"
