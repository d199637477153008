"""`python -m slinky_iac client`: what a pod of your own needs to be a client of the cluster, as YAML."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from typing import Any, Final

import yaml

from slinky_iac.commands import stack_config
from slinky_iac.config.stack import FIRST_SECRETS
from slinky_iac.errors import ConfigError, StateError
from slinky_iac.specs.clients import client_pod, person_pod
from slinky_iac.text import printable

CODES = (
    "exit codes: 0 printed; 1 the configuration can't be read or has faults, or has no such client or person; 2 wrong"
    " arguments. No cluster is asked, and no key is printed"
)
_HEAD: Final = """\
# For pods in namespace {namespace}: initContainers, volumes and securityContext belong in the pod's spec, volumeMounts and
# env in the container that calls sbatch. It runs with the uid and gid of its person on the cluster, without root.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("name", metavar="NAME", help="client, as clients.NAME of the configuration")
    stack_config.add_source(parser)
    parser.add_argument("--person", metavar="NAME", help="print a complete pod for this person, for `kubectl apply -f -`")
    parser.add_argument("--image", help="image of the person's container; by default the client's image")
    parser.add_argument("--run", metavar="COMMAND", help="what the person's container runs; by default it sleeps")


def run(arguments: argparse.Namespace) -> int:
    """Read and print. Raises ConfigError and StateError; returns the exit code."""
    config = stack_config.given(arguments, taken_for_set=FIRST_SECRETS).config
    client = config.clients.get(arguments.name)
    if client is None:
        if not config.clients:
            raise StateError("this stack has no clients; `clients.NAME` in its file makes one (`slinky docs clients`)")
        known = ", ".join(config.clients)
        raise StateError(f"{printable(arguments.name[:63])} is not a client of this stack, which has: {known}")
    if arguments.person is None:
        sys.stdout.write(_HEAD.format(namespace=client.namespace) + _yaml(client_pod(config, arguments.name, client)))
        return 0
    if arguments.person not in client.people:
        known = ", ".join(client.people) or "none"
        where = f"clients.{arguments.name}.people"
        raise ConfigError((f"{where}: {arguments.person[:32]!r} is not among them ({known}): the pod would have no uid",))
    words = tuple(shlex.split(arguments.run or "sleep infinity"))
    spec = person_pod(config, arguments.name, client, arguments.person, image=arguments.image, command=words)
    called = re.sub("[^a-z0-9-]+", "-", f"{arguments.name}-{arguments.person}".lower())[:63].rstrip("-")
    meta = {"name": called, "namespace": client.namespace}
    sys.stdout.write(_yaml({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))
    return 0


def _yaml(document: Any) -> str:  # noqa: ANN401 - any JSON object
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120)


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, and no references to what was printed before."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
