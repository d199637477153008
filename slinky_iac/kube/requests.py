"""Requests of one user to one API server: what they carry, how often they are tried, what their failures are called.

Reads are repeated on passing trouble, within a budget. Writes carry UID and resourceVersion of what was looked at. Each
failure is a :class:`slinky_iac.errors.KubeError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import httpx

from slinky_iac import field_managers
from slinky_iac.errors import KubeConflict, KubeError, KubeForbidden, KubeNotFound, KubeUnreachable
from slinky_iac.kube import resources, tally
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.kubeconfig import KubeAccess
from slinky_iac.kube.objects import Item, Listed, PartlyListed, WrittenMeta, read
from slinky_iac.kube.silence import about
from slinky_iac.kube.wire import Caller, Clock, NoAnswer, Retry, Timeouts, quote
from slinky_iac.names import API_VERSION, is_dns_label

PASSING = frozenset({429, 500, 502, 503, 504})
PAGE: Final = 500
"""Objects a page, as kubectl asks."""
LIST_TIMES: Final = 4
"""A list may take so many times what one call may, all its pages together."""
MAX_LIST: Final = 1 << 30
"""Bytes of all pages of a list: 10,000 pods are 200 MB."""
DONE = {"POST": frozenset({200, 201}), "PATCH": frozenset({200, 201}), "DELETE": frozenset({200, 202})}
"""What says success to a write: created, by an apply too, and accepted for a deletion that continues. For all else 200."""
NO_SUCH_API = b"404 page not found"
"""The API server's whole answer where it has no such API at all; of an object that isn't there it says so in a Status."""
Body = TypeVar("Body")
_Texts = dict[str, str] | None


class KubeRequests(Caller):
    """Opens nothing until the first request. Close it, or use ``with``."""

    server = tally.KUBERNETES

    def __init__(
        self,
        access: KubeAccess,
        *,
        clock: Clock | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        budget_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``budget_s``: seconds that any one call may take, tries and pauses together."""
        clock = clock or Clock()
        inner = transport or KubeTransport(access, clock=clock)
        super().__init__(access.server, inner, clock=clock, timeouts=timeouts, retry=retry)
        self._access = access
        self._budget_s = budget_s

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._access.server!r})"

    def patch(self, path: str, meta: WrittenMeta, change: Mapping[str, Mapping[str, object]], what: str) -> bytes:
        """Merge a change into exactly the object that was looked at; the answer. Raises as :meth:`annotate_nodeset`."""
        body = {**change, "metadata": {**change.get("metadata", {}), **exactly(meta)}}
        merge = {"content-type": "application/merge-patch+json"}
        return self._answer(
            "PATCH", path, what, params={"fieldManager": field_managers.OURS}, json=body, headers=merge
        ).content

    def apply(self, path: str, body: Mapping[str, object], manager: str, what: str) -> None:
        """Server-side apply, which takes nothing over. :raises KubeConflict: another manager's value."""
        headers = {"content-type": "application/apply-patch+yaml"}
        self._answer("PATCH", path, what, params={"fieldManager": manager}, json=body, headers=headers)

    def asked(self, path: str, model: type[Body], what: str, params: _Texts = None, headers: _Texts = None) -> Body:
        return read(self._answer("GET", path, what, params=params, headers=headers).content, model, what)

    def listed(
        self,
        path: str,
        page: type[Listed[Item] | PartlyListed[Item]],
        what: str,
        params: _Texts = None,
        headers: _Texts = None,
    ) -> tuple[Item, ...]:
        """All objects of a list, page by page.

        :raises KubeUnreachable: it is larger, or takes longer, than a list may.
        """
        items: list[Item] = []
        proceed, size = "", 0
        ends = self._sender.clock.monotonic() + LIST_TIMES * self._budget_s
        while True:
            if size > MAX_LIST or self._sender.clock.monotonic() > ends:  # pages that name a next one without end
                over = f"over {MAX_LIST} bytes" if size > MAX_LIST else f"not whole after {LIST_TIMES * self._budget_s:g} s"
                raise KubeUnreachable(f"{what}: the list from {self._access.server} is {over}. Look again later")
            asked = {**(params or {}), "limit": str(PAGE)} | ({"continue": proceed} if proceed else {})
            try:
                answer = self._answer("GET", path, what, params=asked, headers=headers)
                part = read(answer.content, page, what)
            except KubeError as error:
                # 410: etcd has compacted the snapshot that the pages came from; begin again with a new one.
                if error.status != 410 or not proceed:
                    raise
                items, proceed = [], ""
                continue
            size += len(answer.content)
            items.extend(part.items or ())
            proceed = part.metadata.continue_
            if not proceed:
                return tuple(items)

    _get = asked  # by its public name for other modules of this package (:mod:`slinky_iac.kube.marks`)

    def _object(self, kind: str, model: type[Body], namespace: str, name: str) -> Body:
        return self.asked(place(kind, namespace, name), model, f"{kind} {namespace}/{name}")

    def _answer(
        self, method: str, path: str, what: str, *, params: _Texts = None, json: object = None, headers: _Texts = None
    ) -> httpx.Response:
        try:
            response = self._sender.send(
                method,
                path,
                budget_s=self._budget_s,
                repeatable=method in ("GET", "DELETE"),
                again=_is_passing,
                params=params,
                json=json,
                headers=headers,
            )
        except NoAnswer as error:
            unsure = ". It may have been done or not: look again" if method != "GET" and error.maybe_done else ""
            raise KubeUnreachable(
                f"{what}: no answer from {self._access.server} ({self._access.origin}): {error}{unsure}",
                advice=about(error.why),
            ) from None
        if response.status_code not in DONE.get(method, {200}):
            raise self._refusal(response, what)
        return response

    def _refusal(self, response: httpx.Response, what: str) -> KubeError:
        """The error for anything but success, by status; Kubernetes' own words where there are any."""
        code = response.status_code
        status = resources.status_of(response.content)
        said = quote(status.message) if status.kind == "Status" else ""
        text = f"{what}: HTTP {code} from {self._access.server}" + (f": {said}" if said else "")
        if code == 404 and status.kind != "Status" and not self._without_api(response):
            return KubeUnreachable(
                f"{text}: not Kubernetes' own words, so a proxy before it may have lost the way. Nothing is taken for gone",
                status=code,
            )
        if code == 404:
            return KubeNotFound(f"{text}: it isn't there", status=code)
        if code == 409:
            return KubeConflict(f"{text}: somebody changed it since we looked. Look again", status=code)
        if code in (401, 403):
            cause = "the credentials are unknown or expired" if code == 401 else "this user may not"
            advice = "Log in again" if code == 401 else "Ask for the right: `slinky rights --for apply` prints the Roles"
            return KubeForbidden(f"{text}: {cause} ({self._access.origin})", status=code, advice=advice, said=said)
        if code in PASSING:
            return KubeUnreachable(
                f"{text}: the API server or a proxy before it is in trouble. Look again later", status=code
            )
        return KubeError(f"{text}: not an answer that may be used", status=code, said=said)

    def _without_api(self, response: httpx.Response) -> bool:
        """Whether a 404 without a Status is the API server's: it says so of a whole API that it hasn't (no CRD).

        Other servers use the same text, so it must say which Kubernetes it is as well: a gate lets go what is gone.
        """
        if response.content.strip() != NO_SUCH_API:
            return False
        try:
            answer = self._sender.send("GET", "/version", budget_s=self._budget_s, repeatable=True, again=_is_passing)
        except NoAnswer:
            return False
        if answer.status_code != 200:  # a user who may not ask for the release gets that answer in the API server's own form
            return resources.status_of(answer.content).kind == "Status"
        try:
            return bool(read(answer.content, resources.Version, "version").git_version)
        except KubeError:
            return False


def _is_passing(answer: httpx.Response) -> bool:
    return answer.status_code in PASSING


def exactly(metadata: WrittenMeta) -> dict[str, str]:
    """What makes a write fail with KubeConflict where the object isn't as it was found."""
    return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}


_APIS: Final = {
    "Deployment": "/apis/apps/v1",
    **dict.fromkeys(("ConfigMap", "Pod", "Secret", "Service"), "/api/v1"),
}
"""Where kinds are served, but for the operator's."""


def place(kind: str, namespace: str, name: str | None = None, *, api: str = "") -> str:
    """Path of an object in a namespace; without a name, that of all of its kind. ``api``: where the kind is served, if it is
    none of Kubernetes' first kinds and not the operator's."""
    of_kind = f"{api or _APIS.get(kind, f'/apis/{API_VERSION}')}/namespaces/{label_of(namespace)}/{kind.lower()}s"
    return of_kind if name is None else f"{of_kind}/{label_of(name)}"


def label_of(name: str) -> str:
    """A path segment. Names come from config and state; one with ``/`` or ``..`` would address something else."""
    if not all(is_dns_label(part) for part in name.split(".")) or len(name) > 253:
        form = "which is lower-case letters, digits and '-', 63 at most between dots (RFC 1123)"
        raise ValueError(f"{name!r} can't be the name of a Kubernetes object, {form}: nothing was sent")
    return name
