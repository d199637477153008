"""A planned stop that is cut short anywhere goes on when it is run again, and no pod of the old key meets one of the new."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from slinky_iac.cluster.pulumi_state import State
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.model import Host
from slinky_iac.commands.rotation.planned_stop import MEMBERS
from slinky_iac.config.reading.load import load
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import SLURM
from tests.stacks import minimal
from tests.unit.rotation.test_planned_stop import GENERATOR, INSIDE, NO_JWKS, SECRET, SLURMDBD_OUTSIDE, resources
from tests.unit.rotation.world import CONFIG, OLD, Cut, World

PODS = ("slurmctld", "slurmrestd", "worker")


class Unsettled(RotationError):
    """The stack isn't as its configuration says."""


@dataclass
class Stopped(World):
    """A stack's state besides, and the pods with the key that each has read."""

    state: list[dict[str, Any]] = field(default_factory=resources)
    pods: dict[str, bytes] = field(default_factory=lambda: dict.fromkeys(PODS, OLD))
    kubectl_fails: bool = False
    used: list[bytes] = field(default_factory=list)
    """Keys that the Secret has had, after the old one."""
    kubectl_env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.config.keys.source == "imported":
            self.state = [each for each in self.state if each["urn"] != GENERATOR]
        else:
            self.set = {}
        self.whole = [dict(each) for each in self.state]
        if not self.config.keys.protect:
            for each in (*self.state, *self.whole):
                each["protect"] = False

    @property
    def key(self) -> bytes | None:
        """What the Secret holds."""
        return self.secrets[self.slurm.name].get(self.slurm.entry)

    def hold(self, raw: bytes | None) -> None:
        self.secrets[self.slurm.name] = {} if raw is None else {self.slurm.entry: raw}

    @property
    def placed(self) -> dict[str, bytes]:
        """slurm.key of the hosts to which a script has come."""
        return {host: self.files[host]["slurm.key"] for host in self.read}

    def check(self) -> None:
        """In a stop no daemon runs beside another with another key: pods tell."""

    def resources(self) -> State:
        return State.read(self.state)

    def settled(self) -> None:
        if len(self.state) != len(self.whole):
            raise Unsettled("run `pulumi up` first")

    def remove_with_dependents(
        self, wanted: Sequence[str], protected: Sequence[str], more: Mapping[str, str] | None = None
    ) -> None:
        """As the engine does, dependents first; the pods linger until somebody waits for them."""
        self.operate("unprotect")
        for each in self.state:
            each["protect"] = each["protect"] and each["urn"] not in protected
        self.operate("destroy daemons")
        self.state = [each for each in self.state if "slinky.slurm.net" not in each["type"]]
        self.operate("destroy holders")
        gone = [each for each in self.state if each["urn"] in (*wanted, SECRET)]
        assert not any(each["protect"] for each in gone), "the engine refuses this"
        self.state = [each for each in self.state if each not in gone]
        self.hold(None)

    def up(self) -> None:
        self.operate("up: keys")
        if self.key is None:
            self.used.append(self.set.get("slurmKey") or self.new())
            self.hold(self.used[-1])
        self.state = [dict(each) for each in self.whole if "slinky.slurm.net" not in each["type"]]
        self.operate("up: daemons")
        self.state = [dict(each) for each in self.whole]
        cached = next(iter(self.pods.values()), self.key)  # kubelet's copy lives as long as a pod has it
        assert cached is not None
        self.pods = dict.fromkeys(PODS, cached)

    def kubectl(self, command: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
        assert command[:2] == ["kubectl", "wait"]
        self.kubectl_env = more["env"]
        if self.kubectl_fails:
            return subprocess.CompletedProcess(command, 1, "", "timed out waiting")
        self.operate("wait")
        if not any("slinky.slurm.net" in each["type"] for each in self.state):
            self.pods = {}
        return subprocess.CompletedProcess(command, 0, "", "")


def stop(world: Stopped, *, via: bool = False, confirmed: str | None = None) -> KeyRotation:
    return world.runner(SLURM, via=via, confirmed=confirmed, stop=True)


def replaced(world: Stopped) -> bool:
    """Whether every pod has one key, which is the Secret's, the configuration's, and not the old one."""
    same = set(world.pods.values()) == {world.key} and world.set.get("slurmKey", world.key) == world.key
    return same and world.key != OLD and len(world.pods) == len(PODS) and "slurmKeyNext" not in world.set


STACKS = {
    "generated": minimal(),
    "generated, unprotected": minimal(keys={"protect": False}),
    "imported": INSIDE,
    "slurmctld outside": NO_JWKS,
    "slurmdbd outside": SLURMDBD_OUTSIDE,
    "generated, metal outside": minimal(external={"slurmdHosts": [{"name": "metal-1"}]}),
}
every_stack = pytest.mark.parametrize("name", STACKS)


def world_of(name: str) -> Stopped:
    return Stopped(load(STACKS[name]))


@every_stack
def test_one_run_carries_a_stop_to_its_end(name: str) -> None:
    world = world_of(name)
    plan = stop(world, via=True).run(start=True)
    assert replaced(world)
    assert (plan.under_way, world.made) == (False, 1)
    hosts = {host.name for step in plan.steps for host in step.hosts}
    assert world.placed == dict.fromkeys(hosts, world.key)


def test_kubectl_gets_no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hunter2")
    monkeypatch.setenv("KUBECONFIG", "/etc/kubeconfig")
    world = world_of("imported")
    stop(world, via=True).run(start=True)
    assert not any(name.startswith("PULUMI_") for name in world.kubectl_env)
    assert world.kubectl_env["KUBECONFIG"] == "/etc/kubeconfig"


@every_stack
def test_a_stop_that_is_cut_at_any_operation_goes_on_from_there(name: str) -> None:
    whole = world_of(name)
    stop(whole, via=whole).run(start=True)
    for cut in range(whole.operations):
        world = world_of(name)
        world.cut = cut
        with pytest.raises(Cut):
            stop(world, via=True).run(start=True)
        world.cut = None
        try:
            stop(world, via=True).run(start=True)
        except Unsettled:  # an `up` that was cut short is `pulumi up`'s to end; then the hosts are left
            world.up()
            if stop(world).standing().steps[-1].name == MEMBERS:
                stop(world, via=True).run(start=True)
        assert replaced(world), f"cut at {cut}: {world.order}"
        assert world.used[-1] == world.key
        unseen = not world.config.keys.protect  # a generated key's only mark
        assert unseen or len(set(world.used)) == 1, f"cut at {cut}, another stop was begun: {world.order}"
        assert world.placed == dict.fromkeys(whole.placed, world.key), f"cut at {cut}: {world.order}"
        assert world.read == {host: world.files[host] for host in whole.read}, "daemons have read it"


@every_stack
def test_nothing_stops_unasked(name: str) -> None:
    world = world_of(name)
    with pytest.raises(RotationError, match=r"`--stop` carries it out\. Nothing was changed"):
        stop(world).run(start=False)
    stop(world).standing()
    assert world.operations == 0


def test_a_key_that_can_be_replaced_under_jobs_is_no_reason_to_stop() -> None:
    world = Stopped(load(CONFIG))
    with pytest.raises(RotationError, match=r"use --start\. Nothing was changed"):
        stop(world).run(start=True)
    assert world.operations == 0


@every_stack
def test_while_a_pod_is_left_none_is_made(name: str) -> None:
    world = world_of(name)
    world.kubectl_fails = True
    for _ in range(2):
        with pytest.raises(RotationError, match="would get the old key"):
            stop(world, via=True).run(start=True)
    assert not [each for each in world.order if each.startswith("up")]
    world.kubectl_fails = False
    stop(world, via=True).run(start=True)
    assert replaced(world)


def test_without_via_hosts_are_waited_for_and_confirmed() -> None:
    world = world_of("slurmdbd outside")
    plan = stop(world).run(start=True)
    assert plan.due is not None
    assert (plan.due.name, [host.name for host in plan.due.hosts]) == ("daemons", ["dbd"])
    world.script(plan.due.hosts[0], stop(world).script("dbd"))
    with pytest.raises(RotationError, match="'metal-1' has no part in step daemons"):
        stop(world).script("metal-1")
    plan = stop(world, confirmed="daemons").run(start=True)
    assert plan.due is not None
    assert (plan.due.name, plan.under_way) == ("members", True)
    for host in plan.due.hosts:
        world.script(host, stop(world).script(host.name))
    assert replaced(world)
    assert set(world.placed.values()) == {world.key}
    assert not stop(world).standing().under_way


def test_a_confirmed_last_step_ends_the_stop_and_begins_no_other() -> None:
    world = world_of("slurmdbd outside")
    plan = stop(world, confirmed="daemons").run(start=True)
    assert plan.due is not None
    assert (plan.due.name, plan.under_way) == ("members", True)
    before = world.operations
    plan = stop(world, confirmed="members").run(start=True)
    assert (plan.under_way, world.operations) == (False, before), "every node would be drained again"


def test_hosts_without_the_key_show_in_a_plan_that_can_ask_them() -> None:
    world = world_of("slurmdbd outside")
    assert not stop(world, via=True).standing().under_way
    stop(world, confirmed="daemons").run(start=True)
    due = stop(world, via=True).standing().due
    assert due is not None
    assert due.name == "members"
    stop(world, via=True).run(start=True)
    assert not stop(world, via=True).standing().under_way


def test_a_host_that_cannot_be_asked_stops_nothing() -> None:
    world = world_of("slurmdbd outside")
    world.deaf = "metal-1"
    with pytest.raises(RotationError, match="metal-1"):
        stop(world, via=True).run(start=True)
    assert world.operations == 0


def test_a_hosts_script_takes_an_old_jwks_away_and_restarts_its_daemons() -> None:
    world = world_of("slurmctld outside")
    stop(world).run(start=True)
    text = stop(world).script("ctl")
    lines = text.splitlines()
    assert lines.index("rm -f slurm.jwks slurm.jwks.read") < lines.index("systemctl restart slurmctld")
    assert "slurm.jwks" not in host_scripts.replaced(Host("ctl", ()), host_scripts.File("jwt_hs256.key", OLD))
