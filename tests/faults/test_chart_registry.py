"""slurm-operator's own charts from a registry, by digest, on the lab: what is deployed, and what no longer is."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab import charts
from tests.e2e.gated import NAMESPACE, NODESET, Gated
from tests.e2e.slurm import Slurm
from tests.e2e.world import World, dev_settings
from tests.oci_registry import Registry, of_folder, serving

CRDS, OPERATOR = "slurm-operator-crds", "slurm-operator"


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with serving() as made:
        yield made


@pytest.fixture
def charted(world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = Gated(world, slurm, world.named("charted"))
    yield gated
    gated.stack.destroy()


def deployed(world: World) -> object:
    """The operator's pods as they were asked for."""
    found = world.kubectl("get", "deployment", OPERATOR, "-n", "slinky", "-o", "json").stdout
    return json.loads(found)["spec"]


def test_the_operators_charts_are_deployed_by_digest_and_a_registry_that_was_taken_over_changes_nothing(
    charted: Gated, registry: Registry
) -> None:
    folder, operator = charts.chart_dir(), dev_settings()["slinky-iac:operator"]
    version = operator["version"]
    digests = {name: registry.push(name, version, of_folder(folder / name)) for name in (CRDS, OPERATOR)}
    source = {"oci": registry.charts, "digest": digests[OPERATOR], "crdsDigest": digests[CRDS]}
    charted.up(1, operator=operator | {"chart": source})
    charted.world.await_pods(NAMESPACE, NODESET, 1)
    before = deployed(charted.world)
    assert charted.changes() == []

    evil = registry.push(OPERATOR, version, of_folder(folder / OPERATOR, replicas="replicaz"))
    assert evil != digests[OPERATOR]
    assert charted.changes() == [], "the tag leads elsewhere"
    by_digest = f"charts/{OPERATOR}@{{}}"
    registry.manifests[by_digest.format(digests[OPERATOR])] = registry.manifests[by_digest.format(evil)]
    refused = charted.stack.pulumi("preview", check=False)
    assert refused.returncode != 0
    assert "digest mismatch" in refused.stdout + refused.stderr
    refused = charted.try_up()
    assert refused.returncode != 0
    assert deployed(charted.world) == before
