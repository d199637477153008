"""A whole cluster under one scheduler: runs of several gates each, KEDA, a person, users, slurmctld's starts and silences,
switched at every request by dice. See :mod:`.interleaving` for how, :mod:`.site_world` for what ends jobs.

A run is a process: its gates are threads of it, share its list of jobs and its lease, and are killed together. Gates of a
run begin as the engine begins them: the Controller's first, then NodeSet and hosts, then what left the program; a destroy
asks for the queue first and ends the Controller last.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import msgspec
from msgspec.structs import replace as with_fields

from slinky_iac import names
from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_run, maintenance, scale, sessions
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.conf_text import ConfLines
from slinky_iac.drain.lease import Lease, ThisRun
from slinky_iac.drain.session import Session
from slinky_iac.drain.sessions import SessionSettings
from slinky_iac.drain.settings import DrainPolicy, OutsideSettings, Owner
from slinky_iac.errors import KubeConflict, KubeNotFound
from slinky_iac.kube.objects import OwnPartition
from slinky_iac.parts.autoscale.keda import PAUSED, Autoscaler
from slinky_iac.slurmrest.shared import SharedJobs
from tests.made.kubernetes import meta as made_meta
from tests.made.pods import pod as made_pod
from tests.made.scalers import target
from tests.unit.drain import conf_world
from tests.unit.drain.conf_world import Slurmctld, written
from tests.unit.drain.interleaving import Gate, Life, Scheduler, SharedKube, SharedSlurm, Site
from tests.unit.drain.model import PERSON, Job, world
from tests.unit.drain.model_session import REACH, settings
from tests.unit.drain.operator_model import WRONG
from tests.unit.drain.site_world import OWN, SiteWorld
from tests.unit.slurmrest import fake

HOSTS = ("metal-1", "metal-2")
LOGIN = "hpc-login-main-0"
SCALER = "hpc-gpu"


@dataclass(frozen=True)
class Wanted:
    """What a program says."""

    replicas: int = 3
    partitions: tuple[str, ...] = ("all", "batch")
    cpus: tuple[int | None, ...] = (4, 4)
    """Of each host; None: it isn't in the program."""
    room: int = 64
    held: tuple[str, ...] = ()
    login: bool = True
    rolls: bool = False

    @property
    def lines(self) -> ConfLines:
        hosts = {
            host: f"NodeName={host} CPUs={cpus}" for host, cpus in zip(HOSTS, self.cpus, strict=True) if cpus is not None
        }
        return ConfLines({name: f"PartitionName={name} Nodes=ALL" for name in self.partitions}, hosts)

    @property
    def text(self) -> str:
        lines = self.lines
        return "\n".join([f"MaxNodeCount={self.room}", *lines.partitions.values(), *lines.hosts.values()])


class SiteKube(SharedKube):
    """The API server with a Controller, a record, a login set and a ScaledObject, too."""

    w: SiteWorld

    def __init__(self, w: SiteWorld, scheduler: Scheduler, text: str) -> None:
        super().__init__(w, scheduler.turn)
        self.scheduler = scheduler
        self.conf = conf_world.Kube(text)
        self.login_version, self.deciding = 1, ""
        self.scaled: dict[str, str] = {}
        self.most, self.scaled_version, self.hpa = 8, 1, False
        self.slurm_asked: dict[str, dict[object, int]] = {"/partitions/": {}, "/nodes/": {}, "/jobs/": {}}
        """Turn of each actor's last question."""

    @property
    def who(self) -> object:
        actor = self.scheduler.current
        return None if actor is None else actor.name

    def looked(self) -> int:
        """When this actor's last look began to list these: its list of jobs may be another gate's, which asked later than
        this one's nodes were answered."""
        return max(self.slurm_asked[each].get(self.who, 0) for each in ("/nodes/", "/jobs/"))

    def _state(self):
        found = super()._state()
        return with_fields(found, spec=with_fields(found.spec, partition=OwnPartition(enabled=self.w.own)))

    def nodesets(self, _namespace):
        self.turn()
        return () if self.gone else (self._state(),)

    def delete_nodeset(self, namespace, state):
        super().delete_nodeset(namespace, state)
        self.w.gone = True

    # -- the Controller and the record ---------------------------------------------------------------------------------
    def controller(self, namespace, name):
        self.turn()
        return self.conf.controller(namespace, name)

    def set_extra_conf(self, namespace, state, text):
        self.turn()
        self.conf.set_extra_conf(namespace, state, text)
        self.w.live, self.w.written = text, True
        self.w.looked["conf"] = self.slurm_asked["/partitions/"].get(self.who, 0)
        self.w.looked["conf jobs"] = self.looked()

    def config_map(self, namespace, name):
        self.turn()
        return self.conf.config_map(namespace, name)

    def write_config_map(self, namespace, name, found, data):
        self.turn()
        self.conf.write_config_map(namespace, name, found, data)

    def delete(self, kind, namespace, meta):
        self.turn()
        if kind == "Controller":
            self.conf.delete(kind, namespace, meta)
            self.w.controller_goes(self.slurm_asked["/partitions/"].get(self.who, 0))
            return
        if meta.resource_version != f"{self.login_version}":
            raise KubeConflict("written since", status=409)
        self.w.logins_go(self.looked())

    # -- the login set -------------------------------------------------------------------------------------------------
    def meta(self, _kind, _namespace, name):
        self.turn()
        return with_fields(written(name), resource_version=f"{self.login_version}") if self.w.logins else None

    def pods_by(self, _namespace, _selector, _what):
        self.turn()
        return tuple(made_pod(name, slurm_node=name) for name in sorted(self.w.logins))

    # -- KEDA ----------------------------------------------------------------------------------------------------------
    def asked(self, path, model, _what, **_):
        self.turn()
        if not path.endswith(f"/{SCALER}"):
            raise KubeNotFound("no ScaledObject", status=404)
        paused = self.scaled.get(PAUSED, "false") != "false"
        stopped = [{"type": "Paused", "status": str(paused and not self.hpa)}]
        meta = made_meta(SCALER, annotations=dict(self.scaled)) | {"resourceVersion": f"{self.scaled_version}"}
        spec = {"scaleTargetRef": target("hpc-worker-gpu"), "maxReplicaCount": self.most}
        return msgspec.convert({"metadata": meta, "spec": spec, "status": {"conditions": stopped}}, model)

    def listed(self, path, _page, _what, *_, **__):
        self.turn()
        if "horizontalpodautoscalers" not in path or not self.hpa:
            return ()
        found = {"metadata": made_meta(f"keda-hpa-{SCALER}"), "spec": {"scaleTargetRef": target("hpc-worker-gpu")}}
        return (msgspec.convert(found, Autoscaler),)

    def patch(self, _path, meta, change, _what):
        self.turn()
        if meta.resource_version != f"{self.scaled_version}":
            raise KubeConflict("written since", status=409)
        self.scaled_version += 1
        for key, text in change["metadata"]["annotations"].items():
            self.scaled.pop(key, None)
            if text is not None:
                self.scaled[key] = text
        self.most = change.get("spec", {}).get("maxReplicaCount", self.most)

    def delete_worker(self, _namespace, pod):
        self.turn()
        with SharedSlurm.lock:
            there = next((each for each in self._pods() if each.name == pod.name), None)
            if there is None:
                raise KubeNotFound("gone", status=404)
            self._take(pod.metadata.resource_version, there.metadata.resource_version)
            self.w.delete(self.w._pod(pod.name))


class SiteSlurm(SharedSlurm, Slurmctld):
    """slurmrestd with partitions, waiting jobs and records that can be deleted."""

    w: SiteWorld  # type: ignore[assignment]

    def __init__(self, w: SiteWorld, scheduler: Scheduler, kube: SiteKube) -> None:
        fake.FakeSlurm.__init__(self, served=("v0.0.44", "v0.0.45"), ticks=fake.Ticks(now=float(w.now)))
        self.w, self.turn, self.raced, self.kube, self.scheduler = w, scheduler.turn, [], kube, scheduler
        self.set_to, self.cluster_name, self.controller = [], "hpc", "hpc"

    def before(self, request):
        if not self.w.rest_up or self.w.live is None:
            raise httpx.ConnectError("connection refused", request=request)
        self.partitions, self.began = self.w.partitions, self.w.began
        for what, asked in self.kube.slurm_asked.items():
            if request.method == "GET" and what in request.url.path:
                asked[self.kube.who] = self.w.turn_no

    def serve(self, request, rest, body):
        if request.method == "DELETE" and rest.startswith("node/"):
            gone = self.w.record_goes(rest.removeprefix("node/"), self.kube.looked())
            return fake.answer() if gone else fake.answer(422, [fake.error(2018)])
        return super().serve(request, rest, body)

    def _job(self, each):
        row = super()._job(each)
        more = {
            "partition": ",".join(each.partitions),
            "required_nodes": ",".join(each.named),
            "batch_flag": each.batch,
            "allocating_node": each.host,
        }
        return row | more | ({"job_state": ["PENDING"], "nodes": ""} if each.waits else {})

    def _node(self, node):
        """With what slurmctld has read of a host's line."""
        line = self.w.conf.get("NodeName", {}).get(node.name, "")
        return super()._node(node) | ({"cpus": int(line.partition("CPUs=")[2])} if line else {})

    def requeue(self, body):
        done = all(self.w.requeued(int(number)) for number in body["jobs"])
        return fake.answer() if done else fake.answer(500, [fake.error(2021, "Job may not be requeued")])

    def cancel(self, body):
        for number in () if "signal" in body else body["jobs"]:
            self.w.jobs.pop(int(number), None)
            self.w.events.append(f"policy cancelled {number}")
        return fake.answer(status=[])


class OneList(SharedJobs):
    """The jobs of all gates of a process: who waits for another's question gives its turn on meanwhile."""

    def __init__(self, turn: Callable[[], None]) -> None:
        super().__init__()
        self.turn = turn

    def after(self, moment, who, ask, **more):
        while (asked := self._questions.get(who)) is not None and not asked.ended.is_set():
            self.turn()
        return super().after(moment, who, ask, **more)


class SiteGate(Gate):
    """A gate's own session in its process."""

    def __init__(self, site: WholeSite, stack: ExitStack, process: Process) -> None:
        super().__init__(site, stack, process.run.id)  # type: ignore[arg-type]
        self.this_run = process.run
        self.slurm = stack.enter_context(site.slurm.client(shared=process.jobs))

    def steady(self):
        ticks = self.site.slurm.ticks
        ticks.now = max(ticks.now, float(self.w.now))
        return ticks.read()


@dataclass
class Process:
    """One `pulumi` and its gates."""

    run: ThisRun
    jobs: OneList
    life: Life
    over: list[bool] = field(default_factory=list)
    """For each gate that has ended, whether it ended well."""


class WholeSite(Site):
    """All who act on it."""

    def __init__(self, seed: int) -> None:  # not the smaller site's
        self.dice = random.Random(seed)
        self.scheduler = Scheduler(random.Random(seed + 1))
        self.crashes = random.Random(seed + 2)
        dice = self.dice
        plain = world(dice.choice(["1.0.5", "1.1.2", "1.2.1"]), 3)
        self.w = w = SiteWorld(**vars(plain))
        w.on_delete, w.logins = True, {LOGIN}
        self.now = Wanted()
        w.live = self.now.text
        self.autoscaled = dice.random() < 0.3
        w.own = dice.random() < 0.5
        w.reads()
        self.kube = SiteKube(w, self.scheduler, w.live)
        self.slurm = SiteSlurm(w, self.scheduler, self.kube)
        self.alone, self.ended, self.removed = False, [], False
        self.policy = DrainPolicy(
            deadline_s=dice.choice([60, 400]),
            poll_s=2,
            on_deadline=dice.choice(["keep", "keep", "undo", "requeue", "cancel"]),
            bound_s=2000,
            grace_s=30,
        )

    def between(self, who: str) -> None:
        self.w.turn_no += 1
        assert self.w.lost == [], f"{self.w.lost} after a turn of {who}"

    # -- gates ---------------------------------------------------------------------------------------------------------
    def conf(self, wanted: Wanted, policy: DrainPolicy | None = None) -> ConfSettings:
        return ConfSettings(
            owner=Owner("dev", names.SLURM_CONF_OWNER),
            policy=policy or self.policy,
            reach=REACH,
            urn="",
            cluster="hpc",
            controller="hpc",
            lines=wanted.lines,
            text=wanted.text,
            nodesets={OWN: "hpc-worker-gpu"} if self.w.own else {},
        )

    def hosts(self, wanted: Wanted, policy: DrainPolicy | None = None) -> OutsideSettings:
        active = tuple(host for host in wanted.lines.hosts if host not in wanted.held)
        held = tuple(host for host in wanted.held if host in wanted.lines.hosts)
        return OutsideSettings(
            owner=Owner("dev", names.HOSTS_OWNER), policy=policy or self.policy, reach=REACH, urn="", cluster="hpc",
            controller="hpc", held=held, active=active, inside=True,
        )  # fmt: skip

    def nodeset(self, wanted: Wanted, policy: DrainPolicy | None = None) -> Any:
        scaled = {"scaler": "autoscaler", "props": {"autoscaler": SCALER}} if self.autoscaled else {}
        plain = settings(wanted.replicas, policy=policy or self.policy, version=self.w.version, cluster="hpc", **scaled)
        return replace(plain, updates="Gated" if wanted.rolls else plain.updates)

    def logins(self) -> SessionSettings:
        return SessionSettings(
            owner=Owner("dev", "logins.main"), policy=self.policy, reach=REACH, urn="", cluster="hpc", name="logins.main",
            namespace="slurm", selector="app=login", kind="LoginSet", resource="hpc-login-main",
        )  # fmt: skip

    def scaled_to(self, session: Session, wanted: Wanted) -> None:
        found = self.nodeset(wanted)
        met = scale.settle(session, found)
        scale.roll(session, found, met)
        seen = scale.await_members(session, found)
        scale.forget_removed(session, found, seen)

    def torn_down(self, session: Session, wanted: Wanted) -> None:
        found = self.nodeset(wanted)
        if scale.tear_down(session, found) is not None:
            scale.forget_removed(session, found)

    def ended_last(self, session: Session, wanted: Wanted) -> None:
        conf_run.finish(session, self.conf(wanted), "last")
        Record(session, self.conf(wanted)).remove()

    def up(self, olds: Wanted, wanted: Wanted) -> list[list[Callable[[Session], object]]]:
        """What the gates of an update do, by phases."""
        phases: list[list[Callable[[Session], object]]] = [
            [lambda s: conf_run.settle(s, self.conf(wanted), olds.lines)],
            [
                lambda s: maintenance.maintain(s, self.hosts(wanted)),
                lambda s: self.scaled_to(s, wanted),
            ],
        ]
        return phases if wanted.login else [*phases, [lambda s: sessions.finish(s, self.logins())]]

    def destroy(self, wanted: Wanted) -> list[list[Callable[[Session], object]]]:
        return [
            [lambda s: conf_run.finish(s, self.conf(wanted), "first")],
            [
                lambda s: self.torn_down(s, wanted),
                lambda s: maintenance.release(s, self.hosts(wanted)),
                lambda s: sessions.finish(s, self.logins()),
            ],
            [lambda s: self.ended_last(s, wanted)],
        ]

    def cancel(self, wanted: Wanted) -> list[list[Callable[[Session], object]]]:
        return [[lambda s: scale.give_back(s, self.nodeset(wanted))]]

    def begins(self, name: str, phases: list[list[Callable[[Session], object]]], dies_at: int) -> None:
        process = Process(ThisRun(id=name), OneList(self.scheduler.turn), Life(dies_at))
        before = 0
        for number, gates in enumerate(phases):
            for each, act in enumerate(gates):
                self.scheduler.add(f"{name}.{number}.{each}", self.acts(process, act, before), process.life, weight=4)
            before += len(gates)

    def acts(self, process: Process, act: Callable[[Session], object], before: int) -> Callable[[], None]:
        def gate() -> None:
            well = False
            try:
                while len(process.over) < before:
                    self.scheduler.current.weight = 1
                    self.scheduler.turn()
                self.scheduler.current.weight = 4
                if all(process.over[:before]):  # the engine begins nothing that depends on what has failed
                    with ExitStack() as stack:
                        session = SiteGate(self, stack, process)
                        try:
                            act(session)
                            well = True
                        finally:
                            self.ended.append(f"{process.run.id}: {session.said[-1] if session.said else ''}")
            finally:
                process.over.append(well)

        return gate

    # -- everybody else ------------------------------------------------------------------------------------------------
    def users(self) -> None:
        w, dice = self.w, self.dice
        waiting = [job for job in w.jobs.values() if job.waits]
        running = [job for job in w.jobs.values() if not job.waits]
        act = dice.random()
        if act < 0.1 and running:
            job = dice.choice(running)
            match dice.choice(["ends", "ends", "ends", "completes", "is suspended or resumed"]):
                case "completes":
                    job.completing, job.suspended = True, False
                case "is suspended or resumed" if not job.completing:
                    job.suspended = not job.suspended
                case _:
                    del w.jobs[job.job_id]
        elif act < 0.35:
            self.submits()
        elif act < 0.6 and waiting:
            w.starts(dice.choice(waiting), dice.randint(1, 2), dice.choice([None, 60, 600]))
        elif act < 0.65 and waiting:
            del w.jobs[dice.choice(waiting).job_id]

    def submits(self) -> None:
        w, dice = self.w, self.dice
        partitions = tuple(dice.sample(sorted(w.partitions), min(dice.choice([1, 1, 2]), len(w.partitions))))
        job = Job(0, (), w.now, None, requeueable=dice.random() < 0.7, partitions=partitions, waits=True)
        if dice.random() < 0.2 and w.nodes:
            job.named = (dice.choice(sorted(w.nodes)),)
        if dice.random() < 0.2 and w.logins:
            job.batch, job.host, job.requeueable = False, LOGIN, False
        if partitions:
            w.submits(job)

    def person(self) -> None:
        w, dice = self.w, self.dice
        if dice.random() > 0.08:
            return
        match dice.choice(["drains", "edits", "registers", "opens", "writes", "cancels", "takes the record"]):
            case "drains" if w.nodes:
                node = dice.choice(list(w.nodes.values()))
                w.person_drains(node, f"bad DIMM {w.now}")
            case "edits" if w.nodes and len(w.pods) <= w.replicas:
                for pod in list(w.pods.values())[:1]:
                    gate = pod.annotations.pop("gate", None)
                    if gate is not None:
                        w.note_taken(pod.node)
                    pod.annotations.pop("pod-deletion-cost", None)
            case "registers" if w.nodes:
                node = dice.choice(list(w.nodes.values()))
                w.registers(node, wrong=not node.wrong)
            case "opens" if w.partitions:
                name = dice.choice(sorted(w.partitions))
                w.partitions[name], w.opened_at[name] = "UP", w.turn_no
            case "writes" if w.live is not None and dice.random() < 0.3:
                name = f"night-{dice.randint(1, 2)}"
                self.kube.conf.extra_conf = w.live = f"{w.live}\nPartitionName={name} Nodes=ALL"
                w.by_person.add(name)
            case "cancels" if w.jobs:
                del w.jobs[dice.choice(sorted(w.jobs))]
            case _:
                pass

    def slurmctld(self) -> None:
        w = self.w
        if self.dice.random() < (0.15 if self.pending() else 0.01):
            w.reads()
        elif w.live is not None and self.crashes.random() < 0.03:
            w.starts_again()
        if w.rest_up:
            w.rest_up = self.dice.random() > 0.01
        else:
            w.rest_up = self.dice.random() < 0.3

    def pending(self) -> bool:
        """Whether slurmctld has another file than it has read."""
        return self.w.live is not None and (self.w.written or self.w.file != self.w.conf)

    def keda(self) -> None:
        w = self.w
        if not self.autoscaled or w.gone:
            return
        self.kube.hpa = self.kube.scaled.get(PAUSED, "false") == "false"
        if self.kube.hpa and self.dice.random() < 0.03 and w.replicas < self.kube.most and self.kube.most <= 5:
            w.replicas, w.generation = w.replicas + 1, w.generation + 1

    def world_turns(self) -> None:
        super().world_turns()
        if self.pending():
            self.w.reads()
        self.keda()


EVERYBODY = ("clock", "operator", "kubelet", "users", "person", "slurmctld", "keda")


def program(dice: random.Random) -> Wanted:
    """Another program than the plain one, in some of its lines."""
    found = Wanted(replicas=dice.choice([0, 1, 1, 2, 3, 3, 4]), rolls=dice.random() < 0.3)
    if dice.random() < 0.4:
        found = replace(found, partitions=dice.choice([("all",), ("batch",), ("all", "batch", "more")]))
    if dice.random() < 0.4:
        found = replace(found, cpus=dice.choice([(4, None), (4, 2), (None, None), (2, 4)]))
    if dice.random() < 0.2:
        found = replace(found, room=6 if found.replicas <= 3 else 64)
    if dice.random() < 0.4:
        found = replace(found, held=dice.choice([HOSTS[:1], HOSTS]))
    return replace(found, login=dice.random() < 0.7)


def course(seed: int) -> WholeSite:
    """One to three runs, begun at once and perhaps killed, and everybody else; then one more `up` alone."""
    dice = random.Random(seed)
    site = WholeSite(seed)
    olds = site.now
    for number in range(dice.randint(1, 3)):
        wanted = program(dice)
        name, dies = f"r{seed}-{number}", dice.choice([1 << 30, 1 << 30, dice.randint(1, 250)])
        match dice.choice(["up", "up", "up", "up", "cancel", "destroy"]):
            case "destroy":
                phases = site.destroy(olds)
            case "cancel":
                phases = site.cancel(wanted)
            case _:
                phases = site.up(olds, wanted)
                if wanted.rolls:
                    site.w.template, site.w.generation = site.w.template + 1, site.w.generation + 1
                olds = dice.choice([olds, wanted])
        site.begins(name, phases, dies)
    for _ in range(dice.randint(0, 8)):
        site.submits()
    for job in list(site.w.jobs.values()):
        site.w.starts(job, dice.randint(1, 2), dice.choice([None, 60, 600]))
        job.suspended = not job.waits and dice.random() < 0.2
    gates = list(site.scheduler.actors)
    for name in EVERYBODY:
        site.scheduler.add(name, site.forever(getattr(site, name)))
    site.scheduler.run(lambda: all(gate.over for gate in gates), site.between)
    site.w.turn_no += 1
    if not site.kube.gone and site.w.live is not None:
        last_run(site, replace(program(dice), login=True, held=(), rolls=False), olds)
    return site


def last_run(site: WholeSite, wanted: Wanted, olds: Wanted) -> None:
    """With everybody gone home, an `up` comes to its goal, and nothing of ours is left."""
    w = site.w
    site.alone, w.rest_up = True, True
    for _ in range(4):
        w.half_a_minute()
    policy = DrainPolicy(deadline_s=4000, poll_s=2, bound_s=8000)
    process = Process(ThisRun(id="last"), OneList(site.scheduler.turn), Life())
    with ExitStack() as stack:
        session = SiteGate(site, stack, process)
        if site.dice.random() < 0.5:  # what leaves is wanted again before slurmctld has read that it left
            less = replace(wanted, partitions=wanted.partitions[:1], cpus=(wanted.cpus[0], None))
            conf_run.settle(session, site.conf(less, policy), olds.lines)
        conf_run.settle(session, site.conf(wanted, policy), olds.lines)
        found = site.nodeset(wanted, policy)
        maintenance.maintain(session, site.hosts(wanted, policy))
        met = scale.settle(session, found)
        scale.roll(session, found, met)
        for _ in range(4):
            w.half_a_minute()
        scale.await_members(session, found)
    site.world_turns()
    assert w.lost == []
    most = wanted.replicas
    assert w.replicas <= most if site.autoscaled else w.replicas == most
    for name, node in w.nodes.items():
        assert not node.reason.startswith("slinky-iac:"), f"our drain is left on {node}"
        assert name not in HOSTS or not node.drain or node.reason.startswith((PERSON, WRONG)), f"{node} is left drained"
    for pod in w.pods.values():
        assert "gate" not in pod.annotations, f"our tag is left on {pod.name}"
    assert not w.holds_under_others()
    shut = {name for name, state in w.partitions.items() if state != "UP" and name in wanted.partitions}
    assert not shut, f"{shut} are left closed"
    (record,) = site.kube.conf.maps.values()
    left = Held.read(record.data.get("held", Held().text()))
    assert not left.hosts.keys() & wanted.lines.hosts.keys(), f"left in the record: {left}"
    assert not left.partitions.keys() & wanted.lines.partitions.keys(), f"left in the record: {left}"
    lease = Lease.read(record.data["run"])
    assert lease is not None
    assert lease.ended
    assert w.parsed(w.live or "")["NodeName"] == wanted.lines.hosts
