"""A certificate of the stack's own is renewed by a setting: every preview must say so in time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.parts.slurmrestd.rules import expiring
from tests.stacks import minimal

SINCE = date(2026, 11, 22)
CONFIG = load(minimal(restapi={"tls": {"source": "generated", "since": str(SINCE), "days": 100}}))


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (-1, "in the future"),
        (0, ""),
        (69, ""),
        (70, "runs out on 2027-03-02"),
        (99, "runs out"),
        (100, "ran out on 2027-03-02"),
    ],
)
def test_the_last_thirty_days_are_told(day: int, words: str) -> None:
    today = SINCE + timedelta(days=day)
    said = [f"{found.path} {found.message}" for found in expiring(CONFIG, today)]
    if not words:
        assert said == []
        return
    (only,) = said
    assert words in only
    assert f"Set it to {today}" in only
    assert only.startswith("restapi.tls.since ")


def test_a_certificate_that_others_made_is_theirs_to_renew() -> None:
    given = load(minimal(restapi={"tls": {"source": "existing", "secret": "cert"}}))
    assert expiring(given, SINCE) == expiring(load(minimal()), SINCE) == ()
