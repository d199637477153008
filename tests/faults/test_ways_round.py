"""Ways round the gates that `pulumi` itself offers (a part of the stack, an edited or renamed state), and what people do
beside a drain. Each begins with a job on every pod: whatever the command says, the jobs run on where they began.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from lab.stacks import Stack
from slinky_iac import names
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, STACK, Gated
from tests.e2e.slurm import HELD, Slurm, await_true
from tests.e2e.test_drain_policy import drained, occupy

STANDS_ON = STACK
SHORT = {"deadline": "5s"}
GATE, RESTAPI, NODESET_OBJECT = "lab-gpu-scale", "slurm-slurm-restapi", f"{NAMESPACE}-{RESOURCE}-nodeset"
BYTE = "\\377"
"""In printf's words."""


@dataclass
class Busy:
    """Three pods with a job on each."""

    gated: Gated
    slurm: Slurm
    jobs: dict[str, int]
    pods: dict[str, str]

    def assert_unharmed(self) -> None:
        """Every job runs in its first start, on its node, and every pod is the one that it was."""
        known = self.slurm.jobs()
        found = {
            node: (known[job]["job_state"], known[job]["nodes"], known[job]["restart_cnt"])
            for node, job in self.jobs.items()
        }
        assert found == {node: (["RUNNING"], node, 0) for node in NODES}
        assert uids(self.gated) == self.pods
        where = ("nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE)
        assert self.gated.world.kubectl("get", *where, "-o", "jsonpath={.spec.replicas}").stdout == "3"

    def assert_nothing_is_left(self) -> None:
        """No node is drained, by whomever, and no pod has a mark of ours or a cordon."""
        assert {node for node, states in self.slurm.states().items() if node in NODES and "DRAIN" in states} == set()
        assert self.gated.annotations() == {node: {} for node in NODES}
        pods = self.gated.world.pods(NAMESPACE, NODESET).values()
        assert not any("nodeset.slinky.slurm.net/pod-cordon" in pod["metadata"]["annotations"] for pod in pods)


def uids(gated: Gated) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, NODESET).items()}


def urn(stack: Stack, name: str) -> str:
    """URN of a resource by its logical name."""
    rows = json.loads(stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    (found,) = (row["urn"] for row in rows if row["urn"].endswith(f"::{name}"))
    return str(found)


@pytest.fixture
def busy(gated: Gated, slurm: Slurm) -> Iterator[Busy]:
    gated.reset()
    yield Busy(gated, slurm, dict(zip(NODES, occupy(slurm), strict=True)), uids(gated))
    slurm.cancel_all()
    gated.changed()


@pytest.fixture
def failed(busy: Busy, gated: Gated) -> tuple[Busy, list[str]]:
    """A scale-in to one that ended at its deadline, and the two nodes that it drained."""
    gated.write(1, SHORT)
    assert gated.try_up().returncode != 0
    nodes = drained(busy.slurm)
    assert len(nodes) == 2
    return busy, nodes


@pytest.mark.parametrize(
    ("command", "flag", "name"),
    [
        ("up", "--target", NODESET_OBJECT),
        ("up", "--target", GATE),
        ("up", "--exclude", NODESET_OBJECT),
        ("up", "--exclude", GATE),
        ("destroy", "--target", NODESET_OBJECT),
        ("destroy", "--target", GATE),
        ("destroy", "--target", RESTAPI),
        ("destroy", "--exclude", GATE),
    ],
)
def test_a_part_of_the_stack_ends_no_job(busy: Busy, gated: Gated, command: str, flag: str, name: str) -> None:
    where = urn(gated.stack, name)
    gated.write(3 if command == "destroy" else 1, SHORT)
    if command == "destroy":
        gated.stack.up()  # a destroy takes its deadline from the state
    more = ["--target-dependents"] if (command, flag) == ("destroy", "--target") else []
    gated.stack.pulumi(command, "--yes", "--skip-preview", flag, where, *more, check=False)
    busy.assert_unharmed()
    gated.up(3)
    busy.assert_unharmed()
    busy.assert_nothing_is_left()


@pytest.mark.parametrize("fence", [True, False])
def test_a_state_that_lost_its_nodeset_writes_no_number(busy: Busy, gated: Gated, fence: bool) -> None:
    """The next `up` creates it with 0 replicas: the fence, or the field's other owner, refuses."""
    gated.up(3, cluster={**gated.current["slinky-iac:cluster"], "fence": fence})
    whole = gated.stack.pulumi("stack", "export").stdout
    gated.stack.pulumi("state", "delete", urn(gated.stack, NODESET_OBJECT), "--target-dependents", "--yes")
    assert gated.try_up().returncode != 0
    busy.assert_unharmed()
    gated.stack.pulumi("stack", "import", stdin=whole)
    gated.up(3)
    busy.assert_unharmed()


def test_a_state_that_lost_its_gate_makes_one_that_drains(busy: Busy, gated: Gated) -> None:
    gated.stack.pulumi("state", "delete", urn(gated.stack, GATE), "--yes")
    gated.write(1, SHORT)
    assert gated.try_up().returncode != 0
    busy.assert_unharmed()
    gated.up(3)
    busy.assert_unharmed()
    busy.assert_nothing_is_left()


def test_a_renamed_stack_finds_its_own_drains(failed: tuple[Busy, list[str]], gated: Gated) -> None:
    busy, _ = failed
    gated.write(3, SHORT)
    gated.stack.pulumi("stack", "rename", "renamed")
    renamed = replace(gated.stack, name="renamed")
    try:
        renamed.up()
        busy.assert_unharmed()
        busy.assert_nothing_is_left()
    finally:
        renamed.pulumi("stack", "rename", STACK)


def test_a_renamed_stack_returns_the_host_that_it_holds(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    hosts = gated.current["slinky-iac:external"]["slurmdHosts"]
    hosts[0]["state"] = "drained"
    gated.world.stack(gated.stack.name, gated.current)
    gated.stack.up()
    assert slurm.reason("metal-1").startswith(f"slinky-iac:{STACK}/outside-hosts: ")
    hosts[0]["state"] = "active"
    gated.world.stack(gated.stack.name, gated.current)
    gated.changed()
    gated.stack.pulumi("stack", "rename", "renamed")
    renamed = replace(gated.stack, name="renamed")
    try:
        renamed.up()
        await_true("metal-1 is back", lambda: "DRAIN" not in slurm.states()["metal-1"], 30)
    finally:
        renamed.pulumi("stack", "rename", STACK)


def returned(failed: tuple[Busy, list[str]]) -> None:
    """Somebody undrains our nodes by hand."""
    busy, nodes = failed
    for node in nodes:
        busy.slurm.admin("scontrol", "update", f"nodename={node}", "state=undrain")


def looked_again(gated: Gated) -> dict[str, set[str]]:
    """What slurm-operator shows of each node, after a change of its pod that makes it look."""
    gated.world.kubectl("label", "pod", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=slurmd", "touched-", check=False)
    gated.world.kubectl("label", "pod", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=slurmd", "touched=now")
    return {
        node: {each["type"] for each in pod["status"]["conditions"] if each["status"] == "True"}
        for node, pod in gated.world.pods(NAMESPACE, NODESET).items()
    }


def test_a_node_of_a_failed_scale_in_that_somebody_returns_stays_in_service(
    failed: tuple[Busy, list[str]], gated: Gated
) -> None:
    """No pod is cordoned while jobs are waited for: slurm-operator would drain its node again, without an end."""
    busy, nodes = failed
    returned(failed)

    def seen() -> bool:
        shown = looked_again(gated)
        return not any("SlurmNodeStateDrain" in shown[node] for node in nodes)

    await_true("the operator shows that they are in service", seen, 120, every=5)
    assert drained(busy.slurm) == []
    gated.up(3)
    busy.assert_unharmed()
    busy.assert_nothing_is_left()


def test_a_node_that_the_operator_drained_again_for_our_mark_is_returned(
    failed: tuple[Busy, list[str]], gated: Gated
) -> None:
    """A run that was killed right before its write leaves cordoned pods: slurm-operator drains their nodes again."""
    busy, nodes = failed
    pods = gated.world.pods(NAMESPACE, NODESET)
    names_of = [pods[node]["metadata"]["name"] for node in nodes]
    gated.world.kubectl("annotate", "pod", "-n", NAMESPACE, *names_of, f"{names.ANNOTATION_POD_CORDON}=true")
    returned(failed)

    def drained_again() -> bool:
        looked_again(gated)
        return all(busy.slurm.reason(node).startswith("slurm-operator:") for node in nodes)

    await_true("the operator has drained them again", drained_again, 120, every=5)
    gated.up(3)
    busy.assert_unharmed()
    busy.assert_nothing_is_left()


def test_no_update_ends_well_while_drains_of_ours_stand(failed: tuple[Busy, list[str]], gated: Gated) -> None:
    """slurmrestd was deleted after a failed scale-in; `up --refresh` makes it again and takes the number back."""
    busy, _ = failed
    gated.world.take_the_fence_away()
    gated.world.kubectl("delete", "restapis.slinky.slurm.net", "-n", NAMESPACE, "slurm")
    gated.write(3)
    assert gated.try_up().returncode != 0, "it can't ask"
    gated.stack.up("--refresh")
    busy.assert_unharmed()
    busy.assert_nothing_is_left()


def test_a_frozen_nodeset_is_drained_by_no_update(busy: Busy, gated: Gated) -> None:
    where = ("nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE)
    gated.world.kubectl("annotate", *where, f"{names.ANNOTATION_FREEZE}=audit until Friday")
    try:
        gated.write(1, SHORT)
        refused = gated.try_up()
        assert refused.returncode != 0
        assert "audit until Friday" in refused.stdout
        assert drained(busy.slurm) == []
        gated.write(1, SHORT, nodeset={"env": {"SITE": "b"}})
        for run in (gated.stack.pulumi("preview", "--non-interactive", check=False), gated.try_up()):
            assert run.returncode != 0
            assert "audit until Friday" in run.stdout, "an update of the NodeSet itself would remove what kubectl has set"
        assert drained(busy.slurm) == []
        busy.assert_unharmed()
    finally:
        gated.world.kubectl("annotate", *where, f"{names.ANNOTATION_FREEZE}-")
    gated.up(3)
    busy.assert_nothing_is_left()


def test_bytes_that_are_no_text_in_names_and_reasons_hold_up_no_drain(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    named = f'sbatch --parsable -D /tmp -o /dev/null -p gpu -t 20 -J "$(printf \'a{BYTE}b\')" -w $1 --wrap "$2"'
    jobs = [int(slurm.user("sh", "-c", named, "sh", node, HELD)) for node in NODES]
    slurm.await_running(*jobs)
    slurm.admin("sh", "-c", f"scontrol update nodename=metal-1 state=drain reason=\"$(printf 'b{BYTE}d')\"")
    try:
        gated.write(1)
        run = gated.start_up()
        await_true("two nodes are drained by us", lambda: len(drained(slurm)) == 2, 120)
        slurm.finish(*jobs)
        out, _ = run.communicate(timeout=300)
        assert run.returncode == 0, out
        assert {(row.state, row.nodes) for row in slurm.await_completed(*jobs)} == {("COMPLETED", node) for node in NODES}
        assert gated.cli("status", "--json").returncode == 0
    finally:
        slurm.cancel_all()
        slurm.admin("scontrol", "update", "nodename=metal-1", "state=resume")
        gated.changed()
