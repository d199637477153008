"""The cluster's record in slurmdbd: that it is there, and whose slurmctld it names. Pure.

slurmdbd writes down the address from which slurmctld connected, as it sees it, and the port that slurmctld says it listens
on (Slurm, ``slurmdbd/proc_req.c``, ``_register_ctld``). A second slurmctld of the same ClusterName overwrites both.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Final

from slinky_iac.blueprint.places import registers_outside
from slinky_iac.config.fields import is_address
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import INSIDE, OUTSIDE, Answer, Answers, At, Expect, Run, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.slurmrest.daemons import Cluster

_BY_HAND: Final = "sacctmgr -n show cluster format=cluster,controlhost,controlport"
_ANY: Final = "on a host whose sacctmgr reaches this slurmdbd"
_PROCESS: Final = "pgrep -a slurmctld"
_PROXY: Final = (
    "If a TCP proxy on that host leads this stack's slurmctld to slurmdbd, this is right: acknowledge it below"
    " `slinky-iac:acknowledged:` by the line `preflight.registered-host@{}: WHY`, with your reason. "
)
_TWICE: Final = (
    "Only one slurmctld can have this ClusterName in slurmdbd. A second one takes over the record: slurmdbd sends changes of"
    " accounts to that one alone, and jobs of both get the same numbers. If none runs there any more, the record is an old"
    " one, and this stack's may have it. Else give this cluster another cluster.name, or, where this stack's pods are to"
    " join that slurmctld, set"
)


def _row(config: StackConfig, facts: Facts) -> Cluster | None:
    return next((cluster for cluster in facts.slurm.clusters or () if cluster.name == config.cluster.name), None)


def _unmade(facts: Facts) -> bool:
    """Whether the stack has certainly made no slurmctld yet: neither its pod nor slurmrestd's Deployment is there."""
    return facts.kube.restapi is False and facts.kube.slurmctld == frozenset()


def _record(config: StackConfig, facts: Facts) -> Answers:
    """slurmdbd answers, and has the cluster with a slurmctld; before this stack's is made, with none."""
    if not config.accounting.enabled:
        return
    name, rows, row = config.cluster.name, facts.slurm.clusters, _row(config, facts)
    subject = f"cluster {name} in slurmdbd"
    if said := facts.slurm.silent.get("slurmdbd", ""):
        yield problem(
            said,
            "slurmctld accepts our token, so slurmdbd is down, slurmrestd can't reach it, or it refuses the token: it must"
            " have the same JWT key, and reads a new one only when it is restarted",
            "systemctl status slurmdbd; grep -i AuthAlt /etc/slurm/slurmdbd.conf",
            at="on slurmdbd's host",
            source="slurmrestd",
        )
    elif _unmade(facts):
        yield _before(config, facts, subject)
    elif rows is None:
        why = facts.slurm.unknown("clusters", "slurmdbd was not asked")
        change = "It must list the cluster with slurmctld's address and port"
        yield unknown(why, change, _BY_HAND, at=At.SLURMCTLD, about=subject)
    elif row is None:
        known = ", ".join(sorted(cluster.name for cluster in rows)) or "none"
        change = "slurmctld registers when it reaches slurmdbd: check ClusterName, AccountingStorageHost and its log"
        yield problem(f"isn't there; it has {known}", change, _BY_HAND, at=At.SLURMCTLD, about=subject)
    elif not row.controller.host or not row.controller.port:
        said = "is there, and no slurmctld is registered (host empty, port 0)"
        lost = "job records wait in its queue, and are lost when it is full"
        change = f"Start slurmctld, or repair its route to slurmdbd: {lost}"
        yield problem(said, change, _BY_HAND, at=At.SLURMCTLD, about=subject)
    else:
        yield fine(f"is there, and a slurmctld is registered: {_shown(row)}", about=subject)


def _before(config: StackConfig, facts: Facts, subject: str) -> Answer:
    """The record before this stack's slurmctld is made, which registers itself."""
    row = _row(config, facts)
    if facts.slurm.clusters is None:
        why = facts.slurm.unknown("clusters", "slurmdbd was not asked")
        change = (
            "Before the first `pulumi up` it must list no slurmctld of this name: a second one would take over its record."
            " If it lists one, set controller.external or another cluster.name"
        )
        return unknown(why, change, _BY_HAND, at=_ANY, about=subject)
    if row is None:
        return fine("isn't there yet: the name is free, and slurmctld registers itself", about=subject)
    if row.controller.host:
        return fine(f"is there, and a slurmctld is registered: {_shown(row)}", about=subject)
    return warning(
        "has records of the name, and no slurmctld is registered now",
        "This stack's slurmctld adds its jobs to these records, and counts from 1 again. If a slurmctld of this name is only"
        " stopped, set controller.external or another cluster.name: two of them would take over each other's record",
        _BY_HAND,
        at=_ANY,
        about=subject,
    )


def _shown(row: Cluster) -> str:
    return f"{row.controller.host} port {row.controller.port}"


def _same(host: str) -> str:
    """One spelling for one host: slurmdbd writes IPv4 as IPv6 where it listens on both."""
    if not is_address(host):
        return host.lower().rstrip(".")
    address = ip_address(host)
    return str(getattr(address, "ipv4_mapped", None) or address)


def _resolved(facts: Facts, host: str) -> set[str]:
    """A host's addresses as far as they are known: its own, and what its name came to here or in a pod."""
    tried = (*facts.here, *(seen for report in facts.pod.reports for seen in report.tried))
    addresses = {_same(seen.address) for seen in tried if seen.place.host == host and seen.address}
    return addresses | ({_same(host)} if is_address(host) else set())


def _known(facts: Facts, host: str) -> set[str]:
    return {_same(host)} | _resolved(facts, host)


def _inside(config: StackConfig, facts: Facts) -> Answers:
    """Of a slurmctld in Kubernetes: its pod, or the pod's node, is registered with the outside slurmdbd."""
    row = _row(config, facts)
    if not registers_outside(config) or row is None or not row.controller.host or not row.controller.port:
        return
    subject, shown = _subject(config), _shown(row)
    own = {_same(address) for address in facts.kube.slurmctld or ()}
    if why := _not_ours(config, facts, row):
        of = _host_outside(config, facts, row)
        proxy = _PROXY.format(of) if of else ""
        place = _place(config, facts, row)
        said = problem(
            f"slurmctld at {shown} isn't this stack's: {why}",
            f"{proxy}{_TWICE}",
            f"external: {{host: {place}, port: {row.controller.port}}}",
            at="in Pulumi.<stack>.yaml, under slinky-iac:controller",
            about=subject,
        )
        yield replace(said, of=of)
    elif _same(row.controller.host) in own:
        yield fine(f"slurmctld's pod, or the pod's node, has the address {shown}", about=subject)
    else:
        had = f"slurmctld's pods have {', '.join(sorted(own))}" if own else "slurmctld has no pod now"
        had = "the addresses of slurmctld's pods aren't known" if facts.kube.slurmctld is None else had
        yield unknown(
            f"not known: slurmdbd has {shown}, and {had}",
            "If the network changes the pods' addresses on the way to slurmdbd, this can be right. If that address is a host"
            " of yours, no slurmctld of this ClusterName may run on it",
            _PROCESS,
            at=f"on {row.controller.host}, if it is a host of yours",
            about=subject,
        )


def _not_ours(config: StackConfig, facts: Facts, row: Cluster) -> str:
    """Why the registered slurmctld is certainly not this stack's; empty where that isn't certain."""
    host, pods = _same(row.controller.host), {_same(address) for address in facts.kube.slurmctld or ()}
    if row.controller.port != config.slurmctld.port:
        return f"that one has port {config.slurmctld.port}"
    if _unmade(facts):
        return "the stack has made none yet"
    if host in pods:
        return ""
    if _on_slurmdbds(config, facts, host):
        return "it runs on slurmdbd's host, outside"
    metal = _on_metal(config, facts, host)
    return f"it runs on {metal}, outside" if metal else ""


def _on_metal(config: StackConfig, facts: Facts, host: str) -> str:
    """The outside host that has the address. It can be a Kubernetes node, too: only beside the pods' own nodes it tells."""
    outside = config.external if facts.kube.slurmctld else None
    hosts = {} if outside is None else {machine.name: machine.address for machine in outside.slurmd_hosts}
    hosts |= {} if outside is None else {machine.name: machine.address for machine in outside.login_hosts}
    return next((name for name, address in hosts.items() if host in {_same(name), _same(address or name)}), "")


def _host_outside(config: StackConfig, facts: Facts, row: Cluster) -> str:
    """The stack's own host from which a proxy can lead this stack's slurmctld to slurmdbd, which then sees that host: no
    answer tells it from a slurmctld there. Empty where it is none of these, or another slurmctld for certain."""
    host = _same(row.controller.host)
    if row.controller.port != config.slurmctld.port or _unmade(facts):
        return ""
    return config.slurmdbd.hosts[0].host if _on_slurmdbds(config, facts, host) else _on_metal(config, facts, host)


def _on_slurmdbds(config: StackConfig, facts: Facts, host: str) -> bool:
    """Whether slurmdbd sees the address as one of its own host."""
    own = {name for server in config.slurmdbd.hosts for name in _known(facts, server.host)}
    return host in own or (is_address(host) and ip_address(host).is_loopback)


def _place(config: StackConfig, facts: Facts, row: Cluster) -> str:
    """The registered host as a setting may have it: an answer's text is none, unless it is an address."""
    if _on_slurmdbds(config, facts, _same(row.controller.host)):
        return config.slurmdbd.hosts[0].host
    return row.controller.host if is_address(row.controller.host) else "HOST"


def _outside(config: StackConfig, facts: Facts) -> Answers:
    """Of an outside slurmctld: one of the stack's hosts is registered."""
    row, hosts = _row(config, facts), config.slurmctld.hosts
    if not config.slurmdbd.hosts or row is None or not row.controller.host or not row.controller.port:
        return
    subject, host = _subject(config), _same(row.controller.host)
    beside = is_address(host) and ip_address(host).is_loopback
    mine = {name for server in hosts for name in _known(facts, server.host)}
    seen = {name for server in config.slurmdbd.hosts for name in _known(facts, server.host)} if beside else {host}
    names = [server.host for server in (*hosts, *(config.slurmdbd.hosts if beside else ()))]
    unresolved = [name for name in names if not _resolved(facts, name)]
    ours = ", ".join(_with_addresses(facts, server.host) for server in hosts)
    if mine & seen:
        yield fine(f"slurmctld at {_shown(row)} is controller.external's host", about=subject)
    elif unresolved:
        yield unknown(
            f"not known: slurmdbd has {_shown(row)}, and the address of {unresolved[0]} isn't known here",
            "It must have an address of slurmctld's host",
            f"getent hosts {unresolved[0]}",
            at="on a host that knows the name",
            about=subject,
        )
    else:
        said = warning(
            f"slurmdbd has {_shown(row)}, and controller.external.host is {ours}",
            "If both are addresses of one host, this is right. Else another slurmctld of this ClusterName has taken over the"
            " record, or a backup that controller.external.backups lacks is in control",
            _PROCESS,
            at=f"on {row.controller.host}",
            about=subject,
        )
        yield replace(said, of=host if is_address(host) else "")


def _with_addresses(facts: Facts, host: str) -> str:
    addresses = sorted(_resolved(facts, host) - {_same(host)})
    return f"{host} ({', '.join(addresses)})" if addresses else host


def _subject(config: StackConfig) -> str:
    return f"slurmctld of {config.cluster.name} in slurmdbd"


EXPECTED: Final = (
    Expect("slurmdbd", "slurmdbd", "slurmdbd", _record, Run.SHORT),
    Expect("registered-host", "slurmctld in slurmdbd", "slurmdbd", _inside, Run.SHORT, INSIDE),
    # A host has many addresses: each preview would warn of one that is right.
    Expect("registered-host", "slurmctld in slurmdbd", "slurmdbd", _outside, Run.WHOLE, OUTSIDE),
)
