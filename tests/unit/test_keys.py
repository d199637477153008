"""Keys arrive byte for byte or are refused, and no message ever holds any of one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.raw import (
    MINIMUM_BYTES,
    check,
    decode,
    fingerprint,
    is_like_a_passphrase,
    keys_in,
    kid,
    several_keys,
    to_secret_data,
)
from tests.raw_keys import raw_key, text_key
from tests.rsa_keys import pem
from tests.unit.examples import examples

STRONG = bytes(range(100, 132))
"""Enough for a key: Hypothesis likes zeros, which are refused."""
RAW = st.binary(max_size=200).map(lambda tail: STRONG + tail)


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@given(raw=RAW.filter(lambda raw: not raw.endswith(b"\n")))
def test_a_key_arrives_byte_for_byte(raw: bytes) -> None:
    assert decode("slurmKey", encoded(raw), allow_trailing_newline=False) == raw
    assert base64.b64decode(to_secret_data(raw)) == raw


def test_base64_in_lines_is_one_key() -> None:
    raw = bytes(range(256))
    assert decode("jwtKey", base64.encodebytes(raw).decode(), allow_trailing_newline=False) == raw


def test_binary_that_happens_to_end_with_a_newline_byte_is_accepted() -> None:
    raw = bytes(range(200, 256)) + b"\n"
    assert decode("slurmKey", encoded(raw), allow_trailing_newline=False) == raw


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_text_with_a_stray_newline_is_refused_unless_it_is_wanted(ending: bytes) -> None:
    raw = text_key("k") + ending
    with pytest.raises(KeyMaterialError, match=r"slurmKey: .*line break.*allowTrailingNewline"):
        decode("slurmKey", encoded(raw), allow_trailing_newline=False)
    assert decode("slurmKey", encoded(raw), allow_trailing_newline=True) == raw


@pytest.mark.parametrize(("size", "accepted"), [(0, False), (31, False), (32, True), (65536, True), (65537, False)])
def test_too_short_and_too_long_keys_are_refused(size: int, accepted: bool) -> None:
    text = encoded(raw_key("k", size))
    if accepted:
        assert len(decode("jwtKey", text, allow_trailing_newline=False)) == size
        return
    with pytest.raises(KeyMaterialError, match=f"jwtKey: has {size} bytes; 32 to 65536 are allowed. So it isn't the whole"):
        decode("jwtKey", text, allow_trailing_newline=False)


@pytest.mark.parametrize("text", ["not base64!", "a", "ключ" * 20, "\x00" * 40])
def test_what_is_not_base64_is_refused_with_the_command_that_makes_it(text: str) -> None:
    with pytest.raises(KeyMaterialError, match=r"slurmKey: is not base64.*base64 -w0 FILE"):
        decode("slurmKey", text, allow_trailing_newline=False)


@given(text=st.text(min_size=12, max_size=40), raw=st.binary(min_size=12, max_size=31))
def test_no_refusal_shows_any_of_the_key(text: str, raw: bytes) -> None:
    """A sign that no sentence of ours has stands first: words of the refusal itself are no key shown."""
    for key in ("\N{CURRENCY SIGN}" + text, encoded(raw)):
        with pytest.raises(KeyMaterialError) as caught:
            decode("slurmKey", key, allow_trailing_newline=False)
        assert key not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_fingerprint_is_what_the_documented_command_prints(tmp_path: Path) -> None:
    raw = bytes(range(64))
    (tmp_path / "slurm.key").write_bytes(raw)
    shown = subprocess.run(
        "openssl dgst -sha256 -binary slurm.key | base64",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )
    assert fingerprint(raw) == "SHA256:" + shown.stdout.strip().rstrip("=")


@given(one=RAW, other=RAW)
def test_fingerprints_tell_keys_apart_and_show_nothing_of_them(one: bytes, other: bytes) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (one == other)
    assert encoded(one) not in fingerprint(one)


def test_a_jwks_signs_with_one_key_and_takes_tokens_of_all() -> None:
    old, new = b"o" * 32, b"n" * 32
    shown = json.loads(several_keys(new, old))["keys"]
    assert [(key["kid"], key.get("use")) for key in shown] == [(kid(new), "default"), (kid(old), None)]
    assert [base64.b64decode(key["k"]) for key in shown] == [new, old]
    assert {(key["alg"], key["kty"]) for key in shown} == {("HS256", "oct")}, "slurmctld is fatal on anything else"


@given(one=RAW, other=RAW)
def test_the_same_keys_make_the_same_file_so_that_hashes_can_be_compared(one: bytes, other: bytes) -> None:
    assert several_keys(one, other) == several_keys(one, other, one)
    assert (several_keys(one, other) == several_keys(other, one)) == (one == other)
    assert sorted(keys_in(several_keys(one, other))) == sorted({one, other})
    assert len(json.loads(several_keys(one, other))["keys"]) == (1 if one == other else 2), "kids must be unique"


@given(raw=RAW)
def test_a_kid_shows_nothing_of_the_key(raw: bytes) -> None:
    assert len(kid(raw)) == len("sha256-") + 16
    assert encoded(raw)[:16] not in kid(raw)


@pytest.mark.parametrize(
    "document",
    [b"", b"{}", b'{"keys": [{"kid": "a"}]}', b'{"keys": [{"k": "secret-not-base64!"}]}', b"\xff", b"[" * 100_000],
    ids=["empty", "no keys", "no key in it", "no base64", "no text", "deep"],
)
def test_a_slurm_jwks_that_can_not_be_read_is_quoted_nowhere(document: bytes) -> None:
    with pytest.raises(ValueError, match="isn't a set of keys") as error:
        keys_in(document)
    assert "secret" not in str(error.value)


CERTIFICATE = b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(os.urandom(300)) + b"-----END CERTIFICATE-----\n"


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(min_size=16, max_size=64))
def test_random_bytes_in_hexadecimal_are_a_key(raw: bytes) -> None:
    """`openssl rand -hex 32` makes many a jwt_hs256.key, and has 15 different bytes as often as 16."""
    text = hashlib.sha256(raw).hexdigest().encode()
    check("jwtKey", text, allow_trailing_newline=False)
    check("jwtKey", text[:32], allow_trailing_newline=False)


@pytest.mark.parametrize(
    "weak",
    [
        bytes(32),
        b"a" * 1024,
        b"ab" * 512,
        b"0123456789abcdef" * 64,
        b"-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n",
        CERTIFICATE,
        CERTIFICATE.replace(b"CERTIFICATE", b"PUBLIC KEY"),
    ],
    ids=["zeros", "one letter", "two letters", "16 letters over and over", "an empty PEM", "a certificate", "a public key"],
)
def test_a_key_that_anybody_may_guess_or_have_is_refused(weak: bytes) -> None:
    with pytest.raises(KeyMaterialError) as caught:
        check("jwtKey", weak, allow_trailing_newline=True)
    assert weak.decode("latin-1") not in str(caught.value)


@given(st.binary(min_size=MINIMUM_BYTES, max_size=MINIMUM_BYTES).filter(lambda raw: len(set(raw)) > 24))
def test_a_random_key_of_the_least_length_is_taken(raw: bytes) -> None:
    check("slurmKey", raw, allow_trailing_newline=True)


def test_a_private_key_as_slurms_older_pages_made_it_is_taken() -> None:
    """`openssl genrsa -out jwt_hs256.key 2048` stood in jwt.html of 20.02 to 20.11; outside clusters have such keys."""
    check("jwtKey", pem("old"), allow_trailing_newline=False)


@pytest.mark.parametrize(
    ("raw", "like"),
    [
        (b"correct horse battery staple and more words", True),
        (b"thequickbrownfoxjumpsoverthelazydog", True),
        (b"CORRECT-HORSE-BATTERY-STAPLE-2024", True),
        (b"Kx83nq0ZpQ7rT2vWb5yLm9dHs4jGf6cA", False),
        (bytes(range(64)), False),
    ],
)
def test_words_are_told_from_random_bytes(raw: bytes, like: bool) -> None:
    assert is_like_a_passphrase(raw) is like


@given(st.binary(min_size=MINIMUM_BYTES, max_size=2048))
def test_random_bytes_never_look_like_words(raw: bytes) -> None:
    printable = set(raw) <= set(string.ascii_letters.encode() + b" ._-0123456789\r\n")
    assert not is_like_a_passphrase(raw) or printable
