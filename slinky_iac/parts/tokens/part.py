"""What signs tokens, as a part. Its objects are those of all keys (``blueprint/objects.py``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.parts.part import Parameter, Part
from slinky_iac.parts.tokens.conf import auth_alt_parameters, file_checks, inside_auth_alt_parameters
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.rules import tokens
from slinky_iac.specs.rights import CORE, Right, Use

if TYPE_CHECKING:  # a program asks for no rows
    from slinky_iac.preflight.check import Expect


class Tokens(Part):
    """The key that signs this stack's tokens, and its public half."""

    name = "tokens"
    key_rules = (tokens,)
    parameters: ClassVar[Mapping[str, Parameter]] = {"AuthAltParameters": Parameter(auth_alt_parameters, file_checks)}

    def inside_conf(self, config: ClusterConfig) -> Mapping[str, str]:
        """AuthAltParameters, where an identity provider's tokens need more than the operator writes."""
        return inside_auth_alt_parameters(config)

    def rights(self, config: StackConfig, use: Use) -> Iterator[Right]:
        """The public set is compared with the stack's; a status in a pod compares the one of the key that signs."""
        namespace, place = config.cluster.namespace, config.bundle_of(TOKENS)
        if place is not None and (use is not Use.STATUS or config.signing.key is TOKENS):
            why = "the public set of token keys is the stack's"
            yield Right(CORE, "configmaps", ("get",), why, (place.name,), namespace)
        if place is None and use is Use.APPLY:
            why = "keys verify: whether a key that signs tokens is left"
            yield Right(CORE, "secrets", ("get",), why, (config.secret_of(TOKENS).name,), namespace)

    def checks(self) -> tuple[Expect, ...]:
        """Whether daemons take tokens of the key and have its public half."""
        from slinky_iac.parts.tokens.checks import EXPECTED  # noqa: PLC0415 - a program asks for no rows

        return EXPECTED
