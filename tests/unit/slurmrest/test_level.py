"""A user that isn't an administrator is found before a list is read or a node is drained: it could see too few jobs."""

from __future__ import annotations

import pytest

from slinky_iac.errors import SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.slurmrest.level import require_admin
from tests.unit.slurmrest.fake import FakeSlurm

RELEASES = pytest.mark.parametrize("served", [("v0.0.44", "v0.0.45"), ("v0.0.44",)], ids=["26.05", "25.11"])


@RELEASES
@pytest.mark.parametrize("level", ["Operator", "None", "Not Set", "Administrator, Operator"])
def test_a_level_below_admin_is_refused_with_the_command_that_gives_it(served: tuple[str, ...], level: str) -> None:
    fake = FakeSlurm(served=served, levels={"drainer": level})
    with fake.client() as client, pytest.raises(SlurmrestAuthError) as refused:
        require_admin(client, "drainer")
    assert f"drainer has AdminLevel={level} in slurmdbd" in str(refused.value)
    assert "`sacctmgr modify user drainer set adminlevel=Admin`" in str(refused.value)
    assert {method for method, _, _ in fake.asked} == {"GET"}


@RELEASES
def test_a_user_that_slurmdbd_does_not_know_is_refused(served: tuple[str, ...]) -> None:
    with FakeSlurm(served=served).client() as client, pytest.raises(SlurmrestAuthError, match="knows no user drainer"):
        require_admin(client, "drainer")


@RELEASES
def test_an_admin_passes(served: tuple[str, ...]) -> None:
    fake = FakeSlurm(served=served, levels={"drainer": "Administrator", "other": "None"})
    with fake.client() as client:
        require_admin(client, "drainer")
    assert fake.asked_for("GET", "user/drainer") == [None]


@pytest.mark.parametrize("user", ["root", "slurm"])
def test_nothing_is_asked_for_who_is_an_administrator_everywhere(user: str) -> None:
    fake = FakeSlurm(levels=None)
    with fake.client() as client:
        require_admin(client, user)
    assert fake.asked == []


@pytest.mark.parametrize("told", ["hpcadmin", "hpcadmin(2031)"])
def test_slurmuser_by_another_name_needs_no_slurmdbd(told: str) -> None:
    with FakeSlurm(levels=None, slurm_user=told).client() as client:
        require_admin(client, "hpcadmin")


@RELEASES
def test_a_silent_slurmdbd_leaves_it_unknown_and_that_may_pass(served: tuple[str, ...]) -> None:
    with FakeSlurm(served=served, levels=None).client() as client, pytest.raises(SlurmrestUnreachable) as unknown:
        require_admin(client, "drainer")
    assert "whether drainer is an administrator of Slurm is not known" in str(unknown.value)
    assert "Nothing was changed" in str(unknown.value)


def test_a_name_cannot_lead_to_another_path() -> None:
    fake = FakeSlurm()
    with fake.client() as client:
        assert client.admin_level("../jobs?") == ""
    assert [path for _, path, _ in fake.asked if "user" in path] == ["/slurmdb/v0.0.45/user/../jobs?"]  # as httpx decodes it
