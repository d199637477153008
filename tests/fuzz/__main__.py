"""One input again, with its traceback: ``python -m tests.fuzz NAME NUMBER [SEED]``."""

from __future__ import annotations

import hashlib
import random
import sys

from tests.fuzz.readers import READERS

name, number, *rest = sys.argv[1:]
target = next(each for each in READERS if each.name == name)
digest = hashlib.sha256(f"{name}/{rest[0] if rest else 1}/{number}".encode()).digest()
data = target.mutate(random.Random(digest), target.seeds)
print(repr(data))
print(target.read(data))
