"""slurm.key and the JWT key as immutable, protected Secrets, and the key of this program's own tokens; what leaves this
component is fingerprints, names and public keys."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_random

from slinky_iac import ownership
from slinky_iac.blueprint import objects
from slinky_iac.config.reading.engine import KeyOutputs
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.external_keys import MARK, SALT, SINCE, ExternalKeyProvider
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, NEXT_SUFFIX, SLURM, Key
from slinky_iac.keys.raw import GENERATED_LENGTH, fingerprint, to_secret_data
from slinky_iac.specs.objects import key_secret

from .connection import Component
from .first_look import first_look
from .gates import Gate
from .resources import HIDDEN, child, register, register_object


@dataclass(frozen=True, kw_only=True)
class AuthKeysArgs:
    """``keys``: those that are imported, and the token key; none for generated ones and those of others."""

    config: ClusterConfig
    keys: KeyOutputs = field(default_factory=KeyOutputs)


class ExternalKey(Gate, module="slurm", name="ExternalKey"):
    """One key of ``keys.source: external``."""

    since: pulumi.Output[str]

    def __init__(self, name: str, config: ClusterConfig, key: Key, opts: pulumi.ResourceOptions) -> None:
        own, other = config.secret_of(key), config.secret_of(JWT if key is SLURM else SLURM)
        props = {
            "key": key.name,
            "namespace": config.cluster.namespace,
            "secret": own.name,
            "entry": own.entry,
            "otherSecret": other.name,
            "otherEntry": other.entry,
            "madeBy": config.keys.made_by,
            "waitS": config.keys.wait,
            "newline": config.keys.allow_trailing_newline,
            "accepted": config.keys.accepted_change,
            # Never None: such an input doesn't reach the provider at all.
            "kubeconfig": config.kubernetes.kubeconfig or "",
            "context": config.kubernetes.context or "",
        }
        super().__init__(ExternalKeyProvider(), name, props, opts, SALT, MARK, SINCE)


class AuthKeys(Component):
    """The keys of a cluster.

    Generated keys are RandomPassword results: its ID is ``none``, while the ID of RandomBytes is the value itself and
    would be in plain text in state and previews.
    """

    slurm_key_fingerprint: pulumi.Output[str]
    jwt_key_fingerprint: pulumi.Output[str]
    secret_names: pulumi.Output[list[str]]
    since: dict[str, pulumi.Output[str]]
    """When each key's Secret was made, or the key in it was last written, as far as the stack knows."""

    def __init__(self, name: str, args: AuthKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("AuthKeys", name, args.config, opts)
        config = args.config
        self._values: dict[str, pulumi.Output[str]] = {}
        self._client_file = config.auth.client_file
        self.since = {}
        prints = {key.name: self._key(name, key, args) for key in DAEMON_KEYS}
        register(self, name, config, (key_secret(config, key) for key in config.own_keys), args.keys.values)
        for key in config.bundled:
            if (made := args.keys.bundles.get(key.bundle)) is not None:
                hidden = HIDDEN if key.bundle_kind == "Secret" else {}
                register_object(name, config, objects.bundle(config, key), child(self, **hidden), data={key.bundle: made})
        self.slurm_key_fingerprint, self.jwt_key_fingerprint = prints[SLURM.name], prints[JWT.name]
        self.secret_names = pulumi.Output.from_input([config.secret_of(key).name for key in DAEMON_KEYS])
        self.register_outputs(
            {
                "slurm_key_fingerprint": self.slurm_key_fingerprint,
                "jwt_key_fingerprint": self.jwt_key_fingerprint,
                "secret_names": self.secret_names,
            }
        )

    def client_file(self, keys: KeyOutputs) -> pulumi.Output[str] | None:
        """What clients in other namespaces get: slurm.jwks where daemons have it, else slurm.key; None where others make
        the Secrets."""
        bundle = keys.bundles.get(self._client_file)
        return self._values.get(SLURM.name) if bundle is None else pulumi.Output.from_input(bundle)

    def _key(self, name: str, key: Key, args: AuthKeysArgs) -> pulumi.Output[str]:
        """Make the key's Secret, unless others do; returns its fingerprint."""
        config, source = args.config, args.config.key_source
        if source.awaited:
            self.since[key.config] = ExternalKey(f"{name}-{key.logical}-external", config, key, child(self)).since
        value = self._generated(name, key, config) if source.makes_values else args.keys.values.get(key.config)
        if value is None:
            return key_fingerprint(None)
        place = config.secret_of(key)
        self._values[key.name] = value
        data = {place.entry: value}
        # With slurmctld in Kubernetes a key changes in a planned stop, and nothing holds two keys before it.
        if key is JWT and key.next in args.keys.values and not config.slurmctld.reads_one_key:
            data[place.entry + NEXT_SUFFIX] = args.keys.values[key.next]
        hooks = first_look(key.logical, config, ownership.secret(config, place.name))
        options = child(self, protect=config.keys.protect, hooks=hooks, **HIDDEN)
        made = register_object(name, config, key_secret(config, key), options, data=data)
        # With the ID, which a preview of a new Secret doesn't know: Kubernetes' answer to its dry run has a time of its own,
        # and `pulumi up --plan` would be refused for it.
        self.since[key.config] = pulumi.Output.all(made.id, made.metadata).apply(lambda both: _made_at(both[1]))
        return key_fingerprint(value)

    def _generated(self, name: str, key: Key, config: ClusterConfig) -> pulumi.Output[str]:
        random = pulumi_random.RandomPassword(
            f"{name}-{key.logical}",
            length=GENERATED_LENGTH,
            special=False,
            opts=child(self, protect=config.keys.protect),
        )
        return random.result.apply(lambda text: to_secret_data(text.encode()))


def _made_at(meta: dict[str, Any]) -> str:
    """The time in an ObjectMeta: outputs have its names as Python writes them, typed or plain (run on 4.34), inputs in a
    preview as the program does. ``dict.get``, since that of the SDK's type warns."""
    timestamp = dict.get(meta, "creation_timestamp", dict.get(meta, "creationTimestamp"))
    return timestamp if isinstance(timestamp, str) else ""


def key_fingerprint(data: pulumi.Output[str] | None) -> pulumi.Output[str]:
    """Fingerprint of a key that is given as base64: a hash of random bits, no secret, made to be compared by eye. Without a
    key, in words."""
    if data is None:
        return pulumi.Output.from_input("not known: the Secret was made outside this stack")
    return pulumi.Output.unsecret(data.apply(lambda text: fingerprint(base64.b64decode(text))))
