"""A key that is Kubernetes' own leads to the raw piece that takes it; one that is known nowhere is found in its own line."""

from __future__ import annotations

import pytest

from tests.unit.check.test_typed import CPU, said


@pytest.mark.parametrize(
    ("line", "kind", "piece"),
    [
        ("runtimeClassName: nvidia", "PodSpec", "pod"),
        ("topologySpreadConstraints: []", "PodSpec", "pod"),
        ("lifecycle: {}", "Container", "container"),
    ],
)
@pytest.mark.parametrize("below", ["      ", "      pod:\n        "])
def test_a_field_of_kubernetes_leads_to_the_raw_piece_that_takes_it(line: str, kind: str, piece: str, below: str) -> None:
    (found,) = [each for each in said(CPU, f"{CPU}{below}{line}\n") if "Kubernetes'" in each]
    name = line.partition(":")[0]
    assert f".{name}: is not a setting; it is a field of Kubernetes' {kind}, and goes below `raw.{piece}`" in found
    assert found.startswith(f"{18 + below.count(chr(10))}: ")


def test_a_word_that_is_known_nowhere_is_cut_and_found_in_its_line() -> None:
    (found,) = said(CPU, f"{CPU}      correctHorseBattery: 1\n")
    assert found.startswith("18: nodesets.cpu.correc…(19 characters)")
    assert "Horse" not in found


def test_a_field_of_kubernetes_that_no_piece_takes_is_named_whole() -> None:
    (found,) = said(CPU, f"{CPU}      minReadySeconds: 3\n")
    assert found.startswith("18: nodesets.cpu.minReadySeconds: is not a setting; allowed here: ")


def test_a_truth_value_is_what_switches_a_part_off() -> None:
    (found,) = said(CPU, f"{CPU}      partition: false\n")
    assert "write partition: {enabled: false}" in found


def test_a_member_of_a_partition_that_is_misspelt_is_named() -> None:
    partition = "  slinky-iac:partitions:\n    long: {nodesets: [cpus]}\n"
    (found,) = said("  slinky-iac:nodesets:\n", f"{partition}  slinky-iac:nodesets:\n")
    assert "Did you mean cpu? Else write a NodeSet into `nodesets`" in found
