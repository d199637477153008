"""Takes a release from Helm without a deletion: Helm's records get another owner, and Helm's claims on fields go.

Helm finds a release by the label ``owner: helm`` of its records (Helm 3, ``pkg/storage/driver/secrets.go``). Without it
`helm uninstall` says that there is no such release. The label written back is the way back, so nothing is lost.

The claims (``metadata.managedFields``) would make the API server refuse the stack's later changes of the same fields. Those
of kubectl, and of a Helm that ran in pulumi-kubernetes, would do worse: pulumi-kubernetes takes such fields for its own, and
removes those that the program doesn't name (``await.go``, fixCSAFieldManagers), labels of running pods among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from slinky_iac.commands.adopt import ask
from slinky_iac.config.adopted import Adopted
from slinky_iac.config.paths import value_at
from slinky_iac.errors import KubeNotFound, ProjectError
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Wire, WrittenMeta
from slinky_iac.kube.requests import place
from slinky_iac.ownership import HELM_RECORD, LET_GO, adopted_lost

_HELM: Final = ("helm", "pulumi-resource-kubernetes")
"""How names of field managers begin that are Helm's: Helm takes the name of the program that it runs in, which is
pulumi-kubernetes' own where its ``helm.v3.Release`` deployed the chart."""
_GONE: Final = ("kubectl", "before-first-apply")
"""How names of field managers begin whose claims go whole."""
_MARK: Final = "f:meta.helm.sh/"
"""How claims on Helm's own annotations begin. They stay: with no claim at all the API server gives every field to one
manager at the next apply, and pulumi-kubernetes takes that one's."""


class _Meta(WrittenMeta, frozen=True, kw_only=True):
    managed_fields: tuple[dict[str, Any], ...] = ()


class _Object(Wire, frozen=True):
    metadata: _Meta


def let_go(
    kube: KubeClient, adopted: Adopted, space: str, report: Callable[[str], None], also: tuple[str, ...] = ()
) -> None:
    """Let Helm go of ``adopted``; ``space``: the namespace of its objects; ``also``: how the names of other field managers
    begin whose claims go. What an earlier run has done is left as it is.

    Raises :class:`ProjectError` before the first write where an object is another one, and
    :class:`slinky_iac.errors.KubeConflict` where somebody changed one meanwhile.
    """
    held, name = adopted.namespace or space, adopted.release
    for path, meta, called, left in list(_claimed(kube, adopted, space, (*_GONE, *also))):
        kube.patch(path, meta, {"metadata": {"managedFields": left}}, called)
        report(f"{called}: claims of Helm and kubectl on its fields are gone")
    # The newest last: what Helm finds until then is the release as it runs.
    for each in ask.records_of(kube, held, HELM_RECORD, name):
        what = f"Secret {held}/{each.name}"
        kube.patch(place("Secret", held, each.name), each, {"metadata": {"labels": LET_GO}}, what)
        report(f"{what}: its label owner is {LET_GO['owner']}, so Helm doesn't find it")


def _claimed(
    kube: KubeClient, adopted: Adopted, space: str, gone: tuple[str, ...]
) -> Iterator[tuple[str, WrittenMeta, str, list[dict[str, Any]]]]:
    """Path, metadata and name of each object with claims that go, and the claims that stay."""
    for called, own in adopted.objects.items():
        kind, name = called.split(" ")
        path = place(kind, space, name)
        try:
            meta = kube.asked(path, _Object, f"{called} of {space}").metadata
        except KubeNotFound:
            raise ProjectError(adopted_lost(called, space, "")) from None
        if meta.uid != own.uid:
            raise ProjectError(adopted_lost(called, space, meta.uid))
        left = [each for claim in meta.managed_fields for each in _left(claim, gone)]
        if not left:
            raise ProjectError(
                f"{called} in namespace {space} has no annotation of Helm's, so it isn't of release {adopted.release}."
                " Nothing was changed. Look at it, and make the file again by `slinky adopt`"
            )
        if left != list(meta.managed_fields):
            yield path, meta, called, left


def _left(claim: dict[str, Any], gone: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """What stays of a manager's claim."""
    manager = str(claim.get("manager", ""))
    if manager.startswith(_HELM):
        found = value_at(claim, ("fieldsV1", "f:metadata", "f:annotations"))
        marks = {key: value for key, value in found.items() if key.startswith(_MARK)} if isinstance(found, dict) else {}
        if marks:
            yield {**claim, "manager": _HELM[0], "fieldsV1": {"f:metadata": {"f:annotations": marks}}}
    elif not manager.startswith(gone):
        yield claim
