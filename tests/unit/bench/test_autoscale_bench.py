"""What the comparison of autoscalers records."""

from __future__ import annotations

from tests.bench.autoscale import Run, rows


def test_times_are_medians_with_a_ratio_by_round_and_the_rest_are_sums() -> None:
    runs = [
        Run("ours", 10, 1, 0, 0, 0, 6, 6),
        Run("recipe", 40, 2, 30, 2, 0, 6, 6),
        Run("ours", 20, 1, 0, 0, 0, 6, 6),
        Run("recipe", 40, 2, 40, 3, 5, 6, 7, never=1),
    ]
    found = rows(runs)
    assert (found["until three run"]["ours"].value, found["until three run"]["ours"].ratio) == (15, 0.375)
    assert found["nodes drained while their jobs ran"]["recipe"].value == 5
    assert found["jobs lost"]["recipe"].value == 5
    assert found["jobs that never started"]["ours"].value == 0
