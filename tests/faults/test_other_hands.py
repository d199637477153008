"""What other hands do to a node that a gate drains: a person's drain over it, a slurmctld that starts again, a second run.

The gate's drain has a `resume_after`, which the gate renews, so a gate that died leaves no node drained for ever. This time
must not end another person's drain, and a restart of slurmctld must not remove it while the gate still drains.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread
from typing import Any

from lab import slurm as outside
from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.mid_drain import Begin, begin, gated, proxy

__all__ = ["begin", "gated", "proxy"]

REASON = "bad DIMM"


def until(slurm: Slurm, node: str) -> float | None:
    """When slurmctld returns the node by `resume_after`; None where none is set."""
    moment: dict[str, Any] = slurm.nodes()[node]["resume_after"]
    return float(moment["number"]) if moment["set"] and moment["number"] else None


def by_a_person(slurm: Slurm, node: str) -> None:
    slurm.admin("scontrol", "update", f"nodename={node}", "state=drain", f"reason={REASON}")


def test_a_persons_drain_over_ours_has_no_end_and_keeps_the_persons_words(begin: Begin, slurm: Slurm) -> None:
    case = begin()
    assert until(slurm, case.chosen) is not None, "the gate's drain has a resume_after"
    by_a_person(slurm, case.chosen)
    await_true("the drain has no resume_after", lambda: until(slurm, case.chosen) is None, 60)
    assert slurm.reason(case.chosen).startswith(REASON)
    case.gated.kill(case.run)
    case.gated.write(3)
    case.gated.stack.up()
    assert "DRAIN" in slurm.states()[case.chosen]
    assert slurm.reason(case.chosen).startswith(REASON)
    assert until(slurm, case.chosen) is None
    assert case.gated.pods() == sorted(NODES)
    case.await_end_of_the_first_job()
    case.assert_no_job_lost()


def test_a_slurmctld_that_starts_again_under_a_busy_drained_node_gets_the_end_of_the_hold_again(
    begin: Begin, slurm: Slurm
) -> None:
    """A busy dynamic node keeps its drain over a start of slurmctld and loses its timer (watched, 26.05.5)."""
    case = begin()
    outside.daemon_stop("ctl", "slurmctld")
    outside.daemon_start("ctl", "slurmctld")
    await_true("slurmctld answers", lambda: slurm.admin("squeue", "-h", check=False).strip(), 60)
    assert "DRAIN" in slurm.states()[case.chosen]
    await_true("the drain has an end", lambda: (until(slurm, case.chosen) or 0) > time.time(), 90)
    case.finish()
    case.settle()


def test_of_two_runs_that_live_the_later_goes_on_alone(begin: Begin, gated: Gated) -> None:
    """`pulumi cancel` removes the lock and stops no process: the first run continues until it sees the other's stamp."""
    case = begin()
    gated.stack.unlock()
    later = gated.start_up()
    try:
        first = case.finish(120)
        assert case.run.returncode != 0
        assert "began after this run" in first, first[-4000:]
        out, _ = later.communicate(timeout=240)
        assert later.returncode == 0, out[-4000:]
    finally:
        later.kill()
    case.settle()


@contextmanager
def status_written_all_the_time(gated: Gated) -> Iterator[list[str]]:
    """Somebody changes the NodeSet's status as fast as kubectl goes, as slurm-operator does while jobs come and go. Yields
    the versions that were written."""
    over, versions = Event(), list[str]()
    kind = ("nodesets.slinky.slurm.net", RESOURCE, "-n", NAMESPACE, "--subresource=status", "--type=merge")

    def write() -> None:
        for number in count(1000):
            if over.is_set():
                return
            change = json.dumps({"status": {"slurmIdle": number}})
            told = gated.world.kubectl(
                "patch", *kind, "-p", change, "-o", "jsonpath={.metadata.resourceVersion}", check=False
            )
            if not told.returncode:
                versions.append(told.stdout)

    writers = [Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        yield versions
    finally:
        over.set()
        for writer in writers:
            writer.join()


def test_a_status_that_is_written_all_the_time_holds_up_no_gate(begin: Begin, gated: Gated) -> None:
    case = begin()
    with status_written_all_the_time(gated) as versions:
        case.await_end_of_the_first_job()
        ended = time.monotonic()
        out = case.finish(120)
        lasted = time.monotonic() - ended
    assert case.run.returncode == 0, out[-4000:]
    assert len(set(versions)) > lasted, "it was written more than once a second"
    case.settle()
