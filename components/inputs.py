"""Settings that other resources of the program give: an ``Output`` in a setting.

Settings are judged, and specs made of them, before anything is registered; what an Output will be isn't known then. So a
placeholder of its kind is in the settings, and every resource below the cluster gets the Output in its place, by one
transformation. A setting that decides *what* is made can't be an Output, and is refused by its path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args, get_origin

import pulumi
from pydantic import BaseModel, TypeAdapter, ValidationError

from slinky_iac.config.fields import DnsLabel, Host, Image, is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.load import field_of, model_in
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.specs.workers import nodeset_spec, template_digest


@dataclass(frozen=True)
class Address:
    """An Output that is an IP address: what leads to an address differs from what leads to a name."""

    output: pulumi.Output[str]


def address(output: pulumi.Output[str]) -> Address:
    """Say that an Output is an IP address, as a VM's private address is. A bare Output is taken for a DNS name."""
    return Address(output)


_HOST: Final = "host"
_TAKES: Final[Mapping[str, str]] = {
    "controller.external.host": _HOST,
    "controller.external.backups.*": _HOST,
    "accounting.external.host": _HOST,
    "accounting.database.host": _HOST,
    "cluster.images.*": "image",
    "nodesets.*.image": "image",
    "logins.*.image": "image",
    "controller.persistence.existingClaim": "name",
    "controller.persistence.storageClass": "name",
    "nodesets.*.volumes.*.source.**": "text",
    "logins.*.volumes.*.source.**": "text",
    "logins.*.sssdConfFrom.secret": "name",
    "identity.sssd.confFrom.secret": "name",
}
"""Settings that an Output can give, and their kinds."""
_FORMS: Final = {
    "name": "slinky-output-{:02}",
    "text": "slinky-output-{:02}-text",
    _HOST: "slinky-output-{:02}.invalid",
    "image": "slinky-output-{:02}.invalid/image:1",
    "address": "192.0.2.1{:02}",
}
"""Placeholders: names that no DNS has (RFC 2606) and addresses that no host has (RFC 5737)."""
_MOST: Final = 99
_ARTICLES: Final = {"image": "an", "address": "an"}
_CHECKS: Final[Mapping[str, TypeAdapter[str]]] = {
    "name": TypeAdapter(DnsLabel),
    _HOST: TypeAdapter(Host),
    "address": TypeAdapter(Host),
    "image": TypeAdapter(Image),
    "text": TypeAdapter(str),
}


@dataclass
class Given:
    """Settings with placeholders, and the Outputs that they stand for."""

    sections: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    faults: list[Finding] = field(default_factory=list)

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
                text = re.sub(rf"{re.escape(each)}(?![0-9])", lambda _, known=known: known, text)  # type: ignore[misc]
            return text

        return pulumi.Output.all(**met).apply(put)

    def digests(self, config: ClusterConfig) -> None:
        """A digest of a template holds what an Output will be: the gate rolls out by it."""
        for name, settings in (config.nodesets if isinstance(config, StackConfig) else {}).items():
            self.digest(nodeset_spec(config, name, settings))

    def digest(self, spec: dict[str, Any]) -> None:
        """The same of one NodeSet."""
        filled = self.filled(spec)
        if self.outputs and filled != spec:
            self.outputs[template_digest(spec)] = pulumi.Output.from_input(filled).apply(template_digest)


def given(sections: Mapping[str, Any], where: str = "") -> Given:
    """Sections by name, as plain data: models written out, names of settings in camelCase, placeholders for Outputs."""
    found = Given()
    for name, section in sections.items():
        if section is not None:
            alias, model = field_of(StackConfig, name)
            found.sections[alias] = _plain(section, model, f"{where}{alias}", found)
    return found


def _plain(value: Any, model: Any, path: str, found: Given) -> Any:  # noqa: ANN401
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    if isinstance(value, Address | pulumi.Output):
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


def _placeholder(value: Address | pulumi.Output[Any], path: str, found: Given) -> str:
    kind = next((kind for pattern, kind in _TAKES.items() if _fits(pattern.split("."), path.split("."))), None)
    if kind is None or len(found.outputs) >= _MOST:
        found.faults.append(
            at(path).error(
                "can't be an Output: it decides what is made, or is judged before anything is. Settings that can:"
                f" {', '.join(_TAKES)}"
            )
        )
        return _FORMS["name"].format(0)
    output = value.output if isinstance(value, Address) else value
    if isinstance(value, Address):
        kind = "address" if kind == _HOST else kind
    place = _FORMS[kind].format(len(found.outputs) + 1)
    found.outputs[place] = output.apply(lambda known: checked(known, kind, path))
    return place


def _fits(pattern: list[str], path: list[str]) -> bool:
    if pattern[-1] == "**":
        pattern, path = pattern[:-1], path[: len(pattern) - 1]
    return len(pattern) == len(path) and all(want in ("*", got) for want, got in zip(pattern, path, strict=True))


def checked(known: object, kind: str, path: str) -> str:
    """The Output's value, once it is known. Raises RunError, which ends the program."""
    try:
        text = _CHECKS[kind].validate_python(known)
    except ValidationError:
        raise pulumi.RunError(f"{path}: the Output that it is given isn't {_ARTICLES.get(kind, 'a')} {kind}") from None
    if kind == _HOST and is_address(text):
        raise pulumi.RunError(f"{path}: the Output that it is given is an IP address; wrap it: address(…)")
    if kind == "address" and not is_address(text):
        raise pulumi.RunError(f"{path}: the Output that it is given is a name; give it without address()")
    return text
