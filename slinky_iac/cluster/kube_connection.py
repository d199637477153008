"""The way to one API server as one user. The kubeconfig is read first, and the clients are imported only where it leads to a
cluster: httpx, jwt and cryptography take two tenths of a second of every program's start."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from slinky_iac.kube.kubeconfig import KubeAccess, KubeSource, load

if TYPE_CHECKING:
    import httpx

    from slinky_iac.kube.client import KubeClient
    from slinky_iac.kube.connection import KubeTransport
    from slinky_iac.kube.wire import Clock, Retry, Timeouts

PATIENT_S: Final = 60.0
Kube = TypeVar("Kube", bound="KubeClient")


class KubeConnection:
    """Clients made from it share its sockets, and end with it. Each method raises
    :class:`slinky_iac.errors.KubeUnreachable` where there is no readable kubeconfig."""

    def __init__(
        self,
        source: KubeSource,
        *,
        clock: Clock | None = None,
        env: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        self._source = source
        self._clock = clock
        self._env = os.environ if env is None else env
        self._home = home

    @cached_property
    def access(self) -> KubeAccess:
        """What the kubeconfig says."""
        return load(self._source, env=self._env, home=self._home or Path.home())

    @cached_property
    def clock(self) -> Clock:
        """The clock of all that is asked here."""
        from slinky_iac.kube.wire import Clock  # noqa: PLC0415 - see above

        return self._clock or Clock()

    @cached_property
    def _transport(self) -> KubeTransport:
        access = self.access
        from slinky_iac.kube.connection import KubeTransport  # noqa: PLC0415 - see above

        return KubeTransport(access, clock=self.clock)

    def client(
        self,
        kind: type[Kube],
        *,
        budget_s: float = PATIENT_S,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
    ) -> Kube:
        """A client of the API server. ``budget_s``: seconds that any one call may take, tries and pauses together."""
        lent = self._transport.lent()
        return kind(self.access, clock=self.clock, budget_s=budget_s, retry=retry, timeouts=timeouts, transport=lent)

    def kube(self, budget_s: float = PATIENT_S, tries: int | None = None) -> KubeClient:
        """The same of the kind that most want; ``tries`` of each call, the client's own number where it is None."""
        _ = self.access
        from slinky_iac.kube.client import KubeClient  # noqa: PLC0415 - see above
        from slinky_iac.kube.wire import Retry  # noqa: PLC0415 - see above

        return self.client(KubeClient, budget_s=budget_s, retry=None if tries is None else Retry(tries=tries))

    def lead(self, _source: KubeSource) -> tuple[KubeAccess, httpx.BaseTransport]:
        """For slurmrestd behind this API server (:data:`slinky_iac.slurmrest.endpoints.Connect`)."""
        return self.access, self._transport.lent()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if "_transport" in self.__dict__:
            self._transport.close()


def kube_source(kubeconfig: str | None, context: str | None, options: Collection[str] = ()) -> KubeSource:
    """A kubeconfig and context as settings and states have them; empty is none: then the user's own. ``options``: those of
    --kubeconfig and --context that the command which asks has, so that messages name them."""
    named = {"path_by": "--kubeconfig", "context_by": "--context"}
    by = {field: option for field, option in named.items() if option in options}
    return KubeSource(path=Path(kubeconfig) if kubeconfig else None, context=context or None, **by)
