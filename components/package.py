"""The cluster as a package for Pulumi's other languages: a plugin that makes a HybridCluster for a program in YAML,
TypeScript, Go, C# or Java. examples/other-languages is its folder, whose ``__main__.py`` calls :func:`serve`.

The gates don't run in this plugin: the engine starts Pulumi's dynamic provider for them, also where no program runs
(`pulumi destroy`). Which Python that is, the program's own Pulumi.yaml says (docs/adr/0031).
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, Provider, main

from slinky_iac import __version__
from slinky_iac.config.base import docstrings
from slinky_iac.config.package_types import ANY, settings_types
from slinky_iac.config.reading.engine import ARGUMENTS, StackRefused
from slinky_iac.config.stack import SECRET_WORDS
from slinky_iac.engine.engine_process import address_in
from slinky_iac.engine.plugin_process import require_caller

from .hybrid_cluster import EXPORTS
from .hybrid_cluster import HybridCluster as _Cluster
from .inputs import address
from .program_parts import HybridCluster
from .resources import token

TOKEN: Final = token("HybridCluster")
"""The type in a program, and in the URN: the same as of a cluster in a Python program."""
_TEXT: Final = {"type": "string"}
_TYPES: Final[Mapping[Any, Mapping[str, Any]]] = {
    pulumi.Output[str]: _TEXT,
    pulumi.Output[list[str]]: {"type": "array", "items": _TEXT},
    pulumi.Output[dict[str, int]]: {"type": "object", "additionalProperties": {"type": "integer"}},
}
_HOSTS: Final = {"slurmctld": "controller", "slurmdbd": "accounting"}
_ADDRESS: Final = "Address"
_CLUSTER: Final = (
    "A whole hybrid Slurm cluster. Its name is ClusterName of slurm.conf, and can't change later. Secrets are the stack's: "
    "`pulumi config set --secret slinky-iac:slurmKey`. The program's Pulumi.yaml needs `runtime.options.virtualenv`, the "
    "package's environment: the gates run in it."
)
NAMESPACE: Final = "slinky-iac"
"""Whose the SDKs are: without it an SDK for Node.js would be @pulumi/slinky, in a scope of Pulumi's."""
_GO: Final = "example.com/slinky-iac/sdk/go/slinky"
"""Where the SDK for Go says it is. Its host can't be registered (RFC 2606): the SDK is in the program's folder alone."""
IN_PYTHON: Final = (
    "For TypeScript, Go, C#, Java and YAML. A program in Python needs no package: `import slinky_iac` has the same cluster, "
    "with NodeSet and the other parts beside it, in one process with its gates."
)


class Package(Provider):
    """Makes what a program of another language asks for."""

    def __init__(self) -> None:
        super().__init__(__version__, json.dumps(schema()))

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """The cluster. Raises InputPropertiesError where it is refused, and PluginRefused where another process than the
        engine asks."""
        require_caller(address_in(sys.argv[1:]))
        if resource_type != TOKEN:
            raise _refused(f"this package has {TOKEN}, and no {resource_type}")
        try:
            cluster = made(name, inputs, options)
        except StackRefused:
            raise _refused("it wasn't made; the error above says why") from None
        return ConstructResult(cluster.urn, {output: getattr(cluster, attribute) for output, attribute in EXPORTS.items()})


def made(name: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None) -> HybridCluster:
    """The cluster that a program's properties describe. Raises StackRefused as HybridCluster does."""
    return HybridCluster(name, **arguments(inputs), export=False, opts=options)


def _refused(why: str) -> InputPropertiesError:
    return InputPropertiesError(why, [])  # without a list, SDK 3.272 ends in an AttributeError of its own


def arguments(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of HybridCluster, of the properties that a program gives."""
    given = {name: whole(value) for name, value in inputs.items()}
    for host in _HOSTS:
        if (output := given.pop(f"{host}{_ADDRESS}", None)) is not None:
            given[host] = address(pulumi.Output.from_input(output))
    given |= {argument: given.pop(name) for name, argument in ARGUMENTS.items() if name in given}
    own = inspect.signature(HybridCluster.__init__).parameters
    more = {name: given.pop(name) for name in [*given] if name not in own}
    return {**given, "more": more}


def whole(value: Any) -> Any:  # noqa: ANN401 - what a program gives
    """Whole numbers: on the way from a program each number becomes a float (``google.protobuf.Value``)."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: whole(inner) for name, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list) else value


def schema() -> dict[str, Any]:
    """The package's schema, of which `pulumi package add` makes an SDK."""
    name = TOKEN.partition(":")[0]
    sections, types = settings_types(f"{name}:settings")
    kinds, said = inspect.get_annotations(_Cluster, eval_str=True), dict(docstrings(_Cluster))
    outputs = {
        output: {**_TYPES.get(kinds[attribute], ANY), "description": " ".join(said[attribute].split())}
        for output, attribute in EXPORTS.items()
    }
    cluster = {
        "description": _CLUSTER,
        "isComponent": True,
        "inputProperties": {**_hosts(), **_secrets(), **sections},
        "properties": outputs,
        "required": [*outputs],
    }
    return {
        "name": name,
        "namespace": NAMESPACE,
        "displayName": "Slinky",
        "description": f"Hybrid Slurm clusters on Kubernetes. {IN_PYTHON}",
        "version": __version__,
        "types": types,
        "resources": {TOKEN: cluster},
        "language": {
            "nodejs": {"respectSchemaVersion": True},
            "go": {"respectSchemaVersion": True, "importBasePath": _GO},
            "csharp": {"respectSchemaVersion": True},
            "python": {"respectSchemaVersion": True, "readme": IN_PYTHON},
        },
    }


def _hosts() -> dict[str, Any]:
    """The outside hosts in short, as names and as addresses."""
    made: dict[str, Any] = {}
    for host, section in _HOSTS.items():
        short = f"in short for {section}.external.host"
        made[host] = {**_TEXT, "description": f"Where {host} outside runs: {short}."}
        made[f"{host}{_ADDRESS}"] = {
            **_TEXT,
            "description": f"The same where it is an IP address that another resource gives: {short}.",
        }
    return made


def _secrets() -> dict[str, Any]:
    """Secrets that another resource gives."""
    return {
        name: {**_TEXT, "secret": True, "description": f"{_worded(name)}. By default the stack's secret slinky-iac:{name}."}
        for name in ARGUMENTS
    }


def _worded(name: str) -> str:
    return SECRET_WORDS[name][:1].upper() + SECRET_WORDS[name][1:].replace("`", "")


def serve() -> None:
    """Be the plugin, until the engine ends it."""
    main(Package(), sys.argv[1:])
