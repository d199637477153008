"""The garbage collector of the program: seldom, not off."""

from __future__ import annotations

import subprocess
import sys

from tests.stacks import ROOT

PROGRAM = """
import gc, weakref

gc.disable()
from slinky_iac.collector import NEW, collect_seldom

collect_seldom()
assert gc.isenabled() and gc.get_freeze_count() > 1000


class Ring:
    pass


ring = Ring()
ring.itself, gone = ring, weakref.ref(ring)
del ring
assert gone() is not None
kept = [[] for _ in range(NEW + 1000)]
assert gone() is None, "a ring of objects is collected after the next so many new ones"
"""


def test_a_program_looks_seldom_for_garbage_but_does_look() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, check=True)
