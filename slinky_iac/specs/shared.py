"""Pieces that all specs share: references, containers, pod templates, Services, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from slinky_iac import names
from slinky_iac.config.resources import ContainerResources
from slinky_iac.config.sections import PodSettings, Service
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.keys.catalogue import JWT, SLURM

Spec = dict[str, Any]
"""A JSON object as Kubernetes takes it."""

SLINKY_REGISTRY = "ghcr.io/slinkyproject"
"""Where Slinky publishes its images and charts."""


def labels(config: ClusterConfig) -> dict[str, str]:
    """Labels of everything this program makes in the cluster's namespace."""
    return {
        "app.kubernetes.io/managed-by": "slinky-iac",
        "app.kubernetes.io/part-of": "slurm",
        names.LABEL_CLUSTER: config.cluster.resource_name,
    }


def namespace_labels(config: ClusterConfig) -> dict[str, str]:
    """Labels of the cluster's namespace: the API server warns of pods that may do more than they need, and audits them. It
    refuses none, but by `cluster.podSecurity`: slurmd runs privileged (Kubernetes, "Pod Security Standards")."""
    modes = dict.fromkeys(("warn", "audit"), "restricted")
    if config.cluster.pod_security is not None:
        modes["enforce"] = config.cluster.pod_security
    return labels(config) | {f"pod-security.kubernetes.io/{mode}": level for mode, level in modes.items()}


def quota_spec(config: ClusterConfig) -> Spec:
    """Spec of the namespace's ResourceQuota."""
    return {"hard": dict(config.cluster.quota)}


def reference(config: ClusterConfig) -> Spec:
    """A reference to a resource of this cluster (Controller and Accounting have the same name), by operator release."""
    return {"name": config.cluster.resource_name, **reference_namespace(config)}


def reference_namespace(config: ClusterConfig) -> Spec:
    """The namespace of a reference, in releases that want it."""
    return {"namespace": config.cluster.namespace} if config.operator_version.refs_have_namespace else {}


def key_references(config: ClusterConfig) -> Spec:
    """``slurmKeyRef`` and the JWT key's reference: both are needed for outside daemons as well."""
    return {
        "slurmKeyRef": config.secret_of(SLURM).reference,
        config.operator_version.jwt_ref_field: config.secret_of(JWT).reference,
    }


def public_references(config: ClusterConfig) -> Spec:
    """Where slurmctld or slurmdbd in Kubernetes finds public keys by which it judges; nothing where the stack has none."""
    places = ((key.reference, config.bundle_of(key)) for key in config.own_keys)
    return {field: place.reference for field, place in places if place is not None}


def image_of(config: ClusterConfig, daemon: Literal["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"]) -> str:
    """The image of a daemon's pods: the stack's, else Slinky's own for the operator's release."""
    own: str | None = getattr(config.cluster.images, daemon)
    return own or f"{SLINKY_REGISTRY}/{daemon}:{config.operator_version.image_tag}"


def container(config: ClusterConfig, image: str, more: Mapping[str, Any] | None = None) -> Spec:
    """A container of a custom resource. The operator adds name, command, ports and probes, but never an image."""
    return {"image": image, "imagePullPolicy": config.cluster.images.pull_policy, **(more or {})}


def sidecar(config: ClusterConfig) -> Spec:
    """A log or init sidecar."""
    return container(config, config.cluster.images.sidecar, sized(config, "sidecar", config.cluster.sidecar_resources))


DEFAULT_RESOURCES: Final[Mapping[str, tuple[str, str, str]]] = {
    "slurmctld": ("500m", "512Mi", "4Gi"),
    "slurmdbd": ("250m", "256Mi", "2Gi"),
    "slurmrestd": ("250m", "256Mi", "2Gi"),
    "login": ("250m", "512Mi", "8Gi"),
    "sidecar": ("10m", "16Mi", "128Mi"),
    "proxy": ("50m", "32Mi", "256Mi"),
    "client": ("100m", "128Mi", "4Gi"),
}
"""With ``cluster.defaultResources``: CPUs and memory that a container of each kind asks for, and its limit of memory. A
daemon has no limit of CPU: one that is throttled answers late, and gates wait."""


def sized(config: ClusterConfig, kind: str, own: ContainerResources | None) -> Spec:
    """``resources`` of a container that runs no jobs: its own, else those of its kind where the cluster has defaults."""
    if own is None:
        return {"resources": requests(*DEFAULT_RESOURCES[kind])} if config.cluster.default_resources else {}
    limits = filled({"cpu": own.cpus, "memory": own.memory})
    asked = filled({"cpu": own.requests.cpus or own.cpus, "memory": own.requests.memory or own.memory})
    return filled({"resources": filled({"requests": asked, "limits": limits})})


def locked(user: int | None = None, group: int | None = None, *, read_only: bool = True) -> Spec:
    """What the Pod Security Standard "restricted" asks of a container; who it runs as may be the image's to say."""
    ids = {} if user is None else {"runAsUser": user, "runAsGroup": user if group is None else group, "runAsNonRoot": True}
    return {
        **ids,
        "allowPrivilegeEscalation": False,
        **({"readOnlyRootFilesystem": True} if read_only else {}),
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def shell_sidecar(
    config: ClusterConfig,
    *,
    name: str,
    image: str | None,
    script: str,
    ready: Sequence[str],
    tries: int = 60,
    resources: Spec,
    security: Spec,
    mounts: Sequence[Spec],
) -> Spec:
    """An init container that continues to run, so that the pod's own containers start once ``ready`` succeeds."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": config.cluster.images.pull_policy,
        "restartPolicy": "Always",
        "command": ["/bin/sh", "-euc", script],
        "startupProbe": {"exec": {"command": [*ready]}, "periodSeconds": 1, "failureThreshold": tries},
        "resources": resources,
        "securityContext": security,
        "volumeMounts": [*mounts],
    }


def requests(cpu: str, memory: str, most: str) -> Spec:
    """``resources`` of a small container: what it asks for, and the most memory that it gets."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": most}}


def filled(spec: Mapping[str, Any]) -> Spec:
    """The fields that say something: None, empty texts, mappings and lists are left out; 0 and false stay."""
    return {field: value for field, value in spec.items() if value not in (None, "", {}, [])}


def mount(volume: str, path: str, entry: str = "", *, read_only: bool = True) -> Spec:
    """A volume's place in a container; ``entry``: a file of it alone, which never changes while the pod runs."""
    return filled({"name": volume, "mountPath": path, "subPath": entry, "readOnly": read_only or None})


def memory(name: str, most: str) -> Spec:
    """A volume in memory."""
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": most}}


def secret_files(name: str, secret: str, files: Mapping[str, str], *, mode: int = 0o440, optional: bool = False) -> Spec:
    """A volume with files of a Secret: ``files`` has the name of each by the entry."""
    items = [{"key": entry, "path": file} for entry, file in files.items()]
    source = {"secretName": secret, "items": items, "defaultMode": mode, "optional": optional or None}
    return {"name": name, "secret": filled(source)}


def placement(pod: PodSettings) -> Spec:
    """PodSpec fields that decide where a pod runs and on which network."""
    # Without this policy a pod on the host's network asks the host's DNS and finds no Service (hybrid guide).
    network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if pod.host_network else {}
    where = {"nodeSelector": dict(pod.node_selector), "tolerations": [*pod.tolerations], "affinity": dict(pod.affinity)}
    return network | filled(where)


def template(config: ClusterConfig, pod: PodSettings, more: Mapping[str, Any] | None = None) -> Spec:
    """``spec.template``: metadata and the PodSpec fields that the user sets; the operator merges its own under it."""
    own = {
        "priorityClassName": pod.priority_class,
        "terminationGracePeriodSeconds": pod.termination_grace,
        "imagePullSecrets": [{"name": name} for name in config.cluster.images.pull_secrets],
    }
    metadata = filled({"annotations": dict(pod.annotations), "labels": dict(pod.labels)})
    return filled({"metadata": metadata, "spec": {**(more or {}), **placement(pod), **filled(own)}})


def service(settings: Service, port: int) -> Spec:
    """``spec.service``. The operator applies it when it makes the Service and never again (before 1.3)."""
    metadata = filled({"annotations": dict(settings.annotations)})
    return filled({"port": port, "spec": {"type": settings.type}, "nodePort": settings.node_port, "metadata": metadata})
