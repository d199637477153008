"""Settings that other resources of the program give: an ``Output`` in a setting.

Settings are judged, and specs made of them, before anything is registered; what an Output will be isn't known then. So a
placeholder of its kind is in the settings, and every resource below the cluster gets the Output in its place, by one
transformation. A setting that decides *what* is made can't be an Output, and is refused by its path.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated, Any, Final, get_args, get_origin

import pulumi
from pydantic import BaseModel, Strict, StringConstraints, TypeAdapter, ValidationError

from slinky_iac.config.fields import DnsLabel, Host, Image, is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.load import field_of, model_in
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.selection import LABEL, REQUIRED
from slinky_iac.specs.workers import nodeset_spec, template_digest


@dataclass(frozen=True)
class Address:
    """What is an IP address: where a Service leads to it, it differs from what leads to a name."""

    value: pulumi.Input[str]


def address(value: pulumi.Input[str]) -> Address:
    """Say that a host is an IP address. Wrap every Output that will be an IPv4 address, as a VM's private address is; names,
    and Outputs of names, stay as they are.

    Needed for an outside slurmdbd, for slurmctld on another port than 6817, and where NetworkPolicies or monitoring ask for
    addresses: an Output without it is taken for a DNS name there. A text or an Output that is no IPv4 address is refused.
    """
    return Address(value)


_HOST: Final = "host"
_NAME: Final = "host name"
_ADDRESS: Final = "address"
_LABEL: Final = "value of a label"
_TAKES: Final[Mapping[str, str]] = {
    "controller.external.host": _HOST,
    "controller.external.backups.*": _HOST,
    "accounting.external.host": _NAME,
    "accounting.database.host": _HOST,
    "cluster.images.*": "image",
    "nodesets.*.image": "image",
    "logins.*.image": "image",
    "controller.persistence.existingClaim": "name",
    "controller.persistence.storageClass": "name",
    "nodesets.*.pod.nodeSelector.**": _LABEL,
    f"nodesets.*.pod.affinity.{'.'.join(REQUIRED)}.nodeSelectorTerms.*.matchExpressions.*.values.*": _LABEL,
    "nodesets.*.volumes.*.source.**": "text",
    "logins.*.volumes.*.source.**": "text",
    "logins.*.sssdConfFrom.secret": "name",
    "identity.sssd.confFrom.secret": "name",
}
"""Settings that an Output can give, and their kinds."""
_FORMS: Final = {
    "name": "slinky-output-{:02}",
    _LABEL: "slinky-output-{:02}",
    "text": "slinky-output-{:02}-text",
    _HOST: "slinky-output-{:02}.invalid",
    _NAME: "slinky-output-{:02}.invalid",
    "image": "slinky-output-{:02}.invalid/image:1",
    _ADDRESS: "192.0.2.1{:02}",
}
"""Placeholders: names that no DNS has (RFC 2606) and addresses that no host has (RFC 5737)."""
_MOST: Final = 99
_ARTICLES: Final = {"image": "an", _ADDRESS: "an"}
_MEANS: Final = {_HOST: ": a DNS name or an IP address", _NAME: ": a DNS name, or address(…) of an IP address"}
_CHECKS: Final[Mapping[str, TypeAdapter[str]]] = {
    "name": TypeAdapter(DnsLabel),
    _HOST: TypeAdapter(Host),
    _NAME: TypeAdapter(Host),
    _ADDRESS: TypeAdapter(Host),
    "image": TypeAdapter(Image),
    "text": TypeAdapter(str),
    _LABEL: TypeAdapter(Annotated[str, Strict(), StringConstraints(pattern=f"^({LABEL.pattern})$")]),
}


@dataclass
class Given:
    """Settings with placeholders, and the Outputs that they stand for."""

    sections: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    names: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    """By path, the Outputs that are taken for DNS names, and may turn out to be addresses."""
    by_path: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    """All Outputs as they were given, by their paths."""
    faults: list[Finding] = field(default_factory=list)

    def joined(self) -> Given:
        """A copy that goes on where this one ends: no two Outputs have one placeholder."""
        return Given(dict(self.sections), dict(self.outputs), dict(self.names), dict(self.by_path))

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
        met = {each: output for each, output in self.outputs.items() if each in value}
        if not met:
            return value
        if value in met:
            return met[value]

        def put(found: Mapping[str, str]) -> str:
            text = value
            for each, known in found.items():
                place = re.compile(rf"{re.escape(each)}(?![0-9])(?P<port>:(?=[0-9]))?")
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


def given(sections: Mapping[str, Any], before: Given | None = None) -> Given:
    """Sections by name, as plain data: models written out, names of settings in camelCase, placeholders for Outputs.
    ``before``: those of the cluster that this is a part of; NodeSets are added to its own."""
    found = Given() if before is None else before.joined()
    for name, section in sections.items():
        if section is not None:
            alias, model = field_of(StackConfig, name)
            plain = _plain(section, model, alias, found)
            is_more = before is not None and isinstance(plain, Mapping)
            found.sections[alias] = {**found.sections.get(alias, {}), **plain} if is_more else plain
    return found


def _plain(value: Any, model: Any, path: str, found: Given) -> Any:  # noqa: ANN401
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    if isinstance(value, Address) and isinstance(value.value, str):
        if not is_address(value.value):
            found.faults.append(at(path).error("address() was given a name, and takes an IP address: give the name itself"))
        return value.value
    if isinstance(value, Address | pulumi.Output | Awaitable):
        return _placeholder(value, path, found)
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        inner = model_in(model)
        for key, each in value.items():
            # A mapping by name, as nodesets, has names that people choose; a section has names of settings.
            alias, below = (str(key), inner) if _is_by_name(model) else field_of(inner, str(key))
            plain[alias] = _plain(each, below, f"{path}.{alias}", found)
        return plain
    if isinstance(value, list | tuple):
        return [_plain(each, model_in(model), f"{path}.{number}", found) for number, each in enumerate(value)]
    return value


def _is_by_name(annotation: Any) -> bool:  # noqa: ANN401 - annotations are any object
    if get_origin(annotation) is dict:
        return True
    return any(_is_by_name(part) for part in get_args(annotation))


def _placeholder(value: Address | pulumi.Output[Any] | Awaitable[Any], path: str, found: Given) -> str:
    kind = next((kind for pattern, kind in _TAKES.items() if _fits(pattern.split("."), path.split("."))), None)
    if kind is None or len(found.outputs) >= _MOST:
        found.faults.append(at(path).error(_no_output(path, is_first=not any(_NO_OUTPUT in str(e) for e in found.faults))))
        return _FORMS["name"].format(0)
    given_by: pulumi.Input[str] = value.value if isinstance(value, Address) else value
    output = pulumi.Output.from_input(given_by)
    if isinstance(value, Address):
        kind = _ADDRESS if kind in (_HOST, _NAME) else kind
    place = _FORMS[kind].format(len(found.outputs) + 1)
    found.outputs[place] = output.apply(lambda known: checked(known, kind, path))
    found.by_path[path] = output
    if kind == _NAME:
        found.names[path] = output
    return place


_NO_OUTPUT: Final = "can't be an Output: it decides what is made, or is judged before anything is"


def _no_output(path: str, *, is_first: bool) -> str:
    """What to do instead; which settings can be one is said once."""
    if _fits(["nodesets", "*", "replicas"], path.split(".")):
        return f"{_NO_OUTPUT}. slinky_iac.NodeSet(…, replicas=Output), beside the cluster, takes one"
    which = f". Settings that can: {', '.join(_TAKES)}" if is_first else ""
    return f"{_NO_OUTPUT}{which}"


def _fits(pattern: list[str], path: list[str]) -> bool:
    if pattern[-1] == "**" and len(path) >= len(pattern):
        pattern, path = pattern[:-1], path[: len(pattern) - 1]
    return len(pattern) == len(path) and all(want in ("*", got) for want, got in zip(pattern, path, strict=True))


def checked(known: object, kind: str, path: str) -> str:
    """The Output's value, once it is known. Raises RunError, which ends the program."""
    try:
        text = _CHECKS[kind].validate_python(known)
    except ValidationError:
        wanted = f"{_ARTICLES.get(kind, 'a')} {kind}{_MEANS.get(kind, '')}"
        raise pulumi.RunError(f"{path}: the Output that it is given isn't {wanted}") from None
    if kind == _NAME and is_address(text):
        raise pulumi.RunError(
            f"{path}: the Output that it is given is an IP address, and what was made leads to a DNS name. Wrap it:"
            " slinky_iac.address(…), or in another language give it as slurmctldAddress or slurmdbdAddress. Then run"
            " `pulumi up` again"
        )
    if kind == _ADDRESS and not is_address(text):
        raise pulumi.RunError(f"{path}: the Output that it is given is a name; give it without address()")
    if kind == _ADDRESS and ip_address(text).version != 4:
        raise pulumi.RunError(
            f"{path}: the Output that it is given is an IPv6 address, and address() takes IPv4, which the EndpointSlice is"
            " made for. Give a DNS name, or the address as text"
        )
    return text


async def taken_for_names(found: Given) -> tuple[Finding, ...]:
    """In a preview: warnings for the Outputs that are taken for DNS names whose values aren't known yet."""
    if not pulumi.runtime.is_dry_run():
        return ()
    unknown = [path for path, output in found.names.items() if not await is_known(output)]
    return tuple(
        at(path).warning(
            "the Output that it is given isn't known yet, and is taken for a DNS name. If it will be an IP address, wrap it"
            " now: slinky_iac.address(…), or in another language slurmctldAddress or slurmdbdAddress. Otherwise"
            " `pulumi up` stops once it is known, after other resources are made",
            id="output-taken-for-name",
        )
        for path in unknown
    )
