"""Reading a list row by row gives what reading it whole gives, in whatever pieces it comes, and nothing for what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.kube.wire import AnswerTooLargeError
from slinky_iac.slurmrest.rows import MOST_REST, RowSieve

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
rows = st.dictionaries(st.text(max_size=3), values, max_size=3)
documents = st.dictionaries(st.text(max_size=3).filter(lambda key: key != "jobs"), values, max_size=3)


def sieved(pieces: list[bytes]) -> tuple[list[Any], bytes]:
    """The rows, as the standard library reads them, and the rest."""
    found: list[Any] = []

    def take(row: bytes, *, certain: bool) -> bool:
        try:
            found.append(json.loads(row))
        except ValueError:
            if certain:
                found.append("unreadable")
            return certain
        return True

    sieve = RowSieve("jobs", take)
    for piece in pieces:
        sieve.feed(piece)
    return found, sieve.rest()


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@settings(deadline=None)
@given(
    documents,
    documents,
    st.lists(rows, max_size=4),
    st.sampled_from([None, 0, 1, 2, "\t"]),
    st.booleans(),
    st.integers(1, 40),
)
def test_rows_and_rest_are_the_document(
    before: dict[str, Any], after: dict[str, Any], listed: list[Any], indent: object, ascii_only: bool, size: int
) -> None:
    whole = {**before, "jobs": listed, **after}
    content = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode()  # type: ignore[arg-type]
    found, rest = sieved(cut(content, size))
    assert found == listed
    assert json.loads(rest) == {**whole, "jobs": []}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "{",
        '{"jobs"',
        '{"jobs":',
        '{"jobs": [',
        '{"jobs": [1',
        '{"jobs": [1]}',
        '{"jobs": [{} {}]}',
        '{"jobs": [{},]}',
        '{"jobs": [,{}]}',
        '{"jobs": [{}',
        '{"jobs": [{"a": "}]}',
        '{"jobs": [{}], }',
        '{"jobs": [{}]} trailing',
        '{1: [], "jobs": []}',
        '{"jobs": [' + "[" * 20_000,
        '{"jobs": [' + '{"a":' * 20_000,
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_has_no_whole_list_is_left_as_no_json_object(text: str, size: int) -> None:
    _, rest = sieved(cut(text.encode(), size if len(text) < 1000 else 1 << 20))
    with pytest.raises((ValueError, TypeError)):
        dict(json.loads(rest))


@pytest.mark.parametrize("text", ["{}", '{"jobs": 1}', '{"inner": {"jobs": [{}]}}'])
def test_a_document_without_that_list_is_left_whole(text: str) -> None:
    assert sieved([text.encode()]) == ([], text.encode())


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_sieved_without_an_error(content: bytes, size: int) -> None:
    sieved(cut(content, size))


@pytest.mark.parametrize("indent", [None, 2])
def test_a_row_that_is_no_json_costs_that_row_alone(indent: int | None) -> None:
    listed = [{"id": 1}, {"id": 2, "inner": [{"a": 1}, {"b": "}, {"}]}, {"id": 3}]
    content = json.dumps({"jobs": listed, "errors": []}, indent=indent).replace('"b"', "NOT JSON").encode()
    found, rest = sieved(cut(content, 7))
    assert found == [{"id": 1}, "unreadable", {"id": 3}]
    assert json.loads(rest) == {"jobs": [], "errors": []}


def test_rows_within_rows_are_none_of_the_list() -> None:
    """Where slurmrestd doesn't indent, what stands between two rows stands within them too."""
    listed = [{"id": 1, "steps": [{"id": 10}, {"id": 11}], "name": "},{"}, {"id": 2}]
    for separators, indent in (((",", ":"), None), ((",", ": "), 0)):
        content = json.dumps({"jobs": listed}, separators=separators, indent=indent).encode()
        for size in (1, 5, 1000):
            assert sieved(cut(content, size))[0] == listed


@pytest.mark.parametrize("start", [b'{"a": "', b'{"jobs": [], "a": "'])
def test_what_stands_beside_the_list_is_bounded(start: bytes) -> None:
    with pytest.raises(AnswerTooLargeError):
        sieved([start, *[b" " * 65536] * (MOST_REST // 65536 + 1)])
