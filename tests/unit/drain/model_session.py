"""A session whose cluster is the model of operator and Slurm, and a gate's settings for it."""

from __future__ import annotations

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.protocol import DeleteNodeSet, Observation
from slinky_iac.drain.settings import DrainPolicy, GateSettings
from slinky_iac.releases import OperatorVersion
from tests.unit.drain.made import OWNER, nodeset
from tests.unit.drain.model import Job, world

REACH = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")


class ModelSession:
    """A session whose cluster is the model. Each pause is an operator's sync, and ``meanwhile`` what others do."""

    def __init__(self, w, meanwhile=(), run="r1"):
        self.w = w
        self.run = run
        self.asked_by = "alice@desk"
        self.meanwhile = list(meanwhile)
        self.said = []
        self.acts = []
        self.pauses = 0
        self.rests = []
        self.interrupted_at = None
        self.alive = True
        self.clock_set_by = 0
        self.gone = False
        self.stale = None
        """What every glance shows, as of a slurmctld that wrongly says that nothing changed."""

    def now(self):
        return self.w.now

    def steady(self):
        return self.w.now - self.clock_set_by

    def pause(self, seconds):
        self.pauses += 1
        self.rests.append(seconds)
        self.w.now += max(int(seconds), 1)
        self.w.expire_holds()
        if self.meanwhile:
            self.meanwhile.pop(0)(self.w)
        self.w.reap()
        self.w.sync(refresh=True)
        return self.pauses == self.interrupted_at

    def engine_lives(self):
        return self.alive

    watched = True

    def report(self, message, **_more):
        self.said.append(message)

    def begin(self, _name, _urn=""):
        pass

    def nodeset(self, _name):
        return None if self.gone else nodeset(self.w.replicas)

    def surplus_pods(self, _name, target):
        return max(len(self.w.pods) - target, 0)

    def observe(self, _settings, **_more):
        return Observation(self.w.now, self.w.version) if self.gone else self.w.observe()

    def glance(self, _settings):
        if self.stale is None:
            return self.observe(_settings), True
        return self.stale, False

    def act(self, step, _settings):
        self.acts.append(type(step).__name__)
        self.w.act(step)
        self.gone = self.gone or isinstance(step, DeleteNodeSet)


def settings(replicas, **changes):
    plain = {
        "owner": OWNER,
        "resource": "hpc-worker-gpu",
        "controller": "hpc",
        "replicas": replicas,
        "max_replicas": replicas,
        "scaler": "stack",
        "version": OperatorVersion(1, 1, 0),
        "policy": DrainPolicy(deadline_s=600, bound_s=900, poll_s=10),
        "reach": REACH,
        "urn": "",
    }
    return GateSettings(**{**plain, **changes})


def autoscaled(replicas=0, *, max_replicas, name="hpc-worker-gpu"):
    """The gate of a NodeSet that a ScaledObject of the stack scales."""
    told = {"autoscaler": name, "autoscalerStep": 4.0, "autoscalerMinimum": 0.0}
    return settings(replicas, scaler="autoscaler", max_replicas=max_replicas, props=told)


def nothing(_w):
    pass


def job_ends(number):
    return lambda w: w.jobs.pop(number)


def with_job(pods=3, node="gpu-2", end=600, version="1.1.0", **changes):
    w = world(version, pods)
    w.jobs[1] = Job(1, (node,), w.now, None if end is None else w.now + end, **changes)
    w.sync(refresh=True)
    return w
