"""`keys.tokens`: what the settings allow, who gets the public set, and what the gates sign with."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from slinky_iac.cluster_access import reach
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values, values_of
from slinky_iac.config.rules.sections import findings
from slinky_iac.errors import ConfigError
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.specs.daemons import accounting_spec, controller_spec
from slinky_iac.specs.slurm_conf import parameter
from tests.crds import SERVED, faults
from tests.raw_keys import raw_key
from tests.rsa_keys import pem, token_key
from tests.stacks import SECRETS, Data, form, merged, minimal, outside

RS256: Data = {"keys": {"tokens": "rs256"}}
DATABASE: Data = {"accounting": {"enabled": True, "database": {"host": "db"}}}
BASE = SECRETS | {"tokenKey"}


def said(data: Data, *secrets: str) -> list[tuple[str, str, str]]:
    found = findings(load(data), frozenset(secrets) or BASE)
    return [(f.level.value, f.path, f.message) for f in found if f.path in ("keys.tokens", "keys")]


def errors(data: Data, *secrets: str) -> list[str]:
    return [message for level, _, message in said(data, *secrets) if level == Level.ERROR.value]


def rsa_outside(**more: Any) -> Data:
    return merged(outside(**more), RS256)


@pytest.mark.parametrize("tokens", ["prepared", "rs256"])
def test_an_rsa_key_must_be_set_and_the_way_to_one_is_said(tokens: str) -> None:
    (text,) = errors(merged(outside(), {"keys": {"tokens": tokens}}), *SECRETS)
    assert "keys generate tokens --out token.pem" in text
    assert "keys import tokens --file token.pem" in text
    assert errors(merged(outside(), {"keys": {"tokens": tokens}})) == []


@pytest.mark.parametrize("more", [{}, DATABASE])
def test_a_daemon_in_kubernetes_needs_an_operator_that_gives_it_the_set(more: Data) -> None:
    inside = merged(minimal(), merged(RS256, more))
    for version, refused in (("1.0.4", True), ("1.1.0", False), ("1.2.1", False)):
        found = errors(merged(inside, {"operator": {"version": version}}))
        assert bool(found) is refused
        assert all("slurm-operator 1.1 or newer" in text and version in text for text in found)
    assert errors(merged(rsa_outside(), {"operator": {"version": "1.0.4"}})) == []


def test_a_slurmdbd_in_kubernetes_counts_too() -> None:
    data = merged(rsa_outside(), merged(DATABASE, {"operator": {"version": "1.0.4"}}))
    (text,) = errors(data)
    assert "where slurmdbd is in Kubernetes" in text


def test_what_outside_admins_have_to_do_is_said() -> None:
    (found,) = said(merged(rsa_outside(), {"accounting": {"enabled": True, "external": {"host": "dbd"}}}))
    assert found[0] == "info"
    assert "slurm.conf and slurmdbd.conf outside" in found[2]
    assert said(outside()) == [("warning", "keys.tokens", said(outside())[0][2])], "a key that nothing uses"


@pytest.mark.parametrize(
    ("more", "daemons", "pods"),
    [({}, "slurmctld", "its pod restarts"), (DATABASE, "slurmctld and slurmdbd", "their pods restart")],
)
def test_daemons_in_kubernetes_restart_for_the_set_and_that_is_said_before(more: Data, daemons: str, pods: str) -> None:
    """Watched with 1.1.0: the file's place is a change of the pod, so slurmctld is away for some seconds, once."""
    inside = merged(minimal(), merged({"operator": {"version": "1.1.0"}}, more))
    ((level, _, text),) = said(merged(inside, {"keys": {"tokens": "prepared"}}))
    assert level == "info"
    assert f"slurm-operator gives {daemons} the set, and {pods} once" in text
    assert said(merged(inside, RS256)) == [], "it has been"


def test_one_key_comes_or_goes_at_a_time() -> None:
    (text,) = errors(rsa_outside(), *BASE, "tokenKeyNext", "tokenKeyPrevious")
    assert "one of them at a time" in text
    for coming in ("tokenKeyNext", "tokenKeyPrevious"):
        assert errors(rsa_outside(), *BASE, coming) == []


@pytest.mark.parametrize("coming", ["tokenKeyNext", "tokenKeyPrevious"])
def test_every_preview_says_that_the_key_is_being_replaced(coming: str) -> None:
    """Who looks may be another than who began."""
    (told,) = [message for _, path, message in said(rsa_outside(), *BASE, coming) if path == "keys"]
    assert told.startswith(f"{coming} is set: the token key is being replaced")
    assert "keys rotate tokens --plan` shows the steps" in told


def test_token_keys_need_no_imported_keys_beside_them() -> None:
    assert errors(merged(minimal(), RS256), "tokenKey", "tokenKeyNext") == []


def test_with_munge_there_is_nobody_to_send_tokens_to() -> None:
    munge = outside(keys={"source": "imported", "auth": "auth/munge", "tokens": "rs256"}, munge={"image": "m:1"})
    found = findings(load(munge), frozenset({"mungeKey"}))
    assert [f.level for f in found if f.path == "keys.tokens"] == [Level.WARNING]


def values(data: Data, **secrets: bytes) -> Values:
    given = {"slurmKey": raw_key("s"), "jwtKey": raw_key("j"), **secrets}
    own = {name: json.dumps(section) for name, section in data.items()}
    own |= {name: base64.b64encode(raw).decode() for name, raw in given.items()}
    return values_of(own, frozenset(given))


def test_the_public_set_follows_the_secrets_that_are_set() -> None:
    old, new = token_key("old"), token_key("new")
    assert values(rsa_outside(), tokenKey=pem("old")).keys.bundle(TOKENS) == public_set([old])
    both = public_set([old, new])
    assert values(rsa_outside(), tokenKey=pem("old"), tokenKeyNext=pem("new")).keys.bundle(TOKENS) == both
    # No host changes:
    assert values(rsa_outside(), tokenKey=pem("new"), tokenKeyPrevious=pem("old")).keys.bundle(TOKENS) == both, (
        "no host changes"
    )
    assert values(outside(), tokenKey=pem("old")).keys.bundle(TOKENS) is None


def test_a_bad_key_is_told_with_all_other_faults_of_keys_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        values(rsa_outside(), tokenKey=b"x" * 300, tokenKeyNext=pem("short", 1024))
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["tokenKey", "tokenKeyNext"]
    assert "xxxx" not in str(caught.value)


@pytest.mark.parametrize("version", [version for version in SERVED if not version.startswith("1.0")])
@pytest.mark.parametrize("tokens", ["prepared", "rs256"])
def test_daemons_in_kubernetes_get_the_set_in_a_field_that_their_operator_has(tokens: str, version: str) -> None:
    config = form("slurmdbd-outside", operator={"version": version, "webhook": None}, keys={"tokens": tokens})
    spec = controller_spec(config)
    assert spec["jwksKeyRef"] == {"name": "slurm-token-jwks", "key": "jwks.json"}
    assert faults(version, "Controller", spec) == []
    assert "jwksKeyRef" not in accounting_spec(config), "slurmdbd is outside"
    inside = form("all-in-kubernetes", operator={"version": version, "webhook": None}, keys={"tokens": tokens})
    assert accounting_spec(inside)["jwksKeyRef"] == spec["jwksKeyRef"]
    assert faults(version, "Accounting", accounting_spec(inside)) == []


@pytest.mark.parametrize("version", [version for version in SERVED if version.startswith("1.0")])
def test_the_rule_refuses_exactly_what_the_schema_would(version: str) -> None:
    config = form("all-in-kubernetes", operator={"version": version, "webhook": None})
    reference = {"jwksKeyRef": {"name": "x", "key": "jwks.json"}}
    assert any("jwksKeyRef" in fault for fault in faults(version, "Controller", controller_spec(config) | reference))
    assert not config.operator_version.has_jwks


def test_an_outside_controllers_picture_has_no_set() -> None:
    config = form("controller-outside", keys={"tokens": "rs256"})
    assert "jwksKeyRef" not in controller_spec(config)
    wanted = "jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json"
    assert parameter("AuthAltParameters").value(config) == wanted, "jwks= alone would switch the operator's tokens off"
    assert "jwks" not in parameter("AuthAltParameters").value(form("controller-outside"))


def test_gates_sign_with_the_rsa_key_only_when_that_is_chosen() -> None:
    for tokens in ("hs256", "prepared"):
        found = reach(load(merged(outside(), {"keys": {"tokens": tokens}})))
        assert (found.algorithm, found.jwt_secret, found.jwt_entry) == ("hs256", "slurm-auth-jwths256", "jwt_hs256.key")
    found = reach(load(rsa_outside()))
    assert (found.algorithm, found.jwt_secret, found.jwt_entry) == ("rs256", "slurm-token-key", "token.pem")
