"""The gates around slurm.conf at work on a slurmrestd in memory: what they touch, what they give back, and when they end."""

import pytest

from slinky_iac import names
from slinky_iac.cluster.partition_closing import Held, place
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import conf_run
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.conf_text import ConfLines
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.plan import Seen
from slinky_iac.drain.preview import conf_planned
from slinky_iac.drain.settings import DrainPolicy, Limits, Owner
from slinky_iac.errors import (
    DrainBlocked,
    DrainDeadline,
    DrainLost,
    KubeUnreachable,
    SlurmrestAuthError,
    SlurmrestElsewhere,
    StateError,
)
from tests.made.rows import job, node, run
from tests.unit.drain.conf_world import ConfSession, Kube, Slurmctld
from tests.unit.drain.model_session import settings as model_settings
from tests.unit.slurmrest.fake import answer, error

REACH = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
HOST = "NodeName=metal-1 CPUs=2"
BOTH = ConfLines({"all": "", "batch": ""}, {"metal-1": HOST})
NO_BATCH = ConfLines({"all": ""}, {"metal-1": HOST})


def settings(lines, policy=None, **more):
    plain = {
        "owner": Owner("prod", names.SLURM_CONF_OWNER),
        "policy": policy or DrainPolicy(deadline_s=60),
        "reach": REACH,
        "urn": "",
    }
    return ConfSettings(**{**plain, "controller": "hpc", "lines": lines, "text": text(lines), **more})


def text(lines):
    """``extraConf`` with these lines."""
    return "\n".join([*(f"PartitionName={name} Nodes=gpu" for name in lines.partitions), *lines.hosts.values()])


def session(*rows, partitions=None, then=(), release="26.05", extra_conf=..., nodesets=()):
    extra_conf = text(BOTH) if extra_conf is ... else extra_conf
    slurmctld = Slurmctld(partitions or {"all": "UP", "batch": "UP"}, release=release).add(*rows)
    return ConfSession(slurmctld, Kube(extra_conf, nodesets), REACH, then)


def of_nodeset(name):
    return model_settings(1, owner=Owner("prod", name), reach=REACH)


def kept(found):
    return Record(found, settings(BOTH)).held()


def test_another_clusters_slurmctld_is_never_taken_for_one_without_jobs():
    """Found by reading: with slurmrest.url of another cluster, a partition went while its jobs ran."""
    found = session(release="26.05")
    found.world.cluster_name = "other"
    with pytest.raises(SlurmrestElsewhere, match=r"slurmctld of cluster 'other' answers, and this stack's is 'hpc'"):
        conf_run.settle(found, settings(NO_BATCH, cluster="hpc"), BOTH)
    assert found.world.set_to == []
    assert found.pauses == 0
    seen = conf_planned(found, settings(NO_BATCH, cluster="hpc"), {"schema": 1, "partitions": BOTH.partitions})
    assert (seen.plan.props["known"], seen.failures) == (False, ())
    assert "slurmctld of cluster 'other' answers" in found.said[-1]


def test_nothing_leaves_and_slurm_is_not_asked_once_there_is_a_record():
    found = session()
    conf_run.settle(found, settings(BOTH), BOTH)
    found.world.asked.clear()
    conf_run.settle(found, settings(BOTH), BOTH)
    conf_run.settle(found, settings(BOTH), NO_BATCH)
    assert found.world.asked == []


def test_a_lost_record_stops_while_hosts_carry_the_gates_drain_and_says_the_command():
    found = session(node("metal-1"))
    drained(found)
    found.kube.maps.clear()
    found.this_run = ThisRun()
    reason = found.world.nodes["metal-1"]["reason"]
    with pytest.raises(DrainBlocked, match=r"metal-1 still drained .*hpc-gates said for which change, and is gone") as why:
        conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert repr(reason) in str(why.value)
    assert "scontrol update nodename=metal-1 state=undrain" in str(why.value)
    assert found.world.nodes["metal-1"]["reason"] == reason
    assert found.kube.maps == {}
    found.world.nodes["metal-1"].update(state=["IDLE"], reason="")
    conf_run.settle(found, settings(MORE_CPUS), BOTH)


def test_a_lost_record_of_a_closed_partition_is_told_with_the_command_that_opens_it():
    found = session(partitions={"all": "UP", "batch": "DRAIN"})
    conf_run.settle(found, settings(BOTH), BOTH)
    (said,) = [each for each in found.said if "no record" in each]
    assert "partition batch is DRAIN" in said
    assert "scontrol update partitionname=batch state=up" in said
    assert found.world.partitions["batch"] == "DRAIN"


def test_a_record_that_is_removed_while_the_gate_waits_ends_the_run():
    found = session(job(1, partition="batch"))
    found._then = [found.kube.maps.clear, found.world.jobs.clear]
    with pytest.raises(DrainBlocked, match="somebody removed its record"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert (found.world.partitions["batch"], found.kube.written) == ("DRAIN", [])


def test_the_first_run_of_all_needs_no_slurmctld():
    found = session(extra_conf=text(BOTH))
    found.world.faults = [lambda _request: answer(502, [error(5000)], partitions=[])] * 500
    conf_run.settle(found, settings(BOTH), ConfLines())


def test_a_partition_is_closed_before_it_is_waited_for_and_goes_when_its_last_job_has_ended():
    found = session(job(1, partition="batch"), job(2, "PENDING", partition="batch"))

    def first_ends():
        assert found.world.partitions["batch"] == "DRAIN"
        found.world.jobs[1]["job_state"] = ["COMPLETED"]
        found.world.jobs[2]["job_state"] = ["RUNNING"]

    def second_ends():
        found.world.jobs[2]["job_state"] = ["COMPLETED"]

    found._then = [first_ends, second_ends]
    conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.pauses == 2
    assert found.world.partitions == {"all": "UP", "batch": "DRAIN"}
    assert found.world.asked_for("DELETE", "jobs/") == []


def test_a_list_of_jobs_that_takes_long_is_asked_for_seldom_and_never_past_the_deadline():
    found = session(job(1, partition="batch"))
    serve = found.world.serve

    def slow(request, rest, body):
        found.world.ticks.now += 20 if rest == "jobs/" else 0
        return serve(request, rest, body)

    found.world.serve = slow
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH, DrainPolicy(deadline_s=300)), BOTH)
    assert found.rests[:6] == [15, 15, 15, 15, 15, pytest.approx(5, abs=1)], "80 s, in which the lease is renewed"
    assert sum(found.rests) <= 300
    assert len(found.world.asked_for("GET", "jobs/")) == 5


def test_a_reconfiguration_that_opens_it_while_it_is_waited_for_is_answered():
    found = session(job(1, partition="batch"))
    opened = lambda: found.world.partitions.update(batch="UP")  # noqa: E731
    ended = found.world.jobs.clear
    found._then = [opened, ended]
    conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.world.set_to == [("batch", "DRAIN"), ("batch", "DRAIN")]


def test_keep_leaves_it_closed_and_the_file_that_has_it_again_opens_it():
    found = session(job(1, partition="batch"))
    with pytest.raises(DrainDeadline, match="partition batch: 1 job"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert (found.world.partitions["batch"], kept(found)) == ("DRAIN", Held({"batch": "UP"}))
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.world.partitions["batch"], kept(found)) == ("UP", Held())


def test_a_repeated_update_goes_on_and_remembers_the_state_before_the_first():
    found = session(job(1, partition="batch"), partitions={"all": "UP", "batch": "DOWN"})
    for _ in range(2):
        with pytest.raises(DrainDeadline):
            conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert kept(found) == Held({"batch": "DOWN"})
    assert found.world.set_to == [("batch", "INACTIVE")]


def test_undo_opens_it_and_returns_hosts():
    found = session(job(1, partition="batch", nodes="metal-1"), node("metal-1"))
    with pytest.raises(DrainDeadline, match="given back"):
        conf_run.settle(found, settings(ConfLines({"all": ""}), DrainPolicy(deadline_s=60, on_deadline="undo")), BOTH)
    assert found.world.partitions["batch"] == "UP"
    assert "DRAIN" not in found.world.nodes["metal-1"]["state"]
    assert kept(found) == Held()


def test_what_somebody_else_closed_is_not_opened():
    found = session(partitions={"all": "UP", "batch": "DRAIN"})
    conf_run.settle(found, settings(BOTH), BOTH)
    assert found.world.partitions["batch"] == "DRAIN"
    found.kube.set_map(place("hpc"), {"held": Held({"batch": "UP"}).text()})
    found.world.partitions["batch"] = "INACTIVE"
    conf_run.settle(found, settings(BOTH), BOTH)
    assert found.world.partitions["batch"] == "INACTIVE", "closed otherwise since"


def test_a_host_that_goes_is_drained_with_our_reason_and_nothing_else_is():
    found = session(node("metal-1"), node("metal-2"), job(1, nodes="metal-1"))
    found._then = [found.world.jobs.clear]
    conf_run.settle(found, settings(ConfLines(BOTH.partitions)), BOTH)
    assert found.world.nodes["metal-1"]["reason"] == "slinky-iac:prod/slurm-conf: slurm.conf changes"
    assert found.world.nodes["metal-2"]["state"] == ["IDLE"]
    assert found.world.set_to == []


MORE_CPUS = ConfLines(BOTH.partitions, {"metal-1": "NodeName=metal-1 CPUs=4"})


def test_changed_cpus_are_waited_for_and_the_host_goes_back_once_slurmctld_has_read_them():
    found = session(node("metal-1"))

    def read():
        assert "DRAIN" in found.world.nodes["metal-1"]["state"]
        assert found.kube.written == [text(MORE_CPUS)]
        found.world.began += 9

    found._then = [lambda: None, read]
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert found.pauses == 2
    assert "DRAIN" not in found.world.nodes["metal-1"]["state"]
    assert kept(found) == Held()


def drained(found, stack="prod"):
    """metal-1 drained by a run that was cut short, and then slurmctld has read its file."""
    found._then = [lambda: True]
    with pytest.raises(DrainBlocked, match="interrupted"):
        conf_run.settle(found, settings(MORE_CPUS, owner=Owner(stack, names.SLURM_CONF_OWNER)), BOTH)
    assert "DRAIN" in found.world.nodes["metal-1"]["state"]
    found.world.began += 9


def test_a_renamed_stack_returns_the_hosts_that_it_drained_under_its_old_name():
    found = session(node("metal-1"))
    drained(found)
    assert kept(found).hosts == {"metal-1": "prod"}
    conf_run.settle(found, settings(MORE_CPUS, owner=Owner("production", names.SLURM_CONF_OWNER)), BOTH)
    assert "DRAIN" not in found.world.nodes["metal-1"]["state"], found.said
    assert kept(found) == Held()


def test_a_host_that_another_stack_has_drained_since_is_an_error_and_stays_remembered():
    found = session(node("metal-1"))
    drained(found)
    others = found.world.nodes["metal-1"]["reason"] = "slinky-iac:dev/external: maintenance"
    with pytest.raises(DrainBlocked, match=r"another stack .* metal-1 .*dev/external.*nodename=metal-1 state=resume"):
        conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert (found.world.nodes["metal-1"]["reason"], kept(found).hosts) == (others, {"metal-1": "prod"})
    found.world.nodes["metal-1"].update(state=["IDLE"], reason="")
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert kept(found) == Held()


@pytest.mark.parametrize("reason", ["fan", "slinky-iac:prod/external: maintenance"])
def test_a_drain_that_is_not_the_gates_own_stays_and_is_told(reason):
    found = session(node("metal-1"))
    drained(found)
    found.world.nodes["metal-1"]["reason"] = reason
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert found.world.nodes["metal-1"]["reason"] == reason
    assert any("metal-1 stays out of service" in each and reason in each for each in found.said)
    assert kept(found) == Held()


def test_a_slurmctld_that_never_reads_its_file_is_an_error_and_the_update_after_it_has_returns_the_host():
    found = session(node("metal-1"))
    for _ in range(2):
        with pytest.raises(DrainDeadline, match="has not read its new configuration"):
            conf_run.settle(found, settings(MORE_CPUS), BOTH)
        assert "DRAIN" in found.world.nodes["metal-1"]["state"]
    assert conf_planned(found, settings(MORE_CPUS), {"schema": 1}).plan.props["gives_back"] == ["metal-1"]
    found.world.began += 9
    conf_run.settle(found, settings(MORE_CPUS), MORE_CPUS)
    assert "DRAIN" not in found.world.nodes["metal-1"]["state"]


def test_an_older_slurmctld_stops_with_the_command_and_changes_nothing():
    found = session(job(1, partition="batch"), release="25.11")
    with pytest.raises(DrainBlocked, match=r"kubectl exec -n slurm hpc-controller-0 .* scontrol update partitionname=batch"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert [method for method, _, _ in found.world.asked if method != "GET"] == []
    assert kept(found) == Held()


def test_silence_is_waited_for_until_the_deadline_and_never_taken_for_empty():
    found = session()
    found.world.faults = [lambda _request: answer(502, [error(5000)], partitions=[])] * 500
    with pytest.raises(DrainDeadline, match="without an answer"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.world.partitions["batch"] == "UP"


def test_a_refused_token_stops_at_once():
    found = session()
    found.world.keys = ()
    with pytest.raises(SlurmrestAuthError):
        conf_run.settle(found, settings(NO_BATCH), BOTH)


@pytest.mark.parametrize("how", ["ctrl-c", "engine"])
def test_nothing_is_done_any_more_after_a_ctrl_c_or_without_an_engine(how):
    found = session(job(1, partition="batch"))
    found._then = [lambda: how == "ctrl-c"]
    found.alive = how != "engine"
    with pytest.raises(DrainBlocked, match="`pulumi up` continues"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.pauses == (how == "ctrl-c")
    assert (found.world.set_to == []) == (how == "engine"), "no act without an engine"


def test_limits_end_an_update_before_its_first_write():
    found = session(job(1, partition="batch"))
    with pytest.raises(DrainBlocked, match="more than the 0"):
        conf_run.settle(found, settings(NO_BATCH, DrainPolicy(limits=Limits(max_jobs=0))), BOTH)
    assert found.world.set_to == []


def test_cancel_acts_on_jobs_of_what_goes_and_on_no_other():
    found = session(job(1, partition="batch"), job(2, "PENDING", partition="batch"), job(3))
    policy = DrainPolicy(deadline_s=60, on_deadline="cancel", grace_s=10)
    found.world.jobs[3]["partition"] = "all"
    found.world.cancel = lambda body: found.world.__dict__.setdefault("cancelled", []).append(body) or answer(status=[])
    with pytest.raises(DrainDeadline, match="ended only as `onDeadline: cancel` says"):
        conf_run.settle(found, settings(NO_BATCH, policy), BOTH)
    signalled, cancelled = found.world.cancelled[:2]
    assert (signalled["jobs"], signalled["signal"]) == (["1"], "SIGTERM")
    assert cancelled["jobs"] == ["1", "2"]
    assert not any("3" in body["jobs"] for body in found.world.cancelled)


def test_a_destroy_closes_all_partitions_and_waits_for_the_queue():
    found = session(job(2, "PENDING", partition="all"))
    found._then = [found.world.jobs.clear]
    conf_run.finish(found, settings(BOTH), "first")
    assert found.world.partitions == {"all": "DRAIN", "batch": "DRAIN"}
    assert found.pauses == 1


def test_a_destroy_that_keeps_slurmctlds_volume_only_tells_what_stays():
    found = session(job(2, "PENDING", partition="all"), job(3, nodes="metal-1"))
    for ends in ("first", "last"):
        conf_run.finish(found, settings(BOTH, keeps_queue=True), ends)
    assert found.world.set_to == []
    (said,) = found.said
    assert "the queue: 1 waiting in the queue (2 of alice)" in said
    assert "slurmctld: 1 job (3 of alice)" in said


@pytest.mark.parametrize("on", ["metal-1", "stray-1", "gpu-1"])
def test_slurmctld_ends_after_the_last_job_on_whatever_node(on):
    """A dynamic node (`slurmd -Z --conf-server`, the output slurmdJoin), or a NodeSet made by Helm or kubectl."""
    found = session(job(5, nodes=on, partition="all"))
    conf_run.finish(found, settings(BOTH), "first")
    with pytest.raises(DrainDeadline, match=r"slurmctld can't end yet.*5 of alice.*the Controller stays"):
        conf_run.finish(found, settings(BOTH), "last")
    assert found.kube.extra_conf is not None
    found.world.jobs.clear()
    conf_run.finish(found, settings(BOTH), "last")
    assert found.kube.extra_conf is None


@pytest.mark.parametrize("ends", ["first", "last"])
def test_a_destroy_of_a_slurmctld_that_never_answered_says_the_command_with_which_it_ends(ends):
    """A first `pulumi up` that failed: there is a Controller, and its slurmctld never began."""
    found = session()
    found.world.faults = [lambda _request: answer(502, [error(5000)], partitions=[])] * 500
    with pytest.raises(DrainDeadline, match=r"kubectl delete controllers.slinky.slurm.net -n slurm hpc`") as why:
        conf_run.finish(found, settings(BOTH), ends)
    assert "slurmctld may have jobs, so the Controller stays" in str(why.value)
    assert ("`slinky docs operations 'Without slurmrestd'`" in str(why.value)) is (ends == "first"), "the fence keeps it"
    assert (found.kube.extra_conf, found.world.set_to) == (text(BOTH), [])
    found.kube.extra_conf = None
    conf_run.finish(found, settings(BOTH), ends)


def test_a_controller_that_is_gone_holds_no_destroy_up():
    found = session(extra_conf=None)
    conf_run.finish(found, settings(BOTH), "first")
    conf_run.finish(found, settings(BOTH), "last")
    assert found.world.asked == []


def test_the_first_update_of_a_stack_asks_the_controller_that_is_there():
    found = session(job(1, partition="batch"))
    seen = conf_planned(found, settings(NO_BATCH), {})
    assert (seen.plan.props["partitions"], seen.plan.props["jobs_total"], seen.failures) == (["batch"], 1, ())
    assert conf_planned(session(extra_conf=None), settings(NO_BATCH), {}) == Seen()


def test_a_preview_changes_nothing_and_is_the_same_twice():
    found = session(job(1, partition="batch"))
    olds = {"schema": 1, "partitions": dict(BOTH.partitions), "hosts": dict(BOTH.hosts)}
    first = conf_planned(found, settings(NO_BATCH), olds)
    assert first == conf_planned(found, settings(NO_BATCH), olds)
    assert [method for method, _, _ in found.world.asked if method != "GET"] == []
    assert conf_planned(found, settings(BOTH), {**olds, "plan": first.plan.props}) == Seen(), "kept: nothing leaves"


def test_a_preview_fails_over_a_limit_and_knows_nothing_without_an_answer():
    found = session(job(1, partition="batch"))
    olds = {"schema": 1, "partitions": dict(BOTH.partitions), "hosts": {}}
    seen = conf_planned(found, settings(NO_BATCH, DrainPolicy(limits=Limits(max_jobs=0))), olds)
    assert "more than the 0" in seen.failures[0]
    found.world.keys = ()
    seen = conf_planned(found, settings(NO_BATCH), olds)
    assert (seen.plan.props["known"], seen.plan.props["partitions"], seen.failures) == (False, ["batch"], ())


def test_without_an_answer_of_kubernetes_the_update_is_called_and_asks_again():
    found = session()

    def silent(*_arguments):
        raise KubeUnreachable("no route.")

    found.kube.controller = silent
    assert conf_planned(found, settings(BOTH), {"schema": 1}).due == "not known: no route."
    assert conf_planned(found, settings(BOTH), {}) == Seen()
    with pytest.raises(KubeUnreachable):
        conf_run.settle(found, settings(BOTH), BOTH)


def test_a_record_that_somebody_edited_stops_everything():
    found = session()
    found.kube.set_map(place("hpc"), {"held": "{"})
    with pytest.raises(
        StateError, match=rf"ConfigMap slurm/{place('hpc')} notes .* `kubectl delete configmap -n slurm {place('hpc')}`"
    ):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.world.set_to == []


def test_what_an_outside_slurm_conf_loses_is_told_with_the_steps_and_nothing_is_touched():
    found = session(job(1, partition="batch"), job(2, "PENDING", partition="batch"))
    outside = settings(ConfLines({"all": ""}), outside=True)
    olds = {"schema": 1, "partitions": dict(BOTH.partitions), "hosts": dict(BOTH.hosts)}
    plan, failures = (seen := conf_planned(found, outside, olds)).plan.props, seen.failures
    assert (plan["jobs_total"], failures) == (2, ())
    assert plan["warnings"][0].startswith("slurm.conf loses partition batch, host metal-1 with 2 jobs")
    assert plan["steps"] == [
        "scontrol update partitionname=batch state=drain",
        'scontrol update nodename=metal-1 state=drain reason="leaves slurm.conf"',
        "squeue --partition=batch   # go on when it lists no job, running or waiting",
        "squeue --nodelist=metal-1   # go on when it lists no job",
        "# remove the lines from slurm.conf, then",
        "scontrol reconfigure",
    ]
    conf_run.settle(found, outside, BOTH)
    assert [method for method, _, _ in found.world.asked if method != "GET"] == []
    assert "slurm.conf loses partition batch, host metal-1 with 2 jobs" in found.said[-1]
    assert conf_planned(found, outside, {}) == Seen(), "a first update: there is nothing to lose"


def test_an_outside_slurmctld_that_does_not_answer_stops_no_update():
    found = session()
    found.world.keys = ()
    conf_run.settle(found, settings(NO_BATCH, outside=True), BOTH)
    assert "whose jobs name it is not known" in found.said[-1]


def test_a_nodesets_own_partition_is_closed_again_and_holds_it_while_a_job_waits_there():
    found = session(job(2, "PENDING", partition="batch"))
    assert conf_run.partition_holds(found, of_nodeset("batch")) == "partition batch was open, and is closed now"
    assert conf_run.partition_holds(found, of_nodeset("batch")) == "partition batch: 1 waiting in the queue (2 of alice)"
    found.world.jobs.clear()
    assert conf_run.partition_holds(found, of_nodeset("batch")) == ""
    assert conf_run.partition_holds(found, of_nodeset("none")) == ""
    assert found.world.partitions == {"all": "UP", "batch": "DRAIN"}
    assert kept(found) == Held({"batch": "UP"})


def test_a_partition_that_slurmrestd_cannot_close_is_held_by_its_jobs_alone():
    found = session(job(2, "PENDING", partition="batch"), release="25.11")
    assert conf_run.partition_holds(found, of_nodeset("batch")) == "partition batch: 1 waiting in the queue (2 of alice)"
    found.world.jobs.clear()
    assert conf_run.partition_holds(found, of_nodeset("batch")) == ""
    assert "can't close it" in found.said[-1]


@pytest.mark.parametrize(("state", "opened"), [("DRAIN", "UP"), ("INACTIVE", "INACTIVE"), ("DOWN", "DOWN")])
def test_a_partition_opens_for_the_next_nodeset_of_its_name_unless_somebody_else_set_it(state, opened):
    found = session(partitions={"all": "UP", "batch": state})
    record = Record(found, of_nodeset("batch"))
    record.reopen("batch")
    assert found.world.asked == [], "nothing is held, and Slurm is not asked"
    record.hold(Held({"batch": "UP", "all": "UP"}))
    record.reopen("batch")
    assert found.world.partitions == {"all": "UP", "batch": opened}
    assert kept(found) == Held({"all": "UP"})


def test_a_destroyed_slurmctld_leaves_no_record_of_what_was_closed():
    found = session(extra_conf=None)
    Record(found, settings(BOTH)).hold(Held({"batch": "UP"}))
    conf_run.end(found, settings(BOTH, outside=True))
    assert kept(found) == Held({"batch": "UP"}), "an outside slurmctld lives on, and its stack may not read ConfigMaps"
    conf_run.end(found, settings(BOTH))
    conf_run.end(found, settings(BOTH))
    assert found.kube.maps == {}


def test_each_nodesets_gate_remembers_and_forgets_its_own_partition_only():
    found = session()
    record = Record(found, settings(BOTH))
    record.hold(Held({"a": "DOWN"}, {"metal-1": "prod"}, 7))
    record.remember("b", "UP")
    record.remember("a", "UP")
    assert kept(found) == Held({"a": "DOWN", "b": "UP"}, {"metal-1": "prod"}, 7)
    record.remember("a", None)
    record.remember("c", None)
    assert kept(found) == Held({"b": "UP"}, {"metal-1": "prod"}, 7)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"began":null,"hosts":"metal-1","partitions":{}}', '{"began":"7","hosts":{},"partitions":{}}', "{}"],
    ids=["deep", "hosts are a text", "a time that is a text", "empty"],
)
def test_a_record_that_this_program_never_wrote_stops_the_gate(text):
    with pytest.raises(ValueError, match="isn't one that this program wrote"):
        Held.read(text)
    found = session()
    found.kube.set_map(place("hpc"), {"held": text})
    with pytest.raises(StateError, match="Nothing was changed"):
        Record(found, settings(BOTH)).held()


def test_the_record_is_pinned():
    text = Held({"b": "UP", "a": "DOWN"}, {"y": "prod", "x": "old"}, 7).text()
    assert text == '{"began":7,"hosts":{"x":"old","y":"prod"},"partitions":{"a":"DOWN","b":"UP"}}'
    assert Held.read(text) == Held({"a": "DOWN", "b": "UP"}, {"x": "old", "y": "prod"}, 7)


@pytest.mark.parametrize("end", ["COMPLETED", "NODE_FAIL"])
@pytest.mark.parametrize("gate", ["a partition leaves", "slurmctld ends"])
def test_emptying_ends_with_what_became_of_the_jobs_that_were_waited_for(gate, end):
    found = session(job(17, partition="batch", nodes="metal-1"), node("metal-1"))

    def its_job_ends():
        found.world.jobs.clear()
        found.world.accounts = [
            run(17, end, nodes="g-0", end=found.now()),
            run(18, "NODE_FAIL", nodes="g-9", end=found.now()),
        ]
        found.world.nodes["metal-1"]["state"] = ["IDLE", "DRAIN"]

    found._then = [its_job_ends]

    def go():
        if gate == "slurmctld ends":
            conf_run.finish(found, settings(BOTH), "last")
        else:
            conf_run.settle(found, settings(NO_BATCH), BOTH)

    if end == "COMPLETED":
        go()
        assert any("1 job ran on, 0 lost" in text for text in found.said)
    else:
        with pytest.raises(DrainLost, match=r"1 job\(s\) of 1 lost .*17 of alice.*The change is made"):
            go()
