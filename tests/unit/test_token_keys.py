"""RSA keys of tokens: what is taken, what is refused and in which words, and that a public set is what verifiers read."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.public import difference, kids
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rsa import TokenKey, decode, generate, parse
from tests.rsa_keys import pem, private, token_key

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()
LOCKED = serialization.BestAvailableEncryption(b"a passphrase")


def other(form: serialization.PrivateFormat, lock: serialization.KeySerializationEncryption = PLAIN) -> bytes:
    return private().private_bytes(PEM, form, lock)


def public() -> bytes:
    return private().public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def elliptic() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, PLAIN)


def refused(raw: bytes) -> str:
    """What is said of it; nothing of the key's own text may stand there."""
    with pytest.raises(KeyMaterialError) as caught:
        parse("tokenKey", raw)
    said = str(caught.value)
    assert said.startswith("tokenKey: ")
    assert [line for line in raw.decode("latin-1").splitlines()[1:-1] if len(line) > 16 and line in said] == []
    assert caught.value.__cause__ is None
    return said


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "isn't a PEM"),
        (b"\x00" * 300, "isn't a PEM"),
        (b"jwt_hs256 key that is text, long enough to be one", "isn't a PEM"),
        (pem("short", 1024), "has 1024 bits; 2048 to 8192"),
        (other(PKCS8, LOCKED), "encrypted with a passphrase"),
        (other(serialization.PrivateFormat.TraditionalOpenSSL, LOCKED), "encrypted with a passphrase"),
        (other(serialization.PrivateFormat.OpenSSH), "no private key as OpenSSL writes it"),
        (public(), "is a public key"),
        (elliptic(), "no RSA key"),
        (pem()[:400], "can't be read"),
        (pem().replace(pem()[100:140], b"A" * 40), "can't be read"),
        (pem() + b"x" * 70000, "isn't a PEM"),
    ],
)
def test_anything_but_a_usable_rsa_private_key_is_refused_by_name(raw: bytes, words: str) -> None:
    assert words in refused(raw)


@pytest.mark.parametrize("form", [PKCS8, serialization.PrivateFormat.TraditionalOpenSSL])
def test_both_forms_that_openssl_writes_are_one_key(form: serialization.PrivateFormat) -> None:
    assert parse("tokenKey", other(form)) == token_key()


@pytest.mark.parametrize("text", [pem().decode(), base64.b64encode(pem()).decode(), f"\n{pem().decode()}\n"])
def test_a_secret_holds_the_pem_or_base64_of_it(text: str) -> None:
    assert decode("tokenKey", text) == token_key()


def test_a_secret_that_is_neither_is_refused_and_not_shown() -> None:
    with pytest.raises(KeyMaterialError, match="neither a PEM nor base64") as caught:
        decode("tokenKey", "not base64 at all!")
    assert "not base64 at all" not in str(caught.value)


def test_half_a_surrogate_pair_makes_a_text_no_key_and_no_traceback() -> None:
    """JSON of an edited stack file can hold one."""
    with pytest.raises(KeyMaterialError, match="tokenKey"):
        decode("tokenKey", "-----BEGIN PRIVATE KEY-----\n\ud800\n-----END PRIVATE KEY-----\n")


def test_the_kid_is_the_thumbprint_of_rfc_7638() -> None:
    """As any other program would name the key: RFC 7638 section 3, by way of PyJWT's own JWK."""
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private().public_key()))
    needed = json.dumps({name: jwk[name] for name in ("e", "kty", "n")}, sort_keys=True, separators=(",", ":"))
    digest = subprocess.run(
        ["openssl", "dgst", "-sha256", "-binary"], input=needed.encode(), capture_output=True, check=True
    )
    assert token_key().kid == base64.urlsafe_b64encode(digest.stdout).decode().rstrip("=")


@given(st.permutations(["old", "new", "third"]), st.integers(1, 3))
def test_a_set_is_the_same_bytes_whatever_the_order_and_each_key_in_it_verifies(order: list[str], count: int) -> None:
    keys = [token_key(which) for which in order[:count]]
    document = public_set([*keys, keys[0]])
    assert document == public_set(reversed(keys))
    assert kids(document) == {key.kid for key in keys}
    read = jwt.PyJWKSet.from_json(document.decode())
    for key in keys:
        token = jwt.encode({"sun": "slurm"}, key.private, algorithm="RS256", headers={"kid": key.kid})
        assert jwt.decode(token, read[key.kid].key, algorithms=["RS256"]) == {"sun": "slurm"}


def test_a_set_says_of_each_key_what_slurmctld_looks_for_and_nothing_private() -> None:
    (entry,) = json.loads(public_set([token_key()]))["keys"]
    assert set(entry) == {"alg", "e", "kid", "kty", "n", "use"}
    assert (entry["alg"], entry["kty"], entry["use"]) == ("RS256", "RSA", "sig")


def forged() -> bytes:
    """The old key's set, but for its modulus, which is another's."""
    (entry,) = json.loads(public_set([token_key("old")]))["keys"]
    (other,) = json.loads(public_set([token_key("third")]))["keys"]
    return json.dumps({"keys": [{**entry, "n": other["n"]}]}, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_a_key_that_goes_by_another_s_name_is_known_by_its_own() -> None:
    assert kids(forged()) == {token_key("third").kid}


def test_the_same_file_has_no_difference() -> None:
    own = public_set([token_key("old"), token_key("new")])
    assert difference(own, own) is None


OWN, ROGUE, LACKED = token_key("old"), token_key("third"), token_key("new")


@pytest.mark.parametrize(
    ("document", "foreign", "lacking"),
    [
        (public_set([OWN, LACKED, ROGUE]), [ROGUE], []),
        (public_set([OWN]), [], [LACKED]),
        (public_set([OWN, ROGUE]), [ROGUE], [LACKED]),
        (forged(), [ROGUE], [OWN, LACKED]),
        (public_set([OWN, LACKED]) + b"\n", [], []),
    ],
    ids=["rogue", "lacks", "both", "forged", "longer"],
)
def test_keys_of_others_and_lacking_ones_are_named_by_what_they_are(
    document: bytes, foreign: list[TokenKey], lacking: list[TokenKey]
) -> None:
    found = difference(document, public_set([OWN, LACKED]))
    assert found is not None
    assert found.foreign == tuple(sorted(key.kid for key in foreign))
    assert found.lacking == tuple(sorted(key.kid for key in lacking))
    assert all(key.kid in found.words for key in foreign)


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | st.just(b"[" * 100_000) | st.just(b'{"keys":' * 9_999)
)
def test_any_other_bytes_differ_in_words_that_are_ours(document: bytes) -> None:
    found = difference(document, public_set([OWN]))
    assert found is not None
    assert found.words.isprintable()
    assert found.words.isascii()


def test_a_member_that_stands_twice_is_not_read_as_either() -> None:
    """json.loads takes the last, another reader the first."""
    text = public_set([OWN]).decode()
    (other,) = json.loads(public_set([ROGUE]))["keys"]
    twice = text.replace('"kty"', f'"n":"{other["n"]}","kty"', 1).encode()
    with pytest.raises(ValueError, match="isn't a set of keys"):
        kids(twice)
    found = difference(twice, text.encode())
    assert found is not None
    assert "can't be read" in found.words


@pytest.mark.parametrize("document", [b"", b"[]", b'{"keys":[{}]}', b'{"keys":1}', b"\xff", b"[" * 100_000])
def test_what_is_no_set_is_said_to_be_none(document: bytes) -> None:
    with pytest.raises(ValueError, match="isn't a set of keys"):
        kids(document)


def test_a_made_key_is_a_fresh_one_that_openssl_reads(tmp_path: Path) -> None:
    raw = generate()
    made = parse("made", raw)
    assert made.private.key_size == 3072
    assert made.kid != token_key().kid
    (tmp_path / "pem").write_bytes(raw)
    done = subprocess.run(["openssl", "pkey", "-in", tmp_path / "pem", "-noout", "-check"], capture_output=True, check=False)
    assert b"valid" in done.stdout + done.stderr


def test_a_key_shows_its_name_only_and_is_never_pickled() -> None:
    assert repr(token_key()) == f"TokenKey(kid={token_key().kid!r})"
    with pytest.raises(TypeError):
        pickle.dumps(token_key())
