"""Several gates, a person, users and the operator at once, switched at every request by dice: the same seed is the same
course.

Everything of a gate is the real thing: the task, its session, the slurmrestd client with its lists. Below it are the model
of operator and slurmctld, an API server that refuses a write on any but the newest version, and a slurmrestd that takes
what slurmctld takes. Each actor is a thread, of which one runs at a time; a request ends its turn.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
from msgspec.structs import replace as with_fields

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import scale
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import KubeConflict, KubeNotFound, SlinkyError
from slinky_iac.kube.wire import Clock
from tests.made import rows
from tests.unit.drain.busy_cluster import KEYS
from tests.unit.drain.model import OURS, PERSON, World, world
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest import fake

TURNS = 4000
"""Longest course."""


class Killed(BaseException):
    """SIGKILL, between two requests."""


@dataclass
class Life:
    """Of a process: its actors are killed together, at some request of any of them."""

    dies_at: int = 1 << 30
    turns: int = 0


@dataclass
class Actor:
    """One thread and whose turn it is."""

    name: str
    act: Callable[[], None]
    runs: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    over: bool = False
    error: BaseException | None = None
    life: Life = field(default_factory=Life)
    weight: int = 1
    """How often it has a turn, beside others."""


class Scheduler:
    """Gives each turn to one actor, by its dice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.actors: list[Actor] = []
        self.mine = threading.local()
        self.idle = threading.Semaphore(0)
        self.stopping = False
        self.current: Actor | None = None
        """Whose turn it is, also for the threads that it has begun."""

    def add(self, name: str, act: Callable[[], None], life: Life | None = None, weight: int = 1) -> None:
        self.actors.append(Actor(name, act, life=life or Life(), weight=weight))

    @property
    def turned(self) -> Actor | None:
        """Whose turn it is; None outside a course, and in a thread that an actor began."""
        return getattr(self.mine, "actor", None)

    def turn(self) -> None:
        """End this actor's turn; back when it has the next one."""
        actor = self.turned
        if actor is None:  # outside a course, such as in the last run of all
            return
        self.idle.release()
        actor.runs.acquire()
        actor.life.turns += 1
        if self.stopping or actor.life.turns >= actor.life.dies_at:
            raise Killed

    def _thread(self, actor: Actor) -> None:
        self.mine.actor = actor
        actor.runs.acquire()
        try:
            if not self.stopping:
                actor.act()
        except (Killed, SlinkyError):
            pass
        except BaseException as error:
            actor.error = error
        actor.over = True
        self.idle.release()

    def run(self, until: Callable[[], bool], between: Callable[[str], None]) -> None:
        """Turns, until ``until`` or all are over; ``between`` each two of them checks what must hold."""
        threads = [threading.Thread(target=self._thread, args=(actor,), daemon=True) for actor in self.actors]
        for thread in threads:
            thread.start()
        try:
            for _ in range(TURNS):
                alive = [actor for actor in self.actors if not actor.over]
                if not alive or until():
                    break
                (actor,) = self.dice.choices(alive, [each.weight for each in alive])
                self.current = actor
                actor.runs.release()
                self.idle.acquire()
                if actor.error is not None:
                    raise actor.error
                between(actor.name)
        finally:
            self.stopping = True
            for actor in self.actors:
                while not actor.over:
                    actor.runs.release()
                    self.idle.acquire()
            for thread in threads:
                thread.join()


class SharedKube:
    """The API server: each object has a version, which its content makes."""

    def __init__(self, w: World, turn: Callable[[], None]) -> None:
        self.w, self.turn = w, turn
        self.annotations: dict[str, str] = {}
        self.versions: dict[str, tuple[str, int]] = {}
        self.gone = False
        self.conflicts = 0

    def _version(self, name: str, content: object) -> str:
        before, number = self.versions.get(name, ("", 0))
        if before != repr(content):
            self.versions[name] = (repr(content), number + 1)
        return str(self.versions[name][1])

    def _state(self):
        if self.gone:
            raise KubeNotFound("gone", status=404)
        found = self.w.observe().nodeset
        annotations = {**found.metadata.annotations, **self.annotations}
        busy = sum("MIXED" in self.w.states(node) for node in self.w.nodes.values())
        version = self._version("nodeset", (found.spec, found.status, sorted(annotations.items()), busy, self.w.generation))
        return with_fields(found, metadata=with_fields(found.metadata, resource_version=version, annotations=annotations))

    def nodeset(self, *_):
        self.turn()
        return self._state()

    def _take(self, version, now):
        if version != now:
            self.conflicts += 1
            raise KubeConflict("somebody changed it since we looked. Look again", status=409)

    def annotate_nodeset(self, _namespace, state, annotations):
        self.turn()
        self._take(state.metadata.resource_version, self._state().metadata.resource_version)
        self.annotations = {key: text for key, text in {**self.annotations, **annotations}.items() if text is not None}
        return self._state()

    def set_replicas(self, _namespace, state, replicas):
        self.turn()
        self._take(state.metadata.resource_version, self._state().metadata.resource_version)
        self.w.replicas, self.w.generation = replicas, self.w.generation + 1
        return self._state()

    def delete_nodeset(self, _namespace, state):
        self.turn()
        self._take(state.metadata.resource_version, self._state().metadata.resource_version)
        self.w._delete_nodeset(None, 1)
        self.gone = True

    def _pods(self):
        return tuple(
            with_fields(
                pod, metadata=with_fields(pod.metadata, resource_version=self._version(pod.name, (pod.metadata, pod.status)))
            )
            for pod in self.w.observe().pods
        )

    def pods_of(self, *_):
        self.turn()
        return self._pods()

    def pod(self, _namespace, name):
        self.turn()
        return next((pod for pod in self._pods() if pod.name == name), None)

    def annotate_pod(self, namespace, pod, annotations):
        self.turn()
        with SharedSlurm.lock:
            self._annotate(namespace, pod, annotations)

    def _annotate(self, _namespace, pod, annotations):
        there = next((each for each in self._pods() if each.name == pod.name), None)
        if there is None:
            raise KubeNotFound("gone", status=404)
        self._take(pod.metadata.resource_version, there.metadata.resource_version)
        found = self.w._pod(pod.name).annotations
        for key, text in annotations.items():
            if text is None:
                found.pop(KEYS[key], None)
            else:
                found[KEYS[key]] = text

    def listed(self, *_, **__):
        self.turn()
        return ()

    def deployment_available(self, *_):
        self.turn()
        return 1


class SharedSlurm(fake.FakeSlurm):
    """slurmrestd before the model, with what slurmctld takes and refuses."""

    w: World
    turn: Callable[[], None]
    lock = threading.RLock()
    raced: list[str]
    """A person's act between our list and our write, which Slurm can't make conditional (R4)."""

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.turn()
        with self.lock:  # an actor's own threads (several) come at once
            self.ticks.now = max(self.ticks.now, float(self.w.now))
            self.before(request)
            self.nodes = {name: self._node(node) for name, node in self.w.nodes.items()}
            self.jobs = {number: self._job(each) for number, each in self.w.jobs.items()}
            return super().handle(request)

    def before(self, request: httpx.Request) -> None:
        """What happens right before an answer."""

    def _node(self, node: Any) -> rows.Json:
        timer = rows.number(node.resume_after)
        at = rows.number(node.reason_at)
        states = sorted(self.w.states(node))
        return rows.node(node.name, *states, reason=node.reason, user=node.user, resume_after=timer, reason_changed_at=at)

    def _job(self, each: Any) -> rows.Json:
        state = ("COMPLETED", "COMPLETING") if each.completing else ("SUSPENDED",) if each.suspended else ("RUNNING",)
        times = {"start_time": rows.number(each.start), "end_time": rows.number(each.end)}
        limit = None if each.end is None else 10
        return rows.job(each.job_id, *state, nodes=",".join(each.nodes), limit=limit, requeue=each.requeueable, **times)

    def update(self, body: rows.Json) -> httpx.Response:
        refused = False
        for name in body["name"]:
            node = self.w.nodes.get(name)
            if node is None:
                refused = True
            elif body.get("state") == ["DRAIN"]:
                self._drain(node, body)
            elif node.wrong:
                refused = True
            else:
                refused |= self._lift(node, body)
        return fake.answer(422, [fake.error(2028, "Invalid node state specified")]) if refused else fake.answer()

    def _drain(self, node: Any, body: rows.Json) -> None:
        after = body.get("resume_after")
        if node.reason.startswith(PERSON) and "reason" in body:
            self.raced.append(f"{node.name}: {node.reason} overwritten")
        if "reason" not in body and not node.drain:
            self.raced.append(f"{node.name}: drained without a reason")
        if after is not None:
            node.resume_after = None if after["infinite"] else self.w.now + after["number"]
            node.hold_is_ours, node.note_lost = not after["infinite"], False
        node.drain = True
        if "reason" in body:
            node.reason, node.user, node.reason_at = body["reason"], "slurm", self.w.now

    def _lift(self, node: Any, body: rows.Json) -> bool:
        if node.reason.startswith(PERSON):
            self.raced.append(f"{node.name}: {node.reason} lifted or reworded")
        if body.get("state") == ["UNDRAIN"]:
            node.drain, node.resume_after = False, None
            node.reason = node.reason if node.down else ""
        elif body.get("state") == ["RESUME"]:
            if not (node.drain or node.down):
                return True
            node.drain, node.down, node.reason, node.resume_after = False, False, "", None
        else:
            node.reason = body["reason"]
        return False


class Gate(Session):
    """A gate's own session among the others."""

    slurm = None
    watched = True

    def __init__(self, site: Site, stack: ExitStack, run: str) -> None:
        reach, this_run = Reach("slurm", "hpc-restapi", "jwt", "jwt.key"), ThisRun(id=run)
        super().__init__(reach, self._say, stack, budget_s=60, clock=Clock(), this_run=this_run)
        self.site, self.w, self.kube = site, site.w, site.kube
        self.slurm = stack.enter_context(site.slurm.client())
        self.said: list[str] = []

    def _say(self, text, **_more):
        self.said.append(text)

    def now(self):
        return self.w.now

    def steady(self):
        return float(self.w.now)

    def engine_lives(self):
        return True

    def pause(self, seconds):
        until = self.w.now + max(seconds, 1)
        while self.w.now < until:
            if self.site.alone:
                self.w.now += 1
                self.site.world_turns()
            else:
                self.site.scheduler.turn()
        return False


class Site:
    """One NodeSet and all who act on it."""

    def __init__(self, seed: int, version: str, pods: int) -> None:
        self.dice = random.Random(seed)
        self.scheduler = Scheduler(random.Random(seed + 1))
        self.w = world(version, pods)
        self.w.on_delete = True
        self.kube = SharedKube(self.w, self.scheduler.turn)
        self.slurm = SharedSlurm(ticks=fake.Ticks(now=float(self.w.now)))
        self.slurm.w, self.slurm.turn, self.slurm.raced = self.w, self.scheduler.turn, []
        self.alone = False
        self.ended: list[str] = []

    def world_turns(self) -> None:
        """A second of everybody else's work."""
        self.w.expire_holds()
        self.w.reap()
        for pod in self.w.pods.values():
            if not pod.running and not pod.terminating:
                self.w.register(pod)
                pod.ready, pod.ready_changed = True, self.w.now
        self.w.sync(refresh=True)

    # -- actors --------------------------------------------------------------------------------------------------------
    def gate(self, act: Callable[[Session], object], run: str) -> Callable[[], None]:
        def acts() -> None:
            with ExitStack() as stack:
                session = Gate(self, stack, run)
                try:
                    act(session)
                finally:
                    self.ended.append(f"{run}: {session.said[-1] if session.said else ''}")

        return acts

    def forever(self, act: Callable[[], None]) -> Callable[[], None]:
        def acts() -> None:
            while True:
                act()
                self.scheduler.turn()

        return acts

    def clock(self) -> None:
        self.w.now += self.dice.choice([0, 0, 1, 1])
        self.w.expire_holds()
        self.w.reap()

    def operator(self) -> None:
        self.w.coin = self.dice.randint(0, 1)
        self.w.sync(refresh=self.dice.random() < 0.8)

    def kubelet(self) -> None:
        for pod in list(self.w.pods.values()):
            if not pod.running and not pod.terminating and self.dice.random() < 0.3:
                self.w.register(pod)
                pod.ready, pod.ready_changed = True, self.w.now

    def users(self) -> None:
        if self.dice.random() < 0.08 and self.w.jobs:
            job = self.dice.choice(list(self.w.jobs.values()))
            match self.dice.choice(["ends", "ends", "completes", "is suspended or resumed"]):
                case "completes":
                    job.completing, job.suspended = True, False
                case "is suspended or resumed" if not job.completing:
                    job.suspended = not job.suspended
                case _:
                    del self.w.jobs[job.job_id]
        elif self.dice.random() < 0.3:
            self.jobs_start()

    def jobs_start(self) -> None:
        places = [pod.node for pod in self.w.pods.values() if self.w.can_start_on(pod)]
        wide = min(self.dice.randint(1, 2), len(places))
        self.w.start_job(self.dice.sample(places, wide), self.dice.choice([None, 60, 600]), requeueable=True)

    def person(self) -> None:
        if self.dice.random() > 0.1 or not self.w.nodes:
            return
        node = self.dice.choice(list(self.w.nodes.values()))
        match self.dice.choice(["drains", "edits", "edits", "registers", "slurmctld"]):
            case "drains":
                self.w.person_drains(node, f"bad DIMM {self.w.now}")
            case "edits" if len(self.w.pods) <= self.w.replicas:  # what was handed over stays as it is (R2)
                for pod in self.w.pods.values():
                    if pod.node == node.name:
                        node.note_lost = pod.annotations.pop("gate", None) is not None or node.note_lost
                        pod.annotations.pop("pod-deletion-cost", None)
            case "registers":
                self.w.registers(node, wrong=not node.wrong)
            case _:
                self.w.slurmctld_starts()

    def check(self, who: str) -> None:
        assert self.w.lost == [], f"{self.w.lost} after a turn of {who}"


RUNS = ("settle", "settle", "settle", "cancel", "removal")


def course(seed: int) -> Site:
    """Two or three gates, begun and perhaps killed at some request, and everybody else; then one more `up` alone."""
    dice = random.Random(seed)
    site = Site(seed, dice.choice(["1.0.5", "1.1.2", "1.2.1"]), dice.randint(2, 5))
    policy = DrainPolicy(deadline_s=dice.choice([60, 400]), poll_s=2, on_deadline=dice.choice(["keep", "undo"]), bound_s=900)
    for number in range(dice.randint(1, 3)):
        wanted = settings(dice.choice([0, 1, 1, 2, 2, 3, 5]), policy=policy, version=site.w.version)
        kind = dice.choice(RUNS)
        act: Callable[[Session], object]
        match kind:
            case "cancel":
                act = lambda session, wanted=wanted: scale.give_back(session, wanted)  # noqa: E731
            case "removal":
                act = lambda session, wanted=wanted: scale.tear_down(session, wanted)  # noqa: E731
            case _:
                act = lambda session, wanted=wanted: scale.settle(session, wanted)  # noqa: E731
        dies = dice.choice([1 << 30, 1 << 30, dice.randint(1, 60)])
        site.scheduler.add(f"{kind} {number}", site.gate(act, f"r{seed}-{number}"), Life(dies))
    for _ in range(dice.randint(0, 6)):
        site.jobs_start()
    for job in site.w.jobs.values():
        job.suspended = dice.random() < 0.3
    gates = list(site.scheduler.actors)
    for name in ("clock", "operator", "kubelet", "users", "person"):
        site.scheduler.add(name, site.forever(getattr(site, name)))
    site.scheduler.run(lambda: all(gate.over for gate in gates), site.check)
    if not site.kube.gone:
        _last_run(site, dice.randint(0, 5))
    return site


def _last_run(site: Site, target: int) -> None:
    """With everybody gone home, an `up` comes to its number and leaves nothing of ours."""
    w = site.w
    site.alone = True
    for _ in range(4):
        w.half_a_minute()
    wanted = settings(target, policy=DrainPolicy(deadline_s=4000, poll_s=2, bound_s=8000), version=w.version)
    with ExitStack() as stack:
        session = Gate(site, stack, "last")
        scale.settle(session, wanted)
        for _ in range(4):
            w.half_a_minute()
        scale.await_members(session, wanted)
    assert w.replicas == target
    assert w.lost == []
    for pod in w.pods.values():
        record = w.nodes[pod.node]
        assert not record.reason.startswith(OURS), f"our drain is left on {record}"
        assert "gate" not in pod.annotations, f"our tag is left on {pod.name}"
    assert not w.holds_under_others()
