"""A small model of slurm-operator, slurmctld and Kubernetes, as far as a scale-in meets them.

Written from the operator's documented behaviour (facts/slurm-operator.md#scale-in; ``nodeset_sync.go``, ``slurmcontrol.go``,
``utils/sort.go`` of the tags 1.0.1 to 1.2.1) and Slurm's (facts/slurmrestd.md#node-states), and independent of the code
under test: the ranking is a transcription of Go's comparison, not our sort key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cmp_to_key

from slinky_iac.releases import OperatorVersion

OPERATOR = "slurm-operator:"
GRACE = "slurm-operator: Pod is terminating"
PERSON = "root:"
WRONG = "gres/gpu count reported lower than configured (0 < 8)"


@dataclass
class Node:
    """A record of slurmctld."""

    name: str
    drain: bool = False
    down: bool = False
    reason: str = ""
    user: str = ""
    resume_after: int | None = None
    hold_is_ours: bool = False
    """Whether it was us who set ``resume_after``."""
    wrong: bool = False
    """Its slurmd registered as something else than it is configured to be: INVALID_REG."""
    note_lost: bool = False
    """The tag in which we noted that is gone: a person took it, and we have not looked since; or we did, and were killed
    before we lifted the drain; or its pod ended."""
    reason_at: int | None = None
    """When it was given by a pod's end or by us; None: not told."""
    machine: str = ""
    """Which the operator has noted in its comment; ``""``: no note yet."""
    template: int = 1
    """Of the pod that made the record: slurmctld takes features, GRES and CPUs from a registration that makes one only."""


@dataclass
class Pod:
    """A pod of the NodeSet and the Kubernetes node under it."""

    ordinal: int
    created: int
    scheduled: bool = False
    running: bool = False
    ready: bool = False
    terminating: bool = False
    ready_changed: int = 0
    annotations: dict[str, str] = field(default_factory=dict)
    conditions: frozenset[str] = frozenset()
    condition_reason: str = ""
    kube_cordoned: bool = False
    template: int = 1
    machine: str = "a"

    @property
    def name(self) -> str:
        return f"hpc-worker-gpu-{self.ordinal}"

    @property
    def node(self) -> str:
        return f"gpu-{self.ordinal}"

    @property
    def cordon(self) -> bool:
        return self.annotations.get("pod-cordon") == "true"

    @property
    def cost(self) -> int:
        return int(self.annotations.get("pod-deletion-cost", "0"))

    @property
    def deadline(self) -> int | None:
        return int(self.annotations["pod-deadline"]) if "pod-deadline" in self.annotations else None


@dataclass
class Job:
    """A job with its nodes."""

    job_id: int
    nodes: tuple[str, ...]
    start: int
    end: int | None
    suspended: bool = False
    completing: bool = False
    requeueable: bool = True
    signalled_at: int | None = None
    partitions: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    """``--nodelist``."""
    batch: bool = True
    host: str = ""
    """Where its srun or salloc runs."""
    waits: bool = False
    made: int = 0
    """Turn in which it was submitted."""


@dataclass
class Machinery:
    """Everything outside the program, which goes on meanwhile."""

    version: OperatorVersion
    now: int = 1_000_000
    replicas: int = 0
    generation: int = 1
    observed_generation: int = 1
    template: int = 1
    """Of the newest NodeSet; pods are made from it."""
    on_delete: bool = False
    pods: dict[int, Pod] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    next_job: int = 1
    rest_up: bool = True
    operator_up: bool = True
    client: bool = True
    cache: dict[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    cached_deadlines: dict[str, int | None] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """Jobs killed by the deletion of a pod: must stay empty."""
    open_case: Callable[[Pod, Job], str] = field(default=lambda _pod, _job: "")
    """Which case that the protocol leaves open a killed job is; ``""`` for none."""
    left_open: list[str] = field(default_factory=list)
    """Jobs killed in such a case."""
    deleted: list[str] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)
    """Nodes of another cluster, whose names pods of ours could get."""
    hidden: dict[int, Job] = field(default_factory=dict)
    """Jobs that run on and that slurmctld has lost with its state; slurmdbd has them."""
    saved: dict[str, Node] | None = None
    """Records that it has lost; None: it has its state."""
    coin: int = 0
    """Decides where the operator's comparison contradicts itself."""

    # -- Slurm ---------------------------------------------------------------------------------------------------------
    def jobs_on(self, node: str) -> list[Job]:
        return [job for job in self.jobs.values() if node in job.nodes]

    def states(self, node: Node) -> frozenset[str]:
        working = [job for job in self.jobs_on(node.name) if not job.suspended]
        flags = {"DYNAMIC_NORM"}
        base = "DOWN" if node.down else "IDLE"
        if any(not job.completing for job in working):
            base = "MIXED"
        elif working:
            flags.add("COMPLETING")
        if node.drain:
            flags.add("DRAIN")
        if node.wrong:
            flags.add("INVALID_REG")
        return frozenset(flags | {base})

    def can_start_on(self, pod: Pod) -> bool:
        record = self.nodes.get(pod.node)
        return pod.running and not pod.terminating and record is not None and not (record.drain or record.down)

    def expire_holds(self) -> None:
        for node in self.nodes.values():
            if node.drain and node.resume_after is not None and node.resume_after <= self.now:
                node.resume_after = None
                if not node.wrong:  # it is asked once, and refused
                    node.drain, node.reason = False, ""

    def registers(self, node: Node, wrong: bool) -> None:
        """slurmd of a node registers, wrongly or as it should: the first drains it or takes the reason, the second undrains
        nothing."""
        node.wrong = wrong
        if wrong:
            node.drain, node.reason, node.user = True, WRONG, "slurm"

    def person_drains(self, node: Node, why: str, own_end: int | None = None) -> None:
        """`scontrol update nodename=… state=drain reason=…`: a ``resume_after`` that is there stays where none is named."""
        if own_end is not None or not node.drain:
            node.resume_after, node.hold_is_ours = own_end, False
        node.drain, node.reason, node.user = True, f"{PERSON} {why}", "root"

    def note_taken(self, name: str) -> None:
        """The tag in which we noted a node's hold is gone, also while slurmctld has lost its record."""
        for records in (self.nodes, self.saved or {}):
            if name in records:
                records[name].note_lost = True

    def slurmctld_starts(self) -> None:
        """It restores ``resume_after`` on nodes that are DOWN or drained, and drops it on those with a job."""
        for node in self.nodes.values():
            if not node.down and self.states(node) & {"MIXED", "COMPLETING"}:
                node.resume_after = None

    def start_job(self, nodes: Collection[str], end: int | None, *, requeueable: bool) -> None:
        """A job begins on these nodes; on none, nothing does. ``end``: seconds that it may run."""
        if nodes:
            number, self.next_job = self.next_job, self.next_job + 1
            ends = None if end is None else self.now + end
            self.jobs[number] = Job(number, tuple(sorted(nodes)), self.now, ends, requeueable=requeueable)

    def register(self, pod: Pod) -> None:
        """slurmd of the pod comes up: a new record, or the old one back in service (ReturnToService=2)."""
        pod.running, pod.scheduled = True, True
        if pod.node in self.foreign:  # the name is the pod's now, and slurmctld ends what ran there
            self.foreign.discard(pod.node)
            for job in self.jobs_on(pod.node):
                self.left_open.append(f"foreign job {job.job_id} on {pod.node} at {self.now}")
                del self.jobs[job.job_id]
        record = self.nodes.setdefault(pod.node, Node(pod.node, template=pod.template))
        if record.down:
            record.down = False
            if not record.drain:
                record.reason = ""

    # -- the operator --------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        self.cache = {node.name: (self.states(node), node.reason) for node in self.nodes.values()}
        self.cached_deadlines = {}
        for node in self.nodes:
            ends = [job.end for job in self.jobs_on(node)]
            known = [end for end in ends if end is not None]
            self.cached_deadlines[node] = max(known) if known else None

    def sync(self, *, refresh: bool) -> None:
        """One reconcile of the NodeSet."""
        if not self.operator_up:
            return
        if self.client and not self.rest_up:
            return  # RefreshNodeCache fails and the sync ends
        if self.client and refresh:
            self.refresh()
        self.observed_generation = self.generation
        if self.client:
            for pod in self.pods.values():
                deadline = self.cached_deadlines.get(pod.node)
                pod.annotations.pop("pod-deadline", None)
                if deadline is not None:
                    pod.annotations["pod-deadline"] = str(deadline)
        for pod in self.pods.values():
            if pod.scheduled:
                self._sync_cordon(pod)
        if self.client and self.version.minor >= 1:
            self._sync_unregistered()
        self._scale()
        for pod in self.pods.values():
            self._note_machine(pod)
            states, reason = self.cache.get(pod.node, (frozenset(), "")) if self.client else (frozenset(), "")
            pod.conditions, pod.condition_reason = states, reason if "DRAIN" in states else ""

    def _note_machine(self, pod: Pod) -> None:
        """UpdateNodeWithPodInfo: a pod that is on another machine than its node's comment says has its node set IDLE, which
        slurmctld does where it runs nothing, and lifts any drain."""
        record = self.nodes.get(pod.node)
        if not self.client or not pod.scheduled or record is None or record.machine == pod.machine:
            return
        moved, record.machine = record.machine != "", pod.machine
        if moved and not record.wrong and not self.states(record) & {"MIXED", "COMPLETING"}:
            record.drain, record.down, record.reason, record.resume_after = False, False, "", None

    def _sync_unregistered(self) -> None:
        """syncSlurmNodes, from 1.1 on: a healthy pod without a record goes, and its successor registers."""
        for pod in self.pods.values():
            if pod.ready and not pod.terminating and pod.node not in self.cache:
                self.delete(pod, "unregistered")

    def names_coming(self, replicas: int, going: str = "") -> set[str]:
        """Names that new pods get: the lowest free numbers, also once those that end are gone."""
        there = {pod.ordinal for pod in self.pods.values() if not pod.terminating and pod.name != going}
        free = [number for number in range(replicas + len(there)) if number not in there]
        return {f"gpu-{number}" for number in free[: max(replicas - len(there), 0)]}

    def in_use(self, name: str) -> bool:
        """Whether a daemon or a job of another cluster is behind a name."""
        return name in self.foreign and (not self.nodes[name].down or bool(self.jobs_on(name)))

    def _ours(self, pod: Pod) -> bool:
        """IsNodeReasonOurs, from the operator's point of view."""
        if not self.client or pod.node not in self.cache:
            return True
        reason = self.cache[pod.node][1]
        return reason == "" or reason.startswith(OPERATOR)

    def _sync_cordon(self, pod: Pod) -> None:
        if not self._ours(pod):
            return
        states, reason = self.cache.get(pod.node, (frozenset(), "")) if self.client else (frozenset(), "")
        if not self.client or ("DOWN" in states and "Not responding" in reason):
            return
        if pod.kube_cordoned:
            self._cordon_and_drain(pod, "Node (w) was cordoned, Pod must be cordoned", override=False)
        elif pod.cordon:
            self._make_drain(pod, f"Pod ({pod.name}) was cordoned", override=False)
        else:
            self._make_undrain(pod)

    def _cordon_and_drain(self, pod: Pod, why: str, *, override: bool) -> None:
        pod.annotations["pod-cordon"] = "true"
        if self.client and pod.node in self.cache:
            states, _ = self.cache[pod.node]
            if "DRAIN" in states and not self._overrides():
                return  # IsNodeDrain: skip
            self._make_drain(pod, why, override=override)

    def _make_drain(self, pod: Pod, why: str, *, override: bool) -> None:
        if not self.client or pod.node not in self.cache:
            return
        states, cached = self.cache[pod.node]
        reason = f"{OPERATOR} {why}"
        if self._overrides() and not override and cached:
            reason = cached
        if "DRAIN" in states and cached == reason:
            return
        record = self.nodes.get(pod.node)
        if record is not None:
            record.drain, record.reason, record.user = True, reason, "slurm"
            self.cache[pod.node] = (self.states(record), record.reason)

    def _make_undrain(self, pod: Pod) -> None:
        if not self.client or "DRAIN" not in self.cache.get(pod.node, (frozenset(), ""))[0]:
            return
        record = self.nodes.get(pod.node)
        if record is not None and record.drain:
            record.drain, record.resume_after = False, None
            if not record.down:
                record.reason = ""
            self.cache[pod.node] = (self.states(record), record.reason)

    def _sync_uncordon(self, pod: Pod) -> None:
        if pod.kube_cordoned or not self._ours(pod):
            return
        pod.annotations.pop("pod-cordon", None)
        self._make_undrain(pod)

    def _scale(self) -> None:
        pods = list(self.pods.values())
        diff = len(pods) - self.replicas
        if diff < 0:
            for pod in pods:
                self._sync_uncordon(pod)
            for _ in range(-diff):
                ordinal = next(n for n in range(len(self.pods) + 1) if n not in self.pods)
                machine = "ab"[self.now // 7 % 2]
                made = Pod(ordinal, created=self.now, ready_changed=self.now, template=self.template, machine=machine)
                self.pods[ordinal] = made
            return
        if diff == 0 and self.on_delete:
            return  # splitUpdatePods keeps none, so none is uncordoned
        ranked = self.ranked()
        for pod in ranked[diff:]:
            self._sync_uncordon(pod)
        for pod in ranked[:diff]:
            self._condemn(pod)

    def ranked(self) -> list[Pod]:
        def compare(one: Pod, two: Pod) -> int:
            return -1 if self._less(one, two) else 1

        return sorted(self.pods.values(), key=cmp_to_key(compare))

    def _less(self, one: Pod, two: Pod) -> bool:  # noqa: PLR0911 - one return a step, as in Go
        """ActivePods.Less, line by line."""
        if one.scheduled != two.scheduled:
            return not one.scheduled
        weight = {False: 0, True: 2}
        if weight[one.running] != weight[two.running]:
            return weight[one.running] < weight[two.running]
        if one.ready != two.ready:
            return not one.ready
        if one.cost != two.cost:
            return one.cost < two.cost
        early = -1
        first = early if one.deadline is None else one.deadline
        second = early if two.deadline is None else two.deadline
        if first != second:
            return first < second
        if self._sorts_cordoned():
            if one.cordon != two.cordon:
                return one.cordon
        elif one.cordon or two.cordon:
            if one.cordon and two.cordon:
                return (one.ordinal * 7 + two.ordinal * 3 + self.coin) % 2 == 0
            return one.cordon
        return one.ordinal > two.ordinal

    def _condemn(self, pod: Pod) -> None:
        """processCondemned: drained pods are deleted, others drained."""
        if pod.terminating:
            return
        if self.client and pod.node in self.cache:
            states, _ = self.cache[pod.node]
            drained = "DRAIN" in states and not states & {"MIXED", "ALLOCATED", "COMPLETING"}
        else:
            drained = True  # no client, or no such node: fails open
        if drained:
            self.delete(pod)
        else:
            self._cordon_and_drain(pod, f"Pod ({pod.name}) was cordoned pending termination", override=True)

    def _overrides(self) -> bool:
        return (self.version.minor, self.version.patch) in {(0, 5), (1, 2), (2, 0), (2, 1)}

    def _sorts_cordoned(self) -> bool:
        return (self.version.minor, self.version.patch) in {(0, 5), (1, 2), (2, 1)}

    # -- Kubernetes ----------------------------------------------------------------------------------------------------
    def delete(self, pod: Pod, why: str = "") -> None:
        """A pod is deleted: what runs there dies. ``why``: the operator's own reason, which no gate can foresee."""
        pod.terminating, pod.ready, pod.ready_changed = True, False, self.now
        self.deleted.append(pod.name)
        for job in self.jobs_on(pod.node):
            case = why or self.open_case(pod, job)
            (self.left_open if case else self.lost).append(f"{case} job {job.job_id} on {pod.node} at {self.now}".strip())
            del self.jobs[job.job_id]
        for job in [job for job in self.hidden.values() if pod.node in job.nodes]:
            case = why or ("ended" if job.completing else self.open_case(pod, job))  # slurmdbd has heard of its end
            said = f"{case} hidden job {job.job_id} on {pod.node} at {self.now}".strip()
            (self.left_open if case else self.lost).append(said)
            del self.hidden[job.job_id]
        record = self.nodes.get(pod.node)
        if record is not None:
            record.down, record.reason, record.reason_at = True, GRACE, self.now
        self.note_taken(pod.node)

    def reap(self) -> None:
        """kubelet has ended the terminating pods."""
        for pod in [pod for pod in self.pods.values() if pod.terminating]:
            del self.pods[pod.ordinal]
            if self.version.minor < 2:
                self.nodes.pop(pod.node, None)

    def half_a_minute(self) -> None:
        """Everybody does their work: jobs end, pods start, fans are repaired, daemons answer again, the operator looks."""
        self.now += 31
        self.jobs.clear()
        self.expire_holds()
        self.reap()
        alive = {pod.node for pod in self.pods.values()}
        for node in self.nodes.values():
            self.registers(node, wrong=False)
            if node.down and node.name in alive:
                node.down = False
                node.reason = node.reason if node.drain else ""
        for pod in self.pods.values():
            if not pod.running:
                self.register(pod)
            if not pod.ready:
                pod.ready, pod.ready_changed = True, self.now - 300
        self.sync(refresh=True)
