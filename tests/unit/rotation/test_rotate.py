"""A rotation cut short anywhere goes on when it is run again, and at no moment does one half sign what the other refuses."""

from __future__ import annotations

import pytest

from slinky_iac.commands.rotation import jwt, slurm
from slinky_iac.commands.rotation.model import START
from slinky_iac.commands.rotation.planned_stop import refuse_unrotatable
from slinky_iac.config.reading.load import load
from slinky_iac.errors import RotationError, SlurmrestUnreachable
from slinky_iac.keys.catalogue import JWT, SLURM
from slinky_iac.keys.raw import several_keys
from slinky_iac.keys.registry import BY_NAME
from tests.stacks import merged, outside
from tests.unit.rotation.world import CONFIG, OLD, OLD_JWT, PODS, Cut, World


def ended(world: World, which: str) -> bool:
    """Whether everything has the new key alone."""
    if which == "jwt":
        new = world.set["jwtKey"]
        same = set(world.jwt_of.values()) == {new} == set(world.secrets[world.jwt.name].values())
        return same and new != OLD_JWT and "jwtKeyNext" not in world.set
    new = world.set["slurmKey"]
    same = set(world.known.values()) == {several_keys(new)} and world.secrets[world.slurm.name] == {"slurm.key": new}
    return same and new != OLD and set(world.set) == {"slurmKey", "jwtKey"}


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_one_run_carries_a_rotation_to_its_end(which: str) -> None:
    world = World()
    plan = world.runner(BY_NAME[which]).run(start=True)
    world.check()
    assert ended(world, which)
    assert (plan.under_way, world.made) == (False, 1)


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_a_rotation_that_is_cut_at_any_operation_goes_on_from_there(which: str) -> None:
    whole = World()
    whole.runner(BY_NAME[which]).run(start=True)
    assert whole.operations > 8
    for cut in range(whole.operations):
        world = World(cut=cut)
        with pytest.raises(Cut):
            world.runner(BY_NAME[which]).run(start=True)
        world.cut = None
        world.runner(BY_NAME[which]).run(start=world.made == 0)
        world.check()
        if not ended(world, which):  # cut between the making of the key and its setting: nothing had begun
            assert world.set == {"slurmKey": OLD, "jwtKey": OLD_JWT}


@pytest.mark.parametrize("which", ["jwt", "slurm"])
@pytest.mark.parametrize("first", range(2, 20, 5))
def test_a_rotation_that_is_cut_again_and_again_ends_too(which: str, first: int) -> None:
    world = World()
    for each in range(40):
        world.cut = world.operations + first + each % 3
        try:
            world.runner(BY_NAME[which]).run(start=world.made == 0)
        except Cut:
            continue
        break
    world.check()
    assert ended(world, which)


@pytest.mark.parametrize("which", ["jwt", "slurm"])
def test_none_begins_unasked(which: str) -> None:
    world = World()
    plan = world.runner(BY_NAME[which]).run(start=False)
    assert (plan.under_way, world.operations, world.made) == (False, 0, 0)


def test_where_kubelet_forgets_a_pod_nobody_changes_to_the_new_key() -> None:
    world = World(lazy=frozenset({PODS[1]}))
    with pytest.raises(RotationError, match=f"these pods don't have the new slurm.jwks: {PODS[1]}"):
        world.runner(SLURM).run(start=True)
    world.check()
    assert world.set["slurmKey"] == OLD


def test_pods_that_do_not_take_part_yet_stop_a_rotation_before_it_begins() -> None:
    world = World()
    world.files[PODS[0]]["slurm.jwks"] = b"{}"
    plan = world.runner(SLURM).standing()
    assert plan.due is not None
    assert plan.due.name == slurm.FORGET_PODS
    assert world.made == 0


def test_no_rotation_begins_while_unmanaged_nodes_are_unknown() -> None:
    """Their jobs would be lost at the change, and nothing would have said so."""
    world = World(unmanaged=None)
    with pytest.raises(RotationError, match=r"isn't known whether.*Nothing was changed"):
        world.runner(SLURM).run(start=True)
    assert (world.operations, world.set["slurmKey"]) == (0, OLD)


def test_without_via_the_hosts_steps_wait_for_a_person() -> None:
    world = World()
    plan = world.runner(SLURM, via=False).run(start=True)
    assert plan.due is not None
    assert plan.due.name == slurm.LEARN_HOSTS
    again = world.runner(SLURM, via=False).run(start=False)
    assert again.due == plan.due, "asking again isn't doing it"
    assert world.set["slurmKey"] == OLD
    for step, then in ((slurm.LEARN_HOSTS, slurm.CHANGE_HOSTS), (slurm.CHANGE_HOSTS, slurm.FORGET_HOSTS)):
        by_hand(world)
        plan = world.runner(SLURM, via=False, confirmed=step).run(start=False)
        assert plan.due is not None
        assert plan.due.name == then
        assert plan.under_way
    by_hand(world)
    world.check()
    assert ended(world, "slurm")


def by_hand(world: World) -> None:
    """What a person does: pipe each host's script to it, in the plan's order."""
    for host in world.hosts:
        world.script(host, world.runner(SLURM, via=False).script(host.name))


def test_a_confirmation_holds_for_the_step_that_it_names_alone() -> None:
    world = World()
    world.runner(SLURM, via=False).run(start=True)
    plan = world.runner(SLURM, via=False, confirmed=slurm.CHANGE_HOSTS).run(start=False)
    assert plan.due is not None
    assert plan.due.name == slurm.LEARN_HOSTS


def test_the_jwt_keys_hosts_step_needs_no_word_for_tokens_tell() -> None:
    world = World()
    plan = world.runner(JWT, via=False).run(start=True)
    assert plan.due is not None
    assert plan.due.name == jwt.HOSTS
    for host in plan.due.hosts:
        world.script(host, world.runner(JWT, via=False).script(host.name))
    world.runner(JWT, via=False).run(start=False)
    assert ended(world, "jwt")


def test_a_script_is_made_only_for_a_host_whose_turn_it_is() -> None:
    world = World()
    rotation = world.runner(JWT, via=False)
    with pytest.raises(RotationError, match="step make is due, which runs on no host; no script was made"):
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
        refuse_unrotatable(load(merged(CONFIG, over)), BY_NAME[which])
    assert "Nothing was changed" in str(caught.value)
    refuse_unrotatable(load(outside()), JWT)


def test_without_slurmctlds_word_on_its_nodes_no_host_is_touched() -> None:
    """Who was there before couldn't be told afterwards from who was lost."""
    world = World()

    def silent() -> None:
        raise SlurmrestUnreachable("no answer")

    world.asks_nodes = silent
    with pytest.raises(SlurmrestUnreachable):
        world.runner(SLURM).run(start=True)
    assert all("slurm.jwks" not in world.files[host.name] for host in world.hosts)


def test_a_node_that_does_not_come_back_stops_the_rotation_before_the_change() -> None:
    world = World(lost=frozenset({"metal-1"}))
    rotation = world.runner(SLURM)
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
def test_a_silent_node_is_awaited_and_one_without_a_slurmd_is_not(state: set[str], awaited: bool) -> None:
    """A slurmd that is busy for a moment runs jobs, and hasn't read the file: at the change they would be lost."""
    world = World(nodes={"metal-2": frozenset(state)})
    rotation = world.runner(SLURM)
    if awaited:
        with pytest.raises(RotationError, match="haven't come back: metal-2"):
            rotation.run(start=True)
        assert world.set["slurmKey"] == OLD
    else:
        assert not rotation.run(start=True).under_way
