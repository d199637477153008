"""install.sh on a made-up host, as it is but for where its root is: it can be cut short, and run again, at any time."""

from __future__ import annotations

import itertools

import pytest

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import render
from tests.unit.handoff.made import KEYS, KNOWN, made, texts
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


OLD = "127.0.0.1 localhost\n192.0.2.200 ctl ctl.example.org\n# a remark\n"
NEW = "127.0.0.1 localhost\n# a remark\n192.0.2.9 ctl ctl.example.org\n"


@pytest.mark.parametrize("how", ["file", "link", "bind mount"])
def test_a_sigkill_at_any_step_leaves_the_old_etc_hosts_or_the_new_one(scratch: Scratch, how: str) -> None:
    """As a file it is renamed to its place; a link's target, and a container's bind mount, are written over."""
    hosts = scratch.root / "etc/hosts"
    if how == "link":
        hosts.rename(scratch.root / "hosts.of.others")
        hosts.symlink_to(scratch.root / "hosts.of.others")
    if how == "bind mount":
        (scratch.root / "bin/mv").write_text("#!/bin/bash\necho Device or resource busy >&2\nexit 1\n")
        (scratch.root / "bin/mv").chmod(0o755)
    rendered = texts(render("folder", made(INSIDE, KNOWN), None))
    script = scratch.calling(rendered, "login", "hosts_line", "192.0.2.9", "'ctl ctl.example.org'")
    seen = set()
    for at in itertools.count(1):
        hosts.write_text(OLD)
        killed = scratch.cut_short(script, at)
        found = scratch.hosts
        seen.add(found.rstrip("\n") + "\n")
        assert found in {OLD, NEW} or (how != "file" and found.rstrip("\n") + "\n" == NEW), f"step {at}"
        if not killed:
            break
    assert seen == {OLD, NEW}
    assert (found, hosts.is_symlink()) == (NEW, how == "link")


ELSEWHERE = "/var/spool/slurmctld/jwt_hs256.key"


@pytest.mark.parametrize("line", ["AuthAltParameters=x=1,jwt_key={}", 'authaltparameters = "jwt_key={},y"  # ours'])
@pytest.mark.parametrize(("role", "conf"), [("slurmctld", "slurm.conf"), ("slurmdbd", "slurmdbd.conf")])
def test_a_jwt_key_that_the_daemon_s_own_file_names_in_another_place_is_not_lacking(
    scratch: Scratch, role: str, conf: str, line: str
) -> None:
    key = scratch.root / ELSEWHERE.lstrip("/")
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    (scratch.root / "etc/slurm" / conf).write_text(f"# {line.format('/x')}\n{line.format(key)}\n")
    assert "lacking   " in scratch.install(role).stderr, "no key is in the place that is named"
    key.parent.mkdir(parents=True)
    key.write_bytes(KEYS["jwt_hs256.key"])
    done = scratch.install(role)
    assert "lacking" not in done.stderr
    assert f"installed {scratch.root}/usr/local/sbin/slurm-check-{role}" in done.stdout
