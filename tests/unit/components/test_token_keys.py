"""The key of this program's tokens as resources: private in a Secret, public in a ConfigMap, and changed without a gap."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens.public import public_set
from tests.clusters import recorded
from tests.program import Recording, Registered, Secret
from tests.rsa_keys import pem, token_key

CR = "kubernetes:slinky.slurm.net/v1beta1:"
OUTSIDE, INSIDE = "controller-outside", "all-in-kubernetes"


def made(stack: str, *, coming: tuple[str, ...] = (), tokens: str = "rs256") -> Recording:
    return recorded(stack, coming=coming, keys={"tokens": tokens})


def secret(recording: Recording) -> Registered:
    (found,) = [r for r in recording.of("core/v1:Secret") if r.name.endswith("-token-key-secret")]
    return found


def public(recording: Recording) -> str:
    (found,) = [r for r in recording.of("core/v1:ConfigMap") if r.name.endswith("-token-jwks")]
    assert found.inputs["metadata"]["name"] == "slurm-token-jwks"
    text: str = found.inputs["data"]["jwks.json"]
    return text


@pytest.mark.parametrize("stack", [OUTSIDE, INSIDE])
@pytest.mark.parametrize("tokens", ["prepared", "rs256"])
def test_the_private_key_is_a_protected_secret_and_the_public_set_is_plain(stack: str, tokens: str) -> None:
    recording = made(stack, tokens=tokens)
    found = secret(recording)
    assert found.inputs["metadata"]["name"] == "slurm-token-key"
    assert found.inputs["data"] == Secret({"token.pem": base64.b64encode(pem()).decode()})
    assert found.protect
    assert {"data", "stringData"} <= found.secret_outputs
    assert public(recording).encode() == public_set([token_key()])


def test_a_new_key_takes_the_old_ones_place_in_place() -> None:
    """Replaced, both objects would be gone for a moment, and a gate that starts just then could sign nothing."""
    provider = made(OUTSIDE).one("pulumi:providers:kubernetes").inputs
    assert "immutable" not in secret(made(OUTSIDE)).inputs
    assert (provider["enableSecretMutable"], provider["enableConfigMapMutable"]) == ("true", "true")
    plain = recorded(OUTSIDE).one("pulumi:providers:kubernetes").inputs
    assert not {"enableSecretMutable", "enableConfigMapMutable"} & plain.keys()


@pytest.mark.parametrize("coming", ["tokenKeyNext", "tokenKeyPrevious"])
def test_while_a_key_is_replaced_the_set_has_both_and_the_secret_the_one_in_use(coming: str) -> None:
    recording = made(OUTSIDE, coming=(coming,))
    assert secret(recording).inputs["data"].value == {"token.pem": base64.b64encode(pem()).decode()}
    assert kids(public(recording).encode()) == {token_key("old").kid, token_key("new").kid}


def test_a_slurmdbd_in_kubernetes_begins_anew_with_another_set() -> None:
    """The operator restarts it for its other keys only (accounting_app.go), and slurmdbd reads the set when it starts."""
    noted = [
        made(INSIDE, coming=coming).one(f"{CR}Accounting").inputs["metadata"]["annotations"]["slinky-iac/token-keys"]
        for coming in ((), ("tokenKeyNext",), ("tokenKeyPrevious",))
    ]
    assert noted[0] != noted[1] == noted[2]
    assert "slinky-iac/token-keys" not in made(OUTSIDE).one(f"{CR}Accounting").inputs["metadata"]["annotations"]


def test_gates_are_told_where_the_key_is_and_hold_nothing_of_it() -> None:
    recording = made(OUTSIDE)
    for gate in recording.of("slurm:NodeSetScale"):
        assert (gate.inputs["tokens"], gate.inputs["jwtSecret"], gate.inputs["jwtEntry"]) == (
            "rs256",
            "slurm-token-key",
            "token.pem",
        )
    (gate, *_) = recorded(OUTSIDE).of("slurm:NodeSetScale")
    assert gate.inputs["tokens"] == "hs256"


def shown(value: Any) -> str:
    return json.dumps(value, default=lambda each: "hidden" if isinstance(each, Secret) else str(each))


def test_no_part_of_the_private_key_stands_anywhere_in_the_clear() -> None:
    recording = made(INSIDE, coming=("tokenKeyNext",))
    text = "".join(shown(r.inputs) for r in recording.resources) + shown(list(recording.outputs.values()))
    lines = [line for which in ("old", "new") for line in pem(which).decode().splitlines()[1:-1]]
    assert [line for line in lines if line in text] == []
    numbers = [token_key(which).private.private_numbers() for which in ("old", "new")]
    for each in numbers:
        for part in (each.d, each.p, each.q):
            raw = part.to_bytes((part.bit_length() + 7) // 8, "big")
            assert base64.urlsafe_b64encode(raw).decode().rstrip("=") not in text


def test_the_set_is_told_to_the_next_person() -> None:
    recording = made(OUTSIDE)
    told = recording.outputs[recording.one("slinky:slurm:HybridCluster").urn]
    assert told["token_key_set"] == public_set([token_key()]).decode()
    assert "jwks=/etc/slurm/jwks.json" in told["outside_slurm_conf"]


def test_without_rsa_keys_nothing_of_this_is_made() -> None:
    recording = recorded(OUTSIDE)
    assert [r.name for r in recording.resources if "token" in r.name] == []
