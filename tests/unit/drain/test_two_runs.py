"""Two runs at once: `pulumi cancel` takes a lock away and ends no run. One lease a cluster lets only one of them touch
bare-metal hosts and partitions."""

import pytest

from slinky_iac.cluster.partition_closing import Held, place
from slinky_iac.drain import conf_run, maintenance
from slinky_iac.drain.closed import Record
from slinky_iac.drain.driver import drive
from slinky_iac.drain.lease import ENTRY, RENEW_S, STALE_S, Lease, LeaseLook, TakeLease, ThisRun, lease_step
from slinky_iac.drain.losses import Change
from slinky_iac.drain.protocol import Done, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, KubeUnreachable, StateError
from tests.made.rows import job, node
from tests.unit.drain.test_conf_run import BOTH, NO_BATCH, kept, session
from tests.unit.drain.test_conf_run import settings as conf_settings
from tests.unit.drain.test_maintenance import HostSession, settings
from tests.unit.slurmrest.fake import FakeSlurm

PLACE = place("hpc")
A, B = Lease("aaaa", "alice@desk", 1000), Lease("bbbb", "bob@ci", 1000)


def lease_of(found):
    return Lease.read(found.kube.maps[PLACE].data[ENTRY])


def both(*rows):
    """Two runs at one cluster: a look of each moves the clock of both."""
    first, second = session(*rows), session()
    second.world, second.kube = first.world, first.kube
    second._client = first.world.client()
    return first, second


# -- the review's two stories: the first run sleeps longer than its lease ----------------------------------------------
def test_a_host_that_a_later_run_returned_is_not_drained_again_by_an_earlier_one():
    slurm = FakeSlurm().add(node("metal-1", "MIXED"), job(1, nodes="metal-1"))
    first, second = HostSession(slurm.client()), HostSession(slurm.client())
    second.kube = first.kube
    ended = []

    def later():
        maintenance.maintain(second, settings(active=["metal-1"]))
        ended.append("DRAIN" in slurm.nodes["metal-1"]["state"])

    def job_ends():
        slurm.jobs.clear()
        slurm.nodes["metal-1"]["state"] = [s for s in slurm.nodes["metal-1"]["state"] if s != "MIXED"] + ["IDLE"]

    first.then = [later, lambda: None, job_ends]
    with pytest.raises(DrainBlocked, match=rf"another run began after it: run {second.this_run.id} of alice@desk"):
        maintenance.maintain(first, settings(held=["metal-1"]))
    assert ended == [False], "the later run has returned it"
    assert second.paused >= STALE_S, "and took the first one for dead, which slept"
    assert "DRAIN" not in slurm.nodes["metal-1"]["state"], slurm.nodes["metal-1"]["reason"]


def test_a_partition_that_a_later_run_gave_back_is_not_closed_again_by_an_earlier_one():
    first, second = both(job(1, partition="batch"))

    def later():
        assert first.world.partitions["batch"] == "DRAIN"
        conf_run.settle(second, conf_settings(BOTH), BOTH)
        assert first.world.partitions["batch"] == "UP"

    first._then = [later, lambda: None, first.world.jobs.clear]
    with pytest.raises(DrainBlocked, match="this run ends and changes nothing more"):
        conf_run.settle(first, conf_settings(NO_BATCH), BOTH)
    assert (first.world.partitions["batch"], kept(first)) == ("UP", Held())


# -- a first run that lives --------------------------------------------------------------------------------------------
def test_a_second_run_stops_while_the_first_one_renews_its_lease_and_says_what_is_held():
    first, second = both(job(1, partition="batch"))
    stopped = []

    def later():
        second._then = [lambda: None, lambda: None, lambda: Record(first, conf_settings(NO_BATCH)).keep()]
        first.world.ticks.now += RENEW_S
        with pytest.raises(DrainBlocked) as why:
            conf_run.settle(second, conf_settings(BOTH), BOTH)
        stopped.append(str(why.value))
        first.world.jobs.clear()

    first._then = [later]
    conf_run.settle(first, conf_settings(NO_BATCH), BOTH)
    (said,) = stopped
    assert f"another run is at work on this cluster: run {first.this_run.id} of alice@desk" in said
    assert f"ConfigMap slurm/{PLACE}, entry run" in said
    assert "It holds partitions batch. This gate changed nothing." in said
    assert said.endswith("then `pulumi up` again continues")
    assert first.kube.written != [], "the first one goes on to its end"
    assert lease_of(first).ended


def test_an_act_right_after_the_lease_was_taken_is_not_carried_out():
    """The look was made before, the act comes after: no pause is between them."""
    first, second = both()
    first.world.add(job(1, partition="batch"))
    look = first.kube.controller

    def raced(*arguments):
        first.kube.controller = look
        first.kube.set_map(PLACE, {ENTRY: Lease(second.this_run.id, "bob@ci", second.now()).text()})
        return look(*arguments)

    with Record(first, conf_settings(NO_BATCH)).leased():
        task = conf_run.ConfTask(
            first, conf_settings(NO_BATCH), conf_run.goal_of(conf_settings(NO_BATCH), Change(), first.now())
        )
        first.kube.controller = raced
        with pytest.raises(DrainBlocked, match="bob@ci"):
            drive(task)
    assert first.world.set_to == []
    assert lease_of(first).id == second.this_run.id, "and its end isn't written over the other's lease"


def test_a_long_pause_renews_the_lease_and_a_silent_kubernetes_in_it_ends_nothing():
    found = session(job(1, partition="batch"))
    serve, keep, trouble = found.world.serve, found.kube.config_map, []

    def slow(request, rest, body):
        found.world.ticks.now += 20 if rest == "jobs/" else 0
        return serve(request, rest, body)

    def silent(*arguments):
        if len(found.rests) == 2 and not trouble:
            trouble.append(True)
            raise KubeUnreachable("no route.")
        return keep(*arguments)

    found.world.serve, found.kube.config_map = slow, silent
    ages = []
    found._then = [lambda: ages.append(found.now() - lease_of(found).renewed)] * 12 + [found.world.jobs.clear]
    conf_run.settle(found, conf_settings(NO_BATCH, DrainPolicy(deadline_s=900)), BOTH)
    assert max(ages) < STALE_S
    assert any("no route" in each for each in found.said)


# -- runs that are over ------------------------------------------------------------------------------------------------
def test_a_killed_run_is_waited_for_as_long_as_it_might_live_and_a_finished_one_is_not():
    killed, second = both()
    killed.kube.set_map(PLACE, {ENTRY: A.text()})
    conf_run.settle(second, conf_settings(NO_BATCH), BOTH)
    assert STALE_S <= sum(second.rests) < STALE_S + 10
    assert any("may still be at work: run aaaa of alice@desk" in each for each in second.said)
    assert lease_of(second).ended
    third = session()
    third.world, third.kube = second.world, second.kube
    conf_run.settle(third, conf_settings(NO_BATCH), NO_BATCH)
    assert third.rests == []
    assert lease_of(third).id == third.this_run.id


def test_a_run_does_not_take_back_a_lease_that_another_one_has_had_since():
    """Its first gate ended, a later run came and went, and now its second gate begins, with an older program."""
    first, second = both()
    conf_run.settle(first, conf_settings(NO_BATCH), BOTH)
    conf_run.settle(second, conf_settings(NO_BATCH), NO_BATCH)
    with pytest.raises(DrainBlocked, match="another run began after it"):
        conf_run.settle(first, conf_settings(BOTH), NO_BATCH)


def test_the_lease_ends_with_the_last_gate_of_a_run_and_also_after_an_error():
    found = session()
    with Record(found, conf_settings(BOTH)).leased():
        with Record(found, conf_settings(BOTH)).leased():
            pass
        assert not lease_of(found).ended
    assert lease_of(found).ended
    found.world.add(job(1, partition="batch"))
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, conf_settings(NO_BATCH), BOTH)
    assert lease_of(found).ended


def test_a_lease_whose_end_cannot_be_written_runs_out():
    found = session()

    def refused(*_arguments):
        raise KubeUnreachable("no route.")

    with Record(found, conf_settings(BOTH)).leased():
        found.kube.write_config_map = refused
    assert "the lease runs out in 60 s" in found.said[-1]


def test_a_controller_that_is_replaced_in_one_run_has_a_new_record():
    found = session()
    conf_run.finish(found, conf_settings(BOTH), "last")
    Record(found, conf_settings(BOTH)).remove()
    assert found.kube.maps == {}
    found.kube.extra_conf = ""
    conf_run.settle(found, conf_settings(NO_BATCH), NO_BATCH)
    assert found.kube.written


# -- the step, by one look ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seen", "had", "step"),
    [
        (LeaseLook(None, Held()), False, TakeLease),
        (LeaseLook(None, Held()), True, Stop),
        (LeaseLook(A, Held()), False, Done),
        (LeaseLook(A, Held()), True, Done),
        (LeaseLook(Lease("aaaa", "x", 1, ended=True), Held()), True, TakeLease),
        (LeaseLook(Lease("bbbb", "x", 1, ended=True), Held()), False, TakeLease),
        (LeaseLook(Lease("bbbb", "x", 1, ended=True), Held()), True, Stop),
        (LeaseLook(B, Held(), B, STALE_S - 1), False, Wait),
        (LeaseLook(B, Held(), B, STALE_S), False, TakeLease),
        (LeaseLook(B, Held(), Lease("bbbb", "bob@ci", 985), 2), False, Stop),
        (LeaseLook(B, Held(), Lease("cccc", "bob@ci", 1000), STALE_S), False, Stop),
        (LeaseLook(B, Held(), B, STALE_S), True, Stop),
    ],
)
def test_the_step_towards_a_lease(seen, had, step):
    assert isinstance(lease_step(seen, "aaaa", had=had, where="ConfigMap x"), step)


def test_two_runs_that_take_it_at_once_do_not_both_have_it():
    first, second = both()
    write = first.kube.write_config_map

    def raced(*arguments):
        first.kube.write_config_map = write
        first.kube.set_map(PLACE, {ENTRY: Lease(second.this_run.id, "bob@ci", second.now()).text()})
        write(*arguments)

    first.kube.write_config_map = raced
    first._then = [lambda: first.kube.set_map(PLACE, {ENTRY: Lease(second.this_run.id, "bob@ci", second.now()).text()})] * 2
    with pytest.raises(DrainBlocked, match="another run is at work"):
        conf_run.settle(first, conf_settings(NO_BATCH), BOTH)
    assert first.world.set_to == []
    with pytest.raises(KubeConflict):
        write("slurm", PLACE, None, {ENTRY: "x"})


# -- what can't be read ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    ["x", "[]", "[" * 100_000, '{"by":"x","ended":false,"id":"a"}', '{"by":"x","ended":0,"id":"a","renewed":1}'],
    ids=["no JSON", "a list", "deep", "without a time", "a number for a truth"],
)
def test_a_lease_that_this_program_never_wrote_stops_the_run_with_the_command_that_removes_it(text):
    found = session(job(1, partition="batch"))
    found.kube.set_map(PLACE, {ENTRY: text})
    with pytest.raises(StateError, match=r"kubectl patch configmap -n slurm hpc-gates --type=json"):
        conf_run.settle(found, conf_settings(NO_BATCH), BOTH)
    assert found.world.asked == [], "nothing was changed"
    assert found.kube.maps[PLACE].data == {ENTRY: text}


def test_the_lease_is_pinned_and_each_process_has_an_id_of_its_own():
    text = '{"by":"alice@desk","ended":false,"id":"aaaa","renewed":1000}'
    assert (A.text(), Lease.read(text)) == (text, A)
    assert ThisRun().id != ThisRun().id
