"""Keys and sets of keys: from the configuration, from Secrets and ConfigMaps, from hosts."""

from __future__ import annotations

import base64

from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.status.facts import public_kids
from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.public import difference
from slinky_iac.keys.raw import check, decode, fingerprint, is_like_a_passphrase, keys_in, several_keys
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rsa import decode as decode_rsa
from tests.fuzz.target import SECRET, Target
from tests.raw_keys import raw_key, text_key
from tests.rsa_keys import pem, token_key

RAW = (raw_key("slurm"), text_key("jwt"), SECRET.encode() * 2, SECRET.encode() + b"\n", b"-----BEGIN RSA PRIVATE KEY-----\n")
PEM = pem("old")
CUT = PEM.replace(PEM[100:132], SECRET.encode())
"""A PEM that can't be read, with the secret in it."""
SETS = (public_set([token_key("old"), token_key("new")]), public_set([token_key("old")]), b'{"keys":[]}')


def _key(data: bytes) -> None:
    check("slurmKey", data, allow_trailing_newline=False)
    is_like_a_passphrase(data)
    fingerprint(data)


def _coded(data: bytes) -> None:
    decode("slurmKey", data.decode("utf-8", "replace"), allow_trailing_newline=True)


def _token(data: bytes) -> str:
    """As the configuration has it: a PEM, or base64 of one."""
    text = data.decode("utf-8", "replace")
    try:
        return decode_rsa("tokenKey", text).kid
    finally:
        decode_rsa("tokenKey", base64.b64encode(data).decode())


def _public(data: bytes) -> str:
    """A set of public keys that somebody else may have written."""
    found = difference(data, SETS[0])
    public_kids(data.decode("utf-8", "replace"))
    return found.words if found is not None else ""


def _host(data: bytes) -> None:
    """What a script on a host printed, and what a shell may quote of the key in it."""
    said = data.decode("utf-8", "replace")
    for seen in host_scripts.parse_report(said).values():
        assert isinstance(seen.read, bool)
    script = f"x <<'KEY'\n{base64.b64encode(SECRET.encode()).decode()}\nKEY\n"
    host_scripts.without_key(said, script)


TARGETS = (
    Target("key", RAW, _key, (KeyMaterialError,)),
    Target("key-as-base64", tuple(base64.b64encode(each) for each in RAW), _coded, (KeyMaterialError,)),
    Target(
        "slurm-jwks",
        (several_keys(raw_key("a"), raw_key("b")), several_keys(SECRET.encode())),
        lambda data: keys_in(data) and None,
        (ValueError,),
    ),
    Target("token-key", (PEM, CUT, base64.b64encode(PEM), pem("small", 1024)), _token, (KeyMaterialError,), hang_s=20),
    Target("token-set", SETS, _public, ()),
    Target(
        "host-script-output",
        (
            f"{host_scripts.MARK} slurm.key {'a' * 64} {'a' * 64}\n{host_scripts.MARK} x y\n".encode(),
            b"sh: KEY: not found\n",
        ),
        _host,
        (),
    ),
)
