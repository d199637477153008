"""All parts, and what is asked of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts.autoscale.part import Autoscale
from slinky_iac.parts.fence.part import Fence
from slinky_iac.parts.jobs.part import Jobs
from slinky_iac.parts.monitoring.part import Monitoring
from slinky_iac.parts.munge.part import Munge
from slinky_iac.parts.node_table.part import NodeTable
from slinky_iac.parts.part import Guard, Kinds, OnMachines, OutsideFile, Parameter, Part
from slinky_iac.parts.slurmrestd.part import Slurmrestd
from slinky_iac.parts.tokens.part import Tokens
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

PARTS: Final[tuple[Part, ...]] = (
    Tokens(),
    Autoscale(),
    Fence(),
    Jobs(),
    Monitoring(),
    Munge(),
    NodeTable(),
    Slurmrestd(),
)


def parts_of(config: StackConfig) -> Iterator[Part]:
    """The parts that a stack can have: one of clients only has no part that needs daemons of its own."""
    return (part for part in PARTS if config.auth.makes_daemons or not part.needs_daemons)


def applied(config: StackConfig) -> StackConfig:
    """The configuration with what the parts' sections mean for other sections."""
    for part in PARTS:
        config = part.applied(config)
    return config


def outside_files(config: StackConfig) -> tuple[OutsideFile, ...]:
    """Files that an outside slurmctld needs beside its slurm.conf."""
    return tuple(file for part in PARTS for file in part.outside_files(config))


GUARDS: Final[Mapping[str, Guard]] = {part.name: part.guard for part in PARTS if part.guard is not None}
"""What keeps others from an act, by the part's name."""


def unguarded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Sections of a stack without all that keeps others from an act."""
    sections = dict(settings)
    for guard in GUARDS.values():
        sections |= {name: {**sections.get(name, {}), **fields} for name, fields in guard.off.items()}
    return sections


def kinds_of(config: StackConfig) -> Mapping[str, Kinds]:
    """Kinds that an older Kubernetes doesn't serve and that a stack's parts make objects of, by the part's name."""
    return {
        part.name: part.kinds
        for part in parts_of(config)
        if part.kinds is not None and any(True for _ in part.objects(config, str))
    }


def beside(config: ClusterConfig, daemon: names.Part) -> tuple[Object, ...]:
    """Objects that a daemon's pods need, and that are made before it."""
    return tuple(resource for part in PARTS for resource in part.beside(config, daemon))


def behind(config: StackConfig, daemon: names.Part) -> tuple[Object, ...]:
    """Custom resources that need a daemon, and that are made after it."""
    return tuple(resource for part in PARTS for resource in part.behind(config, daemon))


def texts(config: StackConfig) -> dict[str, Mapping[str, str]]:
    """By part, texts that are read before anything is made. Raises :class:`slinky_iac.errors.ConfigError`."""
    return {part.name: part.texts(config) for part in parts_of(config)}


PROVIDERS: Final[Mapping[str, str]] = {kind: provider for part in PARTS for kind, provider in part.providers.items()}
"""Classes of the providers of parts' own resources, by the end of these resources' types."""


def on_machines(made: Callable[[str], Iterable[Mapping[str, Any]]]) -> tuple[OnMachines, ...]:
    """What parts have set on Kubernetes nodes. ``made``: outputs of the resources of one type, by the type's end."""
    answers = (part.on_machines(outputs) for part in PARTS for kind in part.providers for outputs in made(kind))
    return tuple(machines for machines in answers if machines is not None)


def inside_conf(config: ClusterConfig) -> dict[str, str]:
    """Parameters that slurm.conf and slurmdbd.conf in Kubernetes need of parts."""
    return {key: value for part in PARTS for key, value in part.inside_conf(config).items()}


PARAMETERS: Final[Mapping[str, Parameter]] = {key: parameter for part in PARTS for key, parameter in part.parameters.items()}
"""Parameters that an outside slurm.conf must have because of parts."""


def pod_of(config: ClusterConfig, daemon: names.Part) -> tuple[Spec, dict[str, str]]:
    """What the parts add to a daemon's pods: pieces of their PodSpec, and annotations."""
    spec: Spec = {}
    annotations: dict[str, str] = {}
    for added in (part.pod_of(config, daemon) for part in PARTS):
        for field, pieces in added.get("spec", {}).items():
            spec[field] = [*spec.get(field, []), *pieces]
        annotations |= added.get("metadata", {}).get("annotations", {})
    return spec, annotations


USERS: Final = frozenset(user for part in PARTS for user in part.users)
"""Users and groups by which daemons of parts have their rights."""
VOLUMES: Final = tuple(volume for part in PARTS for volume in part.volumes)
"""What names of volumes begin with that parts have in pods."""


def client_pod(config: ClusterConfig, client: Client, key: SecretEntry, files: str) -> Spec | None:
    """What a client's pod needs, where it proves itself in the way of a part; None where it has sackd."""
    made = (part.client_pod(config, client, key, files) for part in PARTS)
    return next((pod for pod in made if pod is not None), None)


def own_client_pod(config: StackConfig) -> Spec | None:
    """What pods of yours in the cluster's own namespace take into their specs; None where it isn't for them."""
    return next((pod for part in PARTS if (pod := part.own_client_pod(config)) is not None), None)


def client_files(config: ClusterConfig) -> dict[str, str]:
    """What the ConfigMap of a client needs for that."""
    return {name: text for part in PARTS for name, text in part.client_files(config).items()}


def asks_slurmctld(config: StackConfig) -> bool:
    """Whether pods of others ask slurmctld itself for its metrics."""
    return any(part.asks_slurmctld(config) for part in PARTS)


def reads_metrics(config: StackConfig) -> bool:
    """Whether any part needs the metrics of slurmctld."""
    return any(part.reads_metrics(config) for part in PARTS)


METRICS_READERS: Final = tuple(part.metrics_reader for part in PARTS if part.metrics_reader is not None)
"""Who reads them, and the settings that ask for that, in words."""


def service_monitor(config: StackConfig) -> Spec:
    """``metrics.serviceMonitor`` of a Controller in Kubernetes."""
    answers = (part.service_monitor(config) for part in PARTS)
    return next((answer for answer in answers if answer is not None), {"enabled": False})
