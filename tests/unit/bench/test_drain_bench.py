"""How a fleet of fake nodes is named, and what is said of drains."""

from __future__ import annotations

import pytest

from slinky_iac.hostlist import expand
from slinky_iac.slurmrest.controller import RowlessNodes
from slinky_iac.slurmrest.lists import NodeRows, NodesAnswer
from tests.bench import drain
from tests.made.rows import node, number
from tests.unit.slurmrest.fake import answer


def look(*names: str) -> NodesAnswer:
    rows = NodeRows()
    rows.feed(answer(nodes=[node(name) for name in names], last_update=number(1)).content)
    return rows.answer(RowlessNodes.parse(rows.rest()), 0.0, 0.0)


def test_expression_and_names_are_the_same_nodes() -> None:
    assert list(expand(drain.hostlist(1, 12))) == [drain.node_name(n) for n in range(1, 13)]


def test_a_call_for_one_node_carries_a_look_at_one_node() -> None:
    assert [each.name for each in drain.only(look("s00001", "s00002"), "s00002").nodes] == ["s00002"]


@pytest.mark.parametrize(("bulk", "verdicts"), [(0.1, ["reached", "reached"]), (0.2, ["MISSED", "MISSED"])])
def test_both_aims_are_judged(bulk: float, verdicts: list[str]) -> None:
    samples = {"bulk": [bulk], "bulk and look": [1.0], "scontrol": [0.1], "one by one": [6.0]}
    assert [aim.line().rsplit(" ", 1)[1] for aim in drain.aims(samples)] == verdicts


def test_a_report_says_what_was_scaled() -> None:
    samples = {"bulk": [0.1], "bulk and look": [1.0], "scontrol": [0.1], "one by one": [6.0]}
    text = drain.report(5000, 200, samples)
    assert "200 nodes, scaled to 5000" in text
    assert "look: 0.900 s" in text
    assert "10.0x" in text


def test_the_ledger_has_each_way_beside_its_rival() -> None:
    row = drain.row({"bulk": [0.1], "bulk and look": [1.0], "scontrol": [0.1], "one by one": [6.0]})
    assert {way: each.ratio and round(each.ratio) for way, each in row.items()} == {
        "bulk": 1, "bulk and look": 10, "scontrol": None, "one by one": 60,
    }  # fmt: skip
