"""slurmrestd's address leads to another Slurm cluster that takes the same tokens: a second set of hosts with the lab's keys.

None of the stack's nodes is known there, and that proves nothing: no pod goes, and no node of that cluster is drained.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime

import pytest

from lab.slurm import conf
from lab.slurm.cluster import LAB, Cluster
from slinky_iac.drain.scale_in_state import REGISTER_GRACE_S
from tests.e2e.gated import NAMESPACE, NODESET, STACK, Gated
from tests.e2e.own_hosts import METAL, hosts_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings
from tests.faults.mid_drain import SLURMRESTD, proxy
from tests.faults.proxy import FaultProxy
from tests.faults.test_rollout import template
from tests.faults.test_ways_round import Busy, busy

__all__ = ["busy", "proxy"]

STANDS_ON = STACK
SHORT = {"deadline": "5s", "registerDeadline": "10s"}
NAMED = "slurmctld of cluster 'other' answers, and the NodeSet belongs to 'lab'"
"""What says that it is another cluster by its name; one of the same name is known by what slurm-operator sees."""
HELD = "slurmctld of cluster 'other' answers, and this stack's is 'lab'"
"""The same of bare-metal hosts: the other cluster's have the names of ours."""
UNKNOWN_HERE = "it is another cluster's"


@pytest.fixture(scope="module")
def other(request: pytest.FixtureRequest, ground: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The other cluster, by that name."""
    root = tmp_path_factory.mktemp("other")
    keys = root / "slurm" / "keys"
    keys.mkdir(parents=True)
    for name in (conf.KEY, conf.JWT_KEY):
        shutil.copy2(LAB.site.keys / name, keys / name)
    with hosts_up(root, request.param) as made:
        yield made


def settled(gated: Gated) -> bool:
    """Every pod has been ready for so long that a missing record has no other cause than another cluster."""
    conditions = [each for pod in gated.world.pods(NAMESPACE, NODESET).values() for each in pod["status"]["conditions"]]
    since = [datetime.fromisoformat(each["lastTransitionTime"]) for each in conditions if each["type"] == "Ready"]
    return (datetime.now(UTC) - max(since)).total_seconds() > REGISTER_GRACE_S


@pytest.fixture
def led_astray(busy: Busy, gated: Gated, proxy: FaultProxy, other: Cluster) -> Iterator[Busy]:
    """A stack with a job on each pod, whose slurmrestd is that of the other cluster from now on."""
    gated.up(3, SHORT, slurmrest={"url": proxy.url})
    await_true("no pod is given time to register", lambda: settled(gated), REGISTER_GRACE_S + 30, every=5)
    proxy.to = (str(other.site.network.address(12)), conf.REST_PORT)
    yield busy
    proxy.to = SLURMRESTD


def holding(gated: Gated) -> Settings:
    """The stack's outside hosts, the first one to be drained and held."""
    outside: Settings = deepcopy(gated.current["slinky-iac:external"])
    outside["slurmdHosts"][0]["state"] = "drained"
    return outside


SAME = ("fewer", "removed", "destroyed", "replaced")
CASES = [("other", "more"), ("other", "held"), *(("other", what) for what in SAME), *((conf.CLUSTER, what) for what in SAME)]


@pytest.mark.parametrize(("other", "what"), CASES, indirect=["other"])
def test_no_pod_goes_by_the_word_of_another_cluster(
    led_astray: Busy, gated: Gated, proxy: FaultProxy, other: Cluster, what: str
) -> None:
    if what == "destroyed":
        done = gated.stack.destroy(check=False)
    else:
        gated.write(
            {"fewer": 1, "more": 4}.get(what, 3),
            SHORT,
            slurmrest={"url": proxy.url},
            nodeset=template() if what == "replaced" else None,
            **({"external": holding(gated)} if what == "held" else {}),
        )
        if what == "removed":
            gated.current["slinky-iac:nodesets"] = {}
            gated.world.stack(gated.stack.name, gated.current)
        done = gated.try_up()
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert (HELD if what == "held" else NAMED if other.site.cluster == "other" else UNKNOWN_HERE) in said, said
    led_astray.assert_unharmed()
    assert {name for name in METAL if "DRAIN" in gated.slurm.states()[name]} == set()
    elsewhere = Slurm(other.hosts)
    assert {name for name, states in elsewhere.states().items() if "DRAIN" in states} == set()
    assert set(elsewhere.nodes()) == set(METAL)

    proxy.to = SLURMRESTD
    gated.up(3)
    led_astray.assert_unharmed()
    led_astray.assert_nothing_is_left()
