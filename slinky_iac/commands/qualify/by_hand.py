"""What a ladder does to pods and to the NodeSet without any gate, as a person would."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from slinky_iac.cluster.connection import Connection
from slinky_iac.commands.qualify.settings import CLUSTER, NODESET
from slinky_iac.errors import KubeConflict, KubeNotFound, SlinkyError
from slinky_iac.names import ANNOTATION_PERMIT, PERMIT_DELETE, nodeset_resource, permit_to_scale

RESOURCE: Final = nodeset_resource(CLUSTER, NODESET)
TOUCHED: Final = "slinky-iac/qualify-touched"


def pods(connection: Connection) -> int:
    """How many worker pods there are."""
    return len(connection.kube.worker_pods(connection.reach.namespace))


def removed(connection: Connection) -> bool:
    """Delete the pods that are left, as the fence lets a person do; whether there was none. The operator is refused pods
    that it has not reported as drained, and waits for minutes then."""
    kube, space = connection.kube, connection.reach.namespace
    pods = kube.worker_pods(space)
    for pod in pods:
        with suppress(KubeConflict, KubeNotFound):  # changed or gone since: the next look has it
            kube.annotate_pod(space, pod, {ANNOTATION_PERMIT: PERMIT_DELETE})
            now = kube.pod(space, pod.name)
            if now is not None and now.metadata.uid == pod.metadata.uid:
                kube.delete_worker(space, now)
    return not pods


def touch(connection: Connection, now: float) -> None:
    """Change an annotation of one worker pod: slurm-operator looks at its NodeSet then, and not before."""
    for pod in connection.kube.worker_pods(connection.reach.namespace)[:1]:
        with suppress(KubeConflict, KubeNotFound):  # changed or gone: that made it look, too
            connection.kube.annotate_pod(connection.reach.namespace, pod, {TOUCHED: f"{now:.0f}"})


def lower(connection: Connection, replicas: int) -> None:
    """Fewer replicas as a person would write them, with the permission that the fence asks for, and without any gate."""
    kube, space = connection.kube, connection.reach.namespace
    for _ in range(10):
        state = kube.nodeset(space, RESOURCE)
        try:
            permit = {ANNOTATION_PERMIT: permit_to_scale(replicas, state.metadata.generation)}
            kube.set_replicas(space, kube.annotate_nodeset(space, state, permit), replicas)
        except KubeConflict:  # the operator has written its status between
            continue
        return
    raise SlinkyError(
        f"NodeSet {space}/{RESOURCE}: it changes so often that its replicas could not be lowered to {replicas}"
    )
