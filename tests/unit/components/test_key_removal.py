"""A planned stop removes a key with all that was made after it: by the stack's own order that is just what reads the key."""

from __future__ import annotations

import pytest

from slinky_iac import names
from slinky_iac.cluster.blueprint import blueprint
from slinky_iac.cluster.pulumi_state import Resource
from slinky_iac.keys.registry import BY_NAME
from tests.clusters import recorded, state_of
from tests.program import Recording, Registered
from tests.stacks import FORMS

LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
STAYING = (
    "helm.sh/v3:Release",
    "core/v1:Namespace",
    "CustomResourceDefinition",
    "pulumi:providers:kubernetes",
    "ClusterIdentity",
    "PersistentVolumeClaim",
)
"""What other stacks, or the queue, live on."""


def holders(recording: Recording, which: str) -> tuple[Resource, ...]:
    state = state_of(recording)
    return blueprint(state).holders(state, BY_NAME[which].label)


def removed_with(recording: Recording, which: str) -> list[Registered]:
    """What `pulumi destroy --target KEY --target-dependents` removes."""
    first = holders(recording, which)[0].urn
    return [r for r in recording.resources if r.urn == first or first in recording.before(r)]


@pytest.mark.parametrize("stack", FORMS)
@pytest.mark.parametrize("which", ["slurm", "jwt"])
def test_all_daemons_and_their_gates_go_with_a_key_and_nothing_that_others_live_on(stack: str, which: str) -> None:
    recording = recorded(stack, logins=LOGINS)
    gone = removed_with(recording, which)
    kinds = {r.type for r in gone}
    custom = f"kubernetes:{names.API_VERSION}:"
    assert {r.urn for r in recording.resources if r.type.startswith(custom)} <= {r.urn for r in gone}
    assert {r.urn for r in recording.of("Gate")} <= {r.urn for r in gone}
    assert not [kind for kind in kinds if kind.endswith(STAYING)]
    other = "-jwt-key" if which == "slurm" else "-slurm-key"
    assert not [r.name for r in gone if r.name.endswith((other, f"{other}-secret"))], "the other key stays"


@pytest.mark.parametrize("which", ["slurm", "jwt"])
def test_a_key_of_an_external_store_takes_its_daemons_along_and_no_secret(which: str) -> None:
    keys = {"source": "external", "slurmKeyFrom": {"secret": "ours"}, "jwtKeyFrom": {"secret": "theirs"}}
    recording = recorded("all-in-kubernetes", keys=keys, cluster={"createNamespace": False})
    gone = removed_with(recording, which)
    custom = f"kubernetes:{names.API_VERSION}:"
    assert {r.urn for r in recording.resources if r.type.startswith(custom)} <= {r.urn for r in gone}
    assert len([r for r in gone if r.type.endswith("ExternalKey")]) == 1


@pytest.mark.parametrize("stack", FORMS)
@pytest.mark.parametrize("which", ["slurm", "jwt"])
def test_nothing_else_that_is_protected_stands_in_the_way(stack: str, which: str) -> None:
    recording = recorded(stack, logins=LOGINS)
    lifted = {holder.urn for holder in holders(recording, which) if holder.protect}
    assert lifted
    assert {r.urn for r in removed_with(recording, which) if r.protect} == lifted
