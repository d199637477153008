"""Resources of a stack as plain data, with what is not known yet told apart from what is not there.

A preview doesn't know values that an update makes; ``pulumi policy analyze`` of a state file can't decrypt secrets and
reads ``[secret]``. A rule that meets either must not guess: :meth:`Resource.get` raises, and the rule is reported as not
judged for that resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

API_GROUP = "slinky.slurm.net"
"""API group of slurm-operator's custom resources."""
_SLINKY_TYPES = f"kubernetes:{API_GROUP}/"
_LEAVES = (str, float, int, type(None))
_MAPPINGS = (dict, Mapping)
"""Asked for in this order, for the rules ask it millions of times: an abstract class takes ten times as long to answer."""
REDACTED_TEXT = "[secret]"
"""What the engine puts in place of a secret that it can't decrypt (``pulumi policy analyze --help``)."""


@dataclass(frozen=True)
class Hidden:
    """A value that is there and can't be read; ``why`` is ``unknown`` or ``redacted``."""

    why: str

    def __bool__(self) -> bool:
        raise TypeError("a hidden value is neither true nor false: ask for Hidden first")


UNKNOWN = Hidden("unknown")
"""Known only after the update."""
REDACTED = Hidden("redacted")
"""A secret that this engine can't decrypt."""
TOO_LARGE = Hidden("large")
"""A text that isn't judged for its size."""


_REASONS = {
    "unknown": "is known only after the update",
    "redacted": "is an encrypted secret",
    "large": "is larger than a text that is judged",
}


class HiddenValueError(Exception):
    """A rule asked for a value that can't be read now."""

    def __init__(self, place: str, hidden: Hidden) -> None:
        super().__init__(f"{place} {_REASONS[hidden.why]}")


def inner(value: object, path: str = "") -> Iterator[tuple[str, str | None, Any]]:
    """The parts of a JSON value, each with its path and its key; None for the key of a list's part."""
    if isinstance(value, _LEAVES):
        return
    if isinstance(value, _MAPPINGS):
        for key, part in value.items():
            yield f"{path}.{key}" if path else str(key), str(key), part
    elif isinstance(value, Sequence):
        for index, part in enumerate(value):
            yield f"{path}[{index}]", None, part


def everything(value: object, path: str = "") -> Iterator[tuple[str, str | None, Any]]:
    """The value and all parts inside it, each before its own parts, with its path and its key as :func:`inner` has them."""
    left: list[tuple[str, str | None, Any]] = [(path, None, value)]
    while left:
        piece = left.pop()
        yield piece
        if not isinstance(piece[2], _LEAVES):
            left += reversed([*inner(piece[2], piece[0])])


def mappings(value: object, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping inside a value, with its path."""
    return ((here, part) for here, _, part in everything(value, path) if isinstance(part, _MAPPINGS))


def hidden_paths(value: object, path: str = "") -> Iterator[tuple[str, Hidden]]:
    """Path and kind of every hidden value inside ``value``."""
    return ((here, part) for here, _, part in everything(value, path) if isinstance(part, Hidden))


def texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every string inside ``value``, mapping keys left out."""
    return ((here, part) for here, _, part in everything(value, path) if isinstance(part, str))


@dataclass(frozen=True, eq=False)
class Resource:
    """One resource of a stack. ``dependencies`` and ``property_dependencies`` hold URNs and are empty in rules that see
    one resource at a time."""

    type: str
    name: str
    urn: str
    props: Mapping[str, Any]
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()
    delete_before_replace: bool | None = None
    """None where the program says nothing of it."""
    provider: Mapping[str, Any] | None = None
    """Properties of its provider; None for a stack's default one."""
    parent: str | None = None
    component: bool = False
    """Whether it is nothing but the parent of others: no provider makes it."""
    dependencies: frozenset[str] = frozenset()
    property_dependencies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    inputs: Mapping[str, Any] | None = None
    """What the program declared, where :attr:`props` are outputs with all that an API server adds."""

    def as_declared(self) -> Resource:
        """This resource with what the program declared."""
        return self if self.inputs is None else replace(self, props=self.inputs, inputs=None)

    def get(self, *path: str | int) -> Any:  # noqa: ANN401 - a JSON value
        """The value at ``path``, or None where it or a part of its path is not there.

        :raises HiddenValueError: it, or a part of it, is there and can't be read now.
        """
        value = self.peek(*path)
        if isinstance(value, _LEAVES):
            return value
        for inside, why in hidden_paths(value):
            raise HiddenValueError(f"{self.label}: {'.'.join(filter(None, [*map(str, path), inside]))}", why)
        return value

    def names(self, *path: str | int) -> tuple[str, ...]:
        """Keys of the mapping at ``path``, whatever stands under them; none where there is no mapping."""
        value = self._seen(*path)
        return tuple(map(str, value)) if isinstance(value, Mapping) else ()

    def count(self, *path: str | int) -> int:
        """Length of the list at ``path``; 0 where there is none."""
        value = self._seen(*path)
        return len(value) if isinstance(value, Sequence) and not isinstance(value, str) else 0

    def _seen(self, *path: str | int) -> Any:  # noqa: ANN401 - a JSON value
        value = self.peek(*path)
        if isinstance(value, Hidden):
            raise HiddenValueError(f"{self.label}: {'.'.join(map(str, path))}", value)
        return value

    def peek(self, *path: str | int) -> Any:  # noqa: ANN401 - a JSON value or Hidden
        """Like :meth:`get`, but what is hidden is returned, not raised."""
        value: Any = self.props
        for part in path:
            if isinstance(value, Hidden):
                return value
            value = _step(value, part)
        return value

    def text(self, *path: str | int) -> str:
        """The text at ``path``, empty where there is none."""
        value = self.get(*path)
        return value if isinstance(value, str) else ""

    def number(self, *path: str | int) -> float | None:
        """The number at ``path``; whole numbers arrive as floats."""
        value = self.get(*path)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @cached_property
    def label(self) -> str:
        """Kind and name for messages, e.g. ``NodeSet slurm-worker-gpu``."""
        name = self.peek("metadata", "name")
        return f"{self.kind} {name if isinstance(name, str) else self.name}"

    @cached_property
    def kind(self) -> str:
        """The last part of the type, e.g. ``NodeSet``."""
        return self.type.rsplit(":", 1)[-1]

    @cached_property
    def group(self) -> str:
        """API group of a Kubernetes object, empty for the core group: also where the type says ``kubernetes:v1:Secret``."""
        group, _, version = self.type.split(":")[1].rpartition("/") if self.type.count(":") > 1 else ("", "", "")
        return "" if group == "core" or not version else group

    @cached_property
    def is_patch(self) -> bool:
        """Whether it changes fields of an object that is declared elsewhere (``DeploymentPatch`` and the like)."""
        return self.is_kubernetes and self.kind.endswith("Patch") and self.peek("kind") != self.kind

    @cached_property
    def base_kind(self) -> str:
        """The kind of the object itself: ``Deployment`` for a DeploymentPatch too."""
        return self.kind.removesuffix("Patch") if self.is_patch else self.kind

    def is_a(self, group: str, *kinds: str) -> bool:
        """Whether it is, or patches, a Kubernetes object of this API group and one of these kinds, in any version."""
        return self.is_kubernetes and self.base_kind in kinds and self.group == group

    @property
    def in_cluster_name(self) -> str:
        """``metadata.name``, or the logical name where there is none."""
        return self.text("metadata", "name") or self.name

    @property
    def namespace(self) -> str:
        """``metadata.namespace``."""
        return self.text("metadata", "namespace") or "default"

    @property
    def is_kubernetes(self) -> bool:
        """Whether it is an object in Kubernetes (Helm releases are not)."""
        return self.type.startswith("kubernetes:") and not self.type.startswith("kubernetes:helm.sh/")

    @property
    def is_slinky(self) -> bool:
        """Whether it is a custom resource of slurm-operator, in any version of its API."""
        return self.type.startswith(_SLINKY_TYPES)


def _step(value: object, part: str | int) -> object:
    if isinstance(value, _MAPPINGS):
        return value.get(part)
    if isinstance(part, int) and isinstance(value, Sequence) and not isinstance(value, str) and part < len(value):
        return value[part]
    return None


@dataclass(frozen=True, eq=False)
class Stack:
    """All resources of a stack; in rules that see one resource at a time, only that one."""

    resources: tuple[Resource, ...]

    @cached_property
    def by_urn(self) -> Mapping[str, Resource]:
        """Resources by URN."""
        return {resource.urn: resource for resource in self.resources}

    def of_type(self, *endings: str) -> Iterator[Resource]:
        """Resources whose type ends with one of ``endings``."""
        return (resource for resource in self.resources if resource.type.endswith(endings))

    def slinky(self, *kinds: str) -> Iterator[Resource]:
        """Custom resources of slurm-operator of these kinds."""
        return (resource for resource in self.resources if resource.is_slinky and resource.kind in kinds)

    def find(self, kind: str, namespace: str, name: str) -> Resource | None:
        """The object of a kind of the core API group with this namespace and name, if the stack has it."""
        for resource in self.resources:
            if not resource.is_a("", kind) or resource.is_patch:
                continue
            if (resource.namespace, resource.in_cluster_name) == (namespace, name):
                return resource
        return None

    def needs(self, resource: Resource) -> frozenset[str]:
        """URNs of all that ``resource`` is made after and removed before: dependencies, parents and what these need."""
        return self._reached(self._direct(resource), self._direct)

    def sources(self, resource: Resource, *properties: str) -> frozenset[str]:
        """URNs whose outputs flow into these top-level properties, directly; all properties when none is named."""
        chosen: Iterable[str] = properties or resource.property_dependencies
        return frozenset(urn for name in chosen for urn in resource.property_dependencies.get(name, ()))

    def origins(self, resource: Resource, *properties: str) -> frozenset[str]:
        """URNs whose outputs flow into these properties, by way of others too."""
        return self._reached(self.sources(resource, *properties), self.sources)

    def _reached(self, first: Iterable[str], further: Callable[[Resource], Iterable[str]]) -> frozenset[str]:
        reached: set[str] = set()
        todo = list(first)
        while todo:
            urn = todo.pop()
            if urn not in reached:
                reached.add(urn)
                if known := self.by_urn.get(urn):
                    todo.extend(further(known))
        return frozenset(reached)

    @staticmethod
    def _direct(resource: Resource) -> Iterator[str]:
        yield from resource.dependencies
        for urns in resource.property_dependencies.values():
            yield from urns
        if resource.parent:
            yield resource.parent
