"""What differs is reported once, with a reason; what is on its way, or somebody else's, is not drift."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.commands.drift.cli import shown
from slinky_iac.commands.drift.compare import Expected, Finding, PublicFile, Seen, drift
from slinky_iac.drain.tags import Tag
from slinky_iac.kube.objects import Pod
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.selection import Selection
from slinky_iac.slurmrest.daemons import SlurmConf
from slinky_iac.slurmrest.objects import Node
from tests.made.nodes import node
from tests.made.nodesets import nodeset
from tests.made.pods import worker_pod
from tests.rsa_keys import token_key

NOW = 1_795_240_000
TAG = Tag("prod/gpu", -1).text()
EXPECTED = Expected(
    stack="prod",
    cluster="lab",
    releases=frozenset({"26.05"}),
    nodesets=("gpu",),
    hosts={"metal-1": "active", "metal-2": "drained"},
    partitions=("gpu", "all"),
)


def worker(name: str, *more: str, reason: str = "", **also: object) -> Node:
    return node(name, "+".join(("IDLE", "DYNAMIC_NORM", *more)), reason=reason, **also)


def seen(*nodes: Node, pods: tuple[Pod, ...] | None = None, **more: object) -> Seen:
    metal = (node("metal-1"), node("metal-2", "IDLE+DRAIN", reason="a person's"))
    workers = nodes or (worker("gpu-0"), worker("gpu-1"))
    found = pods if pods is not None else (worker_pod("gpu-0"), worker_pod("gpu-1"))
    base = Seen(
        now=NOW,
        cluster="lab",
        release="26.05.5",
        nodes={each.name: each for each in (*metal, *workers)},
        partitions=frozenset({"gpu", "all", "debug"}),
        workers={"gpu": Workers(nodeset("gpu", 2), found)},
    )
    return replace(base, **more)  # type: ignore[arg-type]


def kinds(found: Seen, wanted: Expected = EXPECTED) -> list[tuple[str, str]]:
    return [(each.kind, each.subject) for each in drift(wanted, found)]


def ours(why: str = "scale-in 2->1", nodeset: str = "gpu", stack: str = "prod") -> str:
    return names.drain_reason(stack, nodeset, why)


def test_a_cluster_that_is_as_it_should_be_has_no_drift() -> None:
    assert kinds(seen()) == []


def test_a_fence_that_doesnt_stand_is_told_in_its_own_words() -> None:
    assert drift(EXPECTED, seen(guards={"fence": ("it is gone",)})) == (Finding("fence", "API server", "it is gone"),)


WITH_CONF = replace(
    EXPECTED,
    required={"ClusterName": "lab", "SlurmctldParameters": "enable_configless", "MaxNodeCount": "64", "ReturnToService": "2",
              "AuthAltParameters": "jwt_key=/etc/slurm/jwt_hs256.key", "AccountingStorageHost": "dbd.example.org"},
)  # fmt: skip
RUNNING: dict[str, Any] = {
    "ClusterName": "lab", "SlurmctldParameters": ["enable_configless", "idle_on_node_suspend"], "MaxNodeCount": 128,
    "ReturnToService": "all", "AuthAltParameters": "jwt_key=/srv/keys/jwt.key", "AccountingStorageHost": "localhost",
}  # fmt: skip


def running(**over: object) -> Seen:
    return seen(conf=SlurmConf(**RUNNING | over))


def test_a_slurm_conf_with_all_that_the_stack_needs_is_no_drift() -> None:
    """More in a list, a greater number, another path and another name of the same host are the admin's business."""
    assert kinds(running(), WITH_CONF) == []


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("SlurmctldParameters", [], "scontrol reconfigure"),
        ("MaxNodeCount", 63, "restart slurmctld"),
        ("ReturnToService", "no", "scontrol reconfigure"),
        ("AuthAltParameters", "jwks=/etc/slurm/jwks.json", "restart slurmctld"),
    ],
)
def test_a_parameter_that_slurmctld_lost_is_drift(key: str, value: object, after: str) -> None:
    (finding,) = drift(WITH_CONF, running(**{key: value}))
    assert (finding.kind, finding.subject) == ("slurm-conf", key)
    assert after in finding.text


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("AuthAltTypes", ["munge", "jwt"], []),
        ("AuthAltTypes", ["munge"], [("slurm-conf", "AuthAltTypes")]),
        ("CredType", "auth/slurm", []),
        ("CredType", "munge", [("slurm-conf", "CredType")]),
    ],
)
def test_a_plugin_that_is_named_without_its_kind_is_no_drift(key: str, value: object, told: list[tuple[str, str]]) -> None:
    wanted = replace(EXPECTED, required={"AuthAltTypes": "auth/jwt", "CredType": "cred/slurm"})
    assert kinds(running(**{"AuthAltTypes": None, "CredType": None} | {key: value}), wanted) == told


def test_a_parameter_that_isnt_known_is_not_drift() -> None:
    assert kinds(seen(conf=None), WITH_CONF) == []
    assert kinds(running(MaxNodeCount=None), WITH_CONF) == []


SET = public_set([token_key("old")]).decode()
WITH_SET = replace(EXPECTED, public=PublicFile("slurm", "slurm-token-jwks", SET))


def test_the_public_set_that_the_last_update_wrote_is_no_drift() -> None:
    assert kinds(seen(public=SET), WITH_SET) == []
    assert kinds(seen(public="{}")) == [], "a stack without token keys"


@pytest.mark.parametrize("held", [None, "", "{}", SET + "\n", public_set([token_key("old"), token_key("third")]).decode()])
def test_another_public_set_is_told(held: str | None) -> None:
    assert kinds(seen(public=held), WITH_SET) == [("public-set", "ConfigMap slurm/slurm-token-jwks")]


def test_a_rogue_key_is_named_also_where_it_goes_by_the_stack_s_name() -> None:
    rogue = token_key("third")
    forged = json.loads(SET)
    forged["keys"][0]["n"] = json.loads(public_set([rogue]))["keys"][0]["n"]
    for held in (public_set([token_key("old"), rogue]).decode(), json.dumps(forged)):
        (finding,) = drift(WITH_SET, seen(public=held))
        assert f"aren't the stack's: 1 (kid {rogue.kid})" in finding.text


def test_another_cluster_or_release_is_told() -> None:
    assert kinds(seen(cluster="other")) == [("cluster", "other")]
    assert kinds(seen(release="25.11.2")) == [("version", "slurmrestd")]
    assert kinds(seen(worker("gpu-0"), worker("gpu-1", version="25.11.0"))) == [("version", "gpu-1")]
    assert kinds(seen(release="25.11.2"), replace(EXPECTED, releases=frozenset())) == []


def test_a_ready_pod_without_a_node_is_told_and_one_that_starts_or_ends_is_not() -> None:
    assert kinds(seen(worker("gpu-0"))) == [("node-missing", "gpu-1")]
    for other in (worker_pod("gpu-1", ready=False), worker_pod("gpu-1", terminating=True)):
        assert kinds(seen(worker("gpu-0"), pods=(worker_pod("gpu-0"), other))) == []


def test_missing_pods_nodesets_and_hosts_are_told() -> None:
    assert kinds(seen(worker("gpu-0"), pods=(worker_pod("gpu-0"),))) == [("node-missing", "gpu")]
    assert kinds(seen(workers={"gpu": Workers()}, nodes=seen().nodes))[0][0] == "node-missing"
    assert kinds(seen(), replace(EXPECTED, hosts={"metal-9": "active"})) == [("node-missing", "metal-9")]


def test_a_record_without_a_pod_is_told_only_where_it_is_a_node_of_ours() -> None:
    left = (worker("gpu-0"), worker("gpu-1"), worker("gpu-7", "NOT_RESPONDING"))
    assert kinds(seen(*left)) == [("record-left", "gpu-7")]
    other = worker("gpu-7", features=["cpu"], active_features=["cpu"])
    static = node("gpu-7")
    theirs = worker("a100-0", features=["a100", "gpu"])
    for stranger in (other, static, theirs):
        assert kinds(seen(*left[:2], stranger)) == []


def drained(reason: str, tag: str = TAG, **more: object) -> Seen:
    pods = (worker_pod("gpu-0"), worker_pod("gpu-1", gate=tag))
    return seen(worker("gpu-0"), worker("gpu-1", "DRAIN", reason=reason, **more), pods=pods)


def test_a_drain_that_a_run_owns_is_no_drift() -> None:
    assert kinds(drained(ours())) == []
    assert kinds(drained(ours(), resume_after=NOW + 60)) == []


@pytest.mark.parametrize("tag", ["", "{}", "nonsense", Tag("prod/cpu", -1).text(), Tag("other/gpu", -1).text()])
def test_a_drain_of_ours_whose_pod_has_no_mark_of_ours_is_left_behind(tag: str) -> None:
    assert kinds(drained(ours(), tag)) == [("drain-left", "gpu-1")]


def test_a_drain_of_ours_that_is_over_or_of_no_nodeset_is_left_behind() -> None:
    assert kinds(drained(ours(), resume_after=NOW)) == [("drain-left", "gpu-1")]
    assert kinds(drained(ours(nodeset="gone"))) == [("drain-left", "gpu-1")]


def test_a_drain_before_a_change_of_slurm_conf_is_never_called_a_nodesets() -> None:
    held = node("metal-1", "IDLE+DRAIN", reason=ours("slurm.conf changes", "slurm-conf"))
    (found,) = drift(EXPECTED, seen(nodes=dict(seen().nodes) | {"metal-1": held}))
    assert (found.kind, found.subject) == ("drain-left", "metal-1")
    assert "an update that changes slurm.conf has not ended" in found.text
    assert "`pulumi up` ends the change or gives back what it finds" in found.text
    assert "NodeSet" not in found.text
    assert "drain cancel" not in found.text


@pytest.mark.parametrize("reason", ["a person's", "slurm-operator: x", ours(stack="prod2"), ours(stack="other"), ""])
def test_drains_of_others_are_not_ours_to_judge(reason: str) -> None:
    assert kinds(drained(reason, "")) == []


def test_a_drain_that_is_being_lifted_is_no_drift() -> None:
    lifting = worker("gpu-1", "DRAIN", "UNDRAIN", reason=ours())
    assert kinds(seen(worker("gpu-0"), lifting)) == []


def test_bare_metal_hosts_are_held_exactly_as_the_stack_says() -> None:
    nodes = dict(seen().nodes)
    returned = nodes | {"metal-2": node("metal-2")}
    assert kinds(seen(nodes=returned)) == [("host-not-held", "metal-2")]
    held = node("metal-1", "IDLE+DRAIN", reason=ours("maintenance", "outside-hosts"))
    assert kinds(seen(nodes=nodes | {"metal-1": held})) == [("drain-left", "metal-1")]
    right = node("metal-2", "IDLE+DRAIN", reason=ours("maintenance", "outside-hosts"))
    assert kinds(seen(nodes=nodes | {"metal-2": right})) == []


def test_a_partition_that_slurm_does_not_have_is_told_and_others_are_not() -> None:
    assert kinds(seen(partitions=frozenset({"all", "debug"}))) == [("partition-missing", "gpu")]


STATES = st.lists(st.sampled_from(["IDLE", "DRAIN", "DOWN", "DYNAMIC_NORM", "UNDRAIN"]), min_size=1).map("+".join)
NAMES = st.sampled_from(["gpu-0", "gpu-1", "gpu-2", "metal-1", "x"])
NODES = st.builds(
    node, NAMES, STATES,
    reason=st.sampled_from(["", ours(), ours(stack="other"), "x", ours(nodeset="outside-hosts")]),
    active_features=st.sampled_from([[], ["gpu"], ["cpu"]]),
    version=st.sampled_from(["", "26.05.5", "25.11.1"]),
    resume_after=st.none() | st.just(NOW - 1),
)  # fmt: skip
PODS = st.builds(worker_pod, NAMES, ready=st.booleans(), terminating=st.booleans(), gate=st.sampled_from(["", TAG, "x"]))


@given(st.lists(NODES, max_size=6), st.lists(PODS, max_size=4).map(tuple))
def test_any_look_is_judged_and_the_order_of_nodes_does_not_matter(nodes: list[Node], pods: tuple[Pod, ...]) -> None:
    look = seen(pods=pods, nodes={each.name: each for each in nodes})
    found = drift(EXPECTED, look)
    assert found == drift(EXPECTED, replace(look, nodes={each.name: each for each in look.nodes.values().__reversed__()}))
    for each in found:
        if each.kind == "drain-left":
            assert look.nodes[each.subject].reason.startswith("slinky-iac:prod/")
        if each.kind == "record-left":
            assert each.subject not in {each.slurm_node for each in pods}


def test_what_is_printed_is_harmless_for_a_terminal() -> None:
    text = shown((Finding("drain-left", "gpu\x1b[2J", "why\u202e"),), as_json=False)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert shown((), as_json=False).startswith("no drift")


def test_a_partition_that_the_stack_has_no_more_is_told_with_its_jobs_and_the_steps() -> None:
    (found,) = drift(EXPECTED, seen(left={"old": 14}))
    assert (found.kind, found.subject) == ("partition-left", "old")
    assert "slurm.conf loses partition old with 14 jobs" in found.text
    assert "scontrol update partitionname=old state=drain; squeue --partition=old" in found.text


def test_a_selection_that_somebody_wrote_is_drift() -> None:
    wanted = Selection({"pool": "gpu"})
    expected = replace(EXPECTED, selections={"gpu": wanted})

    def found(fields: dict[str, object], mode: str = "DaemonSet") -> list[str]:
        live = nodeset("gpu", 0, mode=mode, template_spec=fields)
        look = seen(workers={"gpu": Workers(live, (worker_pod("gpu-0"), worker_pod("gpu-1")))})
        return [each.text for each in drift(expected, look) if "which Kubernetes nodes fit" in each.text]

    assert found(wanted.fields) == []
    assert len(found({"nodeSelector": {"pool": "cpu"}})) == 1
    assert len(found(wanted.fields, "StatefulSet")) == 1
