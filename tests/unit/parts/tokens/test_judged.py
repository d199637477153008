"""Where slurmctld's keys of tokens are (auth_jwt.c), and lines that keep what a site has."""

from __future__ import annotations

import pytest

from slinky_iac.config.slurm.forms import completed
from slinky_iac.parts.tokens.judged import Judged, judged_by

JWT = ["auth/jwt"]


@pytest.mark.parametrize(
    ("types", "parameters", "keys"),
    [
        (JWT, "jwt_key=/a", Judged("/a")),
        (JWT, "jwks=/b", Judged("", "/b")),
        (JWT, "jwks=/b,jwt_key=/a", Judged("/a", "/b")),
        (JWT, "", Judged("/state/jwt_hs256.key", by_default=True)),
        (JWT, "userclaimfield=x", Judged("/state/jwt_hs256.key", by_default=True)),
        ([], "jwt_key=/a", Judged()),
        (["auth/munge"], "", Judged()),
        (["munge", "jwt"], "jwt_key=/a", Judged("/a")),
        (["jwt"], "", Judged("/state/jwt_hs256.key", by_default=True)),
        (["JWT"], "jwt_key=/a", Judged()),
        (["munge"], "jwt_key=/a", Judged()),
    ],
)
def test_which_tokens_a_slurmctld_takes(types: list[str], parameters: str, keys: Judged) -> None:
    assert judged_by(types, parameters, "/state") == keys


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
    assert completed("AuthAltParameters", recorded, needed) == line


@pytest.mark.parametrize(
    ("recorded", "line"),
    [("", "auth/jwt"), ("munge", "munge,auth/jwt"), ("munge,jwt", "munge,jwt"), ("JWT", "JWT"), ("auth/jwt", "auth/jwt")],
)
def test_a_plugin_that_is_there_without_its_kind_is_not_named_twice(recorded: str, line: str) -> None:
    assert completed("AuthAltTypes", recorded, "auth/jwt") == line
