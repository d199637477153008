"""Places and variables of a daemon's pod that are the operator's or the image's, and names of this program's own volumes:
another takes the place of keys, programs or settings. The operator's own pieces are :mod:`.own_pieces`, and the table of
variables is :mod:`slinky_iac.daemon_variables`.

Source: slurm-operator ``internal/builder`` (volumes, mounts and variables of each daemon), start scripts of Slinky's images.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import Final

from slinky_iac import daemon_variables
from slinky_iac.config.operator.raw_fields import KINDS
from slinky_iac.daemon_variables import IMAGE_FOLDERS, Fault, listed
from slinky_iac.keys.catalogue import SLURM

_WHOLE: Final = frozenset(
    {
        "/",
        "/etc",
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/opt",
        "/run",
        "/var",
        "/var/lib",
        "/var/run",
        "/var/spool",
        "/var/log/slurm",
    }
)
"""Folders that hold programs, libraries or settings, each as a whole."""
_INSIDE: Final = (
    SLURM.folder,
    *("/etc/slurm", "/etc/ssh", "/etc/sssd", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.cache", "/etc/passwd"),
    *("/etc/group", "/etc/shadow", "/etc/nsswitch.conf", "/etc/pam.d", "/etc/security", "/etc/hosts", "/etc/resolv.conf"),
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys"),
    *("/var/spool/slurm", "/var/spool/slurmctld", "/var/spool/slurmd", "/run/slurm", "/run/slurmctld", "/run/slurmdbd"),
)
"""Places in them by which slurm.conf, keys, users, programs or what a daemon loads is another."""
OURS: Final = re.compile(rf"slinky-.*|slurm-users(?:-given)?|sssd-(?:given|own|state)|{SLURM.volume}")
"""Volumes of this program's in pods of the operator's."""


def covers(path: str) -> bool:
    """Whether a mount at this place hides what a daemon runs, loads or reads as its own; ``..`` is followed first."""
    place = normpath("/" + path.strip().lstrip("/"))
    return place in _WHOLE or any(place == folder or place.startswith(f"{folder}/") for folder in _INSIDE)


def is_ours(volume: str) -> bool:
    """Whether a volume's name is one by which this program finds its own."""
    return OURS.fullmatch(volume) is not None


def fault_of_variable(name: str, section: str, value: str = "") -> str:
    """Why the container of a section's daemon can't have a variable from a stack; empty where it can. ``value``: empty where
    it isn't known; Google's part of Slinky's chart has the driver's folder in LD_LIBRARY_PATH (``_vendor/google``)."""
    fault = daemon_variables.fault_of_variable(KINDS[section], name, value)
    return "" if fault is None else _words(fault, section)


def fault_of_prefix(prefix: str, section: str) -> str:
    """Why its variables of a ConfigMap or Secret can't all begin like this; empty where they can."""
    fault = daemon_variables.may_begin(KINDS[section], prefix)
    if fault is Fault.CODE:
        return "with a key of it a daemon would run other code, or read settings of another host or pod. Take another prefix"
    return "" if fault is None else _words(fault, section)


def _words(fault: Fault, section: str) -> str:
    if fault is Fault.UNLISTED:
        return (
            f"this daemon has the cluster's keys, and libraries may read it and lead the daemon elsewhere, so it has only"
            f" {', '.join(listed(KINDS[section]))} from a stack. Put it into the image"
        )
    return _WORDS[fault]


_WORDS: Final[Mapping[Fault, str]] = {
    Fault.CODE: "with it a daemon would run other code, or ask another host. Remove it, or put it into the image",
    Fault.FOLDER: f"others could run their code by it, so it may name folders below {', '.join(IMAGE_FOLDERS)} only",
    Fault.OWN: "it is set already, by the operator, the image or this program. Remove it",
    Fault.VALUE: "its value isn't one that this daemon takes: TZ and LANG have names such as Europe/Berlin and C.UTF-8,"
    " SLURMRESTD_DEBUG a level such as debug, MALLOC_ARENA_MAX a number. Correct the value",
    Fault.NAME: "it is not a name that Kubernetes takes. Rename it",
}
