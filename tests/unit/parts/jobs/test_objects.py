"""The operator's Token resource in the form of each release."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.parts.jobs.objects import token_spec
from tests.clusters import recorded
from tests.stacks import minimal


@pytest.mark.parametrize(("release", "field"), [("1.0.1", "jwtHs256KeyRef"), ("1.1.0", "jwtKeyRef"), ("1.2.1", "jwtKeyRef")])
def test_the_whole_spec(release: str, field: str) -> None:
    config = load(minimal(operator={"version": release}, tokens={"ci": {"user": "alice", "lifetime": "8h"}}))
    wanted: dict[str, Any] = {
        field: {"name": "slurm-auth-jwths256", "key": "jwt_hs256.key"},
        "username": "alice",
        "lifetime": "28800s",
        "refresh": True,
        "secretRef": {"name": "slurm-ci-token", "key": "token"},
    }
    assert token_spec(config, "ci", config.tokens["ci"]) == wanted


def test_a_stack_without_tokens_makes_none() -> None:
    assert not recorded("dev").of(":Token")
    (made,) = recorded("dev", tokens={"ci": {"user": "alice"}}).of(":Token")
    assert made.inputs["metadata"]["name"] == "slurm-ci"
