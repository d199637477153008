"""An engine played by a process of its own: it listens, starts the plugin as Pulumi's script does, and calls it.

`python played_engine.py FOLDER`. Commands by line on standard input, an answer a line on standard output.
"""

import base64
import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2 as proto
from pulumi.runtime.proto import provider_pb2_grpc

PROVIDER = """
import os, pathlib, time
from pulumi.dynamic import CreateResult, ResourceProvider
from slinky_iac.engine import plugin_process

class Waits(ResourceProvider):
    def create(self, props):
        plugin_process.prepare()
        here = pathlib.Path(props["folder"])
        (here / f"begun-{props['seconds']:g}").touch()
        end = time.monotonic() + props["seconds"]
        while time.monotonic() < end:
            if plugin_process.pause(0.2):
                raise RuntimeError("interrupted")
            if not plugin_process.engine_lives():
                (here / "orphaned").touch()
                raise RuntimeError("the engine is gone")
        return CreateResult(str(os.getpid()), {})

class Other(Waits):
    pass

class Unnamed(ResourceProvider):
    def create(self, props):
        return CreateResult("unnamed", {})
"""


def request(folder: str, pickled: bytes, seconds: float) -> proto.CreateRequest:
    """A call to make the test's resource, which takes so many seconds."""
    props = struct_pb2.Struct()
    props.update({"__provider": base64.b64encode(pickled).decode(), "folder": folder, "seconds": seconds})
    return proto.CreateRequest(urn="urn:pulumi:a::b::pulumi-python:dynamic:Resource::c", properties=props)


def by_name(name: str) -> bytes:
    """The pickle of an instance of the provider's module, by reference."""
    return b"\x80\x04\x8c\x08provides\x8c" + bytes([len(name)]) + name.encode() + b"\x93)\x81."


def call(port: int, folder: str, what: str, seconds: float) -> str:
    """One call: `Cancel`, `Configure`, `code`, or the name of a provider class. What was answered."""
    stub = provider_pb2_grpc.ResourceProviderStub(grpc.insecure_channel(f"127.0.0.1:{port}"))
    try:
        if what == "Cancel":
            stub.Cancel(empty_pb2.Empty(), timeout=30)
            return "cancelled"
        if what == "Configure":
            stub.Configure(proto.ConfigureRequest(), timeout=30)
            return "configured"
        pickled = pickle.dumps(Runs(folder)) if what == "code" else by_name(what)
        return f"made {stub.Create(request(folder, pickled, seconds), timeout=60).id}"
    except grpc.RpcError as error:
        return f"refused: {error.details()}".replace("\n", " ")


class Runs:
    """Code in a pickle."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.folder}/code-was-run",)


def main(folder: str) -> None:
    """Serve the commands of the test."""
    Path(folder, "provides.py").write_text(PROVIDER)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        script = f'"{sys.executable}" -u -m pulumi.dynamic {address} 2> plugin.err'
        shell = subprocess.Popen(
            ["/bin/sh", "-c", f"{script}\n:"], cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert shell.stdout is not None
        port = int(shell.stdout.readline())
        print(json.dumps({"port": port, "shell": shell.pid, "address": address}), flush=True)
        for line in sys.stdin:
            what, seconds = line.split()
            print(call(port, folder, what, float(seconds)), flush=True)
        shell.kill()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    else:  # somebody else: one call, as the user of that number
        grpc.insecure_channel("127.0.0.1:1").close()  # loads what that user may not read
        uid = int(sys.argv[1])
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        print(call(int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5])))
