"""Places and variables of a daemon's pod that are the operator's or the image's, and names of this program's own volumes:
another takes the place of keys, programs or settings. The operator's own pieces are :mod:`.own_pieces`.

Source: slurm-operator ``internal/builder`` (volumes, mounts and variables of each daemon), start scripts of Slinky's images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import normpath
from typing import Final

from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.registry import VARIABLES

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
_RUNS_CODE: Final = re.compile(  # of slurmrestd's variables only levels of its log and forms of its answers are free
    r"LD_\w+|GLIBC_\w+|GCONV_PATH|SLURM_CONF\w*|SLURMRESTD_(?!(?:DEBUG(?:_STDERR|_SYSLOG)?|JSON|YAML)$)\w+|SLURM_JWT|PATH|ENV|BASH_\w+|IFS|PYTHON\w*|PERL\w*"
    r"|NSS_\w+|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN",
    re.IGNORECASE,
)
_OWN_VARIABLES: Final = ("POD_CPUS", "POD_MEMORY", "SACKD_OPTIONS", "SLURMD_OPTIONS", *VARIABLES)
"""Variables that this program or the operator sets, or that the image's start script takes for the daemon's arguments."""
_OWN_OF: Final = {"restapi": ("MALLOC_ARENA_MAX",)}
"""More of them, by section."""
_VARIABLE: Final = re.compile(r"[!-<>-~][ -<>-~]*")
"""Names that Kubernetes takes: printable, without ``=`` (ValidateEnvVarName, 1.30 and newer)."""
_LIBRARIES: Final = "LD_LIBRARY_PATH"
_LIBRARY_FOLDERS: Final = ("/usr", "/lib", "/lib64", "/opt")
"""Where an image, and what a vendor's device plugin mounts into it, has libraries; nothing that users write."""
_ENDS: Final = ("X", "CONF")
"""What a key of a ConfigMap may be behind a prefix."""


def covers(path: str) -> bool:
    """Whether a mount at this place hides what a daemon runs, loads or reads as its own; ``..`` is followed first."""
    place = normpath("/" + path.strip().lstrip("/"))
    return place in _WHOLE or any(place == each or place.startswith(f"{each}/") for each in _INSIDE)


def is_ours(volume: str) -> bool:
    """Whether a volume's name is one by which this program finds its own."""
    return OURS.fullmatch(volume) is not None


def fault_of_variable(name: str, section: str, own: Iterable[str], value: str = "") -> str:
    """Why the container of a section's daemon can't have a variable from a stack; empty where it can. ``own``: the
    operator's own of the pod (:class:`.OwnPieces`). ``value``: empty where it isn't known; Google's part of Slinky's chart
    has the driver's folder in LD_LIBRARY_PATH (``_vendor/google``)."""
    if name == _LIBRARIES and value and all(_is_of_image(each) for each in value.split(":")):
        return ""
    if name == _LIBRARIES:
        return f"others could run their code by it, so it may name folders below {', '.join(_LIBRARY_FOLDERS)} only"
    if _RUNS_CODE.fullmatch(name) is not None:
        return "with it a daemon would run other code, or ask another host. Remove it, or put it into the image"
    if name in (*_own(section), *own):
        return "it is set already, by the operator, the image or this program. Remove it"
    return "" if _VARIABLE.fullmatch(name) else "it is not a name that Kubernetes takes. Rename it"


def fault_of_prefix(prefix: str, section: str, own: Iterable[str]) -> str:
    """Why its variables of a ConfigMap or Secret can't all begin like this; empty where they can."""
    taken = any(name.startswith(prefix) for name in (*_own(section), *own))
    if not prefix or not (taken or any(_RUNS_CODE.fullmatch(prefix + end) for end in _ENDS)):
        return ""
    return "with a key of it a daemon would run other code, or read another host's or pod's settings. Take another prefix"


def _is_of_image(folder: str) -> bool:
    place = normpath(folder)
    return folder.startswith("/") and any(place.startswith(f"{each}/") for each in _LIBRARY_FOLDERS)


def _own(section: str) -> tuple[str, ...]:
    return (*_OWN_VARIABLES, *_OWN_OF.get(section, ()))
