"""Hypothesis as all unit tests have it: an example may take what it takes, since how busy the machine is proves nothing.

No unit test asks the cluster of the person who runs it: a lab beside it would answer.
"""

import gc
import os

from hypothesis import settings

from tests.unit.examples import examples

os.environ.pop("KUBECONFIG", None)
gc.disable()  # until all is collected: it would look through all modules again and again
settings.register_profile("slinky", deadline=None, max_examples=examples(100))
settings.load_profile("slinky")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: no garbage collection of a test's need go through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # of the tests' own objects too: hypothesis counts the time of every collection
    gc.enable()
