"""A gate of slurm.conf knows by what slurmctld shows that it has read a file: a start may be one on the file before."""

import pytest

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_run
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_text import ConfLines, otherwise
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.errors import DrainBlocked, DrainDeadline
from slinky_iac.slurmrest.controller import Host
from tests.made.rows import job, node
from tests.unit.drain.test_conf_run import BOTH, HOST, MORE_CPUS, NO_BATCH, kept, session, settings, text

NO_HOST = ConfLines(BOTH.partitions)


def state_of(found, name="metal-1"):
    return found.world.nodes[name]["state"]


def test_a_start_on_the_old_file_is_no_reading_of_the_new_one():
    """slurmctld crashes between the write of the Controller and the mount of its new file: a job on the host would end."""
    found = session(node("metal-1", cpus=2))

    def starts():
        found.world.began += 9

    def still_old():
        assert "DRAIN" in state_of(found)

    def reads():
        still_old()
        found.world.began += 9
        found.world.nodes["metal-1"]["cpus"] = 4

    found._then = [starts, still_old, reads]
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert found.pauses == 3
    assert "DRAIN" not in state_of(found)


def test_a_slurmctld_that_goes_on_showing_the_old_line_is_named_with_both_values():
    found = session(node("metal-1", cpus=2))
    found._then = [lambda: found.world.__setattr__("began", found.world.began + 9)]
    with pytest.raises(DrainDeadline, match="slurmctld shows cpus 2 of metal-1, whose line has CPUs=4"):
        conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert "DRAIN" in state_of(found)
    assert kept(found).hosts == {"metal-1": "prod"}


@pytest.mark.parametrize("lost", [False, True], ids=["it never read the file without it", "it read that file first"])
def test_a_partition_that_is_wanted_again_opens_once_slurmctld_has_read_the_file_that_has_it(lost):
    found = session()
    conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert kept(found) == Held({"batch": "UP"}), "slurmctld has it still"

    def reads_the_file_between():
        assert found.kube.written == [text(NO_BATCH), text(BOTH)]
        assert found.world.partitions["batch"] == "DRAIN", "open, it would take jobs that the file between ends"
        if lost:
            del found.world.partitions["batch"]
            found.world.began += 9

    def reads():
        found.world.partitions.setdefault("batch", "UP")
        found.world.began += 9

    found._then = [reads_the_file_between, reads]
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.world.partitions["batch"], kept(found), found.pauses) == ("UP", Held(), 2)


def test_a_host_that_is_wanted_again_returns_once_slurmctld_has_read_the_file_that_has_it():
    found = session(node("metal-1", cpus=2))
    conf_run.settle(found, settings(NO_HOST), BOTH)
    assert (found.kube.written, kept(found).hosts) == ([text(NO_HOST)], {"metal-1": "prod"})

    def reads():
        assert "DRAIN" in state_of(found)
        found.world.began += 9

    found._then = [reads]
    conf_run.settle(found, settings(BOTH), BOTH)
    assert "DRAIN" not in state_of(found)
    assert kept(found) == Held()


def test_a_run_that_ends_before_slurmctld_has_read_is_continued_by_the_next_one():
    found = session(node("metal-1", cpus=2))
    conf_run.settle(found, settings(ConfLines({"all": ""})), BOTH)
    for _ in range(2):
        with pytest.raises(DrainDeadline, match="has not read its new configuration") as why:
            conf_run.settle(found, settings(BOTH), BOTH)
        assert "partition batch, metal-1 stay(s)" in str(why.value)
        assert "kubectl exec -n slurm hpc-controller-0 -c slurmctld -- scontrol reconfigure" in str(why.value)
        assert (found.world.partitions["batch"], kept(found).partitions) == ("DRAIN", {"batch": "UP"})
    found.world.began += 9
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.world.partitions["batch"], "DRAIN" in state_of(found), kept(found)) == ("UP", False, Held())


def test_an_older_slurmctld_that_may_not_have_read_the_file_leaves_a_host_to_the_next_run():
    found = session(node("metal-1"), release="25.11")
    conf_run.settle(found, settings(NO_HOST), BOTH)
    with pytest.raises(DrainBlocked, match=r"slurmctld before 26\.05 doesn't tell"):
        conf_run.settle(found, settings(BOTH), BOTH)
    assert "DRAIN" in state_of(found)
    conf_run.settle(found, settings(BOTH), BOTH)
    assert "DRAIN" not in state_of(found)


def test_what_slurmctld_has_lost_is_forgotten_by_the_next_run():
    found = session(node("metal-1", cpus=2))
    conf_run.settle(found, settings(ConfLines({"all": ""})), BOTH)
    assert kept(found) == Held({"batch": "UP"}, {"metal-1": "prod"})
    conf_run.settle(found, settings(ConfLines({"all": ""})), BOTH)
    assert kept(found) == Held({"batch": "UP"}, {"metal-1": "prod"}), "slurmctld has both still"
    del found.world.partitions["batch"], found.world.nodes["metal-1"]
    conf_run.settle(found, settings(ConfLines({"all": ""})), BOTH)
    assert kept(found) == Held()


def test_limits_are_judged_for_what_leaves_now_whatever_an_earlier_change_has_left():
    found = session(node("metal-1"))
    conf_run.settle(found, settings(NO_HOST), BOTH)
    found.world.add(job(1, partition="batch"))
    strict = DrainPolicy(deadline_s=60, limits=Limits(max_jobs=0))
    with pytest.raises(DrainBlocked, match="more than the 0"):
        conf_run.settle(found, settings(ConfLines({"all": ""}), strict), BOTH)
    assert found.world.partitions["batch"] == "UP"


@pytest.mark.parametrize("left", [Held(), Held({"old": "UP"}, {"metal-9": "prod"})], ids=["nothing", "what left before"])
def test_limits_are_judged_at_a_destroy_whatever_an_earlier_change_has_left(left):
    found = session(job(1, partition="batch"))
    Record(found, settings(BOTH)).hold(left)
    strict = DrainPolicy(deadline_s=60, limits=Limits(max_jobs=0))
    with pytest.raises(DrainBlocked, match="more than the 0"):
        conf_run.finish(found, settings(BOTH, strict), "last")
    assert found.world.partitions == {"all": "UP", "batch": "UP"}


LINE = f"{HOST} Gres=gpu:a100:2,shard:8 NodeAddr=10.0.0.1 Feature=big"


@pytest.mark.parametrize(
    ("host", "says"),
    [
        (Host("metal-1", cpus=2, gres="gpu:a100:2(S:0-1),shard:8(S:0,1)", address="10.0.0.1"), ""),
        (Host("metal-1", cpus=2, gres="gpu:2,shard:8", address="10.0.0.1", port=6818, cores=9), ""),
        (Host("metal-1"), ""),
        (Host("metal-1", cpus=3, address="10.0.0.1"), "cpus 3 of metal-1, whose line has CPUs=2"),
        (Host("metal-1", address="10.0.0.2"), "address 10.0.0.2 of metal-1, whose line has NodeAddr=10.0.0.1"),
        (Host("metal-1", gres="gpu:1,shard:8"), "GRES gpu:1,shard:8 of metal-1, whose line has gpu:a100:2,shard:8"),
        (Host("metal-1", gres="gpu:2"), "GRES gpu:2 of metal-1, whose line has gpu:a100:2,shard:8"),
    ],
)
def test_a_line_is_compared_by_what_slurmctld_says_of_the_host(host, says):
    assert otherwise(LINE, host) == says


def test_gres_that_the_line_has_no_more_is_seen():
    assert otherwise(HOST, Host("metal-1", gres="gpu:2")) == "GRES gpu:2 of metal-1, whose line has none"
