"""The resource that stands for a key which somebody else makes: after it comes all that reads the key."""

from __future__ import annotations

from typing import Literal

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.config.stack import StackConfig
from slinky_iac.external_keys import MARK, SALT, SINCE, ExternalKeyProvider
from slinky_iac.specs.shared import key_references


class ExternalKey(Resource, module="slurm", name="ExternalKey"):
    """One key of ``keys.source: external``."""

    since: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        config: StackConfig,
        which: Literal["slurm", "jwt"],
        urn: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        references = key_references(config)
        slurm, jwt = references["slurmKeyRef"], references[config.operator_version.jwt_ref_field]
        own, other = (slurm, jwt) if which == "slurm" else (jwt, slurm)
        props = {
            "key": which,
            "namespace": config.cluster.namespace,
            "secret": own["name"],
            "entry": own["key"],
            "otherSecret": other["name"],
            "otherEntry": other["key"],
            "madeBy": config.keys.made_by,
            "waitS": config.keys.wait,
            "newline": config.keys.allow_trailing_newline,
            "accepted": config.keys.accepted_change,
            # Never None: such an input doesn't reach the provider at all.
            "kubeconfig": config.kubernetes.kubeconfig or "",
            "context": config.kubernetes.context or "",
            "urn": urn,
            SALT: None,  # these are its own
            MARK: None,
            SINCE: None,
        }
        super().__init__(ExternalKeyProvider(), name, props, opts)
