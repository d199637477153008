"""The token key's rotation: at no moment is a token refused, wherever it is cut, and it goes on from there."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.config.load import load
from slinky_iac.errors import RotationError
from slinky_iac.key_lifecycle import carrying, rotate_tokens, scripts, tokens
from slinky_iac.key_lifecycle.carrying import Means
from slinky_iac.key_lifecycle.hosts import hosts_of
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import START, Host, Role, Rotation, Turn
from slinky_iac.key_lifecycle.report import token_agreements
from slinky_iac.key_lifecycle.rotate_tokens import RotatingTokens
from slinky_iac.key_lifecycle.tokens import TokenFacts
from slinky_iac.keys.jwks import kids, public_set
from slinky_iac.keys.rsa import TokenKey, parse
from slinky_iac.kube.wire import Clock
from tests.rsa_keys import pem, token_key
from tests.stacks import merged, outside

OLD, NEW = "old-kid", "new-kid"
CTL, DBD, METAL = Host("ctl", (Role.SLURMCTLD,)), Host("dbd", (Role.SLURMDBD,)), Host("metal-1", (Role.SLURMD,))
REST = TokenFacts(OLD, None, None, frozenset({OLD}), OLD, {OLD: True}, {OLD: True}, hosts=(METAL, DBD, CTL))
"""A token key at rest."""
ONLY_OLD: dict[str, bool | None] = {OLD: True, NEW: False}
BOTH: dict[str, bool | None] = {OLD: True, NEW: True}
ONLY_NEW: dict[str, bool | None] = {OLD: False, NEW: True}
COMING = replace(REST, coming=NEW, published=frozenset({OLD, NEW}), slurmctld=ONLY_OLD, slurmdbd=ONLY_OLD)
GOING = replace(COMING, current=NEW, coming=None, previous=OLD, signing=NEW, slurmctld=BOTH, slurmdbd=BOTH)
CONFIG = outside(
    keys={"source": "imported", "tokens": "rs256"},
    controller={"external": {"host": "ctl"}},
    accounting={"enabled": True, "external": {"host": "dbd"}},
    external={"slurmdHosts": [{"name": "metal-1"}], "loginHosts": [{"name": "login-1"}]},
)


def due(plan: Rotation) -> str | None:
    return plan.due.name if plan.due else None


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (REST, START),
        (replace(REST, signing=None, published=frozenset(), slurmctld={OLD: None}), START),
        (replace(REST, coming=NEW), tokens.PUBLISH),
        (COMING, tokens.LEARN),
        (replace(COMING, slurmctld=BOTH), tokens.LEARN),
        (replace(COMING, slurmdbd=BOTH), tokens.LEARN),
        (replace(COMING, slurmctld=BOTH, slurmdbd=None), tokens.SIGN),
        (replace(COMING, slurmctld=BOTH, slurmdbd=BOTH), tokens.SIGN),
        (replace(COMING, slurmctld=BOTH, slurmdbd=BOTH, previous=OLD), tokens.SIGN),
        (replace(COMING, current=NEW, previous=OLD), tokens.SIGN),
        (replace(GOING, signing=OLD), tokens.SIGN),
        (GOING, tokens.FORGET),
        (replace(GOING, slurmctld=ONLY_NEW), tokens.FORGET),
        (replace(GOING, slurmctld=ONLY_NEW, slurmdbd={OLD: None, NEW: True}), tokens.FORGET),
        (replace(GOING, slurmctld=ONLY_NEW, slurmdbd=ONLY_NEW), tokens.END),
        (replace(GOING, slurmctld=ONLY_NEW, slurmdbd=None), tokens.END),
        (replace(GOING, outside=frozenset()), tokens.END),
        (replace(GOING, previous=None), tokens.END),
        (replace(GOING, previous=None, published=frozenset({NEW})), START),
    ],
)
def test_the_rotation_goes_on_from_every_cut(facts: TokenFacts, step: str) -> None:
    plan = tokens.rotation(facts)
    assert due(plan) == step
    assert plan.under_way == (step != START)


@pytest.mark.parametrize(("ctl", "dbd"), [*product([True, False, None], [True, False, None])])
def test_nothing_signs_with_a_key_before_both_daemons_certainly_take_it(ctl: bool | None, dbd: bool | None) -> None:
    facts = replace(COMING, slurmctld={OLD: True, NEW: ctl}, slurmdbd={OLD: True, NEW: dbd})
    assert (due(tokens.rotation(facts)) == tokens.SIGN) == (ctl is True and dbd is True)


def test_hosts_take_part_in_their_roles_that_check_tokens_only() -> None:
    """Else slurmd on the same host would be restarted, for nothing."""
    both = Host("ctl", (Role.SLURMD, Role.SLURMDBD, Role.SLURMCTLD))
    facts = replace(COMING, hosts=(Host("login-1", (Role.LOGIN,)), METAL, both))
    (learn, forget) = (step for step in tokens.rotation(facts).steps if step.turn is Turn.HOSTS)
    assert learn.hosts == forget.hosts == (Host("ctl", (Role.SLURMDBD, Role.SLURMCTLD)),)
    script = scripts.change(learn.hosts[0], [scripts.File("jwks.json", b"{}")])
    assert "restart slurmd\n" not in script
    assert script.index("restart slurmdbd") < script.index("scontrol reconfigure")
    assert re.search(r"(?m)^place jwks.json \S+ slurm.key <<", script)


def test_where_all_daemons_are_in_kubernetes_no_step_is_the_hosts() -> None:
    plan = tokens.rotation(replace(COMING, hosts=(METAL,), outside=frozenset()))
    assert {step.turn for step in plan.steps} == {Turn.OURS}


class Cut(Exception):
    """The process ends here."""


@functools.cache
def parsed(raw: bytes) -> TokenKey:
    """The key of a PEM, checked once: that takes a tenth of a second."""
    return parse("tokenKey", raw)


@dataclass
class World:
    """Keys in the configuration, in Secret and ConfigMap, on hosts, and in daemons' memories. Raises Cut before ``cut``."""

    cut: int | None = None
    operations: int = 0
    set: dict[str, TokenKey] = field(default_factory=lambda: {"tokenKey": token_key("old")})
    signing: str = token_key("old").kid
    published: frozenset[str] = frozenset({token_key("old").kid})
    files: dict[str, frozenset[str]] = field(default_factory=dict)
    known: dict[str, frozenset[str]] = field(default_factory=dict)
    made: int = 0
    deaf: bool = False
    """Daemons whose configuration names no set: they read nothing."""

    def __post_init__(self) -> None:
        for name in ("dbd", "ctl"):
            self.files[name] = self.known[name] = frozenset({token_key("old").kid})

    def operate(self) -> None:
        """One operation; the process may end before it. What gates sign with is taken at every moment."""
        for daemon, known in self.known.items():
            assert self.signing in known, f"{daemon} refuses this stack's tokens"
        self.operations += 1
        if self.cut is not None and self.operations > self.cut:
            raise Cut

    def set_key(self, name: str, raw: bytes) -> None:
        self.operate()
        self.set[name] = parsed(raw)

    def remove(self, name: str) -> None:
        self.operate()
        self.set.pop(name, None)

    def settled(self) -> None:
        self.operate()

    def update_keys(self, _say: Callable[[str], None], *, replaces: bool) -> None:
        """As the program does; the two objects are written one after the other, in either order."""
        assert not replaces, "a Secret that is replaced is gone for a moment"
        assert not {"tokenKeyNext", "tokenKeyPrevious"} <= set(self.set), "the rules refuse this"
        self.operate()
        self.signing = self.set["tokenKey"].kid
        self.operate()
        self.published = frozenset(key.kid for key in self.set.values())

    def script(self, host: Host, text: str) -> str:
        """Carry out a script of ours: the file that it places, then what its daemon reads."""
        (content,) = re.findall(r"place jwks.json \S+ \S+ <<'KEY'\n(.*?)\nKEY\n", text, re.DOTALL)
        raw = base64.b64decode(content)
        self.operate()
        self.files[host.name] = kids(raw)
        self.operate()
        assert "restart" in text or "reconfigure" in text
        if not self.deaf:
            self.known[host.name] = self.files[host.name]
        digest = sha256(raw).hexdigest()
        return f"{scripts.MARK} jwks.json {digest} {digest}\n"

    def facts(self, *_: object) -> TokenFacts:
        own = {name: key.kid for name, key in self.set.items()}
        return TokenFacts(
            current=own["tokenKey"],
            coming=own.get("tokenKeyNext"),
            previous=own.get("tokenKeyPrevious"),
            published=self.published,
            signing=self.signing,
            slurmctld={kid: kid in self.known["ctl"] for kid in own.values()},
            slurmdbd={kid: kid in self.known["dbd"] for kid in own.values()},
            hosts=hosts_of(load(CONFIG)),
        )


def rotating(world: World, monkeypatch: pytest.MonkeyPatch, **more: Any) -> RotatingTokens:
    """A rotation whose engine, hosts and daemons are ``world``."""
    ticks = [0.0]

    def sleep(seconds: float) -> None:
        ticks[0] += seconds

    @contextmanager
    def opened(found: Material, *_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(material=found)

    def generate() -> bytes:
        world.made += 1
        return pem(f"made {world.made}")

    def read(_engine: object) -> Material:
        return Material(load(CONFIG), {}, dict(world.set))

    monkeypatch.setattr(rotate_tokens.material, "read", read)
    monkeypatch.setattr(rotate_tokens, "new_token_key", generate)
    monkeypatch.setattr(carrying, "opened", opened)
    monkeypatch.setattr(rotate_tokens, "facts_of", world.facts)
    settings: dict[str, Any] = {"via": world, "clock": Clock(monotonic=lambda: ticks[0], sleep=sleep), **more}
    return RotatingTokens(Means(world, lambda _line: None, **settings))  # type: ignore[arg-type]


def ended(world: World) -> bool:
    """Whether everything has the new key alone."""
    new = frozenset({world.set["tokenKey"].kid})
    same = {world.published, *world.files.values(), *world.known.values()} == {new}
    return same and {world.signing} == new and set(world.set) == {"tokenKey"} and world.made > 0


def test_one_run_carries_a_rotation_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch).run(start=True)
    assert ended(world)
    assert (plan.under_way, world.made) == (False, 1)


def test_a_rotation_that_is_cut_at_any_operation_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = World()
    rotating(whole, monkeypatch).run(start=True)
    assert whole.operations > 14
    for cut in range(whole.operations):
        world = World(cut=cut)
        with pytest.raises(Cut):
            rotating(world, monkeypatch).run(start=True)
        world.cut = None
        rotating(world, monkeypatch).run(start=world.made == 0)
        world.operate()
        if not ended(world):  # cut between the making of the key and its setting: nothing had begun
            assert set(world.set) == {"tokenKey"}
            assert world.signing == token_key("old").kid


@pytest.mark.parametrize("first", range(1, 12, 3))
def test_a_rotation_that_is_cut_again_and_again_ends_too(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for each in range(60):
        world.cut = world.operations + first + each % 3
        try:
            rotating(world, monkeypatch).run(start=world.made == 0)
        except Cut:
            continue
        break
    world.cut = None
    rotating(world, monkeypatch).run(start=False)
    assert ended(world)


def test_none_begins_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch).run(start=False)
    assert (plan.under_way, world.operations, world.made) == (False, 0, 0)


def test_without_via_hosts_wait_for_a_person_and_tokens_tell_when_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch, via=None).run(start=True)
    for step in (tokens.LEARN, tokens.FORGET):
        assert due(plan) == step
        assert plan.due is not None
        assert due(rotating(world, monkeypatch, via=None).run(start=False)) == step, "asking again isn't doing it"
        for host in plan.due.hosts:
            world.script(host, rotating(world, monkeypatch, via=None).script(host.name))
        plan = rotating(world, monkeypatch, via=None).run(start=False)
    assert ended(world)


def test_a_script_is_made_only_for_a_host_whose_turn_it_is_and_holds_nothing_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    rotation = rotating(world, monkeypatch, via=None)
    with pytest.raises(RotationError, match="isn't the hosts' turn"):
        rotation.script("ctl")
    rotation.run(start=True)
    with pytest.raises(RotationError, match="which is for dbd, ctl"):
        rotation.script("metal-1")
    (content,) = re.findall(r"<<'KEY'\n(.*?)\nKEY\n", rotation.script("ctl"), re.DOTALL)
    assert base64.b64decode(content) == public_set(world.set.values())


def test_hosts_that_read_no_set_stop_it_while_the_old_key_still_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(deaf=True)
    with pytest.raises(RotationError, match=r"must name the file .*gates sign with a key that is taken"):
        rotating(world, monkeypatch).run(start=True)
    assert world.signing == token_key("old").kid
    world.operate()


def test_a_key_that_is_refused_already_is_no_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    broken = replace(world.facts(), slurmctld={token_key("old").kid: False})
    rotation = rotating(world, monkeypatch)
    monkeypatch.setattr(rotate_tokens, "facts_of", lambda *_: broken)
    with pytest.raises(RotationError, match=r"isn't certainly taken.*Nothing was changed"):
        rotation.run(start=True)
    assert world.operations == 0


@pytest.mark.parametrize(
    ("over", "words"), [({"tokens": "hs256"}, "keys rotate jwt"), ({"tokens": "prepared"}, "change over")]
)
def test_a_stack_that_signs_with_the_jwt_key_has_none_to_replace(over: Mapping[str, str], words: str) -> None:
    found = Material(load(merged(CONFIG, {"keys": over})), {}, {"tokenKey": token_key()})
    with pytest.raises(RotationError, match=words):
        rotate_tokens.refuse_unsigned(found)
    with pytest.raises(RotationError, match="tokenKey isn't set"):
        rotate_tokens.refuse_unsigned(Material(load(CONFIG), {}))


def test_verify_tells_each_place_that_differs() -> None:
    assert {row.verdict for row in token_agreements(REST)} == {"agrees"}
    rows = {
        row.what: row.verdict for row in token_agreements(replace(COMING, signing=NEW, slurmdbd={OLD: None, NEW: False}))
    }
    assert rows == {
        "token key: Secret": "differs",
        "token key: public set": "agrees",
        "token key: slurmctld": "agrees",
        "token key: slurmdbd": "unknown",
        "token key: rotation": "differs",
    }
