"""What a stack's state says, read through `pulumi stack export`: the one reader of resources and their URNs.

What commands take from it holds no secret, so nothing is decrypted and no passphrase is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import causes, names
from slinky_iac.cluster.pulumi_command import Runner, answer, printed, run_pulumi
from slinky_iac.errors import StateError

Json = Mapping[str, Any]
SECRET: Final = "kubernetes:core/v1:Secret"
CONFIG_MAP: Final = "kubernetes:core/v1:ConfigMap"
STACK: Final = "pulumi:pulumi:Stack"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
PROVIDER: Final = "pulumi:providers:kubernetes"
OF_KEYS: Final = f"{names.TYPE_PREFIX}:AuthKeys$"
"""Part of the URN of all that a stack's keys are made of."""
OF_CLIENTS: Final = f"{names.TYPE_PREFIX}:Client$"
"""Part of the URN of what is made for clients in other namespaces; its Secrets are copies of slurm.key."""


@contextmanager
def as_written() -> Iterator[None]:
    """Around reading a state: raises :class:`StateError` where a part isn't as any release of this program writes it. A
    number of a shape that isn't known stays a ValueError, which says so."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise StateError(
            f"the stack's state isn't as this program writes it ({causes.of_shape(error)}), so nothing was concluded from"
            " it. Somebody may have edited it: `pulumi stack export` shows it, and the backend's backups have it as it was"
        ) from None


def custom(kind: str) -> str:
    """Type token of one of the operator's custom resources."""
    return f"kubernetes:{names.API_VERSION}:{kind}"


def dynamic(kind: str) -> str:
    """Type token of one of this program's own resources."""
    return f"pulumi-python:dynamic/slurm:{kind}"


def type_of(urn: str) -> str:
    """Type token of a resource, without its parents'."""
    return urn.split("::")[2].rpartition("$")[2]


def name_of(urn: str) -> str:
    """Logical name of a resource."""
    return urn.split("::", 3)[3]


@dataclass(frozen=True)
class Resource:
    """One resource of a state; all empty where there is none."""

    urn: str = ""
    type: str = ""
    inputs: Json = field(default_factory=dict)
    outputs: Json = field(default_factory=dict)
    created: str = ""
    modified: str = ""
    protect: bool = False

    @classmethod
    def of(cls, raw: Json) -> Resource:
        """As `pulumi stack export` has it."""
        mappings = [raw.get(key) for key in ("inputs", "outputs")]
        if not all(mapping is None or isinstance(mapping, dict) for mapping in mappings):
            raise TypeError
        inputs, outputs = (mapping or {} for mapping in mappings)
        urn, type_, created, modified = (str(raw.get(key) or "") for key in ("urn", "type", "created", "modified"))
        return cls(urn, type_, inputs, outputs, created, modified, bool(raw.get("protect")))

    @property
    def logical(self) -> str:
        """Its logical name; empty where the URN has none."""
        return self.urn.split("::", 3)[3] if self.urn.count("::") >= 3 else ""

    @property
    def spec(self) -> Json:
        """``spec`` of a Kubernetes object; empty where there is none."""
        return self.part("spec")

    @property
    def metadata(self) -> Json:
        """The same of ``metadata``."""
        return self.part("metadata")

    @property
    def object_name(self) -> str:
        """The name of a Kubernetes object in Kubernetes."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.metadata.get("namespace") or "")

    @property
    def made(self) -> Json:
        """Outputs of what has some in any case. Raises KeyError."""
        if not self.outputs:
            raise KeyError("outputs")
        return self.outputs

    def part(self, key: str) -> Json:
        """A mapping among the inputs; empty where there is none."""
        mapping = self.inputs.get(key)
        return mapping if isinstance(mapping, dict) else {}

    def __bool__(self) -> bool:
        return bool(self.urn or self.type)


class State(tuple[Resource, ...]):
    """All resources of a stack, in the order in which they were made."""

    __slots__ = ()

    @classmethod
    @as_written()
    def read(cls, resources: Iterable[Json]) -> State:
        """Of resources as `pulumi stack export` has them. Raises :class:`StateError`."""
        return cls(Resource.of(resource) for resource in resources)

    def all(self, *types: str) -> tuple[Resource, ...]:
        """All resources of these types."""
        return tuple(resource for resource in self if resource.type in types)

    def first(self, type_: str) -> Resource:
        """The first resource of a type."""
        return next(iter(self.all(type_)), Resource())

    def components(self, kind: str) -> tuple[Json, ...]:
        """Outputs of this program's components of a kind; empty for one whose outputs weren't written yet."""
        return tuple(component.outputs for component in self.all(f"{names.TYPE_PREFIX}:{kind}"))

    def object(self, type_: str, namespace: str, name: str) -> Resource:
        """A Kubernetes object by its name in Kubernetes."""
        matches = (
            resource for resource in self.all(type_) if (resource.namespace, resource.object_name) == (namespace, name)
        )
        return next(matches, Resource())

    @property
    def outputs(self) -> Json:
        """The stack's outputs."""
        return self.first(STACK).outputs

    @property
    def stack(self) -> str:
        """The stack's name; empty where no URN has it."""
        urns = (resource.urn.split("::") for resource in self)
        return next((parts[0].removeprefix("urn:pulumi:") for parts in urns if len(parts) >= 4), "")


def export(stack: str | None, run: Runner = run_pulumi) -> State:
    """A stack's state; that of the selected one where ``stack`` is None.

    Raises :class:`StateError` where pulumi can't be run or doesn't answer with a state.
    """
    return State.read(answer(run, ["stack", "export"], stack, _resources, wanted="a stack's state"))


def selected(run: Runner = run_pulumi) -> str:
    """The name of the selected stack. Raises :class:`StateError`."""
    return printed(run, ["stack", "--show-name", "--non-interactive"]).strip()


def _resources(state: Json) -> list[Json]:
    return list(state["deployment"].get("resources") or [])


def everything(stack: str | None, run: Runner = run_pulumi, *, decrypted: bool) -> list[Json]:
    """All resources of a state as it has them, those of operations that were cut short among them; ``decrypted``: with
    all secrets in clear, so show none of it. Raises :class:`StateError`."""
    arguments = ["stack", "export", *(["--show-secrets"] if decrypted else [])]
    return answer(run, arguments, stack, _everything, wanted="a stack's state")


def _everything(state: Json) -> list[Json]:
    pending = [operation["resource"] for operation in state["deployment"].get("pending_operations") or []]
    resources = [*_resources(state), *pending]
    if not all(isinstance(resource, dict) for resource in resources):
        raise TypeError
    return resources


def history(stack: str | None, entries: int, run: Runner = run_pulumi) -> list[Json]:
    """The last ``entries`` updates, refreshes and destroys of a stack, newest first. Raises :class:`StateError`.

    The entries hold the configuration of their time, encrypted secrets included: show none of it.
    """
    arguments = ["stack", "history", "--json", "--page-size", str(entries)]
    return answer(run, arguments, stack, _entries, wanted="a list of updates")


def _entries(listed: object) -> list[Json]:
    if not isinstance(listed, list):
        raise TypeError
    return [update for update in listed if isinstance(update, dict)]
