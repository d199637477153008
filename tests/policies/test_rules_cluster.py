"""Rules about names, numbers, images, storage, the operator and who may read what."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules import (
    images,
    slurm_conf,
    storage,
    tokens,
)
from slurm_rules.beside import cluster_complete
from slurm_rules.closed import cluster_as_made
from slurm_rules.model import Resource, Stack

from tests.policies.in_memory import one
from tests.policies.judging import Change, judged, messages, spec
from tests.stacks import merged


@pytest.mark.timeout(20)
@pytest.mark.parametrize("inside", ["1-" + "9" * 5000, "9" * 5000, ",".join(["0-65000"] * 1000), "\u00b2-\u00b3"])
def test_a_node_expression_of_no_sensible_cluster_stands_for_itself(inside: str) -> None:
    assert slurm_conf.expand(f"metal-[{inside}]") == [f"metal-[{inside}]"]


def test_node_expressions_are_expanded_before_they_are_counted() -> None:
    assert slurm_conf.expand("metal-[001-003,7]") == ["metal-001", "metal-002", "metal-003", "metal-7"]
    assert slurm_conf.split_list("a[1,2],b") == ["a[1,2]", "b"]
    assert slurm_conf.expand("x[1-9999999]") == ["x[1-9999999]"]


def test_comments_and_continued_lines_are_read_as_slurm_reads_them() -> None:
    text = '# PartitionName=no\nPartitionName=yes \\\n Nodes=a,b # PartitionName=no\nDescription="a b"\n'
    found = list(slurm_conf.lines(text))
    assert [line.first for line in found] == ["partitionname", "description"]
    assert found[0].get("nodes") == "a,b"
    assert found[1].value == "a b"


def test_a_reference_to_another_namespace_is_refused() -> None:
    change = spec("restapi", controllerRef={"name": "slurm", "namespace": "other"})
    assert "controllerRef.namespace is other; a reference to another" in messages(judged(cluster_complete, change))


@pytest.mark.parametrize(
    ("image", "require", "fine"),
    [
        ("slurmd", "tag", False),
        ("registry:5000/slurmd", "tag", False),
        ("registry:5000/slurmd:26.05", "tag", True),
        ("slurmd@sha256:" + "0" * 64, "tag", True),
        ("slurmd:26.05", "digest", False),
        ("slurmd:26.05@sha256:" + "0" * 64, "digest", True),
    ],
)
def test_what_pins_an_image(image: str, require: str, fine: bool) -> None:
    change = spec("restapi", slurmrestd={"image": image})
    known = {"images": ["ghcr.io/slinkyproject", "docker.io/library", "registry:5000"]}
    found = judged(cluster_as_made, change, {**known, "require": require, "except": ["ghcr.io/*"]})
    assert (not found.violations) is fine


@pytest.mark.parametrize(
    "chart",
    [
        f"oci://r.example.org/c/slurm-operator@sha256:{'0' * 64}",
        f"oci://r.example.org/c/slurm-operator:1.2.1@sha256:{'0' * 64}",
        "/srv/charts/slurm-operator",
        "./charts/slurm-operator",
        "oci://allowed.example.org/slurm-operator",
    ],
)
def test_a_chart_is_pinned_by_its_digest_its_folder_or_the_sites_word(chart: str) -> None:
    options = {"require": "digest", "except": ["ghcr.io/*", "allowed.example.org/*"]}
    change: Change = {
        "resources": {
            "operator": {"properties": {"chart": chart}},
            "crds": {"properties": {"chart": "/c/slurm-operator-crds"}},
        }
    }
    options |= {"images": ["ghcr.io/slinkyproject", "r.example.org", "allowed.example.org"]}
    assert judged(cluster_as_made, change, options=options).violations == ()


def test_a_chart_by_a_name_is_of_a_repository_of_the_machine() -> None:
    change = {"resources": {"crds": {"properties": {"chart": "slinky/slurm-operator-crds"}}}}
    assert "of a registry that this site doesn't know" in messages(judged(cluster_as_made, change))


def test_a_chart_from_a_registry_needs_a_version() -> None:
    change = {"resources": {"crds": {"properties": {"chart": "oci://registry.example.org/slurm-operator-crds"}}}}
    assert "isn't pinned" in messages(judged(cluster_as_made, change, {"images": ["ghcr.io", "registry.example.org"]}))


def test_gates_and_chart_of_two_releases_are_found() -> None:
    change = {"resources": {"gate": {"properties": {"operatorVersion": "1.1.2"}}}}
    assert "slurm-operator 1.1.2, 1.2.1" in messages(judged(images.versions_agree, change))


def test_slinkys_images_go_with_the_operator() -> None:
    change = spec("restapi", slurmrestd={"image": "ghcr.io/slinkyproject/slurmrestd:25.11-ubuntu24.04"})
    assert "slurm-operator 1.2.1 goes with 26.05" in messages(judged(images.versions_agree, change))


def test_a_site_can_say_what_its_outside_slurmctld_is() -> None:
    assert judged(images.versions_agree, base="outside").violations == ()
    verdict = judged(images.versions_agree, options={"outsideRelease": "25.11"}, base="outside")
    assert "newer than slurmctld's 25.11" in messages(verdict)


def test_the_tag_of_a_sidecar_is_no_release_of_slurm() -> None:
    change = spec("nodeset", logfile={"image": "docker.io/library/ubuntu:22.04"})
    assert judged(images.versions_agree, change).violations == ()


def database(**pod: Any) -> Change:
    body = {"name": "db", "image": "mariadb:11.8", "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}]}
    meta = {"name": "mariadb-0", "namespace": "databases", "labels": {"app": "mariadb"}}
    service = {"name": "mariadb", "namespace": "databases"}
    return {
        "resources": {
            "service": {
                "type": "kubernetes:core/v1:Service",
                "properties": {"kind": "Service", "metadata": service, "spec": {"selector": {"app": "mariadb"}}},
            },
            "database": {
                "type": "kubernetes:core/v1:Pod",
                "properties": {"kind": "Pod", "metadata": meta, "spec": {"containers": [body], **pod}},
            },
        }
    }


def test_a_database_is_found_through_its_service() -> None:
    change = database(volumes=[{"name": "data", "emptyDir": {}}])
    assert "keeps its data in an emptyDir" in messages(judged(storage.accounting_database_durable, change))


def test_a_database_with_a_claim_is_allowed() -> None:
    change = database(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    assert judged(storage.accounting_database_durable, change).violations == ()


def test_an_ephemeral_mariadb_of_the_mariadb_operator_is_refused() -> None:
    meta = {"name": "mariadb", "namespace": "databases"}
    properties = {"kind": "MariaDB", "metadata": meta, "spec": {"storage": {"ephemeral": True}}}
    change = {"resources": {"db": {"type": "kubernetes:k8s.mariadb.com/v1alpha1:MariaDB", "properties": properties}}}
    assert "storage.ephemeral: true" in messages(judged(storage.accounting_database_durable, change))


@pytest.mark.parametrize(
    ("name", "protect", "refused"),
    [
        ("nodesets.slinky.slurm.net", False, True),
        ("nodesets.slinky.slurm.net", True, False),
        ("x.example.org", False, False),
    ],
)
def test_a_crd_that_the_stack_declares_itself_is_protected_too(name: str, protect: bool, refused: bool) -> None:
    type_ = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
    crd = Resource(type_, "crd", "urn:crd", {"metadata": {"name": name}}, protect=protect)
    assert bool(one(cluster_complete, Stack((crd,))).violations) is refused


def test_crds_inside_the_operators_own_release_are_refused() -> None:
    change = {"resources": {"operator": {"properties": {"values": {"crds": {"enabled": True}}}}}}
    assert "values.crds.enabled is True; its removal" in messages(judged(cluster_complete, change))


def called(name: str) -> Change:
    return merged(spec("controller", clusterName=name), {"resources": {"identity": {"properties": {"clusterName": name}}}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spec("nodeset", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}), "maxUnavailable is 0; no pod"),
        (spec("nodeset", partition={"config": "A=1\nB=2"}), "join several lines"),
        (spec("nodeset", template={"spec": {"hostname": "GPU_"}}), "no DNS label"),
        (called("c" * 41), "40 characters are allowed"),
        (called("c" * 40), ""),
    ],
)
def test_what_the_operator_refuses(change: Change, said: str) -> None:
    verdict = judged(cluster_complete, change)
    assert said in messages(verdict)
    assert bool(verdict.violations) is bool(said)


@pytest.mark.parametrize(("text", "seconds"), [("15m", 900), ("1h30m", 5400), ("90", None), ("8760h", 31536000), ("", None)])
def test_durations_are_read_as_go_writes_them(text: str, seconds: float | None) -> None:
    assert slurm_conf.seconds(text) == seconds


@pytest.mark.parametrize(("lifetime", "fine"), [("24h", True), ("24h1s", False), ("a day", False), (None, True)])
def test_lifetimes_of_tokens(lifetime: str | None, fine: bool) -> None:
    token = Resource("kubernetes:slinky.slurm.net/v1beta1:Token", "t", "urn:t", {"spec": {"lifetime": lifetime}})
    assert (not one(tokens.token_lifetimes, Stack((token,))).violations) is fine


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["A" * 100_000, "A" * 50_000 + " " * 50_000, "A=" * 20_000], ids=["word", "blanks", "pairs"]
)
def test_a_long_line_of_slurm_conf_is_read_in_a_moment(text: str) -> None:
    assert list(slurm_conf.settings(text)) in ([], ["a"])
