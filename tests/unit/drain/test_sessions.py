"""Login pods and pods of clients: they end once nothing of srun and salloc runs from them."""

from datetime import UTC, datetime
from functools import partial

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import sessions
from slinky_iac.drain.sessions import SessionSettings
from slinky_iac.drain.settings import DrainPolicy, Owner, plain_policy, reach_props
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, SlurmrestElsewhere
from slinky_iac.kube.objects import WrittenMeta
from tests.made.pods import pod
from tests.made.rows import NOW, job
from tests.unit.drain.conf_world import ConfSession, Slurmctld

REACH = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
POD = "slurm-login-main-7f9c-x2x"
PODS = "app.kubernetes.io/name=login,app.kubernetes.io/instance=slurm-login-main"
PROPS = {
    "schema": 1,
    "stack": "prod",
    "host": "logins.main",
    "podNamespace": "slurm",
    "podSelector": PODS,
    "kind": "LoginSet",
    "resource": "slurm-login-main",
    "interrupts": False,
    "cluster": "",
    "urn": "",
    "policy": plain_policy(DrainPolicy(deadline_s=60)),
    **reach_props(REACH),
}


class Kube:
    """A LoginSet (or a Deployment) with one pod."""

    def __init__(self, pods=(POD,)):
        self.there, self.version, self.pods, self.asked = True, 1, pods, []

    def meta(self, kind, namespace, name):
        self.asked.append((kind, namespace, name))
        made = WrittenMeta(
            name=name, uid="uid", resource_version=f"{self.version}", creation_timestamp=datetime.fromtimestamp(NOW, UTC)
        )
        return made if self.there else None

    def delete(self, _kind, _namespace, meta):
        if meta.resource_version != f"{self.version}":
            raise KubeConflict("written since")
        self.there = False

    def pods_by(self, namespace, selector, _what):
        assert (namespace, selector) == ("slurm", PODS)
        return [pod(name=name, ordinal=0, slurm_node=name) for name in self.pods]


def session(*jobs, then=(), **kube):
    return ConfSession(Slurmctld({}).add(*jobs), Kube(**kube), REACH, then)


def settings(**changes):
    policy = changes.pop("policy", DrainPolicy(deadline_s=60))
    return SessionSettings.from_props({**PROPS, "policy": plain_policy(policy), **changes})


def srun(number=7, state="RUNNING", host=POD, **more):
    return job(number, state, allocating_node=host, batch_flag=False, **more)


def test_the_props_are_read_back():
    found = settings()
    assert found.owner == Owner("prod", "logins.main")
    assert (found.namespace, found.selector, found.what) == ("slurm", PODS, "LoginSet slurm-login-main")


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "SUSPENDED"])
def test_a_removal_waits_for_srun_and_then_deletes_the_login_set(state):
    found = session(srun(state=state))
    found._then = [list, found.world.jobs.clear]
    sessions.finish(found, settings())
    assert not found.kube.there
    assert any("waiting for its srun or salloc in slurm-login-main-7f9c-x2x: " in line for line in found.said)
    assert found.pauses == 2


@pytest.mark.parametrize(
    "row",
    [
        srun(host="login-1"),
        srun(state="CANCELLED"),
        job(7, allocating_node=POD, batch_flag=True),
    ],
    ids=["from another host", "over", "of sbatch"],
)
def test_any_other_job_is_not_waited_for(row):
    found = session(row)
    sessions.finish(found, settings())
    assert not found.kube.there
    assert found.pauses == 0


def test_at_the_deadline_the_login_set_stays_and_the_way_out_is_named():
    found = session(srun())
    with pytest.raises(DrainDeadline, match="kubectl delete -n slurm loginset slurm-login-main") as end:
        sessions.finish(found, settings())
    assert found.kube.there
    assert "Nothing was killed" in str(end.value)
    assert "of alice" in str(end.value)


def test_a_policy_that_cancels_ends_them_and_then_the_login_set_goes():
    found = session(srun())
    policy = DrainPolicy(deadline_s=60, on_deadline="cancel", grace_s=30)

    def ends():
        if any("cancelling jobs" in line for line in found.said):
            found.world.jobs.clear()

    found._then = [ends for _ in range(200)]
    sessions.finish(found, settings(policy=policy))
    assert not found.kube.there
    assert [line for line in found.said if "signalling jobs" in line]


def test_no_pod_no_question_to_slurm():
    found = session(srun(), pods=())
    sessions.finish(found, settings())
    assert not found.kube.there
    assert found.world.asked == []


def test_a_login_set_that_is_gone_is_done():
    found = session(srun())
    found.kube.there = False
    sessions.finish(found, settings())
    assert found.world.asked == []


def test_one_that_was_written_since_the_look_is_looked_at_again():
    found = session()
    before = found.kube.meta
    found.kube.meta = lambda *of: _written_after(found.kube, before(*of))
    sessions.finish(found, settings())
    assert not found.kube.there
    assert found.pauses == 1


def _no_answer(request):
    raise httpx.ConnectError("connection refused", request=request)


def _written_after(kube, meta):
    kube.version = 2
    return meta


def test_notebooks_are_waited_for_and_not_deleted():
    found = session(srun())
    found._then = [found.world.jobs.clear]
    sessions.finish(found, settings(kind="", resource="", host="clients.lab.jupyterhub"))
    assert found.kube.there
    assert found.kube.asked == []
    assert any("then pods of clients.lab.jupyterhub may end" in line for line in found.said)


def test_interrupt_sessions_leaves_the_end_to_the_engine():
    found = session(srun())
    sessions.finish(found, settings(interrupts=True))
    assert found.kube.there
    assert found.world.asked == []


def test_another_clusters_slurmctld_ends_nothing():
    found = session(srun(cluster="other"))
    with pytest.raises(SlurmrestElsewhere):
        sessions.finish(found, settings(cluster="hpc"))
    assert found.kube.there


def test_a_dead_engine_changes_nothing():
    found = session()
    found.alive = False
    with pytest.raises(DrainBlocked, match="the engine is gone"):
        sessions.finish(found, settings())
    assert found.kube.there


def test_without_an_answer_it_stays_and_the_way_out_is_named():
    found = session(srun())
    found.world.faults = [_no_answer] * 2000
    with pytest.raises(DrainDeadline, match="over without an answer") as end:
        sessions.finish(found, settings())
    assert found.kube.there
    assert "`kubectl delete -n slurm loginset slurm-login-main` ends it all the same" in str(end.value)


MEANWHILE = st.lists(st.sampled_from(["begins", "ends", "batch", "written", "silent", "nothing"]), max_size=30)
POLICIES = st.sampled_from(["keep", "undo", "requeue", "cancel"])


@given(MEANWHILE, POLICIES)
def test_whatever_happens_a_login_set_goes_only_while_nothing_runs_from_it(meanwhile, act):
    """A person begins and ends sessions, somebody writes the login set, slurmrestd is away; one thing a pause."""
    found = session(srun(1))
    numbers = iter(range(2, 99))

    def happens(what):
        jobs = found.world.jobs
        match what:
            case "begins":
                found.world.add(srun(next(numbers)))
            case "ends" if jobs:
                del jobs[min(jobs)]
            case "batch":
                found.world.add(job(next(numbers), allocating_node=POD, batch_flag=True))
            case "written":
                found.kube.version += 1
            case "silent":
                found.world.faults = [_no_answer] * 3

    found._then = [partial(happens, what) for what in meanwhile]
    there, delete = found.world.jobs, found.kube.delete

    def deleted(*of):
        assert all(row["batch_flag"] or "CANCELLED" in row["job_state"] for row in there.values()), "a session was cut off"
        delete(*of)

    found.kube.delete = deleted
    try:
        sessions.finish(found, settings(policy=DrainPolicy(deadline_s=60, on_deadline=act, grace_s=30)))
    except DrainDeadline:
        assert found.kube.there
    else:
        assert not found.kube.there
