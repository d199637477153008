"""What the stack is, in the state from the start: outputs of a component of its own."""

from __future__ import annotations

from typing import Any

import pulumi

from slinky_iac.blueprint.document import document, joined
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.drain.settings import reach_props

from .resources import token


class Blueprint(pulumi.ComponentResource):
    """One document, made of settings alone. An update that fails later leaves it in the state, unlike the stack's outputs.

    It comes after the check of the cluster's identity: an update that this refuses leaves the document of the last one.
    """

    def __init__(self, name: str, document: Any, opts: pulumi.ResourceOptions | None = None) -> None:  # noqa: ANN401
        """``document``: plain data; Outputs of other resources may be in it, in place of placeholders."""
        super().__init__(token("Blueprint"), name, None, opts)
        self.register_outputs({"document": document})


def cluster_document(config: StackConfig, name: str, public: pulumi.Input[str] | None) -> dict[str, Any]:
    """The document of a cluster that the program makes, with how it is reached."""
    return {**document(config, name, public), **_way(config)}


def joined_document(config: ClusterConfig) -> dict[str, Any]:
    """The same of one that resources of the program join."""
    return {**joined(config), **_way(config)}


def _way(config: ClusterConfig) -> dict[str, Any]:
    return {"reach": reach_props(reach(config)) if config.auth.makes_daemons else {}}
