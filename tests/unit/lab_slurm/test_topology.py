"""Outside hosts: no two at one place, and names and addresses where their readers expect them."""

import pytest

from lab.errors import LabError
from lab.slurm import topology
from lab.slurm.topology import HOSTS, Network, metal

NETWORK = Network()


def test_no_two_hosts_share_a_name_or_an_address() -> None:
    everyone = {*HOSTS, *(metal(f"metal-{number}") for number in range(1, 11))}
    everyone |= {topology.blank(f"login-{number}") for number in range(2, 10)}
    assert len({host.name for host in everyone}) == len({host.offset for host in everyone}) == len(everyone)


def test_interface_names_fit_the_kernel() -> None:
    names = [NETWORK.bridge, *(f"{NETWORK.prefix}{host.name}" for host in (*HOSTS, metal("metal-10")))]
    assert max(len(name) for name in names) <= 15


def test_core_dns_is_given_outside_hosts_and_nothing_else() -> None:
    text = topology.names_file(NETWORK, HOSTS)
    assert "10.99.0.10 ctl\n" in text
    assert "localhost" not in text
    assert len(text.splitlines()) == len(HOSTS)


def test_hosts_know_each_other_without_dns() -> None:
    assert topology.etc_hosts(NETWORK, HOSTS).startswith("127.0.0.1 localhost\n")
    assert "10.99.0.22 metal-2\n" in topology.etc_hosts(NETWORK, HOSTS)


def test_resolv_conf_asks_cluster_dns_for_the_namespace_s_services() -> None:
    lines = topology.resolv_conf().splitlines()
    assert lines[0] == "nameserver 10.88.0.1"
    assert lines[1] == "search slurm.svc.cluster.local svc.cluster.local cluster.local"


@pytest.mark.parametrize("name", ["metal-0", "metal-11", "metal-1x", "gpu-0", "", "metal-01"])
def test_only_names_with_a_place_are_metal_hosts(name: str) -> None:
    with pytest.raises(LabError, match="metal-1 to metal-10"):
        metal(name)


@pytest.mark.parametrize("name", ["metal-1", "metal-2", "login-1", "ctl", "login-10", "metal-11", ""])
def test_a_blank_host_never_takes_the_place_of_one_of_the_lab_s_own(name: str) -> None:
    with pytest.raises(LabError):
        topology.blank(name)
