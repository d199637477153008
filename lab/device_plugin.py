"""A device plugin of the lab's own: kubelets offer GPUs that are /dev/null under another name.

What a vendor's plugin does (kubelet's device plugin API, v1beta1): it registers a resource, lists its devices, and says
which device files a container gets. ``python -m lab.device_plugin RESOURCE COUNT`` is the plugin; it runs in a node.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lab import paths, supervise
from lab.kubernetes import machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.kubernetes.layout import Node

FOLDER: Final = Path("/var/lib/kubelet/device-plugins")
SOCKET: Final = "slinky-lab.sock"
DEVICE: Final = "/dev/nvidia"
"""Beginning of a device's file in a container; its number comes behind it."""
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_TEXT, _FLAG, _MESSAGE = _FIELD.TYPE_STRING, _FIELD.TYPE_BOOL, _FIELD.TYPE_MESSAGE
_OPTIONAL, _REPEATED = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
_FIELDS: Final[dict[str, tuple[tuple[str, int, Any], ...]]] = {
    "Empty": (),
    "DevicePluginOptions": (("pre_start_required", 1, _FLAG), ("get_preferred_allocation_available", 2, _FLAG)),
    "RegisterRequest": (("version", 1, _TEXT), ("endpoint", 2, _TEXT), ("resource_name", 3, _TEXT)),
    "Device": (("ID", 1, _TEXT), ("health", 2, _TEXT)),
    "ListAndWatchResponse": (("devices", 1, "Device"),),
    "ContainerAllocateRequest": (("devices_ids", 1, [_TEXT]),),
    "AllocateRequest": (("container_requests", 1, "ContainerAllocateRequest"),),
    "DeviceSpec": (("container_path", 1, _TEXT), ("host_path", 2, _TEXT), ("permissions", 3, _TEXT)),
    "ContainerAllocateResponse": (("devices", 3, "DeviceSpec"),),
    "AllocateResponse": (("container_responses", 1, "ContainerAllocateResponse"),),
}
"""Messages of k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto, as far as they are used here."""


def _messages() -> dict[str, Any]:
    """A class for each message."""
    file = descriptor_pb2.FileDescriptorProto(name="deviceplugin.proto", package="v1beta1", syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            repeated = isinstance(kind, str | list)  # a message of ours, or a list of a plain type
            plain = kind[0] if isinstance(kind, list) else kind
            message.field.add(
                name=field,
                number=number,
                label=_REPEATED if repeated else _OPTIONAL,
                type=_MESSAGE if isinstance(kind, str) else plain,
                type_name=f".v1beta1.{kind}" if isinstance(kind, str) else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v1beta1.{name}")) for name in _FIELDS}


M: Final = _messages()


@contextmanager
def running(node: Node, resource: str, count: int) -> Iterator[None]:
    """The node has so many devices of a resource inside of this, and none after it."""
    name = f"{node.name}-device-plugin"
    argv = [sys.executable, "-m", "lab.device_plugin", resource, str(count)]
    inside = machine.entered(KUBERNETES.home, node, ["env", f"PYTHONPATH={paths.REPO}", *argv])
    supervise.start(name, inside, restarts=True)
    try:
        yield
    finally:
        supervise.stop(name)


def serve(resource: str, count: int, folder: Path = FOLDER) -> grpc.Server:
    """Start the plugin, and register it with the kubelet behind the folder."""
    socket = folder / SOCKET
    socket.unlink(missing_ok=True)
    server = grpc.server(ThreadPoolExecutor(4))
    over = Event()

    def devices(_request: object, _context: object) -> Iterator[Any]:
        yield M["ListAndWatchResponse"](devices=[M["Device"](ID=str(each), health="Healthy") for each in range(count)])
        over.wait()  # the stream stands for as long as the devices do

    handlers = {
        "GetDevicePluginOptions": _unary("Empty", lambda _request, _context: M["DevicePluginOptions"]()),
        "Allocate": _unary("AllocateRequest", lambda request, _context: allocated(request)),
        "ListAndWatch": grpc.unary_stream_rpc_method_handler(devices, M["Empty"].FromString, _serialized),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", handlers)])
    server.add_insecure_port(f"unix://{socket}")
    server.start()
    with grpc.insecure_channel(f"unix://{folder / 'kubelet.sock'}") as channel:
        register = channel.unary_unary("/v1beta1.Registration/Register", _serialized, M["Empty"].FromString)
        register(M["RegisterRequest"](version="v1beta1", endpoint=SOCKET, resource_name=resource), timeout=20)
    return server


def allocated(request: Any) -> Any:  # noqa: ANN401
    """The device files of each container."""
    answers = []
    for each in request.container_requests:
        specs = [
            M["DeviceSpec"](container_path=f"{DEVICE}{number}", host_path=os.devnull, permissions="rw")
            for number in each.devices_ids
        ]
        answers.append(M["ContainerAllocateResponse"](devices=specs))
    return M["AllocateResponse"](container_responses=answers)


def _unary(request: str, answer: Any) -> "grpc.RpcMethodHandler[Any, Any]":  # noqa: ANN401
    return grpc.unary_unary_rpc_method_handler(answer, M[request].FromString, _serialized)


def _serialized(message: Any) -> bytes:  # noqa: ANN401
    return bytes(message.SerializeToString())


def main(argv: Sequence[str]) -> int:
    """Be the plugin until a signal ends it."""
    resource, count = argv
    server = serve(resource, int(count))
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(None)
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    os._exit(main(sys.argv[1:]))  # a stream that stands would keep the process
