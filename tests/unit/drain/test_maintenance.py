"""Giving bare-metal hosts back when the stack goes, over a slurmrestd that answers or doesn't."""

import pytest

from slinky_iac import names
from slinky_iac.drain import maintenance
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.policy import DrainPolicy
from slinky_iac.drain.settings import OUTSIDE, OutsideSettings, Reach, reach_props
from slinky_iac.errors import KubeNotFound, SlurmrestAuthError, SlurmrestUnreachable
from tests.unit.drain.made import NOW
from tests.unit.slurmrest.fake import FakeSlurm, node

OWNER = Owner("prod", OUTSIDE)
OURS = names.drain_reason("prod", OUTSIDE, "maintenance")


class HostSession:
    """A session with a slurmrestd, or with the error that opening one raises."""

    def __init__(self, client=None, error=None):
        self._client, self._error = client, error
        self.said = []
        self.returned = ()

    @property
    def slurm(self):
        if self._error is not None:
            raise self._error
        return self._client

    def now(self):
        return NOW

    def report(self, message, **more):
        self.said.append((message, more))

    def undrain_hosts(self, hosts, _owner):
        self.returned = hosts


def settings(held=(), active=()):
    return OutsideSettings(OWNER, held, active, DrainPolicy(), Reach("slurm", "hpc-restapi", "jwt", "jwt.key"), "")


def test_what_this_stack_holds_is_returned_and_what_others_hold_is_not():
    slurm = FakeSlurm().add(node("metal-1", "IDLE", "DRAIN", reason=OURS), node("metal-2", "IDLE", "DRAIN", reason="fan"))
    with slurm.client() as client:
        session = HostSession(client)
        maintenance.release(session, settings(held=("metal-1",), active=("metal-2",)))
    assert session.returned == ("metal-1",)


@pytest.mark.parametrize("error", [SlurmrestUnreachable("refused."), KubeNotFound("no Secret.")])
def test_a_silent_slurmrestd_stops_the_end_of_a_stack_only_where_it_holds_a_host(error):
    session = HostSession(error=error)
    maintenance.release(session, settings(active=("metal-1",)))
    ((said, how),) = session.said
    assert said.startswith(str(error))
    assert how == {"severity": "warning", "keep": True}
    with pytest.raises(type(error)):
        maintenance.release(HostSession(error=error), settings(held=("metal-1",)))


def test_a_refused_token_always_stops():
    with pytest.raises(SlurmrestAuthError):
        maintenance.release(HostSession(error=SlurmrestAuthError("1007")), settings(active=("metal-1",)))


def test_hosts_that_a_new_configuration_leaves_out_are_known_from_the_state():
    props = {"schema": 1, "stack": "prod", "policy": {}, **reach_props(settings().reach)}
    now = OutsideSettings.from_props({**props, "hosts": {"metal-2": "active"}}, {"hosts": {"metal-1": "drained"}})
    assert (now.held, now.active, now.dropped) == ((), ("metal-2",), ("metal-1",))
    assert OutsideSettings.from_props({**props, "hosts": {"metal-2": "active"}}, {}).dropped == ()
