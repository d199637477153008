"""When a ladder doesn't begin, or stops: what was found, what follows, what to do. Pure. What became of what the ladder had
made is said by :mod:`slinky_iac.commands.qualify.cli`, which removes it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from slinky_iac.commands.qualify.settings import LABEL, NAMESPACE, NODESET
from slinky_iac.commands.qualify.settings import SELECTOR as LABELLED
from slinky_iac.errors import QualifyRefused
from slinky_iac.kube.fake_nodes import SELECTOR

KWOK_PAGE: Final = "https://kwok.sigs.k8s.io/docs/user/kwok-in-cluster/"
NOTHING: Final = "Nothing was made"
_BY_HAND: Final = f"`kubectl delete nodes -l {LABELLED},type=kwok`"


class Namespace(Enum):
    """How the ladder's namespace is."""

    NONE = "none"
    THERE = "there"
    ENDING = "ending"


def require_no_slurm(controllers: Sequence[tuple[str, str]], *, told: bool) -> None:
    """Raises :class:`QualifyRefused` where Kubernetes has a Slurm cluster, unless the user has said that it may be there."""
    others = sorted(f"{space}/{name}" for space, name in controllers if space != NAMESPACE)
    if others and not told:
        raise QualifyRefused(
            f"this Kubernetes cluster has a Slurm in it: Controller {', '.join(others[:3])}. A ladder loads the API server"
            f" and slurm-operator that this Slurm uses too. {NOTHING}. Name another cluster with --context, or give"
            " --beside-slurm"
        )


def require_unlabelled(names: Sequence[str]) -> None:
    """Raises :class:`QualifyRefused` where nodes that no ladder made have its label: its pods would come to them."""
    if names:
        raise QualifyRefused(
            f"Kubernetes node {names[0]} has the label {LABELLED}, and no ladder made it; in all {len(names)}. Pods of a"
            f" rung would come to it. {NOTHING}. Remove the label: `kubectl label node {names[0]} {LABEL}-`"
        )


def require_empty(*, namespace: Namespace, folder: bool, left: Sequence[str], clean: str) -> None:
    """Raises :class:`QualifyRefused` where a ladder, or something of its name, is there. ``folder``: this one's."""
    if folder:
        raise QualifyRefused(f"an earlier ladder was cut off, and left: {', '.join(left)}. {NOTHING}. Run {clean}")
    if left:
        raise QualifyRefused(
            f"a ladder of another folder is at work, or was cut off: there are {', '.join(left)}. {NOTHING}. Wait for its"
            f" end, or run {clean} there; where that folder is gone, {_BY_HAND}"
        )
    _require_none(namespace, f"{NOTHING}. If a ladder of another folder made it, run {clean} there; else delete it, or use"
                             " another cluster")  # fmt: skip


def require_gone(*, namespace: Namespace, left: Sequence[str], clean: str) -> None:
    """Raises :class:`QualifyRefused` where a ladder is left that this folder knows nothing of."""
    if left:
        raise QualifyRefused(
            f"there are {', '.join(left)}, of a ladder of another folder, which may be at work. They were left. Run {clean}"
            f" there; where that folder is gone, {_BY_HAND}"
        )
    _require_none(namespace, f"It was left. Run {clean} in the folder of the ladder that made it; where that is gone,"
                             f" `kubectl delete namespace {NAMESPACE}`")  # fmt: skip


def _require_none(namespace: Namespace, advice: str) -> None:
    if namespace is Namespace.ENDING:
        raise QualifyRefused(
            f"namespace {NAMESPACE} is being deleted, and Kubernetes waits for what is in it. `kubectl get namespace"
            f" {NAMESPACE} -o yaml` names it under status.conditions. Run this again when the namespace is gone"
        )
    if namespace is Namespace.THERE:
        raise QualifyRefused(f"namespace {NAMESPACE} is there, and no ladder of this folder made it. {advice}")


def require_room(real: int) -> None:
    """Raises :class:`QualifyRefused` where the cluster is too small. ``real``: nodes that take ordinary pods."""
    if not real:
        raise QualifyRefused(
            "this cluster has no ready node that takes pods without tolerations, and also the smallest size runs a real"
            f" slurmctld, slurmrestd and slurm-operator. {NOTHING}. Add one node, or name another cluster with --context"
        )


def require_same(was: tuple[str, str], now: tuple[str, str], clean: str) -> None:
    """Raises :class:`QualifyRefused` where a folder's ladder is on another API server. Each: server, context."""
    if was[0] and was[0] != now[0]:
        raise QualifyRefused(
            f"the ladder of this folder is on {was[0]} (context {was[1] or 'none'}), and {now[0]} was named. Nothing was"
            f" removed. Run {clean}"
        )


def not_ours(name: str) -> QualifyRefused:
    """Another maker has a node's name."""
    return QualifyRefused(
        f"Kubernetes node {name} is there, and this ladder did not make it: another ladder has just begun on this cluster,"
        " or somebody else made it. It was left as it is. Wait for that ladder's end, or delete the node"
    )


def no_kwok(made: int, ready: int, seconds: float) -> QualifyRefused:
    """Not all fake kubelets have answered for the nodes that were made."""
    what = f"kwok is too slow, or stopped: {ready}" if ready else "no kwok answers: none"
    return QualifyRefused(
        f"{what} of {made} Kubernetes nodes with the annotation {SELECTOR} was ready after {seconds:.0f} s. Install kwok"
        f" ({KWOK_PAGE}), or start it with --manage-nodes-with-annotation-selector={SELECTOR} and stages for nodes and pods."
        " Then run this again"
    )


def throttles(what: str) -> QualifyRefused:
    """The API server has answered 429."""
    return QualifyRefused(
        f"the API server throttles this user: {what} was answered with HTTP 429. Figures would be those of its limits. Give"
        " this user's requests room (API Priority and Fairness: a FlowSchema with a PriorityLevelConfiguration of its own),"
        " or run it while the cluster is quiet"
    )


def failed(step: str, nodes: int, said: str) -> QualifyRefused:
    """`pulumi` has ended with an error."""
    return QualifyRefused(
        f"rung of {nodes}, NodeSet {NODESET}: {step} failed, and the ladder stops here. pulumi says:\n{said}"
    )
