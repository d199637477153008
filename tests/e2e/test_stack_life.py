"""The ordinary life of a stack on the real cluster: up, nothing to do, changes one by one, down, nothing left.

The tests of this file are one life and run in this order: each begins with the stack that the one before it left.
slurm-operator's own admission webhook is deployed with it, by our operator component and without cert-manager: what our
program makes passes the operator's own checks, on create and on update, and what they refuse our preview refuses before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from lab import demo, given_operator
from lab import slurm as outside
from lab.slurm import conf
from lab.stacks import Stack
from slinky_iac.names import GROUP
from slinky_iac.releases import OperatorVersion
from tests.e2e.slurm import Slurm, await_same, await_true
from tests.e2e.world import Settings, World, dev_settings, identity, ready

NAMESPACE = "slurm"
IMAGE = "slinky-lab/slurm:26.05"
KEYS = {"slurm-auth-slurm", "slurm-auth-jwths256"}


def with_webhook(settings: Settings) -> None:
    """The operator's webhook, of the release that the lab runs."""
    repository, tag = given_operator.webhook_image().rsplit(":", 1)
    operator = settings["slinky-iac:operator"]
    operator["webhook"] = {"enabled": True, "certManager": False}
    operator["values"]["webhook"] = {"image": {"repository": repository, "tag": tag}, "imagePullPolicy": "Never"}


def release_of(settings: Settings) -> OperatorVersion:
    """Of the stack's slurm-operator."""
    return OperatorVersion.parse(settings["slinky-iac:operator"]["version"])


@dataclass
class Life:
    """The stack, its settings as they are now, and what was in the cluster before it."""

    world: World
    slurm: Slurm
    stack: Stack
    before: set[str]
    settings: Settings = field(default_factory=lambda: dev_settings(with_webhook))

    def change(self, edit: Callable[[Settings], None]) -> None:
        """Edit the settings and apply them."""
        edit(self.settings)
        self.world.stack(self.stack.name, self.settings)
        self.stack.up()

    def nodeset(self, name: str) -> Settings:
        """Settings of a NodeSet, to be edited in place."""
        found: Settings = self.settings["slinky-iac:nodesets"][name]
        return found

    def outside_lines(self) -> str:
        """The admin's part: the stack's lines for slurm.conf are taken over there."""
        lines = demo.nodeset_lines(str(self.stack.outputs()["outsideSlurmConf"]))
        outside.apply_nodesets_conf(lines)
        return lines

    def pods(self) -> dict[str, str]:
        """UID of every worker pod by Slurm node name: a replaced pod has another."""
        found: dict[str, str] = {}
        for nodeset in self.settings["slinky-iac:nodesets"]:
            pods = self.world.pods(NAMESPACE, nodeset)
            found |= {node: pod["metadata"]["uid"] for node, pod in pods.items()}
        return found

    def versions(self) -> dict[str, Any]:
        """UID and generation of every object in the stack's namespace: nothing was written where they are equal."""
        return {
            f"{item['kind']}/{item['metadata']['name']}": (item["metadata"]["uid"], item["metadata"].get("generation"))
            for item in self.world.everything()
            if item["metadata"].get("namespace") == NAMESPACE
        }


@pytest.fixture(scope="module")
def life(world: World, slurm: Slurm) -> Iterator[Life]:
    world.vacate()
    before = world.identities()
    life = Life(world, slurm, world.stack("life", dev_settings(with_webhook)), before)
    yield life
    slurm.cancel_all()
    world.vacate()
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)


def test_the_first_up_gives_a_cluster_whose_jobs_run_on_pods_and_on_metal(life: Life) -> None:
    life.stack.pulumi("preview")
    life.stack.up()
    life.outside_lines()
    workers = ("cpu-0", "gpu-0", "gpu-1", "metal-1", "metal-2")
    life.slurm.await_registered(*workers)
    assert demo.job(5).split() == list(workers)
    hooks = life.world.kubectl("get", "validatingwebhookconfigurations", "-o", "name").stdout
    assert "slurm-operator" in hooks, "all that was made has passed it"


def test_a_second_up_a_preview_and_a_refresh_change_nothing(life: Life) -> None:
    before = life.versions()
    life.stack.pulumi("preview", "--expect-no-changes")
    life.stack.up("--expect-no-changes")
    life.stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert life.versions() == before


def test_a_changed_partition_is_the_outside_admins_and_replaces_no_pod(life: Life) -> None:
    before = life.pods()
    old = life.stack.outputs()["outsideSlurmConf"]
    life.change(lambda _: life.nodeset("gpu")["partition"]["config"].update(MaxTime="2:00:00"))
    assert life.stack.outputs()["outsideSlurmConf"] != old
    assert "PartitionName=gpu Nodes=gpu MaxTime=2:00:00" in life.outside_lines()
    assert " MaxTime=02:00:00 " in life.slurm.admin("scontrol", "-o", "show", "partition", "gpu")
    assert life.pods() == before


def test_a_new_image_replaces_the_pods_and_ends_no_job(life: Life) -> None:
    image = life.world.second_tag(IMAGE, "26.05-second")
    before = life.pods()
    life.slurm.await_registered("gpu-0", "gpu-1")
    job = life.slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "5", seconds=20)
    life.slurm.await_running(job)
    life.change(lambda _: life.nodeset("gpu").update(image=image))

    def renewed() -> bool:
        pods = life.world.pods(NAMESPACE, "gpu")
        here = {node for node, pod in pods.items() if ready(pod)}
        images = {_slurmd(pod)["image"] for pod in pods.values()}
        return here == {"gpu-0", "gpu-1"} and images == {image}

    await_true(f"both pods run {image}", renewed, 120)
    life.slurm.await_registered("gpu-0", "gpu-1")
    rows = life.slurm.await_completed(job)
    assert [(row.state, row.nodes) for row in rows] == [("COMPLETED", "gpu-1")]
    after = life.pods()
    assert {node for node in before if before[node] != after[node]} == {"gpu-0", "gpu-1"}
    life.stack.pulumi("preview", "--expect-no-changes")


def ownerless(world: World) -> set[str]:
    """What slurm-operator has for all workers together, and what Kubernetes makes for it, where no NodeSet owns it."""
    of_workers = [item for item in world.everything() if f" {NAMESPACE}/slurm-workers-" in identity(item)]
    owners = {owner["kind"] for item in of_workers for owner in item["metadata"].get("ownerReferences", [])}
    return {identity(item) for item in of_workers} if owners <= {"Service"} else set()


def _slurmd(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in pod["spec"]["containers"] if each["name"] == "slurmd")
    return found


def test_fewer_replicas_take_one_pod_and_one_node_away_and_no_other(life: Life) -> None:
    before = life.pods()
    life.change(lambda _: life.nodeset("gpu").update(replicas=1))
    life.world.await_pods(NAMESPACE, "gpu", 1)
    after = life.pods()
    assert after.items() <= before.items()
    gone = before.keys() - after.keys()
    assert len(gone) == 1
    assert gone < {"gpu-0", "gpu-1"}
    await_true(f"slurmctld has forgotten {gone}", lambda: not gone & life.slurm.nodes().keys(), 30)
    assert life.stack.outputs()["nodesets"] == {"gpu": 1, "cpu": 1}


def test_a_new_nodeset_takes_jobs_when_up_returns_and_touches_no_other(life: Life) -> None:
    before = life.pods()
    fat = {"replicas": 1, "features": ["fat"], "pod": {"terminationGrace": "2s"}}
    life.change(lambda settings: settings["slinky-iac:nodesets"].update(fat=fat))
    assert life.slurm.user("srun", "-w", "fat-0", "-C", "fat", "-t1", "hostname") == "fat-0\n", "no admin's help is needed"
    assert before.items() <= life.pods().items()


def test_a_removed_nodeset_makes_room_for_more_replicas_of_another(life: Life) -> None:
    """In one update where two pods may share a Kubernetes node (operator 1.0), else in two: Pulumi deletes last."""
    before = life.pods()

    def remove(settings: Settings) -> None:
        del settings["slinky-iac:nodesets"]["fat"]

    if release_of(life.settings).has_scaling_mode:
        life.change(remove)
    else:
        remove(life.settings)
    life.change(lambda _: life.nodeset("cpu").update(replicas=2))
    assert sorted(life.pods()) == ["cpu-0", "cpu-1", *(node for node in before if node.startswith("gpu"))]
    assert life.slurm.user("srun", "-w", "cpu-1", "-t1", "hostname") == "cpu-1\n"
    await_true("slurmctld has forgotten fat-0", lambda: "fat-0" not in life.slurm.nodes(), 30)


def test_the_operators_webhook_refuses_what_preview_refuses(life: Life) -> None:
    (found,) = life.world.objects("controllers.slinky.slurm.net", NAMESPACE)
    found["spec"]["clusterName"] = "another"
    found["metadata"].pop("managedFields", None)
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    refused = life.world.kubectl(*apply, check=False, stdin=yaml.safe_dump(found))
    assert refused.returncode != 0
    assert "admission webhook" in refused.stderr, refused.stderr

    other = dev_settings(with_webhook)
    other["slinky-iac:cluster"]["name"] = "another"
    life.world.stack(life.stack.name, other)
    preview = life.stack.pulumi("preview", check=False)
    assert preview.returncode != 0
    assert "clusterName: can't change from 'lab' to 'another'" in preview.stdout + preview.stderr


def test_protected_keys_and_crds_stop_a_destroy_and_are_all_that_a_partial_one_leaves(life: Life) -> None:
    """The operator's CRDs are protected too, as they are by default.

    slurm-operator may make its worker Service and PodDisruptionBudget again after the last NodeSet has gone. They then have
    no owner, and stay (docs/operations.md).
    """

    def protect(settings: Settings) -> None:
        settings["slinky-iac:keys"].update(protect=True)
        settings["slinky-iac:operator"].update(protectCrds=True)

    life.change(protect)
    pods = life.pods()
    refused = life.stack.pulumi("destroy", "--yes", check=False)
    assert refused.returncode != 0
    said = refused.stdout + refused.stderr
    assert "lab-keys-slurm-key-secret" in said or "lab-keys-jwt-key-secret" in said, said
    assert "protected" in said
    assert "state unprotect" in said, "the way on is named"
    assert life.pods() == pods, "nothing was removed"

    stood = life.world.identities()
    life.stack.destroy("--exclude-protected")
    left = {f"Secret {NAMESPACE}/{name}" for name in KEYS} | {"Secret slinky/sh.helm.release.v1.slurm-operator-crds.v1"}
    kinds = ("CustomResourceDefinition ", "APIService ")
    left |= {each for each in stood if each.startswith(kinds) and each.endswith(GROUP)}
    for space in (NAMESPACE, "slinky"):
        theirs = {f"ConfigMap {space}/kube-root-ca.crt", f"ServiceAccount {space}/default"}
        left |= {f"Namespace /{space}", *theirs}
    if release_of(life.settings).has_scaling_mode:  # from 1.1 on its Leases bear these names, and Kubernetes keeps them
        left |= {"Lease slinky/slurm-operator", "Lease slinky/slurm-operator-webhook"}

    def new() -> set[str]:
        return life.world.identities() - life.before - ownerless(life.world)

    await_same("only keys and CRDs are left", new, left, 60)


def test_the_rest_is_destroyed_once_unprotected_and_nothing_is_left(life: Life) -> None:
    life.stack.pulumi("state", "unprotect", "--all", "--yes")
    life.stack.destroy()
    await_same("all objects are as before the first up", life.world.identities, life.before, 60)
    assert set(life.slurm.nodes()) == {"metal-1", "metal-2"}
    exported = json.loads(life.stack.pulumi("stack", "export").stdout)
    assert exported["deployment"].get("resources", []) == []
