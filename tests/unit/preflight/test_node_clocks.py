"""A clock that was read between two far readings of ours may be off by as much: that isn't fine."""

from __future__ import annotations

import pytest

from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Clock
from tests.unit.preflight.made import NOW, pod, stack


@pytest.mark.parametrize(("lasted_s", "verdict"), [(5, Verdict.FINE), (59, Verdict.FINE), (100, Verdict.UNKNOWN)])
def test_a_pod_whose_image_took_a_minute_tells_nothing_about_a_clock(lasted_s: int, verdict: Verdict) -> None:
    facts = pod(clock=Clock("pod on node-1", NOW + 3, NOW, NOW + lasted_s))
    (found,) = [each for each in checks(stack(), facts) if each.name == "clock" and each.source == "pod on node-1"]
    assert found.verdict is verdict
