"""Bare-metal hosts come to what is wanted by our drains alone; everybody else's stay and are reported."""

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.maintenance import HostsPlan, plan_hosts
from slinky_iac.drain.settings import Owner
from tests.unit.drain.made import NOW, job, node

METAL = Owner("dev", "outside-hosts")
OURS = METAL.reason("maintenance")


def hosts(*records, held=(), active=(), jobs=(), dropped=()):
    return plan_hosts(held, active, ClusterView.of(records, jobs), METAL, NOW, dropped)


def settled(found):
    """Nothing to do and nothing to wait for."""
    return found == HostsPlan(notices=found.notices)


def test_nothing_wanted_is_nothing_done():
    found = hosts(node(0), node(1, "IDLE+DRAIN", "x"))
    assert found == HostsPlan()
    assert settled(found)


def test_host_to_be_held_is_drained_and_waited_for():
    found = hosts(node(0), held=["gpu-0"])
    assert found.drains == ("gpu-0",)
    assert not settled(found)


def test_held_host_with_jobs_is_waited_for_by_name():
    found = hosts(node(0, "MIXED+DRAIN", OURS), held=["gpu-0"], jobs=[job(7, 0)])
    assert found.drains == ()
    assert found.waiting == ("gpu-0: 1 job (7 of alice), the last ends by 2027-01-15T09:00:00Z",)


@pytest.mark.parametrize("state", ["IDLE+DRAIN+COMPLETING", "UNKNOWN+DRAIN", "IDLE+DRAIN+UNDRAIN"])
def test_held_host_in_any_doubt_is_waited_for(state):
    found = hosts(node(0, state, OURS), held=["gpu-0"])
    assert found.drains == ()
    assert found.waiting


def test_host_that_is_held_and_free_is_settled():
    assert settled(hosts(node(0, "IDLE+DRAIN", OURS), held=["gpu-0"]))
    assert settled(hosts(node(0, "DOWN+DRAIN", OURS), held=["gpu-0"]))


def test_drain_of_a_person_holds_a_host_and_is_left_as_it_is():
    found = hosts(node(0, "IDLE+DRAIN", "bad DIMM", user="root"), held=["gpu-0"])
    assert settled(found)
    assert found.notices == ("gpu-0 is held by root's drain ('bad DIMM'), which is left as it is",)


def test_host_that_a_person_marked_without_draining_is_refused():
    found = hosts(node(0, "DOWN", "fan is broken", user="root"), held=["gpu-0"])
    assert found.drains == ()
    assert "root marked gpu-0 without draining it ('fan is broken')" in found.refused[0]
    assert not settled(found)


def test_host_that_died_by_itself_is_drained():
    assert hosts(node(0, "DOWN+NOT_RESPONDING", "Not responding"), held=["gpu-0"]).drains == ("gpu-0",)


@pytest.mark.parametrize("wanted", ["held", "active"])
def test_host_that_slurm_does_not_know_is_refused(wanted):
    assert hosts(**{wanted: ["gpu-9"]}).unknown == ("gpu-9",)


def test_only_drains_of_ours_are_returned():
    records = [
        node(0, "IDLE+DRAIN", OURS),
        node(1, "IDLE+DRAIN", "bad DIMM"),
        node(2, "IDLE+DRAIN", Owner("prod", "outside-hosts").reason("x")),
        node(3),
    ]
    found = hosts(*records, active=["gpu-0", "gpu-1", "gpu-2", "gpu-3"])
    assert found.returns == ("gpu-0",)
    assert [notice.split()[0] for notice in found.notices] == ["gpu-1", "gpu-2"]
    assert "somebody's drain: 'bad DIMM'" in found.notices[0]


def test_a_host_taken_out_of_the_configuration_is_given_back_and_nothing_else_is_wanted_of_it():
    """Our drains of hosts have no end of their own: no run would ever look at it again."""
    records = [node(0, "MIXED+DRAIN", OURS), node(1, "IDLE+DRAIN", "bad DIMM"), node(2)]
    found = hosts(*records, dropped=["gpu-0", "gpu-1", "gpu-2", "gpu-9"])
    assert found == HostsPlan(returns=("gpu-0",))
