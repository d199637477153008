"""When the world is not as it should be: each message says what, where and what to do next, and nothing is lost."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import slurm as outside
from lab.slurm import conf
from lab.stacks import Stack
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings

NAMESPACE = "slurm"
NO_IMAGE = "slinky-lab/slurm:no-such-tag"


def small(settings: Settings) -> None:
    """One NodeSet of one pod; no bare-metal hosts, whose gate would ask too."""
    gpu = {"replicas": 1, "drain": {"registerDeadline": "20s"}, "pod": {"terminationGrace": "2s"}}
    settings["slinky-iac:nodesets"] = {"gpu": gpu}
    settings["slinky-iac:partitions"] = {}
    settings["slinky-iac:external"] = {}


@pytest.fixture
def fresh(world: World) -> Iterator[Stack]:
    """A stack that has never been up."""
    stack = world.stack("fresh", dev_settings(small))
    yield stack
    stack.destroy()


@pytest.fixture(scope="module")
def stack(world: World) -> Iterator[Stack]:
    """A stack whose one pod takes jobs."""
    world.vacate()
    stack = world.stack("bad-world", dev_settings(small))
    stack.up()
    yield stack
    world.vacate()


def elsewhere(stack: Stack, **env: str) -> Stack:
    """The same stack, run from a shell with other variables."""
    return dataclasses.replace(stack, env={**stack.env, **env})


def said(done: subprocess.CompletedProcess[str]) -> str:
    """All that was printed, in one line; it holds no traceback but the one that Pulumi puts before a gate's error."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text or "slinky_iac.errors." in text, text
    return " ".join(text.split())


def unreachable(stack: Stack, folder: Path) -> str:
    """A kubeconfig like the lab's, whose API server is on a port where nothing listens."""
    file = folder / "kubeconfig"
    file.write_text(Path(stack.env["KUBECONFIG"]).read_text().replace(":16443", ":16444"))
    return str(file)


def test_without_a_kubeconfig_preview_says_where_it_looked_and_up_stops_at_once(fresh: Stack, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "kubeconfig")
    lost = elsewhere(fresh, KUBECONFIG=nowhere, HOME=str(tmp_path))
    preview = said(lost.pulumi("preview"))
    assert f"warning: kubernetes: no kubeconfig: tried {nowhere} (no such file)" in preview
    assert "Set the stack's kubeconfig, $KUBECONFIG" in preview
    assert "`pulumi up` will stop at the first resource" in preview
    up = lost.up(check=False)
    assert up.returncode != 0
    assert f"no kubeconfig: tried {nowhere}" in said(up)
    assert "Set the stack's kubeconfig, $KUBECONFIG" in said(up)
    assert "json" not in said(up), "a path is not taken for the text of a kubeconfig"


def test_an_api_server_that_does_not_answer_is_named_with_what_was_tried(fresh: Stack, tmp_path: Path) -> None:
    lost = elsewhere(fresh, KUBECONFIG=unreachable(fresh, tmp_path))
    told = f"tried the API server at https://10.88.0.1:16444 (kubeconfig {tmp_path / 'kubeconfig'}"
    preview = said(lost.pulumi("preview"))
    assert f"warning: kubernetes: {told}" in preview
    assert "connection refused" in preview
    assert "Check the server, VPN and firewall, or give another kubeconfig" in preview
    up = lost.pulumi("up", "--yes", check=False)
    assert up.returncode != 0
    assert told in said(up)


def test_a_destroy_from_another_shell_goes_to_one_cluster_with_all_it_does(
    stack: Stack, world: World, tmp_path: Path
) -> None:
    before = world.pods(NAMESPACE, "gpu")
    state = stack.pulumi("stack", "export").stdout
    lost = elsewhere(stack, KUBECONFIG=unreachable(stack, tmp_path))
    assert lost.env["KUBECONFIG"] not in state
    assert stack.env["KUBECONFIG"] not in state, "the state doesn't say whose shell it was"
    refused = lost.destroy(check=False)
    assert refused.returncode != 0
    assert "10.88.0.1:16444" in said(refused)
    after = world.pods(NAMESPACE, "gpu")
    assert after.keys() == before.keys()
    assert "pod-deletion-cost" not in str(after["gpu-0"]["metadata"].get("annotations", {})), "no gate went elsewhere"


def test_a_wrong_passphrase_is_told_and_changes_nothing(stack: Stack, tmp_path: Path) -> None:
    wrong = tmp_path / "passphrase"
    wrong.write_text("not the one")
    before = stack.config_file.read_bytes()
    for command in (("preview",), ("up", "--yes"), ("destroy", "--yes")):
        refused = elsewhere(stack, PULUMI_CONFIG_PASSPHRASE_FILE=str(wrong)).pulumi(*command, check=False)
        assert refused.returncode != 0
        assert "incorrect passphrase" in said(refused)
        assert "secrets manager" in said(refused), "where it was asked for"
        assert "not the one" not in said(refused)
    assert stack.config_file.read_bytes() == before
    stack.pulumi("preview", "--expect-no-changes")


def test_a_preview_without_slurmrestd_says_that_the_update_must_ask(stack: Stack, world: World) -> None:
    def replicas(count: int) -> None:
        patch = f'{{"spec":{{"replicas":{count}}}}}'
        world.kubectl("patch", "restapi", "slurm", "-n", NAMESPACE, "--type=merge", "-p", patch)

    def answering() -> bool:
        theirs = [it for it in world.objects("endpointslices", NAMESPACE) if "slurm-restapi" in it["metadata"]["name"]]
        return any(pod["conditions"].get("ready") for it in theirs for pod in it.get("endpoints") or [])

    replicas(0)
    try:
        await_true("slurmrestd is gone", lambda: not answering(), 60)
        text = said(stack.pulumi("preview"))
        assert 'no endpoints available for service "slurm-restapi' in text
        assert "No pod of slurmrestd is ready" in text
        assert "The update asks again, and fails if it gets no answer" in text
        assert "1 to update" in text, "an update that ends well has asked whether a drain of ours is left"
    finally:
        replicas(1)
    await_true("slurmrestd is back", answering, 60)
    stack.pulumi("preview", "--expect-no-changes")


def test_another_cluster_name_is_refused_in_preview_with_the_reason(stack: Stack, world: World) -> None:
    def renamed(settings: Settings) -> None:
        small(settings)
        settings["slinky-iac:cluster"]["name"] = "other"

    world.stack(stack.name, dev_settings(renamed))
    try:
        refused = stack.pulumi("preview", check=False)
        assert refused.returncode != 0
        assert "clusterName: can't change from 'lab' to 'other'" in said(refused)
        assert "the job queue and the accounts are gone" in said(refused)
        assert "Set it back" in said(refused)
    finally:
        world.stack(stack.name, dev_settings(small))
    stack.pulumi("preview", "--expect-no-changes")


def test_an_image_that_does_not_exist_fails_up_with_pod_and_reason_and_a_right_one_heals(
    stack: Stack, world: World, slurm: Slurm
) -> None:
    def add(image: str) -> None:
        def edit(settings: Settings) -> None:
            small(settings)
            # Long enough for kubelet to say what is wrong with the image, on a busy machine too.
            drain = {"registerDeadline": "40s"}
            cpu = settings["slinky-iac:nodesets"]["gpu"] | {"image": image, "drain": drain}
            settings["slinky-iac:nodesets"]["cpu"] = cpu

        world.stack(stack.name, dev_settings(edit))

    add(NO_IMAGE)
    failed = stack.up(check=False)
    assert failed.returncode != 0
    text = said(failed)
    assert "bad-world/cpu: after 40 s these are not in service: slurm-worker-cpu-0 is Pending and not ready" in text
    assert "ErrImageNeverPull" in text
    assert NO_IMAGE in text
    assert "Repair them, then run `pulumi up` again" in text

    add("slinky-lab/slurm:26.05")
    stack.up()
    slurm.await_registered("cpu-0")
    assert slurm.user("srun", "-w", "cpu-0", "-t1", "hostname") == "cpu-0\n"


@pytest.fixture(scope="module", autouse=True)
def _partitions() -> None:
    outside.set_nodesets_conf(conf.DEFAULT_NODESETS)
    outside.reconfigure()
