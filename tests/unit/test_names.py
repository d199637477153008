"""Names stay inside Kubernetes' and Slurm's limits and never collide by being cut; wire formats are pinned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.parts.fence.policy import guarded_by, policy_name

LABEL = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
REASON = st.text(max_size=400)
NUMBER = st.integers(min_value=0, max_value=2**31 - 1)


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a", True), ("a-1", True), ("1a", True), ("a" * 63, True), ("a" * 64, False), ("", False)]
    + [(bad, False) for bad in ("A", "-a", "a-", "a.b", "a_b", "a b", "ä", "a\n")],
)
def test_dns_labels_are_what_kubernetes_takes(name: str, valid: bool) -> None:
    assert names.is_dns_label(name) is valid


@given(name=st.text(alphabet="abc-0", min_size=1, max_size=120), limit=st.integers(min_value=12, max_value=63))
def test_a_short_name_stays_and_a_long_one_keeps_its_limit(name: str, limit: int) -> None:
    short = names.shorten(name, limit)
    assert len(short) <= limit
    assert short == name if len(name) <= limit else short[-9] == "-"


@given(one=LABEL, other=LABEL)
def test_two_long_names_never_become_one(one: str, other: str) -> None:
    long = "x" * 60
    assert (names.shorten(long + one) == names.shorten(long + other)) == (one == other)


def test_the_services_are_those_that_the_operator_makes() -> None:
    assert names.controller_service("slurm") == "slurm-controller"
    assert names.controller_fqdn("slurm", "ns") == "slurm-controller.ns"
    assert names.restapi_service("slurm") == "slurm-restapi"
    assert names.accounting_service("slurm") == "slurm-accounting"


@given(cluster=LABEL, nodeset=LABEL.filter(lambda n: len(n) <= 30))
def test_every_name_of_a_resource_is_a_dns_label(cluster: str, nodeset: str) -> None:
    made = [
        names.slurmctld_shim_service(cluster),
        names.slurm_key_secret(cluster),
        names.jwt_key_secret(cluster),
        names.nodeset_resource(cluster, nodeset),
        names.loginset_resource(cluster, nodeset),
        names.nodeset_hostname(nodeset) + "9999",
        names.nodeset_resource(cluster, nodeset) + "-9999",
    ]
    assert [name for name in made if not names.is_dns_label(name)] == []


@given(cluster=LABEL, nodeset=LABEL)
def test_every_nodeset_of_a_cluster_has_its_prefix(cluster: str, nodeset: str) -> None:
    assert names.nodeset_resource(cluster, nodeset).startswith(names.nodeset_prefix(cluster))


@given(one=st.tuples(LABEL, LABEL), other=st.tuples(LABEL, LABEL))
def test_two_clusters_never_share_a_fence(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (policy_name(*one, "nodesets") == policy_name(*other, "nodesets")) == (one == other)
    assert policy_name(*one, "nodesets") != policy_name(*other, "needed")


@given(stack=LABEL, nodeset=LABEL, why=REASON)
def test_a_drain_reason_fits_slurm_and_is_ours(stack: str, nodeset: str, why: str) -> None:
    reason = names.drain_reason(stack, nodeset[:30], why)
    assert reason.isascii()
    assert len(reason) <= 255
    assert names.owns_reason(reason, stack, nodeset[:30])
    assert not reason.startswith("slurm-operator:"), "the operator would take the drain for its own and undo it"


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("slinky-iac:prod/gpu: scale-in", True),
        ("slinky-iac:prod/gpu", True),
        ("slinky-iac:prod/gpu: scale-in : Not responding", True),
        ("slinky-iac:prod/gpu2: scale-in", False),
        ("slinky-iac:prod2/gpu: scale-in", False),
        ("slurm-operator: Pod is terminating", False),
        ("bad disk slinky-iac:prod/gpu:", False),
        ("", False),
    ],
)
def test_only_a_reason_of_this_stack_and_nodeset_is_ours(reason: str, ours: bool) -> None:
    assert names.owns_reason(reason, "prod", "gpu") is ours


def test_wire_formats_are_pinned() -> None:
    """Each is in state files, on nodes or on pods that exist: a change needs an alias or a reader for the old."""
    assert names.TYPE_PREFIX == "slinky:slurm"
    assert names.API_VERSION == "slinky.slurm.net/v1beta1"
    assert names.REASON_PREFIX == "slinky-iac:"
    assert names.ANNOTATION_GATE == "slinky-iac/scale-in"
    assert names.ANNOTATION_DELETION_COST == "nodeset.slinky.slurm.net/pod-deletion-cost"
    assert names.ANNOTATION_POD_CORDON == "nodeset.slinky.slurm.net/pod-cordon"
    assert names.ANNOTATION_POD_DEADLINE == "nodeset.slinky.slurm.net/pod-deadline"
    assert names.LABEL_CLUSTER == "slinky.slurm.net/cluster"
    assert names.slurm_key_secret("slurm") == "slurm-auth-slurm"
    assert names.jwt_key_secret("slurm") == "slurm-auth-jwths256"
    assert names.nodeset_resource("slurm", "gpu") == "slurm-worker-gpu"
    assert names.nodeset_hostname("gpu") == "gpu-"
    assert names.loginset_resource("slurm", "main") == "slurm-login-main"
    assert names.ANNOTATION_PERMIT == "slinky-iac/permit"
    assert names.permit_to_scale(3, 12) == "scale-to:3@12"
    assert names.permit_to_delete(12) == "delete@12"
    assert policy_name("slurm", "prod", "nodesets") == "slinky-iac-nodesets.slurm.prod"
    assert policy_name("slurm", "prod", "needed") == "slinky-iac-needed.slurm.prod"
    assert policy_name("slurm", "prod", "pods") == "slinky-iac-pods.slurm.prod"
    assert guarded_by(policy_name("pods", "workers", "crds")) == "crds"


@given(one=st.tuples(NUMBER, NUMBER), other=st.tuples(NUMBER, NUMBER))
def test_a_permission_is_for_one_number_and_one_generation(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (names.permit_to_scale(*one) == names.permit_to_scale(*other)) == (one == other)
    assert (names.permit_to_delete(one[1]) == names.permit_to_delete(other[1])) == (one[1] == other[1])
    assert names.permit_to_scale(*one) != names.permit_to_delete(other[1])
