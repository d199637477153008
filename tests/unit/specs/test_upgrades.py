"""A newer slurm-operator with the images held, as docs/releases.md says, changes nothing of ours that replaces pods."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.rendering import custom_resources
from tests.stacks import FORMS, form

REPLACES_PODS = ("template", "slurmd", "extraConf", "logfile", "ssh", "ordinalPadding")
"""What slurm-operator hashes of a NodeSet (``internal/controller/nodeset/nodeset_history.go``, getPatch, 1.1.0)."""
RELEASES = ("1.0.1", "1.0.5", "1.1.0", "1.1.2", "1.2.1")
HELD = {name: f"registry.example.org/{name}:25.11.2" for name in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")}


def hashed(name: str, release: str, **images: str) -> dict[str, Any]:
    """What the operator would hash, by NodeSet."""
    cluster = {"images": images, "slurmVersion": "25.11" if images else None}
    config = form(name, operator={"version": release, "webhook": None}, cluster=cluster)
    made = custom_resources(config)
    return {
        key: {part: spec.get(part) for part in REPLACES_PODS} for key, spec in made.items() if key.startswith("NodeSet/")
    }


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("older", "newer"), list(itertools.pairwise(RELEASES)))
def test_with_images_held_a_newer_operator_replaces_no_pod_by_what_we_send(name: str, older: str, newer: str) -> None:
    before = hashed(name, older, **HELD)
    assert before
    assert hashed(name, newer, **HELD) == before


def test_without_it_the_images_change_with_the_operator() -> None:
    assert hashed("all-in-kubernetes", "1.1.2") != hashed("all-in-kubernetes", "1.2.1")
