"""A rotation cut short anywhere goes on when it is run again, and at no moment does one half sign what the other refuses."""

from __future__ import annotations

import pytest

from slinky_iac.config.load import load
from slinky_iac.errors import RotationError, SlurmrestUnreachable
from slinky_iac.key_lifecycle import jwt, rotate, slurm
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import START
from slinky_iac.key_lifecycle.rotate import refuse_unrotatable
from slinky_iac.keys.jwks import slurm_jwks
from tests.stacks import merged, outside
from tests.unit.key_lifecycle.world import CONFIG, OLD, OLD_JWT, PODS, Cut, World, rotating


def ended(world: World, which: str) -> bool:
    """Whether everything has the new key alone."""
    if which == "jwt":
        new = world.set["jwtKey"]
        same = set(world.jwt_of.values()) == {new} == set(world.jwt_secret)
        return same and new != OLD_JWT and "jwtKeyNext" not in world.set
    new = world.set["slurmKey"]
    same = set(world.known.values()) == {slurm_jwks(new)} and world.key_secret == new
    return same and new != OLD and set(world.set) == {"slurmKey", "jwtKey"}


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_one_run_carries_a_rotation_to_its_end(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch, which).run(start=True)
    world.check()
    assert ended(world, which)
    assert (plan.under_way, world.made) == (False, 1)


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_a_rotation_that_is_cut_at_any_operation_goes_on_from_there(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = World()
    rotating(whole, monkeypatch, which).run(start=True)
    assert whole.operations > 8
    for cut in range(whole.operations):
        world = World(cut=cut)
        with pytest.raises(Cut):
            rotating(world, monkeypatch, which).run(start=True)
        world.cut = None
        rotating(world, monkeypatch, which).run(start=world.made == 0)
        world.check()
        if not ended(world, which):  # cut between the making of the key and its setting: nothing had begun
            assert world.set == {"slurmKey": OLD, "jwtKey": OLD_JWT}


@pytest.mark.parametrize("which", ["jwt", "slurm"])
@pytest.mark.parametrize("first", range(2, 20, 5))
def test_a_rotation_that_is_cut_again_and_again_ends_too(which: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for each in range(40):
        world.cut = world.operations + first + each % 3
        try:
            rotating(world, monkeypatch, which).run(start=world.made == 0)
        except Cut:
            continue
        break
    world.check()
    assert ended(world, which)


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_none_begins_unasked(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch, which).run(start=False)
    assert (plan.under_way, world.operations, world.made) == (False, 0, 0)


def test_where_kubelet_forgets_a_pod_nobody_changes_to_the_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lazy=frozenset({PODS[1]}))
    with pytest.raises(RotationError, match=f"these pods don't have the new slurm.jwks: {PODS[1]}"):
        rotating(world, monkeypatch, "slurm").run(start=True)
    world.check()
    assert world.set["slurmKey"] == OLD


def test_pods_that_do_not_take_part_yet_stop_a_rotation_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.files[PODS[0]]["slurm.jwks"] = b"{}"
    world.jwks_secret = slurm_jwks(OLD)
    plan = rotating(world, monkeypatch, "slurm").plan()
    assert plan.due is not None
    assert plan.due.name == slurm.FORGET_PODS
    assert world.made == 0


def test_no_rotation_begins_while_unmanaged_nodes_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their jobs would be lost at the change, and nothing would have said so."""
    world = World(unmanaged=None)
    with pytest.raises(RotationError, match=r"unknown whether.*Nothing was changed"):
        rotating(world, monkeypatch, "slurm").run(start=True)
    assert (world.operations, world.set["slurmKey"]) == (0, OLD)


def test_without_via_the_hosts_steps_wait_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch, "slurm", via=None).run(start=True)
    assert plan.due is not None
    assert plan.due.name == slurm.LEARN_HOSTS
    again = rotating(world, monkeypatch, "slurm", via=None).run(start=False)
    assert again.due == plan.due, "asking again isn't doing it"
    assert world.set["slurmKey"] == OLD
    for step, then in ((slurm.LEARN_HOSTS, slurm.CHANGE_HOSTS), (slurm.CHANGE_HOSTS, slurm.FORGET_HOSTS)):
        by_hand(world, monkeypatch)
        plan = rotating(world, monkeypatch, "slurm", via=None, confirmed=step).run(start=False)
        assert plan.due is not None
        assert plan.due.name == then
        assert plan.under_way
    by_hand(world, monkeypatch)
    world.check()
    assert ended(world, "slurm")


def by_hand(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person does: pipe each host's script to it, in the plan's order."""
    for host in world.hosts:
        world.script(host, rotating(world, monkeypatch, "slurm", via=None).script(host.name))


def test_a_confirmation_holds_for_the_step_that_it_names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    rotating(world, monkeypatch, "slurm", via=None).run(start=True)
    plan = rotating(world, monkeypatch, "slurm", via=None, confirmed=slurm.CHANGE_HOSTS).run(start=False)
    assert plan.due is not None
    assert plan.due.name == slurm.LEARN_HOSTS


def test_the_jwt_keys_hosts_step_needs_no_word_for_tokens_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = rotating(world, monkeypatch, "jwt", via=None).run(start=True)
    assert plan.due is not None
    assert plan.due.name == jwt.HOSTS
    for host in plan.due.hosts:
        world.script(host, rotating(world, monkeypatch, "jwt", via=None).script(host.name))
    rotating(world, monkeypatch, "jwt", via=None).run(start=False)
    assert ended(world, "jwt")


def test_a_script_is_made_only_for_a_host_whose_turn_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    rotation = rotating(world, monkeypatch, "jwt", via=None)
    with pytest.raises(RotationError, match="isn't the hosts' turn"):
        rotation.script("ctl")
    rotation.run(start=True)
    with pytest.raises(RotationError, match="which is for dbd, ctl"):
        rotation.script("metal-1")
    assert START not in rotation.script("ctl")


@pytest.mark.parametrize(
    ("over", "which", "words"),
    [
        ({"keys": {"source": "generated"}}, "jwt", "only imported keys"),
        ({"controller": {"external": None}}, "jwt", "slurmctld is in Kubernetes"),
        ({"keys": {"jwks": False}}, "slurm", "keys.jwks is false"),
    ],
)
def test_what_cannot_be_replaced_under_jobs_is_refused_before_anything(
    over: dict[str, object], which: str, words: str
) -> None:
    with pytest.raises(RotationError, match=words) as caught:
        refuse_unrotatable(Material(load(merged(CONFIG, over)), {}), which)  # type: ignore[arg-type]
    assert "Nothing was changed" in str(caught.value)
    refuse_unrotatable(Material(load(outside()), {}), "jwt")


def test_without_slurmctlds_word_on_its_nodes_no_host_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was there before couldn't be told afterwards from who was lost."""
    world = World()
    rotation = rotating(world, monkeypatch, "slurm")

    def silent(_look: object, **_: object) -> None:
        raise SlurmrestUnreachable("no answer")

    monkeypatch.setattr(rotate, "_started", silent)
    with pytest.raises(SlurmrestUnreachable):
        rotation.run(start=True)
    assert all("slurm.jwks" not in world.files[host.name] for host in world.hosts)


def test_a_node_that_does_not_come_back_stops_the_rotation_before_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    rotation = rotating(world, monkeypatch, "slurm")
    monkeypatch.setattr(rotate, "_started", lambda _look, **_: {"metal-1": 1, "gpu-0": world.started})
    for _ in range(3):  # impatience doesn't help: it would be cut off at the change
        with pytest.raises(RotationError, match="haven't come back: metal-1"):
            rotation.run(start=True)
        assert world.set["slurmKey"] == OLD


@pytest.mark.parametrize(
    ("state", "awaited"),
    [
        ({"ALLOCATED", "NOT_RESPONDING"}, True),
        ({"DOWN", "NOT_RESPONDING"}, False),
        ({"IDLE", "CLOUD", "POWERED_DOWN"}, False),
    ],
)
def test_a_silent_node_is_awaited_and_one_without_a_slurmd_is_not(
    monkeypatch: pytest.MonkeyPatch, state: set[str], awaited: bool
) -> None:
    """A slurmd that is busy for a moment runs jobs, and hasn't read the file: at the change they would be lost."""
    world = World(nodes={"metal-2": frozenset(state)})
    rotation = rotating(world, monkeypatch, "slurm")
    if awaited:
        with pytest.raises(RotationError, match="haven't come back: metal-2"):
            rotation.run(start=True)
        assert world.set["slurmKey"] == OLD
    else:
        assert not rotation.run(start=True).under_way
