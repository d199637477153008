"""A key in a Secret that somebody else makes and may change: awaited, checked as ours are, never copied into the state.

Daemons read their key when they start. So a key that changes under a running cluster is refused in preview: what starts from
then on would have another key than what runs, and couldn't talk to it. The state holds a salted, slow hash of the key, by
which a change is seen and from which no key can be guessed.

Wire format: this module's path, the class name and the property names are in users' state files.
"""

# ruff: noqa: PLC0415 - the engine loads this module for every call; clients cost it a tenth of a second

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pulumi.dynamic import CreateResult, DiffResult, ReadResult, ResourceProvider, UpdateResult

from slinky_iac import names
from slinky_iac.engine.plugin_process import engine_lives, engine_report, pause, prepare
from slinky_iac.engine.provider import is_unknown
from slinky_iac.errors import KeyMaterialError, KubeNotFound, SlinkyError, StateError
from slinky_iac.keys.raw import check
from slinky_iac.keys.registry import BY_NAME
from slinky_iac.text import some

if TYPE_CHECKING:
    from slinky_iac.kube.client import KubeClient
    from slinky_iac.kube.resources import Secret

Props = Mapping[str, Any]
SETTINGS: Final = (
    "key", "namespace", "secret", "entry", "madeBy", "waitS", "newline", "accepted", "otherSecret", "otherEntry",
    "kubeconfig", "context", "urn",
)  # fmt: skip
"""Properties that the program gives. None of them is a key."""
SALT, MARK, SINCE = "salt", "mark", "since"
"""Properties that this resource adds: salt and hash of the key, and when it was written."""
RECORDED: Final = (*SETTINGS, SALT, MARK, SINCE)
EVERY_S: Final = 2.0
BUDGET_S: Final = 5.0
"""Longest wait for one answer of Kubernetes."""
_SCRYPT: Final = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}


@dataclass(frozen=True)
class Found:
    """The Secret's entry as it is now."""

    raw: bytes = field(repr=False)
    since: str
    """When the entry was last written, or else the Secret made; RFC 3339, empty where Kubernetes doesn't say."""


def mark(raw: bytes, salt: str) -> str:
    """A hash of a key, slow (scrypt, 16 MiB) and with a salt of its own: a guess costs as much as a login."""
    return hashlib.scrypt(raw, salt=bytes.fromhex(salt), **_SCRYPT).hex()


def is_recorded(raw: bytes, record: Props) -> bool:
    """Whether ``raw`` is the key that the state's ``record`` was made of."""
    return hmac.compare_digest(mark(raw, str(record[SALT])), str(record[MARK]))


def recorded(props: Props, key: Found) -> dict[str, Any]:
    """The properties that the state keeps of a key."""
    salt = secrets.token_hex(16)
    kept = {name: props.get(name) for name in SETTINGS}
    return kept | {SALT: salt, MARK: mark(key.raw, salt), SINCE: key.since}


def refusal(olds: Props, news: Props, key: Found | None, running: str = "") -> str:
    """Why a preview can't continue with the Secret as it is now; empty where it can. ``key`` None: there is no
    such entry."""
    where, what = place(news), BY_NAME[news["key"]].the
    if key is None:
        return (
            f"{where} isn't there any more, and {what} of this cluster was in it. {made_by(news)}. What runs continues with"
            " the key that it has read; no pod of Slurm starts without the Secret. Nothing was changed: put it back"
        )
    if is_recorded(key.raw, olds) or (key.since and news.get("accepted") == key.since):
        return ""
    text = (
        f"{where} has another key since {key.since or 'the last update'}, and {what} can't change under a running cluster:"
        f" daemons read it when they start. {running or 'What runs'}, and every outside host, has the key from before; a pod"
        " that starts now has the new one, and can't talk to them. Nothing was changed. Either put the old key back"
        f" ({made_by(news)}); or carry out a planned stop with the new one: `slinky keys rotate {news['key']}"
        " --stop` (`slinky docs keys`)"
    )
    accept = f". Where all daemons have the new key already, by a stop of your own, set keys.acceptedChange: {key.since}"
    return text + (accept if key.since else "")


def fault(props: Props, state: Secret | None, other: Secret | None) -> str:
    """What is wrong with the Secret: not there, no such entry, or a key that Slurm would refuse or that can be guessed."""
    raw = None if state is None else state.data.get(str(props["entry"]))
    if raw is None:
        return f"{place(props)} isn't there"
    try:
        check(place(props), raw, allow_trailing_newline=bool(props.get("newline")))
    except KeyMaterialError as error:
        return str(error)
    if other is not None and other.data.get(str(props["otherEntry"])) == raw:
        return (
            f"{place(props)} has the same key as Secret {props['otherSecret']}; a signer of tokens could act as any daemon"
        )
    return ""


def place(props: Props) -> str:
    """The entry in words."""
    return f"Secret {props['namespace']}/{props['secret']} with entry {props['entry']}"


def made_by(props: Props) -> str:
    """Who makes it, as the configuration says."""
    who = str(props.get("madeBy") or "")
    return f"{who} makes it" if who else "keys.madeBy doesn't say who makes it"


def stamp(seconds: int | None) -> str:
    """RFC 3339 in UTC; empty for None."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def found_in(props: Props, state: Secret) -> Found | None:
    """The entry of a Secret, with its time."""
    entry = str(props["entry"])
    raw = state.data.get(entry)
    return None if raw is None else Found(raw, stamp(state.written(entry) or state.created))


@contextmanager
def _client(props: Props) -> Iterator[KubeClient]:
    from slinky_iac.cluster.kube_connection import KubeConnection, kube_source

    with KubeConnection(kube_source(props["kubeconfig"], props["context"])) as way:
        yield way.kube(BUDGET_S, tries=2)


def _asked(props: Props) -> Found | None:
    """What is there now. Raises SlinkyError where Kubernetes doesn't say."""
    state = _secret(props)
    return None if state is None else found_in(props, state)


def _older_pods(props: Props, since: str) -> str:
    """Pods of Slurm that started before the key was written, in words; empty where that isn't known."""
    from slinky_iac.kube import marks

    try:
        with _client(props) as kube:
            pods = marks.pods(kube, str(props["namespace"]), names.DAEMON_PODS)
    except SlinkyError:
        return ""
    old = [pod.name for pod in pods if since and pod.created is not None and stamp(pod.created) < since]
    return f"{'Each of the pods' if len(old) > 1 else 'Pod'} {some(old, 6)}" if old else ""


def _awaited(props: Props) -> Found:
    """The key, once it is there and sound. Raises StateError at the deadline, naming who should make it."""
    deadline = time.monotonic() + float(props["waitS"])
    space, secret = str(props["namespace"]), str(props["secret"])
    while True:
        try:
            with _client(props) as kube:
                state, other = _state(kube, space, secret), _state(kube, space, str(props["otherSecret"]))
            why = fault(props, state, other)
            if not why and state is not None and (key := found_in(props, state)) is not None:
                return key
        except SlinkyError as error:
            why = str(error)
        if time.monotonic() >= deadline:
            raise StateError(
                f"{why}. It was awaited for {props['waitS']:g} s (keys.wait). keys.source is external: {made_by(props)}."
                " None of the daemons that read it was made. See what its maker says, then run `pulumi up` again"
            )
        if pause(EVERY_S) or not engine_lives():
            raise StateError(f"interrupted while {place(props)} was awaited. None of the daemons that read it was made")


def _state(kube: KubeClient, space: str, name: str) -> Secret | None:
    try:
        return kube.secret(space, name)
    except KubeNotFound:
        return None


class ExternalKeyProvider(ResourceProvider):
    """Awaits a key, records by what it is known again, and refuses its change under a running cluster."""

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Looks, in previews too; only here are the state's own properties at hand. Raises StateError where the key is
        another than the recorded one. Where Kubernetes doesn't say, the update looks again, and fails without an answer."""
        prepare()
        if unknown := [name for name in SETTINGS if is_unknown(_news.get(name))]:
            said = (
                f"whether the key is the same isn't known: {', '.join(unknown)} is an Output that this preview doesn't know"
            )
            report = engine_report(str(_news["urn"]))
            report(f"{said}. The update asks, and stops at another key", severity="warning", keep=True)
            return DiffResult(changes=True)
        changes = any(_olds.get(name) != _news.get(name) for name in SETTINGS)
        try:
            key = _asked(_news)
        except SlinkyError as error:
            engine_report(str(_news["urn"]))(f"whether the key is the same is not known: {error}", severity="warning")
            return DiffResult(changes=True)
        if why := refusal(_olds, _news, key):
            running = _older_pods(_news, key.since) if key is not None else ""
            raise StateError(refusal(_olds, _news, key, running) if running else why)
        return DiffResult(changes=changes or key is None or not is_recorded(key.raw, _olds))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Await the key and record by what it is known again."""
        prepare()
        key = _awaited(props)
        return CreateResult(f"{props['namespace']}/{props['secret']}/{props['entry']}", recorded(props, key))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Look again; raises what asking raises, and StateError for another key."""
        prepare()
        key = _asked(_news)
        if why := refusal(_olds, _news, key):
            raise StateError(why)
        assert key is not None
        if is_recorded(key.raw, _olds):
            kept = {name: _news.get(name) for name in SETTINGS}
            return UpdateResult(kept | {SALT: _olds[SALT], MARK: _olds[MARK], SINCE: _olds.get(SINCE, "")})
        if why := fault(_news, _secret(_news), None):
            raise StateError(f"{why}. Nothing was recorded")
        return UpdateResult(recorded(_news, key))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """What is recorded stays: a refresh takes no changed key for the cluster's."""
        return ReadResult(id_, {name: props.get(name) for name in RECORDED})


def _secret(props: Props) -> Secret | None:
    with _client(props) as kube:
        return _state(kube, str(props["namespace"]), str(props["secret"]))
