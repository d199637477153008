"""How Slinky's custom resources and this program's gates hang together, as far as a stack shows it.

The names in capitals are known to the program too; ``tests/policies/test_contract.py`` pins them on both sides.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.model import Hidden, Resource, Stack
from slurm_rules.slurm_conf import settings

NODESET_SCALE = "pulumi-python:dynamic/slurm:NodeSetScale"
OUTSIDE_HOSTS = "pulumi-python:dynamic/slurm:OutsideHosts"
OUTSIDE_CONF_OUTPUT = "outsideSlurmConf"
"""Stack output with the lines that an outside slurm.conf must hold."""
JWT_FIELDS = ("jwtKeyRef", "jwtHs256KeyRef")
STACK = "pulumi:pulumi:Stack"

CONTAINERS: Mapping[str, tuple[str, ...]] = {
    "Controller": ("slurmctld", "reconfigure", "logfile"),
    "Accounting": ("slurmdbd", "initconf"),
    "RestApi": ("slurmrestd",),
    "NodeSet": ("slurmd", "logfile"),
    "LoginSet": ("login", "initconf"),
}
"""Containers of each kind of custom resource (api/v1beta1)."""
DEFAULT_MAX_NODE_COUNT = 1024
"""What the operator writes for a slurmctld in Kubernetes (controller_config.go)."""


def reference(resource: Resource, *path: str) -> tuple[str, str]:
    """Namespace and name that a reference means; without a namespace it means the resource's own."""
    return resource.text(*path, "namespace") or resource.namespace, resource.text(*path, "name")


def controller_of(resource: Resource, stack: Stack) -> Resource | None:
    """The Controller that ``controllerRef`` names, if the stack has it."""
    wanted = reference(resource, "spec", "controllerRef")
    return next((c for c in stack.slinky("Controller") if (c.namespace, c.in_cluster_name) == wanted), None)


def belonging_to(controller: Resource, stack: Stack, *kinds: str) -> Iterator[Resource]:
    """Resources of these kinds whose ``controllerRef`` names ``controller``."""
    return (r for r in stack.slinky(*kinds) if controller_of(r, stack) is controller)


def gates_of(nodeset: Resource, stack: Stack) -> list[Resource]:
    """Gates that say they guard this NodeSet."""
    wanted = (nodeset.namespace, nodeset.in_cluster_name)
    return [g for g in stack.of_type(NODESET_SCALE) if (g.text("namespace"), g.text("resource")) == wanted]


def most_nodes(nodeset: Resource, stack: Stack) -> float:
    """How many nodes a NodeSet may have: what it or its gate says, and what its autoscaler may ask for."""
    gates = gates_of(nodeset, stack)
    asked = [gate.number("maxReplicas" if gate.text("owner") == "autoscaler" else "replicas") or 0 for gate in gates]
    return max([nodeset.number("spec", "replicas") or 0, *asked])


def is_external(resource: Resource) -> bool:
    """Whether a Controller or Accounting stands for a daemon outside Kubernetes."""
    return resource.get("spec", "external") is True


def slurm_name(nodeset: Resource) -> str:
    """Name of a NodeSet in Slurm: its pods' host name without the dash, else the resource's name."""
    return nodeset.text("spec", "template", "spec", "hostname").rstrip("-") or nodeset.in_cluster_name


def key_secret(resource: Resource, stack: Stack, field: str) -> Resource | None:
    """The Secret that a key reference names, if the stack has it."""
    return stack.find("Secret", resource.namespace, resource.text("spec", field, "name"))


def jwt_field(resource: Resource) -> str:
    """The field that holds the JWT key's reference; ``jwtKeyRef`` wins, as in the operator."""
    return next((field for field in JWT_FIELDS if resource.names("spec", field)), JWT_FIELDS[0])


def entry(secret: Resource, key: str) -> bytes | Hidden | None:
    """Raw bytes of a Secret's entry, what hides them, or None where there is no such entry."""
    text = secret.peek("stringData", key)
    if isinstance(text, str):
        return text.encode()
    data = secret.peek("data", key)
    if isinstance(data, str):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return data.encode()
    return next((value for value in (text, data) if isinstance(value, Hidden)), None)


def containers(resource: Resource) -> Iterator[tuple[str | int, ...]]:
    """Path of every container that a custom resource of the operator describes."""
    for name in CONTAINERS.get(resource.kind, ()):
        if name in resource.names("spec"):
            yield ("spec", name)
    for field in ("initContainers", "containers"):
        for index in range(resource.count("spec", "template", "spec", field)):
            yield ("spec", "template", "spec", field, index)


def operator_release(stack: Stack) -> Resource | None:
    """The Helm release of slurm-operator, if this stack makes it."""
    return next((r for r in stack.of_type(HELM_RELEASE) if chart_name(r) == "slurm-operator"), None)


def operator_versions(stack: Stack) -> set[str]:
    """Every release of slurm-operator that the stack speaks of: the chart's, and the one its gates are made for."""
    release = operator_release(stack)
    versions = {gate.text("operatorVersion") for gate in stack.of_type(NODESET_SCALE)}
    if release is not None:
        versions.add(release.text("version"))
    return {version.removeprefix("v") for version in versions if version}


def slurm_conf(controller: Resource, stack: Stack) -> str | None:
    """What the stack knows of a cluster's slurm.conf: ``extraConf``, or for an outside slurmctld the lines that were
    rendered for its admin; None where none were."""
    if not is_external(controller):
        return controller.text("spec", "extraConf")
    for stack_resource in stack.of_type(STACK):
        text = stack_resource.text(OUTSIDE_CONF_OUTPUT)
        name = controller.text("spec", "clusterName")
        if text and (not name or settings(text).get("clustername", name) == name):
            return text
    return None


def config_files(controller: Resource, stack: Stack) -> Iterator[tuple[str, str]]:
    """Name and text of the files in the ConfigMaps that a Controller mounts into /etc/slurm, where the stack has them."""
    for index in range(controller.count("spec", "configFileRefs")):
        name = controller.text("spec", "configFileRefs", index, "name")
        config_map = stack.find("ConfigMap", controller.namespace, name)
        for file, text in ((config_map.get("data") if config_map else None) or {}).items():
            if isinstance(text, str):
                yield file, text


def has_cgroups(controller: Resource, stack: Stack) -> bool:
    """Whether jobs of a cluster are held by cgroups, which is Slurm's default (cgroup.conf(5), CgroupPlugin)."""
    files = [settings(text) for name, text in config_files(controller, stack) if name == "cgroup.conf"]
    return not any(file.get("cgroupplugin", "").lower().removeprefix("cgroup/") == "disabled" for file in files)
