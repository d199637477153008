"""Ports that each role opens, names that Slurm uses, and the page about routes between pods and outside hosts."""

from __future__ import annotations

from typing import Final

from slinky_iac import names
from slinky_iac.commands.handoff.model import HostLine, Port, Role
from slinky_iac.config.fields import address_of, is_address
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.endpoints import join_target

PODS: Final = "pods"
COMPUTE: Final = "pods, slurmd hosts"
EVERYBODY: Final = "pods, slurmd hosts, login hosts"


def slurmrestd_port(config: StackConfig) -> int:
    """Port of the outside slurmrestd, from its URL."""
    external = config.external.slurmrestd
    return names.SLURMRESTD_PORT if external is None else address_of(external.url)[1]


def ports(config: StackConfig, role: Role) -> tuple[Port, ...]:
    """TCP ports to open on a host of the role."""
    match role:
        case Role.SLURMCTLD:
            port = join_target(config).port
            return (Port(f"{EVERYBODY}, slurmdbd", port, "registration, configuration files, commands"),)
        case Role.SLURMDBD:
            external = config.accounting.external
            port = external.port if external is not None else names.SLURMDBD_PORT
            return (Port("slurmctld, slurmrestd, login hosts", port, "accounting; login hosts for sacct and sacctmgr"),)
        case Role.SLURMRESTD:
            return (Port("users of REST", slurmrestd_port(config), "REST; tokens are in the clear over plain HTTP"),)
        case Role.SLURMD:
            return (
                Port(f"slurmctld, {COMPUTE}", names.SLURMD_PORT, "launch, ping, drain, steps over several nodes"),
                _srun(config),
            )
        case Role.LOGIN:
            return (_srun(config),)


def _srun(config: StackConfig) -> Port:
    given = next((text for key, text in config.controller.extra_conf.items() if key.lower() == "srunportrange"), None)
    which = f"SrunPortRange={given}" if given else "any; set SrunPortRange in slurm.conf to have a range to open"
    return Port(f"slurmctld, {COMPUTE}", 0, f"srun's own connections ({which})")


def host_lines(config: StackConfig, slurmctld_address: str | None) -> tuple[HostLine, ...]:
    """Names that the operator writes into slurm.conf of a slurmctld in Kubernetes, for hosts outside of its DNS."""
    if config.controller.external is not None:
        return ()
    base, namespace = config.cluster.resource_name, config.cluster.namespace
    service = names.controller_service(base)
    lines = [HostLine((names.controller_fqdn(base, namespace), f"{service}-0", service), slurmctld_address)]
    external = config.accounting.external if config.accounting.enabled else None
    if external is not None and external.port == names.SLURMDBD_PORT and is_address(external.host):
        lines.append(HostLine((names.accounting_service(base),), external.host))
    return tuple(lines)


def accounting_note(config: StackConfig) -> tuple[str, ...]:
    """What login hosts need for sacct where the operator writes slurm.conf, which names slurmdbd by its Service."""
    if config.controller.external is not None or not config.accounting.enabled:
        return ()
    service = names.accounting_service(config.cluster.resource_name)
    external = config.accounting.external
    asked = f"sacct and sacctmgr ask `{service}`, port {names.SLURMDBD_PORT}, as the operator writes into slurm.conf"
    if external is None:
        return (f"{asked}: let the name lead to that Service, or use them in a login pod.",)
    if external.port != names.SLURMDBD_PORT:
        return (f"{asked}; slurmdbd listens on {external.port}, so they work in pods only.",)
    return (f"{asked}: let the name lead to {external.host}.",)


def page(config: StackConfig) -> str:
    """network.md: what must be routed for this stack, and how Calico is told."""
    host_network = [name for name, nodeset in config.nodesets.items() if nodeset.pod.host_network]
    routed = [name for name in config.nodesets if name not in host_network]
    parts = [_HEAD.format(cluster=config.cluster.name)]
    if routed or config.controller.external is None:
        parts.append(
            _ROUTED.format(namespace=config.cluster.namespace, nodesets=", ".join(routed) or "none", calico=_CALICO)
        )
    if host_network:
        parts.append(_HOST.format(nodesets=", ".join(host_network)))
    if config.controller.external is None:
        parts.append(_INSIDE)
    return "\n".join(parts)


_HEAD = """\
# Networks of {cluster}

Slurm's daemons open connections in both directions and know each other by address. Between outside hosts and pods there
may be a router and a firewall, but no address translation: slurmd registers with its own address, and slurmctld calls it
back there. Each role's README.md names the ports to open.
"""
_ROUTED = """\
## Routed pods: {nodesets}

Outside hosts need a route to the pods' network, and pods must leave their node with their own address. With Calico and BGP
(put in your router's address, its AS number and your pods' network):

```yaml
{calico}```

- `natOutgoing` must be false for what goes to outside hosts, or true only with those networks in an IPPool of their own
  (`disabled: true`), which Calico leaves untranslated.
- The hosts' default router has to accept the peering, or a route on each host: `ip route add PODS via NODE`, one for each
  Kubernetes node's block.
- Show it: on a host, `ping` a pod's address (`kubectl -n {namespace} get pods -o wide`).
"""
_CALICO = """\
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata:
  name: outside-router
spec:
  peerIP: 192.0.2.1
  asNumber: 64512
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata:
  name: default-ipv4-ippool
spec:
  cidr: 10.244.0.0/16
  natOutgoing: false
  ipipMode: Never
  vxlanMode: Never
"""
_HOST = """\
## Host network: {nodesets}

These pods use their Kubernetes node's address, so hosts that reach the node reach slurmd at port 6818. Open that port on the
nodes for slurmctld, slurmd and login hosts. Kubernetes node names must be short, as `hostname -s` prints them.
"""
_INSIDE = """\
## slurmctld in Kubernetes

Outside hosts reach slurmctld by its Service (LoadBalancer, NodePort, or a routed Service network). slurmdbd outside
connects back to slurmctld's **pod** to tell it of changed accounts, so it needs the route to pods as well.
"""
