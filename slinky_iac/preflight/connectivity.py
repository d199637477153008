"""Are Kubernetes and the outside daemons there, seen from where `pulumi` runs? A look changes and stops nothing.

Pods have other routes and another DNS than a laptop, so a place that is silent here may well answer pods. That is a
warning that says what was tried. It is kept out of the stack's outputs, which would differ from one desk to the next.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from slinky_iac import causes
from slinky_iac.blueprint.places import SLURMREST, USERS, Place, outside_places
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.silence import about
from slinky_iac.preflight.facts import Tried
from slinky_iac.preflight.kube_questions import WITHOUT

if TYPE_CHECKING:
    from slinky_iac.cluster.kube_connection import KubeConnection
    from slinky_iac.kube.kubeconfig import KubeAccess

TIMEOUT_S = 2.0
"""Longest wait for all answers together: a preview is looked at by somebody who waits."""

_PODS: Final = "If pods can't reach it either, they start and wait for it. If only pods can reach it, this is fine"
_WITHOUT: Final = {
    SLURMREST: "Gates query it from here: without an answer no node is drained and no NodeSet scaled in",
    USERS: "This stack doesn't need it; its users do",
}
"""What follows for places that are none of the pods'."""


def kubernetes(way: KubeConnection, env: Mapping[str, str], *, timeout_s: float = TIMEOUT_S) -> tuple[Finding, ...]:
    """A warning where there is no readable kubeconfig, or its API server takes no connection; not asked through a proxy.

    A preview needs no cluster, and pulumi-kubernetes previews without a word where there is none; the update would stop
    at its first resource.
    """
    try:
        access = way.access
    except KubeUnreachable as error:
        return (at("kubernetes").warning(f"{error}. {WITHOUT}", id="kubernetes-unreachable"),)
    unguarded = _unguarded(access)
    parts = urlsplit(access.server)
    if access.proxy_url or env.get("HTTPS_PROXY") or env.get("https_proxy") or not parts.hostname:
        return unguarded
    (seen,) = attempts([Place("kubernetes", "the API server", parts.hostname, parts.port or 443)], timeout_s)
    if seen.open:
        return unguarded
    tried = f"tried the API server at {access.server} ({access.origin}): {seen.trouble}"
    said = f"{tried}. {WITHOUT}. {about(seen.trouble)}; or give another kubeconfig"
    return (*unguarded, at("kubernetes").warning(said, id="kubernetes-unreachable"))


def _unguarded(access: KubeAccess) -> tuple[Finding, ...]:
    """A warning where keys and tokens could go to an impostor of the API server, or to a listener on the way."""
    if urlsplit(access.server).scheme == "https" and not access.insecure:
        return ()
    why = "has insecure-skip-tls-verify" if access.insecure else "has an http:// server"
    end = "Anything that listens on the way, or answers in the API server's place, gets this stack's keys and tokens"
    return (
        at("kubernetes").warning(
            f"{access.origin} {why}. {end}. Use https:// with the API server's certificate-authority",
            id="kubernetes-unverified",
        ),
    )


def unreachable(config: StackConfig, unknown: Collection[str] = (), *, timeout_s: float = TIMEOUT_S) -> tuple[Finding, ...]:
    """A warning for every outside daemon that takes no TCP connection from here within ``timeout_s`` seconds. Hosts in
    ``unknown`` are not tried."""
    tries = attempts([place for place in outside_places(config) if place.host not in unknown], timeout_s)
    return tuple(_finding(attempt.place, attempt.trouble, timeout_s) for attempt in tries if not attempt.open)


def attempts(tried: Sequence[Place], timeout_s: float = TIMEOUT_S) -> tuple[Tried, ...]:
    """One TCP connection from here to each place, all at once; all together last ``timeout_s`` seconds at the most."""
    running = [_Attempt(place, timeout_s) for place in tried]
    for attempt in running:
        attempt.start()
    deadline = time.monotonic() + timeout_s
    for attempt in running:
        attempt.join(max(0.0, deadline - time.monotonic()))
    return tuple(Tried(thread.place, thread.trouble, thread.address) for thread in running)


class _Attempt(threading.Thread):
    """One connection, in a thread that no exit waits for: looking up a name has no timeout of its own."""

    def __init__(self, place: Place, timeout_s: float) -> None:
        super().__init__(daemon=True)
        self.place, self.timeout_s = place, timeout_s
        self.trouble = f"no answer in {timeout_s:g} s"
        self.address = ""

    def run(self) -> None:
        try:
            with socket.create_connection((self.place.host, self.place.port), timeout=self.timeout_s) as connection:
                self.address = str(connection.getpeername()[0])
        except TimeoutError:
            self.trouble = f"no answer in {self.timeout_s:g} s"
        except (OSError, UnicodeError) as error:
            self.trouble = causes.of_connection(error)
        else:
            self.trouble = ""


def advice(place: Place, trouble: str) -> str:
    """What to do about an outside daemon that took no connection, by its cause."""
    if "not known" in trouble or "no name of a host" in trouble:
        return f"Correct the name {place.host}, or give its address"
    if "refused" in trouble:
        return f"Its host answers, and nothing listens on that port: check that {place.daemon} runs, and the port"
    return f"Check the address, the firewall and the route, then whether {place.daemon}'s host is up"


def _finding(place: Place, trouble: str, timeout_s: float) -> Finding:
    return at(place.path).warning(
        f"tried {place.daemon} at {place.host} port {place.port} from here for {timeout_s:g} s: {trouble}."
        f" {_WITHOUT.get(place.path, _PODS)}. {advice(place, trouble)}",
        id="daemon-unreachable",
    )
