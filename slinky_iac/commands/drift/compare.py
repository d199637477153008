"""What should be, what is, and each difference as one finding. Pure.

A state that is on its way is no drift: a pod that isn't ready has no node yet, and a drain whose pod carries its owner's
tag belongs to a run, also to one that ended at its deadline and will be taken up again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from slinky_iac import names
from slinky_iac.closing import closing_steps, losing
from slinky_iac.cluster.snapshot import Workers, pods_by_node
from slinky_iac.commands.drift.labels import Labelled, misplaced, place_on_machine
from slinky_iac.commands.drift.labels import differences as label_differences
from slinky_iac.drain.members import Tag
from slinky_iac.drain.settings import OUTSIDE
from slinky_iac.kube.machines import Machine
from slinky_iac.kube.objects import Pod
from slinky_iac.preflight.check_resources import Promised, differences
from slinky_iac.slurmrest.daemons import SlurmConf
from slinky_iac.slurmrest.objects import Node
from slinky_iac.specs.slurm_conf import REQUIRED

Kind = Literal[
    "node-missing",
    "record-left",
    "drain-left",
    "host-not-held",
    "partition-missing",
    "partition-left",
    "slurm-conf",
    "cluster",
    "version",
    "fence",
    "token-set",
    "node-features",
    "more-than-pod",
    "node-label",
    "node-topology",
]
_JUDGED_ELSEWHERE: Final = frozenset({"ClusterName", "AccountingStorageHost"})
"""The cluster's name has a kind of its own, and slurmctld may know slurmdbd's host by another name."""
_RELEASE: Final = re.compile(r"\d\d\.\d\d")


@dataclass(frozen=True)
class Expected:
    """What the stack's state says."""

    stack: str
    cluster: str
    """ClusterName."""
    releases: frozenset[str]
    """Slurm releases that the stack's images name, as ``26.05``; empty where their tags name none."""
    nodesets: tuple[str, ...]
    """Names in the configuration: the feature of their nodes, too."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Bare-metal hosts: ``active`` or ``drained``."""
    host_places: Mapping[str, str] = field(default_factory=dict)
    """Topology= of their NodeName= lines."""
    nodeset_places: Mapping[str, str] = field(default_factory=dict)
    """Topology= that each NodeSet's slurmd registers with."""
    partitions: tuple[str, ...] = ()
    token_set: TokenSet | None = None
    """The public set (jwks.json) of the stack's token keys; None where it has none."""
    required: Mapping[str, str] = field(default_factory=dict)
    """Parameters of an external slurm.conf, as the last update wrote them out."""
    promised: Mapping[str, Promised] = field(default_factory=dict)
    """What each NodeSet's spec gives its pods."""
    labelled: Labelled = field(default_factory=Labelled)
    """What the node table has set on Kubernetes nodes."""


@dataclass(frozen=True)
class TokenSet:
    """The ConfigMap with the public set, as the last update wrote it."""

    namespace: str
    name: str
    document: str


@dataclass(frozen=True)
class Seen:
    """One snapshot, in the order of :mod:`slinky_iac.cluster.snapshot`."""

    now: int
    cluster: str
    """The name that slurmctld and slurmrestd go by."""
    release: str
    """slurmrestd's release, ``26.05.5``."""
    nodes: Mapping[str, Node]
    partitions: frozenset[str]
    workers: Mapping[str, Workers]
    """NodeSets with their pods, by their name in the configuration."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Partitions over NodeSets of the stack that the stack hasn't, with the number of jobs that name each."""
    fence: tuple[str, ...] = ()
    """What is gone or changed of the fence in the API server, in words."""
    token_set: str | None = None
    """The public set as the cluster has it; None: there is none."""
    conf: SlurmConf | None = None
    """slurm.conf as slurmctld runs with it; None where that isn't known (before Slurm 26.05), or wasn't asked."""

    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Kubernetes nodes, where the stack has labels on some."""

    @cached_property
    def pods(self) -> dict[str, Pod]:
        """All pods by the name of their Slurm node."""
        return pods_by_node(self.workers.values())


@dataclass(frozen=True)
class Finding:
    """One difference."""

    kind: Kind
    subject: str
    text: str
    """What differs, what follows, what to do."""


def drift(expected: Expected, seen: Seen) -> tuple[Finding, ...]:
    """All differences, in a stable order."""
    found = [
        *_cluster(expected, seen),
        *_versions(expected, seen),
        *_missing_nodes(expected, seen),
        *_left_records(expected, seen),
        *_left_drains(expected, seen),
        *_resources(expected, seen),
        *(Finding("node-label", node, text) for node, text in label_differences(expected.labelled, seen.machines)),
        *_places(expected, seen),
        *_hosts_not_held(expected, seen),
        *_token_set(expected, seen),
        *_slurm_conf(expected, seen),
        *_partitions(expected, seen),
        *_left_partitions(seen),
        *(Finding("fence", "API server", each) for each in seen.fence),
    ]
    return tuple(sorted(found, key=lambda each: (each.kind, each.subject)))


def _cluster(expected: Expected, seen: Seen) -> Iterable[Finding]:
    if expected.cluster and seen.cluster and expected.cluster != seen.cluster:
        yield Finding(
            "cluster",
            seen.cluster,
            f"Slurm calls itself {seen.cluster!r} and the stack {expected.cluster!r}: jobs, accounting and keys may be"
            " another cluster's. Find out which slurmctld answers before any update",
        )


def _versions(expected: Expected, seen: Seen) -> Iterable[Finding]:
    if not expected.releases:
        return
    wanted = " or ".join(sorted(expected.releases))
    if (release := _release(seen.release)) and release not in expected.releases:
        yield Finding(
            "version",
            "slurmrestd",
            f"slurmrestd is {seen.release}, and the stack's images are {wanted}: no daemon may be newer than slurmctld, and"
            " the operator speaks one REST version. Set cluster.slurmVersion and the images to what runs",
        )
    for node in seen.nodes.values():
        release = _release(node.version)
        if node.name in seen.pods and release and release not in expected.releases:
            yield Finding(
                "version",
                node.name,
                f"slurmd of {node.name} is {node.version}, and the stack's images are {wanted}: a rollout hasn't ended,"
                " or the image behind the tag changed",
            )


def _release(text: str) -> str:
    found = _RELEASE.match(text)
    return found.group() if found is not None else ""


def _missing_nodes(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for name in expected.nodesets:
        found = seen.workers.get(name, Workers())
        if found.nodeset is None:
            yield Finding("node-missing", name, f"NodeSet {name} is gone from Kubernetes: run `pulumi refresh`, then `up`")
            continue
        replicas = found.nodeset.spec.replicas
        if len(found.pods) < replicas:
            yield Finding(
                "node-missing",
                name,
                f"NodeSet {name} asks for {replicas} pods and has {len(found.pods)}: see its events",
            )
        for pod in found.ready:
            if pod.slurm_node not in seen.nodes:
                yield Finding(
                    "node-missing",
                    pod.slurm_node,
                    f"pod of {pod.slurm_node} is ready, and slurmctld knows no such node: look at slurmd's log (key,"
                    " MaxNodeCount, network to slurmctld)",
                )
    for host in expected.hosts:
        if host not in seen.nodes:
            yield Finding(
                "node-missing",
                host,
                f"bare-metal host {host} has no node in slurmctld: give its NodeName= line to slurm.conf outside, or take it"
                " out of external.slurmdHosts",
            )


def _left_records(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for node in seen.nodes.values():
        ours = [name for name in expected.nodesets if node.registered_by(name) and _is_pods_name(node.name, name)]
        if ours and node.name not in seen.pods:
            yield Finding(
                "record-left",
                node.name,
                f"slurmctld has a record of {node.name} (NodeSet {ours[0]}, {node.state_text}), and no pod is"
                f" behind it: jobs may be placed on it and wait. `scontrol delete nodename={node.name}` once it is idle",
            )


def _is_pods_name(node: str, nodeset: str) -> bool:
    """Whether a pod of the NodeSet would be called so. The feature alone doesn't tell: another stack's nodes may have it,
    and nobody may be advised to delete those."""
    return node.startswith(f"{nodeset}-") and node[len(nodeset) + 1 :].isdigit()


def _left_drains(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for node in seen.nodes.values():
        owner = _owner(node.reason, expected.stack)
        if not node.drained_or_draining or owner is None:
            continue
        why = _unowned(node, owner, expected, seen)
        if why:
            yield Finding(
                "drain-left",
                node.name,
                f"{node.name} is drained by this stack ({node.reason!r}), and {why}: it takes no job. `slinky"
                " drain cancel` gives back what it finds, else `scontrol update nodename=… state=undrain`",
            )


def _owner(reason: str, stack: str) -> str | None:
    """The NodeSet that a reason of this stack's names; None for all other reasons."""
    prefix = names.drain_owner(stack, "")
    return reason.removeprefix(prefix).partition(":")[0] if reason.startswith(prefix) else None


def _unowned(node: Node, owner: str, expected: Expected, seen: Seen) -> str:
    """Why no run owns the drain; empty where one does."""
    if node.resume_after.value is not None and node.resume_after.value <= seen.now:
        return "its time was over, and slurmctld hasn't returned it"
    if owner == OUTSIDE:
        return "" if expected.hosts.get(node.name) == "drained" else "the stack doesn't hold that host"
    if owner not in expected.nodesets:
        return f"the stack has no NodeSet {owner}"
    if node.name not in seen.pods:
        return "no pod is behind it"
    tag = Tag.read(seen.pods[node.name].gate)
    if tag is None or tag.owner != f"{expected.stack}/{owner}":
        return "its pod has no mark of a scale-in"
    return ""


def _resources(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for name, wanted in expected.promised.items():
        for record, _ in _registered(seen, name):
            for kind, text in differences(record, wanted):
                yield Finding(kind, record.name, text)


def _registered(seen: Seen, nodeset: str) -> Iterable[tuple[Node, Pod]]:
    """Nodes of a NodeSet that are neither coming nor going, and their pods."""
    workers = seen.workers.get(nodeset)
    for pod in workers.pods if workers is not None else ():
        record = seen.nodes.get(pod.slurm_node)
        if record is not None and not record.trouble and pod.ready and not pod.terminating:
            yield record, pod


def _places(expected: Expected, seen: Seen) -> Iterable[Finding]:
    wanted = [(seen.nodes[host], place) for host, place in expected.host_places.items() if host in seen.nodes]
    for name in seen.workers:
        for record, pod in _registered(seen, name):
            by_machine = place_on_machine(expected.labelled.nodes, pod.spec.node_name)
            wanted.append((record, by_machine or expected.nodeset_places.get(name, "")))
    for record, place in wanted:
        if text := misplaced(record, place):
            yield Finding("node-topology", record.name, text)


def _hosts_not_held(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for host, state in expected.hosts.items():
        node = seen.nodes.get(host)
        if state == "drained" and node is not None and not node.drained_or_draining:
            yield Finding(
                "host-not-held",
                host,
                f"{host} is to be drained, and takes jobs: somebody returned it. `pulumi up --refresh`, or set it to active",
            )


def _token_set(expected: Expected, seen: Seen) -> Iterable[Finding]:
    wanted = expected.token_set
    if wanted is None or seen.token_set == wanted.document:
        return
    subject, write = f"ConfigMap {wanted.namespace}/{wanted.name}", "`pulumi up --refresh` writes the stack's own"
    if seen.token_set is None:
        yield Finding("token-set", subject, f"the public set of the stack's tokens is gone: {write}")
        return
    from slinky_iac.keys.jwks import difference  # noqa: PLC0415 - 100 ms that only stacks with such a key pay

    found = difference(seen.token_set.encode(), wanted.document.encode())
    words = "differs" if found is None else found.words
    yield Finding(
        "token-set",
        subject,
        f"the public set of the stack's tokens {words}: the holder of a key in it can be any user of Slurm. Find out who"
        f" wrote it (docs/token-keys.md), then {write}",
    )


def _slurm_conf(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for row in REQUIRED:
        value, got = expected.required.get(row.key), getattr(seen.conf, row.key, None)
        if value is None or got is None or row.key in _JUDGED_ELSEWHERE:
            continue
        if missing := row.lacking(value, got):
            shown = ",".join(got) if isinstance(got, list) else str(got)
            then = "restart slurmctld" if row.restart else "`scontrol reconfigure`"
            yield Finding(
                "slurm-conf",
                row.key,
                f"slurmctld runs with {row.key}={shown}, without {','.join(missing)}: {row.without}. Set it as"
                f" `pulumi stack output outsideSlurmConf` has it, then {then}",
            )


def _left_partitions(seen: Seen) -> Iterable[Finding]:
    for name, jobs in seen.left.items():
        steps = "; ".join(closing_steps([name], ()))
        yield Finding(
            "partition-left",
            name,
            f"slurmctld has partition {name} over NodeSets of this stack, and the stack hasn't: if its line goes,"
            f" {losing([name], (), jobs)}. Before that: {steps}",
        )


def _partitions(expected: Expected, seen: Seen) -> Iterable[Finding]:
    for name in expected.partitions:
        if name not in seen.partitions:
            yield Finding(
                "partition-missing",
                name,
                f"slurmctld has no partition {name}: give it the lines of `pulumi stack output outsideSlurmConf`, then"
                " `scontrol reconfigure`",
            )
