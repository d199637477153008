"""Pods of a NodeSet in DaemonSet mode: which ones the operator removes by a selection, and how many it is to have. Pure.

Which pods go follows from the Kubernetes nodes alone (:mod:`slinky_iac.kube.selection`), so there is no ranking, and no pod
goes in the place of another. A NodeSet with a number of pods is judged by its number here, so that callers have no branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slinky_iac.drain.protocol import Observation, Step
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.selection import Machine, fits, machine_of, selection_of
from slinky_iac.names import LABEL_POD_HOSTNAME
from slinky_iac.selection import Selection


@dataclass(frozen=True)
class SetSelection(Step):
    """Write which Kubernetes nodes fit, with ``scalingMode: DaemonSet``, if the NodeSet is still the one of this look and
    the Kubernetes nodes still mean the same pods."""

    selection: Selection
    pods: tuple[str, ...] = ()
    """Pods that the operator will delete."""
    records: tuple[str, ...] = ()
    """Slurm's records that other NodeSets have left of nodes that come: they go first."""

    @property
    def words(self) -> str:
        return "writing which Kubernetes nodes fit"


def record_stays(records: Iterable[str]) -> str:
    """Why the selection isn't written where jobs name these records by ``--nodelist``."""
    return (
        f"Slurm's record of {', '.join(sorted(records))}, another NodeSet's node, can't be deleted for the pod that comes: a"
        " job names that node by --nodelist, and slurmctld would end it at its next start. Nothing was changed. `squeue -o"
        " '%i %u %T %n'` shows whose job it is; when it is over, run `pulumi up` again"
    )


def live_selection(seen: Observation) -> Selection | None:
    """The selection as it is; None where the NodeSet is not in DaemonSet mode."""
    return None if seen.nodeset is None else selection_of(seen.nodeset)


def going(seen: Observation, selection: Selection, pods: Iterable[Pod] | None = None) -> frozenset[str]:
    """Pods that the operator deletes where this is the selection. A pod whose Kubernetes node is unknown is one of them: it
    may come back without fitting. So is one under an earlier name of its Kubernetes node (:func:`renamed`)."""
    machines, every = _machines(seen), tuple(seen.pods if pods is None else pods)
    stays = {name for name, machine in machines.items() if fits(selection, machine)[1]}
    return frozenset(pod.name for pod in every if machine_of(pod) not in stays) | {pod.name for pod in renamed(seen, every)}


def renamed(seen: Observation, pods: Iterable[Pod] | None = None) -> tuple[Pod, ...]:
    """Pods whose Kubernetes nodes ask for another name in Slurm, by an annotation that somebody changed: the operator drains
    and deletes them by its own rule, from 1.2 on, and makes others under that name (``podsShouldBeOnNode``)."""
    if not seen.version.reads_hostname_override:
        return ()
    machines = _machines(seen)
    there = ((pod, machines.get(machine_of(pod))) for pod in (seen.pods if pods is None else pods) if not pod.terminating)
    return tuple(
        pod
        for pod, machine in there
        if machine is not None and pod.metadata.labels.get(LABEL_POD_HOSTNAME, "") != machine.host_name(by_annotation=True)
    )


def names_of(seen: Observation, machine: Machine) -> tuple[str, ...]:
    """Names that a new pod on it may have in Slurm."""
    on_host = seen.nodeset is not None and seen.nodeset.on_host_network
    return machine.slurm_names(by_annotation=seen.version.reads_hostname_override, on_host=on_host)


def of_one_name(seen: Observation, machines: Iterable[Machine]) -> dict[str, list[str]]:
    """Names in Slurm that a pod would have on more than one Kubernetes node, if pods came to these; with these. Kubernetes
    tells ``a.site1`` from ``a.site2``, and Slurm has their first label."""
    arriving = {(name, machine.name) for machine in machines for name in names_of(seen, machine)}
    places: dict[str, list[str]] = {}
    for name, on in sorted(arriving | {(pod.slurm_node, machine_of(pod)) for pod in seen.pods}):
        places.setdefault(name, []).append(on)
    return {name: places[name] for name, _ in arriving if len(places[name]) > 1}


def new_names(seen: Observation, machines: Iterable[Machine]) -> frozenset[str]:
    """Names in Slurm of pods that come to these, but for those of pods that are there."""
    own = {pod.slurm_node for pod in seen.pods}
    return frozenset(name for machine in machines for name in names_of(seen, machine)) - own


def names_coming(seen: Observation, selection: Selection) -> frozenset[str]:
    """The same of the pods that come where this is the selection."""
    return new_names(seen, coming(seen, selection))


def coming(seen: Observation, selection: Selection) -> tuple[Machine, ...]:
    """Kubernetes nodes that get a pod where this is the selection: they fit, and have none that stays as it is called."""
    there = {machine_of(pod) for pod in seen.pods if not pod.terminating} - {machine_of(pod) for pod in renamed(seen)}
    return tuple(machine for name, machine in _machines(seen).items() if name not in there and fits(selection, machine)[0])


def last_ones(seen: Observation, wanted: Selection | None = None) -> frozenset[str]:
    """Pods that stay on their Kubernetes nodes, and to which none would come after them. ``wanted``: the selection that is
    written before; by default the live one."""
    selection = wanted if wanted is not None and seen.machines is not None else live_selection(seen)
    if selection is None:
        return frozenset()
    judged = {name: fits(selection, machine) for name, machine in _machines(seen).items()}
    last = {name for name, (should, stays) in judged.items() if stays and not should}
    return frozenset(pod.name for pod in seen.pods if machine_of(pod) in last and not pod.terminating)


def removed(seen: Observation) -> frozenset[str]:
    """Pods that the operator deletes as the NodeSet stands, or may delete."""
    if seen.nodeset is None:
        return frozenset()
    selection = selection_of(seen.nodeset)
    if selection is not None:
        return going(seen, selection)
    prediction = predicted_victims(seen.pods, seen.nodeset.spec.replicas, seen.version)
    return frozenset(prediction.victims) | prediction.uncertain


def asked(seen: Observation) -> int:
    """Pods that the NodeSet is to have as it stands, besides those that the operator removes."""
    if seen.nodeset is None:
        return 0
    selection = selection_of(seen.nodeset)
    if selection is None:
        return seen.nodeset.spec.replicas
    there, last = {machine_of(pod) for pod in seen.pods}, {machine_of(pod) for pod in renamed(seen)}
    judged = ((name, fits(selection, machine)) for name, machine in _machines(seen).items() if name not in last)
    return sum(1 for name, (should, stays) in judged if should or (stays and name in there))


def surplus(seen: Observation) -> int:
    """Pods over what is asked for, terminating ones included."""
    return max(len(seen.pods) - asked(seen), 0)


def _machines(seen: Observation) -> Mapping[str, Machine]:
    """By name. Raises AssertionError where they weren't asked for: a look at such a NodeSet has them."""
    if seen.machines is None:
        raise AssertionError("a NodeSet in DaemonSet mode is judged only with the Kubernetes nodes")
    return {machine.name: machine for machine in seen.machines}
