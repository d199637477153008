"""Running jobs survive a scale-in: real jobs, the real operator, and slurmdbd's word for it."""

from __future__ import annotations

from slinky_iac import hostlist
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Accounted, Slurm, await_true

STANDS_ON = STACK


def completed(rows: list[Accounted], where: dict[int, str]) -> None:
    """Every job has exactly one row, COMPLETED, on the node where it began: nothing was killed or requeued."""
    assert {int(row.job): (row.state, row.nodes, row.exit_code) for row in rows} == {
        job: ("COMPLETED", node, "0:0") for job, node in where.items()
    }
    assert len(rows) == len(where)


def test_jobs_on_all_workers_survive_a_scale_in_from_three_to_one(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    long = slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "20")
    first = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "3")
    second = slurm.submit("-p", "gpu", "-w", "gpu-2", "-t", "2")
    slurm.await_running(long, first, second)

    gated.write(1)
    plan = gated.plan()
    assert sorted(node["node"] for node in plan["nodes"]) == ["gpu-0", "gpu-2"], plan
    assert {job["job"] for job in plan["jobs"]} == {str(first), str(second)}
    assert {job["user"] for job in plan["jobs"]} == {"alice"}
    run = gated.start_up()
    await_true("both nodes are drained by us", lambda: gated.drained("gpu-0", "gpu-2"), 120)
    late = slurm.submit("-p", "gpu", "-t", "2", seconds=5)
    gated.finish_when_drained(run, ("gpu-0", "gpu-2"), first, second)

    gated.await_pods("gpu-1")
    assert gated.told() == "2 jobs ran on, 0 lost"
    assert "RUNNING" in slurm.job_state(long)
    slurm.finish(long)
    rows = slurm.await_completed(long, first, second, late)
    completed(rows, {long: "gpu-1", first: "gpu-0", second: "gpu-2", late: "gpu-1"})
    assert gated.changes() == [], "a preview after the scale-in is empty"


def test_idle_nodes_go_before_busy_ones_and_peoples_drains_stay_as_they_are(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    busy = slurm.submit("-p", "gpu", "-w", "gpu-2", "-t", "5")
    slurm.await_running(busy)
    for node in ("gpu-0", "gpu-1"):
        slurm.admin("scontrol", "update", f"nodename={node}", "state=drain", f"reason=bad DIMM in {node}")

    gated.write(2)
    plan = gated.plan()
    assert [node["node"] for node in plan["nodes"]] == ["gpu-1"], plan
    assert any("bad DIMM in gpu-0" in warning for warning in plan["warnings"]), plan["warnings"]
    gated.stack.up()

    gated.await_pods("gpu-0", "gpu-2")
    assert slurm.reason("gpu-0") == "bad DIMM in gpu-0", "a person's drain on a kept node is left alone"
    slurm.finish(busy)
    completed(slurm.await_completed(busy), {busy: "gpu-2"})


def test_a_two_node_job_and_an_array_across_kept_and_chosen_nodes_are_waited_for(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    wide = slurm.submit("-p", "gpu", "-N", "2", "-w", "gpu-0,gpu-1", "--exclusive", "-t", "3")
    array = slurm.submit("-p", "gpu", "-w", "gpu-2", "-a", "0-1", "-n", "1", "-t", "10")
    slurm.await_running(wide)
    await_true(
        "both array tasks run", lambda: slurm.user("squeue", "-h", "-t", "R", "-r", "-j", str(array)).count("\n") == 2, 60
    )

    gated.write(1)
    plan = gated.plan()
    assert sorted(node["node"] for node in plan["nodes"]) == ["gpu-0", "gpu-1"], plan
    assert [job["job"] for job in plan["jobs"]] == [str(wide)]
    gated.finish_when_drained(gated.start_up(), ("gpu-0", "gpu-1"), wide)

    gated.await_pods("gpu-2")
    slurm.finish(array)
    rows = slurm.await_completed(wide, array)
    assert {(row.job, row.state, frozenset(hostlist.expand(row.nodes))) for row in rows} == {
        (str(wide), "COMPLETED", frozenset({"gpu-0", "gpu-1"})),
        *((f"{array}_{task}", "COMPLETED", frozenset({"gpu-2"})) for task in (0, 1)),
    }
    assert len(rows) == 3, "nothing ran twice"


def test_an_unchanged_stack_asks_for_nothing_and_shows_nothing(gated: Gated) -> None:
    gated.reset()
    assert gated.pods() == list(NODES)
    assert gated.changes() == []
    assert gated.annotations() == {node: {} for node in NODES}
