"""The one table of the chart's keys: it has every key of every release at hand, and names settings that there are."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from slinky_iac.config.chart.table import ROWS, Row
from slinky_iac.config.chart.translation import UNKNOWN, advice, row_of, rows_below, translate
from slinky_iac.config.stack import StackConfig
from tests.stacks import ROOT

KEYS = [
    line
    for line in (ROOT / "tests" / "unit" / "chart" / "keys.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
MERGED = ("nodesetDefaults", "loginsetDefaults")
"""Laid below each set before anything is looked up (chart_release)."""
READ_BEFORE = {
    "controller.external", "accounting.external", "slurmKey.create", "jwtKey.create", "loginsets", "partitions",
    "sssd.secretRef", "nodesets.a.podSpec.volumes", "loginsets.a.podSpec.volumes",
}  # fmt: skip
"""Switches and mappings that chart_release reads, and names of sets."""


def place(key: str) -> str:
    for defaults, sets in zip(MERGED, ("nodesets.a", "loginsets.a"), strict=True):
        key = key.replace(defaults, sets)
    return key.replace("nodesets.slinky", "nodesets.a").replace("loginsets.slinky", "loginsets.a")


def test_every_key_of_the_chart_has_a_row() -> None:
    assert len(KEYS) > 200
    lost = []
    for key in {place(each) for each in KEYS} - READ_BEFORE:
        parts = tuple(key.split("."))
        if not any(rows_below(parts)) and not any(row_of(parts[:depth]) for depth in range(1, len(parts) + 1)):
            lost.append(key)
    assert lost == []


def test_no_key_of_the_chart_is_called_unknown() -> None:
    """With a value that no conversion can take: each is named, with a reason of its own."""
    for key in {place(each) for each in KEYS} - READ_BEFORE:
        values: Any = "x"
        for part in reversed(key.split(".")):
            values = {part: values}
        found = translate(values)
        assert found.used or found.left, key
        assert not [why for _, why in found.left if why == UNKNOWN], key


@pytest.mark.parametrize("row", [row for row in ROWS if row.setting], ids=lambda row: row.at)
def test_a_row_names_a_setting_that_there_is(row: Row) -> None:
    model: Any = StackConfig
    parts = row.setting.split(".")
    for number, part in enumerate(parts):
        if part == "{}":
            continue
        if model is dict:  # a raw piece has what Kubernetes has
            break
        assert isinstance(model, type), row.setting
        assert issubclass(model, BaseModel), row.setting
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        assert field is not None, row.setting
        model = inner(field.annotation)
        assert model is not None or number == len(parts) - 1, row.setting


def inner(annotation: Any) -> Any:
    if annotation == dict[str, Any]:
        return dict
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := inner(part)) is not None), None)


def test_a_row_without_a_setting_says_why() -> None:
    assert [row.at for row in ROWS if not (row.setting or row.why or row.take is not Row("").take)] == []


@pytest.mark.parametrize("word", ["dNSPolicy", "dnspolicy", "DNSPolicy", "dnsPolicy"])
def test_a_word_is_known_in_any_spelling(word: str) -> None:
    known = advice(f"nodesets.gpu.{word}", "ClusterFirstWithHostNet")
    assert known is not None
    assert "remove the line" in known.words
    assert known.instead == {}
