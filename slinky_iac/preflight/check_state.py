"""The stack's state: whether an engine would load code from it that isn't this program's. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Check, fine, problem, unknown
from slinky_iac.preflight.facts import Facts

_ABOUT = ("state-code", "the stack's state", "the backend")
_NEXT = (
    "Don't run `pulumi` on this stack: who wrote that could run code with your rights. Compare with an earlier version of"
    " the state in the backend, import a good one (`pulumi stack import`), and find out who can write there"
)


def state_code(_config: StackConfig, facts: Facts) -> Iterator[Check]:
    """A problem for each place; unknown where the state could not be read or decrypted."""
    if facts.foreign is not None:
        yield from (problem(*_ABOUT, each, _NEXT) for each in facts.foreign)
        if not facts.foreign:
            yield fine(*_ABOUT, "holds no code but this program's")
    elif facts.foreign_trouble:
        yield unknown(*_ABOUT, facts.foreign_trouble, "Run", "python -m slinky_iac verify-state")


CHECKS = (state_code,)
