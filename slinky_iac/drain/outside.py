"""Bare-metal slurmd hosts: which to drain, which to return, which somebody else holds. Pure.

Wanted are a set of held hosts and a set of active ones; hosts in neither are not looked at. A host that a person has
drained counts as held, and is neither renamed nor returned by us; one that a person has marked without draining it
can't be drained without overwriting their words, so it is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slinky_iac.drain.cost import drainable
from slinky_iac.drain.free import Busy, Free, verdict
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.text import jobs_in_words
from slinky_iac.drain.view import ClusterView, NodeView


@dataclass(frozen=True)
class HostsPlan:
    """What one look at the hosts asks for."""

    drains: tuple[str, ...] = ()
    """Held hosts without a drain, and without anybody's words on them."""
    returns: tuple[str, ...] = ()
    """Active hosts whose drain is ours, and such that the configuration has dropped."""
    waiting: tuple[str, ...] = ()
    """A sentence for each held host that isn't free yet."""
    refused: tuple[str, ...] = ()
    """A sentence for each host that can't become what is wanted without harm to somebody's words."""
    notices: tuple[str, ...] = ()
    """A sentence for each host that is, by somebody else's drain, not quite what is wanted, and is left so."""
    unknown: tuple[str, ...] = ()
    """Wanted hosts that slurmctld doesn't know."""

    @property
    def settled(self) -> bool:
        """Nothing to do and nothing to wait for."""
        return not (self.drains or self.returns or self.waiting or self.refused or self.unknown)


def plan_hosts(
    held: Sequence[str],
    active: Sequence[str],
    cluster: ClusterView,
    owner: Owner,
    now: int,
    dropped: Iterable[str] = (),
) -> HostsPlan:
    """Decide for hosts by name."""
    drains: list[str] = []
    returns: list[str] = []
    waiting: list[str] = []
    refused: list[str] = []
    notices: list[str] = []
    unknown = tuple(host for host in (*held, *active) if host not in cluster.nodes)
    for host, record in _known(held, cluster):
        if trouble := _trouble(host, record, owner):
            refused.append(trouble)
            continue
        if "DRAIN" not in record.states:
            drains.append(host)
        elif record.drained_flag and not owner.owns(record.reason):
            notices.append(f"{host} is held by {_who(record)}'s drain ({record.reason!r}), which is left as it is")
        waiting.extend(_not_free(host, cluster, now))
    for host, record in _known(active, cluster):
        if record.drained_flag and owner.owns(record.reason):
            returns.append(host)
        elif record.drained_flag:
            notices.append(f"{host} stays out of service by {_who(record)}'s drain: {record.reason!r}")
    returns += [host for host, record in _known(dropped, cluster) if record.drained_flag and owner.owns(record.reason)]
    return HostsPlan(tuple(drains), tuple(returns), tuple(waiting), tuple(refused), tuple(notices), unknown)


def _known(hosts: Iterable[str], cluster: ClusterView) -> Iterable[tuple[str, NodeView]]:
    return ((host, cluster.nodes[host]) for host in hosts if host in cluster.nodes)


def _trouble(host: str, record: NodeView, owner: Owner) -> str:
    """Why a host can't be held by us, ``""`` when it can or is."""
    if "DRAIN" not in record.states and not drainable(record, owner):
        return (
            f"{_who(record)} marked {host} without draining it ({record.reason!r}), and a drain of ours would overwrite "
            "that: drain it by hand with its reason, or return it to service"
        )
    return ""


def _not_free(host: str, cluster: ClusterView, now: int) -> Iterable[str]:
    judged = verdict(host, cluster, now)
    if isinstance(judged, Busy) and judged.jobs:
        yield f"{host}: {jobs_in_words(judged.jobs)}"
    elif not isinstance(judged, Free):
        yield f"{host}: {judged.why}"


def _who(record: NodeView) -> str:
    return record.reason_user or "somebody"
