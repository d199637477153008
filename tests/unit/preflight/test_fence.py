"""A Kubernetes that can't have the fence is reported before the update that would fail on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.config.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.facts import Facts
from slinky_iac.preflight.kube_questions import unserved
from tests.stacks import minimal
from tests.unit.preflight.made import FACTS, KUBE, found


def stack(*, fence: bool = True) -> StackConfig:
    return load(minimal(cluster={"name": "atlas", "fence": fence}))


def asked(policies: bool | None, trouble: str = "") -> Facts:
    return replace(FACTS, kube=replace(KUBE, admission_policies=policies, trouble=trouble))


@pytest.mark.parametrize(
    ("policies", "verdict", "paste"),
    [
        (True, Verdict.FINE, ()),
        (False, Verdict.PROBLEM, ("fence: false",)),
        (None, Verdict.UNKNOWN, ("kubectl version",)),
    ],
)
def test_the_fence_needs_an_api_server_that_serves_its_kinds(
    policies: bool | None, verdict: Verdict, paste: tuple[str, ...]
) -> None:
    (said,) = found("fence", asked(policies), stack())
    assert (said.verdict, said.paste) == (verdict, paste)


def test_nothing_is_said_without_a_fence_or_of_an_api_server_that_is_silent() -> None:
    assert list(found("fence", asked(policies=False), stack(fence=False))) == []
    assert list(found("fence", asked(None, trouble="no answer"), stack())) == []


def test_an_api_server_without_its_kinds_is_a_warning_of_every_preview() -> None:
    assert [each.path for each in unserved(stack(), there=False)] == ["cluster.fence"]
    assert unserved(stack(), there=True) == ()
