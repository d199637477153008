"""What a look concludes of the token key: silence isn't a refusal, and Secret and set are read where daemons do."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from slinky_iac.commands.rotation.agreement import Agreement
from slinky_iac.commands.rotation.cluster import Cluster, Snapshot
from slinky_iac.commands.rotation.host_scripts import MARK, hosts_of
from slinky_iac.commands.rotation.model import Host
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.keys.catalogue import Role
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rotation import (
    FORGET,
    LEARN,
    TokenRotation,
    facts_of,
    held_kid,
    plan_of,
    set_agreements,
    sets_on_hosts,
    token_agreements,
)
from slinky_iac.parts.tokens.rsa import TokenKey
from tests.rsa_keys import pem, token_key
from tests.stacks import merged
from tests.unit.rotation.daemons import Daemons
from tests.unit.rotation.test_tokens import CONFIG

OLD, NEW = token_key("old"), token_key("new")
NO, SILENT = SlurmrestAuthError("no"), SlurmrestUnreachable("7000")


def look(session: Daemons, over: dict[str, Any] | None = None, **tokens: TokenKey) -> Snapshot:
    config = load(merged(CONFIG, over or {}))
    keys = KeyMaterial({}, {"tokenKey": NEW, "tokenKeyPrevious": OLD, **tokens})
    return Snapshot(Values(config, (), keys), Cluster(config, session), hosts_of(config))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [([None], True), ([NO], False), ([SILENT], None)],
)
def test_slurmctld_is_taken_at_its_word(answers: list[Exception | None], verdict: bool | None) -> None:
    assert facts_of(look(Daemons({}, ctl={OLD.kid: answers}, dbd={}))).slurmctld == {NEW.kid: True, OLD.kid: verdict}


def test_slurmdbds_refusal_is_its_silence_while_it_takes_another_key() -> None:
    assert facts_of(look(Daemons({}, ctl={}, dbd={OLD.kid: [SILENT]}))).slurmdbd == {NEW.kid: True, OLD.kid: False}


def test_a_slurmdbd_that_is_down_refuses_nothing() -> None:
    assert facts_of(look(Daemons({}, ctl={}, dbd={OLD.kid: [SILENT], NEW.kid: [SILENT]}))).slurmdbd == {
        NEW.kid: None,
        OLD.kid: None,
    }


def test_a_slurmdbd_that_came_up_between_two_questions_is_asked_again() -> None:
    """Taken for a refusal, its silence would end the rotation with the old key still taken."""
    session = Daemons({}, ctl={}, dbd={NEW.kid: [None], OLD.kid: [SILENT, None]})
    assert facts_of(look(session)).slurmdbd == {NEW.kid: True, OLD.kid: True}


def test_secret_and_set_are_what_the_cluster_has() -> None:
    objects = {
        "slurm-token-key": {"token.pem": pem("old")},
        "slurm-token-jwks": {"jwks.json": public_set([OLD]).decode()},
    }
    facts = facts_of(look(Daemons(objects, ctl={}, dbd={})))
    assert (facts.signing, facts.published) == (OLD.kid, {OLD.kid})
    assert (facts.current, facts.next_key, facts.previous) == (NEW.kid, None, OLD.kid)
    before = facts_of(look(Daemons({}, ctl={}, dbd={})))
    assert (before.signing, before.published) == (None, frozenset())
    assert held_kid(look(Daemons({}, ctl={}, dbd={}))) is None


ROGUE = token_key("third")


def of_set(document: bytes) -> Agreement:
    """What `keys verify` says of a ConfigMap."""
    objects = {"slurm-token-key": {"token.pem": pem("new")}, "slurm-token-jwks": {"jwks.json": document.decode()}}
    rows = token_agreements(facts_of(look(Daemons(objects, ctl={}, dbd={}))))
    (row,) = [each for each in rows if each.what == "token key: public set"]
    return row


def test_the_configuration_s_own_set_agrees_also_in_the_middle_of_a_rotation() -> None:
    assert of_set(public_set([OLD, NEW])).verdict == "agrees"


def test_a_rogue_key_in_the_set_differs_and_is_named() -> None:
    row = of_set(public_set([OLD, NEW, ROGUE]))
    assert row.verdict == "differs"
    assert f"holds keys that aren't the stack's: 1 (kid {ROGUE.kid})" in row.text
    assert "slinky docs token-keys" in row.text


def test_another_modulus_under_the_stack_s_name_differs() -> None:
    """Compared by names it would be the stack's."""
    document = json.loads(public_set([OLD, NEW]))
    (entry,) = [each for each in document["keys"] if each["kid"] == NEW.kid]
    entry["n"] = json.loads(public_set([ROGUE]))["keys"][0]["n"]
    row = of_set(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    assert row.verdict == "differs"
    assert ROGUE.kid in row.text
    assert f"lacks kid {NEW.kid}" in row.text


@pytest.mark.parametrize("document", [b"", b"{}", b"[[[[", b'{"keys":[{"kid":"\\u001b[2J"}]}'])
def test_a_set_that_is_none_differs_and_ends_nothing(document: bytes) -> None:
    row = of_set(document)
    assert row.verdict == "differs"
    assert "can't be read" in row.text


def test_a_plan_names_a_rogue_key() -> None:
    objects = {"slurm-token-jwks": {"jwks.json": public_set([OLD, NEW, ROGUE]).decode()}}
    assert any(ROGUE.kid in note for note in plan_of(facts_of(look(Daemons(objects, ctl={}, dbd={})))).notes)


@pytest.mark.parametrize(
    ("over", "outside", "slurmdbd"),
    [
        ({}, {Role.SLURMCTLD, Role.SLURMDBD}, True),
        ({"controller": {"external": None}}, {Role.SLURMDBD}, True),
        ({"accounting": {"external": None, "database": {"host": "db"}}}, {Role.SLURMCTLD}, True),
        ({"accounting": {"enabled": False, "external": None}}, {Role.SLURMCTLD}, False),
    ],
)
def test_who_is_outside_is_told_by_the_configuration(over: dict[str, Any], outside: set[Role], slurmdbd: bool) -> None:
    facts = facts_of(look(Daemons({}, ctl={}, dbd={}), over))
    assert facts.external == outside
    assert (facts.slurmdbd is not None) is slurmdbd


def test_hosts_get_both_keys_and_at_the_end_the_one_that_stays() -> None:
    found = look(Daemons({}, ctl={}, dbd={}))
    rotation = TokenRotation(TOKENS, None)  # type: ignore[arg-type]
    assert kids(rotation.files(found, LEARN)[0].content) == {OLD.kid, NEW.kid}
    assert kids(rotation.files(found, FORGET)[0].content) == {NEW.kid}


class Hosts:
    """Hosts with this jwks.json; None: with none."""

    def __init__(self, document: bytes | None) -> None:
        digest = sha256(document).hexdigest() if document is not None else ""
        self.said = f"{MARK} {TOKENS.bundle} {digest} {digest}" if document is not None else "Welcome"
        self.asked: list[str] = []

    def script(self, host: Host, _text: str) -> str:
        self.asked.append(host.name)
        return self.said


def of_hosts(document: bytes | None, **tokens: TokenKey) -> tuple[set[str], str]:
    """The verdicts of `keys verify --via` on hosts with this set, and one's words."""
    via = Hosts(document)
    found = replace(
        look(Daemons({})), via=via, values=Values(load(CONFIG), (), KeyMaterial({}, {"tokenKey": NEW, **tokens}))
    )  # type: ignore[arg-type]
    rows = list(set_agreements(sets_on_hosts(found)))
    assert sorted(via.asked) == sorted(
        host.name for host in found.hosts if {Role.SLURMCTLD, Role.SLURMDBD} & set(host.roles)
    )
    assert rows
    return {row.verdict for row in rows}, rows[0].text


def test_the_stack_s_own_set_on_hosts_agrees() -> None:
    assert of_hosts(public_set([NEW]))[0] == {"agrees"}
    assert of_hosts(public_set([OLD, NEW]), tokenKeyPrevious=OLD)[0] == {"agrees"}


def test_a_rogue_key_in_a_host_s_set_differs() -> None:
    verdicts, said = of_hosts(public_set([NEW, ROGUE]))
    assert verdicts == {"differs"}
    assert "find out who wrote it" in said


def test_a_host_in_the_middle_of_a_rotation_is_told_from_a_rogue_set() -> None:
    verdicts, said = of_hosts(public_set([NEW]), tokenKeyPrevious=OLD)
    assert verdicts == {"differs"}
    assert "keys rotate tokens" in said


def test_a_host_without_a_set_differs() -> None:
    verdicts, said = of_hosts(None)
    assert (verdicts, "is missing" in said) == ({"differs"}, True)


def test_without_a_way_to_hosts_nothing_is_said_of_them() -> None:
    assert sets_on_hosts(look(Daemons({}))) == ()


def test_a_declared_providers_keys_are_no_strangers_and_stay_in_every_file() -> None:
    theirs = dict(token_key("provider").jwk) | {"kid": "realm"}
    objects = {
        "slurm-token-key": {"token.pem": pem("new")},
        "slurm-token-jwks": {"jwks.json": public_set([NEW], [theirs]).decode()},
    }
    keys = KeyMaterial({}, {"tokenKey": NEW}, provider=(theirs,))
    found = replace(look(Daemons(objects, ctl={}, dbd={})), values=Values(load(CONFIG), (), keys))
    facts = facts_of(found)
    assert (facts.published, facts.foreign, facts.set_differs) == ({NEW.kid}, (), "")
    assert plan_of(facts).under_way is False, "at rest"
    rotation = TokenRotation(TOKENS, None)  # type: ignore[arg-type]
    for step in (LEARN, FORGET):
        assert {each["kid"] for each in json.loads(rotation.files(found, step)[0].content)["keys"]} == {NEW.kid, "realm"}
    undeclared = replace(found, values=Values(load(CONFIG), (), KeyMaterial({}, {"tokenKey": NEW})))
    assert facts_of(undeclared).foreign == (token_key("provider").kid,), "once it isn't declared it is a stranger"
    via = Hosts(public_set([NEW], [theirs]))
    assert {each.ours for each in sets_on_hosts(replace(found, via=via))} == {True}  # type: ignore[arg-type]
