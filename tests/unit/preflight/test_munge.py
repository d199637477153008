"""A cluster with auth/munge reads nothing that only auth/slurm needs, but what its clients do need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.preflight.ask import Scope, ask
from slinky_iac.commands.preflight.pod import placements
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint
from slinky_iac.parts.munge.settings import MUNGE
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, KubeFacts
from tests.stacks import ROOT, merged, sections

PRINT, OTHER = "SHA256:munge", "SHA256:other"


def munge(**over: Any) -> StackConfig:
    """The worked example of such a stack."""
    return load(merged(sections(ROOT / "examples" / "jupyter" / "Pulumi.munge.yaml"), over))


def kube(**more: Any) -> KubeFacts:
    return KubeFacts(server="https://kube:6443", release="v1.35.0", namespace=True, **more)


@pytest.mark.parametrize("facts", [Facts(), Facts(keys={MUNGE.label: PRINT}, kube=kube(keys={MUNGE.label: OTHER}))])
def test_nothing_is_advised_that_only_auth_slurm_needs(facts: Facts) -> None:
    said = " ".join(f"{each.name} {each.change} {' '.join(each.paste)}" for each in checks(munge(), facts))
    for word in (
        "auth/slurm",
        "jwt",
        "use_client_ids",
        "enable_configless",
        "MaxNodeCount",
        "slurm.key",
        "25.11",
        "pulumi up",
    ):
        assert word not in said


def test_the_key_is_compared_with_the_secret_and_its_fingerprint_is_told_for_the_hosts() -> None:
    found = {
        each.name: each for each in checks(munge(), Facts(keys={MUNGE.label: PRINT}, kube=kube(keys={MUNGE.label: PRINT})))
    }
    assert found["key-secret"].verdict is Verdict.FINE
    assert found["munge-key"].verdict is Verdict.UNKNOWN
    assert PRINT in found["munge-key"].change
    other = checks(munge(), Facts(keys={MUNGE.label: PRINT}, kube=kube(keys={MUNGE.label: OTHER})))
    assert [each.name for each in other if each.verdict is Verdict.PROBLEM] == ["key-secret"]


def test_an_existing_secret_that_isnt_there_is_a_problem() -> None:
    found = checks(munge(keys={"source": "existing"}, munge={"keyFrom": {"secret": "theirs"}}), Facts(kube=kube()))
    assert [each.name for each in found if each.verdict is Verdict.PROBLEM] == ["key-secret"]


def test_its_key_is_read_and_slurm_is_not_asked(tmp_path: Path) -> None:
    raw = bytes(range(128))
    env = {"KUBECONFIG": str(tmp_path / "none")}
    facts = ask(Values(munge(), (), KeyMaterial({"mungeKey": raw})), Scope(pod=False), env=env)
    assert facts.keys == {MUNGE.label: fingerprint(raw)}
    assert facts.slurm == Facts().slurm


def test_its_pod_runs_the_image_that_the_clients_have() -> None:
    config: StackConfig = munge()
    assert [each.image for each in placements(config)] == [config.munge.image]
