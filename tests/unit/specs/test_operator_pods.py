"""The predicted pod is the one that slurm-operator's own functions make, field by field and in its order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slinky_iac.specs.pods import pod_of
from tests.operator_pods import STORED, asked, key, plain

MADE: dict[str, Any] = json.loads(STORED.read_text())
_OF_CONTROLLERS = "nodeset.slinky.slurm.net/"
"""Labels that the NodeSet's controller adds to each pod."""


def test_every_pod_was_made() -> None:
    made = {key(name, version, each) for name, version, config, each in asked() if pod_of(config, each) is not None}
    assert made == MADE.keys()


@pytest.mark.parametrize("name", MADE)
def test_the_predicted_pod_is_the_operators(name: str) -> None:
    (pod,) = [pod_of(config, each) for case, version, config, each in asked() if key(case, version, each) == name]
    predicted = plain(pod)
    labels = predicted["metadata"]["labels"]
    predicted["metadata"]["labels"] = {each: labels[each] for each in labels if not each.startswith(_OF_CONTROLLERS)}
    assert predicted == MADE[name]
