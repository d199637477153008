"""Who else writes the objects of a release, by the marks and claims that they have left. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from slinky_iac import field_managers
from slinky_iac.commands.adopt.model import Live
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.field_managers import APPLIERS, Applier
from slinky_iac.names import nodeset_resource
from slinky_iac.text import one_line

OTHER: Final = "other"
"""What ``--stopped`` calls a program that nothing here knows."""


ENDS: Final[Mapping[str, str]] = {
    **{writer.key: writer.ends for writer in APPLIERS},
    OTHER: "nothing runs it for this cluster any more",
}
"""By the words of ``--stopped``, when the program writes no longer."""


def writers(config: StackConfig, living: Sequence[Live], stopped: Collection[str]) -> tuple[str, ...]:
    """Other programs that write, in words; those whose keys are in ``stopped`` write no longer."""
    return (*_marked(living, stopped), *_strange(config, living, stopped), *_scaled(config, living))


def _marked(living: Sequence[Live], stopped: Collection[str]) -> tuple[str, ...]:
    objects: dict[Applier, list[str]] = {}
    for resource in living:
        marks = [*resource.labels, *resource.annotations]
        for writer in APPLIERS:
            marked = bool(writer.mark) and any(mark.startswith(writer.mark) for mark in marks)
            if writer.key not in stopped and (marked or any(name.startswith(writer.manager) for name in resource.managers)):
                objects.setdefault(writer, []).append(f"{resource.kind} {resource.name}")
    return tuple(
        f"{w.name} writes {', '.join(dict.fromkeys(of))}. If {w.ends}: --stopped {w.key}" for w, of in objects.items()
    )


def _strange(config: StackConfig, living: Sequence[Live], stopped: Collection[str]) -> Iterator[str]:
    objects: dict[str, list[str]] = {}
    left = _left(config)
    for resource in living if OTHER not in stopped else ():
        numbers = resource.numbers if resource.kind == "NodeSet" and resource.name in left else frozenset[str]()
        for manager in sorted(field_managers.unknown(resource.setters) - numbers):
            objects.setdefault(manager, []).append(f"{resource.kind} {resource.name}")
    for manager, of in objects.items():
        yield (
            f"{name_of(one_line(manager))} writes {', '.join(of)}: this is its name in managedFields. If {ENDS[OTHER]}:"
            f" --stopped {OTHER}"
        )


def _scaled(config: StackConfig, living: Sequence[Live]) -> tuple[str, ...]:
    """Autoscalers of NodeSets whose replicas the stack manages, in words."""
    left = _left(config)
    return tuple(
        f"{writer} writes the replicas of {resource.kind} {resource.name}. Delete it, or give the NodeSet"
        " `owner: autoscaler`"
        for resource in living
        for writer in resource.writers
        if resource.name not in left
    )


def _left(config: StackConfig) -> frozenset[str]:
    """Names of the NodeSet objects whose ``replicas`` an autoscaler sets."""
    base = config.cluster.resource_name
    return frozenset(nodeset_resource(base, name) for name, nodeset in config.nodesets.items() if nodeset.scaled_by_others)
