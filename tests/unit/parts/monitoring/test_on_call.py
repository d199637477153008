"""The page for who is called: a section for each alert rule."""

from __future__ import annotations

import re

from slinky_iac.parts.monitoring.alerts import alerts
from tests.stacks import ROOT

ON_CALL = (ROOT / "docs" / "on-call.md").read_text()
SCREEN = 50
"""Lines of a terminal of which none has to be scrolled away."""


def test_on_call_says_what_to_do_for_each_alert_within_a_screen() -> None:
    sections = dict(re.findall(r"^### (Sl\w+)\n(.*?)(?=^##)", ON_CALL, re.MULTILINE | re.DOTALL))
    assert list(sections) == [each.name for each in alerts()]
    assert {name for name, text in sections.items() if not 0 < len(text.strip().splitlines()) < SCREEN / 2} == set()
    assert {each.page for each in alerts()} == {f"on-call.md#{name.lower()}" for name in sections}
