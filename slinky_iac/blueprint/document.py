"""The blueprint as plain data: what a stack is, by its settings alone and without secrets.

A component of its own registers it before everything else in the cluster (docs/adr/0029-blueprint.md), so a state has it
after a first update that failed too. :mod:`slinky_iac.cluster.blueprint` reads it. What of it stands, the state's list of
resources says; numbers and drains are the gates' own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.blueprint import objects
from slinky_iac.cluster.pulumi_state import SECRET, custom, dynamic
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.keys.catalogue import DAEMON_KEYS
from slinky_iac.keys.registry import PUBLIC
from slinky_iac.parts.registry import parts_of
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from slinky_iac.specs.workers import nodeset_spec

Json = dict[str, Any]
GENERATED: Final = "random:index/randomPassword:RandomPassword"
"""Type token of a generated key."""
_DAEMONS: Final = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd")
_IN_ORDER: Final = ("Accounting", "Controller", "RestApi", "NodeSet", "LoginSet")
"""Custom resources whose pods read keys; those that all others depend on first."""


def document(config: StackConfig, name: str, public: object = None) -> Json:
    """The whole. ``name``: the cluster component's, with which logical names begin. ``public``: the text of the keys' public
    halves, where the stack has some, or what will be it."""
    content = {
        **joined(config),
        "outsideConf": outside_slurm_conf(config),
        "nodesets": {nodeset: nodeset_row(config, nodeset, its) for nodeset, its in config.nodesets.items()},
        "guards": guards(config),
    }
    if not config.auth.makes_daemons:
        return content
    base, made = config.cluster.resource_name, objects.objects(config)
    text = "" if public is None else public
    return content | {
        "keys": [*_keys(config, name)],
        PUBLIC.document: {"name": PUBLIC.bundle_at(base).name, "text": text},
        "daemons": [[custom(kind), manifest.logical] for kind in _IN_ORDER for manifest in made if manifest.kind == kind],
        "images": sorted({image for manifest in made for image in _images_of(manifest.body.get("spec"))}),
        "extraConf": str(objects.controller(config).body["spec"].get("extraConf") or ""),
    }


def joined(config: ClusterConfig) -> Json:
    """Of a cluster that resources of a program join: names and addresses. Rules across sections don't judge it, so no
    spec is made of it."""
    base, daemons = config.cluster.resource_name, config.auth.makes_daemons
    return {
        "schema": names.BLUEPRINT_SCHEMA,
        **facts(config),
        "namespace": config.cluster.namespace,
        "keys": [*_keys(config)] if daemons else [],
        PUBLIC.document: {"name": "", "text": ""},
        "daemons": [[custom(kind), objects.logical(config, kind, base)] for kind in _IN_ORDER[:3]] if daemons else [],
        "images": [],
        "outsideConf": "",
        "extraConf": "",
        "nodesets": {},
        "guards": {},
    }


def facts(config: ClusterConfig) -> Json:
    """Names and addresses; a status in a pod has these too."""
    return {
        "cluster": config.cluster.name,
        "operator": config.operator.version,
        "operatorNamespace": config.operator.namespace if config.installs_operator else "",
        "slurmctld": ",".join(f"{host.host}:{host.port}" for host in config.slurmctld.hosts),
        "slurmdbd": "".join(f"{host.host}:{host.port}" for host in config.slurmdbd.hosts),
    }


def guards(config: StackConfig) -> dict[str, list[Json]]:
    """Objects that must be in Kubernetes as the stack has made them, by their part."""
    return {
        part.name: [{"kind": e.kind, "name": e.name, "spec": e.body["spec"]} for e in part.objects(config, str)]
        for part in parts_of(config)
        if part.guard is not None
    }


def nodeset_document(config: ClusterConfig, name: str, settings: NodeSet) -> Json:
    """What a NodeSet without a HybridCluster adds to the document of its program."""
    row = nodeset_row(config, name, settings)
    images = sorted(_images_of(nodeset_spec(config, name, settings)))
    return {"schema": names.BLUEPRINT_SCHEMA, "nodesets": {name: row}, "images": images}


def nodeset_row(config: ClusterConfig, name: str, settings: NodeSet) -> Json:
    """What Slurm is to know of a NodeSet's nodes, as its spec says it."""
    spec = nodeset_spec(config, name, settings)
    return {
        "extraConf": spec.get("extraConf") or "",
        "partition": spec.get("partition") or {},
        "slurmd": {"resources": spec["slurmd"].get("resources") or {}},
    }


def _keys(config: ClusterConfig, name: str = "") -> Iterator[Json]:
    for key in (*DAEMON_KEYS, *config.own_keys):
        place, bundle = config.secret_of(key), config.bundle_of(key)
        yield {
            "name": key.label,
            "secret": place.name,
            "entry": place.entry,
            "beside": "" if bundle is None else bundle.name,
            "holders": [] if key not in DAEMON_KEYS or not name else [*_holders(f"{name}-keys-{key.logical}")],
        }


def _holders(logical: str) -> Iterator[list[str]]:
    """What a key of the stack is made with: the generator, then the Secret; or the record of another's key."""
    yield [GENERATED, logical]
    yield [SECRET, f"{logical}-secret"]
    yield [dynamic("ExternalKey"), f"{logical}-external"]


def _images_of(spec: object) -> set[str]:
    parts = [spec.get(daemon) for daemon in _DAEMONS] if isinstance(spec, Mapping) else []
    return {str(part["image"]) for part in parts if isinstance(part, Mapping) and part.get("image")}
