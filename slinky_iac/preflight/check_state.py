"""The stack's state: whether an engine would load code from it that isn't this program's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Answer, Expect, Run, fine, problem, unknown
from slinky_iac.preflight.facts import Facts

_NEXT = (
    "Don't run `pulumi` on this stack: that code would run with your rights. Compare with an earlier version of"
    " the state in the backend, import a good one (`pulumi stack import`), and find out who can write there"
)


def _state_code(_config: StackConfig, facts: Facts) -> Iterator[Answer]:
    """A problem for each place; unknown where the state could not be read or decrypted."""
    if facts.foreign is not None:
        yield from (problem(each, _NEXT) for each in facts.foreign)
        if not facts.foreign:
            yield fine("holds no code but this program's")
    elif facts.foreign_trouble:
        yield unknown(facts.foreign_trouble, "Run", "slinky verify-state")


EXPECTED = (Expect("state-code", "the stack's state", "the backend", _state_code, Run.WHOLE | Run.MUNGE),)
