"""Sysctls of a pod: which namespace of Linux each is in, and which a kubelet sets unasked. Pure.

Source: ``k8s.io/component-helpers/node/util/sysctl`` and ``pkg/kubelet/sysctl`` of :data:`.types.RELEASE`. A kubelet refuses
a list of sysctls that has one without a namespace, and does not start; so no pod with one ever runs.
"""

from __future__ import annotations

from typing import Final

_SWAPPED: Final = str.maketrans("./", "/.")
_IPC: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")
SAFE: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        *(f"net.ipv4.{name}" for name in ("ip_local_port_range", "ip_local_reserved_ports", "ip_unprivileged_port_start")),
        *(f"net.ipv4.{name}" for name in ("ping_group_range", "tcp_syncookies", "tcp_fin_timeout", "tcp_rmem", "tcp_wmem")),
        *(f"net.ipv4.tcp_keepalive_{name}" for name in ("intvl", "probes", "time")),
    }
)
"""Those that a kubelet sets without a word of its admin's; an older one has fewer, as has one on an old kernel."""


def dotted(name: str) -> str:
    """The name between dots; written between slashes, what is within a part has dots (an interface, as eth0.1)."""
    first = next((sign for sign in name if sign in "./"), ".")
    return name.translate(_SWAPPED) if first == "/" else name


def namespace(name: str) -> str:
    """``net`` or ``ipc``; empty of one that is the whole node's."""
    own = dotted(name)
    if own.startswith("net."):
        return "net"
    return "ipc" if own == "kernel.sem" or own.startswith(_IPC) else ""
