"""Marks carry all that a later run needs, and no other mark is taken for ours."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.ranking import INT32_MIN
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.tags import (
    BASE_COST,
    TRIGGER_EVERY_S,
    Mark,
    Tag,
    cost_below,
    foreign_tags,
    is_marked,
    mark,
    tag_of,
    triggered,
    unmark,
)
from tests.unit.drain.made import LATER, NOW, OWNER, given_up, pod

WIRE = '{"cost":-1000000000,"hold":null,"nudged_at":null,"owner":"dev/gpu","was":null}'


def test_tag_is_this_text_on_the_wire():
    assert Tag("dev/gpu", BASE_COST).text() == WIRE
    assert Tag.read(WIRE) == Tag("dev/gpu", BASE_COST)


@given(st.text(), st.integers(), st.none() | st.text(), st.lists(st.none() | st.integers(), min_size=2, max_size=2))
def test_tag_is_read_as_it_was_written(owner, cost, was, times):
    tag = Tag(owner, cost, was, *times)
    assert Tag.read(tag.text()) == tag


@pytest.mark.parametrize(
    "text",
    ["", "x", "{}", "[]", "3", "null", '{"owner":"dev/gpu"}', "[" * 100_000, '{"owner":' * 100_000]
    + [
        json.dumps({**json.loads(WIRE), key: bad})
        for key in ("owner", "cost", "was", "nudged_at", "hold")
        for bad in (True, [1])
    ]
    + [json.dumps({**json.loads(WIRE), "more": 1}), json.dumps({**json.loads(WIRE), "cost": 1.0})],
)
def test_what_this_program_did_not_write_is_no_tag(text):
    assert Tag.read(text) is None


@given(st.text())
def test_any_text_is_a_tag_or_none(text):
    assert Tag.read(text) is None or isinstance(Tag.read(text), Tag)


def test_tag_of_another_stack_or_nodeset_is_foreign():
    theirs = [given_up(0, gate=Tag("prod/gpu", -1).text()), given_up(1, gate=Tag("dev/gpu-2", -1).text()), pod(2, gate="x")]
    assert [tag_of(each, OWNER) for each in theirs] == [None, None, None]
    assert foreign_tags([*theirs, given_up(3), pod(4)], OWNER) == tuple(theirs)
    assert foreign_tags(theirs[:1], Owner("prod", "gpu")) == ()


def test_cost_is_below_that_of_every_kept_pod():
    assert cost_below([]) == BASE_COST
    assert cost_below([pod(0), pod(1, deletion_cost=5)]) == BASE_COST
    assert cost_below([pod(0, deletion_cost=BASE_COST - 7)]) == BASE_COST - 8
    assert cost_below([pod(0, deletion_cost=INT32_MIN + 1)]) == INT32_MIN
    assert cost_below([pod(0, deletion_cost=INT32_MIN)]) is None


def test_cost_found_before_the_first_mark_is_remembered_and_put_back():
    first = mark(pod(0, cost_text="7", deletion_cost=7), OWNER, BASE_COST)
    assert Tag.read(first.tag).was == "7"
    again = mark(given_up(0, gate=first.tag), OWNER, BASE_COST - 1)
    assert Tag.read(again.tag) == Tag("dev/gpu", BASE_COST - 1, was="7")
    taken = unmark(given_up(0, gate=first.tag), Tag.read(first.tag), uncordon=True)
    assert (taken.restore_cost, taken.was, taken.uncordon) == (True, "7", True)


def test_cost_that_somebody_changed_since_is_left_alone():
    assert not unmark(given_up(0, cost_text="3"), Tag("dev/gpu", BASE_COST), uncordon=False).restore_cost


def test_our_own_cost_without_its_tag_is_not_remembered_as_somebodys():
    assert Tag.read(mark(given_up(0, gate=""), OWNER, BASE_COST).tag).was is None


def test_pod_is_marked_only_with_both_annotations():
    wanted = mark(given_up(0), OWNER, BASE_COST)
    assert is_marked(given_up(0), wanted)
    assert not is_marked(given_up(0, gate=""), wanted)
    assert not is_marked(given_up(0, deletion_cost=0), wanted)


def test_pod_is_nudged_only_once_in_a_while_and_keeps_its_mark():
    told = triggered(given_up(0), OWNER, NOW)
    assert told == Mark("hpc-worker-gpu-0", BASE_COST, Tag("dev/gpu", BASE_COST, nudged_at=NOW, hold=LATER).text())
    again = given_up(0, gate=told.tag)
    assert triggered(again, OWNER, NOW + TRIGGER_EVERY_S - 1) is None
    assert triggered(again, OWNER, NOW + TRIGGER_EVERY_S) is not None
    assert is_marked(again, mark(again, OWNER, BASE_COST)), "a nudge is no reason to mark again"
    assert triggered(pod(0), OWNER, NOW) is None
