"""Names and values of slurm.conf over which slurmctld refuses its whole file are errors; those that it takes are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.slurm import refusals as slurm_refusals
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.errors import ConfigError
from tests import slurm_conf_cases
from tests.stacks import SECRETS, minimal

METAL = "external.slurmdHosts.0.config"


def of_conf(parameters: dict[str, str], release: str = "26.05") -> dict[str, Any]:
    return minimal(
        cluster={"name": "c", "slurmVersion": release}, operator={"version": "1.2.1"}, controller={"extraConf": parameters}
    )


def of_partition(parameters: dict[str, str], release: str = "26.05") -> dict[str, Any]:
    partition = {"nodesets": ["gpu"], "config": parameters}
    return minimal(cluster={"name": "c", "slurmVersion": release}, partitions={"train": partition})


def of_node(parameters: dict[str, str]) -> dict[str, Any]:
    return minimal(external={"slurmdHosts": [{"name": "metal-1", "config": parameters}]})


def errors(data: dict[str, Any], path: str) -> list[str]:
    """What slurmctld refuses; what is refused for its reach, and can be acknowledged, isn't its."""
    said = findings(load(data), SECRETS)
    return [each.message for each in said if each.level is Level.ERROR and not each.id and each.path.startswith(path)]


def cases(text: str) -> list[tuple[str, dict[str, str], bool]]:
    """Of every release that the cases know."""
    return [(release, *case) for release in slurm_conf_cases.RELEASES for case in slurm_conf_cases.cases(text, release)]


@pytest.mark.parametrize(("release", "parameters", "taken"), cases(slurm_conf_cases.CONF), ids=str)
def test_what_slurmctld_refuses_is_an_error_and_nothing_else_is(
    release: str, parameters: dict[str, str], taken: bool
) -> None:
    said = errors(of_conf(parameters, release), "controller.extraConf")
    assert (not said) == taken, said
    assert all("refuses" in each or "ends" in each for each in said)


@pytest.mark.parametrize("value", ["$(id)", "`id`", "gpu:$(id)", "a\u202eb"])
@pytest.mark.parametrize("of", [of_node, of_partition])
def test_no_value_of_a_line_is_what_a_shell_runs_or_no_screen_shows(of: Any, value: str) -> None:
    with pytest.raises(ConfigError, match=r"the value (may hold no|has '`' or)"):
        load(of({"Gres" if of is of_node else "AllowGroups": value}))


@pytest.mark.parametrize(("release", "parameters", "taken"), cases(slurm_conf_cases.PARTITION), ids=str)
def test_the_same_of_a_partitions_line(release: str, parameters: dict[str, str], taken: bool) -> None:
    assert (not errors(of_partition(parameters, release), "partitions.train.config")) == taken
    own = minimal(
        nodesets={"gpu": {"replicas": 1, "partition": {"config": parameters}}},
        cluster={"name": "c", "slurmVersion": release},
    )
    assert (not errors(own, "nodesets.gpu.partition.config")) == taken


@pytest.mark.parametrize(("parameters", "taken"), slurm_conf_cases.cases(slurm_conf_cases.NODE, "26.05"), ids=str)
def test_the_same_of_a_nodes_line(parameters: dict[str, str], taken: bool) -> None:
    assert (not errors(of_node(parameters), METAL)) == taken
    assert (
        not errors(minimal(nodesets={"gpu": {"replicas": 1, "extraConf": parameters}}), "nodesets.gpu.extraConf")
    ) == taken


@pytest.mark.parametrize(("parameters", "taken"), slurm_conf_cases.cases(slurm_conf_cases.METAL, "26.05"), ids=str)
def test_the_same_of_a_host_s_line(parameters: dict[str, str], taken: bool) -> None:
    assert (not errors(of_node(parameters), METAL)) == taken


@pytest.mark.parametrize(
    ("version", "parameters", "taken"),
    [
        ("1.0.1", {"NamespaceType": "namespace/tmpfs"}, True),
        ("1.2.1", {"NamespaceType": "namespace/tmpfs"}, False),
        ("1.0.1", {"TaskPluginParam": "OOMKillStep"}, True),
        ("1.2.1", {"TaskPluginParam": "OOMKillStep"}, False),
        ("1.0.1", {"prologflags": "NoHold"}, True),
    ],
)
def test_what_the_operators_release_writes_counts(version: str, parameters: dict[str, str], taken: bool) -> None:
    data = minimal(operator={"version": version}, controller={"extraConf": parameters})
    assert (not errors(data, "controller.extraConf")) == taken


def test_a_name_of_a_newer_slurm_is_an_error_until_the_stack_says_that_it_has_that_slurm() -> None:
    data = minimal(operator={"version": "1.0.1"}, controller={"extraConf": {"HealthCheckTimeout": 5}})
    assert "cluster.slurmVersion" in errors(data, "controller.extraConf.HealthCheckTimeout")[0]
    data["cluster"]["slurmVersion"] = "26.05"
    assert errors(data, "controller.extraConf") == []


KEYS = st.sampled_from(sorted({row[0] for row in slurm_refusals.REFUSED})) | st.text(max_size=12)
VALUES = st.text(max_size=20) | st.lists(st.sampled_from(["none", "GANG", "suspend", "CR_CPU", "0", "x11"])).map(",".join)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@example({"MaxDBDMsgs": "\u00b9"})  # a digit to str.isdigit, and none to int
@example({"MaxDBDMsgs": "9" * 5000})
def test_any_text_is_judged_and_only_what_is_given_is_named(given_: dict[str, str]) -> None:
    assert {key for key, _ in slurm_refusals.refused({}, given_, (26, 5))} <= given_.keys()
    assert {key for key, _ in slurm_refusals.refused_of_partition(given_)} <= given_.keys()
    for key, value in given_.items():
        words = slurm_words.words("26.05", "slurm.conf")
        assert isinstance(words.fault(key, value) + words.no_plugin(key, value), str)
