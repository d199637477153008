"""What every preview asks Kubernetes: a table of questions, each asked where the stack has use for it.

A question that gets no answer says nothing, but for the one that has a note of its own: a preview needs no cluster. That an
API server shows a certificate that isn't trusted is said once, for nothing else would: it takes connections.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from slinky_iac import names
from slinky_iac.blueprint.flows import parts
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeNotFound, KubeUnreachable
from slinky_iac.parts.registry import kinds_of, parts_of
from slinky_iac.preflight import made_services
from slinky_iac.text import some

if TYPE_CHECKING:
    from slinky_iac.cluster.kube_connection import KubeConnection
    from slinky_iac.kube.client import KubeClient

BUDGET_S: Final = 2.0
"""Longest wait for one answer: a preview is looked at by somebody who waits."""
WITHOUT: Final = "A preview needs no cluster, but `pulumi up` will stop at the first resource"
"""What follows where Kubernetes doesn't answer."""
NAME: Final = "cluster.resourceName"
POLICIES: Final = "networkPolicies.enabled"
NAMED: Final = 3
"""Pods that are named; of more, the number."""
ENFORCERS: Final[Mapping[str, str]] = {
    "crd.projectcalico.org": "Calico",
    "cilium.io": "Cilium",
    "crd.antrea.io": "Antrea",
    "k8s.ovn.org": "OVN-Kubernetes",
    "networking.k8s.aws": "the VPC CNI of AWS",
}
"""API groups of network plugins that enforce NetworkPolicies unless that is switched off. Others have no API: kube-router,
k3s, Flannel, which enforces none."""


@dataclass(frozen=True)
class Question:
    """One question."""

    applies: Callable[[StackConfig], bool]
    ask: Callable[[KubeClient, StackConfig], Any]
    """The answer. Raises :class:`KubeError` where there is none."""
    findings: Callable[[StackConfig, Any], Iterable[Finding]]
    silent: Callable[[StackConfig, KubeError], Iterable[Finding]] = lambda _config, _error: ()
    """What is said where there is no answer."""


def answered(config: StackConfig, way: KubeConnection, questions: Iterable[Question]) -> Iterator[Finding]:
    """What the answers come to. An API server that doesn't answer is asked nothing else: each question would wait again."""
    silence: KubeUnreachable | None = None
    for inquiry in (question for question in questions if question.applies(config)):
        try:
            if silence is not None:
                raise silence
            with way.kube(BUDGET_S) as kube:
                answer = inquiry.ask(kube, config)
        except KubeError as error:
            if silence is None and isinstance(error, KubeUnreachable) and "certificate verify failed" in error.why:
                yield at("kubernetes").warning(f"{error}. {WITHOUT}", id="kubernetes-unreachable")
            silence = error if isinstance(error, KubeUnreachable) else None
            yield from inquiry.silent(config, error)
        else:
            yield from inquiry.findings(config, answer)


def clashes(config: StackConfig, controllers: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """The finding for what is there; ``controllers`` as namespace and name."""
    name, own = config.cluster.resource_name, config.cluster.namespace
    others = sorted(namespace for namespace, other in controllers if other == name and namespace != own)
    if others:
        yield at(NAME).warning(
            f"{name!r} is the name of a cluster in namespace {', '.join(others)} too, and slurm-operator"
            f" {config.operator.version} treats both as one: pods of either may be sent to the other's slurmctld. Choose"
            " another resourceName before the first `pulumi up` (it can't change later), or use operator 1.1 or newer",
            id="same-cluster-name",
        )


def unknown(config: StackConfig, error: KubeError) -> Iterator[Finding]:
    """The note where there was no answer; before the operator is there, there is no Controller."""
    if not isinstance(error, KubeNotFound):
        yield at(NAME).info(
            f"slurm-operator {config.operator.version} needs it to differ from every other cluster's on this Kubernetes, and"
            f" whether {config.cluster.resource_name!r} does is not known: {error}",
            id="same-cluster-name-unknown",
        )


def unserved(kube: KubeClient, config: StackConfig) -> list[Finding]:
    """Warnings where the API server doesn't serve what a part is made of: Pulumi says only that it knows none."""
    return [kinds.missing for kinds in kinds_of(config).values() if not kube.serves(kinds.api, kinds.resources)]


def replaced(config: StackConfig, pods: Sequence[str]) -> Iterator[Finding]:
    """The finding for worker pods that lack the label by which a newer operator tells its own.

    What lacks it, it takes for pods of another scaling mode: it makes as many others, under other names, and drains and
    deletes these, whatever the update strategy (`syncNodeSet`, 1.1.0 to main of August 2026; watched with 1.1.0). As long as
    it has no client of slurmrestd yet, it takes busy nodes for drained.
    """
    if pods:
        yield at("operator.version").warning(
            f"slurm-operator 1.0 made the worker pods {some(pods, NAMED)} without the label scaling-mode."
            f" {config.operator.version} doesn't recognise them as its own: it would replace all of them at once, under new"
            " node names, whatever updateStrategy says, and in its first moments without waiting for jobs. Before `pulumi"
            f" up` run `kubectl label pods -n {config.cluster.namespace} -l app.kubernetes.io/name=slurmd"
            f" {names.LABEL_SCALING_MODE}=StatefulSet`, then the other steps of `slinky docs releases 'Upgrade"
            " slurm-operator'`",
            id="operator-1-0-pods",
        )


def network_plugin(config: StackConfig, groups: Collection[str]) -> Iterator[Finding]:
    """The note for an API server with these API groups: policies off beside such a plugin, or on without one.

    A plugin's API says that it is, or was, installed. It doesn't say that it enforces: each has a switch, and its API stays
    when it goes. So it decides nothing, and `preflight` tries what a preview can't know (docs/adr/0012-network-policies.md).
    """
    known = [f"{name} ({group})" for group, name in ENFORCERS.items() if group in groups]
    if known and not config.network_policies.enabled:
        yield at(POLICIES).info(
            f"is false, and this Kubernetes has {' and '.join(known)}, which enforces NetworkPolicies unless that is"
            " switched off: every pod may connect to the pods of this cluster. `slinky docs networks` has the steps for a"
            " cluster that runs",
            id="network-policies-off",
        )
    if config.network_policies.enabled and not known:
        yield at(POLICIES).info(
            "is true, and this Kubernetes has the API of no network plugin that is known to enforce NetworkPolicies."
            " Some have none (kube-router, k3s); Flannel enforces nothing. `slinky preflight` tries it",
            id="network-policies-unenforced",
        )


def missing_apis(config: StackConfig, groups: Collection[str]) -> Iterator[Finding]:
    """Warnings for objects that the stack makes of kinds that this API server doesn't serve."""
    yield from (api.missing for part in parts_of(config) for api in part.apis(config) if api.group not in groups)


def _of_groups(config: StackConfig, groups: Collection[str]) -> Iterator[Finding]:
    if _has_pods(config):
        yield from network_plugin(config, groups)
    yield from missing_apis(config, groups)


def _has_pods(config: StackConfig) -> bool:
    return bool(parts(config))


def _asks_groups(config: StackConfig) -> bool:
    return _has_pods(config) or any(True for part in parts_of(config) for _ in part.apis(config))


def _groups(kube: KubeClient) -> set[str]:
    from slinky_iac.kube.resources import ApiGroupList  # noqa: PLC0415 - a program without a cluster doesn't load the client

    return {group.name for group in kube.asked("/apis", ApiGroupList, "the API server's list of APIs").groups}


SAME_NAME: Final = Question(
    lambda config: config.operator_version.confuses_equal_names, lambda kube, _: kube.controllers(), clashes, unknown
)
"""slurm-operator 1.0 takes two clusters of one name in two namespaces for one."""
OTHERS: Final = (
    Question(lambda config: bool(kinds_of(config)), unserved, lambda _, missing: missing),
    Question(
        lambda config: config.operator_version.has_scaling_mode and bool(config.nodesets),
        lambda kube, config: kube.pods_without(config.cluster.namespace, "slurmd", names.LABEL_SCALING_MODE),
        replaced,
    ),
    Question(_asks_groups, lambda kube, _: _groups(kube), _of_groups),
    Question(made_services.applies, lambda kube, config: kube.services(config.cluster.namespace), made_services.unchanged),
)
"""Asked where the API server takes connections."""
