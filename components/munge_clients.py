"""Clients of a munge cluster, for a program that makes nothing else of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac.config.reading.engine import KeyOutputs
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.parts.munge.settings import MUNGE, MungeAuth

from .part_objects import PartObjects, PartObjectsArgs


@dataclass(frozen=True, kw_only=True)
class MungeClientsArgs:
    """``key``: base64 of munge.key as a secret output, with ``keys.source: imported`` only."""

    config: ClusterConfig
    key: pulumi.Output[str] | None = None


class MungeClients(PartObjects):
    """Makes no pod: login and Jupyter pods are others' (JupyterHub's, a chart's), and take ``pod`` into their specs."""

    key_fingerprint: pulumi.Output[str]
    pod: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, args: MungeClientsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        said = {"auth": MungeAuth.name} | ({} if args.key is None else {"source": "imported"})
        sections = {section: getattr(args.config, section) for section in ClusterConfig.model_fields}
        config = StackConfig(**{**sections, "keys": args.config.keys.model_copy(update=said)})
        keys = KeyOutputs({} if args.key is None else {MUNGE.config: args.key})
        super().__init__(name, PartObjectsArgs(config=config, part="munge", keys=keys), opts)
