"""What slurmctld's host says through `--via`: the script that asks it, and the facts in its answer. Pure.

The answer has fingerprints and no key. No part of it is shown but names and numbers that were recognised.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import convert

from slinky_iac.commands.host_shell import CONFIG, MARK, NODES, known, number, parts, settings
from slinky_iac.config.slurm.node_records import recorded
from slinky_iac.keys.catalogue import JWT, SLURM
from slinky_iac.preflight.facts import Clock, HostFacts, SlurmFacts
from slinky_iac.slurmrest.controller import Partition
from slinky_iac.slurmrest.daemons import Cluster, Controller, SlurmConf

SCRIPT: Final = (
    MARK
    + CONFIG
    + NODES
    + """\
hash() { if [ -r "$1" ]; then { sha256sum || openssl dgst -sha256 -r; } 2>/dev/null < "$1"; fi; }
part clock; date +%s
part partitions; scontrol -o show partition 2>/dev/null || echo -
part release; sacctmgr -V 2>/dev/null
part clusters; timeout 20 sacctmgr -nP show cluster format=cluster,controlhost,controlport,rpc 2>/dev/null || echo -
part cgroup; sed -e 's/#.*//' -e 's/[[:space:]"]//g' "$folder/cgroup.conf" 2>/dev/null || echo -
part gres; sed -e 's/#.*//' -e 's/[[:space:]"]//g' "$folder/gres.conf" 2>/dev/null
part slurm.key; hash "$folder/slurm.key"
part jwt.key; hash "$jwt"
part end
"""
)
"""For a shell on slurmctld's host, as a user who may read both keys. It reads, and changes nothing."""
_TEXTS: Final = (
    *(
        "ClusterName",
        "AuthType",
        "AuthInfo",
        "AuthAltParameters",
        "CredType",
        "SelectType",
        "ReturnToService",
        "ProctrackType",
    ),
    *("AccountingStorageType", "AccountingStorageHost", "JobAcctGatherType", "SuspendProgram", "ResumeProgram"),
)
_LISTS: Final = (
    *("AccountingStorageTRES", "AuthAltTypes", "SlurmctldParameters", "GresTypes", "TaskPlugin"),
    *("SuspendExcStates", "SuspendExcParts", "SuspendExcNodes"),
)
_HASH: Final = re.compile(r"([0-9a-f]{64})\b.*")
_USER: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\((\d{1,9})\)")
_NAME: Final = re.compile(r"[A-Za-z0-9_.@:-]{1,200}")
_RELEASE: Final = re.compile(r"\d\d\.\d\d(?:\.\d{1,3})?")


def read(host: str, answer: str, before: float, after: float) -> tuple[HostFacts, SlurmFacts]:
    """What the script printed between two readings of our clock: the host's own files, and what its daemons say."""
    sections = parts(answer)
    config = settings(sections["config"])
    if "end" not in sections or not {"ClusterName", "SLURM_VERSION", "AuthType"} <= config.keys():
        trouble = "it printed no whole answer of `scontrol show config`"
        return HostFacts(host, trouble=trouble), SlurmFacts()
    clusters, partitions = sections.get("clusters", []), sections.get("partitions", [])
    release = _RELEASE.search(" ".join(sections.get("release", ())))
    answers = clusters != ["-"] and bool(release)
    prints = {
        label: hashed
        for label, part in ((SLURM.label, "slurm.key"), (JWT.label, "jwt.key"))
        if (hashed := _print(sections, part))
    }
    said = next(iter(sections.get("clock", ())), "")
    slurm = SlurmFacts(
        conf=_conf(config),
        version=known(config, "SLURM_VERSION") if _RELEASE.fullmatch(known(config, "SLURM_VERSION")) else "",
        partitions=None if partitions == ["-"] else tuple(filter(None, map(_partition, partitions))),
        clusters=tuple(filter(None, map(_cluster, clusters))) if answers else None,
        slurmdbd_answers=True if answers else None,
        clock=Clock("slurmctld", int(said), before, after) if said.isascii() and said.isdigit() and len(said) < 12 else None,
    )
    cgroup = sections.get("cgroup", [])
    return HostFacts(
        host,
        keys=prints,
        client=release[0] if release else "",
        cgroup=None if cgroup == ["-"] else _cgroup(cgroup),
        gres=None if "gres" not in sections else _gres(sections["gres"]),
        nodes=recorded(sections.get("nodes")),
    ), slurm


def filled(asked: SlurmFacts, host: SlurmFacts) -> SlurmFacts:
    """What slurmrestd didn't say, by what the host says."""
    fields = ("conf", "version", "partitions", "clusters", "slurmdbd_answers", "clock")
    new = {name: getattr(host, name) for name in fields if not getattr(asked, name) and getattr(host, name) is not None}
    return replace(asked, failed={name: why for name, why in asked.failed.items() if name not in new}, **new)


def _conf(config: Mapping[str, str]) -> SlurmConf:
    user = _USER.fullmatch(known(config, "SlurmUser"))
    ports = {key: number(config, key, 0) or None for key in ("SlurmctldPort", "AccountingStoragePort")}
    texts = {key: known(config, key) for key in _TEXTS if key in config}
    lists = {key: [word for word in known(config, key).split(",") if word] for key in _LISTS if key in config}
    most = number(config, "MaxNodeCount", 0) if "MaxNodeCount" in config else None
    whose = {"SlurmUser": user[1], "SlurmUserId": int(user[2])} if user else {}
    seconds = number({"SuspendTime": known(config, "SuspendTime").partition(" ")[0]}, "SuspendTime", -1)
    idle = {"SuspendTime": {"set": seconds >= 0, "infinite": seconds < 0, "number": max(seconds, 0)}}
    return convert({**texts, **lists, **ports, **whose, **idle, "MaxNodeCount": most}, SlurmConf)


def _partition(line: str) -> Partition | None:
    words = dict(word.partition("=")[::2] for word in line.split())
    name = words.get("PartitionName", "")
    return Partition(name, node_sets=words.get("NodeSets", "")) if _NAME.fullmatch(name) else None


def _cluster(line: str) -> Cluster | None:
    name, host, port, protocol, *_ = [*line.split("|"), "", "", ""]
    if not _NAME.fullmatch(name):
        return None
    numbers = [int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0 for text in (port, protocol)]
    return Cluster(name, Controller(host if _NAME.fullmatch(host) else "", numbers[0]), numbers[1])


def _print(sections: Mapping[str, Sequence[str]], part: str) -> str:
    """A file's fingerprint, as keys' fingerprints are shown; empty where the file can't be read."""
    hashed = _HASH.fullmatch(next(iter(sections.get(part, ())), ""))
    return "SHA256:" + base64.b64encode(bytes.fromhex(hashed[1])).decode().rstrip("=") if hashed else ""


def _gres(lines: Sequence[str]) -> bool:
    """Whether gres.conf lets slurmd find GPUs; a file that isn't there doesn't."""
    words = [line.lower() for line in lines]
    autodetection = any("autodetect=" in line and "autodetect=off" not in line for line in words)
    return autodetection or any("name=gpu" in line for line in words)


def _cgroup(lines: Sequence[str]) -> bool:
    """Whether cgroup.conf suits pods, which have no systemd."""
    words = {line.lower() for line in lines}
    return bool(words & {"ignoresystemd=yes", "ignoresystemd=true", "ignoresystemd=1", "cgroupplugin=disabled"})
