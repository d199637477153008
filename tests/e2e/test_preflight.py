"""The preflight on the real cluster: nothing to say where both halves fit, and each wrong thing named by its check.

It runs with the rights that `rights --for preflight --pod-namespace` prints, but where a test says otherwise. The stack
stays up, for the modules that stand on it.
"""

from __future__ import annotations

import json
import re
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lab import given_slurm
from lab import slurm as outside
from lab.slurm import conf
from lab.slurm.topology import Network
from lab.stacks import Stack
from slinky_iac.commands.rights.table import rights
from slinky_iac.preflight.short_pods import SELECTOR
from slinky_iac.specs.rights import Use
from tests.e2e.accounts import PODS, events, of_table, settings_of, used
from tests.e2e.gated import STACK
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings

CTL = str(Network().address(10))
REST = f"http://{Network().address(12)}:6820"
"""By address: the lab's names are known to its hosts and pods, not to the machine."""
CHECKS = "slinky-checks"
"""Namespace of the short-lived pods: it has no Secrets."""
BY_HAND = {"pods-and-metal", "login-hosts", "encryption"}
"""Questions to which no answer can come."""
TELLS_CONF = given_slurm.release() >= "26.05"
"""Whether the lab's slurmctld tells its configuration over REST. Before, `scontrol show config` tells it to a person."""


def settings(edit: Callable[[Settings], None] = lambda _: None) -> Settings:
    """One NodeSet of one pod beside the lab's outside hosts."""

    def small(found: Settings) -> None:
        found["slinky-iac:nodesets"] = {"gpu": {"replicas": 1, "pod": {"terminationGrace": "2s"}}}
        found["slinky-iac:partitions"] = {}
        found["slinky-iac:external"]["slurmrestd"] = {"url": REST, "allowPlainHttp": True}
        edit(found)

    return dev_settings(small)


@pytest.fixture(scope="module")
def stack(world: World) -> Stack:
    """A stack that has never been up when the first test begins."""
    world.vacate()
    outside.apply_nodesets_conf(conf.DEFAULT_NODESETS)
    return world.stack(STACK, settings())


@pytest.fixture
def changed(world: World, stack: Stack) -> Iterator[Callable[[Callable[[Settings], None]], None]]:
    """Writes the stack's settings with an edit, applying nothing; puts them back afterwards, keys included."""

    def write(edit: Callable[[Settings], None]) -> None:
        world.stack(stack.name, settings(edit))

    yield write
    world.stack(stack.name, settings())


def preflight(stack: Stack, *arguments: str, pods: Sequence[str] = (PODS, CHECKS)) -> tuple[int, list[dict[str, Any]]]:
    """Its exit code and checks."""
    done = stack.program("preflight", "--stack", stack.name, "--json", *pods, *arguments, timeout=180)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["checks"]


def names(checks: list[dict[str, Any]], *verdicts: str) -> set[str]:
    """Names of the checks that came to one of these verdicts."""
    return {each["name"] for each in checks if each["verdict"] in verdicts}


def unknown(checks: list[dict[str, Any]]) -> set[str]:
    """Names of what isn't known, but for slurmctld's configuration where it doesn't tell it: there the command is given."""
    found = names(checks, "unknown")
    if TELLS_CONF:
        return found
    of_conf = {each["name"] for each in checks if "scontrol show config" in json.dumps(each["paste"])}
    assert "cluster-name" in of_conf & found
    return found - of_conf - {"slurm-uid"}


def lines(checks: list[dict[str, Any]], name: str) -> list[str]:
    """Lines to paste of the problems of one name."""
    return [line for each in checks if each["name"] == name and each["verdict"] == "problem" for line in each["paste"]]


def left_pods(world: World) -> str:
    """Short-lived pods that are there."""
    return world.kubectl("get", "pods", "-A", "-l", SELECTOR, "-o", "name").stdout.strip()


def test_before_the_first_up_all_that_can_be_asked_fits(stack: Stack, world: World) -> None:
    code, checks = preflight(stack, "--strict")
    assert (code, names(checks, "problem", "warning")) == (0, set()), checks
    assert unknown(checks) == {*BY_HAND, "pods-reached", "slurm-key"}
    assert {"connect", "jwt-key", "partitions", "version-image", "clock"} <= names(checks, "fine")
    assert ("slurm-uid" in names(checks, "fine")) is TELLS_CONF
    assert any(each["source"].startswith("pod on node-") for each in checks)
    assert left_pods(world) == ""


def test_once_up_the_keys_are_proved_and_only_what_nobody_knows_is_open(stack: Stack, slurm: Slurm) -> None:
    stack.up()
    slurm.await_registered("gpu-0", "metal-1", "metal-2")
    code, checks = preflight(stack, "--strict")
    assert (code, names(checks, "problem", "warning")) == (0, set()), checks
    assert unknown(checks) == BY_HAND
    assert {"pods-reached", "slurm-key", "key-secret", "metal-hosts", "slurmdbd"} <= names(checks, "fine")


def test_a_preflight_as_administrator_needs_no_namespace_for_its_pods(stack: Stack, world: World) -> None:
    code, checks = preflight(replace(stack, account=None), "--strict", pods=())
    assert (code, names(checks, "problem", "warning")) == (0, set()), checks
    assert "pods-reached" in names(checks, "fine")
    assert left_pods(world) == ""


def test_an_account_without_a_namespace_for_pods_can_make_none_and_all_else_is_asked(stack: Stack, world: World) -> None:
    assert world.accounts is not None
    code, checks = preflight(stack, pods=())
    assert (code, names(checks, "problem")) == (0, set()), checks
    assert any("no pod could be made" in json.dumps(each) for each in checks if each["verdict"] == "unknown"), checks
    assert {"slurm-key", "key-secret", "metal-hosts", "slurmdbd"} <= names(checks, "fine")
    refused = {each.split(" slurm/")[0] for each in world.accounts.refused()}
    account = f"{stack.name}-{Use.PREFLIGHT}"
    assert refused == {f"{account}: create pods", f"{account}: delete pods"}, "one whose answer was lost would be there"


def test_a_wrong_port_another_name_and_missing_lines_are_each_named_with_the_line(
    stack: Stack, changed: Callable[[Callable[[Settings], None]], None]
) -> None:
    def wrong(found: Settings) -> None:
        found["slinky-iac:controller"]["external"] = {"host": CTL, "port": 7817}
        found["slinky-iac:cluster"]["name"] = "other"
        found["slinky-iac:nodesets"]["fat"] = {"replicas": 1}
        found["slinky-iac:external"]["slurmdHosts"].append({"name": "metal-9", "config": {"CPUs": 2}})

    changed(wrong)
    code, checks = preflight(stack)
    assert code == 6
    named = {"connect", "cluster-name", "partitions", "metal-hosts", "slurmdbd"}
    named |= {"slurmctld-port"} if TELLS_CONF else set()
    # A stack's cluster keeps its name, so gates in the state that name another one are not this stack's.
    assert names(checks, "problem") == named | {"state-code"}, checks
    (refused,) = [each for each in checks if each["name"] == "connect" and each["verdict"] == "problem"]
    assert (f"{CTL} port 7817" in refused["subject"], "connection refused" in refused["got"]) == (True, True)
    told = ["name: lab"] if TELLS_CONF else ["scontrol show config | grep -i '^ClusterName '"]
    assert lines(checks, "cluster-name") == told
    assert lines(checks, "slurmctld-port") == (["port: 6817"] if TELLS_CONF else [])
    assert lines(checks, "partitions") == ["NodeSet=fat Feature=fat", "PartitionName=fat Nodes=fat"]
    assert lines(checks, "metal-hosts") == ["NodeName=metal-9 CPUs=2"]


def test_a_preview_tells_the_lines_that_a_new_nodeset_needs_outside(
    stack: Stack, changed: Callable[[Callable[[Settings], None]], None]
) -> None:
    changed(lambda found: found["slinky-iac:nodesets"].update(fat={"replicas": 1}))
    preview = stack.pulumi("preview")
    said = " ".join((preview.stdout + preview.stderr).split())
    assert "warning: preflight.partitions: partitions fat: has none of that name" in said
    assert "NodeSet=fat Feature=fat | PartitionName=fat Nodes=fat" in said
    assert set(re.findall(r"preflight\.([\w-]+):", said)) == {"partitions"}, "all else fits, and is not worth a word"


def test_a_wrong_jwt_key_is_told_from_the_right_one_in_the_secret_and_shown_nowhere(
    stack: Stack, changed: Callable[[Callable[[Settings], None]], None]
) -> None:
    changed(lambda _: None)
    wrong = secrets.token_hex(32)
    stack.pulumi("config", "set", "--secret", "jwtKey", stdin=wrong)
    code, checks = preflight(stack, "--no-pod")
    assert code == 6
    assert names(checks, "problem") == {"jwt-key", "key-secret"}, checks
    assert [each["verdict"] for each in checks if each["name"] == "jwt-key"] == ["problem", "fine"]
    assert wrong not in json.dumps(checks)
    assert "partitions" in names(checks, "fine"), "the Secret's key still answers the rest"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_pod_is_gone_when_somebody_interrupts(stack: Stack, world: World, sent: signal.Signals) -> None:
    with stack.started("preflight", "--stack", stack.name, PODS, CHECKS) as running:
        await_true("a short-lived pod is there", lambda: left_pods(world), 60, every=0.1)
        running.send_signal(sent)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, "Traceback" in err) == (130, False), err
    await_true("no short-lived pod is left", lambda: not left_pods(world), 30)


def test_from_here_alone_asks_for_no_key_and_makes_no_pod(stack: Stack) -> None:
    locked = replace(stack, env={**stack.env, "PULUMI_CONFIG_PASSPHRASE_FILE": "/dev/null"})
    code, checks = preflight(locked, "--from-here-only")
    assert code == 0
    assert names(checks, "problem", "warning", "unknown", "fine") == {"api-server", "connect"}
    assert {each["source"] for each in checks} == {"here"}


def test_each_right_of_a_preflight_was_used(stack: Stack) -> None:
    granted = of_table(rights(settings_of(stack), Use.PREFLIGHT, CHECKS))
    assert granted - used(events(account=f"{stack.name}-{Use.PREFLIGHT}")) == set(), "a right that nothing used"
