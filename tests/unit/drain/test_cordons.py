"""When pods get pod-cordon, with which volume claims go too: not before slurm-operator shows our drain, nor under a job."""

from slinky_iac.drain.protocol import CordonAnnotate, Done
from tests.unit.drain.made import given_up, job, pod, seen
from tests.unit.drain.test_steps import FREE_LOOK, NAME, NUDGED, free_look, says, step


def test_cordons_come_in_one_pass_when_all_nodes_are_free_and_the_operator_has_seen_all_drains():
    unseen = {"slurm_states": frozenset({"IDLE"}), "slurm_reason": "", "gate": NUDGED}
    pods = [pod(0), given_up(1, cordon=False), given_up(2, cordon=False)]
    says("1 of 2 nodes are free", step(seen(pods, FREE_LOOK[1], [job(7, 2)])))
    says("not yet seen the drain of", step(seen([*pods[:2], given_up(2, cordon=False, **unseen)], FREE_LOOK[1])))
    assert step(seen(pods, FREE_LOOK[1])) == CordonAnnotate((NAME(2), NAME(1)))
    assert step(seen([*pods[:2], given_up(2)], FREE_LOOK[1])) == CordonAnnotate((NAME(1),)), "what a killed run left out"


def test_pods_that_an_autoscaler_will_remove_are_cordoned_too():
    """Their volume claims go with them only so."""
    pods = [pod(0), given_up(1, cordon=False), given_up(2)]
    assert step(seen(pods, FREE_LOOK[1]), writes=False) == CordonAnnotate((NAME(1),))
    busy = seen([pod(0), given_up(1, cordon=False), given_up(2, cordon=False)], FREE_LOOK[1], [job(7, 2)])
    assert step(busy, writes=False) == CordonAnnotate((NAME(1),)), "it may lower its number at any moment"
    says("1 of 2 nodes are free", step(busy))
    assert step(free_look(), writes=False) == Done((NAME(2), NAME(1)))
