"""Resources of other providers, a cloud's above all: a list of kinds that hold data or lead connections, judged by what they
name and open. Any other kind may run programs, give rights or take machines away, and needs an entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import Resource, everything, mappings
from slurm_rules.others import PORTS, names
from slurm_rules.world import World

_LISTS: Final[Mapping[str, Any]] = HARMLESS["clouds"]
_WIDE: Final = re.compile(r"[\d.]{1,15}/[0-7]|[\da-fA-F:]{1,39}/(?:\d|1[0-5])|\*|Internet|Any")
"""Networks so wide that two of them are all addresses."""
_EVERYBODY: Final = re.compile(r'^public-read|^all(?:Authenticated)?Users$|"(?:Principal|AWS)"\s{0,99}:[\s[]{0,99}"\*"')
_PUBLIC: Final = re.compile(r"(?i)(?<!block)(?:publicly|public_?access|is_?public)")
_WEB: Final = frozenset({80, 443})


def package_faults(resource: Resource, world: World) -> Iterator[Fault]:
    """Faults of a resource that isn't Kubernetes', a chart's release, or a gate."""
    package, _, rest = resource.type.partition(":")
    if resource.component or package in _LISTS["apart"] or resource.type.startswith("pulumi:pulumi:"):
        return  # what a component makes is judged
    if package == "pulumi" and rest.partition(":")[2] in (*_LISTS["apart"], *_LISTS["providers"], "pulumi-python"):
        return
    kind = f"{re.split('[/:]', rest)[0]}:{resource.kind}".lower()
    if package not in _LISTS["providers"] or not any(fnmatchcase(kind, each) for each in _LISTS["kinds"]):
        yield Fault("", f"is of {package}, and may run programs, give rights, take machines away or write past the pack")
        return
    for path, key, part in everything(resource.props):
        if (isinstance(part, str) and _EVERYBODY.search(part)) or (part is True and _PUBLIC.search(str(key))):
            yield Fault(path, "is open to everybody")
    yield from names(resource.props, "", world)
    yield from _opened(resource)


def fetched(resource: Resource) -> Iterator[Fault]:
    """A provider whose plugin comes from a place that the stack names. The engine shows a resource's option of that name as
    its default provider, with the place in the name."""
    default = resource.name.startswith("default_") and "/" in resource.name
    if resource.type.startswith("pulumi:providers:") and (default or resource.peek("pluginDownloadURL")):
        yield Fault("pluginDownloadURL", "says from where the engine fetches a program, and runs it")


def _opened(resource: Resource) -> Iterator[Fault]:
    """Slurm's ports, which nothing but a firewall may open, and that to named networks; to all, it opens the web's alone."""
    firewall = re.search("sec|firewall", resource.kind.lower())
    for path, part in mappings(resource.get() if firewall else resource.props):
        ports = {port for _, each in mappings(part) for port in _ports(each)}
        out = str(part.get("direction") or part.get("type")).lower() in ("egress", "outbound", "out")
        if not firewall and not ports.isdisjoint(PORTS):
            yield Fault(path, "leads connections to a port of Slurm's daemons")
        protocols = {str(value)[:4].lower() for _, each in mappings(part) for key, value in each.items() if "rotocol" in key}
        if not firewall or out or "egress" in f"{path}{resource.kind}".lower() or protocols == {"icmp"}:
            continue
        said = [str(each) for key, value in part.items() if "dest" not in key.lower() for each in _list(value)]
        if (not ports or not ports <= _WEB) and any(_WIDE.fullmatch(each) for each in said):
            yield Fault(path, "opens more than the web's ports to every address")


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _ports(part: Mapping[str, Any]) -> Iterator[int]:
    """The numbers by which a mapping names ports. Those of a range are its ends."""
    for key, value in part.items():
        for each in _list(value) if "port" in key.lower() and "source" not in key.lower() else ():
            yield from map(int, re.findall(r"(?<![.\d])\d{1,6}", str(each)))
