"""Declares the resources of `stack.yaml`: a type, properties, options, and `${resource.property}` for an output.

It is no part of the program: the packs' tests need stacks that the program itself would never make.
"""

import json
import os
import re
from pathlib import Path

import pulumi
from declared import REGISTER

STACK = json.loads(Path("stack.json").read_text())
KUBERNETES_VERSION, RANDOM_VERSION = os.environ["KUBERNETES_VERSION"], os.environ["RANDOM_VERSION"]
REFERENCE = re.compile(r"\$\{([a-z-]+)\.([A-Za-z]+)\}")
made: dict[str, pulumi.CustomResource] = {}


def resolved(value):
    if isinstance(value, dict):
        return {key: resolved(part) for key, part in value.items()}
    if isinstance(value, list):
        return [resolved(part) for part in value]
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return getattr(made[match[1]], match[2]) if match else value


def wanted_outputs(name):
    """Properties of a resource that others refer to and that it doesn't set itself."""
    return {prop: None for found, prop in REFERENCE.findall(json.dumps(STACK)) if found == name}


def options(type_, body):
    secret = ["data", "stringData"] if type_.endswith(":Secret") else []
    secret += ["result"] if type_.endswith(":RandomPassword") else []
    version = {"kubernetes": KUBERNETES_VERSION, "random": RANDOM_VERSION}.get(type_.split(":")[0])
    return pulumi.ResourceOptions(
        depends_on=[made[other] for other in body.get("dependsOn", []) if other in made],
        protect=body.get("protect"),
        ignore_changes=body.get("ignoreChanges"),
        additional_secret_outputs=secret,
        provider=provider if version == KUBERNETES_VERSION else None,
        version=version,
    )


render = os.environ.get("RENDER_TO")
provider = None
if render:
    provider = pulumi.ProviderResource(
        "kubernetes",
        "rendered",
        {"renderYamlToDirectory": render},
        pulumi.ResourceOptions(version=KUBERNETES_VERSION),
    )
for name, body in STACK["resources"].items():
    type_ = body["type"]
    properties = {**wanted_outputs(name), **resolved(body.get("properties", {}))}
    if body.get("component"):
        pulumi.ComponentResource(type_, name).register_outputs(properties)
        continue
    register = REGISTER.get(type_, lambda n, p, o, t=type_: pulumi.CustomResource(t, n, p, o))
    made[name] = register(name, properties, options(type_, body))
for name, value in STACK.get("outputs", {}).items():
    pulumi.export(name, resolved(value))
