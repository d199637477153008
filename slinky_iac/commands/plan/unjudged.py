"""What policies could not judge, as the engine's events tell it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.commands.plan.model import ChangeOrder

UNJUDGED: Final = "can't run policy '"
"""How pulumi_policy (Python) and @pulumi/policy begin the advisory of a policy that met an unknown value: it isn't the
policy's own level, so a mandatory rule that judged nothing would look like advice."""


def unjudged(order: ChangeOrder) -> Iterator[str]:
    """Each rule that did not judge all that it should, and that there was none to judge."""
    if order.policies is None:
        yield "what policies say isn't in this form of the preview; take it with PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1"
        return
    if not order.policies.violations and not order.policies.passed:
        yield "no policy pack was applied to the preview; give --policy-pack"
    for said in order.policies.violations:
        if said.message.startswith(UNJUDGED):
            yield f"policy {said.name}: {said.message.partition(': ')[2] or 'not judged'}"
