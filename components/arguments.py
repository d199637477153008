"""What is refused of the arguments that a program gives, before sections are read: with the line of the program."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Final

import pulumi

from slinky_iac import safe_yaml
from slinky_iac.config.base import Section
from slinky_iac.config.fields import is_host
from slinky_iac.config.findings import Finding, Setting, at
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.text import closest, listed

from .connection import described
from .inputs import Address
from .line import place_of_program
from .plain_data import got, in_python, is_of_output, of_resource
from .takes import holding

_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "ignore_changes": "a component has no inputs whose changes Pulumi could ignore. See owner: autoscaler of a NodeSet, for"
    " a number of nodes that something else changes",
    "replace_on_changes": "a component is not replaced",
    "delete_before_replace": "a component is not replaced",
    "replace_with": "a component is not replaced",
    "retain_on_delete": "what is in the component would be deleted all the same. See cluster.keepNamespace",
    "deleted_with": "what is in the component would be deleted by its own gates all the same",
    "import_": "Pulumi imports no component. `slinky adopt` takes over what a Helm release made",
    "additional_secret_outputs": "a component's outputs are secret where what gives them is",
    "custom_timeouts": "a component makes nothing itself. `drain.deadline` is the time that a gate waits",
}
"""Options of a resource that Pulumi takes for a component and doesn't hand on to what is in it."""


def refuse(what: str, faults: tuple[str, ...]) -> StackRefused:
    """The refusal of a component; ``what``: its kind and name. Raise it."""
    return StackRefused(f"{what}{place_of_program()}: {listed(faults, ' in its arguments')}")


_AT_ONCE: Final = "It is Slurm's and Pulumi's name, so it must be known before anything is made"


def require_name(kind: str, name: object) -> None:
    """Raises :class:`StackRefused` for a name that isn't a text."""
    if not isinstance(name, str):
        raise refuse(kind, (f"name: takes a text, got {described(name)}. {_AT_ONCE}",))
    if is_of_output(name):
        raise refuse(kind, (f"name: is an f-string of an Output. {_AT_ONCE}: give it as text",))


def option_faults_of(opts: object) -> list[Finding]:
    """Faults of what isn't Pulumi's options, and of those that have no effect on what is in a component."""
    if not isinstance(opts, pulumi.ResourceOptions | None):
        way = "opts=pulumi.ResourceOptions(depends_on=…)"
        return [at("opts").error(f"takes pulumi.ResourceOptions(…), got {got(opts)}: {way}")]
    given = [] if opts is None else [name for name in _WITHOUT_EFFECT if getattr(opts, name, None)]
    return [
        Setting(f"opts.{name}").error(f"has no effect on a component: {_WITHOUT_EFFECT[name]}. Leave it out")
        for name in given
    ]


EXAMPLES: Final[Mapping[str, str]] = {
    "cluster": '{"namespace": "slurm"}',
    "operator": '{"version": "1.2.1"}',
    "keys": '{"source": "imported"}',
    "controller": '{"external": {"host": "slurmctld.example.org"}}',
    "accounting": '{"external": {"host": "slurmdbd.example.org"}}',
    "restapi": '{"replicas": 2}',
    "nodesets": '{"cpu": {"replicas": 4}}',
    "logins": '{"main": {"replicas": 1}}',
    "partitions": '{"all": {"nodesets": ["cpu", "gpu"]}}',
    "kubernetes": '{"context": "hpc"}',
    "drain": '{"deadline": "2h"}',
    "identity": '{"sssd": {"confFrom": {"secret": "sssd"}}}',
    "external": '{"loginHosts": [{"name": "login-1", "address": "192.0.2.10"}]}',
    "more": '{"nodeset_defaults": {"owner": "autoscaler"}}',
    "resources": '{"cpus": 16, "memory": "64Gi"}',
    "pod": '{"nodeSelector": {"pool": "gpu"}}',
}


def not_at_once(parts: Mapping[str, object]) -> list[Finding]:
    """Faults of sections of which a part is needed before any Output is known."""
    later = (name for name, part in parts.items() if isinstance(part, Address | Awaitable | pulumi.Output))
    return [at(name).error(f"can't be an Output: it decides what is made. Give {name}={EXAMPLES[name]}") for name in later]


def given_twice(more: Mapping[str, object], parts: Mapping[str, object]) -> list[Finding]:
    """Faults of sections in ``more`` that have an argument, which is given too."""
    return [
        at(f"more.{name}").error(f"is given by the argument {name} too; remove one")
        for name in more
        if parts.get(name) is not None
    ]


_SUGGESTED: Final = re.compile(
    r"(?P<typed>[^\s.]+): is not a setting; (?:did you mean \w+\?|allowed here: \w+(?:, \w+)*|it is `[\w.-]+`)"
)


_NO_OPTIONS: Final = frozenset({"self", "id", "urn", "version"})
"""Of the names in the signature those that a program doesn't give, or that are another thing's, too."""
_SHOWN: Final = 4


def option_faults(given: Iterable[str]) -> tuple[str, ...]:
    """Of arguments that are options of a resource."""
    options = inspect.signature(pulumi.ResourceOptions.__init__).parameters.keys() - _NO_OPTIONS
    return tuple(
        f"{name}: has no effect on a component: {_WITHOUT_EFFECT[name]}. Leave it out"
        if name in _WITHOUT_EFFECT
        else f"{name}: is an option of Pulumi's resources: opts=pulumi.ResourceOptions({name}=…)"
        for name in given
        if name in options
    )


def require_arguments(made: type, what: str, given: Iterable[str]) -> None:
    """Raises :class:`StackRefused` for an argument that the class doesn't have, which Python alone would name without those
    that there are."""
    parameters = inspect.signature(made.__init__).parameters.values()  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters if parameter.name != "self"]
    strange = [argument for argument in given if argument not in known]
    faults = (option_faults([name]) or (f"{name}: is not an argument; {_instead(name, known)}",) for name in strange)
    if messages := tuple(fault for group in faults for fault in group):
        raise refuse(what, messages)


def _instead(name: str, known: Sequence[str]) -> str:
    """What to write in place of an argument that there isn't."""
    if near := closest(name, known):
        return f"did you mean {near}?"
    within = [section.replace("*", "NAME") for section in holding(name) if section.partition(".")[0] in known]
    if within:
        more = ", …" if len(within) > _SHOWN else ""
        return f"it is a setting of {', '.join(within[:_SHOWN])}{more}"
    return f"allowed here: {', '.join(known)}"


_YAML: Final = re.compile(
    r"(?P<lead>quote it: |write |write, for example, |for example )"
    r"(?P<name>[a-z][A-Za-z]*): (?P<value>\"[^\"]*\"|\[[^\]]*\]|\{(?:[^{}]|\{[^{}]*\})*\}|[\w./-]+)"
)
"""A line of a stack's file that a fault says to write."""


def in_snake_case(fault: str) -> str:
    """A fault as it is read beside a program: what it says to write is Python, and names are those of Python's types."""
    return _names_in_python(_YAML.sub(_line_in_python, fault))


def _line_in_python(match: re.Match[str]) -> str:
    text, value = match["value"], match["value"]
    if "…" in text:  # what is left out is a person's to write, in a program as in a file
        return match[0]
    try:
        value = safe_yaml.read(text) if text[0] in "[{" else json.loads(text)
    except ValueError:
        if text[0] in "[{":
            return match[0]
    return f'{match["lead"]}"{in_python(match["name"])}": {_literal(value)}'


def _literal(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(child)}" for key, child in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _names_in_python(fault: str) -> str:
    """A fault about a misspelt name, with settings as Python's types have them (:mod:`slinky_iac.settings`), unless what was
    typed has the capital letters of a stack's file."""
    said = _SUGGESTED.search(fault)
    if said is None or said["typed"] != said["typed"].lower():
        return fault
    begin = said.end("typed")
    words = re.sub(r"\b[a-z]+(?:[A-Z][a-z0-9]*)+\b", lambda word: in_python(word[0]), fault[begin : said.end()])
    return f"{fault[:begin]}{words}{fault[said.end() :]}"


def not_sections(parts: Mapping[str, object], where: str = "") -> list[Finding]:
    """Faults of arguments that aren't mappings, each with an example. What is there isn't shown: it may be a secret."""
    return [
        at(f"{where}{name}").error(
            f"takes a mapping of names to settings, got {got(part)}; for example {name}={EXAMPLES[name]}"
        )
        for name, part in parts.items()
        if name in EXAMPLES and not _is_section(name, part)
    ]


def _is_section(name: str, part: object) -> bool:
    """Whether an argument is a section, or what :func:`.inputs.given` says more of."""
    kinds: tuple[type, ...] = (Mapping, pulumi.Output, Awaitable, Address)
    at_once = name in {"cluster", "controller", "accounting", "more"}
    return part is None or isinstance(part, kinds if at_once else (*kinds, Section))


_WITH_PORT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")


def outside(section: str, part: Mapping[str, Any], host: object) -> tuple[dict[str, Any], list[Finding]]:
    """The section of a daemon whose host is given beside it; what the section says of its port, or of spare hosts, stays."""
    short = {"controller": "slurmctld", "accounting": "slurmdbd"}[section]
    external = part.get("external")
    own = dict(external) if isinstance(external, Mapping) else {}
    said = own.get("host")
    faults = []
    if not isinstance(host, str | pulumi.Output | Address | Awaitable):
        beside = f'{section}={{"external": {{"host": …, "port": …}}}}'
        if isinstance(host, list) and section == "controller":
            way = ': give the primary; the others go in controller={"external": {"backups": […]}}'
        elif isinstance(host, Mapping | list | tuple):
            way = f": leave {short} out; a host with its port is given by {beside}"
        else:
            way = ""
        words = f"takes a host, got {got(host)}{way}"
        faults = [at(short).error(of_resource(host, "a host") if isinstance(host, pulumi.Resource) else words)]
        host = f"{short}.example.org"  # only so that what else is wrong is said too
    elif isinstance(host, str) and (both := _WITH_PORT.fullmatch(host)) and is_host(both[1]):
        beside = f'{section}={{"external": {{"host": "{both[1]}", "port": {both[2]}}}}}'
        faults = [at(short).error(f"has a port, which goes beside the host: leave {short} out and give {beside}")]
        host = both[1]
    elif said is not None and (isinstance(said, pulumi.Output | Address) or said != host):
        faults = [at(f"{section}.external.host").error(f"is given by {short} too: leave one of them out")]
    return {**part, "external": {**own, "host": host}}, faults


def named(part: Mapping[str, Any], name: str) -> tuple[dict[str, Any], list[Finding]]:
    """The section of the cluster with its name."""
    said = part.get("name", name)
    if said == name:
        return {**part, "name": name}, []
    words = f"got {described(said)}, while this HybridCluster's name is ClusterName of slurm.conf: leave cluster.name out"
    return {**part, "name": name}, [at("cluster.name").error(words)]
