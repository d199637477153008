"""The provider `random` for one resource type, RandomPassword: enough for keys that a stack makes itself.

Passwords come from the operating system's random source. `result` and `bcryptHash` are sent to the engine as secrets,
whether or not the SDK asks for it, and the ID is always "none". Protocol: pulumi/provider.proto.
"""
# ruff: noqa: ARG002 - gRPC hands request and context to every method

import importlib.metadata
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from random import SystemRandom

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as proto

from lab.standins import MARK, random_password

TYPE = "random:index/randomPassword:RandomPassword"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the protocol writes a value that a preview can't know."""
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"


def wire(message: struct_pb2.Struct) -> dict[str, object]:
    """A property map as sent, without the SDK's own keys (`__defaults` and the like)."""
    return {name: value for name, value in json_format.MessageToDict(message).items() if not name.startswith("__")}


def plain(value: object) -> object:
    """`value` without its secret marks, at any depth."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return plain(value["value"])
        return {name: plain(item) for name, item in value.items()}
    return value


def secret(value: str) -> dict[str, object]:
    """`value` marked as secret: the engine encrypts it in state and hides it everywhere."""
    return {SIGNATURE: SECRET, "value": value}


def has_unknown(value: object) -> bool:
    """Whether a preview has yet to learn some part of `value`."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    return value == UNKNOWN


def struct(values: Mapping[str, object]) -> struct_pb2.Struct:
    """The wire form of a property map."""
    return json_format.ParseDict(dict(values), struct_pb2.Struct())


def arguments(properties: Mapping[str, object]) -> dict[str, object]:
    """The arguments of RandomPassword among the properties of a resource, without secret marks."""
    return {name: plain(properties[name]) for name in random_password.ARGUMENTS if name in properties}


class RandomProvider(provider_pb2_grpc.ResourceProviderServicer):
    """The service. What it does not override (Invoke, Call, Construct, GetSchema …) answers "unimplemented"."""

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        """The version of the pip package that asks for us, or the engine would warn, marked as a stand-in."""
        return plugin_pb2.PluginInfo(version=f"{importlib.metadata.version('pulumi-random')}+{MARK}")

    def CheckConfig(self, request: proto.CheckRequest, context: grpc.ServicerContext) -> proto.CheckResponse:
        """The provider has no configuration of its own."""
        return proto.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: proto.DiffRequest, context: grpc.ServicerContext) -> proto.DiffResponse:
        """A new version or option never replaces passwords."""
        return proto.DiffResponse(changes=proto.DiffResponse.DIFF_NONE)

    def Configure(self, request: proto.ConfigureRequest, context: grpc.ServicerContext) -> proto.ConfigureResponse:
        """Secrets arrive and leave marked, and a preview is asked like an update."""
        return proto.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: proto.CheckRequest, context: grpc.ServicerContext) -> proto.CheckResponse:
        """Fill in defaults; faults are found as soon as all arguments are known."""
        _refuse_other_types(request.urn, context)
        inputs = random_password.with_defaults(wire(request.news))
        bare = {name: plain(value) for name, value in inputs.items()}
        found = [] if has_unknown(bare) else random_password.faults(bare)
        failures = [proto.CheckFailure(property=fault.argument, reason=fault.reason) for fault in found]
        return proto.CheckResponse(inputs=struct(inputs), failures=failures)

    def Diff(self, request: proto.DiffRequest, context: grpc.ServicerContext) -> proto.DiffResponse:
        """Any changed argument replaces the password."""
        changed = random_password.changed(arguments(wire(request.olds)), arguments(wire(request.news)))
        changed = [name for name in changed if name not in request.ignoreChanges]
        if not changed:
            return proto.DiffResponse(changes=proto.DiffResponse.DIFF_NONE)
        kind = proto.PropertyDiff.UPDATE_REPLACE
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_SOME,
            diffs=changed,
            replaces=changed,
            detailedDiff={name: proto.PropertyDiff(kind=kind, inputDiff=True) for name in changed},
            hasDetailedDiff=True,
        )

    def Create(self, request: proto.CreateRequest, context: grpc.ServicerContext) -> proto.CreateResponse:
        """Make a password; in a preview, say that there will be one."""
        _refuse_other_types(request.urn, context)
        inputs = wire(request.properties)
        if request.preview:
            made = {name: UNKNOWN for name in random_password.SECRET_OUTPUTS}
            return proto.CreateResponse(id="", properties=struct({**inputs, **made}))
        result = random_password.generate(arguments(inputs), SystemRandom())
        outputs = {"result": secret(result), "bcryptHash": secret(random_password.bcrypt_hash(result))}
        return proto.CreateResponse(id=random_password.ID, properties=struct({**inputs, **outputs}))

    def Read(self, request: proto.ReadRequest, context: grpc.ServicerContext) -> proto.ReadResponse:
        """What the state holds: there is nothing outside of it to compare with. Import is refused."""
        if not request.properties.fields:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"{request.urn}: the lab's stand-in for pulumi-random imports nothing, and nothing was imported. "
                "Next: import with the official provider (pulumi plugin install resource random)",
            )
        return proto.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Update(self, request: proto.UpdateRequest, context: grpc.ServicerContext) -> proto.UpdateResponse:
        """Never needed: every change replaces. What stays is what was there."""
        return proto.UpdateResponse(properties=request.olds)

    def Delete(self, request: proto.DeleteRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """The password is gone with its state."""
        return empty_pb2.Empty()

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """No call lasts long enough to be cancelled."""
        return empty_pb2.Empty()


def _refuse_other_types(urn: str, context: grpc.ServicerContext) -> None:
    """Abort unless the URN's innermost type is RandomPassword."""
    kind = urn.split("::")[2].rpartition("$")[2] if urn.count("::") >= 3 else urn
    if kind != TYPE:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"{urn}: the lab's stand-in for pulumi-random knows {TYPE} only, not {kind}; nothing was made. "
            "Next: install the official provider (pulumi plugin install resource random), or use RandomPassword",
        )


def main() -> None:
    """Serve until the engine stops us. Where it dies, this lives on, as the official one does."""
    server = grpc.server(ThreadPoolExecutor(max_workers=16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(RandomProvider(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop(grace=None)


if __name__ == "__main__":
    main()
