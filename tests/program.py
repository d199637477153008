"""Runs pieces of a Pulumi program without an engine and tells what they registered: assert on that, not inside ``apply``."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from unittest.mock import patch

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks, resource
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.config import set_all_config
from pulumi.runtime.proto.source_pb2 import StackTrace
from pulumi.runtime.settings import SETTINGS

from slinky_iac.config.reading.engine import StackSettings, read_stack
from slinky_iac.config.stack import PROJECT

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
GENERATED = "G" * 1024
"""What RandomPassword results are here."""


@dataclass(frozen=True)
class Secret:
    """A value that was sent to the engine as a secret."""

    value: Any


@dataclass(frozen=True)
class Registered:
    """One resource as the engine would have been told of it. Resources are named by URN."""

    urn: str
    type: str
    name: str
    parent: str
    custom: bool
    inputs: dict[str, Any]
    dependencies: frozenset[str]
    replace_with: frozenset[str]
    protect: bool
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    secret_outputs: frozenset[str]
    hooks: frozenset[str]
    provider: str
    retained: bool
    import_id: str
    """What is imported under this name; empty: it is made."""


@dataclass
class Recording(mocks.Mocks):
    """What a program registered, in order, and the outputs of its components by URN."""

    resources: list[Registered] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # type: ignore[override]
        raise AssertionError(f"the program called {args.token}: it should know all it needs from its configuration")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if args.typ == "random:index/randomPassword:RandomPassword":
            return "none", {**args.inputs, "result": {_SIGNATURE: _SECRET, "value": GENERATED}}
        if args.typ == "pulumi-python:dynamic/slurm:JobLife":
            return "6e6f6e636531", {**args.inputs, "nonce": "6e6f6e636531"}
        if args.typ.removeprefix("pulumi-python:dynamic/slurm:") in {"NodeSetScale", "OutsideHosts", "ControllerGate"}:
            # The gates' own check fills the plan in; here it only has to be there.
            return f"{args.name}-id", {**args.inputs, "plan": {}}
        return f"{args.name}-id" if args.custom else None, dict(args.inputs)

    def of(self, kind: str) -> list[Registered]:
        """Resources whose type token ends with ``kind``."""
        return [r for r in self.resources if r.type.endswith(kind)]

    def one(self, kind: str, name: str | None = None) -> Registered:
        """The only resource of a kind, or the only one with this logical name."""
        (found,) = [r for r in self.of(kind) if name is None or r.name == name]
        return found

    def before(self, resource: Registered) -> set[str]:
        """URNs of all that is made before ``resource`` and so removed after it, through any number of steps.

        The engine orders by dependencies, parents and providers alike (``resource/graph/dependency_graph.go``).
        """
        by_urn = {r.urn: r for r in self.resources}
        seen: set[str] = set()
        todo = [resource.urn]
        while todo:
            here = by_urn.get(todo.pop())
            found = set() if here is None else {*here.dependencies, here.parent, here.provider.rpartition("::")[0]} - seen
            seen |= found
            todo.extend(found)
        return seen


class _Monitor(mocks.MockMonitor):
    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self.recording = recording

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine makes it: the types of all ancestors but the stack's, where the mock knows the parent only."""
        types = parent.split("::")[2] if parent else ""
        chain = "" if types in {"", "pulumi:pulumi:Stack"} else f"{types}$"
        return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{chain}{type_}::{name}"

    def RegisterResource(self, request: Any) -> Any:
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            self.recording.resources.append(_registered(answer.urn, request))
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:
        self.recording.outputs[request.urn] = plain(MessageToDict(request.outputs))
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


class _Hooks(_CallbackServicer):
    """What hooks are registered with. Nothing calls them here, and Pulumi's own starts a gRPC server for each of them."""

    def __init__(self, monitor: Any) -> None:
        self._callbacks, self._transforms, self._state_migrations = {}, {}, {}
        self._monitor, self._target = monitor, ""


def _registered(urn: str, request: Any) -> Registered:
    bound = MessageToDict(request.hooks) if request.HasField("hooks") else {}
    return Registered(
        urn=urn,
        type=request.type,
        name=request.name,
        parent=request.parent,
        custom=request.custom,
        inputs=plain(MessageToDict(request.object)),
        dependencies=frozenset(request.dependencies),
        replace_with=frozenset(request.replace_with),
        protect=bool(request.protect),
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        secret_outputs=frozenset(request.additionalSecretOutputs),
        hooks=frozenset(name for names in bound.values() for name in names),
        provider=request.provider,
        retained=bool(request.retainOnDelete),
        import_id=request.importId,
    )


def plain(value: Any) -> Any:
    """The engine's form of a value with secrets as :class:`Secret`, and whole numbers as int."""
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _SECRET:
            return Secret(plain(value["value"]))
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def with_loop() -> None:
    """Give this thread an event loop, as the language host does before a program begins: an Output is made on it.

    Python made one on demand up to 3.11, warns of it from 3.12 on, refuses from 3.14 on; `asyncio.run` leaves none behind.
    It is one loop for all programs of a process, since Pulumi keeps the stack's resource of the first.
    """
    asyncio.set_event_loop(_loop())


def _awaited(function: Callable[..., object]) -> Callable[..., None]:
    return cast("Callable[..., None]", mocks.test(function))  # type: ignore[no-untyped-call]


def in_program(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test inside a fresh program without an engine; all it started is awaited."""

    @functools.wraps(test)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        with_loop()
        mocks.set_mocks(Recording(), project=PROJECT, stack="test")
        _awaited(test)(*args, **kwargs)

    return wrapper


def run(program: Callable[[], object], *, preview: bool = False, recording: Recording | None = None) -> Recording:
    """Run ``program`` to its end, all registrations included. ``recording``: one that gives some resources outputs."""
    with_loop()
    recording = recording or Recording()
    monitor = _Monitor(recording)
    mocks.set_mocks(recording, project=PROJECT, stack="test", preview=preview, monitor=monitor)

    def quietly() -> None:
        SETTINGS.callbacks = _Hooks(monitor)
        program()

    with patch.object(resource, "_get_stack_trace", StackTrace):  # for each resource it reads every frame of pytest
        _awaited(quietly)()
    return recording


@contextmanager
def configured(sections: dict[str, Any], secrets: dict[str, str] | None = None) -> Iterator[None]:
    """The stack's configuration while the block runs, as the language host would set it."""
    values = {f"{PROJECT}:{name}": json.dumps(value) for name, value in sections.items()}
    values |= {f"{PROJECT}:{name}": value for name, value in (secrets or {}).items()}
    set_all_config(values, [f"{PROJECT}:{name}" for name in secrets or {}])
    try:
        yield
    finally:
        set_all_config({}, [])


def run_stack(
    sections: dict[str, Any], build: Callable[[StackSettings], pulumi.Resource], secrets: dict[str, str] | None = None
) -> Recording:
    """Read ``sections`` as the program does and run ``build`` with them."""
    with configured(sections, secrets):
        return run(lambda: build(read_stack()))
