"""Hostile variants of a seed: of its bytes, of its structure, or both. The same for the same random numbers."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any, Final

BYTES: Final = (
    b"",
    b"\x00",
    b"\x1b[2J",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xef\xbb\xbf",
    b"\r\n\r\n",
    b"\n",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"-",
    b"%",
    b"#",
    b"&a ",
    b"*a",
    b"!!bool ",
    b"!!int ''",
    b"!!timestamp x",
    b"!!python/object/apply:os.system ",
    b"<<: ",
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"0x10",
    b"9" * 400,
    b"9" * 5000,
    b"A" * 3000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"../../etc/shadow",
    b"$(id)",
    b"; id #",
    b"${jndi:x}",
    b"content-length: -1\r\n",
    b"transfer-encoding: chunked\r\n",
    b"content-encoding: gzip\r\n",
)
"""Pieces that readers of text, JSON, YAML, HTTP, shell or a terminal take for something."""
VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    -(2**31) - 1,
    2**63,
    -(2**64),
    10**400,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\n",
    "0",
    "-",
    "null",
    "\x00",
    "\x1b]0;x\x07",
    "\u202e\u2066",
    "\u2028",
    "\ufffd",
    "a" * 5000,
    "[" * 200,
    "gpu-[0-",
    "gpu-[0-99999999]",
    "gpu-[9-0]",
    "$(id)",
    "9999-12-31T23:59:59+14:00",
    "0001-01-01T00:00:00Z",
    "2026-13-45T99:99:99Z",
    [],
    {},
    [[]],
    [None],
    [{}],
    {"": None},
    {"a": {"b": [1]}},
    [1, "a", None, {}],
)
"""Values of each type of JSON, at its bounds."""
DEEP: Final = "nested deeper than any program nests"
"""Stands for a value that is nested so deep that Python itself could not write it."""


def hostile(dice: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One variant of one of ``seeds``."""
    seed = dice.choice(seeds)
    roll = dice.random()
    if roll < 0.5:
        try:
            data = json.loads(seed)
        except ValueError:
            return spoiled(dice, seed, seeds)
        text = _dumped(dice, changed(dice, data))
        return spoiled(dice, text, seeds) if roll < 0.1 else text
    return spoiled(dice, seed, seeds)


def spoiled(dice: random.Random, seed: bytes, seeds: Sequence[bytes]) -> bytes:
    """``seed`` with one to six places changed, whatever it is."""
    data = bytearray(seed)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        at = dice.randint(0, len(data))
        end = min(len(data), at + dice.choice((0, 1, 1, 2, 8, 64, 1000)))
        match dice.randrange(8):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << dice.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * dice.choice((1, 2, 20))
            case 3:
                del data[at:]
            case 4:
                other = dice.choice(seeds)
                start = dice.randint(0, len(other))
                data[at:end] = other[start : start + dice.choice((4, 40, 400))]
            case 5:
                data[at:end] = dice.randbytes(dice.choice((1, 4, 40)))
            case _:
                data[at:end] = dice.choice(BYTES)
    return bytes(data)


def changed(dice: random.Random, data: Any) -> Any:
    """A copy of a JSON value with one to three places of it replaced, dropped, doubled or nested."""
    root = [copy.deepcopy(data)]
    for _ in range(dice.choice((1, 1, 2, 3))):
        parent, key = dice.choice(_places(root))
        value = parent[key]
        match dice.randrange(6):
            case 0 if parent is not root:
                del parent[key]
            case 1 if isinstance(value, list) and value:
                value.append(copy.deepcopy(dice.choice(value)))
            case 2 if isinstance(value, dict):
                value[dice.choice(("", "a", "\x1b", "\u202e", "a.b", "kind", "x" * 300))] = copy.deepcopy(
                    dice.choice(VALUES)
                )
            case 3:
                parent[key] = DEEP if dice.random() < 0.3 else dice.choice(([value], {"a": value}))
            case 4 if isinstance(value, str):
                parent[key] = value + str(dice.choice([each for each in VALUES if isinstance(each, str)]))
            case _:
                parent[key] = copy.deepcopy(dice.choice(VALUES))
    return root[0]


def _places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Every place that holds a value: its container, and its key or index there."""
    found: list[tuple[Any, Any]] = []
    todo: list[Any] = [root]
    while todo:
        here = todo.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here))
        for key in keys:
            found.append((here, key))
            if isinstance(here[key], dict | list):
                todo.append(here[key])
    return found


def _dumped(dice: random.Random, data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=dice.random() < 0.5)
    if DEEP in text:
        opened, closed = dice.choice((("[", "]"), ('{"a":', "}"), ('[{"b":[', "]}]")))
        depth = dice.choice((100, 900, 5000))
        text = text.replace(f'"{DEEP}"', opened * depth + "1" + closed * depth)
    return text.encode("utf-8", "surrogatepass")
