"""gres.conf of a slurmctld in Kubernetes: the program writes it where the operator doesn't and the GPUs' vendor is known."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.operator.conf import GRES_CONF
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import StackConfig
from tests.stacks import merged, minimal

GPUS = {"replicas": 1, "gres": ["gpu:2"], "resources": {"extended": {"nvidia.com/gpu": 2}}}


def stack(nodeset: dict[str, Any], **more: Any) -> StackConfig:
    return load(merged(minimal(), {"nodesets": {"gpu": nodeset}, **more}))


def warned(config: StackConfig) -> bool:
    return "gpus-without-gres-conf" in {each.id for each in findings(config, frozenset())}


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        ("nvidia.com/gpu", "AutoDetect=nvidia\n"),
        ("amd.com/gpu", "AutoDetect=rsmi\n"),
        ("gpu.intel.com/i915", "AutoDetect=oneapi\n"),
    ],
)
def test_the_vendor_of_the_devices_says_how_slurmd_looks_for_them(resource: str, text: str) -> None:
    made = stack({**GPUS, "resources": {"extended": {resource: 2}}})
    assert made.controller.config_files[GRES_CONF] == text
    assert not warned(made)


@pytest.mark.parametrize(
    ("text", "finds"), [("AutoDetect=nvidia\n", False), ("AutoDetect=nvml\n", True), ("AutoDetect=full\n", True)]
)
def test_slices_of_gpus_are_found_by_one_way_alone(text: str, finds: bool) -> None:
    """gres.conf(5): nvidia detects no MIG device. The GPU that a slice is of would be of another type or number."""
    slices = {**GPUS, "gres": ["gpu:1g.5gb:2"], "resources": {"extended": {"nvidia.com/mig-1g.5gb": 2}}}
    made = stack(slices, controller={"configFiles": {GRES_CONF: text}})
    assert warned(made) != finds
    bare = stack(slices)
    assert GRES_CONF not in bare.controller.config_files
    assert warned(bare)


def test_a_gres_conf_of_the_operators_own_that_finds_no_slice_is_a_warning() -> None:
    """1.1 writes AutoDetect=nvidia where the stack has no file of that name."""
    slices = {**GPUS, "gres": ["gpu:1g.5gb:2"], "resources": {"extended": {"nvidia.com/mig-1g.5gb": 2}}}
    assert warned(stack(slices, operator={"version": "1.1.2"}))
    assert not warned(stack(GPUS, operator={"version": "1.1.2"}))


@pytest.mark.parametrize("extended", [{}, {"example.org/gpu": 2}, {"nvidia.com/gpu": 2, "amd.com/gpu": 2}])
def test_an_unknown_vendor_is_a_warning_and_nothing_is_guessed(extended: dict[str, int]) -> None:
    made = stack({**GPUS, "resources": {"extended": extended}})
    assert GRES_CONF not in made.controller.config_files
    assert warned(made)


def test_what_divides_gpus_without_a_gpu_gets_no_file_and_stops_no_check() -> None:
    made = stack({"replicas": 1, "gres": ["shard:4"]})
    assert GRES_CONF not in made.controller.config_files
    assert not warned(made)


def test_a_file_of_the_users_stays() -> None:
    made = stack(GPUS, controller={"configFiles": {GRES_CONF: "AutoDetect=nvml\n"}})
    assert made.controller.config_files == {GRES_CONF: "AutoDetect=nvml\n"}
    assert not warned(made)


def test_an_operator_that_writes_one_an_outside_slurmctld_and_nodes_without_gpus_get_none() -> None:
    operator = stack(GPUS, operator={"version": "1.1.2"})
    outside = stack(GPUS, controller={"external": {"host": "ctl.example.org"}})
    plain = stack({"replicas": 1})
    for made in (operator, outside, plain):
        assert (made.controller.config_files, warned(made)) == ({}, False)
