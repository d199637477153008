"""What a live cluster can't change is refused in preview, with what it was, what is asked for, why, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from components.cluster_identity import ClusterIdentity, cluster_props
from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.identity import KUBERNETES, PINNED, REASONS, RECORDED, STACK, IdentityProvider, made_here, refusals
from tests.clusters import recorded, stack_sections
from tests.program import run
from tests.stacks import merged, without_networks

PROPS = dict.fromkeys(REASONS, "same")
WHOLE = {name: PROPS.get(name) for name in RECORDED}
HERE, ELSEWHERE = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"


def identity(stack: str, **over: Any) -> dict[str, Any]:
    """What a program gives to the check, of which no other resource is made here."""
    config = load(merged(without_networks(stack_sections(stack)), over))
    found: dict[str, Any] = (
        run(lambda: ClusterIdentity("cluster-identity", cluster_props(config))).one("slurm:ClusterIdentity").inputs
    )
    return found


def test_a_whole_program_gives_the_same_to_the_check() -> None:
    assert recorded("all-in-kubernetes").one("slurm:ClusterIdentity").inputs == identity("all-in-kubernetes")


def failures(olds: dict[str, Any], news: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f.property, f.reason) for f in IdentityProvider().check(olds, news).failures]


def test_a_new_cluster_and_an_unchanged_one_are_accepted() -> None:
    assert failures({}, PROPS) == []
    assert failures(PROPS, PROPS) == []


@pytest.mark.parametrize("name", REASONS)
def test_each_property_is_refused_with_both_values_and_the_reason(name: str) -> None:
    ((where, said),) = failures(PROPS, PROPS | {name: "other"})
    assert where == name
    assert "'same'" in said
    assert "'other'" in said
    assert REASONS[name] in said
    assert "Set it back" in said


def test_a_property_that_an_older_state_lacks_is_recorded_not_refused() -> None:
    old = {name: value for name, value in PROPS.items() if name != "persistence"}
    assert failures(old, PROPS) == []
    assert IdentityProvider().diff("lab", old, PROPS).changes
    assert IdentityProvider().update("lab", old, PROPS).outs == WHOLE
    assert not IdentityProvider().diff("lab", PROPS, PROPS).changes


def test_the_id_is_the_clusters_name() -> None:
    created = IdentityProvider().create(PROPS | {"clusterName": "atlas"})
    assert (created.id, set(created.outs or {})) == ("atlas", set(RECORDED))


@pytest.mark.parametrize(
    ("over", "changed"),
    [
        ({"cluster": {"name": "other"}}, "clusterName"),
        ({"cluster": {"namespace": "other"}}, "namespace"),
        ({"cluster": {"resourceName": "other"}}, "resourceName"),
        ({"keys": {"slurmKeyFrom": {"secret": "other"}}}, "slurmKeySecret"),
        ({"keys": {"jwtKeyFrom": {"secret": "slurm-auth-jwths256", "key": "other"}}}, "jwtKeySecret"),
        ({"controller": {"persistence": {"enabled": False}}}, "persistence"),
        ({"controller": {"external": {"host": "ctl"}}, "keys": {"source": "imported"}}, "slurmctld"),
    ],
)
def test_every_such_setting_reaches_the_check(over: dict[str, Any], changed: str) -> None:
    before = identity("all-in-kubernetes")
    after = identity("all-in-kubernetes", **over)
    assert changed in refusals(before, after)


def test_the_check_finds_the_old_values_whatever_changes() -> None:
    """A resource under a new logical name would be a new one, and nothing would be compared."""
    urns = {
        recorded("all-in-kubernetes", cluster={"name": name, "namespace": name, "resourceName": name})
        .one("slurm:ClusterIdentity")
        .urn
        for name in ("atlas", "other")
    }
    assert len(urns) == 1


def test_another_operator_release_is_no_other_cluster() -> None:
    """The field that refers to the JWT key is called otherwise from 1.1 on; the key is the same."""
    inputs = [identity("all-outside", operator={"version": version}) for version in ("1.0.1", "1.2.1")]
    assert refusals(*inputs) == {}


def test_a_namespace_that_this_stack_made_cannot_leave_the_program() -> None:
    """Pulumi deletes what leaves the program: the namespace with every pod, job and key in it."""
    before = identity("all-in-kubernetes")
    after = identity("all-in-kubernetes", cluster={"createNamespace": False})
    ((where, said),) = refusals(before, after).items()
    assert where == "createNamespace"
    assert "can't change from true to false" in said
    assert "cluster.keepNamespace: true" in said


def test_a_namespace_that_is_kept_may_leave_the_program_only_once_the_state_knows_that_it_is_kept() -> None:
    kept = PROPS | {"createNamespace": True, "keepNamespace": True}
    assert refusals(kept, PROPS | {"createNamespace": False, "keepNamespace": False}) == {}
    both_at_once = refusals(kept | {"keepNamespace": False}, PROPS | {"createNamespace": False, "keepNamespace": True})
    assert set(both_at_once) == {"createNamespace"}


def test_a_namespace_of_others_may_be_left_though_an_update_was_refused_it() -> None:
    """That update had recorded what it was to make; the message told to set createNamespace: false."""
    wanted, left = PROPS | {"createNamespace": True}, PROPS | {"createNamespace": False}
    assert refusals(wanted, left, made_here=False) == {}
    assert set(refusals(wanted, left)) == {"createNamespace"}, "who can't ask doesn't let it go"


@pytest.mark.parametrize(
    ("labels", "annotations", "ours"),
    [
        ({}, {names.ANNOTATION_STACK: "prod"}, True),
        ({names.LABEL_CLUSTER: "slurm"}, {names.ANNOTATION_STACK: "other"}, False),
        ({names.LABEL_CLUSTER: "slurm"}, {}, True),
        ({names.LABEL_CLUSTER: "other"}, {}, False),
        ({}, {}, False),
    ],
    ids=["annotated", "another stack's", "made before the annotation", "another cluster's", "nobody's"],
)
def test_whose_a_namespace_is_stands_on_it(labels: dict[str, str], annotations: dict[str, str], ours: bool) -> None:
    assert made_here(labels, annotations, {STACK: "prod", "resourceName": "slurm"}) is ours


def test_the_namespace_is_left_on_destroy_where_that_is_asked_for() -> None:
    def kept(**cluster: Any) -> list[bool]:
        made = recorded("all-in-kubernetes", cluster=cluster).of("core/v1:Namespace")
        return [each.retained for each in made if each.inputs["metadata"]["name"] == "slurm"]

    assert kept() == [False]
    assert kept(keepNamespace=True) == [True]


def test_the_operators_namespace_cannot_leave_the_program_while_the_operator_stays() -> None:
    inputs = {
        name: identity("all-outside", operator=operator)
        for name, operator in (("made", {}), ("left", {"createNamespace": False}), ("none", {"install": False}))
    }
    assert set(refusals(inputs["made"], inputs["left"])) == {"operatorNamespace"}
    assert refusals(inputs["made"], inputs["none"]) == {}
    assert refusals(inputs["left"], inputs["made"]) == {}


@pytest.mark.parametrize("leaves", [{"install": False}, {"installCrds": False}])
def test_crds_that_nothing_protects_cannot_leave_the_program(leaves: dict[str, Any]) -> None:
    """With them goes every NodeSet on that Kubernetes cluster, with the jobs on its pods."""

    def inputs(**operator: Any) -> dict[str, Any]:
        found: dict[str, Any] = identity("all-outside", operator=operator)
        return found

    bare = inputs(protectCrds=False)
    assert "protectCrds: true" in refusals(bare, inputs(protectCrds=False, **leaves))["operatorCrds"]
    assert "operatorCrds" in refusals(bare, inputs(protectCrds=True, **leaves)), "the state says what protects them"
    assert refusals(inputs(), inputs(**leaves)) == {}, "the engine refuses to delete what is protected"
    assert refusals(bare, inputs(protectCrds=True)) == {}
    of_old = {name: value for name, value in bare.items() if name != "operatorCrds"}
    assert refusals(of_old, inputs(**leaves)) == {}, "not recorded: nothing is known"


@pytest.mark.parametrize("source", ["existing", "external"])
def test_key_secrets_that_nothing_protects_cannot_leave_the_program(source: str) -> None:
    """Pulumi would delete them under the daemons that mount them."""

    def inputs(**keys: Any) -> dict[str, Any]:
        names = {"slurmKeyFrom": {"secret": "slurm-auth-slurm"}, "jwtKeyFrom": {"secret": "slurm-auth-jwths256"}}
        found: dict[str, Any] = identity("all-outside", keys=names | keys, cluster={"createNamespace": False})
        return found

    bare, others = inputs(protect=False), inputs(source=source, protect=False)
    assert "keys.protect: true" in refusals(bare, others)["keySecrets"]
    assert "keySecrets" in refusals(bare, inputs(source=source)), "the state says what protects them"
    assert refusals(inputs(), others) == {}, "the engine refuses to delete what is protected"
    assert refusals(bare, inputs()) == refusals(others, bare) == {}


def test_a_record_that_says_nothing_new_is_no_change() -> None:
    old = {name: value for name, value in WHOLE.items() if name != "keySecrets"}
    assert not IdentityProvider().diff("lab", old, WHOLE | {"keySecrets": ""}).changes
    assert IdentityProvider().diff("lab", old, WHOLE | {"keySecrets": "not protected"}).changes


def test_a_stack_that_lives_in_one_kubernetes_is_refused_in_another() -> None:
    said = refusals(PROPS | {KUBERNETES: HERE}, PROPS | {KUBERNETES: ELSEWHERE})
    assert set(said) == {KUBERNETES}
    assert HERE in said[KUBERNETES]
    assert f"kubernetes.cluster: {ELSEWHERE}" in said[KUBERNETES]


@pytest.mark.parametrize(("recorded_uid", "live"), [("", HERE), (HERE, ""), (HERE, HERE), (None, HERE)])
def test_a_kubernetes_that_is_unknown_or_the_same_is_not_refused(recorded_uid: str | None, live: str) -> None:
    assert refusals(PROPS | {KUBERNETES: recorded_uid}, PROPS | {KUBERNETES: live}) == {}


@pytest.mark.parametrize(
    ("live", "refused"), [(HERE, False), (ELSEWHERE, True), ("", True)], ids=["it", "another", "none answers"]
)
def test_a_pinned_kubernetes_is_the_only_one(live: str, refused: bool) -> None:
    """Also where nothing is recorded yet, or another one is: the pin is how a stack goes on where its cluster is gone."""
    for known in ("", HERE, ELSEWHERE):
        news = PROPS | {KUBERNETES: live, PINNED: HERE}
        assert (KUBERNETES in refusals(PROPS | {KUBERNETES: known}, news)) is refused


def test_the_known_kubernetes_is_kept_where_none_answers() -> None:
    """Otherwise a preview from a desk without the cluster would show a difference, and the next one too."""
    checked = IdentityProvider().check(PROPS | {KUBERNETES: HERE}, dict(PROPS))
    assert checked.inputs[KUBERNETES] == HERE


def test_every_property_that_is_recorded_reaches_the_check() -> None:
    inputs = recorded("all-outside", kubernetes={"cluster": HERE, "context": "prod"}).one("slurm:ClusterIdentity").inputs
    assert {*RECORDED, PINNED} <= inputs.keys(), "without these the check doesn't ask which Kubernetes answers"
    assert (inputs[PINNED], inputs["context"]) == (HERE, "prod")
