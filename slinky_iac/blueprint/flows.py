"""Who connects to whom in a cluster: the one table of it, and where each of them is.

NetworkPolicies, their rules, the diagram, preflight's connection tests, the hand-off's firewall lists and the tables of
docs/outside-hosts.md are made from it.

Sources: hybrid guide (Networking, External …); slurm.conf(5) SlurmctldPort, SlurmdPort, SrunPortRange; slurmdbd.conf(5)
DbdPort; srun(1), sacct(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from slinky_iac import names
from slinky_iac.config.fields import address_of, is_address
from slinky_iac.config.networks import Network
from slinky_iac.config.sections import PodSettings
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.names import Part

SSH: Final = 22
ALL_TCP: Final = "all TCP"
EVERYTHING: Final = "everything"
Ports = tuple[int, ...] | Literal["all TCP", "everything"]
End = Part | Literal["clients", "database", "desk", "API server", "users"]
"""Who connects, or is connected to. ``clients``: pods of the section of that name; ``desk``: where pulumi runs; ``users``:
users of the slurmrestd that is theirs, on a host outside."""


@dataclass(frozen=True)
class Flow:
    """``source`` connects to ``target``: on which ports of it, and for what. No ports: those of the kubeconfig or a URL."""

    source: End
    target: End
    ports: Ports
    purpose: str


CONTROL: Final = "registration, configuration files, commands"
ACCOUNTING: Final = "accounting, sacct and sacctmgr"
LAUNCH: Final = "launch, ping, drain, steps over several nodes"
SRUN: Final = "srun's own connections"
_CTLD, _DBD, _SLURMD, _RESTD = (
    (port,) for port in (names.SLURMCTLD_PORT, names.SLURMDBD_PORT, names.SLURMD_PORT, names.SLURMRESTD_PORT)
)
FLOWS: Final = (
    Flow("login", "slurmctld", _CTLD, CONTROL),
    Flow("slurmrestd", "slurmctld", _CTLD, CONTROL),
    Flow("slurmdbd", "slurmctld", _CTLD, CONTROL),
    Flow("slurmctld", "slurmdbd", _DBD, ACCOUNTING),
    Flow("slurmrestd", "slurmdbd", _DBD, ACCOUNTING),
    Flow("login", "slurmdbd", _DBD, ACCOUNTING),
    Flow("slurmd", "slurmdbd", _DBD, ACCOUNTING),
    Flow("operator", "slurmrestd", _RESTD, "drained?"),
    Flow("slurmd", "slurmctld", _CTLD, CONTROL),
    # An administrator's srun beside slurmctld (`kubectl exec`) listens on a port of the kernel's choice.
    Flow("slurmd", "slurmctld", ALL_TCP, "an administrator's srun beside slurmctld"),
    Flow("slurmctld", "slurmd", _SLURMD, LAUNCH),
    # srun in a batch job listens on a port of the kernel's choice, and slurmctld and slurmstepd connect to it.
    Flow("slurmctld", "slurmd", ALL_TCP, SRUN),
    Flow("slurmd", "slurmd", _SLURMD, LAUNCH),
    Flow("slurmd", "slurmd", ALL_TCP, SRUN),
    Flow("slurmd", "slurmd", EVERYTHING, "jobs over several nodes: MPI, UDP too"),
    Flow("login", "slurmd", _SLURMD, LAUNCH),
    Flow("login", "slurmd", (SSH,), "ssh of users to nodes with a job of theirs"),
    # The same for srun of a user who is logged in.
    Flow("slurmctld", "login", ALL_TCP, SRUN),
    Flow("slurmd", "login", ALL_TCP, SRUN),
    # sackd, sbatch, sacct, and srun, which starts its steps at slurmd and listens as above.
    Flow("clients", "slurmctld", _CTLD, CONTROL),
    Flow("clients", "slurmd", _SLURMD, LAUNCH),
    Flow("clients", "slurmdbd", _DBD, ACCOUNTING),
    Flow("slurmctld", "clients", ALL_TCP, SRUN),
    Flow("slurmdbd", "database", (), ACCOUNTING),
    Flow("desk", "API server", (), "custom resources"),
    Flow("desk", "slurmrestd", (), "drains"),
    Flow("operator", "API server", (), "makes pods"),
    Flow("users", "slurmrestd", (), "REST; tokens are in the clear over plain HTTP"),
)
"""Who connects to whom, with the ports that Slinky's pods have."""


def flows(config: ClusterConfig) -> tuple[Flow, ...]:
    """Who connects to whom in a cluster, each on the port that it has there."""
    own: dict[End, Ports] = {
        "slurmctld": (config.slurmctld.port,),
        "slurmdbd": config.slurmdbd.ports,
        "database": tuple(database.port for database in config.slurmdbd.databases),
        "slurmrestd": (users_port(config),),
    }
    usual: dict[End, Ports] = {"slurmctld": _CTLD, "slurmdbd": _DBD, "database": ()}
    there = (flow for flow in FLOWS if config.slurmdbd.ports or "slurmdbd" not in (flow.source, flow.target))
    return tuple(
        replace(flow, ports=own[flow.target]) if flow.source == "users" or usual.get(flow.target) == flow.ports else flow
        for flow in there
    )


def users_port(config: ClusterConfig) -> int:
    """Port of the users' slurmrestd outside, from its URL."""
    url = config.external.users_url if isinstance(config, StackConfig) else ""
    return address_of(url)[1] if url else names.SLURMRESTD_PORT


def between(config: ClusterConfig, source: End, target: End) -> Flow | None:
    """The first flow from ``source`` to ``target``: that of the port with a number, where there is one."""
    return next((flow for flow in flows(config) if (flow.source, flow.target) == (source, target)), None)


def together(connections: Iterable[Flow]) -> tuple[Flow, ...]:
    """One flow a pair, with all its ports: what a firewall has to let pass between two ends."""
    pairs: dict[tuple[End, End], Flow] = {}
    for flow in connections:
        first = pairs.setdefault((flow.source, flow.target), flow)
        pairs[flow.source, flow.target] = replace(first, ports=_widest(first.ports, flow.ports))
    return tuple(pairs.values())


def _widest(one: Ports, other: Ports) -> Ports:
    if EVERYTHING in (one, other):
        return EVERYTHING
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys(one + other))
    return ALL_TCP


def _pods(config: StackConfig) -> dict[Part, Sequence[PodSettings]]:
    """Pods that the stack makes, by the part that runs in them."""
    return {
        "slurmctld": config.slurmctld.pods,
        "slurmdbd": config.slurmdbd.pods,
        "slurmrestd": [config.restapi.pod],
        "slurmd": [nodeset.pod for nodeset in config.nodesets.values()],
        "login": [login.pod for login in config.logins.values()],
        "operator": [PodSettings()] if config.operator.install else [],
    }


def parts(config: StackConfig) -> tuple[Part, ...]:
    """Whose pods have a policy: those that the stack makes on the pods' network."""
    if not config.auth.makes_daemons:
        return ()
    return tuple(part for part, pods in _pods(config).items() if any(not pod.host_network for pod in pods))


def limited(config: StackConfig) -> tuple[Part, ...]:
    """Parts whose own connections a policy limits."""
    return tuple(part for part in parts(config) if part in config.network_policies.egress.parts)


def meets_a_policy(config: StackConfig, part: Part) -> bool:
    """Whether a part connects to any pod that has a policy, or is connected to by one whose connections are limited."""
    guarded, daemons = parts(config), set(limited(config)) - {"slurmd", "login"}
    return any(
        (flow.source == part and flow.target in guarded) or (flow.target == part and flow.source in daemons)
        for flow in flows(config)
    )


def on_host_network(config: StackConfig, part: Part) -> bool:
    """Whether pods of a part have their node's address, and no policy."""
    return any(pod.host_network for pod in _pods(config)[part])


@dataclass(frozen=True)
class OutsideHost:
    """A host outside: where the configuration names it, the name by which `networkPolicies.addresses` may tell its
    addresses, and the address that the configuration has."""

    path: str
    name: str
    address: str


def outside_hosts(config: StackConfig, part: Part) -> Iterator[OutsideHost]:
    """The hosts outside that run a part."""
    external = config.external
    match part:
        case "slurmctld":
            yield from (_named("controller.external", host.host) for host in config.slurmctld.hosts)
        case "slurmdbd":
            yield from (_named("accounting.external", host.host) for host in config.slurmdbd.hosts)
        case "slurmrestd" if external.users_url:
            yield _named("external.slurmrestd", address_of(external.users_url)[0])
        case "slurmd":
            yield from (OutsideHost("external.slurmdHosts", e.name, e.address or e.name) for e in external.slurmd_hosts)
        case "login":
            yield from (OutsideHost("external.loginHosts", e.name, e.address or e.name) for e in external.login_hosts)


def _named(path: str, host: str) -> OutsideHost:
    return OutsideHost(path, host, host)


def addresses_of(config: StackConfig, host: OutsideHost) -> tuple[Network, ...]:
    """Networks of an outside host; none where the stack knows its name only, which the rules refuse."""
    given = config.network_policies.addresses.get(host.name)
    if given is not None:
        return given
    return (network_of(host.address),) if is_address(host.address) else ()


def network_of(address: str) -> Network:
    """The network of one address."""
    return f"{address}/{128 if ':' in address else 32}"


def through_services(config: StackConfig, part: Part) -> tuple[int, ...]:
    """Ports of a part that outside clients reach through a Service: kube-proxy gives their connections a node's address."""
    if part not in parts(config):
        return ()
    external = config.external
    hosts = bool(external.slurmd_hosts or external.login_hosts or external.users_url)
    match part:
        case "slurmctld" if hosts or config.controller.service.type != "ClusterIP" or config.slurmdbd.hosts:
            return (names.SLURMCTLD_PORT,)
        case "slurmdbd" if hosts or config.accounting.service.type != "ClusterIP" or config.slurmctld.hosts:
            return (names.SLURMDBD_PORT,)
        case "slurmrestd":
            return config.slurmrestd.open_ports
        case "login" if config.network_policies.clients.login:
            open_ = any(login.service.type != "ClusterIP" for login in config.logins.values())
            return (SSH,) if open_ else ()
        case _:
            return ()
