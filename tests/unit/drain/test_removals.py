"""What leaves the program has its plan and its limits in the preview, and until it has left the cluster."""

from contextlib import contextmanager

import pytest

from slinky_iac.drain import removals
from slinky_iac.drain.gates import RemovalsProvider
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import DrainPolicy, Limits, plain_policy, reach_props
from slinky_iac.errors import DrainBlocked, KubeUnreachable
from tests.unit.drain import made
from tests.unit.drain.made import NOW, V110
from tests.unit.drain.test_sessions import PODS, REACH, srun
from tests.unit.drain.test_sessions import session as of_login

GPU = {"resource": "hpc-worker-gpu", "controller": "hpc"}
LOGIN = {"podNamespace": "slurm", "podSelector": PODS, "kind": "LoginSet", "resource": "x", "interrupts": False}
ALL = {"gpu": GPU, "logins.main": LOGIN}


def props(stands, limits=None, **more):
    policy = plain_policy(DrainPolicy(limits=limits or Limits()))
    plain = {"schema": 1, "stack": "dev", "cluster": "", "operatorVersion": "1.1.0", "urn": "", "policy": policy}
    return {**plain, **reach_props(REACH), "stands": stands, **more}


class Site:
    """A NodeSet of two nodes with a job on one, and a login set with an srun."""

    def __init__(self, login=None, silent=False):
        self.login = login or of_login(srun())
        self.there, self.silent, self.said = True, silent, []
        self.kube, self.slurm, self.report = self.login.kube, self.login.slurm, self._report

    def _report(self, message, **_more):
        self.said.append(message)

    def now(self):
        return self.login.now()

    def steady(self):
        return self.login.steady()

    def observe(self, settings, *, queue):
        assert queue
        assert (settings.resource, settings.owner.text) == ("hpc-worker-gpu", "dev/gpu")
        if self.silent:
            raise KubeUnreachable("no route")
        if not self.there:
            return Observation(NOW, V110)
        return made.seen([made.pod(0), made.pod(1)], [made.node(0), made.node(1)], [made.job(41, 0)])

    @contextmanager
    def opened(self, *_reach, **_more):
        yield self

    def plan(self, olds, news):
        return removals.plan(news, removals.gone(olds, news), self.opened)


def test_what_stands_in_the_program_is_not_gone():
    assert removals.gone(props(ALL), props(ALL)) == {}
    assert removals.gone({}, props(ALL)) == {}
    assert removals.gone(props(ALL), props({"gpu": GPU})) == {"logins.main": LOGIN}


def test_a_preview_names_nodes_and_jobs_of_all_that_leaves():
    site = Site()
    seen, pending = site.plan(props(ALL), props({}))
    assert pending == ALL
    assert seen.failures == ()
    gpu, login = seen.plan.props["removals"]
    assert (gpu["nodeset"], gpu["from"], gpu["to"], gpu["known"]) == ("gpu", 2, 0, True)
    assert [each["node"] for each in gpu["nodes"]] == ["gpu-1", "gpu-0"]
    assert [each["job"] for each in gpu["jobs"]] == ["41"]
    assert (login["nodeset"], login["known"], login["jobs_total"]) == ("logins.main", True, 1)
    assert "gpu leaves the program: 2 nodes will be drained and removed; 1 job (41 of" in site.said[0]
    assert "logins.main leaves the program: LoginSet x will be removed; 1 job (7 of alice" in site.said[1]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(max_share=0.5), "gpu leaves the program: 2 of 2 pods would be removed, more than the share 0.5"),
        (Limits(max_jobs=0), "more than the 0 that drain.limits allows"),
        (Limits(max_job_age_s=60), "drain.limits allows no job that has run longer than 60 s"),
    ],
)
def test_limits_end_the_preview_and_the_update(limits, said):
    site = Site()
    seen, pending = site.plan(props(ALL, limits), props({}, limits))
    assert any(said in text for text in seen.failures)
    with pytest.raises(DrainBlocked, match="nothing of it was drained or removed"):
        removals.judge(site, props({}, limits, pending=pending))


def test_a_nodeset_with_a_policy_of_its_own_is_judged_by_it():
    own = {**GPU, "policy": plain_policy(DrainPolicy(limits=Limits(max_jobs=0)))}
    seen, _ = Site().plan(props({"gpu": own}), props({}))
    assert len(seen.failures) == 1


def test_one_without_an_answer_is_unknown_and_ends_an_update_with_limits():
    site = Site(silent=True)
    seen, pending = site.plan(props({"gpu": GPU}), props({}))
    assert seen.plan.props["removals"][0]["known"] is False
    assert pending == {"gpu": GPU}
    assert "not known: no route" in site.said[0]
    removals.judge(site, props({}, pending=pending))  # no limit: the gate itself waits for an answer
    with pytest.raises(DrainBlocked, match=r"no route; and drain\.limits can't be judged"):
        removals.judge(site, props({}, Limits(max_jobs=5), pending=pending))


def test_a_removal_that_failed_is_planned_again_until_it_has_left_the_cluster():
    site = Site()
    _, pending = site.plan(props(ALL), props({}))
    left = props({}, pending=pending)
    site.login.world.jobs.clear()
    again, still = site.plan(left, props({}))
    assert still == ALL
    assert [each["nodeset"] for each in again.plan.props["removals"]] == ["gpu", "logins.main"]
    site.there = site.kube.there = False
    done, none = site.plan(left, props({}))
    assert (done.plan, none) == (None, {})


def test_pods_in_a_namespace_of_their_own_are_planned_once():
    """Rights in a client's namespace end with the client, so a later preview would be refused there."""
    away = {**LOGIN, "podNamespace": "notebooks"}
    assert removals.gone(props({"clients.nb": away}), props({})) == {"clients.nb": away}
    left = props({}, pending={"clients.nb": away, "logins.main": LOGIN})
    assert removals.gone(left, props({})) == {"logins.main": LOGIN}


def test_interrupted_sessions_are_named_and_not_waited_for():
    site = Site()
    seen, _ = site.plan(props({"logins.main": {**LOGIN, "interrupts": True}}), props({}))
    assert seen.plan.props["removals"][0]["jobs_total"] == 0
    assert "this ends 1 job (7 of alice" in site.said[0]


def test_what_left_the_cluster_is_no_difference():
    diff = RemovalsProvider().diff
    state = props({}, plan={"removals": [1]}, pending={"gpu": GPU})
    assert not diff("id", state, props({}, plan={}, pending={})).changes
    assert diff("id", state, props({}, plan={"removals": [2]}, pending={"gpu": GPU})).changes
    assert diff("id", state, props({"gpu": GPU}, plan={}, pending={})).changes


def test_without_anything_gone_nothing_is_asked():
    found = RemovalsProvider().check(props(ALL, plan={"removals": []}), props(ALL))
    assert found.failures == []
    assert found.inputs["pending"] == {}
    assert found.inputs["plan"] == {"removals": []}
