"""The planned stop of a key that an external store makes: with its new key only, and nothing starts before hosts have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from slinky_iac import external_keys
from slinky_iac.commands.rotation.planned_stop import DAEMONS, REMOVE, UP
from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.keys.catalogue import JWT
from tests.raw_keys import raw_key
from tests.stacks import merged
from tests.unit.rotation.test_planned_stop import NO_JWKS
from tests.unit.rotation.test_stopping import Stopped, load, stop
from tests.unit.rotation.world import OLD

NEW = raw_key("new")
STORE = merged(
    NO_JWKS,
    {
        "keys": {"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}, "madeBy": "Vault"},
        "cluster": {"createNamespace": False},
    },
)
URN = (
    "urn:pulumi:prod::slinky-iac::slinky:slurm:HybridCluster$slinky:slurm:AuthKeys$pulumi-python:dynamic/slurm:ExternalKey"
    "::lab-keys-slurm-key-external"
)
BLUEPRINT = "slinky:slurm:Blueprint"
SALT = "00" * 16


@dataclass
class Store(Stopped):
    """A Secret that this stack neither makes nor removes; the state knows its key again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        known = {"salt": SALT, "mark": external_keys.mark(OLD, SALT)}
        daemons = [each for each in self.state if "slinky.slurm.net" in each["type"]]
        kind = "pulumi-python:dynamic/slurm:ExternalKey"
        bare = {"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:prod::slinky-iac::pulumi:pulumi:Stack::x"}
        stack = [each for each in self.state if each["type"] == BLUEPRINT]
        self.state = [bare, *stack, *daemons, {"type": kind, "urn": URN, "protect": False, "outputs": known}]
        self.whole = [dict(each) for each in self.state]

    def settled(self) -> None:
        raise AssertionError("no preview comes to its end while the Secret has another key")

    def remove_with_dependents(
        self, wanted: Sequence[str], protected: Sequence[str], more: Mapping[str, str] | None = None
    ) -> None:
        assert (list(wanted), list(protected)) == ([URN], [])
        self.operate("destroy")
        self.state = [each for each in self.state if each["type"] in ("pulumi:pulumi:Stack", BLUEPRINT)]

    def up(self) -> None:
        self.operate("up")
        self.state = [dict(each) for each in self.whole]
        assert self.key is not None
        self.pods = dict.fromkeys(("slurmctld", "slurmrestd", "worker"), self.key)


def world(secret: bytes | None) -> Store:
    found = Store(load(STORE))
    found.hold(secret)
    return found


def test_the_stop_brings_the_stores_key_to_hosts_before_pods_start_with_it() -> None:
    found = world(NEW)
    plan = stop(found, via=True).run(start=True)
    assert not plan.under_way
    assert [step.name for step in plan.steps] == [REMOVE, DAEMONS, UP]
    assert set(found.pods.values()) | set(found.placed.values()) == {NEW}
    first = next(at for at, what in enumerate(found.order) if what.startswith("host"))
    assert found.order.index("destroy") < found.order.index("wait") < first < found.order.index("up")
    assert "set" not in " ".join(found.order), "the configuration has no key"


@pytest.mark.parametrize(
    ("secret", "error", "said"),
    [
        (OLD, RotationError, "has the key that the cluster runs with.*Vault"),
        (None, RotationError, "isn't there"),
        (b"short", KeyMaterialError, "has 5 bytes"),
    ],
)
def test_nothing_is_stopped_without_a_new_sound_key(secret: bytes | None, error: type[Exception], said: str) -> None:
    found = world(secret)
    with pytest.raises(error, match=said):
        stop(found, via=True).run(start=True)
    assert found.order == []


def test_a_key_of_a_store_is_never_replaced_under_running_jobs() -> None:
    found: Any = world(NEW)
    with pytest.raises(RotationError, match=r"keys\.source is external.*--stop"):
        stop(found, via=True).run(start=False)


def test_a_jwt_key_that_gates_would_sign_with_is_brought_to_daemons_and_not_in_a_stop() -> None:
    """slurmctld refuses tokens of a key that it doesn't have, so no gate could drain."""
    found = world(NEW)
    for each in found.state:
        each["urn"] = each["urn"].replace("-slurm-key-", "-jwt-key-")
    stopping = found.runner(JWT, stop=True)
    with pytest.raises(RotationError, match=r"nothing could be drained.*keys\.acceptedChange"):
        stopping.run(start=True)
    assert found.order == []
