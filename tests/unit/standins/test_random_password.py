"""What a RandomPassword is made of, without an engine."""

import random
import string

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.standins import random_password as rp

COUNTS = st.integers(0, 6)


@st.composite
def valid_arguments(draw):
    """Arguments that a provider accepts: at least one class on, and length enough for the minima."""
    flags = draw(
        st.fixed_dictionaries({name: st.booleans() for name in ("lower", "upper", "numeric", "special")}).filter(
            lambda chosen: any(chosen.values())
        )
    )
    least = draw(st.fixed_dictionaries({name: COUNTS for name in rp.COUNTS[1:]}))
    length = draw(st.integers(max(1, sum(least.values())), 80))
    special = draw(st.one_of(st.none(), st.text("!#%_-", min_size=1)))
    return rp.with_defaults({"length": length, **flags, **least, "overrideSpecial": special})


@given(valid_arguments(), st.integers())
def test_a_password_holds_what_was_asked_for_and_nothing_else(arguments, seed):
    assert rp.faults(arguments) == []
    password = rp.generate(arguments, random.Random(seed))
    assert len(password) == arguments["length"]
    special = arguments.get("overrideSpecial") or rp.SPECIAL
    classes = {
        ("lower", "minLower"): string.ascii_lowercase,
        ("upper", "minUpper"): string.ascii_uppercase,
        ("numeric", "minNumeric"): string.digits,
        ("special", "minSpecial"): special,
    }
    for (flag, least), characters in classes.items():
        found = sum(c in characters for c in password)
        if arguments[flag]:
            assert found >= arguments[least]
        else:
            assert found == 0


def test_numbers_as_the_wire_brings_them_are_counts():
    arguments = rp.with_defaults({"length": 12.0, "minUpper": 3.0})
    assert rp.faults(arguments) == []
    assert len(rp.generate(arguments, random.Random(1))) == 12


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "length"),
        ({"length": 0}, "length"),
        ({"length": -1}, "length"),
        ({"length": 2.5}, "length"),
        ({"length": True}, "length"),
        ({"length": "8"}, "length"),
        ({"length": 8, "lower": "yes"}, "lower"),
        ({"length": 8, "minLower": 9}, "length"),
        ({"length": 8, "numeric": True, "number": False}, "number"),
        ({"length": 8, "lower": False, "upper": False, "numeric": False, "special": False}, "lower"),
        ({"length": 8, "lenght": 9}, "lenght"),
    ],
)
def test_a_fault_names_its_argument(arguments, argument):
    assert [fault.argument for fault in rp.faults(rp.with_defaults(arguments))] == [argument]


def test_the_older_name_of_numeric_counts():
    assert rp.with_defaults({"number": False})["numeric"] is False
    assert rp.with_defaults({"numeric": False})["number"] is False


@pytest.mark.parametrize("name", rp.ARGUMENTS)
def test_every_argument_replaces_when_it_changes(name):
    old = rp.with_defaults({"length": 8})
    assert name in rp.changed(old, {**old, name: "other"})


def test_a_default_written_out_is_no_change():
    assert rp.changed({"length": 8}, {"length": 8.0, "special": True, "minUpper": 0}) == []


def test_bcrypt_covers_the_first_72_bytes_as_the_real_provider_does():
    hashed = rp.bcrypt_hash("é" * 60)
    assert hashed.startswith("$2a$10$")
    assert bcrypt.checkpw(("é" * 36).encode(), hashed.encode())
    assert not bcrypt.checkpw(("é" * 35).encode(), hashed.encode())
