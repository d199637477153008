"""Is what an update is about to make there already, made by somebody else? Is what it is about to change frozen?

pulumi-kubernetes takes up what is there under the name without a word (from 4.29 on with `upsertExistingObjects`, which the
provider of the components sets), and deletes it on destroy, a Namespace with all that is in it. Helm refuses a name that it
has a record of, without saying what to do. So each of these is looked at before its first creation, in preview too. What
this stack made, and lost from its state when a run was cut off, is known by its marks and taken up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from slinky_iac import field_managers, names
from slinky_iac.cluster_access import kube_connection
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.errors import KubeNotFound, KubeUnreachable, SlinkyError
from slinky_iac.selection import DAEMON
from slinky_iac.text import one_line

if TYPE_CHECKING:
    from slinky_iac.kube.client import KubeClient
    from slinky_iac.kube.marks import ClaimedMeta
    from slinky_iac.kube.objects import ObjectMeta

BUDGET_S: Final = 5.0
"""Longest wait for an answer: a preview is looked at by somebody who waits."""
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
US: Final = "slinky-iac"
HELM_RECORD: Final = {"owner": "helm"}
LET_GO: Final = {"owner": US}
"""Label of Helm's records of a release that a stack has taken over: Helm finds them no longer."""
Question = Callable[["KubeClient"], str | None]
"""Asks about one object; None where nothing is in the way, else what stops the update."""


def _marks() -> ModuleType:
    from slinky_iac.kube import marks  # noqa: PLC0415 - as in kube_connection

    return marks


@contextmanager
def _client(config: ClusterConfig, env: Mapping[str, str], home: Path, *, preview: bool = False) -> Iterator[KubeClient]:
    """A preview asks once: the engine asks for one resource after the other, and pauses would add up to a minute."""
    with kube_connection(config, env, home) as way:
        yield way.kube(BUDGET_S, tries=1 if preview else None)


def refusal(config: ClusterConfig, question: Question, env: Mapping[str, str], home: Path, *, preview: bool) -> str | None:
    """What stops the update, or None. A preview may be made where nothing answers; an update that can't ask stops."""
    try:
        with _client(config, env, home, preview=preview) as kube:
            return question(kube)
    except KubeNotFound:
        return None
    except SlinkyError as error:
        if preview:
            return None
        if isinstance(error, KubeUnreachable):
            return f"Kubernetes doesn't answer, and nothing was changed: {error}"
        return f"Kubernetes could not be asked what is there already, so nothing was changed: {error}"


def namespace(name: str, stack: str, setting: str) -> Question:
    """A Namespace that ``stack`` is about to make; ``setting`` is what says so."""
    return lambda kube: namespace_taken(_marks().namespace(kube, name), stack, setting)


def namespace_taken(metadata: ObjectMeta, stack: str, setting: str) -> str | None:
    """The refusal of a Namespace that is there and not this stack's."""
    owner = metadata.annotations.get(names.ANNOTATION_STACK)
    if owner == stack:
        return None
    made = f"the stack {owner} made it" if owner else f"it has no annotation {names.ANNOTATION_STACK}"
    return (
        f"Namespace {metadata.name} is there already, and this stack did not make it ({made}). Pulumi would take it up, and"
        f" `pulumi destroy` would delete it with everything in it. It was left as it is. To use it as it is, set {setting}:"
        " false. If this stack did make it (its state was lost, or the stack had another name), say so by `kubectl annotate"
        f" namespace {metadata.name} {names.ANNOTATION_STACK}={stack} --overwrite`"
    )


def monitor_stub(name: str) -> Question:
    """The stand-in for Prometheus' CRD: the real one has all ServiceMonitors of the Kubernetes cluster."""

    def ask(kube: KubeClient) -> str | None:
        if _marks().definition(kube, name).labels.get(MANAGED_BY) == US:
            return None
        return (
            f"CustomResourceDefinition {name} is there already, and this program did not make it: Prometheus' operator is"
            " installed. Pulumi would overwrite it, and `pulumi destroy` would delete it with every ServiceMonitor. It was"
            " left as it is. Set operator.serviceMonitorStub: false"
        )

    return ask


def custom(config: ClusterConfig, plural: str) -> Question:
    """The cluster's own Controller, Accounting or RestApi (``plural`` as in the API's paths)."""
    space, name = config.cluster.namespace, config.cluster.resource_name
    return lambda kube: object_taken(_marks().custom(kube, space, plural, name), f"{plural}.{names.GROUP}", config)


def secret(config: ClusterConfig, name: str) -> Question:
    """A Secret with a key that this stack is about to make."""
    return lambda kube: object_taken(_marks().secret(kube, config.cluster.namespace, name), "Secret", config)


def object_taken(metadata: ObjectMeta, kind: str, config: ClusterConfig) -> str | None:
    """The refusal of an object in the cluster's namespace that this program did not make for this cluster."""
    cluster = config.cluster
    if (metadata.labels.get(MANAGED_BY), metadata.labels.get(names.LABEL_CLUSTER)) == (US, cluster.resource_name):
        return None
    by = metadata.labels.get(MANAGED_BY)
    return (
        f"{kind} {cluster.namespace}/{metadata.name} is there already, and this program did not make it ({MANAGED_BY}:"
        f" {by or 'not set'}). Pulumi would take it over and change it, with the jobs that run in it. It was left as it is."
        " Give this cluster another cluster.resourceName or cluster.namespace, or remove the other one first"
    )


def frozen(config: ClusterConfig, nodeset: str) -> Question:
    """A NodeSet that an update is about to change, by its name in Kubernetes: pulumi-kubernetes would remove the annotation
    that freezes it, where kubectl has set that, and the gate after it would find none."""

    def ask(kube: KubeClient) -> str | None:
        why = kube.nodeset(config.cluster.namespace, nodeset).frozen_in_words
        return f"{why}. It was not changed. Then run the command again" if why else None

    return ask


def newer(config: ClusterConfig, nodeset: str, *, replaces: str = "") -> Question:
    """A NodeSet that an update is about to create, by its name in Kubernetes. One that this stack's gate has scaled is newer
    than the state: its creation would write 0 replicas. In the refusal ``{}`` is the command that takes it up.

    ``replaces``: in a preview, the mode that the program sets. One of the other mode is replaced, and there until then; the
    update asks once its gate has deleted it.
    """

    def ask(kube: KubeClient) -> str | None:
        live_nodeset = kube.nodeset(config.cluster.namespace, nodeset)
        if replaces and live_nodeset.spec.scaling_mode != replaces:
            return None
        replicas, labels = live_nodeset.spec.replicas, live_nodeset.metadata.labels
        if live_nodeset.spec.scaling_mode == DAEMON:
            replicas = live_nodeset.status.replicas
        if not replicas or (labels.get(MANAGED_BY), labels.get(names.LABEL_CLUSTER)) != (US, config.cluster.resource_name):
            return None
        return (
            f"NodeSet {config.cluster.namespace}/{nodeset} is there already with {replicas} replicas. This program made it"
            " for this cluster, and this stack's state has none: the state is older than the NodeSet (`pulumi stack import`"
            " of an earlier export, a restored backend). A creation would write 0 replicas. It was left as it is, with its"
            " pods and jobs. If this run was to replace it (--replace), it is gone by then: run the command with"
            " --skip-preview. Otherwise take it into the state, then run the command again:\n{}"
        )

    return ask


def adopted(config: ClusterConfig) -> Question | None:
    """What a stack takes over from Helm, before anything is registered; None where it takes over nothing. Each object must
    be the one that `slinky adopt` saw, and Helm must have let it go."""
    own, space = config.adopted, config.cluster.namespace
    if own is None:
        return None

    def ask(kube: KubeClient) -> str | None:
        for called, adopted_object in own.objects.items():
            kind, name = called.split(" ")
            try:
                there = _marks().custom(kube, space, f"{kind.lower()}s", name)
            except KubeNotFound:
                return adopted_lost(called, space, "")
            if there.uid != adopted_object.uid:
                return adopted_lost(called, space, there.uid)
            if (manager := _claimant(there)) is not None:
                return adopted_claimed(called, space, manager)
        if own.record is None:
            return None
        held = own.namespace or space
        return adopted_held(_marks().secret(kube, held, own.record), held, own.release)

    return ask


def _claimant(there: ClaimedMeta) -> str | None:
    """The program whose claims on an object stop a stack that takes it over. One that nothing here knows does so until
    the stack has its own: what is set later is seen by ``drift``. A number alone stops a gate, where it isn't left to
    others."""
    setters = there.of_spec
    known = {setter: applier for setter in sorted(setters) if (applier := field_managers.applier(setter)) is not None}
    other = next((setter for setter, program in known.items() if program is not field_managers.PULUMI), None)
    if other is not None:
        return other
    if known:
        return None
    return min(field_managers.unknown(setters - there.of_number), default=None)


def adopted_lost(called: str, space: str, uid: str) -> str:
    """The refusal of an object that isn't the one that was to be taken over; ``uid`` is of the one that is there, if any."""
    state = f"is another object now (UID {uid})" if uid else "isn't in Kubernetes"
    return (
        f"{called} in namespace {space} {state}; adopted.objects names one that this stack takes over. Nothing was changed."
        f' If that one is gone for good, remove "{called}" from adopted.objects, so that the stack makes its own. Else look'
        " at what is there, and make the file again by `slinky adopt`"
    )


def adopted_claimed(called: str, space: str, manager: str) -> str:
    """The refusal while claims of another program stand: the API server would refuse what the stack writes to these
    fields."""
    known = field_managers.applier(manager)
    other = (name_of(one_line(manager)), "Stop it, or let it forget the release", "other")
    who, ends, key = other if known is None else (known.name, known.stop, known.key)
    return (
        f"{who} claims fields of {called} in namespace {space}, which this stack takes over. Nothing was changed. {ends}"
        f" (`slinky docs chart 'A cluster that runs'`), then run `slinky adopt --stopped {key} --let-go Pulumi.<stack>.yaml`"
    )


def adopted_held(record: ObjectMeta, space: str, name: str) -> str | None:
    """The refusal while Helm has the release: `helm uninstall` would delete what the stack takes over."""
    if not record.labels.items() >= HELM_RECORD.items():
        return None
    return (
        f"Helm still has release {name} in namespace {space}, which this stack takes over: `helm uninstall` would delete its"
        " objects. Nothing was changed. Take it from Helm: `slinky adopt --let-go Pulumi.<stack>.yaml`"
    )


def release(space: str, name: str) -> Question:
    """A Helm release that this stack is about to make."""
    return lambda kube: release_taken(_marks().secrets(kube, space, HELM_RECORD | {"name": name}), space, name)


def release_taken(records: Sequence[ObjectMeta], space: str, name: str) -> str | None:
    """The refusal of a release that Helm has a record of, and the command that lets this stack take it up."""
    if not records:
        return None
    states = ", ".join(sorted({record.labels.get("status", "unknown") for record in records}))
    return (
        f"Helm has a record of release {name} in namespace {space} ({states}), and this stack's state has none. Helm would"
        " refuse with `cannot re-use a name that is still in use`. It was left as it is. If an earlier `pulumi up` of this"
        " stack was cut off: `kubectl delete secret -n"
        f" {space} -l owner=helm,name={name}` removes the record and nothing else; the next `pulumi up` takes up what is"
        " there. If somebody else deploys the operator: set operator.install: false"
    )


def lost(config: ClusterConfig, env: Mapping[str, str], home: Path, plural: str) -> str | None:
    """What to say where a resource of this stack's state isn't in Kubernetes; None where it is, or there is no answer."""
    space, name = config.cluster.namespace, config.cluster.resource_name
    try:
        with _client(config, env, home) as kube:
            _marks().custom(kube, space, plural, name)
    except KubeNotFound:
        return names.deleted(plural, space, name)
    except SlinkyError:
        return None
    return None
