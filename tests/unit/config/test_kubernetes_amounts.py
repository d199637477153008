"""Quantities as numbers, and what follows for requests and limits (a real API server: tests/integration)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from slinky_iac.config.kubernetes.amounts import resources
from slinky_iac.config.kubernetes.types import faults
from slinky_iac.config.quantities import amount


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("500m", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        (2, 2),
        (0.5, Fraction(1, 2)),
        ("1.5Gi", 3 * 2**29),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1e-3", Fraction(1, 1000)),
        ("-1Ki", -1024),
        ("100u", Fraction(1, 10_000)),
        ("8GB", None),
        ("", None),
        (None, None),
        (True, None),
    ],
)
def test_a_quantity_is_one_number(given: object, number: Fraction | None) -> None:
    assert amount(given) == number


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({"limits": {"memory": "4Gi"}, "requests": {"memory": "4096Mi"}}, []),
        ({"limits": {"memory": "4Gi"}, "requests": {"memory": "4097Mi"}}, [".requests.memory"]),
        ({"requests": {"memory": "4Gi"}}, []),
        ({"requests": {"nvidia.com/gpu": 1}}, [".requests.nvidia.com/gpu"]),
        ({"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}}, [".requests.nvidia.com/gpu"]),
        ({"limits": {"nvidia.com/gpu": "1500m"}}, [".limits.nvidia.com/gpu"]),
        ({"limits": {"cpu": "8 Gi"}, "requests": {"cpu": 1}}, []),
    ],
)
def test_requests_are_judged_beside_their_limits(value: dict[str, Any], places: list[str]) -> None:
    assert [path for path, _ in resources(value)] == places


@pytest.mark.parametrize("huge", ["1e999999999", "9" * 100_000, "1e-999999999"])
def test_an_amount_that_would_fill_the_memory_is_no_amount(huge: str) -> None:
    assert amount(huge) is None
    assert [path for path, _ in resources({"limits": {"cpu": huge}})] == []
    (fault,) = faults("Container", {"name": "a", "image": "b", "resources": {"limits": {"cpu": huge}}})
    assert "takes a number with a unit" in fault[1]
