"""What must outlive a pod: slurmctld's state and slurmdbd's database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.cluster import is_external
from slurm_rules.made import Fault
from slurm_rules.model import Resource, Stack, mappings, texts
from slurm_rules.rule import Options, rule, slinky

_DATA = ("/var/lib/mysql", "/bitnami/mariadb", "/bitnami/mysql")
_WORKLOADS = ("StatefulSet", "Deployment", "Pod")
_CHARTS = ("mariadb", "mysql", "mariadb-galera")


@rule("accounting-database-durable", slinky("Accounting"))
def accounting_database_durable(accounting: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """The database of a slurmdbd in Kubernetes isn't ephemeral.

    Why: accounts, limits and the record of every job are in it. slurmctld without its associations refuses all jobs when
    AccountingStorageEnforce is set, and usage that is lost can't be billed.

    Source: slurmdbd.conf(5) StorageHost; slurm-operator docs/installation.md (mariadb-operator); Kubernetes emptyDir.

    Do: give the database a PersistentVolumeClaim, or use one outside this stack.

    Level: mandatory, since accounts and records of jobs are lost.
    """
    if is_external(accounting):
        return
    name, *rest = accounting.text("spec", "storageConfig", "host").split(".")
    space = rest[0] if rest else accounting.namespace
    for other in stack.resources:
        release = other.type == HELM_RELEASE and chart_name(other) in _CHARTS
        serves = name.startswith(other.text("name") or other.name) if release else _serves(other, (space, name), stack)
        if serves and (lost := _loses_data(other)):
            yield f"{accounting.label}: its database {other.label} {lost}; give it a PersistentVolumeClaim"


def _serves(workload: Resource, place: tuple[str, str], stack: Stack) -> bool:
    """Whether a workload is what the host name leads to: it is called so, or a Service of that name selects its pods."""
    if workload.kind not in (*_WORKLOADS, "MariaDB"):
        return False
    if (workload.namespace, workload.in_cluster_name) == place:
        return True
    service = stack.find("Service", *place)
    selector: Mapping[str, str] = (service.get("spec", "selector") if service else None) or {}
    inside = ("metadata", "labels") if workload.kind == "Pod" else ("spec", "template", "metadata", "labels")
    labels = workload.get(*inside) or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _loses_data(workload: Resource) -> str:
    parts = list(mappings(workload.get()))
    for path, part in parts:
        lost = [field for field, off in (("ephemeral", True), ("enabled", False)) if part.get(field) is off]
        if "ephemeral" in lost or (lost and path.endswith("persistence")):
            return f"has {path.removeprefix('spec.')}.{lost[0]}: {str(part[lost[0]]).lower()}"
    data = {part.get("name") for _, part in parts if str(part.get("mountPath")).startswith(_DATA)}
    if any("emptyDir" in part and part.get("name") in data for _, part in parts):
        return "keeps its data in an emptyDir"
    return "has no volume for its data" if workload.kind in _WORKLOADS and not data else ""


def forgets(value: object, root: str = "") -> Iterator[Fault]:
    """Where slurmctld's state, or a database, would be in a node's memory, and end with its next boot."""
    for path, text in texts(value, root):
        if not path.startswith("metadata.name") and _IN_MEMORY.search(text):
            yield Fault(
                path, f"keeps slurmctld's state, or a database, in memory or in a folder that a boot empties: {text[:60]}"
            )


_IN_MEMORY: Final = re.compile(
    r"(?i)(?<![\w/.-])/(?:run|var/run|dev/shm|tmp|var/tmp)(?![\w.-])|(?<![a-z])(?:tmpfs|ramfs|ram-?disk|zram|brd|memory)(?![a-z])"
)
"""Source: file-hierarchy(7), tmpfiles.d(5)."""
