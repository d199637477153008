"""What a gate can know and do about the process it runs in: Pulumi's dynamic provider plugin, one an engine phase.

That process (``python -m pulumi.dynamic ENGINE_ADDRESS``) has seven limits that matter to a drain which takes hours: it
serves four calls at a time, its ``Cancel`` does nothing, its log calls have no engine, it puts a traceback before every
error, it knows nothing of a resource that is half made, it outlives its engine, and it takes calls, with pickles in them,
from every user of the machine. Each is met here by a small step into what SDK 3.272 leaves reachable. Where a later SDK
looks different, the step is not taken and the documented limit holds: four at a time, the deadline as the only bound,
progress on stderr, the message as the last line of a traceback, no gate in the state after a failed wait for its nodes. The
last two are of safety: without their step no call is served. A test with the real engine pins all seven.

The steps are taken in the first call for a provider of this project. Until then, for the seconds from the plugin's start to
that call, the plugin is as Pulumi made it.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, Protocol

from slinky_iac import causes
from slinky_iac.engine import engine_process
from slinky_iac.engine.engine_process import EngineProcess
from slinky_iac.engine.provider_pickle import is_ours, reference
from slinky_iac.errors import PluginRefused, SlinkyError
from slinky_iac.text import one_line, plain, printable

_CANCELLED: Final = threading.Event()
"""Set when the engine tells the plugin to cancel (first Ctrl-C, SIGTERM to pulumi)."""
_WAKE: Final = threading.Event()
"""Set then, and when the engine has ended: no wait goes on."""

GRACE_S: Final = 30.0
"""Longest time that a call may go on after the engine's end: it ends a write that it has begun, and begins none."""
OWN_PROVIDERS: Final = "SLINKY_IAC_PROVIDERS"
"""Environment variable: dotted names of the providers of a site's own dynamic resources, with commas between them."""
UNKNOWN: Final = 2
"""gRPC's status code with which the plugin ends a call that raised."""
WORKERS: Final = 64
"""Calls served at once. Each is a thread that sleeps between two polls, so the number bounds nothing but NodeSets."""


def pause(seconds: float) -> bool:
    """Wait, but not past a cancel or the engine's end; returns whether there was a cancel."""
    _WAKE.wait(seconds)
    return _CANCELLED.is_set()


def engine_address() -> str | None:
    """Address of the engine that started this plugin; None outside a plugin."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is None or spec.name != "pulumi.dynamic.__main__":
        return None
    return engine_process.address_in(sys.argv[1:]) or None


@functools.cache
def _engine() -> EngineProcess | None:
    address = engine_address()
    return None if address is None else engine_process.found(address)


def engine_lives(timeout: float = 1.0) -> bool:
    """Whether the engine that started this plugin has not ended. After its SIGKILL the plugin must not go on acting."""
    address = engine_address()
    if address is None:
        return True
    if engine_process.KNOWN:
        engine = _engine()
        return engine is not None and engine.lives()
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
    """Let more than four gates wait at once, hear of Ctrl-C, let errors stand alone, end with the engine, and serve only
    it. Called at the beginning of every provider call. Raises PluginRefused where the last two can't be."""
    if engine_address() is not None:
        _shorten_errors()
        _admit()
        _end_with_engine()
        _widen_pool()
        _hear()


@functools.cache
def _admit() -> None:
    """Let every later call be looked at before its provider is unpickled. Raises PluginRefused, also for this call."""
    main: Any = sys.modules["__main__"]
    serve = getattr(main, "get_provider", None)
    if not isinstance(serve, types.FunctionType):
        raise PluginRefused(
            "this release of Pulumi's Python SDK serves providers in a way that this program doesn't know, so it can't tell"
            " who calls. Nothing was changed. Install the pulumi that the project's requirements name"
        )

    def admitted(props: dict[str, Any], config: dict[str, Any]) -> object:
        require_engine(_context())
        require_known(props.get("__provider"))
        return serve(props, config)

    require_engine(_context())
    for served in tuple(getattr(main, "_PROVIDER_CACHE", ())):  # by what the first gate's call can't have looked at
        require_known(served, did="was loaded before a gate's, and nothing more is done")
    main.get_provider = admitted


def require_engine(context: Any) -> None:  # noqa: ANN401 - gRPC's, which has no type of its own here
    """Raises PluginRefused where the call of this gRPC context comes from another process than the engine."""
    if why := stranger(context):
        raise PluginRefused(why)


def require_caller(address: str) -> None:
    """The same for the call that this thread serves in a plugin of another kind, which the engine at ``address`` started."""
    if why := _stranger(engine_process.found(address), _context()):
        raise PluginRefused(why)


def stranger(context: Any) -> str:  # noqa: ANN401
    """Why a call isn't served, where it comes from another process than the engine or the kernel doesn't say; else empty."""
    return _stranger(_engine(), context)


def _stranger(engine: EngineProcess | None, context: Any) -> str:  # noqa: ANN401
    if not engine_process.KNOWN:
        return ""  # docs/security.md says so
    try:
        if engine is not None and context is not None and engine.calls_from(context.peer()):
            return ""
    except OSError as fault:
        return (
            f"the kernel doesn't say who calls this plugin ({causes.of_file(fault)}). Nothing was changed. Run `pulumi`"
            " where /proc shows the sockets of one's own processes"
        )
    return (
        "this call doesn't come from the pulumi process that started this plugin, and was not served. If it does, /proc of"
        " this machine doesn't show the sockets of one's own processes: run `pulumi` where it does"
    )


def require_known(pickled: object, did: str = "was not loaded") -> None:
    """Raises PluginRefused where a ``__provider`` is not one of this project's, nor one that the site names. ``did``: what
    has become of it."""
    name = reference(pickled) if isinstance(pickled, str) else None
    if name is not None and (is_ours(name) or name in os.environ.get(OWN_PROVIDERS, "").split(",")):
        return
    what = "holds code, or values" if name is None else f"names {plain(name, 80)!r}"
    raise PluginRefused(
        f"the state or the program has a dynamic provider that isn't this project's ({what}); it {did}. Run"
        " `slinky verify-state`. If it is your own: put its class, without attributes, into a module, and name it"
        f" wherever `pulumi` runs: {OWN_PROVIDERS}=MODULE.CLASS"
    )


@functools.cache
def _end_with_engine() -> None:
    engine = _engine()
    if engine is not None:
        threading.Thread(target=_follow, args=(engine,), name="end-with-engine", daemon=True).start()


def _follow(engine: EngineProcess) -> None:
    while engine.lives():
        time.sleep(1)
    _WAKE.set()
    end = time.monotonic() + GRACE_S
    while time.monotonic() < end and any(_contexts()):
        time.sleep(0.1)
    os._exit(1)


def _widen_pool() -> None:
    # A worker thread of an executor holds a weak reference to it as its first argument (concurrent/futures/thread.py).
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    executor = reference() if callable(reference) else None
    if isinstance(executor, ThreadPoolExecutor) and getattr(executor, "_max_workers", WORKERS) < WORKERS:
        executor._max_workers = WORKERS
        # An executor adds a thread only when it is given work: for what waits already, nothing else would.
        with executor._shutdown_lock:
            for _ in range(executor._work_queue.qsize()):
                executor._adjust_thread_count()


def cancel() -> None:
    """End every wait of this process, as interrupted."""
    _CANCELLED.set()
    _WAKE.set()


def _cancel_heard(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    import grpc  # noqa: PLC0415 - the code runs with another module's globals
    from google.protobuf import empty_pb2  # noqa: PLC0415

    import slinky_iac.engine.plugin_process as ours  # noqa: PLC0415, PLW0406

    if why := ours.stranger(context):
        context.abort(grpc.StatusCode.PERMISSION_DENIED, why)
    ours.cancel()
    return empty_pb2.Empty()


def _configure_heard(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    import grpc  # noqa: PLC0415

    import slinky_iac.engine.plugin_process as ours  # noqa: PLC0415, PLW0406

    if why := ours.stranger(context):
        context.abort(grpc.StatusCode.PERMISSION_DENIED, why)
    return ours.REPLACED["Configure"](self, request, context)


REPLACED: Final[dict[str, Callable[..., object]]] = {}
"""The plugin's own methods, by name."""


def _hear() -> None:
    # gRPC holds the bound methods since registration, so their class's attributes are too late to change; their code isn't.
    servicer = getattr(sys.modules["__main__"], "DynamicResourceProviderServicer", None)
    for name, heard in (("Cancel", _cancel_heard), ("Configure", _configure_heard)):
        method = getattr(servicer, name, None)
        if name not in REPLACED and isinstance(method, types.FunctionType) and not method.__code__.co_freevars:
            REPLACED[name] = types.FunctionType(method.__code__, method.__globals__, name)
            method.__code__ = heard.__code__


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
        why = one_line(str(fault))
        print(f"a resource that is half made can't be kept in the state: {why}", file=sys.stderr, flush=True)
        return
    context.set_trailing_metadata((("grpc-status-details-bin", details),))


def _context() -> Any:  # noqa: ANN401 - gRPC's, which has no type of its own here
    """The gRPC context of the call that this thread serves; None for no call."""
    return _context_of(sys._getframe())


def _contexts() -> Iterator[object]:
    """Those of all calls that are being served."""
    return filter(None, map(_context_of, sys._current_frames().values()))


def _context_of(frame: types.FrameType | None) -> Any:  # noqa: ANN401
    while frame is not None:
        context = frame.f_locals.get("context")
        if hasattr(context, "set_trailing_metadata"):
            return context
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
