"""Files of a slurmctld in Kubernetes, on the operator that the lab has: slurmctld judges them before they are written, and
what changes in their content alone reaches every daemon.

Run with 1.0.1, whose sidecar reconfigures, and with 1.2.1, which only starts slurmctld again (SLINKY_LAB_OPERATOR_SOURCE).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab.slurm import conf
from tests.e2e.slurm import HELD, await_same, await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import World
from tests.faults.later_operator import Inside, all_inside, labs_own, lived

MARK = "/tmp/epilog-mark"
LACKED = {"SwitchType": "switch/hpe_slingshot"}
"""A plugin that Slurm has and the image lacks, which no table can know."""
SENTENCE = "fatal: Can't find plugin for switch/hpe_slingshot"
COPIES = "/run/slurm/conf"
"""Where slurmd has the files that slurmctld sent it."""
NODES = ("solo-0", "solo-1", "solo-2")
BY_FLAG = {"nvidia_gpu_env": "CUDA_VISIBLE_DEVICES", "opencl_env": "GPU_DEVICE_ORDINAL"}
"""What a flag in gres.conf gives to a job that asks for a GPU (gres.conf(5), Flags)."""


def gres_conf(flag: str) -> str:
    """One GPU a node, whose device is /dev/null."""
    return f"AutoDetect=off\nName=gpu File=/dev/null Flags={flag}\n"


FIRST = {"cgroup.conf": conf.cgroup_conf(), "gres.conf": gres_conf("nvidia_gpu_env")}
"""What the stack comes up with."""
CHANGES = {"cgroup.conf": conf.cgroup_conf() + "AllowedRAMSpace=95\n", "gres.conf": gres_conf("opencl_env")}
"""One file after the other; the later tests keep both."""


def settings(word: str, files: Mapping[str, str] = FIRST, **extra: Any) -> dict[str, Any]:
    """The stack with an epilog that leaves a word on its node."""
    found = all_inside("hs256", operator=labs_own, gres=["gpu:1"])
    script = f"#!/bin/sh\necho {word} >> {MARK}\n"
    controller = found["slinky-iac:controller"]
    found["slinky-iac:controller"] = controller | {
        "epilog": {"90-mark.sh": script},
        "configFiles": dict(files),
        "extraConf": controller.get("extraConf", {}) | extra,
    }
    return found


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with lived(world, operator=labs_own, settings=settings("one")) as found:
        yield found


def tried(inside: Inside) -> dict[str, dict[str, str]]:
    """The trial's checks by what they are about, and the pods that are left behind."""
    said = json.loads(inside.program("preflight", "--try", "--json", check=False))["checks"]
    assert [name for name in inside.uids() if name.startswith("slinky-")] == []
    return {each["subject"]: each for each in said if each["name"] == "trial"}


def test_slurmctld_and_slurmdbd_take_their_files(inside: Inside) -> None:
    found = tried(inside)
    assert {subject: each["verdict"] for subject, each in found.items()} == {
        "files of slurmctld": "fine",
        "files of slurmdbd": "fine",
    }, found


def test_slurmctlds_own_sentence_tells_what_it_would_end_over(inside: Inside) -> None:
    before = inside.uids()
    inside.write(settings("one", FIRST, **LACKED))
    found = tried(inside)["files of slurmctld"]
    assert found["verdict"] == "problem"
    assert SENTENCE in found["got"], found
    assert inside.uids() == before


def said(inside: Inside, *argv: str) -> str:
    """What a command beside slurmctld prints; nothing while its pod is being replaced, which `up` doesn't wait for."""
    container = ("-n", INSIDE, "inside-controller-0", "-c", "slurmctld")
    return inside.world.kubectl("exec", *container, "--", *argv, check=False).stdout


def is_idle(inside: Inside, node: str) -> bool:
    """Whether a node may get a job now."""
    return said(inside, "sinfo", "-h", "-n", node, "-o", "%T").split()[:1] == ["idle"]


def runs_one(inside: Inside, node: str) -> bool:
    """Whether a job came to its end on a node, its epilog included."""
    await_true(f"{node} is idle", lambda: is_idle(inside, node), 240)
    number = said(inside, "sbatch", "--parsable", "-w", node, "-D", "/tmp", "-o", "/dev/null", "--wrap=true").strip()
    show = ("scontrol", "-o", "show", "job", number)
    if number:
        await_true(f"job {number} has ended", lambda: "JobState=COMPLETED" in said(inside, *show), 240)
        await_true(f"{node} is idle", lambda: is_idle(inside, node), 240)
    return bool(number)


def text(inside: Inside, node: str, path: str) -> str:
    """A file on a node; empty until it exists. A file that can't be read, or a pod that can't be asked, fails the test."""
    return inside.on(node, "sh", "-c", f"cat {path} 2>/dev/null || [ ! -e {path} ]")


def last_mark(inside: Inside) -> str:
    """What the epilog of a new job leaves on solo-1."""
    marks = text(inside, "solo-1", MARK).split() if runs_one(inside, "solo-1") else []
    return marks[-1] if marks else ""


def test_a_new_content_of_an_epilog_reaches_every_worker(inside: Inside) -> None:
    await_true("the first epilog runs", lambda: last_mark(inside) == "one", 300)
    before = workers(inside)
    inside.write(settings("two"))
    inside.stack.up()
    await_true("the new epilog runs", lambda: last_mark(inside) == "two", 300)
    assert workers(inside) == before, "no worker was replaced"


def workers(inside: Inside) -> dict[str, str]:
    """UID of each worker's pod."""
    return {name: uid for name, uid in inside.uids().items() if "worker" in name}


def copy(inside: Inside, node: str, file: str) -> str:
    """A file as slurmd of a node has it."""
    return text(inside, node, f"{COPIES}/{file}")


def variables(inside: Inside) -> set[str]:
    """Of a job on solo-1 that asks for a GPU: those that gres.conf decides about.

    srun has an end of its own, since slurmctld's pod may be replaced under it.
    """
    ran = said(inside, "timeout", "30", "srun", "-w", "solo-1", "-t1", "--gres=gpu:1", "env")
    return {line.partition("=")[0] for line in ran.splitlines()} & set(BY_FLAG.values())


@pytest.mark.parametrize(("file", "variable"), [("cgroup.conf", "nvidia_gpu_env"), ("gres.conf", "opencl_env")])
def test_a_new_content_of_one_file_reaches_every_slurmd_and_jobs_run_on(inside: Inside, file: str, variable: str) -> None:
    """Each file alone, the earlier one as it was by then. With 1.2 slurmctld's pod is replaced, with 1.0 none at all.

    What is in cgroup.conf does nothing on the lab, whose nodes have no cgroups for it; the copy is all that is seen.
    """
    names = list(CHANGES)
    files = FIRST | {name: CHANGES[name] for name in names[: names.index(file) + 1]}
    job = inside.submit("solo-2", HELD)
    try:
        inside.await_running(job)
        started, before = inside.job(job)["StartTime"], workers(inside)
        inside.write(settings("two", files))
        inside.stack.up()
        for node in NODES:
            await_true(f"{node} has the new {file}", lambda node=node: copy(inside, node, file) == files[file], 240)  # type: ignore[misc]
        await_same("jobs get what gres.conf says", lambda: variables(inside), {BY_FLAG[variable]}, 120)
        assert workers(inside) == before, "no worker was replaced"
        ran = inside.job(job)
        assert (ran["JobState"], ran["StartTime"], ran["Restarts"]) == ("RUNNING", started, "0")
        inside.finish(job)
        await_true(f"job {job} has completed", lambda: inside.job(job)["JobState"] == "COMPLETED", 60)
    finally:
        said(inside, "scancel", job)


def trying(word: str, **extra: Any) -> dict[str, Any]:
    """The same stack, whose previews and updates try new files first."""
    found = settings(word, CHANGES, **extra)
    found["slinky-iac:controller"] |= {"trial": {"enabled": True}}
    return found


def live(inside: Inside) -> dict[str, Any]:
    """Pods, files and custom resources of the cluster, as an update could change them."""
    found: dict[str, Any] = {"pods": inside.uids()}
    for each in inside.world.objects("configmaps", INSIDE):
        found[f"file {each['metadata']['name']}"] = each.get("data")
    for kind in ("controllers", "accountings", "nodesets", "restapis"):
        found |= {f"{kind} {e['metadata']['name']}": e["spec"] for e in inside.world.objects(kind, INSIDE)}
    return found


def test_a_preview_and_an_update_end_with_slurmctlds_own_sentence_and_jobs_run_on(inside: Inside) -> None:
    inside.write(trying("two"))
    done = inside.stack.up()
    assert "files of slurmctld: slurm" in done.stdout + done.stderr, "what it says of files that it takes"
    calm = inside.stack.pulumi("preview")
    assert "new to the daemons" not in calm.stdout + calm.stderr, "what was tried isn't tried again"
    await_true("solo-0 is idle", lambda: is_idle(inside, "solo-0"), 240)
    job = inside.submit("solo-0", "sleep 600")
    inside.await_running(job)
    before = live(inside)
    inside.write(trying("two", **LACKED))
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        done = inside.stack.pulumi(*command, check=False)
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert SENTENCE in said, said
        assert "Nothing was changed" in said, said
        assert live(inside) == before
    assert inside.job(job)["JobState"] == "RUNNING"
    inside.slurm("scancel", job)


def test_a_deleted_pod_comes_back_to_work(inside: Inside) -> None:
    """With ReturnToService=0, Slurm's default, its node stays DOWN (watched on 1.2.1)."""
    inside.world.delete_worker(INSIDE, "inside-worker-solo-0")
    await_true("a job runs on it", lambda: runs_one(inside, "solo-0"), 300)
    assert re.search(r"^ReturnToService\s*= 2$", said(inside, "scontrol", "show", "config"), re.MULTILINE)
