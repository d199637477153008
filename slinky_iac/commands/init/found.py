"""What slurmctld's host says of its cluster: the script that asks it, and what is read from the answer. Pure.

The answer holds both keys. They are kept out of every text that is shown: no part of the answer is ever quoted but names and
numbers that were recognised.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.commands.scontrol import CONFIG, MARK, known, number, parts, settings
from slinky_iac.errors import ProjectError

SCRIPT: Final = (
    MARK
    + CONFIG
    + """\
key() { if [ -r "$1" ]; then base64 < "$1" | tr -d '\\n'; echo; fi; }
part partitions; scontrol -o show partition 2>/dev/null | sed -n 's/^PartitionName=\\([^ ]*\\).*/\\1/p'
part nodes; scontrol -o show node 2>/dev/null | sed -n 's/^NodeName=\\([^ ]*\\).*/\\1/p'
dbd=$(value AccountingStorageHost)
part database; getent ahostsv4 "$dbd" 2>/dev/null | sed -n '1s/ .*//p'
part slurm.key; key "$folder/slurm.key"
part jwt.key; key "$jwt"
part end
"""
)
"""For a shell on slurmctld's host, as a user who may read both keys. It reads, and changes nothing."""
_RELEASE: Final = re.compile(r"(\d\d\.\d\d)(?:\..*)?")
_USER: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\((\d{1,10})\)")
_HOST: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\(([0-9A-Fa-f.:]+)\))?")


@dataclass(frozen=True)
class Found:
    """A Slurm cluster as `scontrol show config` and its host have it; empty or None for what isn't known."""

    name: str
    release: str
    auth: str
    user: str
    uid: int | None
    host: str
    address: str
    port: int
    parameters: frozenset[str]
    max_nodes: int
    jwt_file: str
    database: str = ""
    """slurmdbd's host as slurm.conf names it; empty where accounting doesn't go through slurmdbd."""
    database_address: str = ""
    database_port: int = 6819
    partitions: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    slurm_key: bytes | None = field(default=None, repr=False)
    jwt_key: bytes | None = field(default=None, repr=False)


def read(answer: str) -> Found:
    """What the script printed, or `scontrol show config` alone. Raises :class:`ProjectError` where it is neither."""
    found = parts(answer)
    config = settings(found["config"])
    if not {"ClusterName", "SLURM_VERSION", "AuthType"} <= config.keys():
        raise ProjectError(
            "that is no output of `scontrol show config`, which has lines such as `ClusterName = …` and `SLURM_VERSION = …`;"
            " run it on slurmctld's host. Nothing was written"
        )
    user = _USER.fullmatch(config.get("SlurmUser", ""))
    host = _HOST.fullmatch(config.get("SlurmctldHost[0]", "")) or _HOST.fullmatch(config.get("SlurmctldHost", ""))
    release = _RELEASE.fullmatch(config["SLURM_VERSION"])
    slurmdbd = config.get("AccountingStorageType", "").endswith("slurmdbd")
    database = known(config, "AccountingStorageHost") if slurmdbd else ""
    return Found(
        name=known(config, "ClusterName"),
        release=release[1] if release else "",
        auth=known(config, "AuthType"),
        user=user[1] if user else "",
        uid=int(user[2]) if user else None,
        host=host[1] if host else "",
        address=(host[2] or "") if host else "",
        port=number(config, "SlurmctldPort", 6817),
        parameters=frozenset(known(config, "SlurmctldParameters").split(",")),
        max_nodes=number(config, "MaxNodeCount", 0),
        jwt_file=_jwt_file(config),
        database=database,
        database_address=next(iter(found.get("database", ())), ""),
        database_port=number(config, "AccountingStoragePort", 6819),
        partitions=frozenset(found.get("partitions", ())),
        nodes=frozenset(found.get("nodes", ())),
        slurm_key=_key(found, "slurm.key"),
        jwt_key=_key(found, "jwt.key"),
    )


def _jwt_file(config: Mapping[str, str]) -> str:
    if "auth/jwt" not in known(config, "AuthAltTypes"):
        return ""
    words = known(config, "AuthAltParameters").split(",")
    return next((word.removeprefix("jwt_key=") for word in words if word.startswith("jwt_key=")), "")


def _key(parts: Mapping[str, list[str]], name: str) -> bytes | None:
    text = "".join(parts.get(name, ()))
    try:
        return base64.b64decode(text, validate=True) if text else None
    except (binascii.Error, ValueError):
        return None
