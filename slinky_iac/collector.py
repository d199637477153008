"""Python's garbage collector in a program that ends with `pulumi up`.

The SDKs make hundreds of thousands of objects that live until the end. With Python's own thresholds the collector looks
through all of them again and again: a fifth of the time of the imports, and a third of a preview of 100 NodeSets
(docs/evidence/performance.md).
"""

from __future__ import annotations

import gc
from typing import Final

NEW: Final = 100_000
"""Objects since the last collection that cause the next: some 10 MB."""
OLDER: Final = 20
"""Collections of one generation that cause one of the next."""


def collect_seldom() -> None:
    """Call it after the imports: what is there now is not looked through again, and what is made later seldom."""
    gc.freeze()
    gc.set_threshold(NEW, OLDER, OLDER)
    gc.enable()
