"""The machine of a scale-in with a NodeSet in DaemonSet mode: six Kubernetes nodes, and a selection that grows and shrinks.

The operator's part is ``podsShouldBeOnNode`` and ``doPodScale`` of 1.1.0 to 1.2.1, written from their documented behaviour:
a pod on each node that fits, and one that no longer fits is drained and deleted. 1.1.0 returns the pods that go, before it
drains them: one that it has drained itself it never deletes (mended in 1.1.1, ``ExcludePods``). It goes by the set of nodes
here, and by no rule of ours.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.protocol import Goal, Observation, Resume, Undrain
from slinky_iac.kube.selection import Machine
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import REQUIRED, Selection, Selects
from tests.made.machines import worker_machine
from tests.made.nodesets import nodeset
from tests.made.pods import pod as made_pod
from tests.unit.drain.model import OPERATOR, Node, Pod, World
from tests.unit.drain.scale_in_machine import OWNER
from tests.unit.drain.wider_machine import Wider

MACHINES = 6
VERSIONS = ("1.1.0", "1.1.2", "1.2.0", "1.2.1")
FIXED = OperatorVersion(1, 1, 1)
OVERRIDE = "nodeset.slinky.slurm.net/hostname-override"


def listed(renamed: set[int]) -> tuple[Machine, ...]:
    """The Kubernetes nodes, some of which ask for another name in Slurm than their pods have."""
    named = {number: {OVERRIDE: f"other-{number}"} for number in renamed}
    return tuple(worker_machine(f"gpu-{n}", {"n": str(n)}, annotations=named.get(n)) for n in range(MACHINES))


def selection(numbers: frozenset[int]) -> Selection:
    """The nodes of these numbers; of none, one that there isn't."""
    values = [str(number) for number in sorted(numbers)] or ["none"]
    term = {"matchExpressions": [{"key": "n", "operator": "In", "values": values}]}
    return Selection({}, {REQUIRED[0]: {REQUIRED[1]: {"nodeSelectorTerms": [term]}}}, ())


def _numbers(wanted: Selection) -> frozenset[int]:
    (term,) = wanted.affinity[REQUIRED[0]][REQUIRED[1]]["nodeSelectorTerms"]
    return frozenset(int(each) for each in term["matchExpressions"][0]["values"] if each.isdigit())


@dataclass
class DaemonWorld(World):
    """A NodeSet with a pod on each machine that is selected. ``replicas`` is how many these are."""

    selected: frozenset[int] = frozenset()
    renamed: set[int] = field(default_factory=set)
    """Machines whose annotation somebody changed: the operator replaces their pods. It is taken back once they are gone."""

    def select(self, numbers: frozenset[int]) -> None:
        self.selected, self.replicas = numbers, len(numbers)
        self.generation += 1

    def observe(self) -> Observation:
        state = nodeset(
            "hpc-worker-gpu",
            0,
            generation=self.generation,
            observed_generation=self.observed_generation,
            updated=len(self.pods),
            permitted=self.permitted,
            on_delete=self.on_delete,
            revision="v1",
            mode="DaemonSet",
            template_spec=selection(self.selected).fields,
        )
        return replace(super().observe(), nodeset=state, machines=listed(self.renamed))

    def _view(self, each: Pod):
        place = {"key": "metadata.name", "operator": "In", "values": [each.node]}
        return self._shown(
            each,
            made_pod,  # an affinity has no hash
            machine=each.node,
            mode="DaemonSet",
            affinity={REQUIRED[0]: {REQUIRED[1]: {"nodeSelectorTerms": [{"matchFields": [place]}]}}},
            revision="v1",
        )

    def names_coming(self, replicas: int, going: str = "") -> set[str]:
        del replicas
        there = {pod.ordinal for pod in self.pods.values() if not pod.terminating and pod.name != going}
        return {f"gpu-{number}" for number in self.selected - there}

    def _scale(self) -> None:
        self.renamed &= {pod.ordinal for pod in self.pods.values() if not pod.terminating}
        kept = self.selected - self.renamed
        going = [
            pod for pod in self.pods.values() if pod.ordinal not in kept and not (pod.terminating and pod.ordinal in kept)
        ]
        missing = self.selected - self.pods.keys()
        if not going and not missing:
            for pod in () if self.on_delete else self.pods.values():
                self._sync_uncordon(pod)
            return
        for pod in self.pods.values():
            if self.version < FIXED or pod not in going:
                self._sync_uncordon(pod)
        for number in missing:
            self.pods[number] = Pod(number, created=self.now, ready_changed=self.now, machine=f"gpu-{number}")
        for pod in going:
            self._condemn(pod)

    def ranked(self) -> list[Pod]:
        return sorted(self.pods.values(), key=lambda pod: pod.ordinal in self.selected)

    def act(self, step: object, share: float = 1.0) -> None:
        if isinstance(step, Undrain | Resume):
            ending = {pod.node for pod in self.pods.values() if pod.ordinal in self.renamed and not pod.terminating}
            assert ending.isdisjoint(step.nodes), "returned to work under the operator's hand"
        if not isinstance(step, SetSelection):
            super().act(step, share)
        elif share > 0:
            before = self.names_coming(0)
            self.select(_numbers(step.selection))
            used = {name for name in self.names_coming(0) - before if self.in_use(name)}
            assert not used, f"pods come to machines whose names are in use: {used}"
            kept = self.selected - {
                pod.ordinal for pod in self.pods.values() if pod.ordinal in self.renamed and not pod.terminating
            }
            going = {pod.name for pod in self.pods.values() if pod.ordinal not in kept}
            assert going == set(step.pods), "others go than those that were drained"

    def _delete_nodeset(self, step, share):
        super()._delete_nodeset(step, share)
        if share > 0:
            self.selected = frozenset()


def daemon_world(version: str, pods: int) -> DaemonWorld:
    """A settled NodeSet on the first machines."""
    made = DaemonWorld(version=OperatorVersion.parse(version))
    made.select(frozenset(range(pods)))
    for number in range(pods):
        made.pods[number] = Pod(
            number, created=made.now - 5000, scheduled=True, running=True, ready=True, ready_changed=made.now - 4000,
            machine=f"gpu-{number}",
        )  # fmt: skip
        made.nodes[f"gpu-{number}"] = Node(f"gpu-{number}")
    made.sync(refresh=True)
    return made


class Daemons(Wider):
    """As :class:`Wider`, with a selection in the place of a number."""

    w: DaemonWorld

    def start(self, version, pods, policy, at_once, on_delete):
        super().start(version, pods, policy, at_once, on_delete)
        self.w = daemon_world(version, pods)
        self.w.on_delete = on_delete
        self.w.open_case = self.open_case

    def new_up(self, replicas):
        """`pulumi up` with so many machines, other ones each time."""
        self.wanted = replicas
        self.runs += 1
        numbers = frozenset(random.Random(self.runs * 100 + replicas).sample(range(MACHINES), replicas))
        seen = self.w.observe()
        left = len([pod for pod in seen.pods if pod.slurm_node in {f"gpu-{number}" for number in numbers}])
        self.goal = Goal(
            owner=OWNER,
            current=len(seen.pods),
            target=left,
            policy=self.policy,
            deadline_at=self.w.now + self.policy.deadline_s,
            why="machines that fit",
            run=f"r{self.runs}",
            selects=Selects(selection(numbers), selection(self.w.selected)),
        )

    def somebody(self, number, what):
        """A person adds a machine to the selection; taking one away is the operator's own, unguarded removal."""
        if what != "scales":
            super().somebody(number, what)
        elif number % 2 and self.w.version.reads_hostname_override:
            self.w.renamed |= {pod.ordinal for pod in self.w.pods.values() if pod.ordinal == number % MACHINES}
        elif not self.doomed() and not self.w.in_use(f"gpu-{number % MACHINES}"):
            self.w.select(self.w.selected | {number % MACHINES})

    def settle(self):
        """With 1.1.0, a person deletes the pods that the operator drains and returns for ever."""
        super().settle()
        for pod in [pod for pod in self.w.pods.values() if self.w.version < FIXED and pod.name in self.doomed()]:
            record = self.w.nodes.get(pod.node)
            if record is not None and record.reason.startswith(OPERATOR) and not self.w.jobs_on(pod.node):
                self.w.delete(pod)

    def doomed(self) -> set[str]:
        kept = self.w.selected - self.w.renamed
        return {pod.name for pod in self.w.pods.values() if pod.ordinal not in kept}

    def open_case(self, pod, job) -> str:
        """The operator's own removal of a renamed machine's pod, without a gate: it counts no suspended job."""
        alone = pod.ordinal in self.w.renamed and pod.ordinal in self.w.selected
        unseen = job.suspended or not self.w.client or pod.node not in self.w.cache
        return "the operator's own" if alone and unseen else super().open_case(pod, job)
