"""The fence on a real API server: what would take pods with jobs is refused to everybody, and a permission is good for once.

The admin of Kubernetes asks here, who may do everything. A gate's writes are made by hand first, as its contract says
(:mod:`slinky_iac.names`), and at the end by the gate itself.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.parts.fence.policy import policy_name
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, dev_settings
from tests.faults.mid_drain import gated

__all__ = ["gated"]

KIND = "nodesets.slinky.slurm.net"
ALL_OF_THEM = f"/apis/slinky.slurm.net/v1beta1/namespaces/{NAMESPACE}/nodesets"
BURST = "slurm-worker-burst"
"""A NodeSet that the stack leaves to an autoscaler."""
OTHER = "slurm-worker-other"
"""A NodeSet that a person made, named as this cluster's are."""
NODESETS, NEEDED, SPACE, CRDS = (
    policy_name(NAMESPACE, "slurm", "nodesets"),
    policy_name(NAMESPACE, "slurm", "needed"),
    policy_name(NAMESPACE, "slurm", "namespace"),
    policy_name(NAMESPACE, "slurm", "crds"),
)


def fenced_settings(**cluster: object) -> dict[str, Mapping[str, object]]:
    """The gated stack behind a fence, and a second NodeSet that an autoscaler owns, without pods."""
    own = dict(settings(3)["slinky-iac:nodesets"])
    burst = own[NODESET] | {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}
    return {
        "cluster": dev_settings()["slinky-iac:cluster"] | {"fence": True} | cluster,
        "nodesets": own | {"burst": burst},
    }


@pytest.fixture(scope="module")
def fenced(gated: Gated, slurm: Slurm) -> Iterator[Gated]:
    """Three pods behind a fence."""
    gated.up(3, **fenced_settings())
    await_true("the fence stands", lambda: not try_delete(gated.world, "--dry-run=server"), 30)
    yield gated
    slurm.cancel_all()


@pytest.fixture(scope="module", autouse=True)
def job(fenced: Gated, slurm: Slurm) -> int:
    """A job that runs through all of it."""
    job = slurm.submit("-p", NODESET, "-t", "60", seconds=3000)
    slurm.await_running(job)
    return job


def try_delete(world: World, *more: str) -> bool:
    """Whether the NodeSet may be deleted."""
    return world.kubectl("delete", KIND, RESOURCE, "-n", NAMESPACE, *more, check=False).returncode == 0


def nodeset(world: World, name: str = RESOURCE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(world.kubectl("get", KIND, name, "-n", NAMESPACE, "-o", "json").stdout)
    return found


def generation(world: World, name: str = RESOURCE) -> int:
    return int(nodeset(world, name)["metadata"]["generation"])


def merge(world: World, patch: Mapping[str, object], name: str = RESOURCE) -> subprocess.CompletedProcess[str]:
    """Write to the NodeSet itself."""
    return world.kubectl(
        "patch", KIND, name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(patch), check=False
    )  # fmt: skip


def permitted(permit: str, **spec: object) -> dict[str, object]:
    """What a gate writes: its permission, and with it the lower number."""
    written: dict[str, object] = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: permit}}}
    return written | ({"spec": spec} if spec else {})


def refused(done: subprocess.CompletedProcess[str], policy: str) -> bool:
    """Whether the fence refused it, in words that say what to do instead and how to get past it."""
    said = done.stderr + done.stdout
    way_out = f"kubectl delete validatingadmissionpolicybinding {policy}" in said
    return done.returncode != 0 and way_out and ("pulumi up" in said or "pulumi destroy" in said)


LOWERING: Mapping[str, Sequence[str]] = {
    "delete": ("delete", KIND, RESOURCE, "-n", NAMESPACE),
    "delete, orphaning the pods": ("delete", KIND, RESOURCE, "-n", NAMESPACE, "--cascade=orphan"),
    "delete --all": ("delete", KIND, "--all", "-n", NAMESPACE, "--wait=false"),
    "a collection's deletion": ("delete", "--raw", ALL_OF_THEM),
    "scale": ("scale", KIND, RESOURCE, "-n", NAMESPACE, "--replicas=2"),
    "scale to none": ("scale", KIND, RESOURCE, "-n", NAMESPACE, "--replicas=0"),
    "patch": ("patch", KIND, RESOURCE, "-n", NAMESPACE, "--type=merge", "-p", '{"spec": {"replicas": 2}}'),
    "patch of the scale": (
        "patch", KIND, RESOURCE, "-n", NAMESPACE, "--subresource=scale", "--type=merge", "-p", '{"spec": {"replicas": 2}}'
    ),
    "a patch that takes the number away": (
        "patch", KIND, RESOURCE, "-n", NAMESPACE, "--type=json", "-p", '[{"op": "remove", "path": "/spec/replicas"}]'
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", LOWERING)
def test_no_command_takes_a_nodeset_or_its_pods(fenced: Gated, command: str) -> None:
    before = nodeset(fenced.world)
    done = fenced.world.kubectl(*LOWERING[command], check=False)
    assert refused(done, NODESETS), done
    after = nodeset(fenced.world)
    assert after["spec"] == before["spec"]
    assert "deletionTimestamp" not in after["metadata"]
    assert fenced.pods() == list(NODES)


@pytest.mark.parametrize("command", ["replace", "replace --force", "apply --server-side --force-conflicts"])
def test_no_manifest_takes_a_nodeset_or_its_pods(fenced: Gated, command: str) -> None:
    found = nodeset(fenced.world)
    kept = {"name": RESOURCE, "namespace": NAMESPACE, "labels": found["metadata"]["labels"]}
    manifest = {**found, "metadata": kept, "spec": {**found["spec"], "replicas": 1}}
    manifest.pop("status", None)
    done = fenced.world.kubectl(*command.split(), "-f", "-", stdin=json.dumps(manifest), check=False)
    assert refused(done, NODESETS), done
    assert nodeset(fenced.world)["spec"] == found["spec"]
    assert fenced.pods() == list(NODES)


@pytest.mark.parametrize(
    "target",
    [("controllers.slinky.slurm.net", "slurm"), ("restapis.slinky.slurm.net", "slurm")]
    + [("accountings.slinky.slurm.net", "slurm"), ("namespace", NAMESPACE)]
    + [("crd", f"{kind}.slinky.slurm.net") for kind in ("nodesets", "controllers", "restapis", "accountings")],
    ids=" ".join,
)
def test_what_nodesets_need_stays_while_there_is_one(fenced: Gated, target: tuple[str, str]) -> None:
    kind, name = target
    done = fenced.world.kubectl("delete", kind, name, "-n", NAMESPACE, "--wait=false", check=False)
    assert refused(done, {"namespace": SPACE, "crd": CRDS}.get(kind, NEEDED)), done
    found = json.loads(fenced.world.kubectl("get", kind, name, "-n", NAMESPACE, "-o", "json").stdout)
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.parametrize("kind", ["Controller", "RestApi"])
def test_pulumi_replaces_nothing_that_a_nodeset_needs(fenced: Gated, slurm: Slurm, job: int, kind: str) -> None:
    needed = ("get", f"{kind.lower()}s.slinky.slurm.net", "slurm", "-n", NAMESPACE, "-o", "json")
    before = json.loads(fenced.world.kubectl(*needed).stdout)["metadata"]
    shown = json.loads(fenced.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    (urn,) = [each["urn"] for each in shown if each["type"] == f"kubernetes:slinky.slurm.net/v1beta1:{kind}"]
    done = fenced.stack.up("--replace", urn, check=False)
    assert refused(done, NEEDED), done.stdout
    after = json.loads(fenced.world.kubectl(*needed).stdout)["metadata"]
    assert (after["uid"], after.get("deletionTimestamp")) == (before["uid"], None)
    assert fenced.pods() == list(NODES)
    assert "RUNNING" in slurm.job_state(job)
    fenced.stack.up()
    assert fenced.changes() == [], "the refusal is of no consequence"


def test_what_is_nobodys_loss_is_let_through(fenced: Gated) -> None:
    world = fenced.world
    assert merge(world, {"spec": {"minReadySeconds": 1}}).returncode == 0
    assert merge(world, {"spec": {"minReadySeconds": None}}).returncode == 0
    assert merge(world, {"metadata": {"annotations": {"note": "x"}}}).returncode == 0
    assert world.kubectl("create", "namespace", "fence-other").returncode == 0
    assert world.kubectl("delete", "namespace", "fence-other", "--wait=false").returncode == 0


def test_an_autoscaler_moves_its_own_nodeset_on_the_scale_and_no_other(fenced: Gated) -> None:
    world = fenced.world
    scale = ("scale", KIND, "-n", NAMESPACE)
    assert merge(world, {"spec": {"replicas": 1}}, BURST).returncode == 0
    assert refused(merge(world, {"spec": {"replicas": 0}}, BURST), NODESETS), "not by the NodeSet itself"
    assert world.kubectl(*scale, BURST, "--replicas=0", check=False).returncode == 0
    assert refused(world.kubectl(*scale, RESOURCE, "--replicas=0", check=False), NODESETS)


@pytest.fixture
def other(fenced: Gated) -> Iterator[str]:
    """A NodeSet of a person's, whose pods can't be placed: it comes and goes without a job."""
    found = nodeset(fenced.world)
    template = {**found["spec"].get("template", {})}
    template["spec"] = {**template.get("spec", {}), "hostname": "other-", "nodeSelector": {"no": "such"}}
    made = {
        "apiVersion": names.API_VERSION,
        "kind": "NodeSet",
        "metadata": {"name": OTHER, "namespace": NAMESPACE},
        "spec": {**found["spec"], "replicas": 3, "template": template},
    }
    fenced.world.kubectl("create", "-f", "-", stdin=json.dumps(made))
    yield OTHER
    if fenced.world.kubectl("get", KIND, OTHER, "-n", NAMESPACE, check=False).returncode == 0:
        merge(fenced.world, permitted(names.permit_to_delete(generation(fenced.world, OTHER))), OTHER)
        fenced.world.kubectl("delete", KIND, OTHER, "-n", NAMESPACE)


def test_a_permission_lowers_to_its_number_once(fenced: Gated, other: str) -> None:
    world, permit = fenced.world, names.permit_to_scale
    first = generation(world, other)
    assert refused(merge(world, permitted(permit(2, first + 1), replicas=2), other), NODESETS), "another generation's"
    assert refused(merge(world, permitted(permit(2, first), replicas=1), other), NODESETS), "another number's"
    assert refused(merge(world, permitted(names.permit_to_delete(first), replicas=2), other), NODESETS), "a deletion's"
    assert merge(world, permitted(permit(2, first), replicas=2), other).returncode == 0
    assert generation(world, other) == first + 1
    assert refused(merge(world, {"spec": {"replicas": 1}}, other), NODESETS), "it is used up"
    assert merge(world, {"spec": {"replicas": 3}}, other).returncode == 0
    assert refused(merge(world, {"spec": {"replicas": 2}}, other), NODESETS), "for good"


def test_a_permission_that_was_not_used_lapses_with_the_next_change(fenced: Gated, other: str) -> None:
    world = fenced.world
    merge(world, permitted(names.permit_to_delete(generation(world, other))), other)
    assert merge(world, {"spec": {"replicas": 4}}, other).returncode == 0, "an autoscaler asks for more"
    assert refused(world.kubectl("delete", KIND, other, "-n", NAMESPACE, check=False), NODESETS)


def test_a_cancel_takes_back_a_permission_that_was_not_used(fenced: Gated) -> None:
    """What a gate leaves that is killed between its permission and its deletion."""
    world = fenced.world
    assert merge(world, permitted(names.permit_to_delete(generation(world)))).returncode == 0
    assert try_delete(world, "--dry-run=server")
    fenced.cli("drain", "cancel", "--stack", fenced.stack.name, "--nodeset", NODESET)
    assert names.ANNOTATION_PERMIT not in nodeset(world)["metadata"].get("annotations", {})
    assert not try_delete(world, "--dry-run=server")


def test_a_permission_to_delete_is_for_this_nodeset_alone(fenced: Gated, other: str) -> None:
    world = fenced.world
    merge(world, permitted(names.permit_to_delete(generation(world, other))), other)
    assert refused(world.kubectl("delete", "namespace", NAMESPACE, check=False), SPACE), "another NodeSet has none"
    assert refused(world.kubectl("delete", KIND, RESOURCE, "-n", NAMESPACE, check=False), NODESETS)
    assert world.kubectl("delete", KIND, other, "-n", NAMESPACE, check=False).returncode == 0
    gone = world.kubectl("get", KIND, other, "-n", NAMESPACE, check=False)
    assert "not found" in gone.stderr


def test_status_says_that_it_stands(fenced: Gated) -> None:
    assert screen(fenced) == {"state": "stands", "faults": []}


@pytest.mark.parametrize("policy", [NODESETS, NEEDED])
def test_without_its_binding_it_refuses_nothing_and_that_is_told_until_it_is_made_again(fenced: Gated, policy: str) -> None:
    """The way out, as the message says it."""
    world = fenced.world
    tried = {
        NODESETS: ("delete", KIND, RESOURCE, "-n", NAMESPACE, "--dry-run=server"),
        NEEDED: ("delete", "restapis.slinky.slurm.net", "slurm", "-n", NAMESPACE, "--dry-run=server"),
    }[policy]
    world.kubectl("delete", "validatingadmissionpolicybinding", policy)
    await_true("it is let through", lambda: world.kubectl(*tried, check=False).returncode == 0, 30)
    found = screen(fenced)
    assert found["state"] == "broken"
    assert [policy in fault and "pulumi up --refresh" in fault for fault in found["faults"]] == [True]
    drift = fenced.cli("drift", "--stack", fenced.stack.name, "--json")
    assert drift.returncode == 5
    assert [policy in each["text"] for each in json.loads(drift.stdout)["drift"] if each["kind"] == "fence"] == [True]

    fenced.stack.up("--refresh")
    await_true("it is refused again", lambda: refused(world.kubectl(*tried, check=False), policy), 30)
    assert screen(fenced) == {"state": "stands", "faults": []}


def test_a_policy_that_somebody_weakened_is_told(fenced: Gated) -> None:
    world, kind = fenced.world, "validatingadmissionpolicy"
    whole = json.loads(world.kubectl("get", kind, NODESETS, "-o", "json").stdout)["spec"]
    world.kubectl("patch", kind, NODESETS, "--type=merge", "-p", '{"spec": {"failurePolicy": "Ignore"}}')
    assert [NODESETS in fault for fault in screen(fenced)["faults"]] == [True]
    world.kubectl("patch", kind, NODESETS, "--type=merge", "-p", json.dumps({"spec": whole}))
    assert screen(fenced)["state"] == "stands"


def screen(fenced: Gated) -> dict[str, Any]:
    """What `status` says of the fence."""
    found: dict[str, Any] = json.loads(fenced.cli("status", "--stack", fenced.stack.name, "--json").stdout)["fence"]
    return found


def test_a_stack_that_lost_its_gate_cannot_delete_its_nodeset(fenced: Gated, slurm: Slurm, job: int) -> None:
    """An edited state: `pulumi destroy` would delete the NodeSet with no drain."""
    stack = fenced.stack
    shown = json.loads(stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    (gate,) = [each["urn"] for each in shown if each["urn"].endswith(f"-{NODESET}-scale")]
    stack.pulumi("state", "delete", gate, "--yes")
    nodesets = [each["urn"] for each in shown if each["urn"].endswith(f"::{NAMESPACE}-{RESOURCE}-nodeset")]
    done = stack.destroy("--target", nodesets[0], "--target-dependents", check=False)
    assert done.returncode != 0
    assert f"validatingadmissionpolicybinding {NODESETS}" in done.stdout + done.stderr, done.stdout
    assert fenced.pods() == list(NODES)
    assert "RUNNING" in slurm.job_state(job)
    fenced.up(3, **fenced_settings())


def test_a_gate_passes_the_fence_and_leaves_it_shut(fenced: Gated, slurm: Slurm, job: int) -> None:
    settings = fenced_settings()
    nodesets = dict(settings["nodesets"])
    fenced.up(2, **{**settings, "nodesets": nodesets | {NODESET: {**nodesets[NODESET], "replicas": 2}}})  # type: ignore[dict-item]
    await_true("two pods are left", lambda: len(fenced.pods()) == 2, 90)
    assert "RUNNING" in slurm.job_state(job)
    assert refused(merge(fenced.world, {"spec": {"replicas": 1}}), NODESETS)
    fenced.up(3, **settings)
    slurm.await_registered(*NODES)


def test_no_job_was_touched(fenced: Gated, slurm: Slurm, job: int) -> None:
    assert fenced.pods() == list(NODES)
    assert "RUNNING" in slurm.job_state(job)


def test_a_destroy_passes_the_fence_and_takes_it_along(fenced: Gated, slurm: Slurm) -> None:
    slurm.cancel_all()
    fenced.stack.destroy()
    kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings,nodesets.slinky.slurm.net"
    left = fenced.world.kubectl("get", kinds, "-A", "-o", "name", "--ignore-not-found", check=False).stdout
    assert "slinky" not in left, left
