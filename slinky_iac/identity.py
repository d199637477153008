"""What of a cluster can't change once it lives: refused in preview, with the reason, before anything is touched.

The operator's webhook refuses the same at apply time, half-way through an update (``internal/webhook/
controller_webhook.go``); where the webhook is off, nothing does, and the cluster breaks. A dynamic resource sees both the
old and the new values in ``check``, which runs in preview too.

Wire format: this module's path, the class name and the property names are in users' state files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from slinky_iac import names
from slinky_iac.config.shown import name_of, shown
from slinky_iac.errors import KubeNotFound, SlinkyError

REASONS: Final = {
    "clusterName": "slurmdbd names its tables and slurmctld its saved state after ClusterName: under a new one the job queue"
    " and the accounts are gone",
    "namespace": "all resources of a cluster live in one namespace; in another one they are a new cluster, and the old one's"
    " jobs die with its pods",
    "resourceName": "every Service, Secret and pod is named after it, so all would be replaced, workers with their jobs"
    " included",
    "slurmKeySecret": "the operator can't change slurmKeyRef of a live Controller: running daemons keep the old key",
    "jwtKeySecret": "the operator can't change the JWT key reference of a live Controller",
    "persistence": "slurmctld's StatefulSet can't change its volume claims, and with them goes the job queue",
    "slurmctld": "moving slurmctld between Kubernetes and an outside host leaves its saved state, the job queue, behind",
}
"""Properties and why they stay as they are."""


KUBERNETES: Final = "kubernetes"
"""Property with the UID of Kubernetes' own namespace kube-system: there is one in each Kubernetes cluster, and it stays."""
PINNED: Final = "kubernetesPinned"
STACK: Final = "stack"
ACCESS: Final = ("kubeconfig", "context")
NOT_PROTECTED: Final = "not protected"
OF_OTHERS: Final = "of others"
KEY_SECRETS: Final = "keySecrets"
"""Property: whose the keys' Secrets are; empty, as in an older state, where they are this stack's and protected."""
RECORDED: Final = (
    *REASONS, "createNamespace", "keepNamespace", "operatorNamespace", "operatorCrds", KEY_SECRETS, KUBERNETES, *ACCESS,
)  # fmt: skip
"""All properties that the state keeps."""
Props = Mapping[str, Any]


def _said(value: object) -> str:
    return f"'{name_of(value)}'" if isinstance(value, str) and name_of(value) == value else shown(value)


def refusals(olds: Props, news: Props, *, made_here: bool = True) -> dict[str, str]:
    """Why the new values can't be, by property. ``news`` holds the UID of the cluster that answers now, where one did.

    ``made_here``: whether this stack made the namespace, or it isn't known. An update that was refused a namespace of others
    leaves a record that it was to make one.
    """
    reasons = {
        name: f"can't change from {_said(olds[name])} to {_said(news.get(name))}: {why}. Set it back; or drain and"
        " destroy this stack and bring up a new one"
        for name, why in REASONS.items()
        if name in olds and olds[name] != news.get(name)
    }
    space = news.get("namespace")
    leaves = olds.get("createNamespace") and not news.get("createNamespace") and not olds.get("keepNamespace")
    if leaves and made_here:
        reasons["createNamespace"] = (
            f"can't change from true to false: this stack made the namespace {space}, and Pulumi deletes what leaves the"
            " program, here with every pod, job, key and volume claim in it. Set it back. To keep the namespace, set"
            " cluster.keepNamespace: true and run `pulumi up`: from then on `pulumi destroy` leaves it, and"
            " createNamespace: false is accepted"
        )
    if (olds.get("operatorNamespace"), news.get("operatorNamespace")) == ("made", "not made"):
        reasons["operatorNamespace"] = (
            "operator.createNamespace can't change from true to false: this stack made the operator's namespace, and Pulumi"
            " would delete it with the operator in it; no node could be drained then. Set it back"
        )
    if (olds.get("operatorCrds"), news.get("operatorCrds")) == ("not protected", "none"):
        reasons["operatorCrds"] = (
            "operator.install and operator.installCrds can't change from true to false while the CRDs are not protected:"
            " Pulumi would delete the Helm release with them, and so every NodeSet on this Kubernetes cluster, with its pods"
            " and their jobs. Set it back. To leave the CRDs to another stack, set operator.protectCrds: true and run"
            " `pulumi up`; then `pulumi state unprotect` and `pulumi state delete` the releases slurm-operator-crds and"
            " slurm-operator, which stay in Kubernetes"
        )
    if (olds.get(KEY_SECRETS), news.get(KEY_SECRETS)) == (NOT_PROTECTED, OF_OTHERS):
        reasons[KEY_SECRETS] = (
            "keys.source can't change to existing or external while keys.protect is false: Pulumi would delete the Secrets"
            " that this stack made, which the daemons' pods mount, and no pod could start again. Set it back. To leave the"
            " Secrets to others, set keys.protect: true and run `pulumi up`; then `pulumi state delete --force` both"
            " Secrets, which stay in Kubernetes, and change keys.source"
        )
    if text := _another_kubernetes(olds.get(KUBERNETES) or "", news.get(KUBERNETES) or "", news.get(PINNED) or ""):
        reasons[KUBERNETES] = text
    return reasons


def _another_kubernetes(recorded: str, live: str, pinned: str) -> str | None:
    if pinned and live != pinned:
        seen = f"the one that answers has {live}" if live else "none answers"
        return (
            f"kubernetes.cluster names the Kubernetes cluster whose namespace kube-system has the UID {pinned}, and {seen}."
            " Nothing was changed. Check kubernetes.kubeconfig, kubernetes.context and $KUBECONFIG"
        )
    if not pinned and recorded and live and recorded != live:
        return (
            f"this stack lives in another Kubernetes cluster than the one that answers (namespace kube-system has the UID"
            f" {live} and had {recorded}): here all would be made a second time, and there all would be left behind."
            " Nothing was changed. Check kubernetes.kubeconfig, kubernetes.context and $KUBECONFIG. If the old cluster is"
            f" gone for good, set kubernetes.cluster: {live}"
        )
    return None


def made_here(labels: Mapping[str, str], annotations: Mapping[str, str], props: Props) -> bool:
    """Whether a Namespace is this stack's: by its annotation, or by the labels that releases before the annotation set."""
    owner = annotations.get(names.ANNOTATION_STACK)
    if owner is not None:
        return owner == props.get(STACK)
    return labels.get(names.LABEL_CLUSTER) == props.get("resourceName")


@dataclass(frozen=True)
class _Seen:
    """UID of the Kubernetes cluster that the properties lead to, nothing where it doesn't answer or doesn't say; and whether
    the namespace is this stack's, as far as that is known."""

    uid: str = ""
    made_here: bool = True


def _uid(props: Props) -> str:
    if not set(ACCESS) <= props.keys():
        return ""  # recorded by an older release
    # Only this resource's own checks need it, and only where there is a cluster to ask: it takes long to import.
    from slinky_iac.cluster.which import answering  # noqa: PLC0415

    return answering(props["kubeconfig"], props["context"])


def _look(props: Props) -> _Seen:
    uid = _uid(props)
    if not uid:
        return _Seen()
    from slinky_iac.cluster.kube_connection import KubeConnection, kube_source  # noqa: PLC0415
    from slinky_iac.cluster.which import BUDGET_S  # noqa: PLC0415
    from slinky_iac.kube import marks  # noqa: PLC0415

    try:
        with KubeConnection(kube_source(props["kubeconfig"], props["context"])) as way:
            metadata = marks.namespace(way.kube(BUDGET_S), str(props["namespace"]))
    except KubeNotFound:
        return _Seen(uid, made_here=False)
    except SlinkyError:
        return _Seen()
    return _Seen(uid, made_here(metadata.labels, metadata.annotations, props))


class IdentityProvider(ResourceProvider):
    """Refuses a change of what :func:`refusals` names; touches nothing in the world."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Failures for every property that can't be as asked."""
        seen = _look(news)
        live = seen.uid
        reasons = refusals(_olds, news | {KUBERNETES: live}, made_here=seen.made_here)
        failures = [CheckFailure(name, f"{name}: {why}") for name, why in reasons.items()]
        # What the state knows is kept where nothing answers: a preview from elsewhere shows no difference.
        return CheckResult(news | {KUBERNETES: live or _olds.get(KUBERNETES) or ""}, failures)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """A difference where a property may change, or is new (an older state lacks it). Empty is as good as absent."""
        return DiffResult(changes=any((_olds.get(name) or "") != (_news.get(name) or "") for name in RECORDED))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Record what the cluster is."""
        return CreateResult(str(props["clusterName"]), {name: props.get(name) for name in RECORDED})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Record properties that an older state lacked, and those that may change."""
        return UpdateResult({name: _news.get(name) for name in RECORDED})

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """Raises RuntimeError where another Kubernetes cluster answers: a refresh would take everything for deleted."""
        live, recorded = _uid(props), props.get(KUBERNETES)
        if live and recorded and live != recorded:
            raise RuntimeError(str(_another_kubernetes(recorded, live, "")))
        return ReadResult(id_, {name: props.get(name) for name in RECORDED})
