"""What is said of looks at many jobs, and how 50,000 are extrapolated."""

from __future__ import annotations

import pytest

from tests.bench import look
from tests.bench.look import Found


def found(size: int, seconds: float, ours: float, theirs: float = 1000) -> Found:
    return Found(size, {"look": [seconds], "scontrol": [0.5], "states": [0.1]}, ours, theirs, 0.08)


@pytest.mark.parametrize(("seconds", "ours", "said"), [(3, 90, ["reached", "reached"]), (9, 190, ["MISSED", "MISSED"])])
def test_time_grows_with_the_records_and_memory_from_what_python_takes_anyway(
    seconds: float, ours: float, said: list[str]
) -> None:
    aims = look.aims(found(1000, 0.6, 60), found(20_000, seconds, ours))
    assert aims[0].measured == pytest.approx(seconds * 2.5)
    assert aims[1].measured == pytest.approx(ours + (ours - 60) / 19_000 * 30_000)
    assert [each.line().rsplit(" ", 1)[1] for each in aims] == said


def test_a_report_names_slurmrestds_memory_and_its_own_time() -> None:
    text = look.report(found(20_000, 40, 70, 2900))
    assert "look to scontrol: 80.0x" in text
    assert "our process 70 MiB, slurmrestd 2900 MiB" in text
    assert "processor time for the states: 0.08 s" in text


def test_the_ledger_has_each_way_and_both_memories() -> None:
    row = look.row(found(20_000, 40, 70, 2900))
    assert (row["look"].rival, row["look"].ratio) == ("scontrol show jobs", 80)
    assert (row["our process"].value, row["slurmrestd"].value) == (70, 2900)
