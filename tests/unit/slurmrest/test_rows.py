"""Reading a list row by row must give what reading it whole gives, for every JSON and for what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.slurmrest.raw import JobsBody, NodesBody
from slinky_iac.slurmrest.rows import split_rows
from tests.unit.slurmrest.fake import job, node, number

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(max_size=3), values, max_size=3)


def split(content: bytes) -> tuple[list[Any], Any] | None:
    rows: list[Any] = []
    rest = split_rows(content, "jobs", rows.append)
    return None if rest is None else (rows, json.loads(rest))


@settings(deadline=None)
@given(documents, st.lists(values, max_size=4), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_rows_and_rest_are_the_document(rest: dict[str, Any], rows: list[Any], indent: object, ascii_only: bool) -> None:
    whole = {**rest, "jobs": rows}
    content = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode()  # type: ignore[arg-type]
    assert split(content) == (rows, {**rest, "jobs": []})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "{}",
        '{"jobs"',
        '{"jobs":',
        '{"jobs": 1}',
        '{"jobs": [',
        '{"jobs": [1',
        '{"jobs": [1 2]}',
        '{"jobs": [1,]}',
        '{"jobs": [1]',
        '{"jobs": [1], }',
        '{"jobs": [1]} trailing',
        '{"jobs": [1], "jobs": [2]}',
        '{"inner": {"jobs": [1]}}',
        '{1: [], "jobs": []}',
        '{"jobs": [' + "[" * 20_000,
    ],
)
def test_what_has_no_whole_list_is_not_split(text: str) -> None:
    assert split(text.encode()) is None


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_split_or_not(content: bytes) -> None:
    split(content)


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_a_list_that_breaks_off_is_never_taken_for_a_shorter_one(cut: int) -> None:
    content = json.dumps({"jobs": [job(1), job(2)], "last_update": number(1), "errors": []}).encode()
    with pytest.raises(ValueError, match=r"JSON|required"):
        JobsBody.parse(content[:-cut] if cut else content[:-1])


def test_both_ways_of_reading_agree() -> None:
    jobs = {"jobs": [job(1), job(2, nodes="g-[0-1]")], "last_update": number(7), "errors": [], "meta": {}}
    nodes = {"errors": [], "last_update": number(7), "nodes": [node("g-0"), node("g-ü", reason='a "quoted" } ] text')]}
    for model, body in ((JobsBody, jobs), (NodesBody, nodes)):
        content = json.dumps(body, indent=2).encode()
        assert model.parse(content) == model.model_validate_json(content)
