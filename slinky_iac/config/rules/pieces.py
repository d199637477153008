"""Rules over what a stack gives to a pod, by every door (:mod:`.pieces`): what would take the place of the operator's own,
or open the pod's node or Kubernetes to who is in it; and what a release of the operator loses
(:mod:`slinky_iac.config.operator.raw_merge`).

Source: slurm-operator ``internal/builder``, 1.0.1 to 1.2.1 (names of containers and ports, merging); capabilities(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.gates import dropped
from slinky_iac.config.kubernetes.pieces import Piece, listed, mapped
from slinky_iac.config.kubernetes.sysctls import SAFE, dotted, namespace
from slinky_iac.config.kubernetes.types import RELEASE
from slinky_iac.config.operator import raw_merge
from slinky_iac.config.operator.pod_places import fault_of_prefix, fault_of_variable
from slinky_iac.config.pieces import Part, parts
from slinky_iac.config.rules.secrets import is_none
from slinky_iac.config.secret_forms import is_secret
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.text import some

STRONG_CAPABILITIES: Final = frozenset(
    {"ALL", "BPF", "DAC_READ_SEARCH", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO"}
)
"""Capabilities by which root of a container becomes root of its node, or reads what others hold there."""
_IN_SIGHT: Final = "other processes of the node are in sight by it, with their keys"
_PORTS: Final[Mapping[str, int]] = {
    "controller": names.SLURMCTLD_PORT,
    "accounting": names.SLURMDBD_PORT,
    "restapi": names.SLURMRESTD_PORT,
    "nodesets": names.SLURMD_PORT,
    "logins": 22,
}
"""The operator's port of each daemon; its name is the container's."""
_RESOLVERS: Final = ("ClusterFirst", "ClusterFirstWithHostNet")


def _of_pods(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for part in parts(config):
        raw = {"pod": part.raw.pod, "container": part.raw.container}
        for below, why in raw_merge.refused(config.operator_version, part.section, raw):
            yield at(f"{part.path}.raw.{below}").error(why)
        yield from _variables(part)
        yield from _prefixes(part)
        yield from _tokens(part)
        yield from _rights(part)
        yield from _names(part, _own_names(config, part))
        yield from _ports(part)
        yield from _dropped(part)
        yield from _unlike(part)
        yield from _claims(config, part)
        resolver = part.raw.pod.get("dnsPolicy", "ClusterFirst")
        if resolver not in _RESOLVERS:
            yield at(f"{part.path}.raw.pod.dnsPolicy").error(
                f"is {name_of(str(resolver))}: the pod would find no Service of the cluster by its name. Take ClusterFirst,"
                " or leave it out"
            )


def _variables(part: Part) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, variable in part.variables():
        name, is_raw = str(variable.get("name", "")), ".raw." in path
        if fault := fault_of_variable(name, part.section, str(variable.get("value", ""))):
            yield at(path).error(f"has {name_of(name)}: {fault}" if is_raw else f"isn't taken: {fault}")
        elif name in seen:
            yield at(path).error(f"has {name_of(name)}, which is set already: Kubernetes takes the last of two. Remove one")
        elif is_raw:
            yield from _in_clear(path, variable)
        seen.add(name)
    for container, where in part.beside():
        for variable in listed(container, "env"):
            yield from _in_clear(f"{part.path}.raw.{where}", variable)


def _in_clear(path: str, variable: Piece) -> Iterator[Finding]:
    name, value = str(variable.get("name", "")), str(variable.get("value", ""))
    if is_secret(name) and not is_none(value):
        yield at(path).exposed(
            f"has {name_of(name)}, which is named like a secret: everyone who sees the pod, a preview or the state can read"
            " its value. Use valueFrom.secretKeyRef"
        )


def _prefixes(part: Part) -> Iterator[Finding]:
    for source in listed(part.raw.container, "envFrom"):
        prefix = str(source.get("prefix", ""))
        if fault := fault_of_prefix(prefix, part.section):
            yield at(f"{part.path}.raw.container.envFrom").error(f"has the prefix {name_of(prefix)}: {fault}")


def _tokens(part: Part) -> Iterator[Finding]:
    for path, volume in part.sources():
        if any("serviceAccountToken" in source for source in listed(mapped(volume, "projected"), "sources")):
            yield at(path).error(
                f"has {name_of(str(volume.get('name')))} with a serviceAccountToken: jobs and users would have the pod's"
                " token. Remove it"
            )


def _rights(part: Part) -> Iterator[Finding]:
    """Of a NodeSet slurmd's container is left out: it is privileged, and `privileged` says otherwise."""
    for container, where in part.containers():
        if part.section == "nodesets" and where == "container":
            continue
        path, context = f"{part.path}.raw.{where}.securityContext", mapped(container, "securityContext")
        if context.get("privileged"):
            yield at(f"{path}.privileged").error(f"isn't taken here: {_IN_SIGHT}. Leave it out")
        if strong := _strong(context):
            yield at(f"{path}.capabilities").error(f"adds {', '.join(strong)}: {_IN_SIGHT}. Remove it")


def _strong(context: Piece) -> list[str]:
    added = mapped(context, "capabilities").get("add")
    called = [str(capability).upper().removeprefix("CAP_") for capability in added] if isinstance(added, list) else []
    return [capability for capability in called if capability in STRONG_CAPABILITIES]


def _own_names(config: StackConfig, part: Part) -> set[str]:
    containers = set(part.own.containers)
    if config.identity.passwd is not None:
        containers.add("users")
    return containers | ({"sssd"} if config.identity.sssd is not None and part.section == "controller" else set())


def _names(part: Part, own: set[str]) -> Iterator[Finding]:
    for container, where in part.beside():
        name = str(container.get("name", ""))
        if name in own:
            yield at(f"{part.path}.raw.{where}").error(
                f"has {name_of(name)}, the name of a container that the pod has already: Kubernetes would refuse the pod."
                " Give it another name"
            )
        own.add(name)


def _ports(part: Part) -> Iterator[Finding]:
    """Of all containers: they share the pod's address, and Services and probes select a port by its name."""
    number, name = _PORTS[part.section], part.own.container
    for container, where in part.containers():
        for port in listed(container, "ports"):
            if number == port.get("containerPort") or name == port.get("name"):
                yield at(f"{part.path}.raw.{where}.ports").error(
                    f"has {name}'s port {number}, or its name, which is the operator's own: its Service and its probes would"
                    " find another port, and the daemon would be restarted. Remove it"
                )


def _dropped(part: Part) -> Iterator[Finding]:
    """What an API server with its gates as they come leaves out of a pod."""
    gates = [
        (f"{part.path}.raw.{name}{below}", gate)
        for name, kind in _KINDS
        for below, gate in dropped(kind, getattr(part.raw, name))
    ]
    gates += [
        (f"{part.path}.volumes", gate) for volume in part.volumes or () for _, gate in dropped("Volume", dict(volume.source))
    ]
    for path, gate in dict.fromkeys(gates):
        yield at(path).warning(
            f"is dropped by Kubernetes {RELEASE} without a word unless its API server and kubelets have the feature gate"
            f" {gate}: the pod would be without it",
            id="feature-gate",
        )


_KINDS: Final = (("pod", "PodSpec"), ("container", "Container"))


def _unlike(part: Part) -> Iterator[Finding]:
    """What Kubernetes takes, and what then waits for something that isn't there in most clusters."""
    if part.raw.pod.get("schedulingGates"):
        yield at(f"{part.path}.raw.pod.schedulingGates").warning(
            "keeps each pod unscheduled until a controller of yours removes the gates from it",
            id="scheduling-gate",
        )
    sysctls = [str(sysctl.get("name") or "") for sysctl in listed(mapped(part.raw.pod, "securityContext"), "sysctls")]
    asked = [name for name in sysctls if namespace(name) and dotted(name) not in SAFE]
    if asked:
        yield at(f"{part.path}.raw.pod.securityContext.sysctls").warning(
            f"has {some(map(name_of, asked), 3)}, which a kubelet sets only where its configuration has it in"
            " allowedUnsafeSysctls: elsewhere each pod fails (SysctlForbidden)",
            id="unsafe-sysctl",
        )
    user = mapped(part.raw.container, "securityContext").get("runAsUser")
    if part.section == "nodesets" and user:
        yield at(f"{part.path}.raw.container.securityContext.runAsUser").warning(
            f"is {user}: slurmd starts jobs of others as root only, and as another user it ends unless SlurmdUser of"
            " slurm.conf is that one",
            id="slurmd-not-root",
        )


def _claims(config: StackConfig, part: Part) -> Iterator[Finding]:
    """A claim of devices that all pods of a set share is allocated once."""
    kind, _, name = part.path.partition(".")
    if kind == "nodesets":
        nodeset = config.nodesets[name]
        several = nodeset.on_each_node or max(nodeset.replicas, nodeset.max_replicas or 0) > 1
    else:
        several = kind == "logins" and config.logins[name].replicas > 1
    for number, claim in enumerate(listed(part.raw.pod, "resourceClaims")):
        if several and claim.get("resourceClaimName"):
            yield at(f"{part.path}.raw.pod.resourceClaims[{number}].resourceClaimName").warning(
                f"is {name_of(str(claim['resourceClaimName']))}, one claim for all pods of {part.path}: Kubernetes gives it"
                " devices once, and pods on other nodes stay Pending. For devices of each pod's own name a"
                " ResourceClaimTemplate in resourceClaimTemplateName",
                id="claim-shared",
            )


RULES = (_of_pods,)
