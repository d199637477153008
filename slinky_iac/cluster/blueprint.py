"""The blueprint that a stack's state holds, read back: what the stack is, by the settings of its last update.

:mod:`slinky_iac.blueprint.document` writes it. It says what is to stand; :meth:`Blueprint.standing` says what of it does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import Resource, State, as_written, dynamic
from slinky_iac.cluster.spec_drift import Desired
from slinky_iac.errors import StateError
from slinky_iac.keys.registry import PUBLIC

Named = tuple[str, str]
"""Type token and logical name of a resource."""
_GATES: Final = (names.NODESET_SCALE, dynamic("OutsideHosts"))


@dataclass(frozen=True)
class KeyRow:
    """Where a key is."""

    name: str
    secret: str
    entry: str
    beside: str
    """Object in which other keys are handed out while this one is being replaced; empty where there is none."""
    holders: tuple[Named, ...]
    """What the stack makes it with: the generator, then the Secret."""


@dataclass(frozen=True)
class Blueprint:
    """What the stack is; all empty before its first update, and for one that makes no cluster."""

    cluster: str = ""
    """ClusterName."""
    namespace: str = ""
    operator: str = ""
    """The release that the specs are written for."""
    operator_namespace: str = ""
    """Where this stack deploys the operator; empty where another does."""
    slurmctld: str = ""
    """``host:port`` of an outside slurmctld; empty where it is in Kubernetes, or there is none."""
    slurmdbd: str = ""
    reach: Mapping[str, str] = field(default_factory=dict)
    """Props that say how Kubernetes and slurmrestd are reached; none where the stack makes no daemons."""
    keys: tuple[KeyRow, ...] = ()
    public: str = ""
    """The file of public keys, and the ConfigMap with it."""
    public_name: str = ""
    daemons: tuple[Named, ...] = ()
    """Custom resources whose pods read keys, those that all others depend on first."""
    images: tuple[str, ...] = ()
    outside_conf: str = ""
    """Lines that an outside slurm.conf is asked to have."""
    extra_conf: str = ""
    """Lines of a slurm.conf that the operator writes."""
    nodesets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of each NodeSet, by its name in Slurm, the part of its spec that Slurm shows."""
    guards: Mapping[str, tuple[Desired, ...]] = field(default_factory=dict)
    """Objects of each guard in the API server."""

    def holders(self, state: State, key: str) -> tuple[Resource, ...]:
        """What a key is held in, of the stack's own resources; none for a key that was made outside the stack."""
        return standing(state, (holder for row in self.keys if row.name == key for holder in row.holders))

    def stands(self, state: State, kind: str) -> bool:
        """Whether the custom resource of this type is in the state."""
        return bool(standing(state, (daemon for daemon in self.daemons if daemon[0] == kind)))


def standing(state: State, wanted: Iterable[Named]) -> tuple[Resource, ...]:
    """Those that the state holds, in the order in which they are wanted."""
    made = {(resource.type, resource.logical): resource for resource in state}
    return tuple(made[key] for key in wanted if key in made)


@as_written()
def blueprint(state: State) -> Blueprint:
    """The state's. Raises :class:`StateError` for one that this program doesn't read, and where gates stand without one."""
    documents = [_document(component["document"]) for component in state.components("Blueprint") if component]
    if not documents:
        if state.all(*_GATES):
            raise StateError(
                "an older slinky-iac made the last update, and its state doesn't say what the stack makes. Nothing was"
                " asked. Run `pulumi up` once with this release, then this command again"
            )
        return Blueprint()
    # Of a program that makes a cluster and joins resources of its own to it, the cluster's.
    first = max(
        documents,
        key=lambda document: (bool(document.get("keys")) and bool(document["keys"][0]["holders"]), "cluster" in document),
    )
    nodesets = {name: row for document in documents for name, row in document["nodesets"].items()}
    images = sorted({str(image) for document in documents for image in document["images"]})
    if "cluster" not in first:
        return Blueprint(nodesets=nodesets, images=tuple(images))
    public = first[PUBLIC.document]
    return Blueprint(
        cluster=str(first["cluster"]),
        namespace=str(first["namespace"]),
        operator=str(first["operator"]),
        operator_namespace=str(first["operatorNamespace"]),
        slurmctld=str(first["slurmctld"]),
        slurmdbd=str(first["slurmdbd"]),
        reach={str(key): str(value) for key, value in first["reach"].items()},
        keys=tuple(_key(row) for row in first["keys"]),
        public=str(public["text"]),
        public_name=str(public["name"]),
        daemons=_named(first["daemons"]),
        images=tuple(images),
        outside_conf=str(first["outsideConf"]),
        extra_conf=str(first["extraConf"]),
        nodesets={str(name): dict(row) for name, row in nodesets.items()},
        guards={str(name): guarded(rows) for name, rows in first["guards"].items()},
    )


def guarded(rows: Iterable[Mapping[str, Any]]) -> tuple[Desired, ...]:
    """Objects of a guard, as documents have them."""
    return tuple(Desired(str(row["kind"]), str(row["name"]), dict(row["spec"])) for row in rows)


def _document(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if document["schema"] != names.BLUEPRINT_SCHEMA:
        raise StateError(
            f"the stack's blueprint has schema {document['schema']!a:.20} and this program reads {names.BLUEPRINT_SCHEMA}:"
            " nothing was asked. Use the release of slinky-iac that the stack was last updated with, or run `pulumi up`"
            " with this one"
        )
    return document


def _key(row: Mapping[str, Any]) -> KeyRow:
    name, secret, entry, beside = (str(row[key]) for key in ("name", "secret", "entry", "beside"))
    return KeyRow(name, secret, entry, beside, _named(row["holders"]))


def _named(rows: Collection[Any]) -> tuple[Named, ...]:
    pairs = tuple(tuple(map(str, row)) for row in rows if isinstance(row, list | tuple))
    if len(pairs) != len(rows) or any(len(pair) != 2 for pair in pairs):
        raise TypeError
    return tuple((pair[0], pair[1]) for pair in pairs)
