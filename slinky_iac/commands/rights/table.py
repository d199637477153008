"""Who needs which verb of what. A row here is a rule of a Role: rows are data, and one home for each. Pure.

pulumi-kubernetes makes and changes objects by server-side apply: a PATCH, which the API server takes for `create` where
there is none. Both carry the object's name, so a Role may name it (watched in the API server's audit log). A POST, as Helm
makes it, has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from slinky_iac import names
from slinky_iac.blueprint.objects import objects
from slinky_iac.cluster.partition_closing import place
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import DAEMON_KEYS, SLURM
from slinky_iac.parts.registry import parts_of
from slinky_iac.specs.operator import service_monitor_stub
from slinky_iac.specs.rights import CORE, Right, Use

_RBAC: Final = "rbac.authorization.k8s.io"
_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_OWN: Final = ("create", "get", "delete")
_HELM: Final = (
    (CORE, "serviceaccounts", _OWN),
    (CORE, "services", _OWN),
    (CORE, "secrets", ("create", "get", "list", "update", "delete")),
    ("apps", "deployments", _OWN),
    ("apps", "replicasets", ("list",)),
)
"""What the two charts of slurm-operator are made of, in the operator's namespace; Helm keeps its records in Secrets."""
_HELM_WIDE: Final = (
    (*_CRDS, _OWN),
    (_RBAC, "clusterroles", _OWN),
    (_RBAC, "clusterrolebindings", _OWN),
)
_WEBHOOK: Final = tuple(("cert-manager.io", kind, _OWN) for kind in ("certificates", "issuers"))
_SHORT_LIVED: Final = ("create", "get", "list", "delete")
_SHORT_PODS: Final = (
    "short-lived pods, in a namespace without Secrets: an account that may create pods can mount every Secret beside them"
)
_ADMISSION: Final = "admissionregistration.k8s.io"


def rights(config: StackConfig, use: Use, pod_namespace: str | None = None) -> tuple[Right, ...]:
    """All rules of one use. ``pod_namespace``: where preflight may make its pods; None: nowhere."""
    of_parts = (right for part in parts_of(config) for right in part.rights(config, use))
    if use is Use.STATUS:
        return (*_status(config), *of_parts)
    rows = [*_asking(config, use), *of_parts]
    if use is not Use.PREFLIGHT and any(nodeset.pod.host_network for nodeset in config.nodesets.values()):
        rows.append(Right(CORE, "nodes", ("list",), "whether a new pod on the host network takes a Slurm node over"))
    if use is not Use.PREFLIGHT and any(nodeset.on_each_node for nodeset in config.nodesets.values()):
        rows.append(Right(CORE, "nodes", ("list",), "which Kubernetes nodes fit a NodeSet in DaemonSet mode"))
    if use is Use.APPLY:
        if config.auth.makes_daemons:
            own = ("slurm-operator",)
            rows.append(Right("apps", "deployments", ("get",), "status: its release", own, config.operator.namespace))
            bundle = (SLURM.bundle_at(config.cluster.resource_name).name,)
            rows.append(Right(CORE, "secrets", ("get",), f"keys verify: {SLURM.bundle}", bundle, config.cluster.namespace))
            if config.bundle_of(SLURM) is not None:
                # `kubectl exec`: a GET of the pod, then a websocket's GET or, later on, a POST.
                why = "keys: whether its pods have the slurm.jwks that they should"
                rows.append(Right(CORE, "pods", ("get",), why, (), config.cluster.namespace, seldom=True))
                rows.append(Right(CORE, "pods/exec", ("get", "create"), why, (), config.cluster.namespace, seldom=True))
                for space in sorted({client.namespace for client in config.clients.values()}):
                    rows.append(Right(CORE, "pods", ("get", "list", "patch"), why, (), space, seldom=True))
                    rows.append(Right(CORE, "pods/exec", ("get", "create"), why, (), space, seldom=True))
        rows += [*_making(config), *_clients(config), *_hubs(config)]
        rows += [*_draining(config), *_operator(config)]
    if use is Use.PREFLIGHT and pod_namespace is not None:
        rows.append(
            Right(
                CORE,
                "pods",
                _SHORT_LIVED,
                _SHORT_PODS,
                namespace=pod_namespace,
            )
        )
    return tuple(rows)


def rights_over(configs: Iterable[StackConfig], use: Use, pod_namespace: str | None = None) -> tuple[Right, ...]:
    """All rules of one use over several settings of one stack: those it has, and those of which it may still have objects.
    A rule that differs in its names only is one rule."""
    merged: dict[Right, dict[str, None]] = {}
    for config in configs:
        for right in rights(config, use, pod_namespace):
            alike = right if not right.names else replace(right, names=("",))
            merged.setdefault(alike, {}).update(dict.fromkeys(right.names))
    return tuple(replace(alike, names=tuple(own)) for alike, own in merged.items())


def _status(config: StackConfig) -> Iterator[Right]:
    """What a look at the cluster reads that knows no state: of the keys the one that signs alone."""
    namespace = config.cluster.namespace
    if not config.auth.makes_daemons:
        return
    way = reach(config)
    yield Right(CORE, "secrets", ("get",), "the key that signs tokens for slurmrestd", (way.jwt_secret,), namespace)
    yield _proxied(config, ("get",), "slurmrestd, asked through the API server")
    yield from _workers(config)
    if config.operator.install:
        own = ("slurm-operator",)
        yield Right("apps", "deployments", ("get",), "its release", own, config.operator.namespace)


def _workers(config: StackConfig) -> Iterator[Right]:
    """What each look reads of NodeSets and their pods."""
    namespace = config.cluster.namespace
    yield Right(names.GROUP, "nodesets", ("get",), "number of pods and selector of each", _nodesets(config), namespace)
    yield Right(CORE, "pods", ("list",), "which Slurm node is behind which pod", (), namespace)


def _proxied(config: StackConfig, verbs: tuple[str, ...], why: str, *, seldom: bool = False) -> Right:
    return Right(CORE, "services/proxy", verbs, why, (config.slurmrestd.proxied,), config.cluster.namespace, seldom)


def _asking(config: StackConfig, use: Use) -> Iterator[Right]:
    """What gates, plans and commands read."""
    namespace, base = config.cluster.namespace, config.cluster.resource_name
    if not config.auth.makes_daemons:
        return
    way = reach(config)
    yield Right(CORE, "secrets", ("get",), "the key that signs tokens for slurmrestd", (way.jwt_secret,), namespace)
    if use is Use.APPLY and config.key_source.awaited:
        others = tuple(config.secret_of(key).name for key in DAEMON_KEYS)
        yield Right(CORE, "secrets", ("get",), "keys that others make: awaited, and known again", others, namespace)
    if use is Use.APPLY and config.adopted is not None and config.adopted.record is not None:
        why, record = "whether Helm still has the release that is taken over", (config.adopted.record,)
        yield Right(CORE, "secrets", ("get",), why, record, config.adopted.namespace or namespace)
    if use is Use.PREFLIGHT:
        slurm = config.secret_of(SLURM).name
        yield Right(CORE, "secrets", ("get",), "the fingerprint of slurm.key", (slurm,), namespace)
    if config.slurmrest.url is None:
        writes = ("create",) if use is Use.APPLY else ()
        yield _proxied(config, ("get", *writes), "slurmrestd, asked through the API server")
        if use is Use.APPLY:
            yield _proxied(config, ("delete",), "Slurm's records of nodes that are gone", seldom=True)
    yield from _workers(config)
    yield Right("apps", "deployments", ("get",), "whether slurmrestd serves", (names.restapi_service(base),), namespace)
    if use is Use.PREFLIGHT:
        yield Right(CORE, "namespaces", ("get",), "whether the cluster's namespace is there", (namespace,))
    else:
        if config.operator_version.leaves_services:
            yield Right(CORE, "services", ("list",), "whether Services are what the settings say", (), namespace)
        if config.operator_version.confuses_equal_names:
            yield Right(names.GROUP, "controllers", ("list",), "another stack's cluster of the same name")
        why = "which Kubernetes cluster answers, and whether the namespace is there"
        yield Right(CORE, "namespaces", ("get",), why, ("kube-system", namespace))
        for kind in ("controllers", "restapis"):
            yield Right(names.GROUP, kind, ("get",), "whether it was deleted outside Pulumi", (base,), namespace)
        yield from _trying(config, use)
        yield from _first_look(config)
        if config.slurmctld.owns_conf:
            held = (place(base),)
            yield Right(CORE, "configmaps", ("get",), "which partitions a gate has closed", held, namespace)
            yield Right(names.GROUP, "nodesets", ("list",), "which NodeSets have partitions of their own", (), namespace)


def _trying(config: StackConfig, use: Use) -> Iterator[Right]:
    """What a trial of the stack's files needs, where the stack asks for one. Beside the cluster's Secrets a review makes no
    pod: it could mount them."""
    if not config.slurmctld.tries_files:
        return
    namespace, apart = config.cluster.namespace, config.slurmctld.trial_namespace
    own = (names.trial_record(config.cluster.resource_name),)
    yield Right(CORE, "configmaps", ("get",), "which files the last trial was of", own, namespace)
    if use is Use.APPLY or apart is not None:
        yield Right(CORE, "pods", _SHORT_LIVED, _SHORT_PODS, (), apart or namespace)


def _first_look(config: StackConfig) -> Iterator[Right]:
    """What a preview asks about before it makes something: whether somebody else's is there. Keys and Helm's records, which
    are Secrets too, only the update looks at."""
    why = "whether somebody else's is there already"
    if config.accounting.enabled:
        base, namespace = config.cluster.resource_name, config.cluster.namespace
        yield Right(names.GROUP, "accountings", ("get",), why, (base,), namespace, seldom=True)
    if config.operator.install and config.operator.create_namespace:
        yield Right(CORE, "namespaces", ("get",), why, (config.operator.namespace,), seldom=True)
    for client in config.clients.values():
        if client.create_namespace:
            yield Right(CORE, "namespaces", ("get",), why, (client.namespace,), seldom=True)
    base, leaves = config.cluster.resource_name, "whether one that leaves the program is still there"
    for kind in ("loginsets", "nodesets"):  # also of earlier settings, so without names
        yield Right(names.GROUP, kind, ("get",), leaves, (), config.cluster.namespace, seldom=True)
    for name, client in config.clients.items():
        if client.deployment is not None:
            own = (names.client(base, name),)
            yield Right("apps", "deployments", ("get",), leaves, own, client.namespace, seldom=True)
            yield Right(CORE, "pods", ("list",), "to see whose srun and salloc run in a client's pod", (), client.namespace)
    if config.operator.install and _needs_stub(config):
        yield Right(*_CRDS, ("get",), why, (_stub(),), seldom=True)


def _nodesets(config: StackConfig) -> tuple[str, ...]:
    return tuple(names.nodeset_resource(config.cluster.resource_name, nodeset) for nodeset in config.nodesets)


def _making(config: StackConfig) -> Iterator[Right]:
    """What the engine makes, changes and removes, object by object."""
    by_kind: dict[tuple[str | None, str, str], list[str]] = {}
    for target in objects(config):
        by_kind.setdefault((target.space(config.cluster.namespace), target.group, target.resource), []).append(target.name)
    for (namespace, group, resource), own in sorted(by_kind.items(), key=lambda row: (row[0][0] or "", *row[0][1:])):
        verbs = ("get", "create", "patch", "delete")
        yield Right(group, resource, verbs, "made, changed and removed by the engine", tuple(own), namespace)
        gone = resource == "nodesets"  # its gate has deleted it and waited, so the engine finds none
        yield Right(group, resource, ("list", "watch"), "the engine waits until one is gone", (), namespace, seldom=gone)


def _clients(config: StackConfig) -> Iterator[Right]:
    """What the engine watches until a client's Deployment is available."""
    spaces = {client.namespace for client in config.clients.values() if client.deployment is not None}
    for space in sorted(spaces):
        why = "the engine waits until a client's pod is ready"
        yield Right("apps", "replicasets", ("list", "watch"), why, (), space)
        for kind in ("pods", "events", "persistentvolumeclaims"):
            yield Right(CORE, kind, ("list", "watch"), why, (), space)


def _hubs(config: StackConfig) -> Iterator[Right]:
    """What the chart of JupyterHub is made of, and its account's Role, for which the writer needs all that it grants."""
    every = ("create", "get", "list", "watch", "update", "patch", "delete")
    kinds = (
        (CORE, ("configmaps", "persistentvolumeclaims", "pods", "secrets", "serviceaccounts", "services", "events")),
        ("apps", ("daemonsets", "deployments", "replicasets", "statefulsets")),
        ("batch", ("jobs",)),
        ("networking.k8s.io", ("ingresses", "networkpolicies")),
        ("policy", ("poddisruptionbudgets",)),
        (_RBAC, ("roles", "rolebindings")),
    )
    for space in sorted({client.namespace for client in config.clients.values() if client.jupyterhub is not None}):
        for group, resources in kinds:
            for resource in resources:
                yield Right(group, resource, every, "the chart of JupyterHub", (), space)


def _draining(config: StackConfig) -> Iterator[Right]:
    """What the gates write."""
    if config.nodesets:
        namespace = config.cluster.namespace
        yield Right(CORE, "pods", ("patch",), "marks of a scale-in, which the operator reads", (), namespace)
        why = "a pod that changed while its mark was written"
        yield Right(CORE, "pods", ("get",), why, (), namespace, seldom=True)
        why = "pods of an earlier template, once their nodes are drained"
        yield Right(CORE, "pods", ("delete",), why, (), namespace, seldom=True)
    if config.slurmctld.owns_conf or config.external.slurmd_hosts:
        held, verbs = (place(config.cluster.resource_name),), ("get", "create", "patch", "delete")
        why = "which run may touch partitions and bare-metal hosts, and what it has closed"
        yield Right(CORE, "configmaps", verbs, why, held, config.cluster.namespace)


def _operator(config: StackConfig) -> Iterator[Right]:
    operator = config.operator
    if not config.installs_operator:
        return
    why = "slurm-operator's charts"
    webhook = operator.webhook.enabled
    rows = (*_HELM, *(_WEBHOOK if webhook and operator.webhook.cert_manager else ()))
    hooks = (
        [(_ADMISSION, f"{sort}webhookconfigurations", _OWN) for sort in config.operator_version.webhooks] if webhook else []
    )
    wide = (*_HELM_WIDE, *hooks)
    for namespace, rules in ((operator.namespace, rows), (None, wide)):
        for group, resource, verbs in rules:
            yield Right(group, resource, verbs, why, (), namespace)
            if verbs[: len(_OWN)] == _OWN:
                yield Right(group, resource, ("patch",), "another release of the charts", (), namespace, seldom=True)
    # The API server asks itself, so the audit log doesn't show them.
    yield Right(_RBAC, "clusterroles", ("bind", "escalate"), "the operator's role has rights of its own", seldom=True)
    if _needs_stub(config):
        yield Right(*_CRDS, ("create", "patch"), "a stand-in that old operators need", (_stub(),))
        yield Right(*_CRDS, ("list", "watch"), "the engine waits until it is gone")
    if operator.create_namespace:
        verbs = ("get", "create", "patch", "delete")
        yield Right(CORE, "namespaces", verbs, "the operator's namespace", (operator.namespace,))
    else:
        yield Right(CORE, "namespaces", ("get",), "whether the operator's namespace is there", (operator.namespace,))


def _stub() -> str:
    return str(service_monitor_stub()["metadata"]["name"])


def _needs_stub(config: StackConfig) -> bool:
    wanted = config.operator.service_monitor_stub
    return config.operator_version.needs_service_monitor_crd if wanted is None else wanted
