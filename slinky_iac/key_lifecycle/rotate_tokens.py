"""Carrying the rotation of the token key on: look, do the step that is due, look again, as :mod:`.rotate` does.

No record of steps is kept: the configuration's secrets, the cluster's Secret and public set, and who takes which token tell
where it stands. A run that was cut short anywhere is simply run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import Final

from slinky_iac import names
from slinky_iac.errors import KubeNotFound, RotationError
from slinky_iac.key_lifecycle import material, model, scripts, tokens
from slinky_iac.key_lifecycle.carrying import Means, next_step
from slinky_iac.key_lifecycle.hosts import host_in_turn
from slinky_iac.key_lifecycle.look import AT_ONCE, Look
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Role, Rotation, Step, Turn
from slinky_iac.key_lifecycle.report import SetOnHost
from slinky_iac.key_lifecycle.tokens import TokenFacts
from slinky_iac.keys.jwks import SetDifference, difference, kids, public_set
from slinky_iac.keys.rsa import TokenKey, parse
from slinky_iac.keys.rsa import generate as new_token_key

FOLLOW_S: Final = 300
"""Longest wait for daemons: in Kubernetes kubelet brings the set within 90 s, then the operator's sidecar reconfigures."""
EVERY_S: Final = 1.0
READERS: Final = frozenset({Role.SLURMCTLD, Role.BACKUP, Role.SLURMDBD})
"""Who reads jwks.json; slurmd and sackd never do."""


@dataclass(frozen=True)
class RotatingTokens:
    """One rotation of one stack's token key, as far as this run can carry it."""

    means: Means

    def plan(self) -> Rotation:
        """Where the rotation stands. Changes nothing. Raises :class:`RotationError` where the stack signs with HS256."""
        with self._look() as look:
            return tokens.rotation(facts_of(look))

    def script(self, name: str) -> str:
        """The script of the hosts' step that is due, for the host ``name``. It holds public keys only.

        Raises :class:`RotationError` where no such step is due, or the host has no part in it.
        """
        with self._look() as look:
            step, host = host_in_turn(tokens.rotation(facts_of(look)).due, name)
            return scripts.change(host, [file_of(look.material, step.name)], folder=self.means.folder)

    def run(self, *, start: bool) -> Rotation:
        """Carry on until it is the hosts' turn and nobody may go there, or done. ``start``: begin where none is under way.

        Raises :class:`RotationError` where a step can't be done or isn't seen to be; what was done stays, and the next run
        goes on from there.
        """
        done: str | None = None
        while True:
            with self._look() as look:
                facts = facts_of(look)
                plan = tokens.rotation(facts)
                step = next_step(plan, done, start=start, via=self.means.via)
                if step is None:
                    return plan
                self.means.say(f"{step.name}: {step.title}")
                if step.turn is Turn.HOSTS:
                    self._on_hosts(look, step)
                else:
                    self._ours(look, facts, step.name)
                done = step.name

    @contextmanager
    def _look(self) -> Iterator[Look]:
        found = material.read(self.means.engine)
        refuse_unsigned(found)
        with self.means.look(found) as look:
            yield look

    def _ours(self, look: Look, facts: TokenFacts, name: str) -> None:
        match name:
            case model.START:
                self._make(facts)
            case tokens.PUBLISH:
                self.means.engine.update_keys(self.means.say, replaces=False)
            case tokens.LEARN | tokens.FORGET:
                self._await_change(look, name)
            case tokens.SIGN:
                self.means.swap("tokenKey", {name: key.pem for name, key in look.material.tokens.items()})
                self.means.engine.update_keys(self.means.say, replaces=False)
            case tokens.END:
                if "tokenKeyPrevious" in look.material.tokens:
                    self.means.engine.remove("tokenKeyPrevious")
                self.means.engine.update_keys(self.means.say, replaces=False)

    def _make(self, facts: TokenFacts) -> None:
        if not tokens.taken(facts, facts.current):
            raise RotationError(
                f"the token key in use isn't certainly taken: {'; '.join(tokens.rotation(facts).notes)}. `python -m"
                " slinky_iac preflight` says what daemons lack; mend that first. Nothing was changed"
            )
        self.means.engine.settled()
        self.means.engine.set_key("tokenKeyNext", new_token_key())

    def _on_hosts(self, look: Look, step: Step) -> None:
        """Run the step's scripts, slurmctld's host last, and see that they took effect."""
        file = file_of(look.material, step.name)
        self.means.place(
            step.hosts,
            lambda host: scripts.change(host, [file], folder=self.means.folder),
            [file],
            advice="Tokens signed with the key in use are taken all the same, since both sets have it: mend the host and run"
            " this again",
        )
        self._await_change(look, step.name)

    def _await_change(self, look: Look, step: str) -> None:
        """Wait until the daemons have the set of this step, as tokens tell."""
        end = self.means.clock.monotonic() + FOLLOW_S
        while True:
            plan = tokens.rotation(facts_of(look))
            if plan.due is None or plan.due.name != step:
                return
            if self.means.clock.monotonic() > end:
                raise RotationError(
                    f"after {FOLLOW_S} s {'; '.join(plan.notes)}. Outside, slurm.conf and slurmdbd.conf must name the file"
                    " (`python -m slinky_iac preflight` shows it); gates sign with a key that is taken. Run this again"
                )
            self.means.clock.sleep(EVERY_S)


def refuse_unsigned(found: Material) -> None:
    """Raises :class:`RotationError` for a stack whose tokens the JWT key signs, or that lacks its key."""
    if found.config.keys.tokens != names.RS256:
        raise RotationError(
            f"keys.tokens is {found.config.keys.tokens}: no RSA key signs this stack's tokens, so there is none to replace"
            " (docs/token-keys.md says how to change over). `keys rotate jwt` replaces the JWT key. Nothing was changed"
        )
    if "tokenKey" not in found.tokens:
        raise RotationError(
            "tokenKey isn't set: `python -m slinky_iac keys import tokens --file token.pem` sets it. Nothing was changed"
        )


def file_of(found: Material, step: str) -> scripts.File:
    """jwks.json as a hosts' step places it."""
    wanted = ("tokenKey",) if step == tokens.FORGET else ("tokenKey", "tokenKeyNext", "tokenKeyPrevious")
    return scripts.File(names.JWKS_FILE, public_set(found.tokens[name] for name in wanted if name in found.tokens))


def facts_of(look: Look) -> TokenFacts:
    """Facts for :func:`slinky_iac.key_lifecycle.tokens.rotation`. Each key that is set is tried on both daemons."""
    found, config = look.material, look.material.config
    known = {key.kid: key for key in found.tokens.values()}
    base = config.cluster.resource_name
    held = held_in_secret(look)
    outside = {Role.SLURMCTLD: config.controller.external, Role.SLURMDBD: config.accounting.external}
    published, differs = _published(look, names.token_key_set(base))
    return TokenFacts(
        current=found.tokens["tokenKey"].kid,
        coming=_kid(found, "tokenKeyNext"),
        previous=_kid(found, "tokenKeyPrevious"),
        published=published,
        signing=None if held is None else held[2],
        slurmctld={kid: look.takes(key, slurmdbd=False) for kid, key in known.items()},
        slurmdbd=_slurmdbd(look, known) if look.accounting else None,
        outside=frozenset(role for role, host in outside.items() if host is not None),
        hosts=look.hosts,
        set_differs="" if differs is None else differs.words,
        foreign=() if differs is None else differs.foreign,
    )


def sets_on_hosts(look: Look) -> tuple[SetOnHost, ...]:
    """What slurmctld's and slurmdbd's hosts have as jwks.json; none without a way to them, or with both in Kubernetes."""
    via = look.via
    if via is None:
        return ()
    found = look.material.tokens
    whole = sha256(public_set(found.values())).hexdigest()
    chosen = (keys for size in range(1, len(found)) for keys in combinations(found.values(), size))
    parts = {sha256(public_set(keys)).hexdigest() for keys in chosen}
    text = scripts.look([names.JWKS_FILE], folder=look.folder)
    hosts = [host for host in look.hosts if READERS & set(host.roles)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = pool.map(lambda host: scripts.told(via.script(host, text)).get(names.JWKS_FILE), hosts)
        return tuple(
            SetOnHost(host.name, None if seen is None else seen.digest == whole, seen is not None and seen.digest in parts)
            for host, seen in zip(hosts, said, strict=True)
        )


def held_in_secret(look: Look) -> tuple[str, str, str] | None:
    """Secret, entry and kid of the key that gates sign with; None where there is no such Secret."""
    secret, entry = names.token_key_secret(look.material.config.cluster.resource_name), names.TOKEN_KEY_ENTRY
    raw = look.secret(secret).get(entry)
    return None if raw is None else (secret, entry, parse(f"Secret {secret}: {entry}", raw).kid)


def _kid(found: Material, name: str) -> str | None:
    return found.tokens[name].kid if name in found.tokens else None


def _published(look: Look, name: str) -> tuple[frozenset[str], SetDifference | None]:
    """The keys in the ConfigMap, and how it differs from what the configuration's keys make."""
    try:
        text = look.session.kube.config_map_data(look.material.config.cluster.namespace, name).get(names.JWKS_FILE, "")
    except KubeNotFound:
        return frozenset(), None
    document = text.encode()
    differs = difference(document, public_set(look.material.tokens.values()))
    return (kids(document) if differs is None or differs.readable else frozenset()), differs


def _slurmdbd(look: Look, known: Mapping[str, TokenKey]) -> dict[str, bool | None]:
    """slurmdbd's refusal looks like a slurmdbd that is down (error 7000), unless it takes another key: so what wasn't taken
    is asked again, after it was seen to be up."""
    said = {kid: look.takes(key, slurmdbd=True) for kid, key in known.items()}
    if True not in said.values():
        return said
    return {kid: verdict or look.takes(known[kid], slurmdbd=True) or False for kid, verdict in said.items()}
