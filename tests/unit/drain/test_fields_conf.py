"""Each field that the gates of slurm.conf and of bare-metal hosts rest on is false or different in some test, and then the
decision is another one; and each prop is one setting. The last tests list the fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.conf_steps import ConfLook, ConfSettings, WaitToForget, next_step
from slinky_iac.drain.conf_text import ConfLines, leaving
from slinky_iac.drain.lease import STALE_S, Lease, LeaseLook, TakeLease, lease_step
from slinky_iac.drain.maintenance import HostsPlan, HostsTask, maintain
from slinky_iac.drain.protocol import ClosePartitions, Done, Drain, Step, Stop, Undrain, Wait, WriteConf
from slinky_iac.drain.settings import DrainPolicy, Limits, OutsideSettings, plain_policy
from tests.clusters import recorded
from tests.made import rows as slurm_rows
from tests.unit.drain.made import NOW
from tests.unit.drain.test_conf_steps import CONTROLLER, goal, look, running
from tests.unit.drain.test_maintenance import HostSession
from tests.unit.drain.test_maintenance import settings as hosts_settings
from tests.unit.slurmrest import fake


@dataclass(frozen=True)
class Difference:
    """Two looks that differ in one field, and what becomes of each."""

    one: Any
    other: Any
    was: type[Step]
    becomes: type[Step]
    says: str = ""
    decide: Callable[[Any], Step] | None = None


# -- a look at slurm.conf --------------------------------------------------------------------------------------------------
JOB = running()
EMPTY = look({"batch": "DRAIN"}, controller=CONTROLLER)
BUSY = replace(EMPTY, cluster=ClusterView.of((), (JOB,)), jobs=(JOB,))
ENDED = running(state="COMPLETED")


def loses_batch(seen: ConfLook) -> Step:
    return next_step(seen, goal(["batch"], text="new=1"))


def loses_what_is_live(seen: ConfLook) -> Step:
    return next_step(seen, goal(leaving(seen.lines, ConfLines()).partitions, text="new=1"))


CONF: dict[str, Difference] = {
    "now": Difference(BUSY, replace(BUSY, now=NOW + 61), Wait, Stop, "deadline"),
    "controller": Difference(EMPTY, replace(EMPTY, controller=None), WriteConf, Done),
    "own": Difference(
        look({"gpu": "UP"}, controller=CONTROLLER),
        look({"gpu": "UP"}, controller=CONTROLLER, own=frozenset({"gpu"})),
        WriteConf,
        ClosePartitions,
        decide=loses_what_is_live,
    ),
    "partitions": Difference(EMPTY, replace(EMPTY, partitions={"batch": frozenset({"UP"})}), WriteConf, ClosePartitions),
    "cluster": Difference(EMPTY, replace(EMPTY, cluster=BUSY.cluster), WriteConf, Wait, "1 job"),
    "jobs": Difference(
        replace(EMPTY, can_close=False), replace(EMPTY, can_close=False, jobs=(ENDED,)), WriteConf, WaitToForget, "to forget"
    ),
    "can_close": Difference(
        look({"batch": "UP"}, controller=CONTROLLER),
        look({"batch": "UP"}, controller=CONTROLLER, can_close=False),
        ClosePartitions,
        Stop,
        "older than 26.05",
    ),
    "problem": Difference(EMPTY, replace(EMPTY, problem="asleep"), WriteConf, Wait, "asleep"),
    "asked": Difference(BUSY, replace(BUSY, asked=False), Wait, WriteConf),
}

# -- a look at bare-metal hosts --------------------------------------------------------------------------------------------
NOTHING = HostsPlan()
WAITS = HostsPlan(waiting=("metal-1: 1 job",))


def held(seen: HostsPlan) -> Step:
    """The task's step, by a look that is given."""
    return HostsTask(HostSession(), hosts_settings(held=("metal-1",))).decide(seen)


HOSTS: dict[str, Difference] = {
    "drains": Difference(NOTHING, HostsPlan(drains=("metal-1",)), Done, Drain),
    "returns": Difference(NOTHING, HostsPlan(returns=("metal-1",)), Done, Undrain),
    "waiting": Difference(NOTHING, WAITS, Done, Wait, "hosts are free"),
    "refused": Difference(NOTHING, HostsPlan(refused=("metal-1 carries words",)), Done, Stop, "carries words"),
    "unknown": Difference(NOTHING, HostsPlan(unknown=("metal-9",)), Done, Stop, "knows no node metal-9"),
    "jobs": Difference(WAITS, replace(WAITS, jobs=(JOB,)), Wait, Wait, "last: job 1"),
}

# -- a look at the lease ---------------------------------------------------------------------------------------------------
OTHERS = Lease("bbbb", "bob@ci", NOW)
RENEWED = LeaseLook(OTHERS, Held(), Lease("bbbb", "bob@ci", NOW - 15), 20)


def towards(seen: LeaseLook) -> Step:
    return lease_step(seen, "aaaa", had=False, where="ConfigMap x")


LEASES: dict[str, Difference] = {
    "lease": Difference(LeaseLook(None, Held()), LeaseLook(Lease("aaaa", "x", NOW), Held()), TakeLease, Done),
    "held": Difference(RENEWED, replace(RENEWED, held=Held({"batch": "UP"}, {"m-1": "prod"})), Stop, Stop, "hosts m-1"),
    "first": Difference(replace(RENEWED, first=OTHERS), RENEWED, Wait, Stop, "is at work"),
    "waited": Difference(LeaseLook(OTHERS, Held(), OTHERS, 0), LeaseLook(OTHERS, Held(), OTHERS, STALE_S), Wait, TakeLease),
}
ALL = [(each, decide) for rows, decide in ((CONF, loses_batch), (HOSTS, held), (LEASES, towards)) for each in rows.values()]


@pytest.mark.parametrize(("found", "decide"), ALL, ids=[*CONF, *HOSTS, *LEASES])
def test_a_decision_rests_on_each_field_of_a_look(found: Difference, decide: Callable[[Any], Step]) -> None:
    first, second = ((found.decide or decide)(each) for each in (found.one, found.other))
    assert isinstance(first, found.was), first
    assert isinstance(second, found.becomes), second
    assert first != second
    assert found.says in getattr(second, "why", "")


def test_what_stays_as_somebody_else_wants_it_is_told() -> None:
    """The one field of a look at hosts that no step rests on."""
    slurm = fake.FakeSlurm().add(slurm_rows.node("metal-1", "IDLE", "DRAIN", reason="fan"))
    session = HostSession(slurm.client())
    maintain(session, hosts_settings(active=("metal-1",)))
    assert [text for text, _ in session.said if "stays out of service" in text] != []


# -- which prop becomes which setting --------------------------------------------------------------------------------------
POLICY = plain_policy(DrainPolicy(deadline_s=77, limits=Limits(max_jobs=3)))
BASE: dict[str, Any] = {
    "schema": 1,
    "stack": "dev",
    "policy": plain_policy(DrainPolicy()),
    "namespace": "slurm",
    "restapiService": "hpc-restapi",
    "jwtSecret": "jwt",
    "jwtEntry": "jwt.key",
    "controller": "hpc",
    "hosts": {"metal-1": "active"},
}
COMMON: dict[str, tuple[object, set[str]]] = {
    "stack": ("prod", {"owner"}),
    "policy": (POLICY, {"policy"}),
    "urn": ("urn:x", {"urn"}),
    "cluster": ("atlas", {"cluster"}),
    "kubernetes": ("uid-1", {"kubernetes"}),
    "controller": ("atlas", {"controller"}),
    "namespace": ("other", {"reach"}),
}
OF_HOSTS = COMMON | {"hosts": ({"metal-1": "drained"}, {"held", "active"}), "inside": (True, {"inside"})}
OF_CONF = COMMON | {
    "partitions": ({"batch": "PartitionName=batch"}, {"lines"}),
    "hosts": ({"metal-2": "NodeName=metal-2"}, {"lines"}),
    "extraConf": ("a=b", {"text"}),
    "nodesets": ({"gpu": "hpc-worker-gpu"}, {"nodesets"}),
    "keepsQueue": (True, {"keeps_queue"}),
    "volume": (True, {"volume"}),
    "forgets": (True, {"forgets"}),
    "outside": (True, {"outside"}),
    "onEachNode": (["slurm-worker-gpu"], {"on_each_node"}),
}
REACHED: dict[str, tuple[object, str, object]] = {
    "namespace": ("other", "namespace", "other"),
    "restapiService": ("other", "restapi_service", "other"),
    "jwtSecret": ("other", "jwt_secret", "other"),
    "jwtEntry": ("other", "jwt_entry", "other"),
    "tokens": ("rs256", "algorithm", "rs256"),
    "kubeconfig": ("/k", "kubeconfig", "/k"),
    "context": ("c", "context", "c"),
    "url": ("https://r", "url", "https://r"),
    "caFile": ("/ca", "ca_file", "/ca"),
    "clientCertFile": ("/cert", "client_cert_file", "/cert"),
    "clientKeyFile": ("/key", "client_key_file", "/key"),
    "allowPlainHttp": ("true", "plain_http", True),
    "restapiScheme": ("https", "restapi_scheme", "https"),
    "slurmUser": ("root", "user", "root"),
}


def differing(one: Any, other: Any) -> set[str]:
    return {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}


@pytest.mark.parametrize("prop", OF_HOSTS)
def test_each_prop_of_the_hosts_gate_is_one_setting_and_no_other(prop: str) -> None:
    value, changed = OF_HOSTS[prop]
    assert differing(OutsideSettings.from_props(BASE), OutsideSettings.from_props({**BASE, prop: value})) == changed


def test_a_host_of_the_state_that_the_program_has_not_is_dropped() -> None:
    now = OutsideSettings.from_props(BASE, {"hosts": {"metal-7": "drained"}})
    assert differing(OutsideSettings.from_props(BASE), now) == {"dropped"}


@pytest.mark.parametrize("prop", OF_CONF)
def test_each_prop_of_slurmctlds_gates_is_one_setting_and_no_other(prop: str) -> None:
    value, changed = OF_CONF[prop]
    assert differing(ConfSettings.from_props(BASE), ConfSettings.from_props({**BASE, prop: value})) == changed


@pytest.mark.parametrize(
    ("volume", "named", "kept"),
    [(True, "slurm/atlas", True), (True, "slurm/other", False), (True, "", False), (False, "slurm/atlas", False)],
)
def test_only_a_destroy_that_names_this_controllers_volume_leaves_the_queue_to_it(
    volume: bool, named: str, kept: bool
) -> None:
    settings = ConfSettings.from_props({**BASE, "namespace": "slurm", "controller": "atlas", "volume": volume})
    assert settings.of_destroy(named).keeps_queue is kept
    assert replace(settings, keeps_queue=True).of_destroy(named).keeps_queue, "its namespace stays anyway"


@pytest.mark.parametrize("prop", REACHED)
def test_each_prop_of_the_way_is_one_part_of_it(prop: str) -> None:
    value, part, read = REACHED[prop]
    one, other = (ConfSettings.from_props({**BASE, **more}).reach for more in ({}, {prop: value}))
    assert differing(one, other) == {part}
    assert getattr(other, part) == read


METAL = {"slurmdHosts": [{"name": "metal-1", "state": "drained"}, {"name": "metal-2"}]}
MADE = {
    "nodesets": {"gpu": {"replicas": 2}},
    "partitions": {"batch": {"nodesets": ["gpu"]}},
    "external": METAL,
    "drain": {"deadline": 777},
}


def made(kind: str, stack: str, **over: Any) -> dict[str, Any]:
    (inputs,) = [each.inputs for each in recorded(stack, **over).resources if each.type.endswith(f":{kind}")]
    return dict(inputs)


def test_a_program_gives_each_prop_from_the_setting_of_its_name() -> None:
    hosts = OutsideSettings.from_props(made("OutsideHosts", "all-in-kubernetes", **MADE))
    assert (hosts.held, hosts.active, hosts.inside, hosts.controller) == (("metal-1",), ("metal-2",), True, "slurm")
    conf = ConfSettings.from_props(made("ControllerGate", "all-in-kubernetes", **MADE))
    assert conf.nodesets == {name: f"slurm-worker-{name}" for name in ("cpu", "gpu")}
    assert (set(conf.lines.partitions), set(conf.lines.hosts)) == ({"batch", *conf.nodesets}, {"metal-1", "metal-2"})
    assert conf.text
    assert (conf.outside, conf.forgets, conf.controller) == (False, False, "slurm")
    assert conf.policy.deadline_s == hosts.policy.deadline_s == 777
    assert conf.cluster == hosts.cluster


def test_a_program_names_the_nodesets_that_end_with_the_controller() -> None:
    each = {"nodesets": {"each": {"scalingMode": "DaemonSet"}}, "operator": {"version": "1.2.1"}}
    assert made("ControllerGate", "all-outside", **each)["onEachNode"] == ["slurm-worker-each"]
    assert "onEachNode" not in made("ControllerGate", "all-outside"), "a state without such a NodeSet doesn't change"


def test_a_program_says_where_slurmctld_is_and_what_outlives_it() -> None:
    assert made("OutsideHosts", "all-outside", external=METAL)["inside"] is False
    assert made("ControllerGate", "all-outside")["outside"] is True
    kept = {"cluster": {"createNamespace": False}}
    assert [made("QueueGate", "all-in-kubernetes", **over)["keepsQueue"] for over in ({}, kept)] == [False, True]
    no_volume = {"controller": {"persistence": {"enabled": False}}}
    assert [made("QueueGate", "all-in-kubernetes", **over)["volume"] for over in ({}, no_volume)] == [True, False]
    assert [made("ControllerGate", "all-in-kubernetes", **over)["forgets"] for over in ({}, no_volume)] == [False, True]


# -- the lists -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        (ConfLook, {*CONF}),
        (HostsPlan, {*HOSTS, "notices"}),
        (LeaseLook, {*LEASES}),
        (OutsideSettings, {"dropped"}.union(*(changed for _, changed in OF_HOSTS.values()))),
        (ConfSettings, set().union(*(changed for _, changed in OF_CONF.values()))),
        (Reach, {part for _, part, _ in REACHED.values()}),
    ],
)
def test_every_field_is_in_the_lists(kind: type, listed: set[str]) -> None:
    assert {field.name for field in fields(kind)} == listed
