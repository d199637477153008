"""Whatever settings the program takes, the pack takes what it makes of them: the two doors never contradict each other."""

from __future__ import annotations

import pytest
from slurm_rules.catalogue import RULES

from tests.policies.in_memory import one
from tests.policies.lawful import SITE, drawn, is_lawful, rendered

MANDATORY = [rule for rule in RULES if rule.level == "mandatory"]
LAWFUL = [seed for seed in range(100) if is_lawful(drawn(seed))]


@pytest.mark.parametrize("seed", LAWFUL)
def test_what_the_program_makes_of_lawful_settings_is_never_refused(seed: int) -> None:
    stack = rendered(drawn(seed))
    assert [said for rule in MANDATORY for _, said in one(rule, stack, SITE.get(rule.name)).violations] == []


def test_most_of_what_is_drawn_is_lawful() -> None:
    assert len(LAWFUL) > 70
