"""What an ``Output`` in a setting is taken for: its placeholder until it is known, and the form that it must have then."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Final

import pulumi
from pydantic import AfterValidator, Strict, StringConstraints, TypeAdapter, ValidationError

from slinky_iac.config.fields import Host, Image, Url, is_address
from slinky_iac.config.networks import Network
from slinky_iac.config.outputs import (
    ADDRESS,
    FOLDER,
    HOST,
    IMAGE,
    LABEL,
    NAME,
    NETWORK,
    OBJECT,
    PUBLIC_KEYS,
    TEXT,
    URL,
    WORD,
)
from slinky_iac.selection import LABEL as LABEL_VALUE


def _of_ipv4(network: str) -> str:
    if ":" in network:
        raise ValueError("no network of IPv4 addresses")
    return network


FORMS: Final = {
    OBJECT: "slinky-output-{:02}",
    LABEL: "slinky-output-{:02}",
    TEXT: "slinky-output-{:02}-text",
    PUBLIC_KEYS: "ssh-ed25519 AAAA slinky-output-{:02}-keys",
    FOLDER: "/slinky-output-{:02}-path",
    WORD: "slinkyoutput{:02}",
    HOST: "slinky-output-{:02}.invalid",
    NAME: "slinky-output-{:02}.invalid",
    URL: "https://slinky-output-{:02}.invalid",
    IMAGE: "slinky-output-{:02}.invalid/image:1",
    ADDRESS: "192.0.2.1{:02}",
    NETWORK: "198.18.1{:02}.0/24",
}
"""Placeholders: names that no DNS has (RFC 2606), addresses and networks that no host has (RFC 5737, RFC 2544)."""
_ARTICLES: Final = {IMAGE: "an", ADDRESS: "an", URL: "an"}
_MEANS: Final = {
    ADDRESS: " of IPv4, without a port",
    HOST: ": a DNS name or an IP address, without a port",
    IMAGE: ": repository:tag, or repository@sha256:… with 64 hexadecimal digits",
    NAME: ": a DNS name, or address(…) of an IP address, without a port",
    NETWORK: " of IPv4 addresses, as 192.0.2.0/24; give others as text",
}
_CHECKS: Final[Mapping[str, TypeAdapter[str]]] = {
    OBJECT: TypeAdapter(Annotated[str, Strict(), StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]),
    HOST: TypeAdapter(Host),
    NAME: TypeAdapter(Host),
    ADDRESS: TypeAdapter(Host),
    URL: TypeAdapter(Url),
    IMAGE: TypeAdapter(Image),
    TEXT: TypeAdapter(Annotated[str, Strict()]),
    PUBLIC_KEYS: TypeAdapter(Annotated[str, Strict()]),
    FOLDER: TypeAdapter(Annotated[str, Strict(), StringConstraints(pattern=r"^/\S*$")]),
    WORD: TypeAdapter(Annotated[str, Strict(), StringConstraints(pattern=r"^[0-9A-Za-z_$.@+-]{1,80}$")]),
    NETWORK: TypeAdapter(Annotated[Network, AfterValidator(_of_ipv4)]),
    LABEL: TypeAdapter(Annotated[str, Strict(), StringConstraints(pattern=f"^({LABEL_VALUE.pattern})$")]),
}
"""The form of each kind. Its own setting's, and the rules between settings, :meth:`.inputs.Given.judge` asks for."""


def checked(known: object, kind: str, path: str) -> str:
    """The Output's value, once it is known. Raises RunError, which ends the program."""
    try:
        text = _CHECKS[kind].validate_python(known)
    except ValidationError:
        wanted = f"{_ARTICLES.get(kind, 'a')} {kind}{_MEANS.get(kind, '')}"
        raise pulumi.RunError(f"{path}: must be {wanted}, and its Output gives something else") from None
    if kind == NAME and is_address(text):
        raise pulumi.RunError(
            f"{path}: the Output that it is given is an IP address, and what was made leads to a DNS name. Wrap it:"
            " slinky_iac.address(…), or in another language give it as slurmctldAddress or slurmdbdAddress. Then run"
            " `pulumi up` again"
        )
    if kind == ADDRESS and not is_address(text):
        raise pulumi.RunError(f"{path}: the Output that it is given is a name; give it without address()")
    if kind == ADDRESS and ip_address(text).version != 4:
        raise pulumi.RunError(
            f"{path}: the Output that it is given is an IPv6 address, and address() takes IPv4, which the EndpointSlice is"
            " made for. Give a DNS name, or the address as text"
        )
    return text
