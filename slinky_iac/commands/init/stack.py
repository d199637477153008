"""From what slurmctld's host says of its cluster to a stack's file: settings that fit, and comments where somebody has to
decide. Pure.

The answer holds both keys. They are kept out of every text that is shown: no part of the answer is ever quoted but names and
numbers that were recognised.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import yaml

from slinky_iac import pulumi_yaml
from slinky_iac.commands.host_shell import CONFIG, MARK, NODES, clusters, known, number, parts, settings
from slinky_iac.commands.init import conf_lines, room
from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import Finding, Level
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.forms import completed
from slinky_iac.config.slurm.node_records import RecordedNode, recorded
from slinky_iac.config.slurm.plugins import bare
from slinky_iac.config.stack import PROJECT
from slinky_iac.errors import ProjectError
from slinky_iac.keys.catalogue import JWT
from slinky_iac.names import SLINKY_UID
from slinky_iac.parts.tokens.judged import Judged, judged_by
from slinky_iac.releases import MINIMUM_SLURM

SCRIPT: Final = (
    MARK
    + CONFIG
    + NODES
    + """\
key() { if [ -r "$1" ]; then base64 < "$1" | tr -d '\\n'; echo; fi; }
part partitions; scontrol -o show partition 2>/dev/null | sed -n 's/^PartitionName=\\([^ ]*\\).*/\\1/p'
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
_HOST: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\(([A-Za-z0-9_.:-]+)\))?")


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
    judged: Judged
    alt_parameters: str = ""
    """AuthAltParameters as it is recorded."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Parameters that :func:`hints` and :func:`refusals` name, those that have a value."""
    of_nodes: Mapping[str, str] = field(default_factory=dict)
    """Parameters that :mod:`.conf_lines` reads."""
    database: str = ""
    """slurmdbd's host as slurm.conf names it; empty where accounting doesn't go through slurmdbd."""
    database_address: str = ""
    database_port: int = 6819
    backups: tuple[tuple[str, str], ...] = ()
    """Name and address of each backup slurmctld, in their order; an address that isn't known is empty."""
    down: tuple[tuple[str, str], ...] = ()
    """Host and place (primary, backup) of each slurmctld that didn't answer when the output was made."""
    partitions: frozenset[str] = frozenset()
    nodes: tuple[RecordedNode, ...] | None = None
    """slurmctld's nodes; None where they aren't known."""
    slurm_key: bytes | None = field(default=None, repr=False)
    jwt_key: bytes | None = field(default=None, repr=False)


def read(answer: str) -> Found:
    """What the script printed, or `scontrol show config` alone. Raises :class:`ProjectError` where it is neither."""
    lines_by_part = parts(answer)
    config = settings(lines_by_part["config"])
    if clusters(lines_by_part["config"]) > 1 or not {"ClusterName", "SLURM_VERSION", "AuthType"} <= config.keys():
        raise ProjectError(
            "that isn't the output of `scontrol show config` of one cluster, which has lines such as `ClusterName = …` and"
            " `SLURM_VERSION = …`; run it on slurmctld's host. Nothing was written"
        )
    user = _USER.fullmatch(config.get("SlurmUser", ""))
    host, address = _host(config.get("SlurmctldHost[0]", "")) or _host(config.get("SlurmctldHost", "")) or ("", "")
    release = _RELEASE.fullmatch(config["SLURM_VERSION"])
    slurmdbd = config.get("AccountingStorageType", "").endswith("slurmdbd")
    database = known(config, "AccountingStorageHost").lower() if slurmdbd else ""
    return Found(
        name=known(config, "ClusterName"),
        release=release[1] if release else "",
        auth=known(config, "AuthType"),
        user=user[1] if user else "",
        uid=int(user[2]) if user else None,
        host=host,
        address=address,
        port=number(config, "SlurmctldPort", 6817),
        parameters=frozenset(known(config, "SlurmctldParameters").split(",")),
        max_nodes=number(config, "MaxNodeCount", 0),
        judged=judged_by(
            known(config, "AuthAltTypes").split(","), known(config, "AuthAltParameters"), known(config, "StateSaveLocation")
        ),
        alt_parameters=known(config, "AuthAltParameters"),
        named={key: value for key in _NAMED if (value := known(config, key))},
        of_nodes=conf_lines.of_nodes(config),
        database=database,
        database_address=next(iter(lines_by_part.get("database", ())), ""),
        database_port=number(config, "AccountingStoragePort", 6819),
        backups=tuple(_backups(config)),
        down=conf_lines.down(lines_by_part["config"]),
        partitions=frozenset(lines_by_part.get("partitions", ())),
        nodes=recorded(lines_by_part.get("nodes")),
        slurm_key=_key(lines_by_part, "slurm.key"),
        jwt_key=_key(lines_by_part, "jwt.key"),
    )


def _backups(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for at in count(1):
        backup = _host(config.get(f"SlurmctldHost[{at}]", ""))
        if backup is None:
            return
        yield backup


def _host(text: str) -> tuple[str, str] | None:
    """Name and IP address of a host, written NAME or NAME(ADDRESS); no address where that is a name, perhaps of a network
    that pods aren't in. DNS knows no capitals, and Kubernetes takes none."""
    match = _HOST.fullmatch(text)
    return None if match is None else (match[1].lower(), match[2] if match[2] and is_address(match[2]) else "")


def _key(parts: Mapping[str, list[str]], name: str) -> bytes | None:
    text = "".join(parts.get(name, ()))
    try:
        return base64.b64decode(text, validate=True) if text else None
    except (binascii.Error, ValueError):
        return None


_NAMED: Final = {
    "AuthInfo": "",
    "SelectType": "",
    "SlurmctldAddr": "an address that stands for several slurmctlds; give it as controller.external.host if pods reach it",
    "AccountingStorageBackupHost": "a backup slurmdbd, which needs the same keys; accounting.external names one host",
    "TLSType": "daemons speak TLS, and Slinky's images have no plugin for it: set cluster.images to images of your own",
}
"""Parameters that are read beside the others: what to know of each that is only told."""
JWT_KEY: Final = f"/etc/slurm/{JWT.file}"
"""The JWT key's place in the lines of the hand-off."""
_OF_IMAGES: Final = {"25.11": "25.11-ubuntu24.04"}
"""Tags of Slinky's images for releases older than those of the operator's default release."""
_CTLD_PORT: Final = 6817
_DBD_PORT: Final = 6819
Settings = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What the user said: where pods reach slurmctld, and NodeSets."""

    host: str
    nodesets: Mapping[str, int]
    """Pods by NodeSet."""
    base: Mapping[str, object]
    """Sections to begin with, for instance images of a registry of the site's own."""


def refusals(slurm: Found, wanted: Wanted) -> Iterator[str]:
    """Why no stack of this program fits the cluster as it is, each with what to change there."""
    if bare("AuthType", slurm.auth) != "slurm":
        yield (
            f"AuthType is {shown(slurm.auth)}, and worker pods need auth/slurm. Move the cluster first (`slinky docs"
            " munge Moving`); clients alone can stay with munge: keys.auth: auth/munge"
        )
    release = tuple(int(part) for part in slurm.release.split(".")) if slurm.release else ()
    if release < MINIMUM_SLURM:
        yield (
            f"Slurm is {slurm.release or 'of an unknown release'}, and slurm-operator needs 25.11 or newer: update slurmdbd,"
            " slurmctld, slurmrestd and slurmd, in this order"
        )
    if not slurm.judged.key:
        line = completed("AuthAltParameters", slurm.alt_parameters, f"jwt_key={JWT_KEY}")
        yield (
            f"{slurm.judged.lacking} Make a key with `slinky keys generate jwt --out jwt_hs256.key`, put it at the path that"
            " the line below names, set these lines in slurm.conf and slurmdbd.conf, with what slurmdbd.conf has there"
            " already, and restart both:\n"
            f"      AuthAltTypes=auth/jwt\n      AuthAltParameters={line}"
        )
    if (select := slurm.named.get("SelectType", "select/cons_tres")) != "select/cons_tres":
        yield (
            f"SelectType is {name_of(select)}, and pods need MaxNodeCount, with which slurmctld refuses its file beside any"
            " other than select/cons_tres. A change of SelectType loses all jobs: stop the cluster for it (slurm.conf(5))"
        )
    for name in wanted.nodesets:
        yield from _taken(slurm, name)


def _taken(slurm: Found, name: str) -> Iterator[str]:
    if name in slurm.partitions:
        yield (
            f"the cluster has a partition {name}, and a NodeSet brings one of its own name; choose another name"
            " with --nodeset NAME=REPLICAS"
        )
    if any(node.name.startswith(f"{name}-") for node in slurm.nodes or ()):
        yield (
            f"the cluster has nodes named {name}-…, as the pods of that NodeSet would be; choose another name with"
            " --nodeset NAME=REPLICAS"
        )


def require_fit(slurm: Found, wanted: Wanted) -> None:
    """Raises :class:`ProjectError` with all refusals where there is one."""
    if said := list(refusals(slurm, wanted)):
        raise ProjectError("nothing was written:\n" + "\n".join(f"  {refusal}" for refusal in said))


def warnings(slurm: Found, settings: Mapping[str, object]) -> Iterator[str]:
    """What keeps pods of this stack out of the cluster until it is changed, or takes them from it again."""
    if slurm.uid not in (None, SLINKY_UID):
        yield (
            f"SlurmUser {slurm.user} has uid {slurm.uid}, and Slinky's images have {SLINKY_UID}: pods could not register."
            " Set cluster.images to images of your own with your uid"
        )
    yield from conf_lines.warnings(slurm.of_nodes, settings)


def hints(slurm: Found, settings: Mapping[str, object]) -> Iterator[str]:
    """What to decide or to do that the file with these settings can't say for itself."""
    yield from room.hints(slurm.max_nodes, room.records(settings, slurm.nodes), slurm.nodes)
    if "use_client_ids" not in slurm.named.get("AuthInfo", "").split(","):
        options = completed("AuthInfo", slurm.named.get("AuthInfo", ""), "use_client_ids").split(",")
        line = ",".join("=".join(map(name_of, option.split("=", 1))) for option in options)
        yield f"users that slurmctld's host doesn't know can't run jobs: it needs AuthInfo={line}, slurmdbd.conf likewise"
    if slurm.judged.by_default:
        yield (
            f"slurmctld reads its JWT key from {slurm.judged.key}, the default place: import that file. slurmdbd has no"
            " default: its slurmdbd.conf must name the same key (AuthAltParameters=jwt_key=FILE)"
        )
    elif slurm.judged.key not in ("", JWT_KEY):
        yield (
            f"slurmctld reads its JWT key from {name_of(slurm.judged.key)}: keep that path, and have it once. The"
            f" hand-off's lines have jwt_key={JWT_KEY}"
        )
    for place, (name, address) in enumerate(slurm.backups, start=1):
        reached = name_of(_reached(name, address, slurm.port))
        host = f"{name_of(name)} ({address})" if address else name_of(name)
        own = f"SlurmctldHost[{place}] is {host}, a backup"
        yield f"{own}: pods must reach it at {reached}; it needs the same keys and lines"
    yield from conf_lines.of_slurmctld(slurm.down, slurm.release)
    for key, why in _NAMED.items():
        if why and key in slurm.named and slurm.named[key] not in ("tls/none", slurm.named.get("SlurmctldHost[0]")):
            yield f"{key} is {name_of(slurm.named[key])}: {why}"
    yield from conf_lines.hints(slurm.of_nodes, settings)


def sections(slurm: Found, wanted: Wanted) -> Settings:
    """The stack's settings: those of ``wanted.base`` under those that the cluster decides."""
    cluster: Settings = {"name": slurm.name, "slurmVersion": slurm.release}
    tag = _OF_IMAGES.get(slurm.release)
    if tag is not None:
        cluster["images"] = {name: f"ghcr.io/slinkyproject/{name}:{tag}" for name in ("slurmrestd", "slurmd", "login")}
    made: Settings = {
        "cluster": cluster,
        "keys": {"source": "imported"},
        "controller": {"external": _slurmctld(slurm, wanted)},
        "accounting": {"enabled": False},
        "nodesets": {name: {"replicas": pods} for name, pods in wanted.nodesets.items()},
    }
    if slurm.database:
        local = slurm.database in ("localhost", "127.0.0.1", slurm.host)
        host, address = (wanted.host, slurm.address) if local else (slurm.database, slurm.database_address)
        made["accounting"] = {"external": _external(host, address, slurm.database_port, _DBD_PORT)}
    laid = _laid({name: made.get(name) for name in made}, wanted.base)
    laid["cluster"]["maxNodeCount"] = room.most(slurm.max_nodes, room.records(laid, slurm.nodes))
    return laid


def _slurmctld(slurm: Found, wanted: Wanted) -> Settings:
    """slurmctld's place, with those of its backups."""
    backups = [_reached(*backup, slurm.port) for backup in slurm.backups]
    return _external(wanted.host, slurm.address, slurm.port, _CTLD_PORT) | ({"backups": backups} if backups else {})


def _reached(name: str, address: str, port: int) -> str:
    """Where pods reach a backup slurmctld."""
    return str(_external(name, address, port, _CTLD_PORT)["host"])


def _external(host: str, address: str, port: int, usual: int) -> Settings:
    """A daemon's place. A name with another port than the usual one, or without a domain, can't be used by pods: then its
    address is, where that is known."""
    by_address = address and not address.startswith("127.") and (port != usual or "." not in host)
    return {"host": address if by_address else host, "port": port}


def _laid(over: Settings, base: Mapping[str, object]) -> Settings:
    """``over`` laid over ``base``; a list or a value of ``base`` that both have is replaced, but images of ``base`` stay."""
    result: Settings = {}
    for name in [*over, *(name for name in base if name not in over)]:
        upper, lower = over.get(name), base.get(name)
        if isinstance(upper, dict) and isinstance(lower, dict):
            result[name] = {**upper, **lower} if name == "images" else _laid(upper, lower)
        else:
            result[name] = upper if name in over else lower
    return result


_COMMENTS: Final = {
    "cluster": "ClusterName and release as slurmctld has them: the name can't change. maxNodeCount counts its nodes, too.",
    "keys": "The outside cluster's own keys; they are secrets of this stack: slurmKey and jwtKey.",
    "controller": "DECIDE: pods must reach slurmctld under this address, without NAT (`slinky docs outside-hosts`).",
    "accounting": "DECIDE: pods must reach slurmdbd under this address.",
    "nodesets": "DECIDE: how many pods, each on a Kubernetes node of its own; resources: {cpus: …, memory: …}. With"
    ' GPUs: gres: ["gpu:4"], and below resources extended: {nvidia.com/gpu: 4}.',
}


def unguarded(settings: Mapping[str, object], slurm: Found) -> str:
    """NetworkPolicies as a comment: on slurmctld's host nothing says from where the API server connects, and which hosts run
    srun. Both would be cut off by a policy that doesn't know them. Empty where ``settings`` have the section."""
    if "networkPolicies" in settings:
        return ""
    known = {slurm.host: slurm.address, slurm.database: slurm.database_address}
    named = {
        str(place["host"]): known.get(str(place["host"]), "") or (slurm.address if section == "controller" else "")
        for section in ("controller", "accounting")
        if isinstance(part := settings.get(section), dict) and isinstance(place := part.get("external"), dict)
        if not is_address(str(place["host"]))
    }
    lines = [f"{host}: [{address or '…'}]" for host, address in named.items()]
    return _POLICIES + ("#   addresses:\n" + "".join(f"#     {line}\n" for line in lines) if lines else "")


_POLICIES: Final = f"""\
# DECIDE: networkPolicies keep pods that aren't Slurm's from Slurm's pods (`slinky docs networks`). They are off:
# apiServer and the outside hosts that run srun, sbatch or slurmd can't be read from slurmctld's host, and would be
# cut off. Fill in and remove the #:
# {PROJECT}:external:
#   loginHosts: [{{name: …, address: …}}]
#   slurmdHosts: [{{name: …, address: …}}]
# {PROJECT}:networkPolicies:
#   enabled: true
#   apiServer: [{{cidr: …}}] # from where the API server connects to pods
"""


def document(
    settings: Mapping[str, object], source: str, kept: Mapping[str, object], policies: str = "", *, nodes: int | None = None
) -> str:
    """The file's text. ``kept``: top-level keys of the file before, such as encryptionsalt; ``policies``: a comment, before
    the NodeSets: at the end pulumi would move it into the last of them when it adds the keys; ``nodes``: slurmctld's own."""
    lines = [f"# Written by `slinky init` from {source}. Look for DECIDE; check it with `slinky check`."]
    if kept:
        lines += yaml.dump(dict(kept), Dumper=pulumi_yaml.StackDumper, sort_keys=False).splitlines()
    lines.append("config:")
    for name, value in settings.items():
        if name == "nodesets":
            lines += [f"  {line}" for line in policies.splitlines()]
        if name in _COMMENTS:
            lines.append(f"  # {_COMMENTS[name]}")
        if name == "cluster" and nodes is not None:
            lines.append(f"  # slurmctld had {nodes} nodes of its own when this was written.")
        text = yaml.dump(
            {f"{PROJECT}:{name}": value},
            Dumper=pulumi_yaml.StackDumper,
            sort_keys=False,
            default_flow_style=False,
            allow_unicode=True,
        )
        lines += [f"  {line}" for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def require_sound(findings: tuple[Finding, ...]) -> None:
    """Raises :class:`ProjectError` where the settings that were found don't make a sound stack."""
    errors = [f"  {finding}" for finding in findings if finding.level is Level.ERROR]
    if errors:
        raise ProjectError(
            "what was read makes no sound stack; nothing was written. Give what differs in a file with --base:\n"
            + "\n".join(errors)
        )
