"""`slinky token` signs for ordinary users only, and for no longer than the stack allows."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from slinky_iac.commands import token
from slinky_iac.config.reading.load import load
from slinky_iac.slurmrest.auth import user_token
from tests.stacks import minimal


@pytest.mark.parametrize("user", ["root", "slurm", "pulumi-drain"])
def test_no_token_for_who_rules_the_cluster(user: str) -> None:
    config = load(minimal(slurmrest={"user": "pulumi-drain"}))
    with pytest.raises(ValueError, match=f"{user} rules the cluster.*No token was made"):
        token.require_allowed(config, user, 3600)


@pytest.mark.parametrize("lifespan", [0, 59, 3601])
def test_no_token_for_longer_than_the_stack_allows(lifespan: int) -> None:
    config = load(minimal(keys={"maxTokenLifespan": "1h"}))
    with pytest.raises(ValueError, match=r"keys\.maxTokenLifespan allows 60 to 3600 s"):
        token.require_allowed(config, "alice", lifespan)
    token.require_allowed(config, "alice", 3600)


@pytest.mark.parametrize("user", ["", "alice bob", "-x", "a" * 33, "é"])
def test_no_token_for_what_is_no_user(user: str) -> None:
    with pytest.raises(ValueError, match="--user"):
        token.require_allowed(load(minimal()), user, 3600)


def test_a_token_names_its_user_and_its_end_in_whole_seconds() -> None:
    key = b"k" * 32
    claims: dict[str, Any] = jwt.decode(
        user_token(key, "alice", 1000, 60), key, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False}
    )
    assert claims == {"iat": 1000, "exp": 1060, "sun": "alice"}
