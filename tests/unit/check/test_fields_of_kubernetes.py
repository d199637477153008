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


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("runtime_class_name: nvidia", "a field of Kubernetes' PodSpec, and goes below `raw.pod` as `runtimeClassName`"),
        (
            "image_pull_policy: Always",
            "a field of Kubernetes' Container, and goes below `raw.container` as `imagePullPolicy`",
        ),
        ("volume_mounts: []", "a volume and its mount are one entry of `volumes`"),
        ("node_selector: {a: b}", "it is `nodesets.cpu.pod.nodeSelector`"),
        ("min_ready_seconds: 3", "allowed here: replicas, "),
    ],
)
def test_a_word_in_snake_case_is_the_word_that_it_is_in_a_file_and_is_named_whole(line: str, sentence: str) -> None:
    (found,) = said(CPU, f"{CPU}      {line}\n")
    assert found.startswith(f"18: nodesets.cpu.{line.partition(':')[0]}: is not a setting; ")
    assert sentence in found


def test_a_list_of_variables_as_kubernetes_has_them_is_answered_by_a_mapping_and_not_by_its_own_place() -> None:
    (found,) = said(CPU, f"{CPU}      env: [{{name: A, value: b}}]\n")
    assert "nodesets.cpu.env: must be a mapping of names to settings, got a list: write, for example, env: {" in found
    assert "it is `nodesets.cpu.env`" not in found


def test_a_word_that_is_known_nowhere_is_cut_and_found_in_its_line() -> None:
    (found,) = said(CPU, f"{CPU}      correctHorseBattery: 1\n")
    assert found.startswith("18: nodesets.cpu.correc…(19 characters)")
    assert "Horse" not in found


def test_a_field_of_kubernetes_that_no_piece_takes_is_named_whole() -> None:
    (found,) = said(CPU, f"{CPU}      minReadySeconds: 3\n")
    assert found.startswith("18: nodesets.cpu.minReadySeconds: is not a setting; allowed here: ")


def test_names_with_commas_are_a_list_and_another_text_gets_an_example() -> None:
    (found,) = said(CPU, f"{CPU}      features: a,b-1\n")
    assert found.endswith("nodesets.cpu.features: must be a list, got a text: write features: [a, b-1]")
    (found,) = said(CPU, f"{CPU}      features: a;b\n")
    assert "nodesets.cpu.features: must be a list, got a text: write, for example, features: [" in found


def test_examples_of_keys_and_variables_are_such_as_people_write() -> None:
    (found,) = said(CPU, f"{CPU}      env: [A]\n")
    assert 'write, for example, env: {OMP_NUM_THREADS: "8"}' in found
    login = "  slinky-iac:logins:\n    main: {replicas: 1, rootAuthorizedKeys: [a]}\n"
    (found,) = [each for each in said("  slinky-iac:nodesets:\n", f"{login}  slinky-iac:nodesets:\n") if "rootAuth" in each]
    assert (
        "rootAuthorizedKeys: must be a text, got a list: write, for example, rootAuthorizedKeys: ssh-ed25519 AAAA" in found
    )


def test_a_truth_value_is_what_switches_a_part_off() -> None:
    (found,) = said(CPU, f"{CPU}      partition: false\n")
    assert "write partition: {enabled: false}" in found


def test_a_member_of_a_partition_that_is_misspelt_is_named() -> None:
    partition = "  slinky-iac:partitions:\n    long: {nodesets: [cpus]}\n"
    (found,) = said("  slinky-iac:nodesets:\n", f"{partition}  slinky-iac:nodesets:\n")
    assert "Did you mean cpu? Else write a NodeSet into `nodesets`" in found
