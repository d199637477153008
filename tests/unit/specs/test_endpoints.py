"""The Services under the names and ports that the operator writes lead to the daemons outside."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.addresses import Target
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.endpoints import (
    Endpoint,
    endpoint,
    slurmctld_endpoint,
    slurmctld_target,
    slurmdbd_endpoint,
)
from tests.stacks import minimal


def config(**sections: Any) -> StackConfig:
    return load(minimal(keys={"source": "imported"}, **sections))


def test_a_dns_name_on_the_operators_port_is_an_external_name() -> None:
    assert endpoint("s", "slurmdbd", 6819, Target("dbd.example.org", 6819)) == Endpoint(
        "s",
        {
            "type": "ExternalName",
            "externalName": "dbd.example.org",
            "ports": [{"name": "slurmdbd", "port": 6819, "targetPort": 6819, "protocol": "TCP"}],
        },
        None,
    )


@pytest.mark.parametrize(("host", "family"), [("192.0.2.1", "IPv4"), ("2001:db8::1", "IPv6")])
@pytest.mark.parametrize("port", [6819, 16819])
def test_an_address_has_any_port_through_an_endpoint_slice(host: str, family: str, port: int) -> None:
    made = endpoint("s", "slurmdbd", 6819, Target(host, port))
    assert made.service == {
        "type": "ClusterIP",
        "ports": [{"name": "slurmdbd", "port": 6819, "targetPort": port, "protocol": "TCP"}],
    }
    assert made.slice == {
        "addressType": family,
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "slurmdbd", "port": port, "protocol": "TCP"}],
    }


def test_a_dns_name_on_another_port_is_impossible_and_says_so() -> None:
    with pytest.raises(ValueError, match="can't be led from port 6819 to 7"):
        endpoint("s", "slurmdbd", 6819, Target("dbd", 7))


def test_slurmdbd_has_the_name_that_the_operator_writes() -> None:
    made = slurmdbd_endpoint(
        config(cluster={"name": "x", "resourceName": "hpc"}, accounting={"external": {"host": "192.0.2.2"}})
    )
    assert made is not None
    assert made.name == "hpc-accounting"


@pytest.mark.parametrize("accounting", [{"enabled": False}, {"database": {"host": "db"}}])
def test_a_slurmdbd_that_is_not_outside_needs_no_service(accounting: dict[str, Any]) -> None:
    assert slurmdbd_endpoint(config(accounting=accounting)) is None


@pytest.mark.parametrize("controller", [{}, {"external": {"host": "ctl"}}, {"external": {"host": "192.0.2.1"}}])
def test_a_slurmctld_on_its_usual_port_needs_no_shim(controller: dict[str, Any]) -> None:
    assert slurmctld_endpoint(config(controller=controller)) is None


def test_a_slurmctld_on_another_port_is_reached_through_a_shim_on_6817() -> None:
    other = config(controller={"external": {"host": "192.0.2.1", "port": 7000}})
    shim = slurmctld_endpoint(other)
    assert shim is not None
    assert shim.service["ports"] == [{"name": "slurmctld", "port": 6817, "targetPort": 7000, "protocol": "TCP"}]
    assert slurmctld_target(other) == Target("slurm-slurmctld-shim.slurm", 6817)
    assert controller_spec(other)["externalConfig"] == {"host": "slurm-slurmctld-shim.slurm", "port": 6817}


@pytest.mark.parametrize(
    ("controller", "target"),
    [
        ({}, Target("slurm-controller.slurm", 6817)),
        ({"service": {"type": "NodePort", "nodePort": 30817}}, Target("slurm-controller.slurm", 6817)),
        ({"service": {"type": "LoadBalancer", "nodePort": 30817}}, Target("slurm-controller.slurm", 6817)),
        ({"external": {"host": "ctl.example.org"}}, Target("ctl.example.org", 6817)),
        ({"external": {"host": "192.0.2.1", "port": 7000}}, Target("192.0.2.1", 7000)),
    ],
)
def test_outside_hosts_join_the_real_slurmctld(controller: dict[str, Any], target: Target) -> None:
    """Not the shim: that is for pods only."""
    assert config(controller=controller).slurmctld.join == target
