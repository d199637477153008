"""What a change of slurm.conf takes from jobs, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.reading.load import load
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.conf_text import ConfLines, gres_types, leaving, max_nodes, read_lines, unjudged
from slinky_iac.drain.losses import Change
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, shared_partitions
from tests.stacks import minimal

LINE = "NodeName=metal-1 NodeAddr=192.0.2.1 CPUs=64 RealMemory=1000"


def test_what_goes_is_named_in_order():
    olds = ConfLines({"b": "", "a": "", "c": ""}, {"metal-2": "", "metal-1": LINE})
    assert leaving(olds, ConfLines({"c": ""}, {"metal-1": LINE})) == Change(
        partitions=frozenset("ab"), records=frozenset(["metal-2"])
    )


@pytest.mark.parametrize("more", ["Weight=5", "Feature=big", "RealMemory=2000", "NodeAddr=192.0.2.1"])
def test_a_parameter_that_no_job_relies_on_holds_nothing_up(more):
    assert not leaving(ConfLines(hosts={"metal-1": LINE}), ConfLines(hosts={"metal-1": f"{LINE} {more}"}))


@pytest.mark.parametrize(
    "changed", [LINE.replace("64", "32"), f"{LINE} Gres=gpu:2", LINE.replace("CPUs=64", ""), f"{LINE} corespersocket=8"]
)
def test_other_cpus_or_gres_wait_for_the_jobs_of_the_host(changed):
    assert leaving(ConfLines(hosts={"metal-1": LINE}), ConfLines(hosts={"metal-1": changed})).nodes == {"metal-1"}


@pytest.mark.parametrize("changed", [LINE.replace("2.1 ", "2.9 "), f"{LINE} Port=7777", f"{LINE} NodeHostname=node-7"])
def test_another_address_waits_for_the_jobs_of_the_host(changed):
    """slurmctld asks there, gets no answer, and ends them (watched with 26.05.5: NODE_FAIL)."""
    assert leaving(ConfLines(hosts={"metal-1": LINE}), ConfLines(hosts={"metal-1": changed})).nodes == {"metal-1"}


def test_the_lines_of_a_running_controller_are_read_back():
    """The first update of a release with this gate has no state of it."""
    metal = [{"name": "metal-1", "config": {"CPUs": 64}}, {"name": "metal-2"}]
    config = load(
        minimal(partitions={"all": {"nodesets": ["gpu"]}, "none": {"nodesets": []}}, external={"slurmdHosts": metal})
    )
    assert read_lines(controller_extra_conf(config)) == ConfLines(shared_partitions(config), host_lines(config))
    assert unjudged(controller_extra_conf(config), "") == ()


NAMES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["", "CPUs=1", "CPUs=2", "Weight=1"]))


@given(NAMES, NAMES, NAMES, NAMES)
def test_nothing_leaves_that_stays_and_nothing_that_goes_is_passed_over(parts, hosts, parts_after, hosts_after):
    found = leaving(ConfLines(parts, hosts), ConfLines(parts_after, hosts_after))
    assert found.partitions == parts.keys() - parts_after.keys()
    assert found.records == hosts.keys() - hosts_after.keys()
    assert found.nodes <= hosts.keys() & hosts_after.keys()
    assert not leaving(ConfLines(parts, hosts), ConfLines(parts, hosts))


def test_lines_are_read_as_slurm_reads_them():
    """A row goes on behind a backslash, unless that is in a comment, and an escaped ``#`` begins none."""
    text = "NodeName=m-1 CPUs=2 \\\n Gres=gpu:1 # two \\\nNodeName=m-2 Reason=a\\#b\n"
    text += "MaxNodeCount=300 # as of May\nGresTypes=gpu # \n"
    assert read_lines(text).hosts == {"m-1": "NodeName=m-1 CPUs=2  Gres=gpu:1", "m-2": "NodeName=m-2 Reason=a#b"}
    assert (max_nodes(text), gres_types(text)) == (300, {"gpu"})
    assert unjudged(text, "") == ()


def test_a_state_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="has schema 2"):
        ConfSettings.from_props({"schema": 2.0})


def test_a_line_of_several_hosts_is_read_as_each_of_them():
    """Each as if the line were its own, so that it is the same host when its line is split."""
    each = {name: f"NodeName={name} CPUs=2" for name in ("m-1", "m-2", "x")}
    assert read_lines("NodeName=m-[1-2],x CPUs=2").hosts == each


@pytest.mark.parametrize(
    "line",
    [
        "Include /etc/slurm/more.conf",
        "PartitionName = night",
        'PartitionName="night"',
        "NodeName=m-[1-",
        "NodeName=DEFAULT CPUs=2",
        "partitionname=default State=UP",
        "MaxNodeCount = 8",
        "<<<<<<< HEAD",
    ],
)
def test_a_line_of_which_it_is_not_known_what_jobs_rely_on_is_named_unless_the_program_writes_it(line):
    assert unjudged(f"PartitionName=all Nodes=gpu\n{line}\nx=y", "") == (line,)
    assert unjudged(f"PartitionName=all Nodes=gpu\n {line}", f"PartitionName=all\n{line}") == ()


@pytest.mark.parametrize(
    "line",
    ["", "  ", "# Include x", "PartitionName=a Nodes=b # night \\", "nodename=m-[1-3] CPUs=2", "Key=a b=c", 'K="a b"'],
)
def test_a_line_that_is_read_or_that_no_job_relies_on_is_no_trouble(line):
    assert unjudged(line, "") == ()
