"""The plan of a removal: every node of a NodeSet is given up, because the NodeSet is removed, replaced or destroyed.

Nobody ranks anything here, for Kubernetes takes all pods at once; so costs, autoscalers and the operator's view don't
matter, and limits on a scale-in don't either: who destroys means everything. The wait for jobs is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slinky_iac.drain.cost import Candidate, assess, choose
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.plan import Finding, ScaleInPlan, blocked_nodes, foreign_gates, queue_warnings, warnings_about
from slinky_iac.drain.view import ClusterView, NodeSetView, PodView


def plan_teardown(
    pods: Sequence[PodView],
    cluster: ClusterView | None,
    state: NodeSetView,
    *,
    now: int,
    owner: Owner,
    problem: str = "",
) -> ScaleInPlan:
    """The plan for removing the NodeSet; ``cluster`` is None when slurmrestd could not be asked."""
    blocks = list(foreign_gates(pods, owner))
    warnings = list(_delays(pods, state))
    if cluster is None:
        warnings.append(Finding("slurm-unknown", f"Slurm could not be asked, so nodes and jobs are not known: {problem}"))
        chosen: tuple[Candidate, ...] = ()
    else:
        chosen = choose(assess(pods, cluster, now, owner), 0)
        blocks += blocked_nodes(chosen)
        warnings += [*warnings_about(chosen, ()), *queue_warnings(cluster, chosen)]
    return ScaleInPlan(
        nodeset=owner.nodeset,
        current=state.replicas,
        target=0,
        give_up=len(pods),
        chosen=chosen,
        blocks=tuple(blocks),
        warnings=tuple(warnings),
        known=cluster is not None,
    )


def _delays(pods: Sequence[PodView], state: NodeSetView) -> Iterable[Finding]:
    """What is waited out before the first drain."""
    if state.rolling(len(pods)):
        yield Finding("rollout", f"a rolling update of {state.name} is on, and its end is waited for first")
    if len(pods) > state.replicas:
        yield Finding("in-flight", f"an earlier scale-in of {state.name} isn't over, and its end is waited for first")
