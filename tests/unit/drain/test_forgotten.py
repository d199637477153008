"""A slurmctld that lost its state: pods go only when slurmdbd, too, knows of no job there."""

from dataclasses import replace

import pytest

from slinky_iac.drain import scale
from slinky_iac.errors import DrainDeadline, SlurmrestUnreachable
from tests.made.jobs import run
from tests.unit.drain.model import world
from tests.unit.drain.model_session import ModelSession, settings


class Accounts:
    """slurmdbd's word for what runs since some moment."""

    def __init__(self, *runs, answers=True):
        self.runs = runs
        self.answers = answers

    def running(self, since, **_more):
        if not self.answers:
            raise SlurmrestUnreachable("no slurmdbd")
        return tuple(each for each in self.runs if each.time.start >= since)


def times(start):
    """slurmdbd shows now for the end of a job that runs (26.05.5)."""
    return {"start": start, "end": start + 60}


class Forgotten(ModelSession):
    """slurmctld has the right name, and knows neither nodes nor jobs any more."""

    def observe(self, _settings):
        found = super().observe(_settings)
        return found if found.cluster is None else replace(found, cluster=replace(found.cluster, name="lab"))


def forgetful(*starts, removal=False, answers=True):
    """Two pods, and by slurmdbd a job on gpu-1 since each of these moments, seconds after the pod was made.

    With an operator that leaves such pods: from 1.1.0 on it deletes them before any gate can ask.
    """
    w = world("1.0.1", 2)
    w.nodes.clear()
    w.sync(refresh=True)
    session = Forgotten(w)
    runs = [run(7, "RUNNING", nodes="gpu-1", time=times(w.pods[1].created + start)) for start in starts]
    session.slurm = Accounts(*runs, answers=answers)
    act = scale.tear_down if removal else scale.settle
    return session, lambda: act(session, settings(1, cluster="lab"))


@pytest.mark.parametrize("removal", [False, True])
def test_pods_that_slurmctld_forgot_stay_while_jobs_run_there_by_slurmdbd(removal):
    session, act = forgetful(10, removal=removal)
    with pytest.raises(DrainDeadline, match=r"gpu-1.*, and by slurmdbd these jobs run there: 7\."):
        act()
    assert session.w.deleted == []
    assert session.w.replicas == 2


def test_what_slurmdbd_still_has_of_an_earlier_pod_holds_nothing_up():
    session, act = forgetful(-10)
    act()
    assert session.w.replicas == 1


def test_without_slurmdbd_pods_that_slurmctld_forgot_go_with_a_warning():
    session, act = forgetful(answers=False)
    act()
    assert session.w.replicas == 1
    assert any("slurmdbd could not be asked for jobs there: no slurmdbd" in line for line in session.said)
