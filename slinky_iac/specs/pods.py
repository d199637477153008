"""The pods of a stack as slurm-operator makes them of its custom resources: what Kubernetes is asked about beforehand.

The operator's own pieces are :mod:`.pod_bases`, how a stack's are laid over them :mod:`.pod_merge`; what a release's
libraries don't know is left out (:mod:`slinky_iac.config.operator.raw_merge`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.operator import raw_merge
from slinky_iac.config.operator.own_pieces import STATE
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.pod_bases import Resource, base_of, state_of
from slinky_iac.specs.pod_merge import replaced, strategic
from slinky_iac.specs.shared import Spec, filled, placement
from slinky_iac.specs.workers import loginset_spec, nodeset_spec

__all__ = ["Resource", "claims", "pod_of", "resources"]
_CHAINED: Final = ("containers", "initContainers")
_SECTIONS: Final = {
    "Controller": "controller",
    "Accounting": "accounting",
    "RestApi": "restapi",
    "NodeSet": "nodesets",
    "LoginSet": "logins",
}
_APART: Final = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchExpressions": [{"key": names.LABEL_NAME, "operator": "In", "values": ["slurmd"]}]},
}
"""One NodeSet pod a Kubernetes node (``updateNodeSetPodAntiAffinity``)."""


def resources(config: StackConfig) -> Iterator[Resource]:
    """All custom resources with pods. ``config`` is sound: of another one no spec can be rendered."""
    if not config.auth.makes_daemons:
        return
    base, settings = config.cluster.resource_name, config
    yield Resource("controller", "Controller", base, "slurmctld", controller_spec(config), settings.controller.raw, {})
    if config.accounting.enabled:
        yield Resource("accounting", "Accounting", base, "slurmdbd", accounting_spec(config), settings.accounting.raw, {})
    yield Resource("restapi", "RestApi", base, "slurmrestd", restapi_spec(config), settings.restapi.raw, {})
    for name, nodeset in config.nodesets.items():
        own, spec = names.nodeset_resource(base, name), nodeset_spec(config, name, nodeset)
        gated = placement(nodeset.pod) if nodeset.on_each_node else {}
        yield Resource(f"nodesets.{name}", "NodeSet", own, "slurmd", spec, nodeset.raw, gated)
    for name, login in config.logins.items():
        own = names.loginset_resource(base, name)
        yield Resource(f"logins.{name}", "LoginSet", own, "login", loginset_spec(config, name, login), login.raw, {})


def pod_of(config: StackConfig, resource: Resource) -> Spec | None:
    """Metadata and spec of one pod of a custom resource, without a name; None where its daemon is outside."""
    if resource.container not in resource.spec:
        return None
    spec = _spec(config, resource)
    volumes = [*spec.get("volumes", []), *(state_of(resource.spec) if resource.kind == "Controller" else [])]
    made = claims(resource.spec, resource.kind)
    for claim in made:  # as the StatefulSet and the NodeSet do, by name (updateStorage)
        volumes = [one for one in volumes if one.get("name") != claim]
    own = [{"name": one, "persistentVolumeClaim": {"claimName": f"{one}-{resource.workload}-0"}} for one in made]
    spec["volumes"] = [*own, *volumes]
    if resource.kind == "NodeSet":  # the first pod's; in DaemonSet mode the Kubernetes node's name
        spec["hostname"] = f"{spec.get('hostname', '')}0"
        spec["affinity"] = _apart(spec.get("affinity", {}))
    return {"metadata": filled(_metadata(config, resource, spec)), "spec": filled(spec)}


def _spec(config: StackConfig, resource: Resource) -> Spec:
    version, section = config.operator_version, _SECTIONS[resource.kind]
    merged = strategic if version.merges_mappings else replaced
    given = {**resource.spec.get("template", {}).get("spec", {}), **resource.gated}
    given = raw_merge.read(version, section, "pod", given)
    base = base_of(config, resource)
    own, *others = (_container(config, resource, one) for one in base.pop("containers"))
    before = [_container(config, resource, one) for one in base.pop("initContainers", [])]
    spec = merged(base, {key: value for key, value in given.items() if key not in _CHAINED})
    if resource.kind == "RestApi":  # behind all that is given: slurmrestd [OPTIONS] [host:port]…
        own["args"] = [*own.get("args", []), f"0.0.0.0:{names.SLURMRESTD_PORT}"]
    spec["containers"] = [own, *others, *given.get("containers", [])]
    spec["initContainers"] = [*before, *given.get("initContainers", [])]
    return spec


def _container(config: StackConfig, resource: Resource, base: Spec) -> Spec:
    version, section = config.operator_version, _SECTIONS[resource.kind]
    given = raw_merge.read(version, section, "container", resource.spec.get(base["name"], {}))
    if not version.merges_mappings:
        return replaced(base, given)
    if version.minor > 1 and base["name"] == "login":  # its port by its name (loginContainer, 1.2.0)
        ssh = next((port["containerPort"] for port in given.get("ports", []) if port.get("name") == "login"), 0)
        base = {**base, "ports": [{**base["ports"][0], "containerPort": ssh or base["ports"][0]["containerPort"]}]}
    return strategic(base, given)


def _metadata(config: StackConfig, resource: Resource, spec: Mapping[str, Any]) -> Spec:
    none = resource.kind == "Accounting" and not config.operator_version.labels_slurmdbd
    metadata = {} if none else resource.spec.get("template", {}).get("metadata", {})
    first = f"{resource.workload}-0"
    own = {
        names.LABEL_NAME: resource.container,
        names.LABEL_INSTANCE: resource.name,
        names.LABEL_COMPONENT: "worker" if resource.kind == "NodeSet" else resource.kind.lower().removesuffix("set"),
    }
    if resource.kind == "NodeSet":
        own |= {names.LABEL_CLUSTER: config.cluster.resource_name, names.LABEL_POD_HOSTNAME: str(spec["hostname"])}
        own |= {names.LABEL_POD_NAME: first}
        mode = resource.spec.get("scalingMode") or "StatefulSet"
        own |= {names.LABEL_POD_INDEX: "0"} if mode == "StatefulSet" else {}
        own |= {names.LABEL_SCALING_MODE: mode} if config.operator_version.has_scaling_mode else {}
    annotations = {**metadata.get("annotations", {}), "kubectl.kubernetes.io/default-container": resource.container}
    return {"labels": {**metadata.get("labels", {}), **own}, "annotations": annotations}


def _apart(affinity: Mapping[str, Any]) -> Spec:
    anti = affinity.get("podAntiAffinity") or {}
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    return {**affinity, "podAntiAffinity": {**anti, field: [*(anti.get(field) or []), _APART]}}


def claims(spec: Spec, kind: str) -> list[str]:
    """Names of volumes that come of claims which a custom resource makes."""
    volumes = [str(template.get("metadata", {}).get("name", "")) for template in spec.get("volumeClaimTemplates", [])]
    kept = spec.get("persistence", {})
    own = kind == "Controller" and kept.get("enabled", True) and not kept.get("existingClaim")
    return [*volumes, *([STATE] if own else [])]
