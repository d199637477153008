"""`drain status`, `plan` and `cancel` of a stack of NodeSets: whose drain it is, what is waited for, what is given back."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.commands import cli, drain
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings, Owner
from slinky_iac.errors import DrainBlocked, KubeForbidden, KubeNotFound, KubeUnreachable, StateError
from tests.unit.drain.model_session import ModelSession, with_job
from tests.unit.drain.test_sessions import PROPS, srun
from tests.unit.drain.test_sessions import session as of_login
from tests.unit.status.made import gate

OURS = Owner("dev", "gpu").reason("scale-in 3->2")
URN = "urn:pulumi:prod::slinky-iac::pulumi:pulumi:Stack::slinky-iac-prod"
KIND = "pulumi-python:dynamic/slurm:NodeSetScale"
LOGINS = "pulumi-python:dynamic/slurm:SessionsGate"


class Stack:
    """Two NodeSets, each with a cluster of its own; an error in place of a cluster is raised when it is asked."""

    def __init__(self) -> None:
        self.gpu, self.cpu = ModelSession(with_job()), ModelSession(with_job())
        self.lost: dict[str, Exception] = {}
        self.asked: list[str] = []
        self.names: tuple[str, ...] = ("gpu", "cpu")
        self.login: Any = None

    def pulumi(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if "--show-name" in arguments:
            return subprocess.CompletedProcess(arguments, 0, "prod\n", "")
        assert arguments[:2] == ["stack", "export"]
        resources = [{"type": KIND, "outputs": gate(name, 3, stack="dev")} for name in self.names]
        resources += [{"type": LOGINS, "outputs": PROPS}] if self.login is not None else []
        return subprocess.CompletedProcess(arguments, 0, json.dumps({"deployment": {"resources": resources}}), "")

    @contextmanager
    def opened(self, settings: GateSettings) -> Iterator[Any]:
        name = settings.owner.nodeset
        self.asked.append(name)
        if name == "logins.main":
            yield self.login
            return
        if name in self.lost:
            raise self.lost[name]
        yield getattr(self, name)

    def drains(self, node: str, reason: str, user: str = "slurm") -> None:
        record = self.gpu.w.nodes[node]
        record.drain, record.reason, record.user = True, reason, user

    def run(self, *arguments: str) -> int:
        return drain.run(cli.parser().parse_args(["drain", *arguments]), self.pulumi, self.opened)


@pytest.fixture
def stack() -> Stack:
    return Stack()


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (OURS, "drained by this stack"),
        ("slurm-operator: scale-in", "drained by slurm-operator"),
        ("bad DIMM", "drained by somebody else"),
    ],
)
def test_status_says_whose_drain_it_is(stack: Stack, capsys: pytest.CaptureFixture[str], reason: str, said: str) -> None:
    stack.drains("gpu-2", reason)
    assert stack.run("status") == 0
    shown = capsys.readouterr().out
    assert f"gpu: gpu-2 DRAIN+DYNAMIC_NORM+MIXED, {said}" in shown
    assert f"{reason!r}\n    job 1 " in shown
    assert stack.asked == ["gpu", "cpu"]


def test_status_without_a_drain_says_so(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack.run("status") == 0
    assert capsys.readouterr().out == "nothing is drained or marked\n"


def test_a_plan_names_whose_jobs_a_removal_waits_for(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack.run("plan", "--nodeset", "gpu") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gpu: 3 nodes\n")
    assert "gpu-2 (busy): 1 of " in shown
    assert "gpu-1 (idle): no job, free now" in shown
    assert stack.asked == ["gpu"]


def test_a_plan_names_whose_srun_login_pods_wait_for(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.names, stack.login = (), of_login(srun())
    assert stack.run("plan") == 0
    assert capsys.readouterr().out.startswith("logins.main: LoginSet slurm-login-main will be removed; 1 job (7 of alice")
    assert stack.run("plan", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["plans"]
    assert (found["nodeset"], found["known"], [each["job"] for each in found["jobs"]]) == ("logins.main", True, ["7"])


def test_a_plan_of_a_machine_names_whose_jobs_are_on_it_and_until_when(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both NodeSets of the model have all their pods on k-1."""
    assert stack.run("plan", "--node", "k-1") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gpu: 3 nodes\n")
    assert "gpu-2 (busy): 1 of " in shown
    assert "\nk-1: 1 job, the last one ends by " in shown
    assert stack.asked == ["gpu", "cpu"]


class Nodes:
    """Kubernetes' list of nodes; None: this account may not have it."""

    def __init__(self, *known: str, forbidden: bool = False) -> None:
        self.known, self.forbidden = known, forbidden

    def listed(self, path: str, *_: object, **_more: object) -> list[SimpleNamespace]:
        assert path == "/api/v1/nodes"
        if self.forbidden:
            raise KubeForbidden("nodes is forbidden")
        return [SimpleNamespace(metadata=SimpleNamespace(name=each)) for each in self.known]


def test_a_machine_without_a_pod_is_free_and_one_that_is_not_known_is_not(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.gpu.kube = Nodes("k-1", "k-9")
    assert stack.run("plan", "--node", "k-9") == 0
    assert capsys.readouterr().out.startswith(
        "k-9: Kubernetes has no pod of these NodeSets there, so its service waits for no"
    )
    stack.gpu.w.rest_up = False
    assert stack.run("plan", "--node", "k-1", "--nodeset", "gpu") == 1
    assert "k-1: not known, since Slurm could not be asked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (Nodes("k-19", "k-2"), "the cluster has no Kubernetes node k-9, so no job was looked for. Did you mean k-"),
        (Nodes("worker"), "the cluster has no Kubernetes node k-9, so no job was looked for. `kubectl get nodes`"),
        (Nodes(forbidden=True), "k-9: no pod of these NodeSets is there, and this account may not list Kubernetes nodes"),
    ],
)
def test_a_machine_that_is_not_there_is_never_free(stack: Stack, nodes: Nodes, said: str) -> None:
    stack.gpu.kube = nodes
    with pytest.raises((KubeNotFound, KubeForbidden), match=re.escape(said)):
        stack.run("plan", "--node", "k-9")


@pytest.mark.parametrize("more", [(), ("--json",), ("--nodeset", "gpu")])
@pytest.mark.parametrize("act", [("status",), ("plan",), ("plan", "--node", "k-1"), ("cancel",), ("watch",)])
def test_a_stack_of_nothing_gets_no_answer(stack: Stack, act: tuple[str, ...], more: tuple[str, ...]) -> None:
    """It may be the wrong one: "nothing is drained" and "no job" would be said of a cluster that was never asked."""
    if act == ("watch",) and more == ("--json",):
        more = ()
    stack.names = ()
    with pytest.raises(StateError, match="stack prod has no NodeSet that `pulumi up` made, so Slurm was not asked"):
        stack.run(*act, "--stack", "prod", *more)
    assert stack.asked == []


def test_login_pods_are_no_answer_to_what_is_on_a_machine(stack: Stack) -> None:
    stack.names, stack.login = (), of_login(srun())
    with pytest.raises(StateError, match="Slurm was not asked"):
        stack.run("plan", "--stack", "prod", "--node", "k-1")


def test_a_plan_of_nodesets_that_are_gone_says_so(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.names = ("gpu",)
    stack.gpu.observe = lambda *_, **__: Observation(now=0, version=(1, 1, 0))  # type: ignore[method-assign]
    assert stack.run("plan") == 0
    assert capsys.readouterr().out.startswith("Kubernetes has none of this stack's NodeSets any more")


@pytest.mark.parametrize(
    ("reasons", "said"),
    [((), "nothing of this stack's was left"), ((OURS,), "in 1 step\n"), ((OURS, "bad DIMM"), "in 1 step\n")],
)
def test_cancel_gives_back_our_drains_and_no_others(
    stack: Stack, capsys: pytest.CaptureFixture[str], reasons: tuple[str, ...], said: str
) -> None:
    for number, reason in enumerate(reasons):
        stack.drains(f"gpu-{number}", reason)
    assert stack.run("cancel") == 0
    assert said in capsys.readouterr().out
    assert [each.reason for each in stack.gpu.w.nodes.values() if each.drain] == [each for each in reasons if each != OURS]


def test_trouble_with_one_nodeset_keeps_none_of_the_others(stack: Stack) -> None:
    stack.drains("gpu-0", OURS)
    stack.names = ("a", "gpu", "c")
    stack.lost = {name: KubeUnreachable(f"{name}: no route") for name in "ac"}
    with pytest.raises(DrainBlocked, match="a: no route\nc: no route"):
        stack.run("cancel")
    assert stack.asked == ["a", "gpu", "c"]
    assert not stack.gpu.w.nodes["gpu-0"].drain


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_status_that_could_not_be_asked_is_never_nothing(
    stack: Stack, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    stack.gpu.w.rest_up = False
    assert stack.run("status", *more) == 1
    said = capsys.readouterr()
    assert "nothing is drained" not in said.out
    assert "not known: dev/gpu: " in said.err


@pytest.mark.parametrize(
    ("act", "holds"),
    [
        ("status", lambda found: (found["drains"], found["unknown"]) == ([], [])),
        ("plan", lambda found: [plan["nodeset"] for plan in found["plans"]] == ["gpu", "cpu"]),
        ("cancel", lambda found: found["steps"] == 0),
    ],
)
def test_json_is_an_object_of_a_stated_schema(
    stack: Stack, capsys: pytest.CaptureFixture[str], act: str, holds: Callable[[dict[str, Any]], bool]
) -> None:
    assert stack.run(act, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert holds(found)


@pytest.mark.parametrize("act", ["status", "plan", "cancel"])
def test_a_nodeset_that_the_stack_lacks_is_asked_of_nobody(stack: Stack, act: str) -> None:
    with pytest.raises(StateError, match=r"no NodeSet 'gpus' \(it has: gpu, cpu\)"):
        stack.run(act, "--nodeset", "gpus")
    assert stack.asked == []


def test_an_empty_stack_is_called_by_its_name() -> None:
    empty, named = {"deployment": {}}, {"deployment": {"resources": [{"type": "pulumi:pulumi:Stack", "urn": URN}]}}
    for state in (empty, named):

        def pulumi(arguments: Sequence[str], state: object = state) -> subprocess.CompletedProcess[str]:
            said = json.dumps(state) if arguments[1] == "export" else "prod\n"
            return subprocess.CompletedProcess(arguments, 0, said, "")

        with pytest.raises(StateError, match="stack prod has no NodeSet"):
            drain.run(cli.parser().parse_args(["drain", "watch"]), pulumi)


def test_a_plan_that_is_not_known_is_no_success(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.gpu.w.rest_up = False
    assert stack.run("plan", "--json", "--nodeset", "gpu") == 1
    assert [each["known"] for each in json.loads(capsys.readouterr().out)["plans"]] == [False]
