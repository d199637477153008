"""The shell of a status: `pulumi`, Kubernetes, slurmrestd, each question on its own. Nothing is written anywhere."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from slinky_iac import causes
from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster.pulumi_command import Runner, run_pulumi
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.cluster.spec_drift import faults
from slinky_iac.commands import stack_config
from slinky_iac.commands.status.build import status
from slinky_iac.commands.status.facts import OPERATOR, Facts, KeyPlace, facts, public_kids
from slinky_iac.commands.status.model import NOT_ASKED, NOT_READ, Answer, Configured, Seen, SeenKey, Status
from slinky_iac.commands.status.watched import Watched
from slinky_iac.config.fields import address_of
from slinky_iac.config.reading.values import settings_of
from slinky_iac.errors import ConfigError, KubeNotFound, SlinkyError
from slinky_iac.keys.catalogue import NEXT_SUFFIX
from slinky_iac.keys.raw import fingerprint, keys_in
from slinky_iac.keys.registry import BY_LABEL, ROTATING
from slinky_iac.kube.resources import Secret
from slinky_iac.parts import writers
from slinky_iac.parts.registry import GUARDS
from slinky_iac.slurmrest.controller import Pings

BUDGET_S: Final = 10.0
"""Longest wait for any one question: a person waits for the answer."""
SLURMRESTD_S: Final = 25.0
"""The same for slurmrestd's ping: it waits for a slurmctld that hangs, MessageTimeout long (10 s), before it says so. With
less time, slurmrestd would be taken for the one that is down."""
SLURMCTLD_S: Final = 15.0
"""The same for a question that slurmctld itself answers: enough for slurmrestd to say that it doesn't, once."""
CONNECT_S: Final = 3.0
ENTRIES: Final = 10
"""Entries of the stack's history that are looked through for an update."""
CHANGED: Final = "changed at its source: daemons have the one from before. `pulumi preview` says what to do"
OF_SLURMCTLD: Final = ("served", "nodes", "jobs", "slurmdbd")
"""Questions that need slurmctld's answer, as :class:`Seen` has them."""
OF_KUBERNETES: Final = ("operator", "slurmrestd", "token", *OF_SLURMCTLD)
"""Questions that need the API server's."""
Found = TypeVar("Found")
Connect = Callable[..., AbstractContextManager[Connection]]


def look(stack: str | None, run: Runner = run_pulumi, connect: Connect = connected) -> Status:
    """Ask everything once. Raises :class:`StateError` where the stack's state can't be read; nothing else is an error."""
    with ThreadPoolExecutor(2) as pool:
        history = pool.submit(lambda: ask(lambda: pulumi_state.history(stack, ENTRIES, run)))
        configured = pool.submit(lambda: ask(lambda: _configured(stack, run)))
        stack_facts = facts(stack or "", pulumi_state.export(stack, run))
        seen = Seen(now=0)
        if stack_facts.reach is not None:
            with connect(stack_facts.reach, budget_s=BUDGET_S) as session:
                seen = _cluster(session, stack_facts, seen)
        if stack_facts.resources:
            seen = replace(seen, configured=configured.result())
        else:
            stack_facts = _unborn(stack_facts, configured.result(), run)
        if stack_facts.reach is not None and seen.configured.known:
            seen = replace(seen, users_slurmrestd=_users_slurmrestd(seen.users_url))
    return status(stack_facts, replace(seen, now=int(time.time()), history=history.result()))


def look_by(watched: Watched, connect: Connect = connected) -> Status:
    """The same by a document that the stack has written, without its state: so without its last update, and without what
    only its configuration has. Raises nothing."""
    stack_facts = watched.facts
    seen = Seen(now=0)
    if stack_facts.reach is not None:
        with connect(stack_facts.reach, budget_s=BUDGET_S) as session:
            seen = replace(_cluster(session, stack_facts, seen), users_slurmrestd=_users_slurmrestd(watched.users_url))
    configured = Answer(Configured(users=watched.users_url))
    return status(stack_facts, replace(seen, now=int(time.time()), configured=configured))


def _unborn(stack_facts: Facts, configured: Answer[Configured], run: Runner) -> Facts:
    """The stack's and the cluster's name before the first update, when only the configuration has them."""
    config = configured.value.config if configured.value else None
    stack = stack_facts.stack or ask(partial(pulumi_state.selected, run)).value or ""
    return replace(stack_facts, stack=stack, cluster=config.cluster.name if config else "")


def ask(question: Callable[[], Found]) -> Answer[Found]:
    """The answer with its time, or the trouble in one sentence."""
    started = time.monotonic()
    try:
        value = question()
    except (SlinkyError, ValueError) as error:
        return Answer(ms=_ms(started), trouble=str(error) or "the answer can't be read")
    return Answer(value, _ms(started))


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _closed(why: str) -> Answer[Found]:
    return Answer(trouble=f"{NOT_ASKED}{why}")


def _without(seen: Seen, questions: Iterable[str], why: str) -> Seen:
    """``seen`` where the way to the answers to these questions is closed."""
    closed: dict[str, Any] = {name: _closed(why) for name in questions}
    return replace(seen, **closed)


def _cluster(session: Connection, stack_facts: Facts, seen: Seen) -> Seen:
    """``seen`` with what Kubernetes and Slurm answer."""
    kube = ask(lambda: session.kube.release())  # noqa: PLW0108 - `session.kube` reads a kubeconfig, which may fail
    if kube.known:
        kube = ask(session.kube.release)  # again: the first has read a kubeconfig and shaken hands
    if not kube.known:
        why = "the Kubernetes API server doesn't answer"
        workers: dict[str, Answer[Workers]] = {name: _closed(why) for name in stack_facts.gates}
        keys: dict[str, Answer[SeenKey]] = {place.name: _closed(why) for place in stack_facts.keys}
        guards: dict[str, Answer[tuple[str, ...]]] = {name: _closed(why) for name in stack_facts.guards}
        return _without(replace(seen, kube=kube, workers=workers, keys=keys, guards=guards), OF_KUBERNETES, why)
    images = partial(session.kube.deployment_images, stack_facts.operator_namespace, OPERATOR)
    asked = replace(
        seen,
        kube=kube,
        workers={
            name: ask(partial(Workers.look, session.kube, gate.reach.namespace, gate.resource))
            for name, gate in stack_facts.gates.items()
        },
        writers={
            name: {called: ask(partial(question, session.kube)) for called, question in writers.questions(gate).items()}
            for name, gate in stack_facts.gates.items()
        },
        operator=ask(images) if stack_facts.operator_namespace else _closed("another stack deploys the operator"),
        guards={
            name: ask(partial(faults, session.kube, objects, GUARDS[name].open_to))
            if objects
            else _closed("the stack has none")
            for name, objects in stack_facts.guards.items()
        },
        keys={
            place.name: ask(partial(_key, session, place)) if place.read else _closed(NOT_READ) for place in stack_facts.keys
        },
    )
    return _slurm(session, stack_facts, asked)


def _slurm(
    session: Connection, stack_facts: Facts, seen: Seen, ping_s: float = SLURMRESTD_S, token_s: float = SLURMCTLD_S
) -> Seen:
    version = ask(lambda: session.slurm.version(budget_s=ping_s))
    if not version.known:
        silent: Answer[Pings] = Answer(ms=version.ms, trouble=version.trouble)
        return _without(replace(seen, slurmrestd=silent), ("token", *OF_SLURMCTLD), "slurmrestd doesn't answer")
    slurm = session.slurm
    pings = ask(lambda: slurm.ping(budget_s=ping_s))
    token = ask(lambda: slurm.diag(budget_s=token_s))
    asked = replace(seen, slurmrestd=pings, token=token)
    if not token.known:
        return _without(asked, OF_SLURMCTLD, "slurmctld gives no answer to our token")
    return replace(
        asked,
        # A ping for each version: where slurmctld hangs, each would wait for it.
        served=ask(slurm.served),
        nodes=ask(partial(slurm.nodes, allow_none=True)),
        jobs=ask(slurm.jobs),
        slurmdbd=ask(slurm.clusters) if stack_facts.has_slurmdbd else _closed("the stack has no accounting"),
    )


def _key(session: Connection, place: KeyPlace) -> SeenKey:
    try:
        secret = session.kube.secret(place.namespace, place.secret)
    except KubeNotFound:
        return SeenKey("", None)
    raw = secret.data.get(place.entry)
    if raw is None:
        return SeenKey("", None)
    if place.public is not None:
        return _pair(session, place, raw, secret.written(place.entry))
    if place.record is not None:
        return _external(secret, place, raw, place.record)
    own = fingerprint(raw)
    others = _of_pods(session, place) if place.beside else []
    others += [secret.data[name] for name in (place.entry + NEXT_SUFFIX,) if name in secret.data]
    prints = (fingerprint(other) for other in others)
    return SeenKey(own, secret.created, tuple(sorted({other for other in prints if other != own})))


def _external(secret: Secret, place: KeyPlace, raw: bytes, record: Mapping[str, Any]) -> SeenKey:
    """A key of others: whether it is the one that this stack's daemons began with."""
    from slinky_iac.external_keys import is_recorded  # noqa: PLC0415 - brings the Pulumi SDK along

    since = secret.written(place.entry) or secret.created
    text = "" if is_recorded(raw, record) else CHANGED
    return SeenKey(fingerprint(raw), since, text=text)


def _of_pods(session: Connection, place: KeyPlace) -> list[bytes]:
    """All keys of this kind that slurmd's pods have."""
    try:
        document = session.kube.secret_entry(place.namespace, place.beside, BY_LABEL[place.name].bundle)
    except KubeNotFound:
        return []
    return keys_in(document)


def _pair(session: Connection, place: KeyPlace, raw: bytes, written: int | None) -> SeenKey:
    own = BY_LABEL[place.name].form.known_by(f"Secret {place.namespace}/{place.secret}: {place.entry}", raw)
    try:
        document = session.kube.config_map_data(place.namespace, place.beside).get(BY_LABEL[place.name].bundle, "")
    except KubeNotFound:
        document = ""
    public = public_kids(document)
    lacks = "" if own in public else f"ConfigMap {place.namespace}/{place.beside} lacks its public half"
    return SeenKey(f"kid {own}", written, tuple(f"kid {kid}" for kid in sorted(public - {own})), lacks)


def _configured(stack: str | None, run: Runner) -> Configured:
    own, _ = stack_config.texts(stack, run)
    marks = frozenset(own) & {name for key in ROTATING for name in key.rotation_secrets}
    try:
        return Configured(marks, settings_of(own))
    except ConfigError as error:
        return Configured(marks, fault=str(error))


def _users_slurmrestd(url: str) -> Answer[str]:
    """Whether the slurmrestd for users takes a connection from here. Its tokens are its users' matter."""
    host, port = address_of(url)
    if not host:
        return _closed("the stack has none")
    started = time.monotonic()
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except (OSError, UnicodeError) as error:
        return Answer(ms=_ms(started), trouble=f"takes no connection from here: {causes.of_connection(error)}")
    return Answer("takes connections from here", _ms(started))
