"""Every reader of what comes from outside takes hostile input without an error that its callers don't know of, without
hanging, and without a secret or a control character in what is said.

Inputs follow from the name of the reader and ``FUZZ_SEED`` (1 by default), so a failure comes again; ``FUZZ_INPUTS`` is how
many each reader gets (100,000 by default). A failure names its number: ``python -m tests.fuzz NAME NUMBER`` runs that one.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzz.readers import READERS
from tests.fuzz.target import Target, fault, inputs

INPUTS = int(os.environ.get("FUZZ_INPUTS", "100000"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
SHOWN = 5


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", READERS, ids=lambda target: target.name)
def test_no_input_breaks_a_reader(target: Target) -> None:
    faults: list[str] = []
    for number, data in inputs(target, SEED, INPUTS):
        if why := fault(target, data):
            faults.append(f"input {number} (seed {SEED}): {why}; it is {data[:200]!r}")
            if len(faults) == SHOWN:
                break
    assert not faults, "\n".join(faults)
    # Inputs that are all refused, or all read, would test half of the reader, or none.
    assert target.tally["read"] > 0
    print(f"{target.name}: {INPUTS} inputs, {target.tally['read']} read, {target.tally['refused']} refused")
