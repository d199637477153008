"""How a host outside reaches a slurmctld in Kubernetes whose Service is at node ports. Pure.

Slurm's daemons and commands connect to SlurmctldPort of slurm.conf, whichever port they fetched it from, and a node port is
another one: slurmd then has its configuration and never registers (run). So systemd takes SlurmctldPort on the host's own
loopback and leads it to the node, by systemd-socket-proxyd(8), which is in systemd's own package.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slinky_iac.addresses import Target
from slinky_iac.commands.handoff.model import HostLine, Placed, Sheet
from slinky_iac.config.stack import StackConfig

LOOPBACK: Final = "127.0.0.1"
UNIT: Final = "slinky-slurmctld"
_FOLDER: Final = "/etc/systemd/system"


def by_node_port(sheet: Sheet, config: StackConfig, address: str | None, port: int | None) -> Sheet:
    """The sheet with the units that lead its host to slurmctld; as it is where hosts don't come in by a node port.

    ``address``: a Kubernetes node's; ``port``: the node port. While one isn't known, slurmctld's names get no address.
    """
    join = config.slurmctld.join
    if not config.slurmctld.is_at_node_ports or not sheet.host_lines:
        return sheet
    lines = tuple(
        HostLine(line.names, LOOPBACK if address and port else None) if join.host in line.names else line
        for line in sheet.host_lines
    )
    if address is None or port is None:
        return replace(sheet, host_lines=lines)
    node = Target(address, port)
    note = (
        f"slurm.conf names port {join.port} of slurmctld, and its Service is at port {port} of Kubernetes' nodes:"
        f" {UNIT}.socket takes {join.port} on this host and leads it to {node}. Before that node leaves, render again"
        " with another node's --slurmctld-address."
    )
    units = _units(node, join.port, sheet.service, config.cluster.name)
    return replace(sheet, host_lines=lines, files=(*sheet.files, *units), notes=(*sheet.notes, note))


def _units(node: Target, port: int, service: str, cluster: str) -> tuple[Placed, ...]:
    """The socket and its proxy, and what makes the role's daemon start the socket before itself. The proxy is a part of the
    daemon's unit, so that a restart of that one takes up another node."""
    head = f"# slurmctld of {cluster} by a port of a Kubernetes node, by slinky-iac.\n"
    return (
        Placed(f"{_FOLDER}/{UNIT}.socket", f"{head}[Socket]\nListenStream={LOOPBACK}:{port}\n"),
        Placed(
            f"{_FOLDER}/{UNIT}.service",
            f"{head}[Unit]\nRequires={UNIT}.socket\nAfter={UNIT}.socket\nPartOf={service}.service\n\n"
            f"[Service]\nDynamicUser=yes\nExecStart=/usr/lib/systemd/systemd-socket-proxyd {node}\n",
        ),
        Placed(
            f"{_FOLDER}/{service}.service.d/20-{UNIT}.conf",
            f"{head}[Unit]\nRequires={UNIT}.socket\nAfter={UNIT}.socket\n",
        ),
    )
