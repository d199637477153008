"""Tokens of an RSA key: named by kid, renewed and tried again as HS256's are, and told apart by type and never by bytes."""

from __future__ import annotations

import traceback

import httpx
import jwt
import pytest

from slinky_iac.errors import KeyMaterialError, KubeNotFound, SlurmrestAuthError
from slinky_iac.parts.tokens.rsa import TokenKey
from slinky_iac.slurmrest.auth import HEADER, SigningKey, SlurmJwtAuth, held
from tests.made.rows import NOW, node
from tests.rsa_keys import pem, token_key
from tests.unit.slurmrest.fake import KEY, FakeSlurm

OLD, NEW = token_key("old"), token_key("new")


class WithSet(FakeSlurm):
    """A slurmctld with a set of public keys beside its JWT key."""

    known: tuple[TokenKey, ...] = ()

    def takes(self, token: str) -> bool:
        found = {key.kid: key for key in self.known}
        header = jwt.get_unverified_header(token)
        if header["alg"] != "RS256":
            return super().takes(token)
        key = found.get(header.get("kid", ""))
        if key is None:
            return False
        options = {"verify_exp": False, "verify_iat": False}
        claims = jwt.decode(token, key.private.public_key(), algorithms=["RS256"], options=options)  # type: ignore[arg-type]
        return bool(claims["exp"] > self.ticks.clock().wall())


def slurm(*known: TokenKey) -> WithSet:
    world = WithSet().add(node("g-0"))
    assert isinstance(world, WithSet)
    world.known = known
    return world


def test_a_token_names_its_key_and_says_what_hs256s_does() -> None:
    world = slurm(OLD)
    world.client(OLD, user="drainer").diag()  # type: ignore[arg-type]
    token = world.tokens[-1]
    assert jwt.get_unverified_header(token) == {"alg": "RS256", "kid": OLD.kid, "typ": "JWT"}
    claims = jwt.decode(token, options={"verify_signature": False})
    assert set(claims) == {"iat", "exp", "sun"}
    assert (claims["exp"] - claims["iat"], claims["sun"]) == (300, "drainer")
    assert len(token) < 1024, "a header of 8 KiB is what proxies take, with all others"


def test_one_token_serves_half_its_life() -> None:
    world = slurm(OLD)
    client = world.client(OLD)  # type: ignore[arg-type]
    for _ in range(20):
        client.nodes()
        world.ticks.now += 60
    assert 6 < len(set(world.tokens)) < 12


def test_while_both_are_known_neither_is_refused() -> None:
    world = slurm(OLD, NEW)
    for key in (OLD, NEW):
        asked = len(world.asked)
        world.client(key).diag()  # type: ignore[arg-type]
        assert len(world.asked) - asked == 2, "a ping for the version, and the question itself"


def test_a_client_that_runs_across_the_change_reads_the_secret_anew_and_goes_on() -> None:
    world = slurm(OLD)
    now: list[SigningKey] = [OLD]
    client = world.client(OLD, again=lambda: now)  # type: ignore[arg-type]
    client.diag()
    world.known, now = (NEW,), [NEW]
    client.diag()
    before = len(world.tokens)
    client.diag()
    assert len(world.tokens) - before == 1


def test_the_same_key_read_anew_is_not_tried_as_another() -> None:
    world = slurm(NEW)
    asked: list[int] = []

    def again() -> list[SigningKey]:
        asked.append(1)
        return [token_key("old")]

    client = world.client(OLD, again=again)  # type: ignore[arg-type]
    with pytest.raises(SlurmrestAuthError):
        client.diag()
    assert (len(asked), len(world.tokens)) == (1, 3), "ping, the token at hand, a fresh one"


def test_a_refusal_names_the_key_and_what_daemons_may_lack_and_shows_nothing_of_it() -> None:
    world = slurm()
    auth = SlurmJwtAuth([OLD], clock=lambda: NOW)
    with pytest.raises(SlurmrestAuthError) as caught:
        world.client(OLD).diag()  # type: ignore[arg-type]
    shown = "".join(traceback.format_exception(caught.value)) + repr(auth)
    for words in (OLD.kid, "jwks= in AuthAltParameters", "scontrol reconfigure", "Nothing was changed"):
        assert words in shown
    assert [line for line in pem().decode().splitlines()[1:-1] if line in shown] == []
    assert [token for token in world.tokens if token in shown] == []


def test_an_hs256_key_that_looks_like_an_rsa_key_is_bytes_all_the_same() -> None:
    """Taken for what it looks like, it would sign what slurmctld can't verify."""
    flow = SlurmJwtAuth([pem()], clock=lambda: NOW).sync_auth_flow(httpx.Request("GET", "http://rest/"))
    assert jwt.get_unverified_header(next(flow).headers[HEADER])["alg"] == "HS256"


class Secrets:
    """A Kubernetes that has one Secret."""

    def __init__(self, **entries: bytes) -> None:
        self.entries = {name.replace("_", "."): raw for name, raw in entries.items()}

    def secret_entries(self, _namespace: str, _name: str, entry: str, *optional: str) -> list[bytes]:
        if entry not in self.entries:
            raise KubeNotFound("no such entry")
        return [self.entries[entry], *(self.entries[each] for each in optional if each in self.entries)]


def test_a_secret_is_read_as_the_settings_say_and_not_as_it_looks() -> None:
    assert held(Secrets(token_pem=pem()), "slurm", "s", "token.pem", "rs256") == [OLD]  # type: ignore[arg-type]
    assert held(Secrets(token_pem=pem()), "slurm", "s", "token.pem", "hs256") == [pem()]  # type: ignore[arg-type]
    beside = Secrets(token_pem=pem(), token_pem_next=b"n" * 32)
    assert held(beside, "slurm", "s", "token.pem", "rs256") == [OLD], "slurmctld takes the next key by its set"  # type: ignore[arg-type]
    both = Secrets(jwt=KEY, jwt_next=b"n" * 32)
    assert held(both, "slurm", "s", "jwt", "hs256") == [KEY, b"n" * 32]  # type: ignore[arg-type]


def test_a_secret_that_holds_no_rsa_key_is_told_by_its_place() -> None:
    with pytest.raises(KeyMaterialError, match=r"^Secret slurm/s: token\.pem: isn't a PEM"):
        held(Secrets(token_pem=KEY), "slurm", "s", "token.pem", "rs256")  # type: ignore[arg-type]
