"""The server's own verdict of the stack's pods: each asked for with ``dryRun=All``, so that none is made."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeForbidden, KubeNotFound
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.preflight.facts import PodVerdict
from slinky_iac.preflight.short_pods import ELSEWHERE
from slinky_iac.specs.pods import Resource, pod_of, resources
from slinky_iac.specs.shared import Spec
from slinky_iac.specs.workers import template_digest


def ask_verdicts(
    kube: ShortPodClient, config: StackConfig, *, namespace: str | None = None, changed: bool = False
) -> tuple[PodVerdict, ...]:
    """One for each custom resource with pods. What Kubernetes can't be asked is in the verdicts, not raised. They are asked
    for in the cluster's namespace; until it is there in another, where quotas and Pod Security are others. ``namespace``:
    one that is asked where this user may make no pod in the cluster's own. ``changed``: not for
    NodeSets whose pods are made already from what the settings say now. Raises :class:`KubeError` where that can't be asked.
    """
    own = config.cluster.namespace
    try:
        first = own if kube.namespace_exists(own) else ELSEWHERE
    except KubeError:
        first = own
    asked = [resource for resource in resources(config) if not (changed and _stands(kube, config, resource))]
    return tuple(
        _verdict(kube, path, body, [first, *([namespace] if namespace not in (None, first) else [])])
        for path, body in _bodies(config, asked)
    )


def _stands(kube: ShortPodClient, config: StackConfig, resource: Resource) -> bool:
    """Whether the pods of a NodeSet are made already from what the settings say now: not of one that isn't there, or that
    this user may not read."""
    return resource.kind == "NodeSet" and _template(kube, config, resource.name) == template_digest(resource.spec)


def _template(kube: ShortPodClient, config: StackConfig, name: str) -> str:
    # Each by its name: that is the right which the gates' own looks have (`slinky rights`), and a list is another one.
    try:
        return kube.nodeset(config.cluster.namespace, name).template
    except (KubeForbidden, KubeNotFound):
        return ""


def _bodies(config: StackConfig, asked: Iterable[Resource]) -> Iterator[tuple[str, Spec]]:
    """By their settings: pods as slurm-operator would make them, under names that no pod has."""
    for resource in asked:
        pod = pod_of(config, resource)
        if pod is not None:
            metadata = {**pod["metadata"], "name": f"slinky-preflight-{secrets.token_hex(4)}"}
            yield resource.path, {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": metadata}


def _verdict(kube: ShortPodClient, path: str, body: Spec, namespaces: list[str | None]) -> PodVerdict:
    trouble, last = "", ""
    for namespace in filter(None, namespaces):
        last = namespace
        try:
            said = kube.refusal(namespace, body)
        except KubeForbidden as error:
            trouble = trouble or str(error)
        except KubeError as error:
            return PodVerdict(path, namespace, trouble=str(error))
        else:
            return PodVerdict(path, namespace, refused=said.replace(body["metadata"]["name"], "NAME"))
    return PodVerdict(path, last, trouble=trouble)
