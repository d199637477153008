"""What a gate can know and do about the process it runs in: Pulumi's dynamic provider plugin, one an engine phase.

That process (``python -m pulumi.dynamic ENGINE_ADDRESS``) has five limits that matter to a drain which takes hours: it
serves four calls at a time, its ``Cancel`` does nothing, its log calls have no engine, it puts a traceback before every
error, and it knows nothing of a resource that is half made. Each is met here by a small, guarded step into what SDK 3.272
leaves reachable; where a later SDK looks different, the step is not taken and the documented limit holds: four at a time,
the deadline as the only bound, progress on stderr, the message as the last line of a traceback, no gate in the state after
a failed wait for its nodes. A test with the real engine pins all five.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, Protocol

from slinky_iac.errors import SlinkyError
from slinky_iac.text import printable

_CANCELLED: Final = threading.Event()
"""Set when the engine tells the plugin to cancel (first Ctrl-C, SIGTERM to pulumi)."""

UNKNOWN: Final = 2
"""gRPC's status code with which the plugin ends a call that raised."""
WORKERS: Final = 64
"""Calls served at once. Each is a thread that sleeps between two polls, so the number bounds nothing but NodeSets."""


def pause(seconds: float) -> bool:
    """Wait, but not past a cancel; returns whether there was one."""
    return _CANCELLED.wait(seconds)


def engine_address() -> str | None:
    """Address of the engine that started this plugin; None outside a plugin."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is None or spec.name != "pulumi.dynamic.__main__" or len(sys.argv) < 2:
        return None
    return sys.argv[1]


def engine_lives(timeout: float = 1.0) -> bool:
    """Whether the engine still listens. After a SIGKILL of pulumi the plugin lives on; it must not continue acting."""
    address = engine_address()
    if address is None:
        return True
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), timeout):
            return True
    except OSError:
        return False


def watched() -> bool:
    """Whether a terminal shows what a gate reports. In a plugin the engine's output can't be seen, but a session without a
    controlling terminal (CI, a systemd unit) has none either."""
    if engine_address() is None:
        return sys.stderr.isatty()
    if os.environ.get("CI"):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def prepare() -> None:
    """Let more than four gates wait at once, hear of Ctrl-C, and let errors stand alone. Called at the beginning of every
    provider call."""
    if engine_address() is not None:
        _widen_pool()
        _hear_cancel()
        _shorten_errors()


def _widen_pool() -> None:
    # A worker thread of an executor holds a weak reference to it as its first argument (concurrent/futures/thread.py).
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    executor = reference() if callable(reference) else None
    if isinstance(executor, ThreadPoolExecutor) and getattr(executor, "_max_workers", WORKERS) < WORKERS:
        executor._max_workers = WORKERS


def _cancel_heard(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    from google.protobuf import empty_pb2  # noqa: PLC0415 - the code runs with another module's globals

    from slinky_iac.engine.plugin_process import _CANCELLED  # noqa: PLC0415

    _CANCELLED.set()
    return empty_pb2.Empty()


def _hear_cancel() -> None:
    # gRPC holds the bound method since registration, so its class attribute is too late to change; its code is not.
    servicer = getattr(sys.modules["__main__"], "DynamicResourceProviderServicer", None)
    method = getattr(servicer, "Cancel", None)
    if isinstance(method, types.FunctionType) and not method.__code__.co_freevars:
        method.__code__ = _cancel_heard.__code__


class PlainErrors:
    """Takes the place of the module ``traceback`` in the plugin's own ``__main__``, which asks it only to word an error.

    An error that this project raises on purpose is its message: a person who runs `pulumi up` needs no traceback. Any other
    is a fault of the program and keeps its traceback.
    """

    def format_exc(self, *arguments: object, **more: object) -> str:
        """The error that is being handled."""
        error = sys.exception()
        return str(error) if isinstance(error, SlinkyError) else traceback.format_exc(*arguments, **more)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        """All else is the module's."""
        return getattr(traceback, name)


def keep_made(identity: str, outs: Mapping[str, Any], props: Mapping[str, Any]) -> None:
    """Let the engine keep a resource although its creation fails; called while the error is being handled.

    Without this, the resource is not in the state, and the engine never calls its provider's ``delete``. With it, the
    engine records a resource that was created and failed to initialize (pulumirpc.ErrorResourceInitFailed, in the details
    of the gRPC status), and the next update calls ``update``. ``props`` are the inputs as the provider got them.
    """
    context = _context()
    if engine_address() is None or context is None:
        return
    try:
        details = _init_failed(identity, {**outs, "__provider": props["__provider"]})
    except Exception as fault:  # another SDK: the error itself must be told all the same
        print(f"a resource that is half made can't be kept in the state: {fault!r}", file=sys.stderr, flush=True)
        return
    context.set_trailing_metadata((("grpc-status-details-bin", details),))


def _context() -> Any:  # noqa: ANN401 - gRPC's, which has no type of its own here
    """The gRPC context of the call that this thread serves."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        found = frame.f_locals.get("context")
        if hasattr(found, "set_trailing_metadata"):
            return found
        frame = frame.f_back
    return None


def _init_failed(identity: str, outs: Mapping[str, Any]) -> bytes:
    import asyncio  # noqa: PLC0415 - only inside a plugin, where the SDK has all of these loaded anyway

    from google.protobuf import any_pb2  # noqa: PLC0415
    from pulumi.runtime import rpc  # noqa: PLC0415
    from pulumi.runtime.proto import provider_pb2, status_pb2  # noqa: PLC0415

    properties = asyncio.run(rpc.serialize_properties(outs, {}))
    text = PlainErrors().format_exc()
    detail = any_pb2.Any()
    detail.Pack(provider_pb2.ErrorResourceInitFailed(id=identity, properties=properties, inputs=properties, reasons=[text]))
    return status_pb2.Status(code=UNKNOWN, message=text, details=[detail]).SerializeToString()


def _shorten_errors() -> None:
    main = sys.modules["__main__"]
    if getattr(main, "traceback", None) is traceback:
        main.traceback = PlainErrors()  # type: ignore[attr-defined]


Severity = Literal["info", "warning"]


class Report(Protocol):
    """Says one sentence; ``keep`` leaves it on the screen after the run."""

    def __call__(self, message: str, *, severity: Severity = "info", keep: bool = False) -> None: ...


def engine_report(urn: str, fallback: Callable[[str], None] | None = None) -> Report:
    """A :class:`Report` that puts messages on the line of the resource ``urn``; to stderr where no engine answers.

    Nothing that a report meets may stop a drain, so every failure falls back.
    """

    def to_stderr(message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    say = fallback or to_stderr
    address = engine_address()

    def report(message: str, *, severity: Severity = "info", keep: bool = False) -> None:
        message = printable(message)  # users' and other admins' texts are in it
        if address is None:
            say(message)
            return
        try:
            _log(address, urn, message, severity, keep=keep)
        except Exception:  # a lost line must not lose a drain
            say(message)

    return report


def _log(address: str, urn: str, message: str, severity: Severity, *, keep: bool) -> None:
    import grpc  # noqa: PLC0415 - only inside a plugin, where the SDK has it loaded anyway
    from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc  # noqa: PLC0415

    level = engine_pb2.WARNING if severity == "warning" else engine_pb2.INFO
    with grpc.insecure_channel(address) as channel:
        request = engine_pb2.LogRequest(severity=level, message=message, urn=urn, ephemeral=not keep)
        engine_pb2_grpc.EngineStub(channel).Log(request, timeout=5)


def console_report() -> Report:
    """Progress on stderr, so that stdout stays for answers."""

    def report(message: str, *, severity: Severity = "info", keep: bool = False) -> None:  # noqa: ARG001
        print(message if severity == "info" else f"warning: {message}", file=sys.stderr, flush=True)

    return report
