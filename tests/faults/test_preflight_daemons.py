"""The preflight against real daemons that are set up wrongly: each wrong thing is named, by what the daemon itself said.

The lines that it tells to paste are pasted: then it has nothing more to say about them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab import slurm as outside
from lab.slurm import cluster, conf
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.test_preflight import lines, names, preflight, settings
from tests.e2e.world import World

SLURM_CONF = cluster.LAB.site.etc("ctl") / "slurm.conf"
SHIFTED = """
import sys, time
now, by = time.time, float(sys.argv[1])
time.time = lambda: now() + by
from slinky_iac.commands.cli import main
sys.exit(main(sys.argv[2:]))
"""
"""The program on a machine whose clock is wrong by so many seconds; slurmctld and Kubernetes have the right time."""
WRONG = {
    "AuthInfo": None,
    "SlurmctldParameters": "conmgr_threads=16",
    "MaxNodeCount": "2",
    "ReturnToService": "0",
    "AccountingStorageType": "accounting_storage/none",
    "JobAcctGatherType": "jobacct_gather/cgroup",
}
"""Lines of slurm.conf that suit no hybrid cluster; None: the line is missing. GresTypes is missing in the lab's anyway."""


@pytest.fixture(scope="module")
def stack(world: World) -> Iterator[Stack]:
    """A stack that was never up; slurm.conf has the lines of its NodeSet."""
    world.vacate()
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)
    yield world.stack("preflight-daemons", settings())
    world.vacate()


def edited(text: str, changes: dict[str, str | None]) -> str:
    """slurm.conf with these lines instead; those that aren't there yet come first, before any NodeName."""
    kept = [line for line in text.splitlines() if line.partition("=")[0] not in changes]
    return "\n".join([*(f"{key}={value}" for key, value in changes.items() if value is not None), *kept]) + "\n"


def restarted(text: str) -> None:
    """slurmctld with this slurm.conf, and with its folders owned by the user that it names."""
    outside.daemon_stop("ctl", "slurmctld")
    SLURM_CONF.write_text(text)
    (user,) = re.findall(r"^SlurmUser=(\w+)$", text, re.MULTILINE)
    cluster.LAB.hosts.run("ctl", ["chown", "-R", user, conf.STATE_SAVE, "/run/slurmctld"])
    outside.daemon_start("ctl", "slurmctld")


@contextmanager
def slurmctld_with(changes: dict[str, str | None]) -> Iterator[Callable[[dict[str, str | None]], None]]:
    """slurmctld with these lines in its slurm.conf; what is given changes more of them. As it was, afterwards."""
    before = SLURM_CONF.read_text()
    try:
        restarted(edited(before, changes))
        yield lambda more: restarted(edited(SLURM_CONF.read_text(), more))
    finally:
        restarted(before)


def open_points(stack: Stack) -> set[str]:
    """What is wrong or will surprise; the lab's names are known to its hosts and pods, not to the machine."""
    return names(preflight(stack, "--no-pod")[1], "problem", "warning") - {"connect"}


def pasted(checks: list[dict[str, Any]]) -> dict[str, str | None]:
    """The lines of slurm.conf that the preflight tells to set, by their names."""
    bad = (each for each in checks if each["verdict"] in ("problem", "warning") and "slurm.conf" in each["at"])
    told = [line for each in bad for line in each["paste"]]
    return {key: value for key, _, value in (line.partition("=") for line in told)}


@pytest.fixture
def with_a_gpu(world: World, stack: Stack) -> Iterator[None]:
    """The stack's nodes have a GPU, so that slurmctld must know the kind."""
    world.stack(stack.name, settings(lambda found: found["slinky-iac:nodesets"]["gpu"].update(gres=["gpu:1"])))
    yield
    world.stack(stack.name, settings())


@pytest.mark.usefixtures("with_a_gpu")
def test_lines_of_slurm_conf_are_named_and_those_to_paste_mend_them(stack: Stack) -> None:
    with slurmctld_with(WRONG) as change:
        code, checks = preflight(stack, "--no-pod")
        assert code == 6
        assert names(checks, "problem") >= {"configless", "max-node-count", "gres-types", "accounting"}, checks
        assert names(checks, "warning") >= {"use-client-ids", "return-to-service"}, checks
        assert lines(checks, "configless") == ["SlurmctldParameters=conmgr_threads=16,enable_configless"]
        (cgroup,) = [each for each in checks if each["name"] == "cgroup"]
        assert (cgroup["verdict"], cgroup["paste"]) == ("unknown", ["IgnoreSystemd=yes"]), "no daemon tells cgroup.conf"
        mended = pasted(checks)
        assert {"AuthInfo", "SlurmctldParameters", "MaxNodeCount", "ReturnToService", "GresTypes"} <= set(mended)
        change(mended)
        await_true("all that was told is mended", lambda: not open_points(stack), 60, every=2)


def test_a_slurmctld_without_auth_jwt_takes_no_token_and_says_so(stack: Stack) -> None:
    with slurmctld_with({"AuthAltTypes": None, "AuthAltParameters": None}):
        code, checks = preflight(stack, "--no-pod")
    assert (code, names(checks, "problem")) == (6, {"auth-jwt"}), checks
    assert "AuthAltTypes=auth/jwt" in lines(checks, "auth-jwt")
    assert "cluster-name" not in names(checks, "fine"), "nothing is known of a slurmctld that takes no token"


def at_another_time(stack: Stack, shift: int, folder: Path) -> list[dict[str, Any]]:
    """The problems that the preflight finds where our clock is wrong by ``shift`` seconds."""
    (folder / "shifted.py").write_text(SHIFTED)
    asked = ("preflight", "--stack", stack.name, "--no-pod", "--json")
    done = subprocess.run(
        [sys.executable, str(folder / "shifted.py"), str(shift), *asked],
        cwd=stack.folder,
        env={**os.environ, **stack.env, "PYTHONPATH": str(stack.folder)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 6, done.stdout + done.stderr
    return [each for each in json.loads(done.stdout)["checks"] if each["verdict"] == "problem"]


def test_a_clock_that_is_fast_is_told(stack: Stack, tmp_path: Path) -> None:
    problems = at_another_time(stack, 900, tmp_path)
    assert any(each["name"] == "clock" and re.search(r"^is (89|90)\d s behind ours", each["got"]) for each in problems), (
        problems
    )


def test_a_token_that_a_slow_clock_made_too_old_is_laid_to_the_clock_too(stack: Stack, tmp_path: Path) -> None:
    """slurmctld, which takes no token, tells no time either."""
    (refused,) = [each for each in at_another_time(stack, -900, tmp_path) if each["name"] == "jwt-key"]
    assert "its clock is over five minutes ahead" in refused["got"]


def test_daemons_that_are_down_are_told_apart(stack: Stack) -> None:
    outside.daemon_stop("dbd", "slurmdbd")
    try:
        code, checks = preflight(stack, "--no-pod")
        assert (code, "slurmdbd" in names(checks, "problem")) == (6, True), checks
        assert "jwt-key" in names(checks, "fine"), "slurmctld still takes the token"
    finally:
        outside.daemon_start("dbd", "slurmdbd")
    outside.daemon_stop("ctl", "slurmctld")
    try:
        code, checks = preflight(stack, "--no-pod")
        assert (code, {"connect", "slurmctld"} <= names(checks, "problem", "warning")) == (6, True), checks
        assert "jwt-key" not in names(checks, "problem"), "a silent slurmctld has refused nothing"
    finally:
        outside.daemon_start("ctl", "slurmctld")
