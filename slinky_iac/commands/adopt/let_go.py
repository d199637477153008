"""Takes a release from Helm without a deletion: Helm's records get another owner, and Helm's claims on fields go.

Helm finds a release by the label ``owner: helm`` of its records (Helm 3, ``pkg/storage/driver/secrets.go``). Without it
`helm uninstall` says that there is no such release. The label written back is the way back, so nothing is lost.

The claims (``metadata.managedFields``) would make the API server refuse the stack's later changes of the same fields. Those
of kubectl, and of a Helm that ran in pulumi-kubernetes, would do worse: pulumi-kubernetes takes such fields for its own, and
removes those that the program doesn't name (``await.go``, fixCSAFieldManagers), labels of running pods among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from slinky_iac import field_managers
from slinky_iac.commands.adopt import ask
from slinky_iac.commands.adopt.writers import OTHER
from slinky_iac.config.adopted import Adopted
from slinky_iac.config.paths import value_at
from slinky_iac.errors import KubeConflict, KubeNotFound, ProjectError
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Wire, WrittenMeta
from slinky_iac.kube.requests import place
from slinky_iac.ownership import HELM_RECORD, LET_GO, adopted_lost

TRIES: Final = 5
"""Looks at one object before a change of somebody else's ends the run."""
_MARKS: Final = ("f:meta.helm.sh/", "f:argocd.argoproj.io/", "f:kubectl.kubernetes.io/last-applied-configuration")
"""How claims on annotations of Helm's and Argo CD's own begin. They stay: with no claim at all the API server gives every
field to one manager at the next apply, and pulumi-kubernetes takes that one's."""


class _Meta(WrittenMeta, frozen=True, kw_only=True):
    managed_fields: tuple[dict[str, Any], ...] = ()


class _Object(Wire, frozen=True):
    metadata: _Meta


def let_go(
    kube: KubeClient, adopted: Adopted, space: str, report: Callable[[str], None], stopped: Collection[str] = ()
) -> None:
    """Let Helm go of ``adopted``; ``space``: the namespace of its objects; ``stopped``: the other writers (keys of
    :data:`slinky_iac.field_managers.APPLIERS`) whose claims go, since they write no longer. What an earlier run has
    done is left as it is.

    Raises :class:`ProjectError` before the first write where an object is another one, and
    :class:`slinky_iac.errors.KubeConflict` where somebody changes one again and again.
    """
    held, name = adopted.namespace or space, adopted.release
    for called in [
        object_name for object_name in adopted.objects if _claims(kube, adopted, space, object_name, stopped) is not None
    ]:
        _release(kube, adopted, space, called, stopped)
        report(f"{called}: claims of Helm and others on its fields are gone")
    # The newest last: what Helm finds until then is the release as it runs.
    for record in ask.records_of(kube, held, HELM_RECORD, name):
        what = f"Secret {held}/{record.name}"
        kube.patch(place("Secret", held, record.name), record, {"metadata": {"labels": LET_GO}}, what)
        report(f"{what}: its label owner is {LET_GO['owner']}, so Helm doesn't find it")


def _release(kube: KubeClient, adopted: Adopted, space: str, called: str, stopped: Collection[str]) -> None:
    """Take the claims on one object. slurm-operator writes its status at any time, so it is looked at right before."""
    for tries_left in reversed(range(TRIES)):
        claims = _claims(kube, adopted, space, called, stopped)
        if claims is None:
            return
        path, meta, left = claims
        try:
            kube.patch(path, meta, {"metadata": {"managedFields": left}}, called)
        except KubeConflict:
            if not tries_left:
                raise
        else:
            return


def _claims(
    kube: KubeClient, adopted: Adopted, space: str, called: str, stopped: Collection[str]
) -> tuple[str, WrittenMeta, list[dict[str, Any]]] | None:
    """Path and metadata of an object with claims that go, and the claims that stay; None where all of them stay."""
    kind, name = called.split(" ")
    path = place(kind, space, name)
    try:
        meta = kube.asked(path, _Object, f"{called} of {space}").metadata
    except KubeNotFound:
        raise ProjectError(adopted_lost(called, space, "")) from None
    if meta.uid != adopted.objects[called].uid:
        raise ProjectError(adopted_lost(called, space, meta.uid))
    others = {writer.manager: writer is field_managers.ARGO for writer in field_managers.APPLIERS if writer.key in stopped}
    strange = field_managers.unknown(_setters(meta.managed_fields)) if OTHER in stopped else frozenset()
    reduced = tuple(manager for manager, marked in others.items() if marked)
    gone = tuple(manager for manager, marked in others.items() if not marked)
    left = [remainder for claim in meta.managed_fields for remainder in _left(claim, reduced, gone, strange)]
    if not left:
        raise ProjectError(
            f"{called} in namespace {space} has no annotation of Helm's or Argo CD's, so it isn't of release"
            f" {adopted.release}. Nothing was changed. Look at it, and make the file again by `slinky adopt`"
        )
    return (path, meta, left) if left != list(meta.managed_fields) else None


def _setters(claims: Iterable[dict[str, Any]]) -> Iterator[str]:
    """As :attr:`slinky_iac.kube.marks.ClaimedMeta.of_spec` has it."""
    for claim in claims:
        if not claim.get("subresource") and value_at(claim, ("fieldsV1", "f:spec")) is not None:
            yield str(claim.get("manager", ""))


def _left(
    claim: dict[str, Any], reduced: tuple[str, ...], gone: tuple[str, ...], strange: frozenset[str]
) -> Iterator[dict[str, Any]]:
    """What stays of a manager's claim: of Helm's, the ``reduced`` and the ``strange`` ones their own annotations, of a
    person's and those that are ``gone`` nothing. Of a ``strange`` one the whole name counts, of the others its beginning."""
    manager = str(claim.get("manager", ""))
    of_helm = field_managers.is_helm(manager) or manager.startswith(field_managers.HELM_CONTROLLER.manager)
    if of_helm or manager in strange or manager.startswith(reduced):
        fields = value_at(claim, ("fieldsV1", "f:metadata", "f:annotations"))
        marks = {key: value for key, value in fields.items() if key.startswith(_MARKS)} if isinstance(fields, dict) else {}
        if marks:
            named = "helm" if of_helm else manager
            yield {**claim, "manager": named, "fieldsV1": {"f:metadata": {"f:annotations": marks}}}
    elif not (field_managers.is_by_hand(manager) or manager.startswith(gone)):
        yield claim
