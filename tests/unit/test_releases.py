"""The shape of every spec follows the operator's version, as its API source at each tag says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.releases import OperatorVersion

ABILITIES = (
    "refs_have_namespace",
    "has_jwks",
    "has_ssh",
    "has_scaling_mode",
    "copies_metadata",
    "needs_service_monitor_crd",
    "binding_webhook_is_cluster_wide",
    "has_node_ports",
    "leaves_services",
    "writes_gres_conf",
    "prunes_slurm_conf",
    "leaves_records",
    "notes_nodesets",
    "confuses_equal_names",
    "drops_empty_values",
    "merges_mappings",
    "has_topology",
    "reads_hostname_override",
    "renewal_stops",
    "labels_slurmdbd",
)
TABLE = {
    "1.0.0": {
        "leaves_services",
        "refs_have_namespace",
        "needs_service_monitor_crd",
        "confuses_equal_names",
        "renewal_stops",
    },
    "1.0.3": {
        "leaves_services",
        "refs_have_namespace",
        "needs_service_monitor_crd",
        "confuses_equal_names",
        "renewal_stops",
    },
    "1.0.4": {"leaves_services", "needs_service_monitor_crd", "confuses_equal_names", "renewal_stops"},
    "1.0.5": {"leaves_services", "confuses_equal_names", "renewal_stops"},
    "1.0.6": {"leaves_services", "confuses_equal_names", "renewal_stops"},
    "1.1.0": {
        "leaves_services",
        "refs_have_namespace",
        "needs_service_monitor_crd",
        "has_jwks",
        "has_ssh",
        "has_scaling_mode",
        "copies_metadata",
        "binding_webhook_is_cluster_wide",
        "drops_empty_values",
        "merges_mappings",
        "has_topology",
        "writes_gres_conf",
        "renewal_stops",
    },
    "1.1.1": {
        "leaves_services",
        "has_jwks",
        "has_ssh",
        "has_scaling_mode",
        "copies_metadata",
        "has_node_ports",
        "drops_empty_values",
        "merges_mappings",
        "has_topology",
        "writes_gres_conf",
        "renewal_stops",
    },
    "1.2.1": {
        "leaves_services",
        "has_jwks",
        "has_ssh",
        "has_scaling_mode",
        "copies_metadata",
        "has_node_ports",
        "prunes_slurm_conf",
        "leaves_records",
        "notes_nodesets",
        "drops_empty_values",
        "merges_mappings",
        "has_topology",
        "reads_hostname_override",
        "renewal_stops",
    },
    "1.2.2": {
        "leaves_services",
        "has_jwks",
        "has_ssh",
        "has_scaling_mode",
        "copies_metadata",
        "has_node_ports",
        "prunes_slurm_conf",
        "leaves_records",
        "notes_nodesets",
        "drops_empty_values",
        "merges_mappings",
        "has_topology",
        "reads_hostname_override",
    },
    "1.3.0": {
        "has_jwks",
        "has_ssh",
        "has_scaling_mode",
        "copies_metadata",
        "has_node_ports",
        "prunes_slurm_conf",
        "leaves_records",
        "notes_nodesets",
        "drops_empty_values",
        "merges_mappings",
        "has_topology",
        "labels_slurmdbd",
        "reads_hostname_override",
    },
}


@pytest.mark.parametrize(("version", "able"), TABLE.items(), ids=TABLE.keys())
def test_each_release_can_do_what_its_source_says(version: str, able: set[str]) -> None:
    parsed = OperatorVersion.parse(version)
    assert {name for name in ABILITIES if getattr(parsed, name)} == able


def test_the_table_covers_every_ability() -> None:
    flags = {
        name for name, value in vars(OperatorVersion).items() if isinstance(value, property) and name.split("_")[0] != "line"
    }
    assert flags - set(ABILITIES) == {"jwt_ref_field", "slurm_release", "image_tag", "seen", "topology_variable", "webhooks"}


@pytest.mark.parametrize(
    ("version", "jwt", "slurm", "tag"),
    [
        ("1.0.1", "jwtHs256KeyRef", "25.11", "25.11-ubuntu24.04"),
        ("1.1.0", "jwtKeyRef", "25.11", "25.11-ubuntu24.04"),
        ("v1.2.1", "jwtKeyRef", "26.05", "26.05-ubuntu26.04"),
    ],
)
def test_key_reference_and_images_go_with_the_release(version: str, jwt: str, slurm: str, tag: str) -> None:
    parsed = OperatorVersion.parse(version)
    assert (parsed.jwt_ref_field, parsed.slurm_release, parsed.image_tag) == (jwt, slurm, tag)


@pytest.mark.parametrize("text", ["0.4.1", "1.4.0", "2.0.0", "1.2", "latest", "", "1.2.x", "1.2.1 "])
def test_a_release_that_is_not_known_is_refused_not_guessed(text: str) -> None:
    with pytest.raises(ValueError, match="slurm-operator"):
        OperatorVersion.parse(text)


@pytest.mark.parametrize(
    ("version", "way_out"),
    [("0.4.1", "upgrade it to 1.0 or newer"), ("1.4.0", "take a newer release of this program"), ("2.0.0", "stay with")],
)
def test_an_unknown_release_is_refused_with_a_way_out(version: str, way_out: str) -> None:
    with pytest.raises(ValueError, match=way_out):
        OperatorVersion.parse(version)


@pytest.mark.parametrize(
    ("version", "seen"),
    [
        ("1.0.6", ""),
        ("1.2.2", ""),
        ("1.2.3", "this program knows 1.2.2 and older"),
        (
            "1.3.0",
            "only 1.3.0-rc1 was tried, a build of 20 August 2026 (scale-ins, rollouts, slurm.conf, fence, outages)",
        ),
        (
            "1.3.0-rc1",
            "only 1.3.0-rc1 was tried, a build of 20 August 2026 (scale-ins, rollouts, slurm.conf, fence, outages)",
        ),
        ("1.3.1", "this program knows 1.3.0 and older"),
    ],
)
def test_a_release_that_was_not_run_says_what_was(version: str, seen: str) -> None:
    assert OperatorVersion.parse(version).seen == seen


@given(minor=st.integers(min_value=0, max_value=3), patch=st.integers(min_value=0, max_value=99))
def test_text_and_value_are_the_same_release(minor: int, patch: int) -> None:
    version = OperatorVersion(1, minor, patch)
    assert OperatorVersion.parse(str(version)) == version
    assert version.line == f"1.{minor}"
    assert version < OperatorVersion(1, minor, patch + 1) < OperatorVersion(1, minor + 1, 0)
