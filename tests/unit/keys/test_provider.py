"""An identity provider's keys: what is taken into jwks.json, what is refused, and that nothing of it is quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.reading.values import values_of
from slinky_iac.errors import ConfigError
from slinky_iac.keys.provider import parsed, public_keys
from slinky_iac.keys.public import difference, thumbprint
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from tests.rsa_keys import pem, token_key

OWN, THEIRS = token_key(), token_key("provider")


def jwk(**over: Any) -> dict[str, Any]:
    """A key as Keycloak lists it."""
    found = dict(THEIRS.jwk) | {"kid": "idp-1", "x5c": ["MII"], "x5t": "abc"} | over
    return {name: value for name, value in found.items() if value is not None}


def keys(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"keys": list(entries)}


def test_only_what_slurmctld_takes_is_kept_and_in_one_form() -> None:
    others = [
        jwk(kid="enc", use="enc", alg="RSA-OAEP"),
        {"kty": "EC", "crv": "P-256", "x": "a", "y": "b", "kid": "ec"},
        jwk(kid="idp-2", alg="RS512"),
    ]
    for alg in (None, "rs256"):
        (found,) = public_keys(keys(jwk(alg=alg), *others))
        assert found == dict(THEIRS.jwk) | {"kid": "idp-1"}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "isn't a key set"),
        ([], "isn't a key set"),
        ({"keys": {}}, "isn't a key set"),
        ({"keys": ["x"]}, "isn't a key set"),
        (keys(), "no RSA key for RS256"),
        (keys({"kty": "EC", "kid": "a"}), "no RSA key for RS256"),
        (keys(jwk(d="c2VjcmV0")), "private or a symmetric key"),
        (keys(jwk(), {"kty": "oct", "k": "c2VjcmV0", "kid": "s"}), "private or a symmetric key"),
        (keys(jwk(), {"kty": "oct", "kid": "s"}), "private or a symmetric key"),
        (keys(jwk(), jwk()), "two keys with the kid"),
        (keys(jwk(kid=None)), "no kid"),
        (keys(jwk(kid=7)), "no kid"),
        (keys(jwk(kid="a\nb")), "no kid"),
        (keys(jwk(n=None)), "no RSA numbers n and e"),
        (keys(jwk(n="!!")), "no RSA numbers n and e"),
        (keys(jwk(n="AQAB")), "of 17 bits"),
        (keys(jwk(n="u" * 342)), "has an n that is even"),
        (keys(jwk(e="AA")), "exponent"),
        (keys(jwk(n="x" * 100)), "bits"),
    ],
)
def test_anything_else_is_refused_and_nothing_is_quoted(document: object, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        public_keys(document)
    assert "c2VjcmV0" not in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=8) | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["keys", "kty", "kid", "n", "e", "use", "alg", "d"]), x),
    )
)
def test_no_document_ends_otherwise_than_in_keys_or_a_plain_refusal(document: Any) -> None:
    for each in (document, {"keys": document}, {"keys": [document]}):
        try:
            public_keys(each)
        except ValueError:
            continue


def test_a_member_that_is_there_twice_is_refused() -> None:
    text = json.dumps(keys(jwk())).replace('"kid": "idp-1"', '"kid": "idp-1", "kid": "other"')
    with pytest.raises(ValueError, match="twice"):
        parsed(text.encode())


def stack(folder: Path | None = None, document: object = None, tokens: str = "rs256") -> dict[str, str]:
    oidc = {"jwks": document}
    if folder is not None:
        (folder / "idp.json").write_text(json.dumps(document))
        oidc = {"jwksFile": str(folder / "idp.json")}
    return {
        "cluster": json.dumps({"name": "lab"}),
        "operator": json.dumps({"version": "1.1.0"}),
        "accounting": json.dumps({"enabled": False}),
        "keys": json.dumps({"source": "generated", "tokens": tokens}),
        "identity": json.dumps({"oidc": oidc}),
        "tokenKey": pem().decode(),
    }


def test_a_file_and_a_mapping_make_the_same_set_with_the_stacks_own_key(tmp_path: Path) -> None:
    secret = frozenset({"tokenKey"})
    inline, file = (values_of(stack(at, keys(jwk())), secret).keys.bundle(TOKENS) for at in (None, tmp_path))
    assert inline == file == public_set([OWN], public_keys(keys(jwk())))
    assert {each["kid"] for each in json.loads(inline or b"")["keys"]} == {OWN.kid, "idp-1"}


def test_a_declared_key_is_no_stranger_and_another_one_is() -> None:
    declared = public_set([OWN], public_keys(keys(jwk())))
    assert difference(declared, declared) is None
    alone = difference(declared, public_set([OWN]))
    assert alone is not None
    assert alone.foreign == (thumbprint(jwk()),)


@pytest.mark.parametrize("theirs", [jwk(kid=OWN.kid), dict(OWN.jwk) | {"kid": "theirs"}], ids=["kid", "key"])
def test_a_set_with_the_stacks_own_key_or_its_kid_is_refused(theirs: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="couldn't tell them"):
        values_of(stack(None, keys(theirs)), frozenset({"tokenKey"}))


def test_a_file_that_cant_be_read_is_refused_by_its_setting(tmp_path: Path) -> None:
    own = stack(tmp_path, keys(jwk()))
    (tmp_path / "idp.json").unlink()
    with pytest.raises(ConfigError, match=r"identity\.oidc\.jwksFile: can't be read"):
        values_of(own, frozenset({"tokenKey"}))
