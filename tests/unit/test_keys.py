"""Keys arrive byte for byte or are refused, and no message ever holds any of one."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac import keys
from slinky_iac.errors import KeyMaterialError

RAW = st.binary(min_size=keys.MINIMUM_BYTES, max_size=200)


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@given(raw=RAW.filter(lambda raw: not raw.endswith(b"\n")))
def test_a_key_arrives_byte_for_byte(raw: bytes) -> None:
    assert keys.decode("slurmKey", encoded(raw), allow_trailing_newline=False) == raw
    assert base64.b64decode(keys.to_secret_data(raw)) == raw


def test_base64_in_lines_is_one_key() -> None:
    raw = bytes(range(256))
    assert keys.decode("jwtKey", base64.encodebytes(raw).decode(), allow_trailing_newline=False) == raw


def test_binary_that_happens_to_end_with_a_newline_byte_is_accepted() -> None:
    raw = bytes(range(200, 256)) + b"\n"
    assert keys.decode("slurmKey", encoded(raw), allow_trailing_newline=False) == raw


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_text_with_a_stray_newline_is_refused_unless_it_is_wanted(ending: bytes) -> None:
    raw = b"k" * 64 + ending
    with pytest.raises(KeyMaterialError, match=r"slurmKey: .*line break.*allowTrailingNewline"):
        keys.decode("slurmKey", encoded(raw), allow_trailing_newline=False)
    assert keys.decode("slurmKey", encoded(raw), allow_trailing_newline=True) == raw


@pytest.mark.parametrize(("size", "accepted"), [(0, False), (31, False), (32, True), (65536, True), (65537, False)])
def test_too_short_and_too_long_keys_are_refused(size: int, accepted: bool) -> None:
    text = encoded(b"\xff" * size)
    if accepted:
        assert len(keys.decode("jwtKey", text, allow_trailing_newline=False)) == size
        return
    with pytest.raises(KeyMaterialError, match=f"jwtKey: has {size} bytes; 32 to 65536 are allowed"):
        keys.decode("jwtKey", text, allow_trailing_newline=False)


@pytest.mark.parametrize("text", ["not base64!", "a", "ключ" * 20, "\x00" * 40])
def test_what_is_not_base64_is_refused_with_the_command_that_makes_it(text: str) -> None:
    with pytest.raises(KeyMaterialError, match=r"slurmKey: is not base64.*base64 -w0 FILE"):
        keys.decode("slurmKey", text, allow_trailing_newline=False)


@given(text=st.text(min_size=12, max_size=40), raw=st.binary(min_size=12, max_size=31))
def test_no_refusal_shows_any_of_the_key(text: str, raw: bytes) -> None:
    short = encoded(raw)
    for key in (text, short):
        with pytest.raises(KeyMaterialError) as caught:
            keys.decode("slurmKey", key, allow_trailing_newline=False)
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
    assert keys.fingerprint(raw) == "SHA256:" + shown.stdout.strip().rstrip("=")


@given(one=RAW, other=RAW)
def test_fingerprints_tell_keys_apart_and_show_nothing_of_them(one: bytes, other: bytes) -> None:
    assert (keys.fingerprint(one) == keys.fingerprint(other)) == (one == other)
    assert encoded(one) not in keys.fingerprint(one)


def test_a_jwks_signs_with_one_key_and_takes_tokens_of_all() -> None:
    old, new = b"o" * 32, b"n" * 32
    shown = json.loads(keys.jwks(new, old))["keys"]
    assert [(key["kid"], key.get("use")) for key in shown] == [(keys.kid(new), "default"), (keys.kid(old), None)]
    assert [base64.b64decode(key["k"]) for key in shown] == [new, old]
    assert {(key["alg"], key["kty"]) for key in shown} == {("HS256", "oct")}, "slurmctld is fatal on anything else"


@given(one=RAW, other=RAW)
def test_the_same_keys_make_the_same_file_so_that_hashes_can_be_compared(one: bytes, other: bytes) -> None:
    assert keys.jwks(one, other) == keys.jwks(one, other, one)
    assert (keys.jwks(one, other) == keys.jwks(other, one)) == (one == other)
    assert sorted(keys.of_jwks(keys.jwks(one, other))) == sorted({one, other})
    assert len(json.loads(keys.jwks(one, other))["keys"]) == (1 if one == other else 2), "kids must be unique"


@given(raw=RAW)
def test_a_kid_shows_nothing_of_the_key(raw: bytes) -> None:
    assert len(keys.kid(raw)) == len("sha256-") + 16
    assert encoded(raw)[:16] not in keys.kid(raw)


@pytest.mark.parametrize(
    "document", [b"", b"{}", b'{"keys": [{"kid": "a"}]}', b'{"keys": [{"k": "secret-not-base64!"}]}', b"\xff"]
)
def test_a_slurm_jwks_that_can_not_be_read_is_quoted_nowhere(document: bytes) -> None:
    with pytest.raises(ValueError, match="no set of keys") as error:
        keys.of_jwks(document)
    assert "secret" not in str(error.value)
