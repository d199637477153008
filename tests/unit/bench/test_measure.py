"""The measurements' own arithmetic: a benchmark that counts wrong is worse than none."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.bench.measure import Aim, in_turns, lines, median_ratio, peak_mib

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.parametrize("module", sorted(path.stem for path in BENCH.glob("[!_]*.py")))
def test_every_module_is_there_to_be_run_or_imported(module: str) -> None:
    assert importlib.import_module(f"tests.bench.{module}").__doc__


def test_each_round_begins_with_another_way_and_runs_all() -> None:
    order: list[str] = []
    ways = {name: lambda name=name: order.append(name) or 1.0 for name in "abc"}
    assert in_turns(ways, 3) == {"a": [1.0] * 3, "b": [1.0] * 3, "c": [1.0] * 3}
    assert "".join(order) == "abcbcacab"


def test_a_ratio_is_taken_within_each_round() -> None:
    slow_round = {"ours": [1.0, 40.0, 2.0], "rival": [1.0, 20.0, 1.0]}
    assert median_ratio(slow_round, "ours", "rival") == 2.0
    with pytest.raises(ValueError, match="shorter"):
        median_ratio({"ours": [1.0], "rival": [1.0, 2.0]}, "rival", "ours")


@pytest.mark.parametrize(
    ("measured", "bound", "at_least", "reached"),
    [(1.5, 1.5, False, True), (1.51, 1.5, False, False), (50, 50, True, True), (49, 50, True, False)],
)
def test_an_aim_is_reached_at_its_bound_and_not_past_it(
    measured: float, bound: float, at_least: bool, reached: bool
) -> None:
    aim = Aim("a thing", measured, bound, at_least=at_least)
    assert aim.reached == reached
    assert aim.line().endswith("reached" if reached else "MISSED")


def test_memory_is_the_most_that_was_held_at_once() -> None:
    assert 8 < peak_mib(lambda: bytearray(9 << 20)) < 10


def test_a_line_tells_median_and_both_ends() -> None:
    assert lines({"ours": [3.0, 1.0, 2.0]}) == ["  ours  median    2.000 s   (1.000 to 3.000)"]
