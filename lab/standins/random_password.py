"""RandomPassword of pulumi-random as plain values: arguments, their faults, the password.

Names, defaults and rules are those of the provider's schema (random:index/randomPassword:RandomPassword, 4.21.4).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits

import bcrypt

SPECIAL = "!@#$%&*()-_=+[]{}<>:?"
BCRYPT_COST = 10
BCRYPT_BYTES = 72
"""bcrypt reads no further; the real provider cuts there too."""
SECRET_OUTPUTS = ("bcryptHash", "result")
ID = "none"
"""The ID of every RandomPassword: an ID can't be secret, so nothing of the value may be in it."""

DEFAULTS: Mapping[str, bool | int] = {
    "lower": True,
    "minLower": 0,
    "minNumeric": 0,
    "minSpecial": 0,
    "minUpper": 0,
    "special": True,
    "upper": True,
}
FLAGS = ("lower", "upper", "numeric", "number", "special")
COUNTS = ("length", "minLower", "minNumeric", "minSpecial", "minUpper")
ARGUMENTS = (*FLAGS, *COUNTS, "overrideSpecial", "keepers")


@dataclass(frozen=True)
class Fault:
    """One argument that can't be used, and why; the reason never holds a value that might be secret."""

    argument: str
    reason: str


@dataclass(frozen=True)
class Alphabet:
    """The characters of one class, and how many of them there must be at least."""

    characters: str
    least: int


def with_defaults(given: Mapping[str, object]) -> dict[str, object]:
    """Every argument that has a default, filled in. `number` is the older name of `numeric`: both always agree."""
    given = {name: value for name, value in given.items() if value is not None}
    numeric = given.get("numeric", given.get("number", True))
    return {**DEFAULTS, "numeric": numeric, "number": numeric, **given}


def faults(arguments: Mapping[str, object]) -> list[Fault]:
    """What is wrong with arguments that are all known; empty when a password can be made of them."""
    found = [
        Fault(name, f"isn't an argument of RandomPassword; there are {', '.join(sorted(ARGUMENTS))}")
        for name in sorted(arguments.keys() - set(ARGUMENTS))
    ]
    found += [Fault(n, "must be true or false") for n in FLAGS if not isinstance(arguments.get(n, True), bool)]
    found += [Fault(n, "must be a whole number of 0 or more") for n in COUNTS if not _is_count(arguments.get(n, 0))]
    if "length" not in arguments:
        found.append(Fault("length", "is required"))
    return found or _contradictions(arguments)


def _contradictions(arguments: Mapping[str, object]) -> list[Fault]:
    found = []
    if arguments.get("numeric") != arguments.get("number"):
        found.append(Fault("number", "is the older name of numeric: the two must agree"))
    length, least = _count(arguments, "length"), sum(_count(arguments, name) for name in COUNTS[1:])
    if length < max(1, least):
        found.append(Fault("length", f"must be at least {max(1, least)}: 1, and the sum of the min… arguments"))
    if not any(alphabet.characters for alphabet in alphabets(arguments)):
        found.append(Fault("lower", "one of lower, upper, numeric and special must be true"))
    return found


def alphabets(arguments: Mapping[str, object]) -> Sequence[Alphabet]:
    """The classes of characters that are switched on, or that have a minimum."""
    special = str(arguments.get("overrideSpecial") or SPECIAL)
    classes = (
        ("lower", "minLower", ascii_lowercase),
        ("upper", "minUpper", ascii_uppercase),
        ("numeric", "minNumeric", digits),
        ("special", "minSpecial", special),
    )
    return [Alphabet(characters if arguments[flag] else "", _count(arguments, least)) for flag, least, characters in classes]


def generate(arguments: Mapping[str, object], source: random.Random) -> str:
    """A password: the minima of each class, the rest from all, shuffled. `source` must be a SystemRandom outside tests."""
    classes = alphabets(arguments)
    every = "".join(alphabet.characters for alphabet in classes)
    chosen = [source.choice(a.characters) for a in classes if a.characters for _ in range(a.least)]
    chosen += [source.choice(every) for _ in range(_count(arguments, "length") - len(chosen))]
    source.shuffle(chosen)
    return "".join(chosen)


def bcrypt_hash(password: str) -> str:
    """The bcrypt hash of a password's first 72 bytes."""
    return bcrypt.hashpw(password.encode()[:BCRYPT_BYTES], bcrypt.gensalt(BCRYPT_COST, prefix=b"2a")).decode()


def changed(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """The arguments that differ; each of them replaces the password, as in the real provider."""
    before, after = with_defaults(old), with_defaults(new)
    return sorted(name for name in ARGUMENTS if before.get(name) != after.get(name))


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value)


def _count(arguments: Mapping[str, object], name: str) -> int:
    value = arguments.get(name, 0)
    return int(value) if isinstance(value, int | float) else 0
