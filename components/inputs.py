"""Settings that other resources of the program give: an ``Output`` in a setting.

Settings are judged, and specs made of them, before anything is registered; what an Output will be isn't known then. So a
placeholder of its kind is in the settings, and every resource below the cluster gets the Output in its place, by one
transformation. A setting that decides *what* is made can't be an Output, and is refused by its path.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pulumi

from slinky_iac.config.base import Section
from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.outputs import ADDRESS, COUNT, HOST, NAME, OBJECT
from slinky_iac.config.reading.engine import ARGUMENTS, of_call
from slinky_iac.config.reading.levels import field_of, model_in
from slinky_iac.config.reading.load import secret_of
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.specs.workers import nodeset_spec, template_digest

from .line import place_of_program
from .node_set import counted
from .output_kinds import FORMS, checked
from .plain_data import (
    FORMATTED,
    element,
    formatted,
    in_python,
    is_by_name,
    is_of_output,
    is_plain,
    may_hold,
    misplaced,
    refused,
)
from .takes import kind_of, why_not


@dataclass(frozen=True)
class Address:
    """What is an IP address: where a Service leads to it, it differs from what leads to a name."""

    value: pulumi.Input[str]


def address(value: pulumi.Input[str]) -> Address:
    """Say that a host is an IP address. Wrap every Output that will be an IPv4 address, as a VM's private address is; names,
    and Outputs of names, stay as they are.

    Needed for an outside slurmdbd, for slurmctld on another port than 6817, and where NetworkPolicies or monitoring ask for
    addresses: an Output without it is taken for a DNS name there. A text or an Output that isn't an IPv4 address is refused.
    """
    return Address(value)


_MOST: Final = 99
"""Outputs that a cluster takes: placeholders have two digits."""

Judge = Callable[[Mapping[str, Any]], Iterable[str]]


def _no_faults(_sections: Mapping[str, Any]) -> Iterable[str]:
    return ()


@dataclass
class Given:
    """Settings with placeholders, and the Outputs that they stand for."""

    sections: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    call: str = ""
    """What the program makes of them, with its line: a value is judged when no line of the program runs any more."""
    names: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    """By path, the Outputs that are taken for DNS names, and may turn out to be addresses."""
    by_path: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    """All Outputs as they were given, by their paths."""
    paths: dict[str, str] = field(default_factory=dict)
    """The paths by placeholders."""
    numbers: dict[str, pulumi.Output[int]] = field(default_factory=dict)
    """By NodeSet, numbers of nodes. In the sections is :data:`ONE` in their place."""
    faults: list[Finding] = field(default_factory=list)
    judge: Judge = _no_faults
    """What is wrong with sections, once values are in them: the settings' own types, and rules that hold between them."""
    _values: dict[str, str] = field(default_factory=dict)
    """By placeholder, the values that are known so far."""
    _counts: dict[str, int] = field(default_factory=dict)
    """By NodeSet, the same of numbers."""
    _secret: set[str] = field(default_factory=set)
    """Placeholders of Outputs that are secret."""
    _verdict: tuple[tuple[tuple[str, str], ...], tuple[str, ...]] | None = None

    def joined(self) -> Given:
        """A copy that goes on where this one ends: no two Outputs have one placeholder."""
        copies = (self.sections, self.outputs, self.names, self.by_path, self.paths)
        sections, outputs, names, by_path, paths = map(dict, copies)
        own = replace(self, sections=sections, outputs=outputs, names=names, by_path=by_path, paths=paths)
        own.faults, own._verdict = [], None
        return own

    def worded(self, text: str) -> str:
        """A message without placeholders."""
        for place, path in self.paths.items():
            for part in (place, place.removeprefix("https://")):
                text = text.replace(part, f"(the Output at {path})")
        return text

    def fill(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        """A transformation: the Outputs in the place of their placeholders."""
        if not self.outputs:
            return None
        props = {key: value if key == "urn" else self.filled(value) for key, value in args.props.items()}
        return pulumi.ResourceTransformationResult(props, args.opts)

    def filled(self, value: Any) -> Any:  # noqa: ANN401
        """A value with the Outputs in the place of their placeholders."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {key: self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.filled(inner) for inner in value]
        if isinstance(value, pulumi.Output):
            return value.apply(lambda known: pulumi.Output.from_input(self.filled(known)))
        return value

    def _text(self, value: str) -> pulumi.Input[str]:
        met = {placeholder: output for placeholder, output in self.outputs.items() if placeholder in value}
        if not met:
            return value
        if value in met:
            return met[value]

        def put(values: Mapping[str, str]) -> str:
            text = value
            for placeholder, known in values.items():
                place = re.compile(rf"{re.escape(placeholder)}(?![0-9])(?P<port>:(?=[0-9]))?")
                text = place.sub(lambda at, known=known: _before(known, at["port"] or ""), text)  # type: ignore[misc]
            return text

        return pulumi.Output.all(**met).apply(put)

    async def known(self) -> Mapping[str, str]:
        """By placeholder, what a preview knows of the Outputs. None in an update: it asks at its beginning, when it knows
        less, and what another resource is made of can be hours away."""
        if not pulumi.runtime.is_dry_run():
            return {}
        return {place: await output.future() or "" for place, output in self.outputs.items() if await is_known(output)}

    def with_known(self, known: Mapping[str, str]) -> dict[str, Any]:
        """The sections with these in the place of their placeholders."""
        return {name: _replaced(section, known) for name, section in self.sections.items()}

    async def accepted(self, place: str, output: pulumi.Output[str], known: object, kind: str, path: str) -> str:
        """The Output's value, judged in its setting with all that is known by now. Raises RunError, which ends the program
        before anything is made of it."""
        with of_call(self.call):
            text = checked(known, kind, path)
            self._values[place] = text
            if await output.is_secret():
                self._secret.add(place)
            await self._require_sound()
            return text

    async def counted(self, name: str, known: object, path: str) -> int:
        """The same of a number of nodes."""
        with of_call(self.call):
            number = self._counts[name] = counted(known, path)
            await self._require_sound()
            return number

    def _known_paths(self) -> str:
        numbers = (f"nodesets.{name}.replicas" for name in self._counts)
        return ", ".join(sorted([*(self.paths[place] for place in self._values), *numbers]))

    async def _require_sound(self) -> None:
        await asyncio.sleep(0)  # others that are known already are judged with it
        if faults := self._judged():
            said = (
                self.worded("; ".join(faults))
                if not self._secret
                else "it is not shown, since one of these Outputs is secret"
            )
            raise pulumi.RunError(f"with what the Outputs at {self._known_paths()} give, the settings are refused: {said}")

    def _judged(self) -> tuple[str, ...]:
        by_now = tuple(sorted([*self._values.items(), *((name, str(count)) for name, count in self._counts.items())]))
        if self._verdict is None or self._verdict[0] != by_now:
            sections = self.with_known(self._values)
            for name, number in self._counts.items():
                own = sections.get("nodesets", {}).get(name, {})
                sections["nodesets"] = {**sections.get("nodesets", {}), name: {**own, "replicas": number}}
            self._verdict = by_now, tuple(self.judge(sections))
        return self._verdict[1]

    def digests(self, config: ClusterConfig) -> None:
        """A digest of a template holds what an Output will be: the gate rolls out by it."""
        for name, settings in (config.nodesets if isinstance(config, StackConfig) else {}).items():
            self.digest(nodeset_spec(config, name, settings))

    def digest(self, spec: dict[str, Any]) -> None:
        """The same of one NodeSet."""
        filled = self.filled(spec)
        if self.outputs and filled != spec:
            self.outputs[template_digest(spec)] = pulumi.Output.from_input(filled).apply(template_digest)


async def is_known(output: pulumi.Output[str]) -> bool:
    """Whether an Output has a value; without one that ends the program, which says so itself."""
    try:
        return await output.is_known() and await output.future() is not None
    except Exception:  # whatever ended the resource that gives it
        return False


def _replaced(value: Any, known: Mapping[str, str]) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {key: _replaced(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, known) for inner in value]
    return known.get(value, value) if isinstance(value, str) else value


def _before(host: str, port: str) -> str:
    """A host before its port: an IPv6 address is in brackets there."""
    return f"[{host}]{port}" if port and ":" in host else f"{host}{port}"


def given(sections: Mapping[str, Any], before: Given | None = None, *, what: str) -> Given:
    """Sections by name, as plain data: names of settings in camelCase, placeholders for Outputs. ``what``: kind and name of
    what is made of them. ``before``: those of the cluster that this is a part of; NodeSets are added to its own."""
    inputs = Given() if before is None else before.joined()
    inputs.call = f"{what}{place_of_program()}"
    for name, section in sections.items():
        if section is not None:
            alias, model = field_of(StackConfig, name)
            plain = _plain(section, model, alias, inputs)
            is_more = before is not None and isinstance(plain, Mapping)
            if before is None and alias in inputs.sections:
                inputs.faults.append(at(alias).error(_twice(alias)))
            inputs.sections[alias] = {**inputs.sections.get(alias, {}), **plain} if is_more else plain
    return inputs


def _plain(value: Any, model: Any, path: str, inputs: Given) -> Any:  # noqa: ANN401
    if isinstance(value, Address) and isinstance(value.value, str):
        return _address(value.value, path, inputs)
    if isinstance(value, Address | pulumi.Output | Awaitable):
        return _placeholder(value, path, inputs, is_section=model_in(model) is not None)
    if isinstance(value, Section):
        value = value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if _has_output(value) and not may_hold(value, model):
        inputs.faults.append(at(path).error(misplaced(value, model, kind_of(path))))
        value = _bare(value)
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        inner = model_in(model)
        for key, setting in _named(value, path, inputs):
            # A mapping by name, as nodesets, has names that people choose; a section has names of settings.
            alias, below = (str(key), inner) if is_by_name(model) else field_of(inner, str(key))
            is_misspelled = inner is not None and below is None  # its own error says so, and lists the others
            if alias in plain:
                inputs.faults.append(at(f"{path}.{alias}").error(_twice(alias)))
            if is_misspelled and _is_given_apart(setting, f"{path}.{key}", inputs):
                continue
            type_of = element(model) if inner is None else below
            plain[alias] = _bare(setting) if is_misspelled else _plain(setting, type_of, f"{path}.{alias}", inputs)
        return plain
    if isinstance(value, list | tuple):
        return [_plain(member, element(model), f"{path}.{number}", inputs) for number, member in enumerate(value)]
    if isinstance(value, str) and is_of_output(value):
        kind = kind_of(path)
        inputs.faults.append(at(path).error(formatted(kind) if kind else f"is an f-string of an Output, and {_why(path)}"))
    if not is_plain(value):
        inputs.faults.append(at(path).error(refused(value, model, path)))
        return None
    return value


def _address(text: str, path: str, inputs: Given) -> str:
    """What :func:`address` was given as a text."""
    if is_of_output(text):
        inputs.faults.append(at(path).error(f"{FORMATTED}: slinky_iac.address(OUTPUT)"))
    elif not is_address(text):
        inputs.faults.append(at(path).error("address() was given a name, and takes an IP address: give the name itself"))
    return text


def _has_output(value: object) -> bool:
    """Whether there is an Output in a mapping or a list."""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(isinstance(member, Address | pulumi.Output | Awaitable) or _has_output(member) for member in inside)


def _named(value: Mapping[Any, Any], path: str, inputs: Given) -> list[tuple[Any, Any]]:
    """The entries of a mapping whose names are known, with a fault for the others."""
    known = [
        (key, setting) for key, setting in value.items() if not (isinstance(key, pulumi.Output) or is_of_output(str(key)))
    ]
    if len(known) < len(value):
        inputs.faults.append(at(path).error(_NAMED_LATER))
    return known


_NAMED_LATER: Final = (
    "has a name that is made of an Output. Names of settings must be known before anything is made: give it as text"
)


_BY_ARGUMENT: Final = "is given by an argument of HybridCluster: {}=OUTPUT. Remove it here"


def _is_given_apart(value: object, path: str, inputs: Given) -> bool:
    """Whether it is an Output for one of the secrets, which are arguments and no settings; it is then a fault."""
    argument = ARGUMENTS.get(secret_of(path) or "") if isinstance(value, pulumi.Output | Awaitable) else None
    if argument is not None:
        inputs.faults.append(at(path).error(_BY_ARGUMENT.format(argument)))
    return argument is not None


def _twice(alias: str) -> str:
    return f"{in_python(alias)} and {alias} are one setting; remove one"


def _bare(value: Any) -> Any:  # noqa: ANN401
    """A value of a setting that there isn't, without Outputs."""
    if isinstance(value, Mapping):
        return {str(key): _bare(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_bare(member) for member in value]
    return value if is_plain(value) else "an Output"


ONE: Final = 1
"""Placeholder for a number of nodes that an Output gives, until its value is known."""


def _placeholder(
    value: Address | pulumi.Output[Any] | Awaitable[Any], path: str, inputs: Given, *, is_section: bool
) -> str | int:
    kind = kind_of(path)
    if kind == COUNT and not isinstance(value, Address):
        name = path.split(".")[1]
        number: pulumi.Output[Any] = pulumi.Output.from_input(value)
        inputs.numbers[name] = number.apply(lambda known: inputs.counted(name, known, path))
        inputs.by_path[path] = number
        return ONE
    if kind is None or len(inputs.outputs) >= _MOST:
        is_first = not any(_NO_OUTPUT in str(fault) for fault in inputs.faults)
        inputs.faults.append(at(path).error(_no_output(path, is_section=is_section, is_first=is_first)))
        return FORMS[OBJECT].format(0)
    given_by: pulumi.Input[str] = value.value if isinstance(value, Address) else value
    output = pulumi.Output.from_input(given_by)
    if isinstance(value, Address):
        kind = ADDRESS if kind in (HOST, NAME) else kind
    place = FORMS[kind].format(len(inputs.outputs) + 1)
    inputs.outputs[place] = output.apply(lambda known: inputs.accepted(place, output, known, kind, path))
    inputs.by_path[path], inputs.paths[place] = output, path
    if kind == NAME:
        inputs.names[path] = output
    return place


_NO_OUTPUT: Final = "can't be an Output: "


def _no_output(path: str, *, is_section: bool, is_first: bool) -> str:
    """Why, and what to do instead; where those are that can be one is said once."""
    if kind_of(path) is not None:
        return f"{_NO_OUTPUT}a cluster takes {_MOST}, and this is one more. Give some as texts"
    where = ". Settings that can: `slinky docs api 'Settings that an Output can give'`"
    way = ". Write it in the program, with Outputs as values in it" if is_section else ""
    return f"{_why(path)}{way}{where if is_first else ''}"


def _why(path: str) -> str:
    return f"{_NO_OUTPUT}{why_not(path)}"


async def taken_for_names(inputs: Given) -> tuple[Finding, ...]:
    """In a preview: warnings for the Outputs that are taken for DNS names whose values aren't known yet."""
    if not pulumi.runtime.is_dry_run():
        return ()
    unknown = [path for path, output in inputs.names.items() if not await is_known(output)]
    return tuple(
        at(path).warning(
            "the Output that it is given isn't known yet, and is taken for a DNS name. If it will be an IP address, wrap it"
            " now: slinky_iac.address(…), or in another language slurmctldAddress or slurmdbdAddress. Otherwise"
            " `pulumi up` stops once it is known, after other resources are made",
            id="output-taken-for-name",
        )
        for path in unknown
    )
