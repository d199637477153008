"""The one way to a stack's Kubernetes and Slurm: a kubeconfig that is read once, sockets that all clients share, and the
credentials of the whole process (:func:`slinky_iac.kube.connection.shared`).

Connections are opened when they are first needed, so a NodeSet that isn't there costs one question and no key is read
for it. The key that signs tokens comes from its Kubernetes Secret at that moment and lives only in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Final

from slinky_iac.cluster.kube_connection import PATIENT_S, KubeConnection, kube_source
from slinky_iac.cluster.reach import Reach
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import NodeSet
from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.slurmrest.auth import SigningKey, held
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Endpoint, direct, in_kubernetes
from slinky_iac.slurmrest.level import require_admin
from slinky_iac.slurmrest.shared import THIS_PROCESS, SharedJobs

LISTS_S: Final = 300.0
"""Who has a minute for any question has so long for the lists of nodes and jobs: slurmrestd takes some 1 ms a job before the
first byte of its answer."""


class Connection:
    """One user of one stack's Kubernetes and Slurm. Not for two threads; every gate's call opens its own."""

    def __init__(self, reach: Reach, stack: ExitStack, *, budget_s: float, clock: Clock, tries: int = 4) -> None:
        """``budget_s``: seconds that any one question may take, ``tries`` and pauses together."""
        self.reach = reach
        self._stack = stack
        self._budget_s = budget_s
        self._retry = Retry(tries=tries)
        self._clock = clock
        self._way = stack.enter_context(KubeConnection(kube_source(reach.kubeconfig, reach.context), clock=clock))
        self._slurm: SlurmrestClient | None = None
        self._is_admin = False

    def now(self) -> int:
        """Whole seconds since the epoch."""
        return int(self._clock.wall())

    def steady(self) -> float:
        """Seconds of a clock that no one puts forward or back."""
        return self._clock.monotonic()

    @cached_property
    def kube(self) -> KubeClient:
        """The Kubernetes client, opened at first use."""
        return self._stack.enter_context(self._way.kube(self._budget_s, self._retry.tries))

    def require_kubeconfig(self) -> None:
        """Raises KubeUnreachable where no kubeconfig can be read: a wait would not mend that."""
        _ = self._way.access

    @property
    def slurm(self) -> SlurmrestClient:
        """The slurmrestd client, opened at first use with the key that the Secret holds now, as an administrator of Slurm.

        Raises what :func:`require_admin` does; after an answer that was none, the next use asks again.
        """
        if self._slurm is None:
            lists_s = LISTS_S if self._budget_s >= PATIENT_S else None
            client = self._client(self.signing_keys(), self.signing_keys, lists_s=lists_s, shared=THIS_PROCESS)
            self._slurm = self._stack.enter_context(client)
        if not self._is_admin:
            require_admin(self._slurm, self.reach.user)
            self._is_admin = True
        return self._slurm

    def slurm_as(self, user: str) -> SlurmrestClient:
        """A client of its own whose tokens name ``user``: what it submits is that user's. Close it, or use ``with``."""
        return self._client(self.signing_keys(), self.signing_keys, user=user)

    def slurm_with(self, keys: Sequence[SigningKey]) -> SlurmrestClient:
        """A client of its own that signs with these keys only: to tell which one is taken. Close it, or use ``with``."""
        return self._client(keys, retry=Retry(tries=2))

    def _client(
        self,
        keys: Sequence[SigningKey],
        again: Callable[[], Sequence[SigningKey]] | None = None,
        *,
        user: str = "",
        retry: Retry | None = None,
        lists_s: float | None = None,
        shared: SharedJobs | None = None,
    ) -> SlurmrestClient:
        return SlurmrestClient(
            endpoint(self.reach),
            keys,
            again=again,
            user=user or self.reach.user,
            clock=self._clock,
            retry=retry or self._retry,
            budget_s=self._budget_s,
            lists_s=lists_s,
            shared=shared,
            connect=self._way.lead,
        )

    def signing_keys(self) -> list[SigningKey]:
        """The keys that the Secret holds now."""
        reach = self.reach
        return held(self.kube, reach.namespace, reach.jwt_secret, reach.jwt_entry, reach.algorithm)

    def nodeset(self, name: str) -> NodeSet | None:
        """The NodeSet; None where there is none (any more)."""
        try:
            return self.kube.nodeset(self.reach.namespace, name)
        except KubeNotFound:
            return None


def endpoint(reach: Reach) -> Endpoint:
    """The slurmrestd that drains go through: at its URL, or in Kubernetes behind the API server."""
    if reach.url is not None:
        return direct(reach.url, reach.ca_file, reach.client_cert_file, reach.client_key_file, plain_http=reach.plain_http)
    source = kube_source(reach.kubeconfig, reach.context)
    return in_kubernetes(source, reach.namespace, reach.restapi_service, tls=reach.restapi_scheme == "https")


@contextmanager
def connected(reach: Reach, *, budget_s: float = PATIENT_S, tries: int = 4) -> Iterator[Connection]:
    """Connections that are closed at the end."""
    with ExitStack() as stack:
        yield Connection(reach, stack, budget_s=budget_s, clock=Clock(), tries=tries)
