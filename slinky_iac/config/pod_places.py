"""Places of a daemon's pod that are the operator's or the image's: a mount there takes the place of keys and programs.

Source: slurm-operator ``internal/builder`` (volumes and mounts of each daemon), Slinky's images.
"""

from __future__ import annotations

import re
from posixpath import normpath
from typing import Final

_WHOLE: Final = frozenset(
    {"/", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/run", "/var", "/var/lib", "/var/run", "/var/spool"}
)
"""Folders that hold programs, libraries or settings, each as a whole."""
_INSIDE: Final = (
    *("/etc/slurm", "/etc/ssh", "/etc/sssd", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.cache", "/etc/passwd"),
    *("/etc/group", "/etc/shadow", "/etc/nsswitch.conf", "/etc/pam.d", "/etc/security", "/etc/hosts", "/etc/resolv.conf"),
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys"),
    *("/var/spool/slurm", "/var/spool/slurmctld", "/var/spool/slurmd", "/run/slurm", "/run/slurmctld", "/run/slurmdbd"),
)
"""Places in them by which slurm.conf, keys, users, programs or what a daemon loads is another."""
_VOLUMES: Final = re.compile(r"(?:slurm|slinky|sssd)-.*|statesave.*|authsocket|sackd.*|munge.*")
_RUNS_CODE: Final = re.compile(  # of slurmrestd's variables only levels of its log and forms of its answers are free
    r"LD_\w+|GLIBC_\w+|GCONV_PATH|SLURM_CONF\w*|SLURMRESTD_(?!(?:DEBUG(?:_STDERR|_SYSLOG)?|JSON|YAML)$)\w+|SLURM_JWT|PATH|ENV|BASH_\w+|IFS|PYTHON\w*|PERL\w*"
    r"|NSS_\w+|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN",
    re.IGNORECASE,
)


def covers(path: str) -> bool:
    """Whether a mount at this place hides what a daemon runs, loads or reads as its own; ``..`` is followed first."""
    place = normpath("/" + path.strip().lstrip("/"))
    return place in _WHOLE or any(place == each or place.startswith(f"{each}/") for each in _INSIDE)


def is_reserved(volume: str) -> bool:
    """Whether a volume's name is one by which the operator or this program finds its own."""
    return _VOLUMES.fullmatch(volume) is not None


def runs_code(variable: str) -> bool:
    """Whether programs run other code, or ask another host, by an environment variable."""
    return _RUNS_CODE.fullmatch(variable) is not None
