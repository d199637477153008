"""Tokens: what is in them, when they are renewed, what a refusal leads to, and that nothing of a key ever shows."""

from __future__ import annotations

import copy
import pickle
import traceback

import httpx
import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.errors import KeyMaterialError, SlurmrestAuthError
from slinky_iac.slurmrest.auth import HEADER, SlurmJwtAuth
from tests.made.rows import NOW, job, node
from tests.unit.slurmrest.fake import KEY, OTHER_KEY, FakeSlurm, answer, error


def claims_of(token: str, key: bytes = KEY) -> dict[str, object]:
    options = {"verify_exp": False, "verify_iat": False}
    return dict(jwt.decode(token, key, algorithms=["HS256"], options=options))  # type: ignore[arg-type]


def test_claims_are_whole_numbers_and_a_token_lives_five_minutes_at_most() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    slurm.client(user="drainer").diag()
    claims = claims_of(slurm.tokens[-1])
    assert set(claims) == {"iat", "exp", "sun"}
    assert isinstance(claims["iat"], int)
    assert isinstance(claims["exp"], int)
    assert claims["exp"] - claims["iat"] == 300
    assert abs(claims["iat"] - NOW) < 5
    assert claims["sun"] == "drainer"


@pytest.mark.parametrize("life", [0, 1, 301, 3600])
def test_a_longer_or_useless_life_is_refused(life: int) -> None:
    with pytest.raises(ValueError, match="2 to 300"):
        SlurmJwtAuth([KEY], clock=lambda: NOW, life_s=life)


def test_one_token_serves_half_its_life_and_is_renewed_in_long_drains() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    for _ in range(20):
        client.nodes()
        slurm.ticks.now += 60
    assert 6 < len(set(slurm.tokens)) < 12
    ages = [claims_of(token)["exp"] for token in slurm.tokens]
    assert ages == sorted(ages, key=str)


def test_a_token_that_expired_early_is_made_afresh_once() -> None:
    """slurmctld's clock may run ahead: the token at hand is over before half its life is."""
    slurm = FakeSlurm().add(node("g-0"))
    client = slurm.client()
    client.diag()
    slurm.ticks.now += 100
    slurm.faults = [lambda _: answer(511, [error(1007)])]
    asked = len(slurm.asked)
    client.diag()
    assert len(slurm.asked) - asked == 2
    assert slurm.tokens[-1] != slurm.tokens[0]


def test_while_a_key_is_rotated_the_other_key_is_tried_and_remembered() -> None:
    slurm = FakeSlurm(keys=(OTHER_KEY,)).add(node("g-0"))
    client = slurm.client(KEY, OTHER_KEY)
    client.diag()
    first = len(slurm.tokens)
    client.diag()
    assert len(slurm.tokens) - first == 1
    slurm.keys = (KEY,)
    client.diag()
    assert claims_of(slurm.tokens[-1])["sun"] == "slurm"


def test_a_refusal_by_number_under_another_status_is_a_refusal_too() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    slurm.faults = [lambda _: answer(500, [error(1007)])]
    assert slurm.client().diag().meta.slurm.cluster == "lab"


def test_it_gives_up_after_every_key_and_a_post_is_not_done_twice() -> None:
    slurm = FakeSlurm(keys=()).add(node("g-0"))
    client = slurm.client(KEY, OTHER_KEY)
    seen = FakeSlurm().add(node("g-0")).client().nodes()
    with pytest.raises(SlurmrestAuthError, match="each of the 2 JWT keys"):
        client.drain(["g-0"], "slinky-iac:dev/gpu: x", seen=seen)
    assert len(slurm.asked_for("POST", "nodes/")) == 3
    assert slurm.nodes["g-0"]["state"] == ["IDLE"]


@pytest.mark.parametrize("keys", [[], [b""], [KEY, b""], b"bytes instead of a list"])
def test_a_missing_or_empty_key_is_refused_before_any_call(keys: list[bytes]) -> None:
    with pytest.raises(KeyMaterialError):
        SlurmJwtAuth(keys, clock=lambda: NOW)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_every_key_that_slurm_takes_makes_a_token(key: bytes) -> None:
    """One byte, PEM, JSON with kty: to Slurm they are bytes; PyJWT's guards must not refuse or warn."""
    request = httpx.Request("GET", "http://rest/")
    flow = SlurmJwtAuth([key], clock=lambda: NOW).sync_auth_flow(request)
    token = next(flow).headers[HEADER]
    head, claims, _ = token.split(".")
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    assert head
    assert claims


@pytest.mark.parametrize(
    "key", [b"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", b'{"kty":"oct","k":"x"}', b"k"]
)
def test_keys_that_look_like_something_else_are_bytes_all_the_same(key: bytes) -> None:
    auth = SlurmJwtAuth([key], clock=lambda: NOW)
    assert next(auth.sync_auth_flow(httpx.Request("GET", "http://rest/"))).headers[HEADER].count(".") == 2


def test_nothing_of_a_key_or_token_shows_and_neither_can_be_stored() -> None:
    slurm = FakeSlurm(keys=(), jobs={17: job(17)}).add(node("g-0"))
    client = slurm.client(KEY)
    auth = SlurmJwtAuth([KEY], clock=lambda: NOW)
    try:
        client.diag()
    except SlurmrestAuthError as refused:
        shown = "".join(traceback.format_exception(refused)) + repr(refused) + repr(client) + repr(auth)
    for secret in (*slurm.tokens, repr(KEY)[2:-1], KEY.decode("latin-1"), KEY.hex()):
        assert secret not in shown
    assert repr(auth) == "SlurmJwtAuth(user='slurm', keys=1)"
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Nothing was stored"):
            store(auth)


def test_an_answer_that_echoes_the_token_ends_in_no_message() -> None:
    """Debug pages of proxies print the request's headers."""
    slurm = FakeSlurm()
    slurm.faults = [
        lambda request: httpx.Response(400, text=f"headers were: {dict(request.headers)}"),
        lambda request: answer(500, [error(9, request.headers[HEADER], request.headers[HEADER])]),
        lambda request: answer(nodes=[node("g-0", reason=request.headers[HEADER])], last_update={"number": 1}),
    ]
    client = slurm.client()
    shown = []
    for _ in range(2):
        with pytest.raises(Exception, match="HTTP") as raised:
            client.diag()
        shown.append("".join(traceback.format_exception(raised.value)))
    shown.append(repr(client.nodes()))
    client.diag()
    assert all("[hidden]" in text for text in shown)
    assert not any(token in text for token in slurm.tokens for text in shown)


def test_a_key_that_was_replaced_during_a_long_wait_is_asked_for_and_remembered() -> None:
    slurm = FakeSlurm(keys=(KEY,)).add(node("g-0"))
    held = [KEY]
    asked: list[int] = []

    def again() -> list[bytes]:
        asked.append(1)
        return held

    client = slurm.client(KEY, again=again)
    client.diag()
    assert asked == []
    slurm.keys, held = (OTHER_KEY,), [OTHER_KEY]
    client.diag()
    before = len(slurm.tokens)
    client.diag()
    assert (len(asked), len(slurm.tokens) - before) == (1, 1)


def test_keys_that_are_asked_for_again_and_refused_again_end_the_call() -> None:
    slurm = FakeSlurm(keys=(b"third" * 8,)).add(node("g-0"))
    client = slurm.client(KEY, again=lambda: [KEY, OTHER_KEY])
    with pytest.raises(SlurmrestAuthError, match="each of the 2 JWT keys"):
        client.diag()
