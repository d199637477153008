"""How long the certificate holds that this stack makes for slurmrestd: asked of the calendar, in every preview."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from slinky_iac.config.findings import Finding, warning
from slinky_iac.config.stack import StackConfig

SOON: Final = 30
"""Days before the end from which on every preview warns."""


def expiring(config: StackConfig, today: date) -> tuple[Finding, ...]:
    """A warning where a generated certificate isn't valid yet, has run out, or will within the next 30 days."""
    tls = config.restapi.tls
    if tls is None or tls.source != "generated" or tls.since is None:
        return ()
    end = tls.since + timedelta(days=tls.days)
    if today < tls.since:
        told = f"is {tls.since}, a day to come: until then clients refuse the certificate. Set it to {today} or earlier"
    elif today >= end:
        told = f"is {tls.since}, and the certificate ran out on {end}: gates and users are refused. Set it to {today}"
    elif today >= end - timedelta(days=SOON):
        told = f"is {tls.since}, so the certificate runs out on {end}. Set it to {today}: it is renewed in place"
    else:
        return ()
    return (warning("restapi.tls.since", told, id="certificate-expires"),)
