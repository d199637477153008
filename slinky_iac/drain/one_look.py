"""One look for the plans of all NodeSets: 100 gates of a preview ask 111 questions, not 1,100.

A plan rests on what any of them has seen within the last :data:`FRESH_S`, but for its own NodeSet, which each reads itself:
in an update that may have been written a moment ago. The order is that of every look: pods, then nodes, then jobs. What
failed is an error to all who waited for it, or an unknown, and never an empty list; the next one asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.cluster.connection import LISTS_S, Connection
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.observe import Answers, ask_slurm, completed, shown
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import KubeError
from slinky_iac.kube.client import WORKERS, KubeClient, controlled
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.scalers import Scaler, all_scalers, writing
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.shared import Shared

FRESH_S: Final = 15.0
"""Age up to which a plan rests on a look of another gate: a program takes some seconds to register 100 NodeSets."""


@dataclass(frozen=True)
class OneLook:
    """What one look shows of all NodeSets."""

    answered: float
    pods: tuple[Pod, ...]
    writers: tuple[tuple[str, Scaler], ...] | KubeError
    """What writes numbers of pods, by ``kind/name``; the error where they can't be seen."""
    answers: Answers | None
    """Slurm's side, users' names included; None: ``problem`` says why."""
    problem: str
    restapi_ready: bool
    _views: dict[str, ClusterView] = field(default_factory=dict)
    """By what users' names are made unreadable with."""

    def view(self, hide: str) -> ClusterView | None:
        """Slurm's side with users' names as a NodeSet's plan may show them."""
        if self.answers is None or not hide:
            return None if self.answers is None else self.answers.view
        if hide not in self._views:
            plain = self.answers.view
            self._views[hide] = ClusterView.of(
                plain.nodes.values(),
                (shown(job, hide) for job in self.answers.jobs.jobs),
                plain.reservations,
                name=plain.name,
                queue_left_out=plain.queue_left_out,
            )
        return self._views[hide]

    def writers_of(self, settings: GateSettings) -> tuple[str, ...]:
        """What else writes the number of a NodeSet that is the stack's. Raises why that can't be seen."""
        if not settings.by_stack:
            return ()
        if isinstance(self.writers, KubeError):
            raise self.writers
        return writing(self.writers, settings.resource, settings.leaving)


LOOKS: Final = Shared[OneLook]("the look at pods, nodes and jobs")


def taken(kube: KubeClient, slurm: Callable[[], SlurmrestClient], reach: Reach, steady: Callable[[], float]) -> OneLook:
    """Look. Raises what the clients raise, but for Slurm's passing silence and autoscalers that can't be seen."""
    pods = kube.worker_pods(reach.namespace)
    writers: tuple[tuple[str, Scaler], ...] | KubeError
    try:
        writers = all_scalers(kube, reach.namespace)
    except KubeError as error:
        writers = error
    answers, problem = ask_slurm(slurm, [pod.slurm_node for pod in pods], None, "", queue=lambda _: True)
    ready = kube.deployment_available(reach.namespace, reach.restapi_service) > 0
    return OneLook(steady(), pods, writers, answers, problem, ready)


def observed(session: Connection, settings: GateSettings, state: NodeSet) -> Observation:
    """A NodeSet, read a moment ago, with its pods and Slurm's side of the one look."""
    reach = settings.reach
    listing = LOOKS.after(
        float("-inf"),
        reach,
        lambda _left: taken(session.kube, lambda: session.slurm, reach, session.steady),
        budget_s=LISTS_S,
        monotonic=session.steady,
        fresh_s=FRESH_S,
    )
    if state.status.selector and WORKERS not in state.status.selector.split(","):
        raise KubeError(f"NodeSet {reach.namespace}/{state.name} selects {state.status.selector!r} and not {WORKERS}")
    seen = Observation(
        now=session.now(),
        version=settings.version,
        pods=controlled(state, listing.pods),
        nodeset=state,
        writers=listing.writers_of(settings),
        cluster=listing.view(settings.hide),
        restapi_ready=listing.restapi_ready,
        problem=listing.problem,
    )
    return completed(seen, session.kube, settings)
