"""An amount of memory without a unit is bytes for Kubernetes and MB for people: no container is made with it."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.quantities import memory
from slinky_iac.config.reading.load import load
from slinky_iac.config.shown import Refused
from slinky_iac.errors import ConfigError
from tests.stacks import minimal

DBD = {"database": {"host": "db.example.org"}}
PLACES: dict[str, dict[str, Any]] = {
    "cluster.sidecarResources": {"cluster": {"name": "hpc1", "sidecarResources": {}}},
    "controller.resources": {"controller": {"resources": {}}},
    "accounting.resources": {"accounting": DBD | {"resources": {}}},
    "restapi.resources": {"restapi": {"resources": {}}},
    "logins.front.resources": {"logins": {"front": {"replicas": 1, "resources": {}}}},
    "nodesets.cpu.resources": {"nodesets": {"cpu": {"replicas": 1, "resources": {}}}},
}
"""Where each container that this program makes has its memory."""
REQUESTS = [f"{path}.requests" for path in PLACES if not path.startswith("nodesets")]


def with_memory(path: str, value: object) -> dict[str, Any]:
    section = path.removesuffix(".requests")
    data = minimal(**PLACES[section])
    found: dict[str, Any] = data
    for step in path.split("."):
        found = found.setdefault(step, {})
    found["memory"] = value
    return data


@pytest.mark.parametrize("path", [*PLACES, *REQUESTS])
def test_memory_in_bytes_is_refused_for_every_container_with_what_to_write(path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(with_memory(path, 64))
    (fault,) = caught.value.faults
    assert fault == (
        f"{path}.memory: got 64, which is bytes; give its unit, for example 64Mi (Slurm counts MB, and Kubernetes bytes)"
    )
    load(with_memory(path, "64Mi"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("131072", "got 131072, which is bytes; give its unit, for example 131072Mi, or 128Gi"),
        ("33554432", "got 33554432, which is bytes; give its unit: 32Mi if bytes are meant, else 33554432Mi"),
        ("0", "got 0, which is bytes; give its unit, for example 0Mi"),
        ("1.5", "got 1.5, which is bytes; give its unit, for example 1.5Mi"),
        ("512m", "got 512m, thousandths of a byte; Kubernetes writes Mi for mebibytes: 512Mi"),
        ("512MB", "got '512MB'; write 512M or 512Mi"),
    ],
)
def test_what_people_mean_by_an_amount_is_named(value: str, words: str) -> None:
    with pytest.raises((ValueError, Refused)) as caught:
        memory(value)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["67108864", "4294967296", "0Mi", "16Mi", "500k", "1.5Gi"])
def test_amounts_that_kubernetes_takes_and_a_person_may_mean_are_taken(value: str) -> None:
    assert memory(value) == value
