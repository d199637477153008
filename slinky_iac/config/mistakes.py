"""What people type in place of a setting, beside words of the chart and of slurm.conf: what it is here. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from slinky_iac.config.chart import Advice
from slinky_iac.config.chart_reasons import BACKUP
from slinky_iac.config.fields import is_host
from slinky_iac.config.gres import GresItem
from slinky_iac.config.kubernetes_types import fields
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm_words import is_known
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
_RANGE: Final = re.compile(r"[0-9]{1,5}-[0-9]{1,5}")
_BACKUPS: Final = "one host; further ones go in controller.external.backups"


def nested(location: Sequence[int | str], value: object) -> dict[str, Any]:
    """A value at its place; nothing for a place in a list."""
    if any(isinstance(part, int) for part in location):
        return {}
    for part in reversed(location):
        value = {str(part): value}
    return value if isinstance(value, dict) else {}


def unknown(location: Location, value: object) -> Advice | None:  # noqa: PLR0911 - one return a kind of word
    """What a key is that is no setting; None where it is none that is known."""
    *above, name = map(str, location)
    if not above and name in _DAEMONS:
        section = _DAEMONS[name]
        of_section = isinstance(value, Mapping) and section in ("controller", "accounting", "restapi")
        return Advice(f"the section of {name} is `{section}`", {section: value} if of_section else {})
    is_nodeset = isinstance(value, Mapping) and is_dns_label(name) and bool(_OF_NODESET & value.keys())
    if is_nodeset and len(above) == 2 and above[0] == "nodesets":
        return Advice(f"a NodeSet named {name_of(name)}? Then indent it by 4", {"nodesets": {name: value}})
    if above[-1:] == ["resources"] and "/" in name:
        return Advice("a device goes below `extended`", nested((*above, "extended", name), value))
    if above[-1:] == ["partition"] and is_known(name, "PartitionName"):
        return Advice("goes below partition.config", nested((*above, "config", name), value))
    if above[-1:] == ["external"] and name == "hosts":
        return Advice(f"it is `host`, {_one(above)}")
    if len(above) == 2 and above[0] == "partitions" and (parameter := of_partition(name)):
        return Advice(f"goes below config: {parameter}", nested((*above, "config", parameter), value))
    if above[-1:] and above[-1].endswith("From") and name == "name":
        return Advice("the Secret's name is `secret`")
    if gives_source(location, "source"):
        return Advice(f"is a source of the volume: write `source: {{{name}: …}}`")
    if above[-1:] == ["autoscale"] and name in ("max", "maxReplicas", "maxReplicaCount"):
        return Advice("it is `maxReplicas` of the NodeSet", nested((*above[:-1], "maxReplicas"), value))
    if above[-1:] == ["autoscale"] and name in ("min", "minReplicaCount"):
        return Advice("it is `minReplicas`", nested((*above, "minReplicas"), value))
    return Advice(BACKUP) if above == ["controller"] and name in ("replicas", "backups") else None


def of_partition(name: str) -> str:
    """A parameter of a partition as slurm.conf's manual writes it; empty for another word. ``maxTime`` and ``MaxTime`` are
    one."""
    spelt = name[:1].upper() + name[1:]
    return spelt if is_known(spelt, "PartitionName") and spelt.lower() not in ("nodes", "partitionname") else ""


def gives_source(location: Location, missing: object) -> bool:
    """Whether a word in an entry of `volumes` is a volume's source of Kubernetes', which is missing as ``source``."""
    parts = [part for part in location if not str(part).startswith(("function-", "["))]
    in_volume = len(parts) > 2 and parts[-3] == "volumes" and isinstance(parts[-2], int)
    return in_volume and missing == "source" and str(parts[-1]) in fields("Volume") - {"name"}


def wrong_value(location: Location, value: object) -> Advice | None:
    """What to say of a value that its setting can't have; None where the type's own words say it all."""
    *above, name = map(str, location)
    if name == "host":
        return _hosts(above, value)
    if name.lower().endswith("port") and isinstance(value, str) and _RANGE.fullmatch(value):
        return Advice(f"got {value}; give one port of the range")
    if name == "gres" and isinstance(value, str) and all(map(_GRES.fullmatch, items := value.split(","))):
        shown = ", ".join(f'"{each}"' for each in items)
        return Advice(f"must be a list: write gres: [{shown}]", nested(location, items))
    if above[-1:] == ["extended"] and isinstance(value, str) and _GRES.fullmatch(value) and (item := GresItem.parse(value)):
        both = nested(location, item.count)
        both["nodesets"][above[1]]["gres"] = [value]
        return Advice(f"must be a whole number: {item.count} here; {value} goes in gres", both)
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
