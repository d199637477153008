"""The level of slurmrest.user, told before the first `pulumi up`, with the command that gives it."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.preflight.ask_slurm import RestEndpoint
from slinky_iac.preflight.check import Verdict
from slinky_iac.slurmrest.endpoints import Direct
from tests.unit.preflight.made import found, slurm, stack
from tests.unit.preflight.test_ask_slurm import Surveyed, ask

NAMED = RestEndpoint(Direct("http://inside:6820", plain_http=True), inside=True, user="drainer")


def named(user: str = "drainer") -> Any:
    return stack(slurmrest={"user": user})


def test_the_level_is_a_fact_for_a_user_of_the_sites_own() -> None:
    assert ask({"inside": Surveyed(levels={"drainer": "Administrator"})}, NAMED).admin == ""
    low = ask({"inside": Surveyed(levels={"drainer": "Operator"})}, NAMED)
    assert low.admin is not None
    assert "drainer has AdminLevel=Operator" in low.admin
    silent = ask({"inside": Surveyed(levels=None)}, NAMED)
    assert silent.admin is None
    assert "not known" in silent.failed["admin"]


def test_a_level_too_low_is_a_problem_with_the_command() -> None:
    (check,) = found("admin-level", slurm(admin="drainer has AdminLevel=Operator"), named())
    assert (check.verdict, check.got) == (Verdict.PROBLEM, "drainer has AdminLevel=Operator")
    assert check.paste == ("sacctmgr modify user drainer set adminlevel=Admin",)


@pytest.mark.parametrize(("admin", "verdict"), [("", Verdict.FINE), (None, Verdict.UNKNOWN)])
def test_an_administrator_is_fine_and_silence_is_unknown(admin: str | None, verdict: Verdict) -> None:
    (check,) = found("admin-level", slurm(admin=admin, failed={"admin": "slurmdbd does not tell"}), named())
    assert check.verdict is verdict
    assert ("slurmdbd does not tell" in check.got) is (admin is None)


@pytest.mark.parametrize("user", ["slurm", "root"])
def test_nothing_is_said_of_who_is_an_administrator_everywhere(user: str) -> None:
    assert found("admin-level", slurm(admin=None), named(user)) == []
