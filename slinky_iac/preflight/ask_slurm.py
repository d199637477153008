"""One look at Slurm through the first slurmrestd that answers. What isn't answered is written down with the reason.

A preview has time for a handful of short questions, none of which grows with the cluster: :func:`ask_quickly`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from slinky_iac.cluster.connection import endpoint
from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import (
    KubeNotFound,
    SlinkyError,
    SlurmrestAuthError,
    SlurmrestError,
    SlurmrestRefused,
    SlurmrestUnreachable,
    SlurmrestVersionError,
)
from slinky_iac.keys.catalogue import JWT
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.wire import Clock, Retry, Timeouts
from slinky_iac.names import SLURM_USER
from slinky_iac.preflight import facts
from slinky_iac.preflight.facts import IN_SECRET, TOKEN_IN_CONFIG, TOKEN_IN_SECRET, SlurmFacts, Token
from slinky_iac.slurmrest.auth import SigningKey, held
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Connect as Lead
from slinky_iac.slurmrest.endpoints import Direct, Endpoint, direct
from slinky_iac.slurmrest.level import require_admin

BUDGET_S = 20.0
"""Longest wait for one answer, tries together."""
ZERO_BYTES = 5005
"""Slurm's error where the other side ends a connection without a word (``slurm_errno.h``). slurmctld does so at a token that
no plugin of its own can read: seen of 26.05.5 without auth/jwt."""
ANY_KEY = b"no key at hand: asked only for what needs no good token"
T = TypeVar("T")


@dataclass(frozen=True)
class RestEndpoint:
    """One slurmrestd that may be asked."""

    endpoint: Endpoint
    inside: bool
    needed: bool = True
    """Drains or the operator go there; else it is for users, and its silence leaves things unknown, not broken."""
    user: str = SLURM_USER
    """Slurm's user that tokens name."""


def endpoint_of_drains(config: StackConfig) -> RestEndpoint:
    """The one that drains go through: at its URL, or in Kubernetes behind the API server."""
    way = reach(config)
    return RestEndpoint(endpoint(way), inside=way.url is None, user=way.user)


def endpoint_of_users(config: StackConfig) -> RestEndpoint | None:
    """The one for users, outside Kubernetes; None where the stack has none."""
    users = config.external.slurmrestd
    if users is None:
        return None
    files = (users.ca_file, users.client_cert_file, users.client_key_file)
    place = direct(users.url, *files, plain_http=users.allow_plain_http)
    return RestEndpoint(place, inside=False, needed=False, user=config.slurmrest.user)


Keys = tuple[SigningKey, ...]
Connect = Callable[[RestEndpoint, Keys | None, Clock], SlurmrestClient]
"""Makes a client with these keys; None: one that sends no token."""


@dataclass(frozen=True)
class _Asking:
    """One slurmrestd, and how it is asked."""

    way: RestEndpoint
    keys: Mapping[str, Keys]
    clock: Clock
    connect: Connect

    def client(self, keys: Keys | None = None) -> SlurmrestClient:
        """With these keys, else with the likeliest."""
        return self.connect(self.way, keys or next(iter(self.keys.values()), (ANY_KEY,)), self.clock)


def ask_slurm(
    ways: Sequence[RestEndpoint], keys: Mapping[str, Keys], *, clock: Clock, connect: Connect, quick: bool = False
) -> SlurmFacts:
    """What Slurm says through the first of ``ways`` that answers.

    ``keys`` by where they come from, the likeliest first. ``quick`` leaves out what takes seconds on a large cluster, the
    nodes, and what needs many questions. ``connect`` makes a client (:func:`preflight_clients`).
    """
    unanswered: dict[str, str] = {}
    silent: list[str] = []
    for way in ways:
        if isinstance(way.endpoint, Direct) and not way.endpoint.takes_tokens:
            with connect(way, None, clock) as client:
                silent.append(_without_token(client, way.endpoint.shown))
            continue
        asking = _Asking(way, keys, clock, connect)
        with asking.client() as client:
            slurm = SlurmFacts(way=way.endpoint.shown, inside=way.inside)
            try:
                slurm = _versions(client, slurm, quick=quick)
            except SlurmrestVersionError as error:
                slurm = replace(slurm, failed={"conf": str(error)}, served=())
            except SlurmrestError as error:
                if way.needed:
                    unanswered[way.endpoint.shown] = str(error)
                else:
                    silent.append(str(error))
                continue
            return replace(_asked(asking, slurm, quick=quick), unanswered=unanswered)
    why = "; ".join(silent) or "no slurmrestd runs yet: the stack has not created one, and names none outside"
    return SlurmFacts(trouble=why, unanswered=unanswered)


def _without_token(client: SlurmrestClient, shown: str) -> str:
    """What a ping without a token shows: whether something answers there, and no more."""
    try:
        client.ping()
    except SlurmrestAuthError:  # 401: slurmrestd's word for a request without a token
        pass
    except SlurmrestError as error:
        return str(error)
    return f"slurmrestd at {shown} answers, and wasn't asked for more: a token would cross the network in plain http"


def _versions(client: SlurmrestClient, slurm_facts: SlurmFacts, *, quick: bool) -> SlurmFacts:
    """Which REST versions are served. Raises where slurmrestd doesn't answer, or serves none that we speak.

    Every ping goes on to slurmctld: where that hangs, each takes Slurm's MessageTimeout, and only one is waited for.
    """
    trouble = ""
    if not quick:
        try:
            if served := client.served():
                return replace(slurm_facts, served=served)
        except SlurmrestUnreachable as error:
            trouble = str(error)
    client.version()
    return replace(slurm_facts, failed={"served": trouble}) if trouble else slurm_facts


def preflight_clients(
    lead: Lead, *, budget_s: float = BUDGET_S, timeouts: Timeouts | None = None, retry: Retry | None = None
) -> Connect:
    """Makes clients that reach a slurmrestd behind the API server by ``lead``."""
    bounds, tries = timeouts or Timeouts(connect_s=3), retry or Retry(tries=2)

    def connect(way: RestEndpoint, keys: Keys | None, clock: Clock) -> SlurmrestClient:
        return SlurmrestClient(
            way.endpoint, keys, user=way.user, clock=clock, budget_s=budget_s, timeouts=bounds, retry=tries, connect=lead
        )

    return connect


def ask_quickly(config: StackConfig, way: KubeConnection, *, answer_s: float) -> facts.Facts:
    """What Slurm says, asked with the Secret's key; each answer is waited for ``answer_s`` seconds, and none twice.

    Raises what reading the Secret raises: before the first `pulumi up` it isn't there, and there is no slurmrestd to ask.
    """
    bounds = Timeouts(connect_s=answer_s, read_s=answer_s, write_s=answer_s)
    once, namespace = Retry(tries=1), config.cluster.namespace
    place = config.secret_of(JWT)
    kube = way.client(KubeClient, budget_s=answer_s, timeouts=bounds, retry=once)
    keys: dict[str, Keys] = {}
    for key in config.own_keys:
        own = config.secret_of(key)
        with suppress(KubeNotFound):  # the setting is new: this very update makes it
            rsa = held(kube, namespace, own.name, own.entry, key.algorithm)
            keys[TOKEN_IN_SECRET] = tuple(rsa)
    if not keys or JWT in config.signing.at_hand:  # else who runs this needs no right to read the JWT key
        keys[IN_SECRET] = tuple(held(kube, namespace, place.name, place.entry, JWT.algorithm))

    connect = preflight_clients(way.lead, budget_s=answer_s, timeouts=bounds, retry=once)
    seen = ask_slurm([endpoint_of_drains(config)], keys, clock=way.clock, quick=True, connect=connect)
    return facts.Facts(slurm=SlurmFacts() if seen.unanswered else seen)


def _asked(asking: _Asking, slurm: SlurmFacts, *, quick: bool) -> SlurmFacts:
    """The rest, with the key that is taken."""
    slurm, taken = _tokens(asking, slurm)
    with asking.client(taken) as client:
        ask = _Questions()
        if (pinged := ask("release", client.ping)) is not None:
            slurm = replace(slurm, release=pinged.meta.slurm.release, controllers=pinged.pings)
        if taken is None:
            why = slurm.token_trouble or "no token was taken"
            rest = ("admin", "conf", "partitions", "jobs_by_partition", "nodes", "clusters", "slurmdbd_answers", "clock")
            return replace(slurm, failed={**dict.fromkeys(rest, why), **slurm.failed})
        slurm = replace(slurm, admin=ask("admin", lambda: _admin(client, asking.way.user)))
        running = ask("conf", client.running_conf)
        slurm = replace(
            slurm,
            conf=running.slurm_conf if running else None,
            version=(running.slurm_conf_meta.SLURM_VERSION or "") if running else "",
            partitions=ask("partitions", client.partitions),
            jobs_by_partition=None if quick else ask("jobs_by_partition", lambda: _jobs_by_partition(client)),
            nodes=None if quick else ask("nodes", lambda: client.nodes(allow_none=True).nodes),
            clusters=ask("clusters", client.clusters),
            slurmdbd_answers=None if quick else ask("slurmdbd_answers", client.slurmdbd_responds),
        )
        if not quick and slurm.clusters is not None:
            slurm = replace(slurm, qos=ask("qos", client.qos))
        silent = {"slurmdbd": ask.failed["clusters"]} if "clusters" in ask.unreachable else {}
        slurm = replace(slurm, failed={**ask.failed, **slurm.failed}, silent={**silent, **slurm.silent})
    return _slurmdbd_tokens(asking, slurm, taken)


def _slurmdbd_tokens(asking: _Asking, slurm: SlurmFacts, taken: Keys) -> SlurmFacts:
    """Which RSA keys slurmdbd takes. Its refusal looks like a slurmdbd that is down, unless it took the other key's."""
    said: dict[str, Token] = {}
    own = [source for source in asking.keys if source in (TOKEN_IN_CONFIG, TOKEN_IN_SECRET)]
    for source in own if slurm.clusters is not None else ():
        if asking.keys[source] is taken:
            said[source] = "accepted"
            continue
        with asking.client(asking.keys[source]) as client:
            try:
                client.clusters()
            except (SlurmrestAuthError, SlurmrestUnreachable):
                said[source] = "refused"
            except SlurmrestError:
                said[source] = "unknown"
            else:
                said[source] = "accepted"
    return replace(slurm, slurmdbd_tokens=said)


def _tokens(asking: _Asking, slurm: SlurmFacts) -> tuple[SlurmFacts, Keys | None]:
    """Which keys slurmctld takes, and one that it does; its clock on the way."""
    tokens: dict[str, Token] = {}
    trouble = "" if asking.keys else "there is no JWT key at hand: neither in the configuration nor in a Secret"
    silent: dict[str, str] = {}
    hung_up = ""
    seen: facts.Clock | None = None
    taken: Keys | None = None
    for source, material in asking.keys.items():
        with asking.client(material) as client:
            before = asking.clock.wall()
            try:
                said = client.slurmctld_time()
            except SlurmrestAuthError:
                tokens[source] = "refused"
            except SlurmrestError as error:
                tokens[source], trouble = "unknown", str(error)
                if isinstance(error, SlurmrestUnreachable):
                    silent["slurmctld"] = str(error)
                if isinstance(error, SlurmrestRefused) and error.error_number == ZERO_BYTES:
                    hung_up = str(error)
            else:
                tokens[source] = "accepted"
                taken = taken or material
                seen = seen or facts.Clock("slurmctld", said, before, asking.clock.wall())
    return replace(slurm, tokens=tokens, token_trouble=trouble, clock=seen, silent=silent, hung_up=hung_up), taken


class _Questions:
    """Asks one after another, and keeps why an answer is missing."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self.unreachable: set[str] = set()

    def __call__(self, field: str, question: Callable[[], T]) -> T | None:
        """The answer; None with the reason kept where there is none."""
        try:
            return question()
        except SlinkyError as error:
            self.failed[field] = str(error)
            if isinstance(error, SlurmrestUnreachable):
                self.unreachable.add(field)
            return None


def _admin(client: SlurmrestClient, user: str) -> str:
    try:
        require_admin(client, user)
    except SlurmrestAuthError as error:
        return str(error)
    return ""


def _jobs_by_partition(client: SlurmrestClient) -> Mapping[str, int]:
    return Counter(name for job in client.jobs().jobs if not job.over for name in job.partitions)
