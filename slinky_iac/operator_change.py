"""What a new release of slurm-operator would do to pods on its own, asked right before it is installed.

Under RollingUpdate it may count every worker pod as outdated, and replaces them in its first moments, in which it has no
Slurm client and takes busy nodes for drained. Worker pods that 1.0 made lack a label that 1.1 and newer look for, and go
whatever the strategy. Login pods may get another template, and with it end.

It also returns nodes that are drained or DOWN: it notes each pod in the comment of its node, and where that text differs
from what is there, it takes the pod for one that has moved, and sets the node IDLE (``UpdateNodeWithPodInfo``, 1.0 to 1.2).
1.2 notes the NodeSet too, so the text differs for every node. An earlier operator reads the longer text as its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slinky_iac import names
from slinky_iac.cluster_access import kube_connection
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeNotFound, SlinkyError
from slinky_iac.text import some

if TYPE_CHECKING:  # few updates change the operator, and the clients take 0.1 s to import
    from slinky_iac.cluster.reach import Reach
    from slinky_iac.kube.client import KubeClient
    from slinky_iac.kube.objects import NodeSet, Pod
    from slinky_iac.releases import OperatorVersion
    from slinky_iac.slurmrest.objects import Node

BUDGET_S: Final = 20.0
OUT_OF_SERVICE: Final = frozenset({"DRAIN", "DOWN", "FAIL"})
SHOWN: Final = 8
"""Nodes that are named at once."""


def changes_release(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a Helm release that goes from ``old`` to ``new``, both whole inputs, brings another operator."""
    return any(old.get(key) != new.get(key) for key in ("chart", "version")) or _image(old) != _image(new)


def _image(inputs: Mapping[str, Any]) -> object:
    return ((inputs.get("values") or {}).get("operator") or {}).get("image")


def in_the_way(config: StackConfig, env: Mapping[str, str], home: Path, hide: str, slurm: Reach) -> str:
    """Why the release must not be installed now, and what to do first; ``""`` where nothing speaks against it. ``slurm``:
    the way to slurmrestd."""
    from slinky_iac.drain import restart_losses  # noqa: PLC0415

    try:
        with kube_connection(config, env, home) as way:
            kube = way.kube(BUDGET_S)
            obstacles = [*_rolling(config, kube), *_unlabelled(config, kube), *_returned(config, kube, slurm)]
    except SlinkyError as error:
        return f"which pods it would replace could not be asked: {error}"
    if config.slurmctld.forgets_queue:
        why = restart_losses.forgotten_jobs(slurm, hide, config.cluster.name)
        obstacles += [f"slurmctld's pod may restart, and controller.persistence is off: {why}"] if why else []
    for name, login in config.logins.items():
        if login.interrupt_sessions or obstacles:
            continue
        resource = names.loginset_resource(config.cluster.resource_name, name)
        space, pods = config.cluster.namespace, names.login_pods(resource)
        why = restart_losses.session_jobs(slurm, space, pods, hide, config.cluster.name)
        if why:
            obstacles.append(f"{resource}: {why}. Wait until they have ended, or set logins.{name}.interruptSessions: true")
    return "; ".join(obstacles)


def _rolling(config: StackConfig, kube: KubeClient) -> Iterator[str]:
    for name, nodeset in config.nodesets.items():
        if nodeset.update_strategy.type == "RollingUpdate":
            continue  # asked for
        resource = names.nodeset_resource(config.cluster.resource_name, name)
        try:
            state = kube.nodeset(config.cluster.namespace, resource)
        except KubeNotFound:
            continue
        if not state.on_delete and state.has_pods:
            yield (
                f"{resource} still has the update strategy {state.spec.update_strategy.type}, so the new operator may"
                " replace busy pods. Set operator.version back and run `pulumi up`, which writes OnDelete; then set the new"
                " one and run `pulumi up` again"
            )


def _unlabelled(config: StackConfig, kube: KubeClient) -> Iterator[str]:
    if not config.operator_version.has_scaling_mode or not config.nodesets:
        return
    space = config.cluster.namespace
    pods = kube.pods_without(space, "slurmd", names.LABEL_SCALING_MODE)
    if pods:
        yield (
            f"{len(pods)} worker pods, {pods[0]} among them, were made by slurm-operator 1.0 and lack a label: the new one"
            f" would replace them all, whatever the update strategy. First `kubectl label pods -n {space} -l"
            f" app.kubernetes.io/name=slurmd {names.LABEL_SCALING_MODE}=StatefulSet`"
        )


def _returned(config: StackConfig, kube: KubeClient, slurm: Reach) -> Iterator[str]:
    """Nodes that are out of service and that the new operator would set IDLE, each with what to write first."""
    from slinky_iac.cluster.connection import connected  # noqa: PLC0415
    from slinky_iac.drain.observe import require_cluster  # noqa: PLC0415

    pods = list(_workers(config, kube))
    if not pods:
        return
    with connected(slurm, budget_s=BUDGET_S) as session:
        require_cluster(session.slurm.controller_cluster(), config.cluster.name)
        nodes = session.slurm.nodes(allow_none=True).by_name()
    yield from returned(config.operator_version, pods, nodes)


def _workers(config: StackConfig, kube: KubeClient) -> Iterator[tuple[NodeSet, Pod]]:
    for name in config.nodesets:
        try:
            state = kube.nodeset(config.cluster.namespace, names.nodeset_resource(config.cluster.resource_name, name))
        except KubeNotFound:
            continue
        yield from ((state, pod) for pod in kube.pods_of(config.cluster.namespace, state))


def returned(version: OperatorVersion, pods: Sequence[tuple[NodeSet, Pod]], nodes: Mapping[str, Node]) -> Iterator[str]:
    """A sentence where this operator would return nodes that are out of service."""
    notes = [
        (record, wanted)
        for state, pod in pods
        if (record := nodes.get(pod.slurm_node)) is not None and (record.unreadable or record.state & OUT_OF_SERVICE)
        if _moved(record.comment, wanted := pod_note(version, state, pod))
    ]
    if not notes:
        return
    named = some((f"{record.name} ({record.reason or record.state_text})" for record, _ in notes), SHOWN)
    commands = "; ".join(f"`scontrol update nodename={record.name} comment='{wanted}'`" for record, wanted in notes[:SHOWN])
    commands += f". That run has the commands of the next of {len(notes) - SHOWN} more" if len(notes) > SHOWN else ""
    yield (
        f"slurm-operator {version} would set {len(notes)} node(s) IDLE that are drained or DOWN, in its first moments:"
        f" {named}. Return them to service, or first write what it writes into their comments, and run `pulumi up`"
        f" again: {commands}"
    )


def pod_note(version: OperatorVersion, state: NodeSet, pod: Pod) -> str:
    """What this operator notes of a pod in its node's comment, byte by byte (``podinfo.go``)."""
    note = {"namespace": pod.metadata.namespace, "podName": pod.name, "node": pod.spec.node_name}
    if version.notes_nodesets:
        note |= {"nodeSetName": state.name, "nodeSetUID": state.metadata.uid}
    return json.dumps({key: text for key, text in note.items() if text or "nodeSet" not in key}, separators=(",", ":"))


def _moved(comment: str, wanted: str) -> bool:
    """Whether the operator takes the pod for one that has moved: another note of its own is there, with a machine in it."""
    try:
        there = json.loads(comment)
    except (ValueError, RecursionError):
        return False
    ours = json.loads(wanted)
    if not isinstance(there, dict) or not there.get("node"):
        return False
    return any(there.get(key, "") != text for key, text in ours.items())
