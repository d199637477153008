"""The resource that stands for a key which somebody else makes: after it comes all that reads the key."""

from __future__ import annotations

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.external_keys import MARK, SALT, SINCE, ExternalKeyProvider
from slinky_iac.keys.catalogue import JWT, SLURM, Key

from .gates import Gate


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
