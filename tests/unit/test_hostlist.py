"""Invariants of the hostlist syntax: what Slurm says of a list of nodes must mean the same to us."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import compress, expand, natural_key, split

# Names that a cluster may hold, with numbers in all the awkward places.
PREFIXES = st.sampled_from(["gpu-", "n", "", "rack-1-n", "a.b", "x-0", "r1n"])
DIGITS = st.one_of(
    st.integers(0, 120).map(str),
    st.integers(0, 120).map(lambda n: f"{n:02d}"),
    st.integers(0, 1200).map(lambda n: f"{n:04d}"),
    st.text("0123456789", max_size=14),
)
NAMES = st.builds(str.__add__, PREFIXES, DIGITS).filter(bool)


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ("", ()),
        ("metal-1", ("metal-1",)),
        ("gpu-[0-2]", ("gpu-0", "gpu-1", "gpu-2")),
        ("g-[1,0]", ("g-1", "g-0")),  # a job's nodes as slurmrestd gave them: not sorted
        ("gpu-[0-1,07-09]", ("gpu-0", "gpu-1", "gpu-07", "gpu-08", "gpu-09")),
        ("n[8-11]", ("n8", "n9", "n10", "n11")),
        ("n[008-011]", ("n008", "n009", "n010", "n011")),
        ("n[1-03]", ("n1", "n2", "n3")),  # the lower bound's width counts
        ("r[1-2]n[01-02]", ("r1n01", "r1n02", "r2n01", "r2n02")),
        ("r[1-2]-ib,metal-1", ("r1-ib", "r2-ib", "metal-1")),
        ("a,a", ("a", "a")),
    ],
)
def test_expression_stands_for_the_names_that_slurm_gives_it(expr, names):
    assert expand(expr) == names


@pytest.mark.parametrize(
    ("expr", "position", "says"),
    [
        ("a,,b", 2, "empty name"),
        (",a", 0, "empty name"),
        ("a,", 1, "nothing after"),
        ("a b", 1, "blank"),
        ("a]", 1, "without its '['"),
        ("a[", 2, "expected a number"),
        ("a[]", 2, "expected a number"),
        ("a[1", 3, "opened at position 1"),
        ("a[1-]", 3, "expected ',' or ']'"),
        ("a[-1]", 2, "expected a number"),
        ("a[3-1]", 2, "backwards"),
        ("a[1,[2]]", 4, "expected a number"),
        ("a[1,]", 4, "expected a number"),
        ("a[x]", 2, "expected a number"),
        ("a[0-1234567890123456789]", 22, "expected ',' or ']'"),
    ],
)
def test_malformed_expression_is_refused_with_its_position(expr, position, says):
    with pytest.raises(HostlistError, match=f"position {position}: .*{re.escape(says)}"):
        expand(expr)


def test_expression_over_the_limit_is_refused_before_it_is_expanded():
    with pytest.raises(HostlistError, match="more than 100000 names"):
        expand("n[0-999999999]r[0-999999999]")
    with pytest.raises(HostlistError, match="more than 3 names"):
        expand("a,b,n[0-1]", limit=3)
    assert expand("a,n[0-1]", limit=3) == ("a", "n0", "n1")


@pytest.mark.parametrize(
    ("names", "expr"),
    [
        ([], ""),
        (["gpu-0"], "gpu-0"),
        (["gpu-10", "gpu-9", "gpu-0", "gpu-1"], "gpu-[0-1,9-10]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n9", "n10", "n09"], "n[9,09-10]"),
        (["x", "x1", "x2"], "x,x[1-2]"),
        (["r1n01", "r1n02", "r2n01"], "r1n[01-02],r2n01"),
        (["b", "a", "a"], "a,b"),
    ],
)
def test_compressed_names_read_as_slurm_writes_them(names, expr):
    assert compress(names) == expr


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1]", "a\n"])
def test_what_is_no_single_name_is_not_compressed(name):
    with pytest.raises(HostlistError, match="isn't a single host name"):
        compress(["ok", name])


def test_message_about_a_huge_expression_stays_short():
    with pytest.raises(HostlistError) as caught:
        expand("x" * 10_000 + "]")
    assert len(str(caught.value)) < 400


@given(st.lists(NAMES, max_size=60))
def test_expanding_what_was_compressed_gives_each_name_once_in_natural_order(names):
    assert expand(compress(names)) == tuple(sorted(set(names), key=natural_key))


@given(st.lists(NAMES, max_size=40))
def test_compressing_is_stable(names):
    once = compress(names)
    assert compress(expand(once)) == once


@given(st.text(alphabet="ab1209-[], \n", max_size=30))
def test_any_text_is_expanded_or_refused_and_never_crashes(text):
    try:
        names = expand(text, limit=1000)
    except HostlistError:
        return
    assert all(name and not set(name) & set(" ,[]\n") for name in names)
    assert len(names) <= 1000


@given(st.text(alphabet="ab1209-[],", max_size=30))
def test_the_parts_of_a_list_stand_for_what_the_whole_stands_for(text):
    try:
        names = expand(text, limit=1000)
    except HostlistError:
        return
    assert names == tuple(name for part in split(text) for name in expand(part))
    assert ",".join(split(text)) == text


def test_commas_in_brackets_do_not_part():
    assert split("metal-[001-500],r[1,3]n[1-2],big") == ["metal-[001-500]", "r[1,3]n[1-2]", "big"]
    assert split("a,b[1,2") == ["a", "b[1,2"]


@given(st.integers(1, 500))
def test_a_thousand_neighbours_make_one_range(count):
    assert compress(f"gpu-{n}" for n in range(count + 1)) == f"gpu-[0-{count}]"
