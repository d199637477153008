"""The Kubernetes calls of a drain. Each returns plain frozen values or raises a :class:`slinky_iac.errors.KubeError`.

How they are made is in :mod:`slinky_iac.kube.requests`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from slinky_iac import field_managers
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube import resources
from slinky_iac.kube.objects import Listed, NodeSet, Pod, WrittenMeta, read, seconds
from slinky_iac.kube.requests import KubeRequests, exactly, label_of, place
from slinky_iac.kube.selection import Machine, written
from slinky_iac.names import (
    ANNOTATION_PERMIT,
    API_VERSION,
    LABEL_INSTANCE,
    permit_to_configure,
    permit_to_select,
)
from slinky_iac.selection import DAEMON, Selection

WORKERS: Final = "app.kubernetes.io/name=slurmd"
"""Labels that the pods of every NodeSet have, as a selector."""


class KubeClient(KubeRequests):
    """One user of one API server; opens nothing until the first call. Close it, or use ``with``."""

    def nodeset(self, namespace: str, name: str) -> NodeSet:
        """The NodeSet, with its status and replicas. :raises KubeNotFound: it isn't there."""
        return self._object("NodeSet", NodeSet, namespace, name)

    def controller(self, namespace: str, name: str) -> resources.Controller:
        """The Controller custom resource."""
        return self._object("Controller", resources.Controller, namespace, name)

    def set_extra_conf(self, namespace: str, state: resources.Controller, text: str) -> None:
        """Write ``spec.extraConf`` of exactly the Controller that was looked at. Raises as :meth:`annotate_nodeset`."""
        name = state.metadata.name
        permit = {ANNOTATION_PERMIT: permit_to_configure(state.metadata.generation)}
        change: dict[str, dict[str, object]] = {"metadata": {"annotations": permit}, "spec": {"extraConf": text}}
        self.patch(place("Controller", namespace, name), state.metadata, change, f"Controller {namespace}/{name}")

    def nodesets(self, namespace: str) -> tuple[NodeSet, ...]:
        """All NodeSets of a namespace."""
        return self.listed(place("NodeSet", namespace), Listed[NodeSet], f"NodeSets of {namespace}")

    def controllers(self) -> tuple[tuple[str, str], ...]:
        """Namespace and name of every Controller of the whole Kubernetes cluster. :raises KubeNotFound: no operator yet."""
        path, what = f"/apis/{API_VERSION}/controllers", "Controllers of all namespaces"
        controllers = self.listed(path, Listed[resources.Controller], what)
        return tuple((item.metadata.namespace, item.metadata.name) for item in controllers)

    def deployment_available(self, namespace: str, name: str) -> int:
        """Pods of a Deployment that serve now, such as of ``<restapi>-restapi``; 0 where there is no such Deployment."""
        try:
            return self._object("Deployment", resources.Deployment, namespace, name).status.available_replicas
        except KubeNotFound:
            return 0

    def deployment_images(self, namespace: str, name: str) -> tuple[str, ...]:
        """Images of a Deployment's containers, the first one's first. :raises KubeNotFound: it isn't there."""
        deployment = self._object("Deployment", resources.Deployment, namespace, name)
        return tuple(container.image for container in deployment.spec.template.spec.containers)

    def balancer_address(self, namespace: str, name: str) -> str | None:
        """The IP address that a load balancer gave a Service; None where it has none, or a name instead.

        :raises KubeNotFound: there is no such Service.
        """
        return self._object("Service", resources.Service, namespace, name).address

    def node_port(self, namespace: str, name: str) -> int | None:
        """The port of each node by which a Service's first port is reached; None where it has none.

        :raises KubeNotFound: there is no such Service.
        """
        return self._object("Service", resources.Service, namespace, name).node_port

    def services(self, namespace: str) -> dict[str, tuple[str, int | None]]:
        """Type and first node port of each Service of a namespace, by name."""
        services = self.listed(place("Service", namespace), Listed[resources.Service], f"Services of {namespace}")
        return {service.metadata.name: (service.spec.type, service.node_port) for service in services}

    def release(self) -> str:
        """The API server's release, ``v1.35.0``: the cheapest question that shows whether it answers."""
        return self._get("/version", resources.Version, "the API server's version").git_version

    def pods_of(self, namespace: str, nodeset: NodeSet) -> tuple[Pod, ...]:
        """All pods that the NodeSet controls, terminating and failed ones too, by ordinal."""
        selector = nodeset.status.selector or f"{WORKERS},{LABEL_INSTANCE}={nodeset.name}"
        return controlled(nodeset, self.pods_by(namespace, selector, f"pods of NodeSet {namespace}/{nodeset.name}"))

    def worker_pods(self, namespace: str) -> tuple[Pod, ...]:
        """The pods of all NodeSets of a namespace; :func:`controlled` has those of each."""
        return self.pods_by(namespace, WORKERS, f"worker pods of {namespace}")

    def pods_by(self, namespace: str, selector: str, what: str) -> tuple[Pod, ...]:
        """All pods that a selector names."""
        return self.listed(place("Pod", namespace), Listed[Pod], what, {"labelSelector": selector})

    def pod(self, namespace: str, name: str) -> Pod | None:
        """One pod; None where there is none (any more)."""
        try:
            return self._object("Pod", Pod, namespace, name)
        except KubeNotFound:
            return None

    def pods_without(self, namespace: str, app: str, label: str) -> tuple[str, ...]:
        """Names of an application's pods that lack a label."""
        pods = self.pods_by(namespace, f"app.kubernetes.io/name={app},!{label}", f"{app} pods of {namespace}")
        return tuple(sorted(pod.metadata.name for pod in pods))

    def annotate_pod(self, namespace: str, pod: Pod, annotations: Mapping[str, str | None]) -> None:
        """Set (or with None remove) annotations on exactly the pod that was looked at.

        :raises KubeConflict: it was changed or replaced since: look again.
        :raises KubeUnreachable: no answer: it may have been done or not, so look again.
        """
        body = {"metadata": {**exactly(pod.metadata), "annotations": dict(annotations)}}
        merge = {"content-type": "application/merge-patch+json"}
        what = f"annotations of pod {namespace}/{pod.name}"
        self._answer("PATCH", place("Pod", namespace, pod.name), what, json=body, headers=merge)

    def meta(self, kind: str, namespace: str, name: str) -> WrittenMeta | None:
        """metadata of one object; None where there is none (any more)."""
        try:
            return self._object(kind, resources.AnyObject, namespace, name).metadata
        except KubeNotFound:
            return None

    def delete(self, kind: str, namespace: str, meta: WrittenMeta) -> None:
        """Delete exactly the object that was looked at; its pods end after it. Raises as :meth:`delete_nodeset`."""
        body = {"preconditions": exactly(meta), "propagationPolicy": "Background"}
        self._answer("DELETE", place(kind, namespace, meta.name), f"{kind} {namespace}/{meta.name}", json=body)

    def delete_worker(self, namespace: str, pod: Pod) -> None:
        """Delete exactly the pod that was looked at. Raises what :meth:`delete_nodeset` raises."""
        path = place("Pod", namespace, pod.name)
        self._answer("DELETE", path, f"pod {namespace}/{pod.name}", json={"preconditions": exactly(pod.metadata)})

    def annotate_nodeset(self, namespace: str, state: NodeSet, annotations: Mapping[str, str | None]) -> NodeSet:
        """Set (or with None remove) annotations on exactly the NodeSet that was looked at; returns it as it is then.

        :raises KubeConflict: it was changed or replaced since: look again.
        :raises KubeUnreachable: no answer: it may have been done or not, so look again.
        """
        return self._patch_nodeset(namespace, state, {"metadata": {"annotations": dict(annotations)}})

    def set_replicas(self, namespace: str, state: NodeSet, replicas: int) -> NodeSet:
        """Write ``spec.replicas`` of exactly the NodeSet that was looked at; returns it as it is then.

        The object itself is written and not its scale subresource: an admission policy sees the annotations of the one only.
        Raises what :meth:`annotate_nodeset` raises.
        """
        return self._patch_nodeset(namespace, state, {"spec": {"replicas": replicas}})

    def set_selection(self, namespace: str, state: NodeSet, selection: Selection) -> NodeSet:
        """Bring exactly the NodeSet that was looked at into DaemonSet mode with this selection, in one patch with its
        permission; returns it as it is then. Raises what :meth:`annotate_nodeset` raises."""
        fields = merge_patch(written(state).fields, selection.fields)
        permit = {ANNOTATION_PERMIT: permit_to_select(state.metadata.generation)}
        spec = {"scalingMode": DAEMON, "template": {"spec": fields}}
        return self._patch_nodeset(namespace, state, {"metadata": {"annotations": permit}, "spec": spec})

    def machines(self) -> tuple[Machine, ...]:
        """All Kubernetes nodes, with their labels and taints. Raises what the client raises."""
        return self.listed("/api/v1/nodes", Listed[Machine], "the list of Kubernetes nodes")

    def delete_nodeset(self, namespace: str, state: NodeSet) -> None:
        """Delete exactly the NodeSet that was looked at. It stays, with a deletion timestamp, until its pods are gone.

        :raises KubeNotFound: it is gone already.
        :raises KubeConflict: it was changed or replaced since: look again.
        :raises KubeUnreachable: no answer: it may have been done or not, so look again.
        """
        body = {"preconditions": exactly(state.metadata), "propagationPolicy": "Foreground"}
        self._answer("DELETE", place("NodeSet", namespace, state.name), f"NodeSet {namespace}/{state.name}", json=body)

    def _patch_nodeset(self, namespace: str, state: NodeSet, change: Mapping[str, Mapping[str, object]]) -> NodeSet:
        what = f"NodeSet {namespace}/{state.name}"
        return read(self.patch(place("NodeSet", namespace, state.name), state.metadata, change, what), NodeSet, what)

    def secret_entry(self, namespace: str, name: str, entry: str) -> bytes:
        """The raw bytes of one entry of a Secret; they go to the caller and into no message.

        :raises KubeNotFound: no such Secret, or no such entry in it.
        """
        return self.secret_entries(namespace, name, entry)[0]

    def secret_entries(self, namespace: str, name: str, entry: str, *optional: str) -> list[bytes]:
        """One entry that must be there, then those of ``optional`` that are.

        :raises KubeNotFound: no such Secret, or no such first entry in it.
        """
        data = self.secret_data(namespace, name)
        if entry not in data:
            raise KubeNotFound(
                f"Secret {namespace}/{name}: has no entry {entry!r}; nothing was asked of Slurm. Check `keys` in the config"
            )
        return [data[entry], *(data[other] for other in optional if other in data)]

    def secret_data(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The raw bytes of all entries of a Secret, by name. :raises KubeNotFound: no such Secret."""
        return self.secret(namespace, name).data

    def secret_made_at(self, namespace: str, name: str) -> int | None:
        """When a Secret was made, in seconds since 1970; None where the API server doesn't say."""
        return seconds(self._object("Secret", resources.SecretAge, namespace, name).metadata.creation_timestamp)

    def secret(self, namespace: str, name: str) -> resources.Secret:
        """All of a Secret that is used here, in one question. :raises KubeNotFound: no such Secret."""
        return self._object("Secret", resources.Secret, namespace, name)

    def config_map_data(self, namespace: str, name: str) -> dict[str, str]:
        """The texts of a ConfigMap, by entry. :raises KubeNotFound: no such ConfigMap."""
        return self._object("ConfigMap", resources.ConfigMap, namespace, name).data

    def admission(self, kind: str, name: str) -> Mapping[str, object]:
        """The spec of a ValidatingAdmissionPolicy or of a binding. :raises KubeNotFound: it isn't there."""
        path = f"/apis/admissionregistration.k8s.io/v1/{resources.ADMISSION[kind]}/{label_of(name)}"
        return self._get(path, resources.Admission, f"{kind} {name}").spec

    def serves(self, api: str, kinds: Collection[str]) -> bool:
        """Whether this API server has all these resources in a version of an API group, ``apps/v1``."""
        resource_list = self._get(f"/apis/{api}", resources.ApiResourceList, f"the API server's list of {api}")
        return set(kinds) <= {resource.name for resource in resource_list.resources}

    def config_map(self, namespace: str, name: str) -> resources.OwnConfigMap:
        """A ConfigMap of ours, as it is to be written. :raises KubeNotFound: no such ConfigMap."""
        return self._object("ConfigMap", resources.OwnConfigMap, namespace, name)

    def write_config_map(
        self, namespace: str, name: str, config_map: resources.OwnConfigMap | None, data: Mapping[str, str | None]
    ) -> None:
        """Set entries of exactly the ConfigMap that was looked at, or with None remove them; make it where none was found.
        One that would have no entry left is deleted.

        :raises KubeConflict: it was changed, replaced or made since: look again.
        """
        what, path = f"ConfigMap {namespace}/{name}", place("ConfigMap", namespace, name)
        if config_map is None:
            body = resources.config_map(name, {key: text for key, text in data.items() if text is not None})
            # Made by an apply, for which RBAC knows the name. A manager of its own takes no entry from another maker.
            self.apply(path, body, f"{field_managers.OURS}-{secrets.token_hex(4)}", what)
        elif any(text is not None for text in {**config_map.data, **data}.values()):
            self.patch(path, config_map.metadata, {"data": dict(data)}, what)
        else:
            self._answer("DELETE", path, what, json={"preconditions": exactly(config_map.metadata)})


def merge_patch(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """The JSON merge patch (RFC 7396) that makes ``before`` to ``after``: what is to go is null."""
    patch: dict[str, object] = {key: None for key in before.keys() - after.keys()}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            patch[key] = merge_patch(old, value)
        elif old != value or key not in before:
            patch[key] = value
    return patch


def controlled(nodeset: NodeSet, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The pods that the NodeSet controls, by ordinal; same labels alone don't make a pod its own."""
    uid = nodeset.metadata.uid
    own = (
        pod
        for pod in pods
        if any(reference.controller and reference.uid == uid for reference in pod.metadata.owner_references)
    )
    return tuple(sorted(own, key=lambda pod: (pod.ordinal if pod.ordinal >= 0 else 1 << 31, pod.name)))
