"""Our hostlists against Slurm's own: `scontrol show hostnames` and `hostlistsorted` say the same of the same text."""

from __future__ import annotations

import random

import pytest

from slinky_iac.hostlist import compress, expand
from tests.e2e.slurm import Slurm

EXPRESSIONS = [
    "metal-1",
    "gpu-[0-3]",
    "g-[1,0]",
    "gpu-[0-1,07-09]",
    "n[8-11]",
    "n[008-011]",
    "n[1-03]",
    "r[1-2]n[01-04]",
    "r[1-2]n[1-2]-ib,metal-1",
    "a,a",
    "n[9,09-10]",
    "x,x[1-2]",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression_stands_for_the_names_that_scontrol_lists(slurm: Slurm, expression: str) -> None:
    assert list(expand(expression)) == slurm.admin("scontrol", "show", "hostnames", expression).split()


def test_what_we_compress_scontrol_expands_to_the_same_names(slurm: Slurm) -> None:
    dice = random.Random(7)
    for _ in range(10):
        forms = [dice.choice(["gpu-{:d}", "n{:02d}", "n{:d}", "rack1-n{:03d}"]) for _ in range(dice.randint(1, 80))]
        names = {form.format(dice.randint(0, 120)) for form in forms}
        listed = slurm.admin("scontrol", "show", "hostnames", compress(names)).split()
        assert len(listed) == len(names)
        assert set(listed) == names
