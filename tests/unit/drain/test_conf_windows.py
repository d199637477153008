"""What comes between a look at slurm.conf's jobs and the moment in which slurmctld has read the new text: found by the walks
through :mod:`.whole_site`."""

import pytest

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_run
from slinky_iac.drain.conf_text import ConfLines
from slinky_iac.drain.preview import conf_planned
from slinky_iac.drain.protocol import ClosePartitions, Stop, WriteConf
from slinky_iac.errors import DrainBlocked, DrainDeadline
from tests.made.rows import job as row
from tests.made.rows import node
from tests.unit.drain.test_conf_run import BOTH, MORE_CPUS, NO_BATCH, kept, session, settings
from tests.unit.drain.test_conf_steps import CONTROLLER, goal, look, next_step, waiting


# -- a job that waits in a partition that stays, too -------------------------------------------------------------------
def test_a_job_that_waits_in_two_partitions_is_not_started_in_the_one_that_goes():
    """Seed 307: it lost nothing while it waited, and slurmctld started it there before it had read the new slurm.conf."""
    seen = look({"batch": "DRAIN"}, controller=CONTROLLER, jobs=[waiting(partition="batch,all")])
    assert next_step(seen, goal(["batch"], text="new=1")) == ClosePartitions({"batch": "INACTIVE"}, {"batch": "DRAIN"})
    shut = look({"batch": "INACTIVE"}, controller=CONTROLLER, jobs=[waiting(partition="batch,all")])
    assert next_step(shut, goal(["batch"], text="new=1")) == WriteConf("new=1")


def test_before_slurm_26_05_an_admin_sets_that_partition_inactive():
    seen = look({"batch": "DRAIN"}, jobs=[waiting(partition="batch,all")], can_close=False)
    step = next_step(seen, goal(["batch"]))
    assert isinstance(step, Stop)
    assert "partitionname=batch state=inactive" in step.why


def test_what_was_shut_so_is_opened_again_where_the_partition_stays_after_all():
    found = session(row(1, "PENDING", partition="batch,all"), row(2, partition="batch"))
    found._then = [lambda: None, lambda: found.world.jobs.pop(2), lambda: found.world.add(row(3, partition="all"))]
    found.kube.set_extra_conf, stays = refuses, found.kube.set_extra_conf
    with pytest.raises(DrainBlocked, match="no write"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.world.set_to == [("batch", "DRAIN"), ("batch", "INACTIVE")]
    assert kept(found) == Held({"batch": "UP"}, closed={"batch": "INACTIVE"})
    found.kube.set_extra_conf = stays
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.world.partitions["batch"], kept(found)) == ("UP", Held())


def refuses(*_):
    raise DrainBlocked("no write")


def test_a_partition_that_an_admin_set_inactive_over_ours_stays_so():
    found = session()
    found.world.partitions["batch"] = "INACTIVE"
    found.kube.set_map("hpc-gates", {"held": Held({"batch": "UP"}).text()})
    conf_run.settle(found, settings(BOTH), BOTH)
    assert found.world.partitions["batch"] == "INACTIVE"


# -- another start of slurmctld right before the write -----------------------------------------------------------------
def test_a_start_of_slurmctld_before_the_write_is_not_taken_for_the_one_that_reads_it():
    """Seed 878: the host went back to work, and slurmctld's next start ended the job that had begun there."""
    found = session(node("metal-1"))
    write = found.kube.write_config_map

    def restarts(*arguments):
        write(*arguments)
        if '"began":' in str(arguments[-1]) and '"began":null' not in str(arguments[-1]) and not found.kube.written:
            found.world.began += 10

    found.kube.write_config_map = restarts
    with pytest.raises(DrainDeadline, match="has not read its new configuration"):
        conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert "DRAIN" in found.world.nodes["metal-1"]["state"]
    found.world.began += 10
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert "DRAIN" not in found.world.nodes["metal-1"]["state"]


# -- what slurmctld has not read yet -----------------------------------------------------------------------------------
def test_a_partition_that_slurmctld_has_yet_to_read_is_waited_for_and_closed_then():
    """Course 1640: the file had it, slurmctld did not; it read it after the look, and took a job there."""
    found = session(partitions={"all": "UP"})
    found._then = [lambda: None, lambda: found.world.partitions.update(batch="UP")]
    conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.pauses == 2
    assert found.world.set_to == [("batch", "DRAIN")]


def test_a_host_that_slurmctld_has_yet_to_read_is_waited_for_and_drained_then():
    found = session()
    found._then = [lambda: found.world.add(node("metal-1"))]
    conf_run.settle(found, settings(ConfLines(BOTH.partitions)), BOTH)
    assert found.pauses == 1
    assert "DRAIN" in found.world.nodes["metal-1"]["state"]


def test_a_slurmctld_that_never_reads_it_ends_the_run():
    found = session(partitions={"all": "UP"})
    with pytest.raises(DrainDeadline, match=r"slurmctld to read slurm\.conf as it is: it has no partition batch") as said:
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.kube.written == []
    # A slurmctld that refuses a line runs on with the file before it: waiting never ends, and the fence keeps the line.
    assert "kubectl exec -n slurm hpc-controller-0 -c slurmctld -- scontrol reconfigure" in str(said.value)
    assert "kubectl edit controllers.slinky.slurm.net -n slurm hpc" in str(said.value)
    assert "slinky-iac/permit: configure@" in str(said.value)


# -- a host that is drained for maintenance already --------------------------------------------------------------------
@pytest.mark.parametrize("reason", ["slinky-iac:prod/outside-hosts: maintenance", "slinky-iac:dev/outside-hosts: x", "fan"])
def test_a_host_that_others_hold_is_waited_for_too_until_slurmctld_has_read_its_new_cpus(reason):
    """Course 2001: the gate of the hosts returned it in the same update, and slurmctld ended what had begun there."""
    found = session(node("metal-1", "IDLE", "DRAIN", reason=reason))
    waited = []
    found._then = [lambda: waited.append(kept(found).hosts) or found.world.__setattr__("began", found.world.began + 9)]
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert waited == [{"metal-1": ""}]
    assert found.world.nodes["metal-1"]["reason"] == reason
    assert kept(found) == Held()


def test_a_preview_names_no_host_that_others_hold_as_given_back():
    found = session(node("metal-1", "IDLE", "DRAIN", reason="fan"))
    with pytest.raises(DrainDeadline, match="has not read its new configuration"):
        conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert kept(found).hosts == {"metal-1": ""}
    assert conf_planned(found, settings(MORE_CPUS), {"schema": 1}).plan is None
