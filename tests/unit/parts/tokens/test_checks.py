"""RS256 in the preflight: each daemon's own verdict, the line to paste, and before it counts a warning and no problem."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from msgspec import structs

from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rsa import TokenKey
from slinky_iac.preflight.check import Run, Verdict
from slinky_iac.preflight.compare import judged
from slinky_iac.preflight.facts import TOKEN_IN_CONFIG, Facts, SlurmFacts
from slinky_iac.slurmrest.auth import SigningKey
from slinky_iac.slurmrest.daemons import SlurmConf
from tests.made.rows import Json
from tests.rsa_keys import token_key
from tests.unit.preflight.made import CONF, KUBE, SLURM, found, slurm, stack, verdicts
from tests.unit.preflight.test_ask_slurm import INSIDE, Surveyed, ask
from tests.unit.slurmrest.fake import KEY, OTHER_KEY, answer, error
from tests.unit.slurmrest.test_rs256 import WithSet

OWN = TOKEN_IN_CONFIG
LINE = "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json"
FINE = {"configuration": "accepted", OWN: "accepted"}
NAMED = structs.replace(CONF, AuthAltParameters="jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json")


def rsa(tokens: str = "rs256") -> Any:
    return stack(keys={"tokens": tokens})


def world(**over: Any) -> Facts:
    return slurm(**{"tokens": FINE, "slurmdbd_tokens": {OWN: "accepted"}, "conf": NAMED, **over})


def test_where_both_daemons_take_it_all_is_fine() -> None:
    assert verdicts("token-key", world(), rsa()) == [Verdict.FINE, Verdict.FINE]
    assert verdicts("token-set", world(), rsa()) == [Verdict.FINE]
    assert verdicts("jwt-key", world(), rsa()) == [Verdict.FINE], "the operator's key is looked at too"


def test_a_stack_without_rsa_keys_is_asked_nothing_of_them() -> None:
    assert found("token-key", slurm()) == found("token-set", slurm()) == []


@pytest.mark.parametrize(("tokens", "verdict"), [("rs256", Verdict.PROBLEM), ("prepared", Verdict.WARNING)])
@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd"])
def test_a_refusal_names_the_daemon_and_brings_set_and_line(tokens: str, verdict: Verdict, daemon: str) -> None:
    refused = {"tokens": {**FINE, OWN: "refused"}} if daemon == "slurmctld" else {"slurmdbd_tokens": {OWN: "refused"}}
    (check,) = [each for each in found("token-key", world(**refused), rsa(tokens)) if each.verdict is not Verdict.FINE]
    assert (check.verdict, check.source) == (verdict, daemon)
    assert check.paste == ("pulumi stack output tokenKeySet > jwks.json", LINE)
    assert "slurmdbd.conf" in check.at


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("jwt_key=/etc/slurm/jwt_hs256.key", "no jwks.json"),
        ("jwks=/etc/slurm/jwks.json", "the operator's tokens are refused"),
        ("", "the operator's tokens are refused and names no jwks.json"),
    ],
)
def test_the_line_must_name_the_jwt_key_and_the_set(line: str, words: str) -> None:
    conf = structs.replace(CONF, AuthAltParameters=line)
    (check,) = found("token-set", world(conf=conf), rsa())
    assert check.verdict is Verdict.PROBLEM
    assert words in check.got
    (paste,) = check.paste
    items = paste.removeprefix("AuthAltParameters=").split(",")
    assert {*line.split(","), *items} - {""} == set(items), "no item of the site's is dropped"
    assert set(items) == set(LINE.removeprefix("AuthAltParameters=").split(","))


@pytest.mark.parametrize("conf", [None, CONF])
def test_an_older_slurmctld_that_tells_no_line_leaves_it_unknown(conf: SlurmConf | None) -> None:
    (check,) = found("token-set", world(conf=conf), rsa())
    assert check.verdict is Verdict.UNKNOWN
    assert LINE in check.change


SET = public_set([token_key("old")])
FILES = {TOKENS.bundle: SET}


@pytest.mark.parametrize(
    ("held", "verdict", "words"),
    [
        (SET, Verdict.FINE, "byte for byte"),
        (public_set([token_key("old"), token_key("third")]), Verdict.PROBLEM, "aren't the stack's: 1"),
        (SET.replace(json.loads(SET)["keys"][0]["n"][:9].encode(), b"AAAAAAAAA"), Verdict.PROBLEM, "aren't the stack's: 1"),
        (b"{", Verdict.PROBLEM, "can't be read"),
        (SET + b"\n", Verdict.WARNING, "isn't the file"),
    ],
    ids=["same", "rogue", "forged", "none", "longer"],
)
def test_the_public_set_is_the_configuration_s_byte_for_byte(held: bytes, verdict: Verdict, words: str) -> None:
    facts = replace(world(), kube=replace(KUBE, public={TOKENS.bundle: held}), public=FILES)
    (check,) = found("public-set", facts, rsa())
    assert check.verdict is verdict
    assert words in check.got


def test_a_public_set_that_cannot_be_compared_is_unknown_and_before_the_first_update_there_is_none() -> None:
    assert verdicts("public-set", replace(world(), kube=replace(KUBE, public_trouble="forbidden")), rsa()) == [
        Verdict.UNKNOWN
    ]
    assert verdicts("public-set", replace(world(), kube=replace(KUBE, public=FILES)), rsa()) == [Verdict.UNKNOWN]
    assert verdicts("public-set", replace(world(), public=FILES), rsa()) == []
    assert verdicts("public-set", replace(world(), kube=replace(KUBE, public=FILES), public=FILES)) == []


def test_nobody_to_ask_is_unknown_and_the_line_is_shown() -> None:
    facts = replace(world(), slurm=SlurmFacts(trouble="no slurmrestd runs yet"))
    (check,) = found("token-key", facts, rsa())
    assert check.verdict is Verdict.UNKNOWN
    assert check.paste == (LINE,)


def test_an_rsa_key_says_nothing_of_the_jwt_key() -> None:
    facts = world(tokens={OWN: "accepted"})
    assert verdicts("jwt-key", facts, rsa()) == [Verdict.UNKNOWN]
    refused = world(tokens={"configuration": "refused", OWN: "accepted"})
    (check,) = found("jwt-key", refused, rsa())
    assert "the other one is taken" not in check.got


class Two(Surveyed, WithSet):
    """A slurmctld with a set, and a slurmdbd with one of its own."""

    slurmdbd_knows = True

    def serve(self, request: httpx.Request, rest: str, body: Json) -> httpx.Response:
        if (
            rest == "clusters/"
            and self.tokens[-1].count(".") == 2
            and len(self.tokens[-1]) > 400
            and not self.slurmdbd_knows
        ):
            return answer(502, [error(7000, "Unable to connect to database")])
        return super().serve(request, rest, body)


def asked(
    *known: TokenKey, slurmdbd_knows: bool = True, keys: dict[str, tuple[SigningKey, ...]] | None = None
) -> SlurmFacts:
    daemon = Two()
    daemon.known, daemon.slurmdbd_knows = known, slurmdbd_knows
    return ask({"inside": daemon}, INSIDE, keys=keys or {"configuration": (KEY,), OWN: (token_key(),)})  # type: ignore[arg-type]


def test_each_daemon_is_asked_with_each_key() -> None:
    seen = asked(token_key())
    assert seen.tokens == FINE
    assert seen.slurmdbd_tokens == {OWN: "accepted"}
    assert asked().tokens == {"configuration": "accepted", OWN: "refused"}


def test_slurmdbds_refusal_is_told_from_its_silence_by_the_key_that_it_takes() -> None:
    seen = asked(token_key(), slurmdbd_knows=False)
    assert (seen.slurmdbd_tokens, seen.silent) == ({OWN: "refused"}, {})
    alone = asked(token_key(), slurmdbd_knows=False, keys={OWN: (token_key(),)})
    assert alone.slurmdbd_tokens == {}, "with no other key at hand it is unknown which it is"
    assert "slurmdbd" in alone.silent


def test_with_the_rsa_key_alone_slurm_tells_as_much() -> None:
    seen = asked(token_key(), keys={OWN: (token_key(),), "configuration": (OTHER_KEY,)})
    assert seen.tokens == {OWN: "accepted", "configuration": "refused"}
    assert (seen.slurmdbd_tokens, seen.clusters is not None) == ({OWN: "accepted"}, True)


def test_every_preview_looks_at_it() -> None:
    said = {
        check.name: check.verdict
        for check in judged(Run.PREVIEW, rsa(), Facts(slurm=replace(SLURM, tokens={OWN: "refused"})))
    }
    assert said["token-key"] is Verdict.PROBLEM
