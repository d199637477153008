"""install.sh on a made-up host, as it is but for where its root is: it can be cut short, and run again, at any time."""

from __future__ import annotations

import pytest

from slinky_iac.commands.handoff.common import Known
from tests.unit.handoff.made import KEYS
from tests.unit.handoff.scratch import INSIDE, Scratch, scratch

__all__ = ["scratch"]


@pytest.mark.parametrize("role", ["slurmd", "login"])
def test_a_daemon_that_ran_before_its_key_was_placed_is_restarted_by_the_next_run(scratch: Scratch, role: str) -> None:
    """Started by its package, it has the package's unit: `systemctl start` would leave it as it is."""
    first = scratch.install(role)
    assert first.returncode == 1
    assert "lacking   " in first.stderr
    assert (scratch.asked, list((scratch.root / "etc").rglob("*.conf"))) == ([], [])
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    scratch.install(role)
    service = {"slurmd": "slurmd", "login": "sackd"}[role]
    assert f"restart {service}" in scratch.asked
    scratch.install(role)
    assert scratch.asked[-1] == f"start {service}"


def test_an_address_that_has_changed_takes_the_place_of_the_old_one(scratch: Scratch) -> None:
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    for address in ("192.0.2.9", "192.0.2.10", "192.0.2.10"):
        scratch.install("login", INSIDE, Known(slurmctld_address=address))
    first, remark, line = scratch.hosts.splitlines()
    assert (first, remark) == ("127.0.0.1 localhost", "# a remark")
    assert line.startswith("192.0.2.10 slurm-controller")
