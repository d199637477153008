"""A real Slurm 24.11 as the outside half: the preflight says that it is too old, by which release, and what is needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import slurm as outside
from lab.slurm import conf, older
from lab.stacks import Stack
from tests.e2e.test_preflight import names, preflight, settings
from tests.e2e.world import Settings, World


def with_older_slurm(found: Settings) -> None:
    """slurmctld and the slurmrestd for users are the older ones."""
    found["slinky-iac:cluster"]["name"] = older.NAME
    found["slinky-iac:controller"]["external"] = {"host": older.LAB.address, "port": conf.CTLD_PORT}
    found["slinky-iac:accounting"] = {"enabled": False}
    url = f"http://{older.LAB.address}:{conf.REST_PORT}"
    found["slinky-iac:external"] = {"slurmrestd": {"url": url, "allowPlainHttp": True}}


@pytest.fixture(scope="module")
def stack(world: World) -> Iterator[Stack]:
    world.vacate()
    older.LAB.up()
    yield world.stack("preflight-older", settings(with_older_slurm))
    older.LAB.down()
    world.vacate()
    outside.set_nodesets_conf(conf.DEFAULT_NODESETS)


def test_a_slurm_that_is_too_old_is_refused_by_its_release(stack: Stack) -> None:
    code, checks = preflight(stack, "--no-pod")
    assert code == 6, checks
    (refused,) = [each for each in checks if each["verdict"] == "problem"]
    assert refused["name"] == "rest-version", refused
    assert refused["got"].endswith(f"it is Slurm {older.RELEASE}")
    assert "need Slurm 25.11 or newer" in refused["change"]
    assert "connect" in names(checks, "fine"), "its ports are open: that isn't what is wrong"
    about_no_slurm = {"api-server", "encryption", "fence", "pods-accepted", "state-code"}
    assert names(checks, "fine") - about_no_slurm <= {"connect", "slurmrestd"}, "nothing else of it passes for right"
