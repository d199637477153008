"""What a gate can know and do about the process it runs in: Pulumi's dynamic provider plugin, one an engine phase.

That process (``python -m pulumi.dynamic ENGINE_ADDRESS``) has four limits that matter to a drain which takes hours:
it serves four calls at a time, its ``Cancel`` does nothing, its log calls have no engine, and it puts a traceback before
every error. Each is met here by a small, guarded step into what SDK 3.272 leaves reachable; where a later SDK looks
different, the step is not taken and the documented limit holds: four at a time, the deadline as the only bound, progress
on stderr, the message as the last line of a traceback. A test with the real engine pins all four.
"""

from __future__ import annotations

import socket
import sys
import threading
import traceback
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from slinky_iac.errors import SlinkyError

_CANCELLED: Final = threading.Event()
"""Set when the engine tells the plugin to cancel (first Ctrl-C, SIGTERM to pulumi)."""

WORKERS: Final = 64
"""Calls served at once. Each is a thread that sleeps between two polls, so the number bounds nothing but NodeSets."""


def cancelled() -> bool:
    """Whether the engine has asked to stop."""
    return _CANCELLED.is_set()


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
    """Whether the engine still listens. After a SIGKILL of pulumi the plugin lives on; it must not go on acting."""
    address = engine_address()
    if address is None:
        return True
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), timeout):
            return True
    except OSError:
        return False


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

    from slinky_iac.drain.plugin_process import _CANCELLED  # noqa: PLC0415

    _CANCELLED.set()
    return empty_pb2.Empty()


def _hear_cancel() -> None:
    # gRPC holds the bound method since registration, so its class attribute is too late to change; its code is not.
    servicer = getattr(sys.modules["__main__"], "DynamicResourceProviderServicer", None)
    method = getattr(servicer, "Cancel", None)
    if isinstance(method, types.FunctionType) and not method.__code__.co_freevars:
        method.__code__ = _cancel_heard.__code__


class PlainErrors:
    """Stands in for the module ``traceback`` in the plugin's own ``__main__``, which asks it only to word an error.

    An error that this project raises on purpose is its message: where it was raised helps nobody who runs `pulumi up`. Any
    other is a fault of the program and keeps its traceback.
    """

    def format_exc(self, *arguments: object, **more: object) -> str:
        """The error that is being handled."""
        error = sys.exception()
        return str(error) if isinstance(error, SlinkyError) else traceback.format_exc(*arguments, **more)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        """All else is the module's."""
        return getattr(traceback, name)


def _shorten_errors() -> None:
    main = sys.modules["__main__"]
    if getattr(main, "traceback", None) is traceback:
        main.traceback = PlainErrors()  # type: ignore[attr-defined]
