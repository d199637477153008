"""When the world is not as it should be: each message says what, where and what to do next, and nothing is lost.

What is said where there is no Kubernetes cluster, or the passphrase is wrong, is in tests/integration/test_bad_input.py.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path

import pytest

from lab import slurm as outside
from lab.slurm import conf
from lab.stacks import Stack
from slinky_iac.parts.fence.policy import policy_name
from tests.e2e.gated import NAMESPACE, NODESET, STACK, Gated, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World

STANDS_ON = STACK
NO_IMAGE = "slinky-lab/slurm:no-such-tag"


@pytest.fixture(autouse=True)
def as_it_was(gated: Gated) -> None:
    """Each test begins with a stack that is as its settings say."""
    gated.reset()


def said(done: subprocess.CompletedProcess[str]) -> str:
    """All that was printed, in one line; it holds no traceback but the one that Pulumi puts before a gate's error."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text or "slinky_iac.errors." in text, text
    return " ".join(text.split())


def elsewhere(stack: Stack, folder: Path) -> Stack:
    """The same stack, run from a shell whose kubeconfig is like the lab's, with a port where nothing listens."""
    file = folder / "kubeconfig"
    file.write_text(Path(stack.env["KUBECONFIG"]).read_text().replace(":16443", ":16444"))
    return dataclasses.replace(stack, env={**stack.env, "KUBECONFIG": str(file)})


def test_a_destroy_from_another_shell_goes_to_one_cluster_with_all_it_does(
    gated: Gated, world: World, tmp_path: Path
) -> None:
    before = world.pods(NAMESPACE, NODESET)
    state = gated.stack.pulumi("stack", "export").stdout
    lost = elsewhere(gated.stack, tmp_path)
    assert lost.env["KUBECONFIG"] not in state
    assert gated.stack.env["KUBECONFIG"] not in state, "the state doesn't say whose shell it was"
    refused = lost.destroy(check=False)
    assert refused.returncode != 0
    assert "10.88.0.1:16444" in said(refused)
    after = world.pods(NAMESPACE, NODESET)
    assert after.keys() == before.keys()
    assert "pod-deletion-cost" not in str(after["gpu-0"]["metadata"].get("annotations", {})), "no gate went elsewhere"


def test_a_preview_without_slurmrestd_says_that_the_update_must_ask(gated: Gated, world: World) -> None:
    def replicas(count: int) -> subprocess.CompletedProcess[str]:
        patch = f'{{"spec":{{"replicas":{count}}}}}'
        return world.kubectl("patch", "restapi", "slurm", "-n", NAMESPACE, "--type=merge", "-p", patch, check=False)

    def answering() -> bool:
        theirs = [it for it in world.objects("endpointslices", NAMESPACE) if "slurm-restapi" in it["metadata"]["name"]]
        return any(pod["conditions"].get("ready") for it in theirs for pod in it.get("endpoints") or [])

    # The fence keeps pods of a RestApi while NodeSets are left: its binding goes for the moment, as its message says.
    binding = ("validatingadmissionpolicybinding", policy_name(NAMESPACE, "slurm", "needed"))
    stood = json.loads(world.kubectl("get", *binding, "-o", "json").stdout)
    world.kubectl("delete", *binding)
    await_true("slurmrestd may be taken away", lambda: replicas(0).returncode == 0, 30)
    try:
        await_true("slurmrestd is gone", lambda: not answering(), 60)
        text = said(gated.stack.pulumi("preview"))
        assert 'no endpoints available for service "slurm-restapi' in text
        assert "No pod of slurmrestd is ready" in text
        assert "The update asks again, and fails if it gets no answer" in text
        assert "to update" in text, "an update that ends well has asked whether a drain of ours is left"
    finally:
        assert replicas(1).returncode == 0
        kept = {"name": stood["metadata"]["name"], "labels": stood["metadata"]["labels"]}
        world.kubectl("create", "-f", "-", stdin=json.dumps({**stood, "metadata": kept}))
    await_true("slurmrestd is back", answering, 60)
    gated.stack.pulumi("preview", "--expect-no-changes")


def test_an_image_that_does_not_exist_fails_up_with_pod_and_reason_and_a_right_one_heals(gated: Gated, slurm: Slurm) -> None:
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)
    # Long enough for kubelet to say what is wrong with the image, on a busy machine too.
    cpu = {"replicas": 1, "drain": {"registerDeadline": "40s"}, "pod": {"terminationGrace": "2s"}}
    with_gpu = settings(3)["slinky-iac:nodesets"]

    gated.write(3, nodesets=with_gpu | {"cpu": cpu | {"image": NO_IMAGE}})
    failed = gated.try_up()
    assert failed.returncode != 0
    text = said(failed)
    assert f"{STACK}/cpu: after 40 s these are not in service: slurm-worker-cpu-0 is Pending and not ready" in text
    assert "ErrImageNeverPull" in text
    assert NO_IMAGE in text
    assert "Repair them, then run `pulumi up` again" in text

    gated.up(3, nodesets=with_gpu | {"cpu": cpu | {"image": "slinky-lab/slurm:26.05"}})
    slurm.await_registered("cpu-0")
    assert slurm.user("srun", "-w", "cpu-0", "-t1", "hostname") == "cpu-0\n"
