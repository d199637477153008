"""How a stack's file is read is how Pulumi reads it: thousands of words as values and as names, asked of `pulumi config`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from slinky_iac import pulumi_yaml, safe_yaml
from tests.integration.engine import Project

WORDS = """true True TRUE tRue yes No on OFF null Null ~ NULL nil y n = . 1:30:00 12:30 None 0b 1_ _1 0_ -0 +0 -.5 +.5e3 5.
1__0 0300 0o300 1_000 0x12c 18446744073709551615 9007199254740993 .7_5 ._75 1e400 2026-13-01 26.05 26.10""".split()  # noqa: SIM905
DIGITS = "0123456789"


def words(seed: int, count: int) -> Iterator[str]:
    """Words that may be numbers, dates or neither."""
    rng = random.Random(seed)

    def some(signs: str, least: int, most: int) -> str:
        return "".join(rng.choice(signs) for _ in range(rng.randint(least, most)))

    forms = (
        lambda sign: f"{sign}0{some('01234567_8', 1, 5)}",
        lambda sign: sign + rng.choice(("0x", "0X", "0o", "0O", "0b", "0B")) + some("01234567_89af", 0, 5),
        lambda sign: sign + some(DIGITS + "_", 1, 24),
        lambda sign: f"{sign}{some(DIGITS, 0, 4)}.{some(DIGITS + '_', 0, 5)}",
        lambda sign: f"{sign}{some(DIGITS, 1, 3)}{rng.choice(('', '.', '.5'))}e{rng.choice('+-')}{some(DIGITS, 1, 3)}",
        lambda _: (
            f"{rng.choice((999, 1999, 2026, 12026))}-{rng.randint(0, 13)}-{rng.randint(0, 32):02d}"
            + rng.choice(
                ("", f" {rng.randint(0, 25)}:{rng.randint(0, 60)}:{rng.randint(0, 61):02d}", "T10:00:00Z", "T1:2:3.50Z")
            )
        ),
    )
    for _ in range(count):
        word = rng.choice(forms)(rng.choice(("", "", "-", "+")))
        if word not in ("", "-", "+", ".", "-.", "+."):
            yield word


@pytest.mark.parametrize("as_name", [False, True])
def test_every_word_is_what_pulumi_reads(as_name: bool, project: Project) -> None:
    each = [*WORDS, *words(36, 2000)]
    lines = "".join(f"  - {word}{': x' if as_name else ''}\n" for word in each)
    text = f"config:\n  slinky-iac:words:\n{lines}"
    (project.folder / "Pulumi.test.yaml").write_text(text)
    told: dict[str, Any] = json.loads(project.run("config", "--json").stdout)
    by_pulumi = json.loads(told["slinky-iac:words"]["value"])
    read: Any = safe_yaml.read(text, pulumi_yaml.StackLoader)
    differ = [
        (word, theirs, ours)
        for word, theirs, ours in zip(each, by_pulumi, read["config"]["slinky-iac:words"], strict=True)
        if theirs != ours or type(theirs) is not type(ours)
    ]
    assert differ == []


@pytest.mark.parametrize(
    "line",
    ["{x: .inf}", "{x: .nan}", "&a {x: *a}", "{? [a] : 1}", '{1: a, "1": b}', "\n    a: 1\n\t# tab\n    b: 2"],
)
def test_what_pulumi_refuses_is_refused(line: str, project: Project) -> None:
    from slinky_iac.config.reading.stack_file import parse  # noqa: PLC0415

    text = f"config:\n  slinky-iac:cluster: {line}\n"
    assert parse(text).faults
    (project.folder / "Pulumi.test.yaml").write_text(text)
    assert project.run("config", "--json", ok=False).returncode != 0
