"""Cells of `tests/run matrix-python`: which Pythons, which packages."""

from __future__ import annotations

import pytest

from tests.matrix_python import PythonRefused, asked, chosen, ranges, tools

FOUND = {"3.9": "/usr/bin/python3.9", "3.13": "/opt/3.13", "3.11": "/usr/bin/python3.11"}


def test_all_that_are_new_enough_are_used_in_their_order() -> None:
    assert chosen([], FOUND) == {"3.11": "/usr/bin/python3.11", "3.13": "/opt/3.13"}
    assert chosen(["3.13"], FOUND) == {"3.13": "/opt/3.13"}


@pytest.mark.parametrize("version", ["3.9", "2.7", "3", "3.x", "4.0"])
def test_a_python_that_is_too_old_is_refused_with_those_that_are_there(version: str) -> None:
    with pytest.raises(PythonRefused, match=r"3\.11 or newer; here are 3\.11, 3\.13"):
        chosen([version], FOUND)


def test_a_python_that_is_not_there_is_refused() -> None:
    with pytest.raises(PythonRefused, match=r"3\.12 isn't on PATH"):
        chosen(["3.12"], FOUND)


def test_the_lowest_packages_are_where_the_ranges_begin() -> None:
    assert "pulumi-kubernetes==4.25" in asked("lowest")
    assert "PyJWT[crypto]==2.10" in asked("lowest")
    assert [each for each in asked("lowest") if "<" in each or "==" not in each] == []
    assert asked("newest") == ranges()


def test_no_tool_brings_the_programs_own_versions() -> None:
    names = {each.partition("==")[0] for each in tools()}
    assert "pytest" in names
    assert names & {each.partition(">=")[0] for each in ranges()} == set()
