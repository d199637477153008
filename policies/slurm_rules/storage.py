"""What must outlive a pod: slurmctld's state and slurmdbd's database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurm_rules.charts import HELM_RELEASE, chart_name
from slurm_rules.cluster import is_external
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky

_DATA = ("/var/lib/mysql", "/bitnami/mariadb", "/bitnami/mysql")
_WORKLOADS = (":apps/v1:StatefulSet", ":apps/v1:Deployment", ":core/v1:Pod")
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
    host = accounting.text("spec", "storageConfig", "host")
    name, *rest = host.split(".")
    place = (rest[0] if rest else accounting.namespace, name)
    for workload in stack.of_type(*_WORKLOADS):
        if _serves(workload, place, stack) and (fault := _loses_data(workload)):
            yield f"{accounting.label}: its database {workload.label} {fault}; give it a PersistentVolumeClaim"
    for custom in stack.of_type(":MariaDB"):
        if (custom.namespace, custom.in_cluster_name) == place and custom.get("spec", "storage", "ephemeral") is True:
            yield f"{accounting.label}: its database {custom.label} has storage.ephemeral: true; set a size"
    for release in stack.of_type(HELM_RELEASE):
        if chart_name(release) not in _CHARTS or not name.startswith(release.text("name") or release.name):
            continue
        if any(release.get("values", *path, "persistence", "enabled") is False for path in ((), ("primary",))):
            yield f"{accounting.label}: its database {release.name} has persistence.enabled: false"


def _serves(workload: Resource, place: tuple[str, str], stack: Stack) -> bool:
    """Whether a workload is what the host name leads to: it is called so, or a Service of that name selects its pods."""
    if (workload.namespace, workload.in_cluster_name) == place:
        return True
    service = stack.find("Service", *place)
    selector: Mapping[str, str] = (service.get("spec", "selector") if service else None) or {}
    inside = ("metadata", "labels") if workload.kind == "Pod" else ("spec", "template", "metadata", "labels")
    labels = workload.get(*inside) or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _loses_data(workload: Resource) -> str | None:
    pod: Mapping[str, Any] = workload.get(*(("spec",) if workload.kind == "Pod" else ("spec", "template", "spec"))) or {}
    claims = {claim["metadata"]["name"] for claim in workload.get("spec", "volumeClaimTemplates") or ()}
    lost = {volume["name"] for volume in pod.get("volumes") or () if "emptyDir" in volume}
    mounts = [mount for body in pod.get("containers") or () for mount in body.get("volumeMounts") or ()]
    data = {mount["name"] for mount in mounts if str(mount.get("mountPath")).startswith(_DATA)}
    if data & lost:
        return "keeps its data in an emptyDir"
    return None if data or claims else "has no volume for its data"
