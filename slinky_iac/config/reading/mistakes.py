"""What people type in place of a setting, beside words of the chart and of slurm.conf: what it is here. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from slinky_iac.config.chart.reasons import BACKUP, HOST_KEYS, SSHD_PORT
from slinky_iac.config.chart.translation import Advice, advice
from slinky_iac.config.chart.values import SAME, Left, Several, resources
from slinky_iac.config.fields import is_host
from slinky_iac.config.kubernetes.types import fields
from slinky_iac.config.reading.levels import in_camel_case, siblings
from slinky_iac.config.reading.such_as import such_as
from slinky_iac.config.shown import name_of, place, word_of
from slinky_iac.config.slurm.gres import GresItem
from slinky_iac.config.slurm.words import is_known
from slinky_iac.config.stack import MEANT
from slinky_iac.names import is_dns_label

Location = tuple[int | str, ...]
_DAEMONS: Final = {
    "slurmctld": "controller",
    "slurmdbd": "accounting",
    "slurmrestd": "restapi",
    "slurmd": "nodesets",
    "login": "logins",
    "sackd": "logins",
}
"""Sections by the daemon that they describe."""
_OF_NODESET: Final = frozenset({"replicas", "gres"})
"""Settings by which a mapping is taken for a NodeSet."""
_GRES: Final = re.compile(r"(?:gpu|mps|shard|nic)(?::[a-z0-9][a-z0-9_.+-]{0,20})?(?::[0-9]{1,6})?")
"""Items of Gres= that a message may show: any other text may be a secret."""
_SOURCES: Final = frozenset(
    {"configMap", "csi", "emptyDir", "ephemeral", "hostPath", "image", "iscsi", "nfs", "persistentVolumeClaim", "projected"}
    | {"secret"}
)
"""Kinds of volumes, by Kubernetes' names."""
_RANGE: Final = re.compile(r"[0-9]{1,5}-[0-9]{1,5}")
_SIZE: Final = re.compile(r"cpus?|memory|ephemeral-storage|hugepages-.*|[^/]+/[^/]+")
"""Names of what Kubernetes measures pods by."""
_SPARE_SLURMDBD: Final = ("backup", "backups", "backuphost", "hosts", "accountingstoragebackuphost", "dbdbackuphost")
_HOST_KEYS: Final = ("hostkey", "hostkeys", "sshhostkey", "sshhostkeys")
_SECOND: Final = (
    "one host: a second slurmdbd is AccountingStorageBackupHost of the outside slurm.conf, and slurmrestd in Kubernetes asks"
    " the first alone. Name an address that leads to the one that runs, where there is one"
)
_BACKUPS: Final = "one host; further ones go in controller.external.backups"


def nested(location: Sequence[int | str], value: object) -> dict[str, Any]:
    """A value at its place; nothing for a place in a list."""
    if any(isinstance(part, int) for part in location):
        return {}
    for part in reversed(location):
        value = {str(part): value}
    return value if isinstance(value, dict) else {}


def unknown(location: Location, value: object) -> Advice | None:  # noqa: PLR0911 - one return a word
    """What a key is that isn't a setting; None where it is none that is known."""
    *above, name = map(str, location)
    if not above and name in _DAEMONS:
        section = _DAEMONS[name]
        parts = value.values() if isinstance(value, Mapping) and section in ("nodesets", "logins") else ()
        by_name = bool(parts) and all(isinstance(child, Mapping) for child in parts)
        of_section = by_name or (isinstance(value, Mapping) and section in ("controller", "accounting", "restapi"))
        return Advice(f"the section of {name} is `{section}`", {section: value} if of_section else {})
    is_nodeset = isinstance(value, Mapping) and is_dns_label(name) and bool(_OF_NODESET & value.keys())
    if is_nodeset and len(above) == 2 and above[0] == "nodesets":
        return Advice(f"a NodeSet named {name_of(name)}? Then indent it by 4", {"nodesets": {name: value}})
    if above[-1:] == ["resources"] and "/" in name:
        return Advice("a device goes below `extended`", nested((*above, "extended", name), value))
    if above[-1:] == ["partition"] and is_known(name, "PartitionName"):
        return Advice("it goes below partition.config", nested((*above, "config", name), value))
    if words := _without_a_setting(above, name):
        return Advice(words)
    if above[:1] == ["nodesets"] and len(above) == 2 and (said := _of_nodeset(above[1], name, value)) is not None:
        return said
    if above[-2:-1] == ["volumes"] and name in _SOURCES:
        return Advice(f"it goes below `source`: source: {{{name}: …}}")
    if above[-1:] in (["slurmKeyFrom"], ["jwtKeyFrom"], ["keyFrom"]) and name == "name":
        return Advice("it is `secret`, the Secret's name", nested((*above, "secret"), value))
    if above[:1] == ["partitions"] and len(above) == 2 and (parameter := _parameter(name)):
        return Advice(f"it is `config.{parameter}`", nested((*above, "config", parameter), value))
    if above[-1:] == ["autoscale"] and name in ("min", "minReplicaCount"):
        return Advice("it is `minReplicas`", nested((*above, "minReplicas"), value))
    if above[-1:] == ["autoscale"] and name in ("max", "maxReplicas", "maxReplicaCount", "maximum"):
        return Advice("it is `maxReplicas` of the NodeSet", nested((*above[:-1], "maxReplicas"), value))
    return Advice(BACKUP) if above == ["controller"] and name in ("replicas", "backups") else None


def _without_a_setting(above: Sequence[str], name: str) -> str:
    """What there is in the place of what is no setting anywhere; empty for another word."""
    if above[-1:] == ["partition"] and name == "name":
        return "a NodeSet's own partition has its name; another one is `partitions.NAME` with `nodesets: [NODESET]`"
    if above == ["accounting", "external"] and name.lower() in _SPARE_SLURMDBD:
        return _SECOND
    if above[-1:] == ["external"] and name == "hosts":
        return f"it is `host`, {_one(above)}"
    is_login = above[:1] == ["logins"] and len(above) == 2
    if is_login and name.lower() in _HOST_KEYS:
        return HOST_KEYS
    if above[:1] in (["logins"], ["nodesets"]) and len(above) == 2 and name.lower() in ("home", "homes"):
        return f"users' homes are a volume: {such_as((*above, 'volumes'))}"
    return SSHD_PORT if is_login and name.lower() in ("port", "sshport") else ""


def _of_nodeset(nodeset: str, name: str, value: object) -> Advice | None:
    """What a key of a NodeSet is that is very like a setting of another meaning."""
    if name in ("limits", "requests") and isinstance(value, Mapping) and all(map(_SIZE.fullmatch, map(str, value))):
        size = _one_size(("nodesets", nodeset), {name: value})
        return Advice(f"a pod's sizes are below `resources`: {size.words}", size.settings)
    if name in ("minReplicas", "min"):
        at = ("nodesets", nodeset, "autoscale", "minReplicas")
        return Advice("it is `autoscale.minReplicas`, with `owner: autoscaler` and `maxReplicas`", nested(at, value))
    if name == "partitions":
        return Advice(f"it is the other way round: `partitions.NAME.nodesets: [{name_of(nodeset)}]`")
    return None


def of_pods(location: Location, value: object) -> Advice | None:
    """What a key is that is a field of Kubernetes' pods, containers or Services and has no setting here: a raw piece of the
    part; None for another key, and where the part has no raw pieces."""
    *above, typed = map(str, location)
    name = in_camel_case(typed)
    part = above[:-1] if above[-1:] == ["pod"] else above
    if "raw" not in siblings((*part, name)):
        return None
    for piece, kind in (("pod", "PodSpec"), ("container", "Container"), ("service", "ServiceSpec")):
        if name in fields(kind):
            spelt = "" if name == typed else f" as `{name}`"
            words = f"it is a field of Kubernetes' {kind}, and goes below `raw.{piece}`{spelt}"
            return Advice(words, nested((*part, "raw", piece, name), value))
    return None


def of_any_word(location: Location, value: object, known: Advice) -> tuple[str, Advice] | None:
    """Where the chart's answer is one for any word at a place, such as a field that this program hands on: that place and
    the answer with the word in part, since it is none that the answer knows; None where the word is known, or short."""
    *above, word = map(str, location)
    part = word_of(word)
    if part == word:
        return None
    where = place(".".join([*above, part]))
    other = advice(where, value)
    if other is None or other.words != known.words.replace(word, part):
        return None
    return where, Advice(other.words, is_whole=other.is_whole)


def _parameter(name: str) -> str:
    """A parameter of a PartitionName= line, which may begin with a small letter here; empty for another word."""
    big = name[:1].upper() + name[1:]
    return big if is_known(big, "PartitionName") and big.lower() not in ("nodes", "partitionname") else ""


def requested(data: Mapping[str, object]) -> dict[str, Advice]:
    """Sizes of NodeSets that are written as Kubernetes' requests and limits, by the path of each ``resources``."""
    nodesets = data.get("nodesets")
    named = nodesets.items() if isinstance(nodesets, Mapping) else ()
    parts: dict[tuple[str, ...], object] = {("nodesets", str(name)): nodeset for name, nodeset in named}
    parts[("nodesetDefaults",)] = data.get("nodesetDefaults")
    sizes = {}
    for path, part in parts.items():
        own = part.get("resources") if isinstance(part, Mapping) else None
        if isinstance(own, Mapping) and any(isinstance(own.get(key), Mapping) for key in ("limits", "requests")):
            sizes[place(".".join((*path, "resources")))] = _one_size(path, own)
    return sizes


def _one_size(path: tuple[str, ...], own: Mapping[Any, Any]) -> Advice:
    both = {key: own[key] for key in ("limits", "requests") if isinstance(own.get(key), Mapping)}
    try:
        taken = resources(both)
    except Left:
        taken = None
    size = taken.settings.get(SAME) if isinstance(taken, Several) else None
    said = "here they are one size for both: `resources: {cpus: …, memory: …, extended: {…}}`"
    if not isinstance(size, Mapping):
        return Advice(said)
    notes = "; ".join(taken.notes) if isinstance(taken, Several) else ""
    more = {key: value for key, value in own.items() if key not in both}
    if any(more.get(key, amount) != amount for key, amount in size.items()):
        return Advice(said)  # which of two numbers is meant only a person can say
    return Advice("; ".join(filter(None, (said, notes))), nested((*path, "resources"), {**size, **more}))


def wrong_value(location: Location, value: object) -> Advice | None:  # noqa: PLR0911 - one return a slip
    """What to say of a value that its setting can't have; None where the type's own words say it all."""
    *above, name = map(str, location)
    if name == "host":
        return _hosts(above, value)
    if name.lower().endswith("port") and isinstance(value, str) and _RANGE.fullmatch(value):
        return Advice(f"got {value}; give one port of the range")
    if name == "gres" and isinstance(value, str) and all(map(_GRES.fullmatch, items := value.split(","))):
        shown = ", ".join(f'"{gres_item}"' for gres_item in items)
        return Advice(f"must be a list: write gres: [{shown}]", nested(location, items))
    if above[-2:] == ["resources", "extended"] and name.startswith("hugepages-"):
        there = (*above[:-2], "raw", "container", "resources", "limits", name)
        return Advice("huge pages go below raw.container.resources.limits", nested(there, value))
    if above[-1:] == ["extended"] and isinstance(value, str) and _GRES.fullmatch(value) and (item := GresItem.parse(value)):
        both = nested(location, item.count)
        both["nodesets"][above[1]]["gres"] = [value]
        return Advice(f"must be a whole number: {item.count} here; {value} goes in gres", both)
    if isinstance(value, str) and (meant := MEANT.get((".".join((*above, name)), value))):
        return Advice(f"got {value}; {meant}")
    if above == ["cluster", "images"] and isinstance(value, Mapping) and value.get("repository") and value.get("tag"):
        joined = f"{value['repository']}:{value['tag']}"
        return Advice("an image is one text; join them: repository:tag", nested(location, joined))
    return None


def _hosts(above: Sequence[str], value: object) -> Advice | None:
    """Several hosts where one is meant."""
    if isinstance(value, list):
        return Advice(_one(above))
    if isinstance(value, str) and "," in value and all(map(is_host, hosts := value.split(","))):
        return Advice(f"got {','.join(map(name_of, hosts))!r}: {_one(above)}")
    return None


def _one(above: Sequence[str]) -> str:
    return _BACKUPS if above[:1] == ["controller"] else "one host"
