"""Rules about the namespace: what it holds of others, and its limits: what Kubernetes would refuse of this stack's own pods
is refused here first.

Sources: slurm-operator ``internal/builder`` (slurmd is privileged; no pod drops capabilities or sets a seccomp profile;
sidecars have no requests); Kubernetes, "Pod Security Standards" and "Resource Quotas".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.others import of_operator, of_others
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.text import some

_COUNTED: Final = frozenset(
    {"pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "services.loadbalancers", "services.nodeports"}
    | {"requests.storage"}
)
_DEVICES: Final = re.compile(r"requests\.[a-z0-9.-]+\.[a-z]+/[A-Za-z0-9_.-]+")
"""A limit of a device plugin's resource, as requests.nvidia.com/gpu: pods that ask for none pass it."""
_COMPUTE: Final = frozenset({"requests.cpu", "requests.memory", "limits.memory", "cpu", "memory"})
"""Limits of what all containers ask for: Kubernetes refuses a pod with one that asks for nothing."""
_SHOWN: Final = 3
"""Objects that a message names."""
_SPARE: Final = 2
"""Pods beside those that a stack keeps: one of a Deployment that is rolled, and one of preflight."""


def pod_security(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The API server makes no pod that a level refuses, and says so to the operator only."""
    cluster = config.cluster
    if cluster.pod_security is None:
        return
    if not cluster.create_namespace:
        yield at("cluster.podSecurity").warning(
            "is ignored: cluster.createNamespace is false, and the namespace's labels are for who made it. Remove it",
            id="pod-security-ignored",
        )
    needed = [f"nodesets.{name}" for name in config.nodesets]
    needed += ["restapi.pod.hostNetwork"] if config.restapi.pod.host_network else []
    needed += [f"logins.{name}.pod.hostNetwork" for name, login in config.logins.items() if login.pod.host_network]
    if cluster.pod_security == "baseline" and needed:
        yield at("cluster.podSecurity").error(
            f"baseline refuses privileged pods and pods on the host network, and {name_of(needed[0])} needs it: no such pod"
            " would be made. Set privileged, or leave it out"
        )


def held(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A namespace that is destroyed takes with it what somebody else made there. Without their keys daemons outside refuse a
    new cluster, so there it is an error; of all else a program may be the maker itself."""
    cluster = config.cluster
    if not cluster.create_namespace or cluster.keep_namespace:
        return
    parts = {"controller", "accounting", "restapi", "nodesets", "logins", "keys"}
    settings = config.model_dump(by_alias=True, exclude_defaults=True, include=parts)
    sssd = config.identity.sssd
    settings["identity"] = {"sssd": sssd.model_dump(by_alias=True)} if sssd else {}
    settings["cluster"] = {"images": {"pullSecrets": cluster.images.pull_secrets}}
    objects = of_others(settings)
    if not objects:
        return
    keys = "" if config.key_source.makes_secrets else f" with keys.source: {config.key_source.setting}"
    said = (
        f"is true (the default){keys}: `pulumi destroy` would delete the namespace, and in it what somebody else made"
        f" ({some(objects, _SHOWN)}). Set it false; where this stack made the namespace already, set"
        " cluster.keepNamespace: true"
    )
    place = at("cluster.createNamespace")
    yield place.error(said) if keys else place.warning(said, id="namespace-of-others")


def of_operators_pods(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What slurm-operator's pods need of others can't be in a namespace that the first update makes."""
    operator = config.operator
    objects = of_operator(operator.values) if config.installs_operator and operator.create_namespace else ()
    if objects:
        yield at("operator.createNamespace").warning(
            f"is true (the default), so the first `pulumi up` makes namespace {name_of(operator.namespace)} without what"
            f" operator.values name ({', '.join(objects[:_SHOWN])}): slurm-operator's pods wait for it, and the update fails"
            f" after {operator.timeout} s. Make namespace and objects first, and set this false; where this stack made the"
            " namespace already, acknowledge this",
            id="namespace-of-others",
        )


def of_kubernetes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Kubernetes keeps names that begin with kube- for itself (Kubernetes, "Namespaces")."""
    for path, name in (("cluster.namespace", config.cluster.namespace), ("operator.namespace", config.operator.namespace)):
        if name.startswith("kube-"):
            yield at(path).error(
                f"is {name_of(name)}, which is Kubernetes' own: `pulumi destroy` would take it along, or nothing could be"
                " made in it. Give a namespace of the cluster's own, for example slurm"
            )


def quota(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A quota that is too small refuses pods of a scale-out, or all of them."""
    limits = config.cluster.quota
    for name in limits:
        if name in _COMPUTE and config.cluster.default_resources:
            for nodeset_name, nodeset in config.nodesets.items():
                if nodeset.resources.cpus is None or nodeset.resources.memory is None:
                    yield at(f"nodesets.{nodeset_name}.resources").error(
                        f"must have cpus and memory with cluster.quota {name}: Kubernetes would refuse its pods"
                    )
        elif name not in _COUNTED and not name.startswith("count/") and _DEVICES.fullmatch(name) is None:
            yield at(f"cluster.quota.{name_of(name)}").error(
                f"is none of {', '.join(sorted(_COUNTED))}, count/RESOURCE.GROUP and requests.DOMAIN/DEVICE. With limits of"
                " CPU or memory Kubernetes refuses each pod with a container that asks for none: set"
                " cluster.defaultResources: true, with which requests.cpu, requests.memory and limits.memory are taken"
            )
    wanted = pods(config)
    given = limits.get("pods", "")
    if given.isdigit() and int(given) < wanted:
        yield at("cluster.quota.pods").error(
            f"is {given}, and this stack may have {wanted} pods (its daemons, replicas or maxReplicas of each NodeSet, login"
            f" pods, and {_SPARE} for updates and preflight): some would never be made. Set {wanted} or more"
        )


def pods(config: StackConfig) -> int:
    """The most pods that a stack has at a time."""
    daemons = len(config.slurmctld.pods) + len(config.slurmdbd.pods)
    workers = sum(nodeset.most for nodeset in config.nodesets.values())
    return daemons + config.restapi.replicas + workers + sum(e.replicas for e in config.logins.values()) + _SPARE


RULES = (of_kubernetes, of_operators_pods, held, pod_security, quota)
