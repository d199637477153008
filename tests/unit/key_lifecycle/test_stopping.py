"""A planned stop that is cut short anywhere goes on when it is run again, and no pod of the old key meets one of the new."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.cluster.pulumi_state import State
from slinky_iac.config.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.key_lifecycle import carrying, scripts, stopping
from slinky_iac.key_lifecycle.carrying import Means
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Host
from slinky_iac.key_lifecycle.planned_stop import MEMBERS
from slinky_iac.key_lifecycle.stopping import Stopping
from tests.stacks import minimal
from tests.unit.key_lifecycle.test_planned_stop import GENERATOR, INSIDE, NO_JWKS, SECRET, SLURMDBD_OUTSIDE, resources
from tests.unit.key_lifecycle.world import CONFIG, OLD, OLD_JWT, Cut

PODS = ("slurmctld", "slurmrestd", "worker")
KEYS = (GENERATOR, SECRET)


class Unsettled(RotationError):
    """The stack isn't as its configuration says."""


@dataclass
class World:
    """A stack's state and secrets, and the pods with the key that each has read. Raises Cut before operation ``cut``."""

    config: StackConfig
    cut: int | None = None
    operations: int = 0
    set: dict[str, bytes] = field(default_factory=dict)
    state: list[dict[str, Any]] = field(default_factory=resources)
    secret: bytes | None = OLD
    pods: dict[str, bytes] = field(default_factory=lambda: dict.fromkeys(PODS, OLD))
    hosts: dict[str, bytes] = field(default_factory=dict)
    """Files of hosts, once a script has placed them."""
    read: dict[str, bytes] = field(default_factory=dict)
    """What their daemons have read since."""
    stack: str | None = None
    kubectl_fails: bool = False
    deaf: str | None = None
    """A host that can't be reached."""
    made: int = 0
    used: list[bytes] = field(default_factory=list)
    """Keys that the Secret has had, after the old one."""
    order: list[str] = field(default_factory=list)
    kubectl_env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.config.keys.source == "imported":
            self.set |= {"slurmKey": OLD, "jwtKey": OLD_JWT}
            self.state = [each for each in self.state if each["urn"] != GENERATOR]
        self.whole = [dict(each) for each in self.state]
        if not self.config.keys.protect:
            for each in (*self.state, *self.whole):
                each["protect"] = False

    def operate(self, what: str) -> None:
        self.operations += 1
        if self.cut is not None and self.operations > self.cut:
            raise Cut
        self.order.append(what)

    def new(self) -> bytes:
        self.made += 1
        return f"a new key, number {self.made:04}, long enough......".encode()

    # -- Engine ---------------------------------------------------------------------------------------------------

    def resources(self) -> State:
        return State.read(self.state)

    def set_key(self, name: str, raw: bytes) -> None:
        self.operate(f"set {name}")
        self.set[name] = raw

    def remove(self, name: str) -> None:
        self.operate(f"rm {name}")
        self.set.pop(name, None)

    def settled(self) -> None:
        if len(self.state) != len(self.whole):
            raise Unsettled("run `pulumi up` first")

    def remove_with_dependents(self, wanted: Sequence[str], protected: Sequence[str]) -> None:
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
        self.secret = None

    def up(self) -> None:
        self.operate("up: keys")
        if self.secret is None:
            self.secret = self.set.get("slurmKey") or self.new()
            self.used.append(self.secret)
        self.state = [dict(each) for each in self.whole if "slinky.slurm.net" not in each["type"]]
        self.operate("up: daemons")
        self.state = [dict(each) for each in self.whole]
        cached = next(iter(self.pods.values()), self.secret)  # kubelet's copy lives as long as a pod has it
        self.pods = dict.fromkeys(PODS, cached)

    # -- others ---------------------------------------------------------------------------------------------------

    def kubectl(self, command: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
        assert command[:2] == ["kubectl", "wait"]
        self.kubectl_env = more["env"]
        if self.kubectl_fails:
            return subprocess.CompletedProcess(command, 1, "", "timed out waiting")
        self.operate("wait")
        if not any("slinky.slurm.net" in each["type"] for each in self.state):
            self.pods = {}
        return subprocess.CompletedProcess(command, 0, "", "")

    def script(self, host: Host, text: str) -> str:
        """A host carries out a script: it is cut before the file is placed, or before its daemons have read it."""
        if host.name == self.deaf:
            raise RotationError(f"host {host.name}: ended with 255")
        if "systemctl restart" in text:
            self.operate(f"host {host.name}")
            self.hosts[host.name] = self.set.get("slurmKey") or self.secret or b""
            self.read.pop(host.name, None)
            self.operate(f"restart on {host.name}")
            self.read[host.name] = self.hosts[host.name]
        file = scripts.File("slurm.key", self.hosts.get(host.name, OLD))
        read = self.read.get(host.name) == file.content
        said = file.digest if read else "begun" if host.name in self.hosts else scripts.NEVER
        return f"{scripts.MARK} {file.name} {file.digest} {said}\n"

    def material(self) -> Material:
        return Material(self.config, dict(self.set))

    @contextmanager
    def opened(self, *_: object) -> Iterator[SimpleNamespace]:
        """A look at the Secret, where the key is a generated one."""
        held = {} if self.secret is None else {"slurm.key": self.secret}
        yield SimpleNamespace(place=lambda _which: ("slurm", "slurm.key"), secret=lambda _name: held)


def stop(
    world: World, monkeypatch: pytest.MonkeyPatch, *, via: World | None = None, confirmed: str | None = None
) -> Stopping:
    monkeypatch.setattr(stopping.material, "read", lambda _engine: world.material())
    monkeypatch.setattr(stopping.material, "generate", world.new)
    monkeypatch.setattr(carrying, "opened", world.opened)
    means = Means(world, lambda _line: None, via)  # type: ignore[arg-type]
    return Stopping("slurm", means, confirmed, kubectl=world.kubectl)


def replaced(world: World) -> bool:
    """Whether every pod has one key, which is the Secret's, the configuration's, and not the old one."""
    same = set(world.pods.values()) == {world.secret} and world.set.get("slurmKey", world.secret) == world.secret
    return same and world.secret != OLD and len(world.pods) == len(PODS) and "slurmKeyNext" not in world.set


STACKS = {
    "generated": minimal(),
    "generated, unprotected": minimal(keys={"protect": False}),
    "imported": INSIDE,
    "slurmctld outside": NO_JWKS,
    "slurmdbd outside": SLURMDBD_OUTSIDE,
    "generated, metal outside": minimal(external={"slurmdHosts": [{"name": "metal-1"}]}),
}
every_stack = pytest.mark.parametrize("name", STACKS)


def world_of(name: str) -> World:
    return World(load(STACKS[name]))


@every_stack
def test_one_run_carries_a_stop_to_its_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(name)
    plan = stop(world, monkeypatch, via=world).run(asked=True)
    assert replaced(world)
    assert (plan.under_way, world.made) == (False, 1)
    hosts = {host.name for step in plan.steps for host in step.hosts}
    assert world.hosts == dict.fromkeys(hosts, world.secret)


def test_kubectl_gets_no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hunter2")
    monkeypatch.setenv("KUBECONFIG", "/etc/kubeconfig")
    world = world_of("imported")
    stop(world, monkeypatch, via=world).run(asked=True)
    assert not any(name.startswith("PULUMI_") for name in world.kubectl_env)
    assert world.kubectl_env["KUBECONFIG"] == "/etc/kubeconfig"


@every_stack
def test_a_stop_that_is_cut_at_any_operation_goes_on_from_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = world_of(name)
    stop(whole, monkeypatch, via=whole).run(asked=True)
    for cut in range(whole.operations):
        world = world_of(name)
        world.cut = cut
        with pytest.raises(Cut):
            stop(world, monkeypatch, via=world).run(asked=True)
        world.cut = None
        try:
            stop(world, monkeypatch, via=world).run(asked=True)
        except Unsettled:  # an `up` that was cut short is `pulumi up`'s to end; then the hosts are left
            world.up()
            if stop(world, monkeypatch).plan().steps[-1].name == MEMBERS:
                stop(world, monkeypatch, via=world).run(asked=True)
        assert replaced(world), f"cut at {cut}: {world.order}"
        assert world.used[-1] == world.secret
        unseen = not world.config.keys.protect  # a generated key's only mark
        assert unseen or len(set(world.used)) == 1, f"cut at {cut}, another stop was begun: {world.order}"
        assert world.read == whole.read | dict.fromkeys(whole.read, world.secret), f"cut at {cut}: {world.order}"


@every_stack
def test_nothing_stops_unasked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(name)
    with pytest.raises(RotationError, match=r"`--stop` carries it out\. Nothing was changed"):
        stop(world, monkeypatch).run(asked=False)
    stop(world, monkeypatch).plan()
    assert world.operations == 0


def test_a_key_that_can_be_replaced_under_jobs_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(load(CONFIG))
    with pytest.raises(RotationError, match=r"use --start\. Nothing was changed"):
        stop(world, monkeypatch).run(asked=True)
    assert world.operations == 0


@every_stack
def test_while_a_pod_is_left_none_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(name)
    world.kubectl_fails = True
    for _ in range(2):
        with pytest.raises(RotationError, match="would get the old key"):
            stop(world, monkeypatch, via=world).run(asked=True)
    assert not [each for each in world.order if each.startswith("up")]
    world.kubectl_fails = False
    stop(world, monkeypatch, via=world).run(asked=True)
    assert replaced(world)


def test_without_via_hosts_are_waited_for_and_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("slurmdbd outside")
    plan = stop(world, monkeypatch).run(asked=True)
    assert plan.due is not None
    assert (plan.due.name, [host.name for host in plan.due.hosts]) == ("daemons", ["dbd"])
    world.script(plan.due.hosts[0], stop(world, monkeypatch).script("dbd"))
    with pytest.raises(RotationError, match="'metal-1' has no part in what is due now"):
        stop(world, monkeypatch).script("metal-1")
    plan = stop(world, monkeypatch, confirmed="daemons").run(asked=True)
    assert plan.due is not None
    assert (plan.due.name, plan.under_way) == ("members", True)
    for host in plan.due.hosts:
        world.script(host, stop(world, monkeypatch).script(host.name))
    assert replaced(world)
    assert set(world.hosts.values()) == {world.secret}
    assert not stop(world, monkeypatch).plan().under_way


def test_a_confirmed_last_step_ends_the_stop_and_begins_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("slurmdbd outside")
    plan = stop(world, monkeypatch, confirmed="daemons").run(asked=True)
    assert plan.due is not None
    assert (plan.due.name, plan.under_way) == ("members", True)
    before = world.operations
    plan = stop(world, monkeypatch, confirmed="members").run(asked=True)
    assert (plan.under_way, world.operations) == (False, before), "every node would be drained again"


def test_hosts_without_the_key_show_in_a_plan_that_can_ask_them(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("slurmdbd outside")
    assert not stop(world, monkeypatch, via=world).plan().under_way
    stop(world, monkeypatch, confirmed="daemons").run(asked=True)
    due = stop(world, monkeypatch, via=world).plan().due
    assert due is not None
    assert due.name == "members"
    stop(world, monkeypatch, via=world).run(asked=True)
    assert not stop(world, monkeypatch, via=world).plan().under_way


def test_a_host_that_cannot_be_asked_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("slurmdbd outside")
    world.deaf = "metal-1"
    with pytest.raises(RotationError, match="metal-1"):
        stop(world, monkeypatch, via=world).run(asked=True)
    assert world.operations == 0


def test_a_hosts_script_takes_an_old_jwks_away_and_restarts_its_daemons(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("slurmctld outside")
    stop(world, monkeypatch).run(asked=True)
    text = stop(world, monkeypatch).script("ctl")
    lines = text.splitlines()
    assert lines.index("rm -f slurm.jwks slurm.jwks.read") < lines.index("systemctl restart slurmctld")
    assert "slurm.jwks" not in scripts.replaced(Host("ctl", ()), scripts.File("jwt_hs256.key", OLD))
