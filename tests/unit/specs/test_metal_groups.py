"""Metal as hostlists: one NodeName= line for equal hosts, and all else goes by each host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.drain.conf_text import ConfLines, leaving, read_lines
from slinky_iac.errors import ConfigError
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, metal_lines, outside_slurm_conf
from tests.stacks import form
from tests.unit.config.rule_cases import minimal

EQUAL = {"name": "metal-[001-500]", "address": "node-[001-500].example.org", "config": {"CPUs": 64}}
LINE = "NodeName=metal-[001-500] NodeAddr=node-[001-500].example.org CPUs=64"


def inside(*hosts, **more):
    return load(minimal(external={"slurmdHosts": list(hosts)}, **more))


def test_a_hostlist_is_one_line_and_five_hundred_hosts():
    config = inside(EQUAL, {"name": "login-9"})
    assert metal_lines(config) == (LINE, "NodeName=login-9")
    assert LINE in controller_extra_conf(config).split("\n")
    hosts = config.external.slurmd_hosts
    assert len(hosts) == 501
    assert (hosts[6].name, hosts[6].address, hosts[6].path) == (
        "metal-007",
        "node-007.example.org",
        "external.slurmdHosts.0",
    )
    assert hosts[500].path == "external.slurmdHosts.1"


def test_an_outside_slurm_conf_has_the_one_line_too():
    config = form("all-outside", external={"slurmdHosts": [EQUAL]}, cluster={"maxNodeCount": 2000})
    shown = outside_slurm_conf(config).split("\n")
    twice = "# leave out hosts that slurm.conf names already: slurmctld refuses a file with a node twice"
    assert shown[shown.index(LINE) - 1] == twice
    assert twice not in outside_slurm_conf(form("controller-outside", external=None))


def test_hosts_that_are_named_one_by_one_have_a_line_each():
    """What a stack has rendered so far stays as it is: another slurm.conf restarts slurmctld."""
    config = inside(*({"name": f"metal-{n}", "config": {"CPUs": 2}} for n in (1, 2)))
    assert (
        metal_lines(config) == tuple(host_lines(config).values()) == ("NodeName=metal-1 CPUs=2", "NodeName=metal-2 CPUs=2")
    )


def test_hosts_to_which_the_node_table_gives_more_have_a_line_of_their_own():
    config = inside(
        {"name": "m-[1-4]", "address": "192.0.2.[1-4]"}, nodes={"table": [{"hosts": ["m-2"], "gres": ["gpu:2"]}]}
    )
    assert metal_lines(config) == (
        "NodeName=m-1 NodeAddr=192.0.2.1",
        "NodeName=m-2 NodeAddr=192.0.2.2 Gres=gpu:2",
        "NodeName=m-[3-4] NodeAddr=192.0.2.[3-4]",
    )
    assert "GresTypes=gpu" in controller_extra_conf(config)


def test_from_single_lines_to_a_hostlist_nothing_leaves_and_nothing_changes():
    single = [{**EQUAL, "name": f"metal-{n:03}", "address": f"node-{n:03}.example.org"} for n in range(1, 501)]
    before, after = inside(*single), inside(EQUAL)
    olds, news = read_lines(controller_extra_conf(before)), read_lines(controller_extra_conf(after))
    assert news.hosts == host_lines(after) == olds.hosts
    for going in (leaving(olds, news), leaving(news, olds)):
        assert not going.records
        assert not going.nodes


@pytest.mark.parametrize("ports", ["[17001-17004]", "17001-17004", "17001,17002,17003-17004"])
def test_hosts_of_one_address_have_a_port_each(ports):
    row = {"name": "m-[1-4]", "address": "192.0.2.5", "config": {"CPUs": 2, "port": ports}}
    config = inside(row)
    assert metal_lines(config) == (f"NodeName=m-[1-4] NodeAddr=192.0.2.5 CPUs=2 port={ports}",)
    assert host_lines(config)["m-2"] == "NodeName=m-2 NodeAddr=192.0.2.5 CPUs=2 port=17002"
    assert read_lines("\n".join(metal_lines(config))) == ConfLines({}, host_lines(config))
    some = inside(row, nodes={"table": [{"hosts": ["m-2"], "gres": ["gpu:2"]}]})
    assert metal_lines(some) == (
        "NodeName=m-1 NodeAddr=192.0.2.5 CPUs=2 port=17001",
        "NodeName=m-2 NodeAddr=192.0.2.5 CPUs=2 port=17002 Gres=gpu:2",
        "NodeName=m-[3-4] NodeAddr=192.0.2.5 CPUs=2 port=17003,17004",
    )
    assert read_lines("\n".join(metal_lines(some))) == ConfLines({}, host_lines(some))


@pytest.mark.parametrize(
    ("names", "addresses"),
    [
        ("m-[1-3]", "10.1.0.1,10.1.0.2,10.1.0.3"),
        ("m-1,m-2,m-3", "10.1.0.[1-3]"),
        ("m-1,m-2,m-3", "10.1.0.1,10.1.0.2,10.1.0.3"),
    ],
)
def test_a_hostlist_needs_no_brackets(names, addresses):
    """As slurm.conf has it."""
    config = inside({"name": names, "address": addresses})
    assert metal_lines(config) == (f"NodeName={names} NodeAddr={addresses}",)
    assert host_lines(config) == host_lines(inside({"name": "m-[1-3]", "address": "10.1.0.[1-3]"}))


def test_where_one_host_is_taken_no_hostlist_is_said_to_be_right():
    with pytest.raises(ConfigError, match=r"controller\.external\.host: got '10\.1\.0\.1-3'; a host is") as error:
        load(minimal(controller={"external": {"host": "10.1.0.1-3"}}))
    assert "hostlist" not in str(error.value)


def test_a_host_that_leaves_a_hostlist_leaves_alone():
    olds = read_lines(controller_extra_conf(inside(EQUAL)))
    fewer = inside({**EQUAL, "name": "metal-[001-006,008-500]", "address": "node-[001-006,008-500].example.org"})
    going = leaving(olds, read_lines(controller_extra_conf(fewer)))
    assert (going.records, going.nodes) == ({"metal-007"}, frozenset())


def test_another_address_in_a_hostlist_is_a_change_of_that_host():
    going = leaving(read_lines("NodeName=m[1-3] NodeAddr=h[1-3]"), read_lines("NodeName=m[1-3] NodeAddr=h1,h9,h3 Weight=2"))
    assert (going.records, going.nodes) == (frozenset(), {"m2"})


def test_an_address_list_of_another_length_is_compared_as_it_is_written():
    line = "NodeName=m[1-3] NodeAddr=h[1-2]"
    assert read_lines(line).hosts["m1"] == "NodeName=m1 NodeAddr=h[1-2]"


@given(st.lists(st.sampled_from(["a", "b-01", "b-02", "b-03", "b-10", "c9"]), min_size=1, unique=True))
def test_names_and_addresses_stay_pairs_in_any_order(hosts):
    text = ",".join(hosts) + ",z[1-2]"
    config = inside({"name": text, "address": ",".join(f"at-{each}" for each in hosts) + ",at-z[1-2]"})
    assert read_lines("\n".join(metal_lines(config))) == ConfLines({}, host_lines(config))


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ({"name": "m-[1-3]", "address": "h-[1-2]"}, "address: 2 addresses for 3 names.*as `address: 10.1.0.\\[1-3\\]`"),
        ({"name": "m-[1-3]", "address": "10.1.0.1-3"}, "several hosts are a hostlist, as 10.1.0.\\[1-3\\]"),
        ({"name": "m-1", "address": "10.1.0.1,10.1.0.2"}, "address: 2 addresses for 1 name;"),
        ({"name": "m-[1-3]", "address": "10.1.0.1,,10.1.0.3"}, "a hostlist"),
        ({"name": "m-[1-3]", "config": {"Port": "7001-7002"}}, "config.Port: 2 ports for 3 names.*`Port: 17001-17003`"),
        ({"name": "m-[3-1]"}, "runs backwards"),
        ({"name": "All"}, "ALL stands for every node"),
        ({"name": "m-[1-2] x"}, "blank"),
        ({"name": "m-[1-200000]"}, "more than"),
        ({"name": "m-[1-2]", "address": "h_[1-2]"}, "DNS name"),
    ],
)
def test_a_hostlist_that_slurm_would_read_otherwise_is_refused(host, said):
    with pytest.raises(ConfigError, match=said):
        inside(host)


def test_eight_thousand_equal_hosts_fit_and_as_many_single_ones_are_told():
    room = {"cluster": {"name": "c", "maxNodeCount": 9000}}
    parameters = {f"Features{n}": "x" * 12 for n in range(6)}
    names = [{"name": f"metal-{n:04}", "config": parameters} for n in range(8000)]
    for hosts, too_large in ((names, True), ([{"name": "metal-[0000-7999]", "config": parameters}], False)):
        sizes = [each for each in findings(inside(*hosts, **room)) if "ConfigMap" in each.message]
        assert bool(sizes) is too_large
        assert all(each.level == "error" for each in sizes)


def test_a_partition_takes_a_hostlist_of_hosts():
    several = {"metal": {"nodesets": ["metal-[001-250]"]}}
    lines = controller_extra_conf(inside(EQUAL, partitions=several)).split("\n")
    assert any(line.startswith("PartitionName=metal Nodes=metal-[001-250]") for line in lines)
    for nodes, known in (("metal-[001-250]", True), ("metal-[001-501]", False)):
        found = findings(inside(EQUAL, partitions={"metal": {"nodesets": [nodes]}}))
        assert any(each.path == "partitions.metal.nodesets" for each in found) is not known
