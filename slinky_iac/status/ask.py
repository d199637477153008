"""The shell of a status: `pulumi`, Kubernetes, slurmrestd, each question on its own. Nothing is written anywhere."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from slinky_iac import keys, stack_config, stack_state
from slinky_iac.config.fields import address_of
from slinky_iac.config.stack import FIRST_SECRETS
from slinky_iac.drain.progress import Severity
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import KubeNotFound, SlinkyError
from slinky_iac.status.build import status
from slinky_iac.status.facts import OPERATOR, Facts, KeyPlace, facts
from slinky_iac.status.model import Answer, Status
from slinky_iac.status.seen import NOT_ASKED, Seen, SeenKey, SeenNodeSet

BUDGET_S: Final = 10.0
"""Longest wait for any one question: whoever asks for a status waits for it."""
SLURMRESTD_S: Final = 25.0
"""The same for slurmrestd's ping: it waits for a slurmctld that hangs, MessageTimeout long (10 s), before it says so. Given
up earlier, slurmrestd would be taken for the one that is down."""
SLURMCTLD_S: Final = 15.0
"""The same for a question that slurmctld itself answers: enough for slurmrestd to say that it doesn't, once."""
CONNECT_S: Final = 3.0
ENTRIES: Final = 10
"""Entries of the stack's history that are looked through for an update."""
_OF_SLURM: Final = ("token", "served", "nodes", "jobs", "slurmdbd")
"""Questions that slurmrestd answers, after the first."""
Found = TypeVar("Found")


def look(stack: str | None) -> Status:
    """Ask everything once. Raises :class:`StateError` where the stack's state can't be read; nothing else is an error."""
    with ThreadPoolExecutor(2) as pool:
        history = pool.submit(lambda: ask(lambda: stack_state.history(stack, ENTRIES)))
        configured = pool.submit(lambda: ask(lambda: _users_url(stack)))
        found = facts(stack or "", stack_state.export(stack))
        seen = _cluster(found) if found.reach is not None else {}
        url = configured.result() if found.reach is not None else Answer("")
        users: Answer[str] = Answer(trouble=url.trouble) if url.trouble else _users_slurmrestd(url.value or "")
    answers = Seen(now=int(time.time()), **seen, users_url=url.value or "", users_slurmrestd=users, history=history.result())  # type: ignore[arg-type]
    return status(found, answers)


def ask(question: Callable[[], Found]) -> Answer[Found]:
    """The answer with its time, or the trouble in one sentence."""
    started = time.monotonic()
    try:
        value = question()
    except (SlinkyError, ValueError) as error:
        return Answer(ms=_ms(started), trouble=str(error) or type(error).__name__)
    return Answer(value, _ms(started))


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _closed(why: str) -> Answer[Found]:
    return Answer(trouble=f"{NOT_ASKED}{why}")


def _silent(message: str, *, severity: Severity = "info", keep: bool = False) -> None:
    """A status tells what it found once, on its screen."""


def _cluster(found: Facts) -> dict[str, object]:
    assert found.reach is not None
    with open_session(found.reach, "", budget_s=BUDGET_S, report=_silent) as session:
        kube = ask(partial(_release, session))
        if kube.known:
            kube = ask(partial(_release, session))  # again: the first has read a kubeconfig and shaken hands
        if not kube.known:
            why = "the Kubernetes API server doesn't answer"
            return {
                "kube": kube,
                **{each: _closed(why) for each in ("slurmrestd", *_OF_SLURM, "operator")},
                "nodesets": {name: _closed(why) for name in found.gates},
                "keys": {place.name: _closed(why) for place in found.keys},
            }
        return {
            "kube": kube,
            "nodesets": {name: ask(partial(_nodeset, session, gate)) for name, gate in found.gates.items()},
            "operator": _operator(session, found),
            "keys": {place.name: ask(partial(_key, session, place)) for place in found.keys},
            **_slurm(session, found),
        }


def _release(session: Session) -> str:
    return session.kube.release()


def _version(session: Session) -> str:
    return session.slurm.version(budget_s=SLURMRESTD_S)


def _slurm(session: Session, found: Facts) -> dict[str, object]:
    version = ask(partial(_version, session))
    if not version.known:
        why = "slurmrestd doesn't answer"
        return {"slurmrestd": Answer(ms=version.ms, trouble=version.trouble), **{each: _closed(why) for each in _OF_SLURM}}
    slurm = session.slurm
    pings = ask(lambda: slurm.ping(budget_s=SLURMRESTD_S))
    token = ask(lambda: slurm.diag(budget_s=SLURMCTLD_S))
    answers: dict[str, object] = {"slurmrestd": pings, "token": token}
    if not token.known:
        why = "slurmctld gives no answer to our token"
        return answers | {each: _closed(why) for each in ("served", "nodes", "jobs", "slurmdbd")}
    return answers | {
        # A ping for each version: where slurmctld hangs, each would wait for it.
        "served": ask(slurm.served),
        "nodes": ask(lambda: slurm.nodes(allow_none=True)),
        "jobs": ask(slurm.jobs),
        "slurmdbd": ask(slurm.clusters) if found.has_slurmdbd else _closed("the stack has no accounting"),
    }


def _nodeset(session: Session, settings: GateSettings) -> SeenNodeSet:
    state = session.nodeset(settings.resource)
    return SeenNodeSet(state, () if state is None else session.kube.pods_of(settings.reach.namespace, state))


def _operator(session: Session, found: Facts) -> Answer[tuple[str, ...]]:
    if not found.operator_namespace:
        return _closed("another stack deploys the operator")
    return ask(lambda: session.kube.deployment_images(found.operator_namespace, OPERATOR))


def _key(session: Session, place: KeyPlace) -> SeenKey:
    try:
        raw = session.kube.secret_entry(place.namespace, place.secret, place.entry)
    except KubeNotFound:
        return SeenKey("", None)
    return SeenKey(keys.fingerprint(raw), session.kube.secret_made_at(place.namespace, place.secret))


def _users_url(stack: str | None) -> str:
    outside = stack_config.configured(stack, taken_for_set=FIRST_SECRETS).config.external.slurmrestd
    return "" if outside is None else outside.url


def _users_slurmrestd(url: str) -> Answer[str]:
    """Whether the slurmrestd for users takes a connection from here. Its tokens are its users' matter."""
    host, port = address_of(url)
    if not host:
        return _closed("the stack has none")
    started = time.monotonic()
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or type(error).__name__).lower()
        return Answer(ms=_ms(started), trouble=f"takes no connection from here: {why}")
    return Answer("takes connections from here", _ms(started))
