"""A Kubernetes that can't have the fence is reported before the update that would fail on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.fence.part import KINDS
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.facts import Facts
from slinky_iac.preflight.kube_questions import OTHERS, unserved
from tests.stacks import ROOT, minimal, sections
from tests.unit.preflight.made import FACTS, KUBE, found


def stack(*, fence: bool = True) -> StackConfig:
    return load(minimal(cluster={"name": "atlas", "fence": fence}))


def asked(policies: bool | None, trouble: str = "") -> Facts:
    return replace(FACTS, kube=replace(KUBE, serves={"fence": policies}, trouble=trouble))


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


class Kube:
    """An API server that serves these kinds."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def serves(self, api: str, kinds: Collection[str]) -> bool:
        assert api == KINDS.api
        return set(kinds) <= set(self.kinds)


def said(config: StackConfig, kube: Kube) -> list[str]:
    (question,) = (each for each in OTHERS if each.applies(config) and each.ask is unserved)
    return [each.path for each in question.findings(config, question.ask(kube, config))]  # type: ignore[arg-type]


def test_an_api_server_without_its_kinds_is_a_warning_of_every_preview() -> None:
    assert said(stack(), Kube()) == ["cluster.fence"]
    assert said(stack(), Kube("validatingadmissionpolicies")) == ["cluster.fence"]
    assert said(stack(), Kube(*KINDS.resources)) == []


def test_a_stack_without_the_fence_asks_for_no_kinds() -> None:
    assert not any(each.applies(stack(fence=False)) for each in OTHERS if each.ask is unserved)


def test_a_munge_clusters_stack_asks_for_no_kinds() -> None:
    """It makes no fence, and was warned of one that its Kubernetes can't have."""
    config = load(sections(ROOT / "examples" / "jupyter" / "Pulumi.munge.yaml"))
    assert not any(each.applies(config) for each in OTHERS if each.ask is unserved)
