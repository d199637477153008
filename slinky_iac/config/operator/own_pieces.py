"""What slurm-operator itself has in each daemon's pods, by name: containers, volumes, and where they are mounted. One table.

The operator merges a stack's volumes and containers by their names and mounts by their paths (1.0 lays them behind its own,
and Kubernetes refuses what is there twice), so a piece of the same name would take the place of its own. Source:
``internal/builder`` (``*_app.go``, ``common.go``, ``const.go``) of tags v1.0.1 to v1.2.1 and main of August 2026; what a
release has otherwise is said below. Tests hold it against pods that the operator's own functions make. ``authorized-keys``
is a constant there that no volume has. Login pods of 1.0.0 have no ``initconf`` and no ``slurm-config``. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.operator.raw_merge import DAEMONS
from slinky_iac.releases import OperatorVersion

ETC: Final = "slurm-etc"
STATE: Final = "statesave"
_LOGS: Final = "slurm-logfile"
_SOCKETS: Final = "slurm-authsocket"
_ROOT: Final = "/root"
"""Home of root in login pods."""
_SSH: Final = "/etc/ssh"
SSH_KEYS: Final = tuple(f"ssh_host_{kind}_key{end}" for kind in ("rsa", "ed25519", "ecdsa") for end in ("", ".pub"))
"""Files of a login pod's Secret with sshd's own keys."""


@dataclass(frozen=True)
class Mount:
    """A volume of the operator's in one of its containers."""

    volume: str
    path: str
    entry: str = ""
    """The one file of the volume that is mounted."""
    writes: bool = False


@dataclass(frozen=True)
class OwnPieces:
    """The operator's own of one pod."""

    container: str
    """The daemon's."""
    mounts: tuple[Mount, ...]
    """In the daemon's container."""
    before: Mapping[str, tuple[Mount, ...]]
    """Init containers, each with its mounts."""

    @property
    def containers(self) -> frozenset[str]:
        """Names of all containers."""
        return frozenset({self.container, *self.before})

    @property
    def volumes(self) -> frozenset[str]:
        """Names of all volumes: each is mounted somewhere."""
        return frozenset(mount.volume for every in (self.mounts, *self.before.values()) for mount in every)

    @property
    def places(self) -> frozenset[str]:
        """Where the daemon's container has them."""
        return frozenset(mount.path for mount in self.mounts)


_CONF: Final = Mount(ETC, "/etc/slurm")
_RUN: Final = Mount("run", "/run", writes=True)
_LOG: Final = Mount(_LOGS, "/var/log/slurm", writes=True)
_SSHD: Final = Mount("ssh-config", f"{_SSH}/sshd_config", "sshd_config")
_SSSD: Final = Mount("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf")
_LOGFILE: Final = {"logfile": (_LOG,)}
_RECONFIGURE: Final = {"reconfigure": (_CONF, Mount(_SOCKETS, "/run/slurmctld"))}


def own_pieces(version: OperatorVersion, section: str, *, cluster: str = "", ssh: bool = False) -> OwnPieces:
    """Those of a section's pods. ``cluster``: its name, by which slurmctld's state has its folder; ``ssh``: whether slurmd's
    pods have an sshd."""
    mounts, before = _MOUNTS[section], _BEFORE.get(section, {})
    if section == "controller":
        state = Mount(STATE, f"/var/spool/slurmctld/{cluster}", writes=True)
        mounts = (_CONF, _RUN, state, Mount(_SOCKETS, "/run/slurmctld", writes=True), _LOG)
        # From 1.2 on there is none where slurmctld's pod restarts for new files (controllerPodTemplate).
        before = _LOGFILE if version.prunes_slurm_conf else {**_RECONFIGURE, **_LOGFILE}
    if section == "nodesets" and ssh and version.has_ssh:
        mounts = (*mounts, _SSHD, _SSSD)
    return OwnPieces(DAEMONS[section], mounts, before)


_MOUNTS: Final[Mapping[str, tuple[Mount, ...]]] = {
    "controller": (),
    "accounting": (_CONF, _RUN),
    "restapi": (_CONF,),
    "nodesets": (_CONF, _LOG),
    "logins": (
        _CONF,
        Mount("sackd-dir", "/run/slurm", writes=True),
        *(Mount("ssh-host-keys", f"{_SSH}/{file}", file) for file in SSH_KEYS),
        _SSHD,
        Mount("ssh-config", f"{_ROOT}/.ssh/authorized_keys", "authorized_keys"),
        _SSSD,
    ),
}
_BEFORE: Final[Mapping[str, Mapping[str, tuple[Mount, ...]]]] = {
    "nodesets": _LOGFILE,
    "logins": {"initconf": (Mount(ETC, "/mnt/etc/slurm", writes=True), Mount("slurm-config", "/mnt/slurm"))},
}
