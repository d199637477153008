"""The gate of the Controller compares with the live Controller, never with what a state remembers; and what it writes takes
nothing that nodes still use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.cluster.partition_closing import Held, place
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.drain import conf_run
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_text import ConfLines, fitting, gres_types, max_nodes, read_lines
from slinky_iac.drain.lease import Lease
from slinky_iac.drain.losses import Change, who_loses
from slinky_iac.drain.plan import Seen
from slinky_iac.drain.preview import conf_planned
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict
from slinky_iac.specs.slurm_conf import controller_extra_conf, host_lines, partition_lines
from tests.made.nodesets import nodeset
from tests.made.rows import job, node
from tests.stacks import minimal
from tests.unit.drain.made import job as made_job
from tests.unit.drain.made import node as made_node
from tests.unit.drain.test_conf_run import BOTH, NO_BATCH, kept, session, settings, text


def state(lines):
    return {"schema": 1, "partitions": lines.partitions, "hosts": lines.hosts, "extraConf": text(lines)}


def recorded(**more):
    """A cluster in which a run has ended."""
    found = session(**more)
    found.kube.set_map(place("hpc"), {"run": Lease("aaaa", "alice@desk", found.now(), ended=True).text()})
    return found


def test_a_preview_names_what_the_live_controller_loses_though_the_state_has_forgotten_it():
    """An engine that died between the last look and the write, `--target`, or a partition that came by kubectl edit."""
    found = session(job(1, partition="batch"))
    seen = conf_planned(found, settings(NO_BATCH), state(NO_BATCH))
    assert seen.plan.props["partitions"] == ["batch"]
    assert [each["job"] for each in seen.plan.props["jobs"]] == ["1"]
    assert seen.due == "the Controller's extraConf is not as asked for", "so that the update is called"


def test_an_update_waits_for_jobs_of_what_the_live_controller_loses():
    found = session(job(1, partition="batch"))
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH), NO_BATCH)
    assert found.kube.written == []


def test_the_whole_story_of_an_engine_that_dies_before_the_write():
    found = session()
    lives = iter([True, True, False])  # it takes the lease and closes the partition, and does not write
    found.engine_lives = lambda: next(lives, True)
    with pytest.raises(DrainBlocked, match="the engine is gone"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.world.partitions["batch"] == "DRAIN"
    found.world.partitions["batch"] = "UP"  # an admin finds it closed, and opens it
    found.world.add(job(7, partition="batch"))  # and a job runs there
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH), NO_BATCH)
    assert found.kube.written == []
    found.world.jobs.clear()
    conf_run.settle(found, settings(NO_BATCH), NO_BATCH)
    assert found.kube.written == [text(NO_BATCH)]


def test_a_write_of_somebody_else_after_the_last_look_is_looked_at_first():
    found = session()
    write = found.kube.set_extra_conf

    def raced(*arguments):
        found.kube.set_extra_conf = write
        found.world.partitions["night"] = "UP"
        found.world.add(job(9, partition="night"))
        found.kube.extra_conf = f"{text(BOTH)}\nPartitionName=night Nodes=gpu"
        write(*arguments)

    found.kube.set_extra_conf = raced
    with pytest.raises(DrainDeadline, match="partition night: 1 job"):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.kube.written == []
    assert found.world.partitions["night"] == "DRAIN"


def test_a_conflict_is_never_the_last_word_of_a_run_that_had_time():
    found = session()
    write, tries = found.kube.set_extra_conf, iter(range(3))

    def busy(*arguments):
        if next(tries, None) is not None:
            raise KubeConflict("written since")
        write(*arguments)

    found.kube.set_extra_conf = busy
    conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert found.kube.written == [text(NO_BATCH)]


def test_a_controller_that_is_as_asked_for_is_not_written_and_the_next_preview_is_empty():
    found = recorded()
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.kube.written, found.world.asked) == ([], [])
    assert conf_planned(found, settings(BOTH), state(BOTH)) == Seen()


def test_what_comes_is_written_without_a_question_to_slurm():
    found = recorded(extra_conf=text(NO_BATCH))
    conf_run.settle(found, settings(BOTH), NO_BATCH)
    assert (found.kube.written, found.world.asked) == ([text(BOTH)], [])


def test_a_nodesets_own_partition_is_live_as_long_as_its_nodeset_has_it():
    """`partition.enabled: false` of an interrupted update: state and program agree, the NodeSet differs."""
    worker = nodeset("hpc-worker-gpu", 2, partition=True)
    found = session(job(1, partition="gpu"), partitions={"gpu": "UP"}, extra_conf="", nodesets=[worker])
    wanted = settings(ConfLines(), text="", nodesets={"gpu": "hpc-worker-gpu"})
    assert conf_planned(found, wanted, state(ConfLines())).plan.props["partitions"] == ["gpu"]
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, wanted, ConfLines())
    others = settings(ConfLines(), text="", nodesets={"cpu": "hpc-worker-cpu"})
    conf_run.settle(found, others, ConfLines())


def test_a_controller_that_is_gone_is_not_made_by_the_gate():
    with pytest.raises(DrainBlocked, match=r"there is no Controller hpc any more\. Run `pulumi up --refresh`"):
        conf_run.settle(session(extra_conf=None), settings(BOTH), BOTH)


def test_a_slurmctld_that_keeps_no_state_is_not_restarted_over_a_job():
    found = session(job(1, partition="all"), extra_conf="")
    with pytest.raises(DrainBlocked, match=r"controller.persistence is off: it would forget 1 job \(1 of alice\)"):
        conf_run.settle(found, settings(BOTH, forgets=True), BOTH)
    assert found.kube.written == []
    found.world.jobs.clear()
    conf_run.settle(found, settings(BOTH, forgets=True), BOTH)
    assert found.kube.written == [text(BOTH)]


# -- MaxNodeCount and GresTypes --------------------------------------------------------------------------------------------


def stack(replicas, count):
    found = minimal(nodesets={"gpu": {"replicas": replicas}})
    found["cluster"] = {**found["cluster"], "maxNodeCount": count}
    return load(found)


def lowered():
    """The number of nodes and MaxNodeCount lowered in one update; and what the two configurations are."""
    before, after = stack(20, 1024), stack(4, 8)
    assert [each for each in findings(after) if each.level.name == "ERROR"] == []
    lines = ConfLines(partition_lines(after), host_lines(after))
    rows = [node(f"gpu-{n}", "MIXED", "DYNAMIC_NORM") for n in range(20)] + [job(n + 1, nodes=f"gpu-{n}") for n in range(20)]
    found = session(*rows, partitions={"gpu": "UP"}, extra_conf=controller_extra_conf(before))
    olds = {"schema": 1, "partitions": partition_lines(before), "hosts": host_lines(before)}
    return found, settings(lines, text=controller_extra_conf(after)), olds


def test_a_number_that_takes_nodes_away_is_told_and_not_written():
    found, wanted, olds = lowered()
    number = max_nodes(found.kube.extra_conf)
    seen = conf_planned(found, wanted, olds)
    assert seen.plan.props["warnings"] == [
        f"MaxNodeCount stays {number} and is not yet 8: slurmctld has more nodes than that, and would end the jobs of those"
        " without room. `pulumi up` lowers it once they are gone"
    ]
    conf_run.settle(found, wanted, ConfLines())
    assert max_nodes(found.kube.extra_conf) == number
    assert any(f"MaxNodeCount stays {number}" in line for line in found.said)
    again = conf_planned(found, wanted, {**olds, "plan": seen.plan})
    assert again.due == "", "while the nodes are there, there is nothing to do"


def test_the_update_after_the_nodes_have_gone_lowers_the_number():
    found, wanted, olds = lowered()
    conf_run.settle(found, wanted, ConfLines())
    found.world.nodes = {name: row for name, row in found.world.nodes.items() if name in {"gpu-0", "gpu-1"}}
    found.world.jobs.clear()
    assert conf_planned(found, wanted, olds).due == "the Controller's extraConf is not as asked for"
    conf_run.settle(found, wanted, ConfLines())
    assert found.kube.extra_conf == wanted.text


def test_a_type_of_gres_stays_while_a_node_has_it():
    live, wanted = "GresTypes=gpu,nic\nPartitionName=all Nodes=gpu", "PartitionName=all Nodes=gpu"
    has = ClusterView.of([made_node(0, gres="gpu:a100:4")], [])
    assert gres_types(fitting(live, wanted, has)) == {"gpu"}
    assert fitting(live, wanted, ClusterView.of([made_node(0)], [])) == wanted


TEXTS = st.builds(
    lambda number, types, part: "\n".join(
        filter(None, [number and f"MaxNodeCount={number}", types and f"GresTypes={','.join(types)}", part])
    ),
    st.one_of(st.none(), st.integers(1, 6)),
    st.lists(st.sampled_from(["gpu", "nic"]), unique=True),
    st.sampled_from(["", "PartitionName=all Nodes=gpu"]),
)
NODES = st.lists(st.builds(made_node, st.integers(0, 5), gres=st.sampled_from(["", "gpu:2", "nic:1,gpu:1"])), unique_by=str)


@given(TEXTS, TEXTS, NODES)
def test_no_text_that_is_written_takes_a_node_or_a_type_from_a_job(live, wanted, nodes):
    """A slurmctld that has its nodes has room for them."""
    jobs = [made_job(n + 1, int(each.name.removeprefix("gpu-"))) for n, each in enumerate(nodes)]
    cluster = ClusterView.of(nodes, jobs)
    if len(cluster.nodes) > max_nodes(live):
        return
    after = fitting(live, wanted, cluster)
    change = Change(max_nodes=max_nodes(after), gres=gres_types(live) - gres_types(after))
    assert who_loses(change, cluster) == ()
    assert read_lines(after) == read_lines(wanted)
    assert max_nodes(after) >= max_nodes(wanted)
    assert gres_types(after) >= gres_types(wanted)
    assert fitting(wanted, wanted, cluster) == wanted


def test_a_conf_that_keeps_a_number_remembers_nothing_of_it():
    found, wanted, _ = lowered()
    conf_run.settle(found, wanted, ConfLines())
    assert not kept(found)


@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_a_controller_that_was_edited_into_something_unreadable_stops_the_run_and_nothing_is_changed(when):
    found = session(job(1, partition="batch"))
    odd = f"{text(BOTH)}\nInclude /etc/slurm/night.conf"

    def edited():
        found.kube.extra_conf = odd

    if when == "before":
        edited()
        Record(found, settings(BOTH)).hold(Held({"all": "UP"}))
        found.world.partitions["all"] = "DRAIN"
        seen = conf_planned(found, settings(NO_BATCH), state(BOTH))
        assert "got 'Include /etc/slurm/night.conf'" in seen.failures[0]
    found._then = [edited, found.world.jobs.clear]
    with pytest.raises(
        DrainBlocked, match=r"Include /etc/slurm/night.conf.*kubectl edit controllers.slinky.slurm.net"
    ) as why:
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert "stays so" in str(why.value)
    assert (found.kube.written, found.kube.extra_conf) == ([], odd)
    assert found.world.set_to == ([] if when == "before" else [("batch", "DRAIN")])
    assert kept(found).partitions == ({"all": "UP"} if when == "before" else {"batch": "UP"})
