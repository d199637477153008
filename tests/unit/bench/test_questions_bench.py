"""What gates ask is counted, and set beside a rival's."""

from __future__ import annotations

from tests.bench.questions import Turn, rows


def test_a_row_has_counts_and_ratios_by_round() -> None:
    ours, rival = [Turn(15, 7, 0.3, 0.04), Turn(15, 7, 0.9, 0.05)], [Turn(15, 5, 0.6, 0.02), Turn(15, 5, 0.6, 0.02)]
    (row,) = rows(10, {"gates": ours, "lists once": rival}).values()
    assert (row["to the API server"].value, row["to slurmrestd"].value) == (15, 7)
    assert (row["all requests"].value, row["all requests"].ratio) == (22, 1.1)
    assert row["wall clock"].ratio == 1.0
