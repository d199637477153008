"""What should be, what is, and each difference as one finding. Pure.

A state that is on its way isn't drift: a pod that isn't ready has no node yet, and a drain whose pod carries its owner's
tag belongs to a run, also to one that ended at its deadline and will be taken up again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.partition_closing import closing_steps, losing
from slinky_iac.cluster.snapshot import Workers, pods_by_node
from slinky_iac.commands.drift.places import misplaced
from slinky_iac.drain.tags import Tag
from slinky_iac.kube.machines import Machine
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.selection import selection_of
from slinky_iac.parts.part import OnMachines
from slinky_iac.parts.registry import GUARDS
from slinky_iac.preflight.check_resources import Promised, differences
from slinky_iac.selection import Selection
from slinky_iac.slurmrest.daemons import SlurmConf
from slinky_iac.slurmrest.objects import Node
from slinky_iac.specs.slurm_conf import REQUIRED

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
    public: PublicFile | None = None
    """The public halves of keys that sign the stack's tokens; None where it has none."""
    required: Mapping[str, str] = field(default_factory=dict)
    """Parameters of an external slurm.conf, as the last update wrote them out."""
    promised: Mapping[str, Promised] = field(default_factory=dict)
    """What each NodeSet's spec gives its pods."""
    on_machines: tuple[OnMachines, ...] = ()
    """What parts have set on Kubernetes nodes."""
    selections: Mapping[str, Selection] = field(default_factory=dict)
    """Which Kubernetes nodes fit each NodeSet in DaemonSet mode."""


@dataclass(frozen=True)
class PublicFile:
    """The ConfigMap with public keys, as the last update wrote it."""

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
    guards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is gone or changed of each guard in the API server, in words."""
    public: str | None = None
    """The same as the cluster has it; None: there is none."""
    conf: SlurmConf | None = None
    """slurm.conf as slurmctld runs with it; None where that isn't known (before Slurm 26.05), or wasn't asked."""

    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Kubernetes nodes, where a part has set something on some."""

    @cached_property
    def pods(self) -> dict[str, Pod]:
        """All pods by the name of their Slurm node."""
        return pods_by_node(self.workers.values())


@dataclass(frozen=True)
class Finding:
    """One difference."""

    kind: str
    """A key of :data:`CHECKS`, ``node-features`` or ``more-than-pod``."""
    subject: str
    text: str
    """What differs, what follows, what to do."""


Found = Iterable[tuple[str, str]]
"""Subject and text of each finding of one kind."""


def drift(expected: Expected, seen: Seen) -> tuple[Finding, ...]:
    """All differences, in a stable order."""
    findings = [Finding(kind, *pair) for kind, check in CHECKS.items() for pair in check(expected, seen)]
    for name, wanted in expected.promised.items():
        for record, _ in _registered(seen, name):
            findings += [Finding(kind, record.name, text) for kind, text in differences(record, wanted)]
    return tuple(sorted(findings, key=lambda finding: (finding.kind, finding.subject)))


def _cluster(expected: Expected, seen: Seen) -> Found:
    if expected.cluster and seen.cluster and expected.cluster != seen.cluster:
        text = (
            f"Slurm calls itself {seen.cluster!r} and the stack {expected.cluster!r}: jobs, accounting and keys may be"
            " another cluster's. Find out which slurmctld answers before any update"
        )
        yield seen.cluster, text


def _versions(expected: Expected, seen: Seen) -> Found:
    if not expected.releases:
        return
    wanted = " or ".join(sorted(expected.releases))
    if (release := _release(seen.release)) and release not in expected.releases:
        text = (
            f"slurmrestd is {seen.release}, and the stack's images are {wanted}: no daemon may be newer than slurmctld, and"
            " the operator speaks one REST version. Set cluster.slurmVersion and the images to what runs"
        )
        yield "slurmrestd", text
    for node in seen.nodes.values():
        release = _release(node.version)
        if node.name in seen.pods and release and release not in expected.releases:
            text = (
                f"slurmd of {node.name} is {node.version}, and the stack's images are {wanted}: a rollout hasn't ended,"
                " or the image behind the tag changed"
            )
            yield node.name, text


def _release(text: str) -> str:
    match = _RELEASE.match(text)
    return match.group() if match is not None else ""


def _missing_nodes(expected: Expected, seen: Seen) -> Found:
    for name in expected.nodesets:
        workers = seen.workers.get(name, Workers())
        if workers.nodeset is None:
            yield name, f"NodeSet {name} is gone from Kubernetes: run `pulumi refresh`, then `up`"
            continue
        wanted = expected.selections.get(name)
        if wanted is not None and selection_of(workers.nodeset) != wanted:
            yield name, f"which Kubernetes nodes fit NodeSet {name} is not as the stack wrote it: run `pulumi up`"
        if len(workers.pods) < workers.wanted:
            yield name, f"NodeSet {name} asks for {workers.wanted} pods and has {len(workers.pods)}: see its events"
        for pod in workers.ready:
            if pod.slurm_node not in seen.nodes:
                text = (
                    f"pod of {pod.slurm_node} is ready, and slurmctld knows no such node: look at slurmd's log (key,"
                    " MaxNodeCount, network to slurmctld)"
                )
                yield pod.slurm_node, text
    for host in expected.hosts:
        if host not in seen.nodes:
            text = (
                f"bare-metal host {host} has no node in slurmctld: give its NodeName= line to slurm.conf outside, or take it"
                " out of external.slurmdHosts"
            )
            yield host, text


def _left_records(expected: Expected, seen: Seen) -> Found:
    for node in seen.nodes.values():
        ours = [name for name in expected.nodesets if node.registered_by(name) and _is_pods_name(node.name, name)]
        if ours and node.name not in seen.pods:
            text = (
                f"slurmctld has a record of {node.name} (NodeSet {ours[0]}, {node.state_text}), and no pod is"
                f" behind it: jobs may be placed on it and wait. `scontrol delete nodename={node.name}` once it is idle"
            )
            yield node.name, text


def _is_pods_name(node: str, nodeset: str) -> bool:
    """Whether a pod of the NodeSet would be called so. The feature alone doesn't tell: another stack's nodes may have it,
    and no advice may be to delete those."""
    return node.startswith(f"{nodeset}-") and node[len(nodeset) + 1 :].isdigit()


def _left_drains(expected: Expected, seen: Seen) -> Found:
    ours = names.drain_owner(expected.stack, "")
    for node in seen.nodes.values():
        if not node.drained_or_draining or not node.reason.startswith(ours):
            continue
        owner = node.reason.removeprefix(ours).partition(":")[0]
        if why := _unowned(node, owner, expected, seen):
            of_conf = owner == names.SLURM_CONF_OWNER and owner not in expected.nodesets
            returns = "`pulumi up` ends the change or" if of_conf else "`slinky drain cancel`"
            text = (
                f"{node.name} is drained by this stack ({node.reason!r}), and {why}: it takes no job. {returns}"
                " gives back what it finds, else `scontrol update nodename=… state=undrain`"
            )
            yield node.name, text


def _unowned(node: Node, owner: str, expected: Expected, seen: Seen) -> str:
    """Why no run owns the drain, whose reason names the NodeSet ``owner``; empty where one does."""
    if node.resume_after.value is not None and node.resume_after.value <= seen.now:
        return "its time was over, and slurmctld hasn't returned it"
    if owner == names.HOSTS_OWNER:
        return "" if expected.hosts.get(node.name) == "drained" else "the stack doesn't hold that host"
    if owner not in expected.nodesets:
        unfinished = "an update that changes slurm.conf has not ended"
        return unfinished if owner == names.SLURM_CONF_OWNER else f"the stack has no NodeSet {owner}"
    if node.name not in seen.pods:
        return "no pod is behind it"
    tag = Tag.read(seen.pods[node.name].gate)
    if tag is None or tag.owner != f"{expected.stack}/{owner}":
        return "its pod has no mark of a scale-in"
    return ""


def _registered(seen: Seen, nodeset: str) -> Iterable[tuple[Node, Pod]]:
    """Nodes of a NodeSet that are neither coming nor going, and their pods."""
    workers = seen.workers.get(nodeset)
    for pod in workers.pods if workers is not None else ():
        record = seen.nodes.get(pod.slurm_node)
        if record is not None and not record.trouble and pod.ready and not pod.terminating:
            yield record, pod


def _places(expected: Expected, seen: Seen) -> Found:
    wanted = [(seen.nodes[host], place, False) for host, place in expected.host_places.items() if host in seen.nodes]
    for name in seen.workers:
        for record, pod in _registered(seen, name):
            places = (machines.place_of(pod.spec.node_name) for machines in expected.on_machines)
            by_machine = next(filter(None, places), "")
            wanted.append((record, by_machine or expected.nodeset_places.get(name, ""), not by_machine))
    for record, place, by_nodeset in wanted:
        if text := misplaced(record, place, by_nodeset=by_nodeset):
            yield record.name, text


def _hosts_not_held(expected: Expected, seen: Seen) -> Found:
    for host, state in expected.hosts.items():
        node = seen.nodes.get(host)
        if state == "drained" and node is not None and not node.drained_or_draining:
            advice = "`pulumi up --refresh`, or set it to active"
            yield host, f"{host} is to be drained, and takes jobs: somebody returned it. {advice}"


def _public(expected: Expected, seen: Seen) -> Found:
    wanted = expected.public
    if wanted is None or seen.public == wanted.document:
        return
    subject, write = f"ConfigMap {wanted.namespace}/{wanted.name}", "`pulumi up --refresh` writes the stack's own"
    if seen.public is None:
        yield subject, f"the public set of the stack's tokens is gone: {write}"
        return
    from slinky_iac.keys.public import difference  # noqa: PLC0415 - 100 ms that only stacks with such a key pay

    mismatch = difference(seen.public.encode(), wanted.document.encode())
    words = "differs" if mismatch is None else mismatch.words
    text = (
        f"the public set of the stack's tokens {words}: the holder of a key in it can be any user of Slurm. Find out who"
        f" wrote it (`slinky docs token-keys`), then {write}"
    )
    yield subject, text


def _slurm_conf(expected: Expected, seen: Seen) -> Found:
    for row in REQUIRED:
        value, got = expected.required.get(row.key), getattr(seen.conf, row.key, None)
        if value is None or got is None or row.key in _JUDGED_ELSEWHERE:
            continue
        if missing := row.lacking(value, got):
            shown = ",".join(got) if isinstance(got, list) else str(got)
            then = "restart slurmctld" if row.restart else "`scontrol reconfigure`"
            text = (
                f"slurmctld runs with {row.key}={shown}, without {','.join(missing)}: {row.without}. Set it as"
                f" `pulumi stack output outsideSlurmConf` has it, then {then}"
            )
            yield row.key, text


def _left_partitions(_expected: Expected, seen: Seen) -> Found:
    for name, jobs in seen.left.items():
        text = (
            f"slurmctld has partition {name} over NodeSets of this stack, and the stack hasn't: if its line goes,"
            f" {losing([name], (), jobs)}. Before that: {'; '.join(closing_steps([name], ()))}"
        )
        yield name, text


def _partitions(expected: Expected, seen: Seen) -> Found:
    advice = "give it the lines of `pulumi stack output outsideSlurmConf`, then `scontrol reconfigure`"
    missing = (name for name in expected.partitions if name not in seen.partitions)
    return ((name, f"slurmctld has no partition {name}: {advice}") for name in missing)


def _guard(name: str, _expected: Expected, seen: Seen) -> Found:
    return (("API server", fault) for fault in seen.guards.get(name, ()))


CHECKS: Final[Mapping[str, Callable[[Expected, Seen], Found]]] = {
    "node-missing": _missing_nodes,
    "record-left": _left_records,
    "drain-left": _left_drains,
    "host-not-held": _hosts_not_held,
    "partition-missing": _partitions,
    "partition-left": _left_partitions,
    "slurm-conf": _slurm_conf,
    "cluster": _cluster,
    "version": _versions,
    **{name: partial(_guard, name) for name in GUARDS},
    "public-set": _public,
    "node-label": lambda expected, seen: chain.from_iterable(e.differences(seen.machines) for e in expected.on_machines),
    "node-topology": _places,
}
