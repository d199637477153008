"""Carrying the rotation of the token key on: look, do the step that is due, look again, as :mod:`.rotate` does.

No record of steps is kept: the configuration's secrets, the cluster's Secret and public set, and who takes which token tell
where it stands. A run that was cut short anywhere is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from slinky_iac import names, token_keys
from slinky_iac.errors import KubeNotFound, RotationError
from slinky_iac.key_lifecycle import material, model, scripts, tokens
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.hosts import Via, host_in_turn, hosts_of
from slinky_iac.key_lifecycle.look import Look, opened
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import START, Role, Rotation, Step, Turn
from slinky_iac.key_lifecycle.tokens import TokenFacts
from slinky_iac.kube.wire import Clock
from slinky_iac.token_keys import TokenKey

FOLLOW_S: Final = 300
"""Longest wait for daemons: in Kubernetes kubelet brings the set within 90 s, then the operator's sidecar reconfigures."""
EVERY_S: Final = 1.0


@dataclass(frozen=True)
class RotatingTokens:
    """One rotation of one stack's token key, as far as this run can carry it."""

    engine: Engine
    say: Callable[[str], None]
    via: Via | None = None
    backups: tuple[str, ...] = ()
    folder: str = scripts.FOLDER
    clock: Clock = field(default_factory=Clock)

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
            return scripts.change(host, [file_of(look.material, step.name)], folder=self.folder)

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
                step = plan.due
                if step is None or (step.name == START and (done is not None or not start)):
                    return plan
                if step.turn is Turn.HOSTS and self.via is None:
                    return plan
                if step.name == done:
                    raise RotationError(f"step {done} was done and doesn't show: {'; '.join(plan.notes)}. Run this again")
                self.say(f"{step.name}: {step.title}")
                if step.turn is Turn.HOSTS:
                    self._on_hosts(look, step, self.via)
                else:
                    self._ours(look, facts, step.name)
                done = step.name

    @contextmanager
    def _look(self) -> Iterator[Look]:
        found = material.read(self.engine)
        refuse_unsigned(found)
        with opened(found, hosts_of(found.config, self.backups), self.via, self.folder) as look:
            yield look

    def _ours(self, look: Look, facts: TokenFacts, name: str) -> None:
        match name:
            case model.START:
                self._make(facts)
            case tokens.PUBLISH:
                self.engine.update_keys(self.say, replaces=False)
            case tokens.LEARN | tokens.FORGET:
                self._await_change(look, name)
            case tokens.SIGN:
                self._swap(look.material.tokens)
                self.engine.update_keys(self.say, replaces=False)
            case tokens.END:
                if "tokenKeyPrevious" in look.material.tokens:
                    self.engine.remove("tokenKeyPrevious")
                self.engine.update_keys(self.say, replaces=False)

    def _make(self, facts: TokenFacts) -> None:
        if not tokens.taken(facts, facts.current):
            raise RotationError(
                f"the token key in use isn't certainly taken: {'; '.join(tokens.rotation(facts).notes)}. `python -m"
                " slinky_iac preflight` says what daemons lack; mend that first. Nothing was changed"
            )
        self.engine.settled()
        self.engine.set_key("tokenKeyNext", token_keys.generate())

    def _swap(self, keys: Mapping[str, TokenKey]) -> None:
        """The new key becomes tokenKey, in an order that at every cut leaves both keys and a plan that goes on."""
        coming = keys.get("tokenKeyNext")
        if coming is None:
            return
        if keys["tokenKey"] != coming:
            self.engine.set_key("tokenKeyPrevious", keys["tokenKey"].pem)
            self.engine.set_key("tokenKey", coming.pem)
        self.engine.remove("tokenKeyNext")

    def _on_hosts(self, look: Look, step: Step, via: Via | None) -> None:
        """Run the step's scripts, slurmctld's host last, and see that they took effect."""
        assert via is not None
        file = file_of(look.material, step.name)
        for host in step.hosts:
            self.say(f"  {host.name} ({', '.join(host.roles)})")
            said = scripts.told(via.script(host, scripts.change(host, [file], folder=self.folder)))
            if said.get(file.name) != scripts.Seen(file.digest, read=True):
                raise RotationError(
                    f"host {host.name}: {file.name} isn't what was sent. Tokens signed with the key in use are taken all the"
                    " same, since both sets have it: mend the host and run this again"
                )
        self._await_change(look, step.name)

    def _await_change(self, look: Look, step: str) -> None:
        """Wait until the daemons have the set of this step, as tokens tell."""
        end = self.clock.monotonic() + FOLLOW_S
        while True:
            plan = tokens.rotation(facts_of(look))
            if plan.due is None or plan.due.name != step:
                return
            if self.clock.monotonic() > end:
                raise RotationError(
                    f"after {FOLLOW_S} s {'; '.join(plan.notes)}. Outside, slurm.conf and slurmdbd.conf must name the file"
                    " (`python -m slinky_iac preflight` shows it); gates sign with a key that is taken. Run this again"
                )
            self.clock.sleep(EVERY_S)


def refuse_unsigned(found: Material) -> None:
    """Raises :class:`RotationError` for a stack whose tokens the JWT key signs, or that lacks its key."""
    if found.config.keys.tokens != names.RS256:
        raise RotationError(
            f"keys.tokens is {found.config.keys.tokens}: no RSA key signs this stack's tokens, so there is none to replace"
            " (docs/keys.md says how to change over). `keys rotate jwt` replaces the JWT key. Nothing was changed"
        )
    if "tokenKey" not in found.tokens:
        raise RotationError(
            "tokenKey isn't set: `python -m slinky_iac keys import tokens --file token.pem` sets it. Nothing was changed"
        )


def file_of(found: Material, step: str) -> scripts.File:
    """jwks.json as a hosts' step places it."""
    wanted = ("tokenKey",) if step == tokens.FORGET else ("tokenKey", "tokenKeyNext", "tokenKeyPrevious")
    return scripts.File(names.JWKS_FILE, token_keys.jwks(found.tokens[name] for name in wanted if name in found.tokens))


def facts_of(look: Look) -> TokenFacts:
    """Facts for :func:`slinky_iac.key_lifecycle.tokens.rotation`. Each key that is set is tried on both daemons."""
    found, config = look.material, look.material.config
    known = {key.kid: key for key in found.tokens.values()}
    base = config.cluster.resource_name
    held = held_in_secret(look)
    outside = {Role.SLURMCTLD: config.controller.external, Role.SLURMDBD: config.accounting.external}
    return TokenFacts(
        current=found.tokens["tokenKey"].kid,
        coming=_kid(found, "tokenKeyNext"),
        previous=_kid(found, "tokenKeyPrevious"),
        published=_published(look, names.token_key_set(base)),
        signing=None if held is None else held[2],
        slurmctld={kid: look.takes(key, slurmdbd=False) for kid, key in known.items()},
        slurmdbd=_slurmdbd(look, known) if look.accounting else None,
        outside=frozenset(role for role, host in outside.items() if host is not None),
        hosts=look.hosts,
    )


def held_in_secret(look: Look) -> tuple[str, str, str] | None:
    """Secret, entry and kid of the key that gates sign with; None where there is no such Secret."""
    secret, entry = names.token_key_secret(look.material.config.cluster.resource_name), names.TOKEN_KEY_ENTRY
    raw = look.secret(secret).get(entry)
    return None if raw is None else (secret, entry, token_keys.parse(f"Secret {secret}: {entry}", raw).kid)


def _kid(found: Material, name: str) -> str | None:
    return found.tokens[name].kid if name in found.tokens else None


def _published(look: Look, name: str) -> frozenset[str]:
    try:
        text = look.session.kube.config_map_data(look.material.config.cluster.namespace, name).get(names.JWKS_FILE, "")
    except KubeNotFound:
        return frozenset()
    return token_keys.kids(text.encode()) if text else frozenset()


def _slurmdbd(look: Look, known: Mapping[str, TokenKey]) -> dict[str, bool | None]:
    """slurmdbd's refusal looks like a slurmdbd that is down (error 7000), unless it takes another key: so what wasn't taken
    is asked again, after it was seen to be up."""
    said = {kid: look.takes(key, slurmdbd=True) for kid, key in known.items()}
    if True not in said.values():
        return said
    return {kid: verdict or look.takes(known[kid], slurmdbd=True) or False for kid, verdict in said.items()}
