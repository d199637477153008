"""When a ladder doesn't begin: what was found, what follows, what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slinky_iac.commands.qualify.settings import NAMESPACE, NODESET
from slinky_iac.errors import QualifyRefused
from slinky_iac.kube.fake_nodes import SELECTOR

KWOK_PAGE: Final = "https://kwok.sigs.k8s.io/docs/user/kwok-in-cluster/"
CLEAN: Final = "`slinky qualify --clean`"
NOTHING: Final = "Nothing was made"


def require_no_slurm(controllers: Sequence[tuple[str, str]], *, told: bool) -> None:
    """Raises :class:`QualifyRefused` where Kubernetes has a Slurm cluster, unless the user has said that it may be there."""
    others = sorted(f"{space}/{name}" for space, name in controllers if space != NAMESPACE)
    if others and not told:
        raise QualifyRefused(
            f"this Kubernetes cluster has a Slurm in it: Controller {', '.join(others[:3])}. A ladder loads the API server"
            f" and slurm-operator that this Slurm uses too. {NOTHING}. Name another cluster with --context, or give"
            " --beside-slurm"
        )


def require_empty(*, namespace_there: bool, left: Sequence[str]) -> None:
    """Raises :class:`QualifyRefused` where something of a ladder, or of its name, is there already."""
    if left:
        raise QualifyRefused(f"an earlier ladder was cut off, and left: {', '.join(left)}. {NOTHING}. Run {CLEAN}")
    if namespace_there:
        raise QualifyRefused(
            f"namespace {NAMESPACE} is there, and no ladder of this folder made it. {NOTHING}. If a ladder of another folder"
            f" did, run {CLEAN} there; else delete the namespace, or use another cluster"
        )


def require_room(real: int) -> None:
    """Raises :class:`QualifyRefused` where the cluster is too small. ``real``: nodes that take ordinary pods."""
    if not real:
        raise QualifyRefused(
            "this cluster has no ready node that takes pods without tolerations, and also the smallest size runs a real"
            f" slurmctld, slurmrestd and slurm-operator. {NOTHING}. Add one node, or name another cluster with --context"
        )


def no_kwok(made: int, seconds: float) -> QualifyRefused:
    """No fake kubelet has answered for the nodes that were made."""
    return QualifyRefused(
        f"no kwok answers: of {made} Kubernetes nodes with the annotation {SELECTOR} none was ready after"
        f" {seconds:.0f} s. They were removed again, and nothing else was made. Install kwok ({KWOK_PAGE}), or start it with"
        f" --manage-nodes-with-annotation-selector={SELECTOR} and stages for nodes and pods. Then run this again"
    )


def throttles(what: str) -> QualifyRefused:
    """The API server has answered 429."""
    return QualifyRefused(
        f"the API server throttles this user: {what} was answered with HTTP 429. Figures would be those of its limits; what"
        " this ladder had made was removed. Give this user's requests room (API Priority and Fairness: a FlowSchema with a"
        " PriorityLevelConfiguration of its own), or run it while the cluster is quiet"
    )


def failed(step: str, nodes: int, said: str) -> QualifyRefused:
    """`pulumi` has ended with an error."""
    return QualifyRefused(
        f"rung of {nodes}, NodeSet {NODESET}: {step} failed, and the ladder stops here. pulumi says:\n{said}\nWhat the rung"
        " had made is removed"
    )
