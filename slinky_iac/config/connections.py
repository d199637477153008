"""Who connects to whom in a cluster, and from where: pods, outside hosts, nodes. What policies and their rules share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from slinky_iac import names
from slinky_iac.config.fields import address_of, is_address
from slinky_iac.config.networks import Network
from slinky_iac.config.sections import PodSettings
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import Part

SSH: Final = 22
ALL_TCP: Final = "all TCP"
EVERYTHING: Final = "everything"
Ports = tuple[int, ...] | Literal["all TCP", "everything"]


@dataclass(frozen=True)
class Flow:
    """``source`` connects to ``target``."""

    source: Part
    target: Part
    ports: Ports


FLOWS: Final = (
    *(Flow(each, "slurmctld", (names.SLURMCTLD_PORT,)) for each in ("login", "slurmrestd", "slurmdbd")),
    *(Flow(each, "slurmdbd", (names.SLURMDBD_PORT,)) for each in ("slurmctld", "slurmrestd", "login", "slurmd")),
    Flow("operator", "slurmrestd", (names.SLURMRESTD_PORT,)),
    # An administrator's srun beside slurmctld (`kubectl exec`) listens on a port of the kernel's choice.
    Flow("slurmd", "slurmctld", ALL_TCP),
    # srun in a batch job listens on a port of the kernel's choice, and slurmctld and slurmstepd connect to it; MPI has UDP.
    Flow("slurmctld", "slurmd", ALL_TCP),
    Flow("slurmd", "slurmd", EVERYTHING),
    Flow("login", "slurmd", (names.SLURMD_PORT, SSH)),
    # The same for srun of a user who is logged in.
    Flow("slurmctld", "login", ALL_TCP),
    Flow("slurmd", "login", ALL_TCP),
)
"""Who connects to whom inside a cluster."""


def _pods(config: StackConfig) -> dict[Part, Sequence[PodSettings]]:
    """Pods that the stack makes, by the part that runs in them."""
    return {
        "slurmctld": config.slurmctld.pods,
        "slurmdbd": config.slurmdbd.pods,
        "slurmrestd": [config.restapi.pod],
        "slurmd": [each.pod for each in config.nodesets.values()],
        "login": [each.pod for each in config.logins.values()],
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
        for flow in FLOWS
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
            yield from (_named("controller.external", each.host) for each in config.slurmctld.hosts)
        case "slurmdbd":
            yield from (_named("accounting.external", each.host) for each in config.slurmdbd.hosts)
        case "slurmrestd" if external.slurmrestd is not None:
            yield _named("external.slurmrestd", address_of(external.slurmrestd.url)[0])
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
    hosts = bool(external.slurmd_hosts or external.login_hosts or external.slurmrestd)
    match part:
        case "slurmctld" if hosts or config.controller.service.type != "ClusterIP" or config.slurmdbd.hosts:
            return (names.SLURMCTLD_PORT,)
        case "slurmdbd" if hosts or config.accounting.service.type != "ClusterIP" or config.slurmctld.hosts:
            return (names.SLURMDBD_PORT,)
        case "slurmrestd":
            tls = config.restapi.tls
            plain = (names.SLURMRESTD_PORT,) if config.restapi.service.type != "ClusterIP" else ()
            return plain + ((names.SLURMRESTD_TLS_PORT,) if tls is not None and tls.service.type != "ClusterIP" else ())
        case "login" if config.network_policies.clients.login:
            open_ = any(each.service.type != "ClusterIP" for each in config.logins.values())
            return (SSH,) if open_ else ()
        case _:
            return ()
