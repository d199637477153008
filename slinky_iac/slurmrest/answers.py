"""What an HTTP answer of slurmrestd means: data, a refusal, trouble that passes, or nothing that may be believed.

The status alone tells little (facts/slurmrestd.md#errors): 200 can be a failure, the same refusal is 500 in 25.11 and 422
in 26.05, and the body of a failed list says ``"jobs": []``. So: only a 200 is ever read as data, and every other answer
is judged by Slurm's own ``error_number`` first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Self, TypeVar

import httpx

from slinky_iac.decoders import decoder
from slinky_iac.errors import SlurmrestAuthError, SlurmrestError, SlurmrestGarbage, SlurmrestRefused, SlurmrestUnreachable
from slinky_iac.kube.resources import Status, status_of
from slinky_iac.kube.wire import quote
from slinky_iac.slurmrest.objects import Wire

AUTH_REFUSED = 1007
"""ESLURM_PROTOCOL_AUTHENTICATION_ERROR: wrong key, expired token or slurmrestd newer than slurmctld."""
NO_SUCH_NODE = 2018
"""ESLURM_INVALID_NODE_NAME: the node isn't known, or not any more."""
NO_SUCH_JOB = 2017
"""ESLURM_INVALID_JOB_ID: slurmctld has no such job (any more), or doesn't show it to us."""
PASSING = frozenset({104, 1800, 5004, 7000})
"""slurmctld ended in the middle of a question (connection reset); not reachable; silent; slurmdbd not reachable."""
PASSING_STATUS = frozenset({502, 503, 504})
SLURMDBD_SILENT: Final = frozenset({110, 111, 113, 7000})
"""slurmdbd doesn't answer in time; refuses the connection; no route to its host; no connection to it."""
_TRES_QUERY: Final = ("slurmdb_tres_get", "Slurmdb query failed")
"""Source and description of the one error beside which slurmrestd continues with slurmctld's answer."""

_log = logging.getLogger(__name__)


UNREADABLE: Final = (ValueError, RecursionError)
"""What msgspec raises for bytes that aren't what was wanted. Its texts tell places and types, never a value."""


def legible(content: bytes) -> bytes:
    """``content`` as UTF-8. Slurm passes on what users name their jobs, byte for byte: what isn't text becomes U+FFFD."""
    return content if content.isascii() else content.decode("utf-8", "replace").encode()


class ErrorEntry(Wire, frozen=True):
    """One entry of ``errors``. Number 0 with the text "No error" is what an unknown single node gives."""

    error_number: int = 0
    error: str = ""
    description: str = ""
    source: str = ""

    def text(self) -> str:
        said = " / ".join(part for part in (self.error, self.description) if part)
        return quote(f"error {self.error_number} {said} (from {self.source})" if self.source else said)


class _Warning(Wire, frozen=True):
    description: str = ""
    source: str = ""


class _Release(Wire, frozen=True):
    release: str = ""
    cluster: str = ""


class _Meta(Wire, frozen=True):
    slurm: _Release = _Release()


class Envelope(Wire, frozen=True, kw_only=True):
    """What every answer of slurmrestd has around its data. ``errors`` must be there: its absence isn't success."""

    errors: tuple[ErrorEntry, ...]
    warnings: tuple[_Warning, ...] = ()
    meta: _Meta = _Meta()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The body as this model. Raises one of :data:`UNREADABLE`, and nothing else, for any bytes."""
        return decoder(cls).decode(legible(content))


Body = TypeVar("Body", bound=Envelope)


def read(response: httpx.Response, model: type[Body], what: str) -> Body:
    """The answer's body as ``model``.

    :raises SlurmrestError: of the class that fits, for anything but a 200 without errors and with all that we need.
    """
    if response.status_code != 200:
        raise refusal(response, what)
    try:
        body = model.parse(response.content)
    except UNREADABLE as error:
        envelope = _envelope(response)
        if envelope is not None and any(e.error_number for e in envelope.errors):
            raise _from_errors(envelope.errors, 200, what) from None
        said = "; ".join(e.text() for e in envelope.errors) if envelope is not None else ""
        raise SlurmrestGarbage(
            f"{what}: HTTP 200, but the body isn't what Slurm documents ({quote(str(error))})"
            + (f"; it says: {said}" if said else "")
            + ". Nothing was concluded from it"
        ) from None
    for warning in body.warnings:
        _log.warning("%s: slurmrestd warns: %s", what, quote(f"{warning.description} ({warning.source})"))
    if body.errors:
        raise _from_errors(body.errors, 200, what)
    return body


def read_without_tres(response: httpx.Response, model: type[Body], what: str) -> Body | None:
    """The body of an HTTP 500 whose data is whole; None for any other answer.

    Before slurmrestd writes partitions, it asks slurmdbd for the names of TRES, and continues without them
    (``_slurmdb_query_failed``, data_parser of 25.11 and 26.05). Only an answer with that error and no other is data.
    """
    envelope = _envelope(response) if response.status_code == 500 else None
    if envelope is None or not envelope.errors or not all(map(_is_tres_query, envelope.errors)):
        return None
    try:
        body = model.parse(response.content)
    except UNREADABLE as error:
        _log.info("%s: the list beside slurmdbd's error can't be read: %s", what, quote(str(error)))
        return None
    _log.info("%s: slurmdbd doesn't answer; read without it", what)
    return body


def _is_tres_query(error: ErrorEntry) -> bool:
    return error.error_number in SLURMDBD_SILENT and (error.source, error.description) == _TRES_QUERY


NO_POD: Final = "no endpoints available for service"
"""The API server's word (apiserver's service proxy) where no pod of a Service is ready."""


def refusal(response: httpx.Response, what: str) -> SlurmrestError:
    """The error that an answer other than 200 stands for. Its data, if it has any, is not looked at."""
    code = response.status_code
    kube = _kube_status(response)
    if kube is not None:
        starting = code == httpx.codes.SERVICE_UNAVAILABLE and kube.message.startswith(NO_POD)
        check = (
            "No pod of slurmrestd is ready: it is starting, or `kubectl describe` of its pod says why it can't"
            if starting
            else "Check the RestApi's Service and pods, and that this user may use services/proxy"
        )
        said = f"{what}: the Kubernetes API server's service proxy answered {code}: {quote(kube.message)}"
        return SlurmrestUnreachable(f"{said}. Slurm wasn't asked. {check}")
    envelope = _envelope(response)
    if envelope is not None and (envelope.errors or code == 511):
        return _from_errors(envelope.errors, code, what)
    return _without_body(response, what)


def _without_body(response: httpx.Response, what: str) -> SlurmrestError:
    code = response.status_code
    kind = response.headers.get("content-type", "no content type").partition(";")[0]
    said = quote(response.content[:2000].decode("utf-8", "replace"))
    text = f"{what}: HTTP {code} ({quote(kind)}) {said!r}"
    if code in (401, 511):
        return SlurmrestAuthError(
            f"{text}: slurmrestd saw no token it could pass on. A proxy between may have taken the header "
            "X-SLURM-USER-TOKEN away, or slurmrestd runs without auth/jwt"
        )
    if code in PASSING_STATUS:
        return SlurmrestUnreachable(f"{text}: a proxy answered in Slurm's place; Slurm is not reachable behind it")
    if 300 <= code < 400:
        return SlurmrestGarbage(f"{text}: a redirect, which Slurm never sends and which isn't followed. Check the URL")
    return SlurmrestGarbage(f"{text}: not an answer that Slurm documents. Nothing was concluded from it")


def is_auth_refusal(response: httpx.Response) -> bool:
    """Whether slurmctld refused the token (HTTP 511, or error 1007 under another status)."""
    return response.status_code == 511 or AUTH_REFUSED in _numbers(response)


def is_passing(response: httpx.Response) -> bool:
    """Whether the same question is worth asking again in a moment."""
    if _kube_status(response) is not None:
        return response.status_code in PASSING_STATUS | {429, 500}
    numbers = _numbers(response)
    return bool(numbers & PASSING) or (not numbers and response.status_code in PASSING_STATUS)


def _numbers(response: httpx.Response) -> frozenset[int]:
    """Error numbers of a failed answer; a 200 is read once, by :func:`read`, because it can be large."""
    envelope = _envelope(response) if response.status_code != 200 else None
    return frozenset(e.error_number for e in envelope.errors if e.error_number) if envelope else frozenset()


def _from_errors(errors: Sequence[ErrorEntry], code: int, what: str) -> SlurmrestError:
    said = "; ".join(e.text() for e in errors[:5])
    numbers = [e.error_number for e in errors if e.error_number]
    text = f"{what}: HTTP {code}: {said}"
    if AUTH_REFUSED in numbers or code == 511:
        return SlurmrestAuthError(
            f"{text}: the token was refused: wrong key, an expired token (clock), or slurmrestd newer than slurmctld"
        )
    if PASSING & set(numbers):
        down = "slurmdbd" if 7000 in numbers else "slurmctld"
        return SlurmrestUnreachable(f"{text}: slurmrestd runs but can't reach {down}. Start it and try again")
    if numbers:
        return SlurmrestRefused(f"{text}: Slurm refused it", error_number=numbers[0])
    return SlurmrestGarbage(f"{text}: an error without a number. Nothing was concluded from it")


def _envelope(response: httpx.Response) -> Envelope | None:
    try:
        return Envelope.parse(response.content)
    except UNREADABLE:
        return None


def _kube_status(response: httpx.Response) -> Status | None:
    """The API server's own error, where slurmrestd is asked through its service proxy."""
    status = status_of(legible(response.content)) if response.status_code != 200 else None
    return status if status is not None and status.kind == "Status" else None
