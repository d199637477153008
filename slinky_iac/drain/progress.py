"""One line of progress on the resource's own line of `pulumi up`, through the engine's log service."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, Protocol

from slinky_iac.drain.plugin_process import engine_address

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
