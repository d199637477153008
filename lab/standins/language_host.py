"""The Python language host: what an engine starts, once an operation or more, to run programs and plugins.

Protocol: the engine starts `pulumi-language-python [flags] ENGINE_ADDRESS` in the program's directory and reads one
line with a port from stdout; whatever is printed later is shown to the user. Facts in facts/pulumi.md#language-host.
"""
# ruff: noqa: ARG002 - gRPC hands request and context to every method

import functools
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import IO

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import language_pb2 as proto
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

from lab.standins import BAIL, VERSION, interpreter
from lab.standins.programs import Programs

RUNNER = Path(__file__).with_name("pulumi-language-python-exec")
HEALTH = 300.0
"""Seconds between two looks at the engine's health: rpcutil.Healthcheck in the official host's main."""
MAX_MESSAGE = 400 << 20
"""Bytes; as the engine and the SDK set it."""


def options(info: proto.ProgramInfo) -> dict[str, object]:
    """`runtime.options` as plain values."""
    return dict(json_format.MessageToDict(info.options)) if info.HasField("options") else {}


def find(info: proto.ProgramInfo) -> interpreter.Interpreter:
    """The Python for a program. Raises NoInterpreterError."""
    return interpreter.find(Path(info.root_directory), options(info), os.environ)


def run_argv(request: proto.RunRequest, python: Path, engine: str) -> list[str]:
    """The command that runs one program. Configuration is not in it: argv is readable for every user of a machine."""
    flags = {
        "monitor": request.monitor_address,
        "engine": engine,
        "project": request.project,
        "root_directory": request.info.root_directory,
        "stack": request.stack,
        "pwd": request.pwd,
        "dry_run": str(request.dryRun).lower(),
        "parallel": str(request.parallel),
        "organization": request.organization,
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", value)]
    return [str(python), "-u", str(RUNNER), *words, request.info.entry_point or ".", *request.args]


def plugin_argv(request: proto.RunPluginRequest, python: Path) -> list[str]:
    """The command for a policy pack (kind "analyzer") or for a provider written in Python."""
    if request.kind == "analyzer":
        return [str(python), "-u", "-m", "pulumi.policy", *request.args, request.info.program_directory]
    return [str(python), "-u", request.info.program_directory, *request.args]


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The service. Methods that only code generators and packagers call stay unimplemented."""

    def __init__(self, engine: str, programs: Programs) -> None:
        self._engine = engine
        self._programs = programs

    def Handshake(
        self, request: proto.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> proto.LanguageHandshakeResponse:
        """Called only when an engine attaches to a running host (PULUMI_DEBUG_LANGUAGES): brings its address.

        Such a host outlives its engines: the person who started it by hand ends it.
        """
        self._engine = request.engine_address
        return proto.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        """A version that says it is a stand-in."""
        return plugin_pb2.PluginInfo(version=VERSION)

    def About(self, request: proto.AboutRequest, context: grpc.ServicerContext) -> proto.AboutResponse:
        """The interpreter, as `pulumi about` shows it."""
        version = sys.version.split()[0]
        return proto.AboutResponse(
            executable=sys.executable, version=version, metadata={"language-host": "slinky-iac lab stand-in"}
        )

    def GetRequiredPackages(
        self, request: proto.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> proto.GetRequiredPackagesResponse:
        """None: nothing is fetched ahead of time; providers are found by name when a resource needs them."""
        return proto.GetRequiredPackagesResponse()

    def GetProgramDependencies(
        self, request: proto.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> proto.GetProgramDependenciesResponse:
        """The packages of the program's environment; those that no other one requires, unless all are asked for."""
        try:
            python = find(request.info).python
        except interpreter.NoInterpreterError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        which = "all" if request.transitiveDependencies else "direct"
        listing = subprocess.run(
            [str(python), "-c", interpreter.DEPENDENCIES, which], check=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        return proto.GetProgramDependenciesResponse(
            dependencies=[proto.DependencyInfo(name=name, version=version) for name, version in json.loads(listing.stdout)]
        )

    def InstallDependencies(
        self, request: proto.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[proto.InstallDependenciesResponse]:
        """`pulumi install`: venv and pip, their output streamed."""
        directory = Path(request.directory)
        root = Path(request.info.root_directory or directory)
        for argv in interpreter.install_commands(directory, root, options(request.info)):
            process = self._programs.start(
                argv, cwd=directory, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            context.add_callback(functools.partial(self._programs.stop, process))
            assert process.stdout is not None
            for line in process.stdout:
                yield proto.InstallDependenciesResponse(stdout=line)
            code = self._programs.wait(process)
            if code:
                context.abort(grpc.StatusCode.ABORTED, f"{' '.join(argv)} exited with code {code}; its output is above")

    def Run(self, request: proto.RunRequest, context: grpc.ServicerContext) -> proto.RunResponse:
        """Run a program to its end; stopped when the call is dropped."""
        try:
            chosen = find(request.info)
            env = chosen.environ(os.environ) | {
                "PULUMI_CONFIG": json.dumps(dict(request.config)),
                "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
            }
            process = self._programs.start(run_argv(request, chosen.python, self._engine), cwd=request.pwd, env=env)
        except (interpreter.NoInterpreterError, OSError) as error:
            return proto.RunResponse(error=f"the program could not be started: {error}")
        if not context.add_callback(lambda: self._programs.stop(process)):
            self._programs.stop(process)
        code = self._programs.wait(process)
        if code in (0, BAIL):
            return proto.RunResponse(bail=code == BAIL)
        return proto.RunResponse(error=f"program exited with non-zero exit code: {code}")

    def RunPlugin(self, request: proto.RunPluginRequest, context: grpc.ServicerContext) -> Iterator[proto.RunPluginResponse]:
        """Run a policy pack or provider; its output is streamed, then its exit code."""
        try:
            chosen = find(request.info)
            base = dict(pair.split("=", 1) for pair in request.env if "=" in pair)
            process = self._programs.start(
                plugin_argv(request, chosen.python),
                cwd=request.info.program_directory if request.kind == "analyzer" else request.pwd,
                env=chosen.environ(base),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (interpreter.NoInterpreterError, OSError) as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"the plugin could not be started: {error}")
        if not context.add_callback(lambda: self._programs.stop(process)):
            self._programs.stop(process)
        yield from _chunks(process)
        yield proto.RunPluginResponse(exitcode=self._programs.wait(process))

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Ctrl-C, and the end of each operation: SIGINT now, SIGKILL after the grace. The answer does not wait for it.

        The kill matters: a program whose hook hangs would keep the engine waiting for ever.
        """
        threading.Thread(target=self._programs.stop_all, daemon=True).start()
        return empty_pb2.Empty()


def _chunks(process: subprocess.Popen[bytes]) -> Iterator[proto.RunPluginResponse]:
    """Both outputs of a process as they come, until both are closed."""
    chunks: queue.Queue[proto.RunPluginResponse | None] = queue.Queue()

    def pump(stream: IO[bytes], *, is_stdout: bool) -> None:
        while chunk := os.read(stream.fileno(), 1 << 16):
            chunks.put(proto.RunPluginResponse(stdout=chunk) if is_stdout else proto.RunPluginResponse(stderr=chunk))
        chunks.put(None)

    for stream in (process.stdout, process.stderr):
        assert stream is not None
        threading.Thread(target=pump, args=(stream,), kwargs={"is_stdout": stream is process.stdout}, daemon=True).start()
    for _ in range(2):
        while (chunk := chunks.get()) is not None:
            yield chunk


def engine_address(argv: Sequence[str]) -> str:
    """The engine's host:port among the host's arguments: the last one that isn't a flag; empty when there is none."""
    return next((arg for arg in reversed(argv) if not arg.startswith("-")), "")


def follow(engine: str, stopping: threading.Event, period: float = HEALTH) -> None:
    """Set `stopping` when the engine takes no connection any more; looked at once a `period`, as the official host does."""
    host, _, port = engine.rpartition(":")
    while not stopping.wait(period):
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError:
            stopping.set()


def main() -> None:
    """Serve until told to stop (SIGINT, SIGTERM) or until the engine is gone; then end every child, then ourselves."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
        stopping.set()

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, stop)
    programs = Programs()
    engine = engine_address(sys.argv[1:])
    if engine:
        threading.Thread(target=follow, args=(engine, stopping), daemon=True).start()
    server = grpc.server(
        ThreadPoolExecutor(max_workers=32),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)],
    )
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageHost(engine, programs), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    stopping.wait()
    programs.stop_all()
    server.stop(grace=0.5).wait()


if __name__ == "__main__":
    main()
