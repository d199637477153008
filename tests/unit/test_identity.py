"""What a live cluster can't change is refused in preview, with what it was, what is asked for, why, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.identity import REASONS, IdentityProvider
from tests.clusters import recorded

PROPS = dict.fromkeys(REASONS, "same")


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
    assert IdentityProvider().update("lab", old, PROPS).outs == PROPS
    assert not IdentityProvider().diff("lab", PROPS, PROPS).changes


def test_the_id_is_the_clusters_name() -> None:
    created = IdentityProvider().create(PROPS | {"clusterName": "atlas"})
    assert (created.id, set(created.outs or {})) == ("atlas", set(REASONS))


@pytest.mark.parametrize(
    ("over", "changed"),
    [
        ({"cluster": {"name": "other"}}, "clusterName"),
        ({"cluster": {"namespace": "other"}}, "namespace"),
        ({"cluster": {"resourceName": "other"}}, "resourceName"),
        ({"keys": {"slurmKeySecret": "other"}}, "slurmKeySecret"),
        ({"keys": {"jwtKeyEntry": "other"}}, "jwtKeySecret"),
        ({"controller": {"persistence": {"enabled": False}}}, "persistence"),
        ({"controller": {"external": {"host": "ctl"}}, "keys": {"source": "imported"}}, "slurmctld"),
    ],
)
def test_every_such_setting_reaches_the_check(over: dict[str, Any], changed: str) -> None:
    before = recorded("all-in-kubernetes").one("slurm:ClusterIdentity").inputs
    after = recorded("all-in-kubernetes", **over).one("slurm:ClusterIdentity").inputs
    assert changed in [name for name, _ in failures(before, after)]


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
    inputs = [
        recorded("all-outside", operator={"version": version}).one("slurm:ClusterIdentity").inputs
        for version in ("1.0.1", "1.2.1")
    ]
    assert failures(*inputs) == []
