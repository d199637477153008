"""Jobs on nodes that stay, or in the queue, whose --nodelist names one that goes."""

from slinky_iac.drain.protocol import Wait
from slinky_iac.drain.settings import DrainPolicy
from tests.unit.drain.made import NOW, held, job, node, pod, seen
from tests.unit.drain.test_steps import FREE_LOOK, NAME, step


def test_a_scale_in_waits_for_a_running_job_elsewhere_that_slurmctld_would_end_with_the_node():
    """`sbatch -N1 -w gpu-[0-2]` is "one of these" to Slurm; the job ends NODE_FAIL where a record of the list is gone."""
    tied = job(5, 0, required=["gpu-0", "gpu-2"])
    look = seen(FREE_LOOK[0], [node(0, "MIXED"), held(1), held(2)], [tied])
    found = step(look)
    assert isinstance(found, Wait)
    assert "5 of alice" in f"{found.why} {found.progress}"
    assert "named by --nodelist" in f"{found.progress}"
    assert "5 of alice" in step(look, deadline_at=NOW).why
    assert step(look, deadline_at=NOW, policy=DrainPolicy(on_deadline="cancel")).jobs == (5,)


def test_the_choice_prefers_nodes_that_no_job_elsewhere_names():
    look = seen(
        [pod(n) for n in range(4)], [node(0, "MIXED"), node(1), node(2), node(3)], [job(5, 0, required=["gpu-0", "gpu-3"])]
    )
    found = step(look, current=4, target=2)
    assert sorted(mark.pod for mark in found.pods) == [NAME(1), NAME(2)]
