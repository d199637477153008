"""What gates ask is counted, and set beside a rival's."""

from __future__ import annotations

from tests.bench.questions import Turn, columns


def test_a_row_has_counts_and_ratios_by_round() -> None:
    ours, rival = [Turn(15, 7, 0.3, 0.04, 60), Turn(15, 7, 0.9, 0.05, 90)], [Turn(15, 5, 0.6, 0.02, 45)] * 2
    row = columns({"gates": ours, "lists once": rival})
    assert (row["to the API server"].value, row["to slurmrestd"].value) == (15, 7)
    assert (row["all requests"].value, row["all requests"].ratio) == (22, 1.1)
    assert (row["wall clock"].ratio, row["memory"].value, row["memory"].ratio) == (1.0, 90, 2.0)
