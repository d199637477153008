"""NetworkPolicies for a cluster that runs, all of it in Kubernetes: strangers reach no daemon, and all that it does goes on.

Each stranger tries every port with a connection of its own, before there are policies as well: then all are open. The same
for what its own pods connect to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab.slurm.topology import Network
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import Settings, World
from tests.faults.later_operator import Inside, all_inside, labs_own, lived
from tests.faults.strangers import API_SERVER, PORTS, Stranger, elsewhere, network, pod_of, reaches

__all__ = ["elsewhere", "network"]


PARTS = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")
OTHER = (str(Network().address(10)), 6817)
"""slurmctld of another cluster, outside."""
DATABASE_HOST = str(Network().address(11))


def guarded(**more: object) -> Settings:
    policies = {"enabled": True, "apiServer": API_SERVER, **more}
    return all_inside("hs256", operator=labs_own) | {"slinky-iac:networkPolicies": policies}


@pytest.fixture(scope="module")
def inside(world: World, network: None) -> Iterator[Inside]:
    with lived(world, operator=labs_own) as found:
        yield found


@pytest.fixture(scope="module")
def strangers(inside: Inside, elsewhere: Stranger) -> tuple[Stranger, Stranger]:
    beside = Stranger(inside.world, INSIDE)
    beside.up()
    return elsewhere, beside


def test_without_policies_a_stranger_reaches_every_daemon(inside: Inside, strangers: tuple[Stranger, Stranger]) -> None:
    for stranger in strangers:
        assert stranger.open_of(inside.world, INSIDE, PORTS) == set(PORTS)


def test_a_policy_for_a_running_cluster_shuts_strangers_out_and_restarts_no_pod(
    inside: Inside, strangers: tuple[Stranger, Stranger]
) -> None:
    """A job with a step over all nodes runs through it: its connections are there before the policies."""
    number = inside.submit("solo-[0-2]", "srun -N3 sh -c 'sleep 90; hostname' > /tmp/through", "-N3", "-n3", "-t5")
    before = inside.uids()
    inside.write(guarded())
    inside.stack.up()
    ports = PORTS | {"login": 22}
    for stranger in strangers:
        await_true(
            f"{stranger.namespace} reaches sshd alone",
            lambda who=stranger: who.open_of(inside.world, INSIDE, ports) <= {"login"},  # type: ignore[misc]
            60,
        )
    assert inside.uids() == before
    listed = ["sacct", "-n", "-P", "-j", number, "-o", "State"]
    await_true("the job and its step have ended", lambda: "RUNNING" not in inside.slurm(*listed), 180)
    assert set(inside.slurm(*listed).split()) == {"COMPLETED"}


def test_preflight_sees_that_they_hold(inside: Inside) -> None:
    found = json.loads(inside.program("preflight", "--json", check=False))["checks"]
    rows = [(each["subject"].split(" at ")[0], each["verdict"]) for each in found if each["name"] == "network-policies"]
    wanted = {("slurmctld", "fine"), ("slurmdbd's Service", "fine"), ("slurmrestd's Service", "fine")}
    assert set(rows) == wanted, found


def opens(inside: Inside) -> set[str]:
    """Parts whose pods can connect to a host that is none of theirs."""
    return {part for part in PARTS if reaches(inside.world, INSIDE, pod_of(inside.world, INSIDE, part), *OTHER)}


def test_policies_that_say_who_may_connect_limit_nobody_s_own_connections(inside: Inside) -> None:
    assert opens(inside) == set(PARTS)


def test_a_limit_for_a_running_cluster_holds_and_restarts_no_pod(inside: Inside) -> None:
    before = inside.uids()
    inside.write(guarded(egress={"parts": list(PARTS), "blocked": [OTHER[0]], "database": [{"cidr": DATABASE_HOST}]}))
    inside.stack.up()
    await_true("no part connects to a host that is none of its own", lambda: not opens(inside), 60)
    pod = pod_of(inside.world, INSIDE, "slurmdbd")
    assert reaches(inside.world, INSIDE, pod, DATABASE_HOST, 3306)
    assert not reaches(inside.world, INSIDE, pod, DATABASE_HOST, 6819), "the database's host, but not its port"
    assert inside.uids() == before


def test_jobs_steps_logins_and_accounting_go_on(inside: Inside) -> None:
    nodes = ["solo-0", "solo-1", "solo-2"]
    assert sorted(inside.slurm("srun", "-N3", "-t1", "hostname").split()) == nodes
    number = inside.submit("solo-[0-2]", "srun -N3 hostname > /tmp/steps", "-N3", "-n3", "-t2")
    listed = ["sacct", "-X", "-n", "-P", "-j", number, "-o", "State"]
    await_true("slurmdbd has the job ended", lambda: inside.slurm(*listed).strip() == "COMPLETED", 60)
    login = next(
        pod["metadata"]["name"]
        for pod in inside.world.objects("pods", INSIDE)
        if pod["metadata"]["name"].startswith("inside-login-main")
    )
    said = inside.world.kubectl("exec", "-n", INSIDE, login, "--", "srun", "-N3", "-t1", "hostname")
    assert sorted(said.stdout.split()) == nodes
    assert "COMPLETED" in inside.world.kubectl("exec", "-n", INSIDE, login, "--", "sacct", "-a", "-X").stdout


def test_a_gate_drains_and_the_operator_lets_the_pod_go(inside: Inside) -> None:
    inside.set("nodesets.solo.replicas", "2")
    (given,) = [node["node"] for node in inside.plan()["nodes"]]
    inside.stack.up()
    await_true(f"{given} is gone", lambda: len(inside.workers()) == 2 and given not in inside.workers(), 90)
