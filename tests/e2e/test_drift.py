"""What a reviewer and a nightly job ask, on the real cluster: the change order of a real scale-in, and Slurm's drift."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import slurm as outside
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK


@pytest.fixture(scope="module", autouse=True)
def undrifted(slurm: Slurm) -> Iterator[None]:
    """What the tests let drift is put right."""
    yield
    slurm.admin("scontrol", "delete", "nodename=gpu-9", check=False)
    returns(slurm, 2)


def returns(slurm: Slurm, value: int) -> None:
    """Set ReturnToService in slurm.conf of slurmctld's host, and let slurmctld read the file."""
    slurm.admin("sed", "-i", f"s/^ReturnToService=.*/ReturnToService={value}/", "/etc/slurm/slurm.conf")
    outside.reconfigure()


def drift(gated: Gated) -> tuple[int, set[tuple[str, str]]]:
    """Exit code, and kind and subject of each finding."""
    done = gated.cli("drift", "--stack", gated.stack.name, "--json")
    assert done.stdout, done.stderr
    return done.returncode, {(each["kind"], each["subject"]) for each in json.loads(done.stdout)["drift"]}


def test_a_real_scale_in_becomes_a_change_order(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", str(20 + at), seconds=300) for at, node in enumerate(NODES)]
    slurm.await_running(*jobs)
    gated.write(2)
    preview = tmp_path / "preview.json"
    preview.write_text(gated.stack.pulumi("preview", "--json").stdout)
    gated.write(3)
    late = gated.cli("plan", str(preview), "--format", "json", "--max-jobs", "5")
    assert late.returncode == 7, "the job may run past the deadline, and then the update fails"
    done = gated.cli("plan", str(preview), "--format", "json", "--max-jobs", "5", "--allow-late")
    assert done.returncode == 0, done.stdout + done.stderr
    (drain,) = json.loads(done.stdout)["drains"]
    assert (drain["what"], drain["before"], drain["after"], drain["known"]) == ("gpu", 3, 2, True)
    (waited,) = drain["jobs"]
    assert (waited["label"], waited["user"]) == (str(jobs[NODES.index(drain["nodes"][0]["name"])]), "alice")
    assert drain["nodes"][0]["free_at"] == waited["ends_by"]
    assert gated.cli("plan", str(preview), "--max-share", "10%").returncode == 3
    slurm.cancel_all()


def test_drift_is_told_and_nothing_is_repaired(gated: Gated, slurm: Slurm) -> None:
    assert drift(gated) == (0, set())
    ours = "slinky-iac:gated/gpu: scale-in 3->2"
    slurm.admin("scontrol", "update", "nodename=gpu-1", "state=drain", f"reason={ours}")
    returns(slurm, 1)
    slurm.admin("scontrol", "create", "nodename=gpu-9", "state=CLOUD", "feature=gpu")
    slurm.admin("scontrol", "delete", "partitionname=gpu")
    before = (slurm.states()["gpu-1"], slurm.reason("gpu-1"))
    differs = {
        ("drain-left", "gpu-1"),
        ("record-left", "gpu-9"),
        ("partition-missing", "gpu"),
        ("slurm-conf", "ReturnToService"),
    }
    assert drift(gated) == (5, differs)
    assert (slurm.states()["gpu-1"], slurm.reason("gpu-1")) == before
    assert "PartitionName=gpu " not in slurm.admin("scontrol", "show", "partitions", "--oneliner")

    slurm.admin("scontrol", "update", "nodename=gpu-1", "state=undrain")
    slurm.admin("scontrol", "delete", "nodename=gpu-9")
    returns(slurm, 2)
    await_true("nothing differs any more", lambda: drift(gated) == (0, set()), 30)
    slurm.admin("scontrol", "update", "nodename=gpu-1", "state=drain", "reason=disk")
    assert drift(gated) == (0, set()), "a person's drain is not ours to judge"
