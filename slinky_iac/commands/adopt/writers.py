"""Who else writes the objects of a release, by the marks and claims that they have left. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.commands.adopt.model import Live
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import FIELD_MANAGER, nodeset_resource
from slinky_iac.ownership import ARGO_MANAGER, KUSTOMIZE_MANAGER, RESOURCE_SET_MANAGER
from slinky_iac.text import one_line

PULUMI: Final = "pulumi"
ARGO: Final = "argo"
OTHER: Final = "other"
"""What ``--stopped`` calls a program that nothing here knows."""
HELM: Final = ("helm", "pulumi-resource-kubernetes")
"""How names of field managers begin that are Helm's: Helm takes the name of the program that it runs in, which is
pulumi-kubernetes' own where its ``helm.v3.Release`` deployed the chart."""
BY_HAND: Final = ("kubectl", "before-first-apply")
"""How those of a person begin, and of what was there before the API server kept such names."""
_OURS: Final = ("slurm-operator", FIELD_MANAGER)


@dataclass(frozen=True)
class Writer:
    """A program that writes objects of a release."""

    key: str
    """What ``--stopped`` calls it."""
    name: str
    manager: str
    """How the names of its field managers begin. What follows of pulumi-kubernetes' is random, and differs by object."""
    mark: str = ""
    """How a label or annotation of it begins."""
    ends: str = ""
    """When it writes no longer."""


WRITERS: Final = (
    Writer(ARGO, "Argo CD", ARGO_MANAGER, "argocd.argoproj.io/", "its Application is deleted without its objects"),
    Writer("flux", "Flux (Kustomization)", KUSTOMIZE_MANAGER, "kustomize.toolkit.fluxcd.io/", "it is suspended in Git"),
    Writer(
        "flux", "Flux (ResourceSet)", RESOURCE_SET_MANAGER, "resourceset.fluxcd.controlplane.io/", "it is suspended in Git"
    ),
    Writer("flux", "Flux (HelmRelease)", "helm-controller", "helm.toolkit.fluxcd.io/", "it is suspended in Git"),
    Writer(PULUMI, "another Pulumi program", "pulumi-kubernetes", "", "it was a stack of this cluster, and is gone"),
)
"""Their marks and claims on fields stay when they have stopped, so a person says that they have."""


ENDS: Final[Mapping[str, str]] = {
    **{each.key: each.ends for each in WRITERS},
    OTHER: "nothing runs it for this cluster any more",
}
"""By the words of ``--stopped``, when the program writes no longer."""


def unknown(managers: Iterable[str]) -> frozenset[str]:
    """Of names of field managers those that nothing here knows: whatever they are, they write."""
    known = (*HELM, *BY_HAND, *_OURS, *(each.manager for each in WRITERS))
    return frozenset(name for name in managers if not name.startswith(known))


def writers(config: StackConfig, living: Sequence[Live], stopped: Collection[str]) -> tuple[str, ...]:
    """Other programs that write, in words; those whose keys are in ``stopped`` write no longer."""
    return (*_marked(living, stopped), *_strange(living, stopped), *_scaled(config, living))


def _marked(living: Sequence[Live], stopped: Collection[str]) -> tuple[str, ...]:
    found: dict[Writer, list[str]] = {}
    for each in living:
        marks = [*each.labels, *each.annotations]
        for writer in WRITERS:
            marked = bool(writer.mark) and any(mark.startswith(writer.mark) for mark in marks)
            if writer.key not in stopped and (marked or any(name.startswith(writer.manager) for name in each.managers)):
                found.setdefault(writer, []).append(f"{each.kind} {each.name}")
    return tuple(
        f"{w.name} writes {', '.join(dict.fromkeys(of))}. If {w.ends}: --stopped {w.key}" for w, of in found.items()
    )


def _strange(living: Sequence[Live], stopped: Collection[str]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for each in living if OTHER not in stopped else ():
        for manager in sorted(unknown(each.setters)):
            found.setdefault(manager, []).append(f"{each.kind} {each.name}")
    for manager, of in found.items():
        yield (
            f"{name_of(one_line(manager))} writes {', '.join(of)}: this is its name in managedFields. If {ENDS[OTHER]}:"
            f" --stopped {OTHER}"
        )


def _scaled(config: StackConfig, living: Sequence[Live]) -> tuple[str, ...]:
    """Autoscalers of NodeSets whose replicas the stack manages, in words."""
    base = config.cluster.resource_name
    left = {nodeset_resource(base, name) for name, each in config.nodesets.items() if each.scaled_by_others}
    return tuple(
        f"{writer} writes the replicas of {each.kind} {each.name}. Delete it, or give the NodeSet `owner: autoscaler`"
        for each in living
        for writer in each.writers
        if each.name not in left
    )
