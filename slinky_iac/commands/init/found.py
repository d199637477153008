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

from slinky_iac.errors import ProjectError

SCRIPT: Final = """\
PATH="$PATH:/usr/sbin:/sbin:/opt/slurm/bin:/usr/local/bin"
conf=$(scontrol show config) || exit 3
value() { printf '%s\\n' "$conf" | sed -n "s/^$1[[:space:]]*= *//p" | head -n 1; }
part() { printf '== %s\\n' "$1"; }
key() { if [ -r "$1" ]; then base64 < "$1" | tr -d '\\n'; echo; fi; }
part config; printf '%s\\n' "$conf"
part partitions; scontrol -o show partition 2>/dev/null | sed -n 's/^PartitionName=\\([^ ]*\\).*/\\1/p'
part nodes; scontrol -o show node 2>/dev/null | sed -n 's/^NodeName=\\([^ ]*\\).*/\\1/p'
dbd=$(value AccountingStorageHost)
part database; getent ahostsv4 "$dbd" 2>/dev/null | sed -n '1s/ .*//p'
file=$(value SLURM_CONF)
jwt=$(value AuthAltParameters | tr ',' '\\n' | sed -n 's/^jwt_key=//p' | head -n 1)
part slurm.key; key "$(dirname "${file:-/etc/slurm/slurm.conf}")/slurm.key"
part jwt.key; key "$jwt"
part end
"""
"""For a shell on slurmctld's host, as a user who may read both keys. It reads, and changes nothing."""
_PART: Final = re.compile(r"^== ([a-z.]+)$")
_LINE: Final = re.compile(r"^([A-Za-z_]+(?:\[\d+\])?)\s*=\s?(.*)$")
_RELEASE: Final = re.compile(r"(\d\d\.\d\d)(?:\..*)?")
_USER: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\((\d+)\)")
_HOST: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\(([0-9A-Fa-f.:]+)\))?")
_NULL: Final = frozenset({"", "(null)", "n/a"})


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
    parts = _parts(answer)
    lines = (_LINE.match(line) for line in parts.get("config", ()))
    config = {found[1]: found[2] for found in lines if found}
    if not {"ClusterName", "SLURM_VERSION", "AuthType"} <= config.keys():
        raise ProjectError(
            "that is no output of `scontrol show config`, which has lines such as `ClusterName = …` and `SLURM_VERSION = …`;"
            " run it on slurmctld's host. Nothing was written"
        )
    user = _USER.fullmatch(config.get("SlurmUser", ""))
    host = _HOST.fullmatch(config.get("SlurmctldHost[0]", "")) or _HOST.fullmatch(config.get("SlurmctldHost", ""))
    release = _RELEASE.fullmatch(config["SLURM_VERSION"])
    slurmdbd = config.get("AccountingStorageType", "").endswith("slurmdbd")
    database = _known(config, "AccountingStorageHost") if slurmdbd else ""
    return Found(
        name=_known(config, "ClusterName"),
        release=release[1] if release else "",
        auth=_known(config, "AuthType"),
        user=user[1] if user else "",
        uid=int(user[2]) if user else None,
        host=host[1] if host else "",
        address=(host[2] or "") if host else "",
        port=_number(config, "SlurmctldPort", 6817),
        parameters=frozenset(_known(config, "SlurmctldParameters").split(",")),
        max_nodes=_number(config, "MaxNodeCount", 0),
        jwt_file=_jwt_file(config),
        database=database,
        database_address=next(iter(parts.get("database", ())), ""),
        database_port=_number(config, "AccountingStoragePort", 6819),
        partitions=frozenset(parts.get("partitions", ())),
        nodes=frozenset(parts.get("nodes", ())),
        slurm_key=_key(parts, "slurm.key"),
        jwt_key=_key(parts, "jwt.key"),
    )


def _parts(answer: str) -> dict[str, list[str]]:
    """Lines of the answer by part; all of it is the configuration where it has no parts."""
    found: dict[str, list[str]] = {}
    now = found.setdefault("config", [])
    for line in answer.splitlines():
        if mark := _PART.match(line):
            now = found.setdefault(mark[1], [])
        elif line.strip():
            now.append(line.strip())
    return found


def _known(config: Mapping[str, str], key: str) -> str:
    text = config.get(key, "").strip()
    return "" if text.lower() in _NULL else text


def _number(config: Mapping[str, str], key: str, otherwise: int) -> int:
    """A number; SlurmctldPort may be a range, of which the first counts."""
    text = _known(config, key).partition("-")[0]
    return int(text) if text.isdigit() and len(text) < 10 else otherwise


def _jwt_file(config: Mapping[str, str]) -> str:
    if "auth/jwt" not in _known(config, "AuthAltTypes"):
        return ""
    words = _known(config, "AuthAltParameters").split(",")
    return next((word.removeprefix("jwt_key=") for word in words if word.startswith("jwt_key=")), "")


def _key(parts: Mapping[str, list[str]], name: str) -> bytes | None:
    text = "".join(parts.get(name, ()))
    try:
        return base64.b64decode(text, validate=True) if text else None
    except (binascii.Error, ValueError):
        return None
