"""slurm.key and the JWT key as immutable, protected Secrets, and the key of this program's own tokens; what leaves this
component is fingerprints, names and public keys."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import pulumi
import pulumi_random
from pulumi_kubernetes.core.v1 import ConfigMap, Secret

from slinky_iac import keys, names, taken
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.shared import key_references

from .external_key import ExternalKey
from .first_look import first_look
from .gates import child_urn
from .resources import child, metadata, token

_NAMES: Final = ("slurmKey", "jwtKey")
_WHICH: Final[tuple[Literal["slurm"], Literal["jwt"]]] = ("slurm", "jwt")


@dataclass(frozen=True, kw_only=True)
class AuthKeysArgs:
    """``slurm_key`` and ``jwt_key``: base64 of the raw bytes as secret outputs, with ``keys.source: imported`` only.

    ``jwt_key_next``: the JWT key that comes, while it is being rotated. ``slurm_jwks``: the file for slurmd's pods, used
    with ``keys.jwks``. ``token_key``: base64 of the RSA key that signs tokens, ``token_set`` the public set (jwks.json).
    """

    config: StackConfig
    slurm_key: pulumi.Output[str] | None = None
    jwt_key: pulumi.Output[str] | None = None
    fingerprints: tuple[str, str] | None = None
    jwt_key_next: pulumi.Output[str] | None = None
    slurm_jwks: pulumi.Output[str] | None = None
    token_key: pulumi.Output[str] | None = None
    token_set: str | None = None


class AuthKeys(pulumi.ComponentResource):
    """The two keys of a cluster.

    Generated keys are RandomPassword results: its ID is ``none``, while the ID of RandomBytes is the value itself and
    would stand in plain text in state and previews.
    """

    slurm_key_fingerprint: pulumi.Output[str]
    jwt_key_fingerprint: pulumi.Output[str]
    secret_names: pulumi.Output[list[str]]
    since: dict[str, pulumi.Output[str]]
    """When each key's Secret was made, or the key in it was last written, as far as the stack knows."""

    def __init__(self, name: str, args: AuthKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("AuthKeys"), name, None, opts)
        config = args.config
        references = key_references(config)
        places = [references["slurmKeyRef"], references[config.operator_version.jwt_ref_field]]
        given = [args.slurm_key, args.jwt_key]
        self.secrets: list[Secret] = []
        self.since: dict[str, pulumi.Output[str]] = {}
        prints: list[pulumi.Output[str]] = []
        for index, which in enumerate(("slurm-key", "jwt-key")):
            if config.keys.source == "external":
                logical = f"{name}-{which}-external"
                urn = child_urn(self, ExternalKey, logical)
                known_by = ExternalKey(logical, config, _WHICH[index], urn, child(self))
                self.since[_NAMES[index]] = known_by.since
            value = self._value(name, which, config, given[index])
            if value is None:
                prints.append(pulumi.Output.from_input("not known: the Secret was made outside this stack"))
                continue
            place = places[index]
            data: dict[str, pulumi.Input[str]] = {place["key"]: value}
            # With slurmctld in Kubernetes both change in a planned stop, and nothing holds two keys before it.
            if which == "jwt-key" and args.jwt_key_next is not None and config.controller.external is not None:
                data[place["key"] + keys.NEXT_SUFFIX] = args.jwt_key_next
            made = self._secret(name, which, config, place["name"], data)
            self.secrets.append(made)
            self.since[_NAMES[index]] = made.metadata.apply(_made_at)
            known = None if args.fingerprints is None else args.fingerprints[index]
            prints.append(_fingerprint(value) if known is None else pulumi.Output.from_input(known))
        if config.keys.jwks and args.slurm_jwks is not None:
            self.secrets.append(self._jwks(name, config, args.slurm_jwks))
        if args.token_key is not None and args.token_set is not None:
            self._tokens(name, config, args.token_key, args.token_set)
        self.slurm_key_fingerprint, self.jwt_key_fingerprint = prints
        self.secret_names = pulumi.Output.from_input([place["name"] for place in places])
        self.register_outputs(
            {
                "slurm_key_fingerprint": self.slurm_key_fingerprint,
                "jwt_key_fingerprint": self.jwt_key_fingerprint,
                "secret_names": self.secret_names,
            }
        )

    def _value(
        self, name: str, which: str, config: StackConfig, given: pulumi.Output[str] | None
    ) -> pulumi.Output[str] | None:
        if config.keys.source != "generated":
            return given
        random = pulumi_random.RandomPassword(
            f"{name}-{which}",
            length=keys.GENERATED_LENGTH,
            special=False,
            opts=child(self, protect=config.keys.protect),
        )
        return random.result.apply(lambda text: keys.to_secret_data(text.encode()))

    def _secret(
        self, name: str, which: str, config: StackConfig, kube: str, data: Mapping[str, pulumi.Input[str]]
    ) -> Secret:
        return Secret(
            f"{name}-{which}-secret",
            metadata=metadata(config, kube),
            immutable=True,
            data=dict(data),
            opts=child(
                self,
                protect=config.keys.protect,
                additional_secret_outputs=["data", "stringData"],
                hooks=first_look(which, config, taken.secret(config, kube)),
            ),
        )

    def _jwks(self, name: str, config: StackConfig, document: pulumi.Output[str]) -> Secret:
        # Neither immutable nor protected: pods follow its changes while they run, and it can be made again from the keys.
        return Secret(
            f"{name}-slurm-jwks-secret",
            metadata=metadata(config, names.slurm_jwks_secret(config.cluster.resource_name)),
            data={names.SLURM_JWKS_FILE: document},
            opts=child(self, additional_secret_outputs=["data", "stringData"]),
        )

    def _tokens(self, name: str, config: StackConfig, key: pulumi.Output[str], public: str) -> None:
        base = config.cluster.resource_name
        # Not immutable, unlike the daemons' keys: nobody begins with it and goes on with it. Replaced it would be gone for a
        # moment, in which a gate that starts could sign nothing.
        Secret(
            f"{name}-token-key-secret",
            metadata=metadata(config, names.token_key_secret(base)),
            data={names.TOKEN_KEY_ENTRY: key},
            opts=child(self, protect=config.keys.protect, additional_secret_outputs=["data", "stringData"]),
        )
        ConfigMap(
            f"{name}-token-jwks",
            metadata=metadata(config, names.token_key_set(base)),
            data={names.JWKS_FILE: public},
            opts=child(self),
        )


def _made_at(meta: Any) -> str:  # noqa: ANN401 - the SDK's ObjectMeta, or plain inputs in a preview
    found = meta.get("creationTimestamp") if isinstance(meta, Mapping) else getattr(meta, "creation_timestamp", None)
    return found if isinstance(found, str) else ""


def _fingerprint(data: pulumi.Output[str]) -> pulumi.Output[str]:
    # A hash of 6,000 random bits tells nothing about them, and its whole purpose is to be compared by eye.
    return pulumi.Output.unsecret(data.apply(lambda text: keys.fingerprint(base64.b64decode(text))))
