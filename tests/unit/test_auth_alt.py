"""Where slurmctld's keys of tokens are (auth_jwt.c), and lines that keep what a site has."""

from __future__ import annotations

import pytest

from slinky_iac.auth_alt import TokenKeys, completed, token_keys

JWT = ["auth/jwt"]


@pytest.mark.parametrize(
    ("types", "parameters", "keys"),
    [
        (JWT, "jwt_key=/a", TokenKeys("/a")),
        (JWT, "jwks=/b", TokenKeys("", "/b")),
        (JWT, "jwks=/b,jwt_key=/a", TokenKeys("/a", "/b")),
        (JWT, "", TokenKeys("/state/jwt_hs256.key", by_default=True)),
        (JWT, "userclaimfield=x", TokenKeys("/state/jwt_hs256.key", by_default=True)),
        ([], "jwt_key=/a", TokenKeys()),
        (["auth/munge"], "", TokenKeys()),
    ],
)
def test_which_tokens_a_slurmctld_takes(types: list[str], parameters: str, keys: TokenKeys) -> None:
    assert token_keys(types, parameters, "/state") == keys


@pytest.mark.parametrize(
    ("recorded", "needed", "line"),
    [
        ("jwks=/b", "jwt_key=/a", "jwks=/b,jwt_key=/a"),
        ("jwt_key=/mine", "jwt_key=/a,jwks=/b", "jwt_key=/mine,jwks=/b"),
        ("", "use_client_ids", "use_client_ids"),
        ("use_client_ids,x", "use_client_ids", "use_client_ids,x"),
    ],
)
def test_a_line_to_paste_keeps_every_item_that_is_recorded(recorded: str, needed: str, line: str) -> None:
    assert completed(recorded, needed) == line
