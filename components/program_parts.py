"""A cluster and its parts in one call each, for programs: sections by name, checked with the messages of the YAML way.

A section is a mapping as a stack's file has it, with names in camelCase or snake_case, or its model
(:mod:`slinky_iac.config`). Secrets come from the stack's configuration (`pulumi config set --secret slinky-iac:…`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
from pydantic import BaseModel

from slinky_iac.collector import collect_seldom
from slinky_iac.config.findings import Finding
from slinky_iac.config.load import examined
from slinky_iac.config.reader import StackRefused, read_sections
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.ownership import lost
from slinky_iac.parts.node_table.topology import outside_text
from slinky_iac.preflight import notices
from slinky_iac.specs.workers import nodeset_spec

from .first_look import require_adopted
from .hybrid_cluster import EXPORTS, HybridClusterArgs
from .hybrid_cluster import HybridCluster as _Cluster
from .inputs import Address, Given, given, taken_for_names
from .node_set import NodeSet as _NodeSet
from .node_set import NodeSetArgs
from .threads import in_thread

Part = Mapping[str, Any] | BaseModel | None
"""A section: a mapping, or its model."""
Hosts = pulumi.Input[str] | Address


class HybridCluster(_Cluster):
    """A whole cluster. ``config`` is what its parts join."""

    config: ClusterConfig

    def __init__(  # noqa: PLR0913 - a section each, by name
        self,
        name: str,
        *,
        slurmctld: Hosts | None = None,
        slurmdbd: Hosts | None = None,
        cluster: Part = None,
        operator: Part = None,
        keys: Part = None,
        controller: Part = None,
        accounting: Part = None,
        restapi: Part = None,
        nodesets: Mapping[str, Part] | None = None,
        logins: Mapping[str, Part] | None = None,
        partitions: Mapping[str, Part] | None = None,
        identity: Part = None,
        external: Part = None,
        kubernetes: Part = None,
        drain: Part = None,
        database_password: pulumi.Input[str] | None = None,
        more: Mapping[str, Part] | None = None,
        export: bool = True,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """``name``: ClusterName of slurm.conf. ``slurmctld``, ``slurmdbd``: outside hosts, in short for ``controller`` and
        ``accounting``. ``more``: sections that have no argument here. ``export``: make the outputs that commands read.

        Raises :class:`slinky_iac.config.reader.StackRefused` with every error, before anything is registered.
        """
        collect_seldom()
        sections: dict[str, Any] = {
            "cluster": {"name": name, **_open(cluster)},
            "operator": operator,
            "keys": keys,
            "controller": controller if slurmctld is None else {**_open(controller), "external": {"host": slurmctld}},
            "accounting": accounting if slurmdbd is None else {**_open(accounting), "external": {"host": slurmdbd}},
            "restapi": restapi,
            "nodesets": nodesets,
            "logins": logins,
            "partitions": partitions,
            "identity": identity,
            "external": external,
            "kubernetes": kubernetes,
            "drain": drain,
            **(more or {}),
        }
        found = given(sections)
        _refuse(f"HybridCluster {name}", found)
        settings = read_sections(found.sections, database_password)
        self.config = config = settings.config
        require_adopted(config)
        found.digests(config)
        args = HybridClusterArgs(
            settings=settings,
            notices=partial(_asked, settings.config, found),
            lost=partial(lost, config, os.environ, Path.home()),
            filled=found.filled,
        )
        super().__init__(name, args, _filling(opts, found))
        if export:
            for output, attribute in EXPORTS.items():
                pulumi.export(output, getattr(self, attribute))
            if topology := outside_text(config):
                pulumi.export("outsideTopology", topology)


class NodeSet(_NodeSet):
    """One NodeSet and its gate, of a cluster that this program or another one makes."""

    def __init__(
        self,
        name: str,
        *,
        cluster: ClusterConfig | HybridCluster | Mapping[str, Part],
        replicas: pulumi.Input[int] | None = None,
        image: pulumi.Input[str] | None = None,
        resources: Part = None,
        pod: Part = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        """``name``: the NodeSet's in Slurm. ``cluster``: the cluster, its configuration, or that one's sections by name.
        ``more``: further settings of a NodeSet; with ``scalingMode="DaemonSet"`` it has no ``replicas``. An Output in
        ``replicas`` is judged by the gate alone: previews that don't know it say so.

        Raises :class:`slinky_iac.config.reader.StackRefused` with every error, before anything is registered.
        """
        fixed = replicas if replicas is None or isinstance(replicas, int) else 1
        own = {"replicas": fixed, "image": image, "resources": resources, "pod": pod, **more}
        sections: dict[str, Any] = {"nodesets": {name: {key: value for key, value in own.items() if value is not None}}}
        joined = cluster.config if isinstance(cluster, HybridCluster) else cluster
        if isinstance(joined, Mapping):
            sections = {**joined, **sections}
        found = given(sections)
        _refuse(f"NodeSet {name}", found)
        whole = (
            found.sections if isinstance(joined, Mapping) else {"cluster": {"name": joined.cluster.name}, **found.sections}
        )
        stack, faults = examined(whole)
        if stack is None:
            raise StackRefused(f"NodeSet {name}: {ConfigError(tuple(map(str, faults)))}")
        config = stack if isinstance(joined, Mapping) else joined
        settings = stack.nodesets[name]
        found.digest(nodeset_spec(config, name, settings))
        asked = None if isinstance(replicas, int) else replicas  # None: with scalingMode DaemonSet there is none
        args = NodeSetArgs(cluster=config, name=name, settings=settings, replicas=asked)
        super().__init__(name, args, _filling(opts, found))


async def _asked(config: StackConfig, found: Given) -> tuple[Finding, ...]:
    """What a preview tells of the world, with what is known of the Outputs; nothing is asked of a placeholder."""
    known = await found.known()
    config = examined(found.with_known(known))[0] or config
    unknown = found.outputs.keys() - known.keys()
    ask = partial(notices, config, os.environ, Path.home(), unknown=frozenset(unknown))
    return (*await taken_for_names(found), *await in_thread(ask))


def _open(section: Part) -> Mapping[str, Any]:
    if isinstance(section, BaseModel):
        return section.model_dump(by_alias=True, exclude_unset=True)
    return section or {}


def _refuse(what: str, found: Given) -> None:
    if found.faults:
        raise StackRefused(f"{what}: {ConfigError(tuple(map(str, found.faults)))}")


def _filling(opts: pulumi.ResourceOptions | None, found: Given) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[found.fill]))
