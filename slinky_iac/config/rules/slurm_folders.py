"""Rules of folders in which slurmctld and slurmdbd write in their pods: over one that isn't there, or not theirs, they end.

Run on Slinky's images of 26.05 and 25.11; source: ``jobcomp_p_set_location`` of jobcomp/filetxt, ``sched_log_alter`` in
controller.c, ``slurmdbd_conf_load`` of slurmdbd/read_config.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.pieces import Piece, listed
from slinky_iac.config.raw import Raw
from slinky_iac.config.rules.slurm_files import pairs
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.reach import PURGES
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.slurm.words import TRUE
from slinky_iac.config.stack import StackConfig

_OF_SLURM: Final = frozenset({"/var/log/slurm", "/var/spool/slurmctld", "/var/lib/slurm", "/tmp", "/var/tmp", "/dev"})
"""Folders of Slinky's images in which the user slurm may write."""
_SLINKY: Final = "ghcr.io/slinkyproject/"
_CONF: Final = "/etc/slurm/"
_ARCHIVED: Final = re.compile(r"archive(?!dir$|script$)\w+", re.IGNORECASE)
"""Parameters by which slurmdbd archives what it purges."""
_CA: Final = "caSecret: NAME, a Secret with ca.crt"
_CLIENT: Final = "clientSecret: NAME, a Secret of type kubernetes.io/tls"
_DATABASE_FILES: Final = {"ssl_ca": _CA, "ssl_capath": _CA, "ssl_cert": _CLIENT, "ssl_key": _CLIENT}
"""Options of StorageParameters that name a file, each with its setting."""
_ROOTS: Final = ("/etc/ssl/certs", "/etc/pki")
"""Public authorities, of an image's own."""
_ARCHIVE: Final = PurePosixPath("/tmp")
"""ArchiveDir where slurmdbd.conf has none (``DEFAULT_SLURMDBD_ARCHIVE_DIR``)."""
_ENDING: Final = frozenset({"emptyDir", "ephemeral"})
"""Volumes that end with their pod."""
_HDF5: Final = "AcctGatherProfileType"


def _key(parameters: Mapping[str, str], name: str) -> str:
    """A parameter as it is written; as it is called where it isn't."""
    return spelt(parameters, name) or name


def _of_slinky(image: str | None) -> bool:
    """Whether an image is one of Slinky's, of which the folders are known."""
    return image is None or image.startswith(_SLINKY)


def _mounted(place: PurePosixPath, raw: Raw) -> bool:
    """Whether a place is in a volume that a raw piece mounts."""
    return any(_is_in(place, mount) for mount in listed(raw.container, "volumeMounts"))


def _is_in(place: PurePosixPath, mount: Piece) -> bool:
    return str(mount.get("mountPath")).rstrip("/") in {str(place), *map(str, place.parents)}


def _writable(folder: PurePosixPath, raw: Raw) -> bool:
    """Whether a folder is slurm's in the image, or in a volume that a raw piece mounts."""
    return str(folder) in _OF_SLURM or _mounted(folder, raw)


def _logs(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Files that slurmctld opens when it starts."""
    own = config.slurmctld.extra_conf
    if not _of_slinky(config.cluster.images.slurmctld):
        return
    conf = Conf(own)
    completed = conf["JobCompType"] == "jobcomp/filetxt"
    if completed and not conf["JobCompLoc"]:
        yield at(f"controller.extraConf.{_key(own, 'JobCompType')}").error(
            "writes a file, and there is no JobCompLoc: slurmctld may not write Slurm's default,"
            " /var/log/slurm_jobcomp.log, and ends over it at its start. Set JobCompLoc: /var/log/slurm/jobcomp.log"
        )
    for name in ("SlurmSchedLogFile", *(["JobCompLoc"] if completed else [])):
        value = conf.exact(name)
        if value.startswith("/") and not _writable(PurePosixPath(value).parent, config.controller.raw):
            yield at(f"controller.extraConf.{_key(own, name)}").error(
                f"is {shown(value)}, and slurmctld's image has no such folder that it may write: it ends over it at its"
                " start. Set a file in /var/log/slurm, or mount a volume there by controller.raw"
            )


def _purged(own: Mapping[str, str]) -> list[str]:
    """Parameters by which slurmdbd archives what it then purges."""
    purges = any(key.lower().startswith("purge") or key.lower() in PURGES for key in own)
    return [key for key in own if purges and _ARCHIVED.fullmatch(key) and Conf(own)[key] in TRUE]


def _archive(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmdbd's folder of archives."""
    own = config.slurmdbd.extra_conf
    conf = Conf(own)
    value = conf.exact("ArchiveDir")
    purged = _purged(own)
    if purged and not value and not _mounted(_ARCHIVE, config.accounting.raw):
        yield at(f"accounting.extraConf.{purged[0]}").error(
            "archives what slurmdbd purges, and there is no ArchiveDir: the archives are in /tmp of the pod, and go with it,"
            " when the database has their records no more. Set ArchiveDir, and mount a volume there"
            " (accounting.raw.pod.volumes and accounting.raw.container.volumeMounts)"
        )
    if not value.startswith("/") or not _of_slinky(config.cluster.images.slurmdbd):
        return
    if not _writable(PurePosixPath(value), config.accounting.raw):
        yield at(f"accounting.extraConf.{_key(own, 'ArchiveDir')}").error(
            f"is {shown(value)}, which slurmdbd's image doesn't have: slurmdbd ends over it at its start. Add a volume that"
            " is mounted there (accounting.raw.pod.volumes and accounting.raw.container.volumeMounts), which also keeps the"
            " archives when the pod goes"
        )


def _unkept(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A folder of archives in a volume that ends with the pod."""
    own, raw = config.slurmdbd.extra_conf, config.accounting.raw
    place, purged = PurePosixPath(Conf(own).exact("ArchiveDir") or _ARCHIVE), _purged(own)
    ending = {volume.get("name") for volume in listed(raw.pod, "volumes") if _ENDING & volume.keys()}
    mounts = [mount for mount in listed(raw.container, "volumeMounts") if _is_in(place, mount)]
    innermost = max(mounts, key=lambda mount: len(str(mount.get("mountPath"))), default=None)
    if purged and innermost is not None and innermost.get("name") in ending:
        yield at(f"accounting.extraConf.{spelt(own, 'ArchiveDir') or purged[0]}").warning(
            f"archives into {shown(str(place))}, in the volume {name_of(str(innermost['name']))}, which goes with the pod,"
            " and with it the archives, when the database has their records no more. Use a claim (persistentVolumeClaim), or"
            " acknowledge this if something takes the archives elsewhere",
            id="archives-not-kept",
        )


def _archive_script(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A script that slurmdbd looks for when it starts (``slurmdbd_conf_load``). /etc/slurm of its pod has slurmdbd.conf and
    keys alone, whatever the image has there."""
    own, raw = config.slurmdbd.extra_conf, config.accounting.raw
    value = Conf(own).exact("ArchiveScript").partition(" ")[0]
    lacking = _of_slinky(config.cluster.images.slurmdbd) or value.startswith(_CONF)
    if value.startswith("/") and lacking and not _mounted(PurePosixPath(value), raw):
        yield at(f"accounting.extraConf.{_key(own, 'ArchiveScript')}").error(
            f"is {shown(value)}, which slurmdbd's pod doesn't have: slurmdbd ends over it at its start, and slurmctld waits"
            " for it. Mount it from a volume (accounting.raw.pod.volumes, with defaultMode 0555 for a ConfigMap, and"
            " accounting.raw.container.volumeMounts), or set cluster.images.slurmdbd to an image of yours that has it"
            " elsewhere than in /etc/slurm"
        )


def _database_files(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Files by which slurmdbd and its database know each other (``_set_mysql_ssl_opts`` of mysql_common.c)."""
    own, raw, database = config.slurmdbd.extra_conf, config.accounting.raw, config.accounting.database
    key = spelt(own, "StorageParameters")
    if not key or (database is not None and database.tls is not None):
        return
    for option in own[key].strip('"').split(","):
        name, _equals, value = option.partition("=")
        setting = _DATABASE_FILES.get(name.strip().lower())
        place = PurePosixPath(normpath(value.strip()))
        is_root = setting == _CA and any(place.is_relative_to(root) for root in _ROOTS)
        may_be_of_image = not _of_slinky(config.cluster.images.slurmdbd) and not place.is_relative_to(_CONF)
        if setting is None or is_root or may_be_of_image or _mounted(place, raw):
            continue
        yield at(f"accounting.extraConf.{key}").error(
            f"has {name_of(name.strip())}={shown(value)}, which slurmdbd's pod doesn't have: slurmdbd reaches no database,"
            f" and slurmctld waits for it. Remove this line and set accounting.database.tls.{setting}, which mounts the file"
            " and names it here; or mount it from a volume (accounting.raw.pod.volumes and"
            " accounting.raw.container.volumeMounts)"
        )


def _profiles(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Profiles of jobs in files: ``acct_gather_profile_p_conf_set`` ends without their folder."""
    own = config.slurmctld.extra_conf
    named = {key.lower() for _, key, _value in pairs(config.slurmctld.config_files.get("acct_gather.conf", ""))}
    if Conf(own)[_HDF5] == "acct_gather_profile/hdf5" and not named & {"profilehdf5dir", "include"}:
        yield at(f"controller.extraConf.{_key(own, _HDF5)}").error(
            "is acct_gather_profile/hdf5, and acct_gather.conf has no ProfileHDF5Dir: slurmctld and slurmd end over it. Add"
            " controller.configFiles: {acct_gather.conf: ProfileHDF5Dir=FOLDER}, a folder that all nodes share"
        )


RULES = (_logs, _archive, _unkept, _archive_script, _database_files, _profiles)
