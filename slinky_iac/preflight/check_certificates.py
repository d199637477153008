"""Certificates of slurmrestds at https addresses: believed, and for how long. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Check, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts

SOON_DAYS: Final = 30
DAY_S: Final = 86_400


def certificates(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """Each is believed by whom it is shown to, and holds for another 30 days."""
    for seen in facts.certificates:
        subject = f"certificate at {seen.url}"
        if seen.trouble:
            yield unknown("certificate", subject, "here", f"not shown: {seen.trouble}", f"Correct {seen.path}, or start it")
        elif seen.left_s is None:
            said = "Gates get no answer from there. Mend it, or the settings beside " + seen.path
            yield problem("certificate", subject, "here", seen.refused, said)
        elif seen.left_s < SOON_DAYS * DAY_S:
            got = f"runs out in {seen.left_s // DAY_S} days"
            yield warning("certificate", subject, "here", got, "Renew it: after that day no gate gets an answer from there")
        else:
            yield fine("certificate", subject, "here", f"is believed, and holds for {seen.left_s // DAY_S} days")


CHECKS: Final = (certificates,)
