"""The token key's rotation: at no moment is a token refused, wherever it is cut, and it goes on from there."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.model import START, Host, Plan, Turn
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Role
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens import rotation as tokens
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.rotation import TokenFacts, TokenRotation, token_agreements
from tests.rsa_keys import token_key
from tests.stacks import merged, minimal, outside
from tests.unit.rotation.world import Cut, World

OLD, NEW = "old-kid", "new-kid"
CTL, DBD, METAL = Host("ctl", (Role.SLURMCTLD,)), Host("dbd", (Role.SLURMDBD,)), Host("metal-1", (Role.SLURMD,))
REST = TokenFacts(
    current=OLD,
    published=frozenset({OLD}),
    signing=OLD,
    slurmctld={OLD: True},
    slurmdbd={OLD: True},
    hosts=(METAL, DBD, CTL),
)
"""A token key at rest."""
ONLY_OLD: dict[str, bool | None] = {OLD: True, NEW: False}
BOTH: dict[str, bool | None] = {OLD: True, NEW: True}
ONLY_NEW: dict[str, bool | None] = {OLD: False, NEW: True}
COMING = replace(REST, next_key=NEW, published=frozenset({OLD, NEW}), slurmctld=ONLY_OLD, slurmdbd=ONLY_OLD)
GOING = replace(COMING, current=NEW, next_key=None, previous=OLD, signing=NEW, slurmctld=BOTH, slurmdbd=BOTH)
CONFIG = outside(
    keys={"source": "imported", "tokens": "rs256"},
    controller={"external": {"host": "ctl"}},
    accounting={"enabled": True, "external": {"host": "dbd"}},
    external={"slurmdHosts": [{"name": "metal-1"}], "loginHosts": [{"name": "login-1"}]},
)


def due(plan: Plan) -> str | None:
    return plan.due.name if plan.due else None


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (REST, START),
        (replace(REST, signing=None, published=frozenset(), slurmctld={OLD: None}), START),
        (replace(REST, next_key=NEW), tokens.PUBLISH),
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
        (replace(GOING, external=frozenset()), tokens.END),
        (replace(GOING, previous=None), tokens.END),
        (replace(GOING, previous=None, published=frozenset({NEW})), START),
        (replace(COMING, is_noted=False), tokens.PUBLISH),
        (replace(COMING, slurmctld=BOTH, slurmdbd=BOTH, is_noted=False), tokens.PUBLISH),
        (replace(GOING, previous=None, published=frozenset({NEW}), is_noted=False), tokens.END),
    ],
)
def test_the_rotation_goes_on_from_every_cut(facts: TokenFacts, step: str) -> None:
    plan = tokens.plan_of(facts)
    assert due(plan) == step
    assert plan.under_way == (step != START)


@pytest.mark.parametrize(("ctl", "dbd"), [*product([True, False, None], [True, False, None])])
def test_nothing_signs_with_a_key_before_both_daemons_certainly_take_it(ctl: bool | None, dbd: bool | None) -> None:
    facts = replace(COMING, slurmctld={OLD: True, NEW: ctl}, slurmdbd={OLD: True, NEW: dbd})
    assert (due(tokens.plan_of(facts)) == tokens.SIGN) == (ctl is True and dbd is True)


def test_hosts_take_part_in_their_roles_that_check_tokens_only() -> None:
    """Else slurmd on the same host would be restarted, for nothing."""
    both = Host("ctl", (Role.SLURMD, Role.SLURMDBD, Role.SLURMCTLD))
    facts = replace(COMING, hosts=(Host("login-1", (Role.LOGIN,)), METAL, both))
    (learn, forget) = (step for step in tokens.plan_of(facts).steps if step.turn is Turn.HOSTS)
    assert learn.hosts == forget.hosts == (Host("ctl", (Role.SLURMDBD, Role.SLURMCTLD)),)
    script = host_scripts.change(learn.hosts[0], [host_scripts.File("jwks.json", b"{}")])
    assert "restart slurmd\n" not in script
    assert script.index("restart slurmdbd") < script.index("scontrol reconfigure")
    assert re.search(r"(?m)^place jwks.json \S+ slurm.key <<", script)


def test_where_all_daemons_are_in_kubernetes_no_step_is_the_hosts() -> None:
    plan = tokens.plan_of(replace(COMING, hosts=(METAL,), external=frozenset()))
    assert {step.turn for step in plan.steps} == {Turn.OURS}


INSIDE = merged(
    minimal(),
    {
        "keys": {"source": "imported", "tokens": "rs256"},
        "operator": {"version": "1.2.1"},
        "accounting": {"enabled": True, "database": {"host": "db.example.org"}},
    },
)
"""Both daemons run in pods. slurmctld rereads jwks.json when a sidecar reconfigures it, slurmdbd only at startup."""
PLACES = pytest.mark.parametrize("config", [CONFIG, INSIDE], ids=["outside", "inside"])


def begun(config: Mapping[str, Any] = CONFIG) -> World:
    return World(load(config), set={})


def ended(world: World) -> bool:
    """Whether everything has the new key alone."""
    new = frozenset({token.kid for token in world.values().keys.rsa.values()})
    document = world.values().keys.bundle(TOKENS)
    hosts = () if world.config.slurmdbd.pods else ("ctl", "dbd")
    same = {document} == {world.public, *(world.files[host].get("jwks.json") for host in hosts)}
    return same and {*world.kids_of.values()} == {new} == {frozenset({world.signing})} and set(world.set) == {"tokenKey"}


@PLACES
def test_one_run_carries_a_rotation_to_its_end(config: Mapping[str, Any]) -> None:
    world = begun(config)
    plan = world.runner(TOKENS).run(start=True)
    assert ended(world)
    assert (plan.under_way, world.made) == (False, 1)


@PLACES
def test_a_rotation_that_is_cut_at_any_operation_goes_on_from_there(config: Mapping[str, Any]) -> None:
    whole = begun(config)
    whole.runner(TOKENS).run(start=True)
    assert whole.operations > 12
    for cut in range(whole.operations):
        world = begun(config)
        world.cut = cut
        with pytest.raises(Cut):
            world.runner(TOKENS).run(start=True)
        world.cut = None
        world.runner(TOKENS).run(start=world.made == 0)
        world.operate()
        if not ended(world):  # cut between the making of the key and its setting: nothing had begun
            assert set(world.set) == {"tokenKey"}
            assert world.signing == token_key("old").kid


@PLACES
@pytest.mark.parametrize("first", range(1, 12, 3))
def test_a_rotation_that_is_cut_again_and_again_ends_too(first: int, config: Mapping[str, Any]) -> None:
    world = begun(config)
    for each in range(60):
        world.cut = world.operations + first + each % 3
        try:
            world.runner(TOKENS).run(start=kids(world.public) == {token_key("old").kid})
        except Cut:
            continue
        break
    world.cut = None
    world.runner(TOKENS).run(start=False)
    assert ended(world)


def test_none_begins_unasked() -> None:
    world = begun()
    plan = world.runner(TOKENS).run(start=False)
    assert (plan.under_way, world.operations, world.made) == (False, 0, 0)


def test_without_via_hosts_wait_for_a_person_and_tokens_tell_when_they_are_done() -> None:
    world = begun()
    plan = world.runner(TOKENS, via=False).run(start=True)
    for step in (tokens.LEARN, tokens.FORGET):
        assert due(plan) == step
        assert plan.due is not None
        assert due(world.runner(TOKENS, via=False).run(start=False)) == step, "asking again isn't doing it"
        for host in plan.due.hosts:
            world.script(host, world.runner(TOKENS, via=False).script(host.name))
        plan = world.runner(TOKENS, via=False).run(start=False)
    assert ended(world)


def test_a_script_is_made_only_for_a_host_whose_turn_it_is_and_holds_nothing_private() -> None:
    world = begun()
    rotation = world.runner(TOKENS, via=False)
    with pytest.raises(RotationError, match="no script was made"):
        rotation.script("ctl")
    rotation.run(start=True)
    with pytest.raises(RotationError, match="which is for dbd, ctl"):
        rotation.script("metal-1")
    (content,) = re.findall(r"<<'KEY'\n(.*?)\nKEY\n", rotation.script("ctl"), re.DOTALL)
    assert base64.b64decode(content) == world.values().keys.bundle(TOKENS)


def test_hosts_that_read_no_set_stop_it_while_the_old_key_still_signs() -> None:
    world = begun()
    world.reads_no_set = True
    with pytest.raises(RotationError, match=r"must name the file .*gates sign with a key that is accepted"):
        world.runner(TOKENS).run(start=True)
    assert world.signing == token_key("old").kid
    world.check()


def test_a_key_that_is_refused_already_is_no_beginning() -> None:
    world = begun()
    world.kids_of["ctl"] = frozenset()
    with pytest.raises(RotationError, match=r"it is not certain that daemons accept.*Nothing was changed"):
        world.runner(TOKENS).run(start=True)
    assert world.operations == 0


@pytest.mark.parametrize(
    ("over", "words"), [({"tokens": "hs256"}, "keys rotate jwt"), ({"tokens": "prepared"}, "change over")]
)
def test_a_stack_that_signs_with_the_jwt_key_has_none_to_replace(over: Mapping[str, str], words: str) -> None:
    rotation = TokenRotation(TOKENS, begun().context())
    found = KeyMaterial({}, {"tokenKey": token_key()})
    with pytest.raises(RotationError, match=words):
        rotation.refuse(Values(load(merged(CONFIG, {"keys": over})), (), found), start=None)
    with pytest.raises(RotationError, match="tokenKey isn't set"):
        rotation.refuse(Values(load(CONFIG), ()), start=None)


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
