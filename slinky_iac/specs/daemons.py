"""Specs of Controller (slurmctld), Accounting (slurmdbd), RestApi (slurmrestd) and Token."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.adopted import kept
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.keys.catalogue import SecretEntry
from slinky_iac.parts.registry import inside_conf, pod_of, reads_metrics, service_monitor
from slinky_iac.parts.slurmdbd.settings import Database, DatabaseTls
from slinky_iac.releases import OperatorVersion
from slinky_iac.specs.directory import noted, sidecar_client, sidecar_pod
from slinky_iac.specs.endpoints import slurmctld_target
from slinky_iac.specs.identity import users_mounts, users_pod
from slinky_iac.specs.raw import with_raw
from slinky_iac.specs.restapi_conf import own_conf
from slinky_iac.specs.shared import (
    Spec,
    container,
    filled,
    image_of,
    key_references,
    mount,
    public_references,
    reference,
    reference_namespace,
    secret_files,
    service,
    sidecar,
    sized,
    template,
)
from slinky_iac.specs.slurm_conf import controller_extra_conf, pair

DATABASE_PASSWORD_ENTRY = "password"


def controller_spec(config: StackConfig) -> Spec:
    """Spec of the Controller. Both key references are there for an outside slurmctld too: the pods mount slurm.key and
    the operator signs its token with the JWT key (slurmclient_sync.go), though the schema asks for neither."""
    spec: Spec = {"clusterName": config.cluster.name, **key_references(config)}
    if config.accounting.enabled:
        spec["accountingRef"] = reference(config)
    target = slurmctld_target(config)
    if target is not None:
        return spec | {"external": True, "externalConfig": {"host": target.host, "port": target.port}}
    return kept(config.adopted, "Controller", config.cluster.resource_name, spec | _inside_controller(config))


def _inside_controller(config: StackConfig) -> Spec:
    controller = config.controller
    slurmctld = image_of(config, "slurmctld")
    spec: Spec = {
        **public_references(config),
        "slurmctld": container(config, slurmctld, _users(config) | sized(config, "slurmctld", controller.resources)),
        "reconfigure": container(config, slurmctld, sized(config, "sidecar", config.cluster.sidecar_resources)),
        "logfile": sidecar(config),
        "persistence": _persistence(config),
        "service": service(controller.service, names.SLURMCTLD_PORT),
        "extraConf": controller_extra_conf(config),
        "template": noted(config, template(config, controller.pod, users_pod(config, slurmctld) or sidecar_pod(config))),
    }
    if config.operator_version.prunes_slurm_conf and (digest := _files_digest(config)):
        spec["template"].setdefault("metadata", {}).setdefault("annotations", {})[names.ANNOTATION_FILES] = digest
    space = reference_namespace(config)
    for field, name, files in script_maps(config):
        if files:
            spec[field] = [{"name": name} | space]
    if controller.metrics or reads_metrics(config):
        spec["metrics"] = {"enabled": True, "serviceMonitor": service_monitor(config)}
    return with_raw(config, filled(spec), controller.raw, "controller")


def _users(config: ClusterConfig) -> Spec:
    mounts = users_mounts(config)
    return {"volumeMounts": mounts} if mounts else sidecar_client(config)


def restarts_slurmctld(old: Mapping[str, Any], new: Mapping[str, Any], version: OperatorVersion) -> bool:
    """Whether a Controller that goes from ``old`` to ``new``, both whole inputs, may get another pod. In a preview the new
    spec may not be known yet. Releases before 1.2 let slurmctld read a new slurm.conf without a restart."""
    apart = {"service"} if version.prunes_slurm_conf else {"service", "extraConf"}
    before, after = old.get("spec"), new.get("spec")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return True
    return any(before.get(field) != after.get(field) for field in (before.keys() | after.keys()) - apart)


def script_maps(config: ClusterConfig) -> tuple[tuple[str, str, dict[str, str]], ...]:
    """Field of the Controller, name of the ConfigMap and its files: configuration files, prolog, epilog scripts."""
    controller, base = config.slurmctld, config.cluster.resource_name
    return (
        ("configFileRefs", names.shorten(f"{base}-config-files"), dict(controller.config_files)),
        ("prologScriptRefs", names.shorten(f"{base}-prolog"), dict(controller.prolog)),
        ("epilogScriptRefs", names.shorten(f"{base}-epilog"), dict(controller.epilog)),
    )


def _files_digest(config: ClusterConfig) -> str:
    """A digest of all files that daemons read besides slurm.conf; empty where there is none."""
    files = [[name, sorted(scripts.items())] for _, name, scripts in script_maps(config) if scripts]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16] if files else ""


def _persistence(config: ClusterConfig) -> Spec:
    settings = config.controller.persistence
    if not settings.enabled:
        return {"enabled": False}
    if settings.existing_claim:
        return {"enabled": True, "existingClaim": settings.existing_claim}
    claim = {"accessModes": [*settings.access_modes], "resources": {"requests": {"storage": settings.size}}}
    named = {} if settings.storage_class is None else {"storageClassName": settings.storage_class}
    return filled({"enabled": True, **claim}) | named


def accounting_spec(config: ClusterConfig) -> Spec:
    """Spec of the Accounting. For an outside slurmdbd the operator reads none of it: the Service does the work."""
    for host in config.slurmdbd.hosts:
        return {"external": True, "externalConfig": {"host": host.host, "port": host.port}}
    accounting = config.accounting
    database = accounting.database
    if database is None:
        raise ValueError("an Accounting needs external or database; rules.findings says so before this is called")
    spec: Spec = {
        **key_references(config),
        **public_references(config),
        "slurmdbd": container(
            config,
            image_of(config, "slurmdbd"),
            sized(config, "slurmdbd", accounting.resources),
        ),
        "storageConfig": {
            "host": database.host,
            "port": database.port,
            "database": database.name,
            "username": database.username,
            "passwordKeyRef": password_reference(config, database),
        },
        "service": service(accounting.service, names.SLURMDBD_PORT),
    }
    more = None
    extra = accounting.extra_conf | inside_conf(config)
    if database.tls is not None:
        parameters, more, spec["slurmdbd"]["volumeMounts"] = _database_tls(database.tls)
        extra["StorageParameters"] = parameters
    spec["extraConf"] = "\n".join(pair(key, value) for key, value in extra.items())
    spec["template"] = template(config, accounting.pod, more)
    whole = with_raw(config, filled(spec), accounting.raw, "accounting")
    return kept(config.adopted, "Accounting", config.cluster.resource_name, whole)


DATABASE_CA, DATABASE_CLIENT = "/etc/slinky-database-tls/ca", "/etc/slinky-database-tls/client"


def _database_tls(tls: DatabaseTls) -> tuple[str, Spec, list[Spec]]:
    """TLS from slurmdbd to its database: StorageParameters, and the pod's volumes and mounts with the files that it names.

    Without the Secrets the pod waits: no plain text instead. Source: slurmdbd.conf(5), StorageParameters; mysql_common.c
    hands them to the client library at each connection, so files that change are used from the next one on.
    """
    parameters = [f"SSL_CA={DATABASE_CA}/ca.crt"]
    volumes = [secret_files("slinky-database-ca", tls.ca_secret, {"ca.crt": "ca.crt"})]
    mounts = [mount("slinky-database-ca", DATABASE_CA)]
    if tls.client_secret:
        parameters += [f"SSL_CERT={DATABASE_CLIENT}/tls.crt", f"SSL_KEY={DATABASE_CLIENT}/tls.key"]
        pair = {"tls.crt": "tls.crt", "tls.key": "tls.key"}
        volumes.append(secret_files("slinky-database-client", tls.client_secret, pair))
        mounts.append(mount("slinky-database-client", DATABASE_CLIENT))
    return ",".join(parameters), {"volumes": volumes}, mounts


def password_reference(config: ClusterConfig, database: Database) -> Spec:
    """Where the operator finds the password of slurmdbd's database."""
    given = database.password_from
    own = SecretEntry(database_secret(config), DATABASE_PASSWORD_ENTRY)
    return (own if given is None else given.entry(DATABASE_PASSWORD_ENTRY)).reference


def database_secret(config: ClusterConfig) -> str:
    """Name of the Secret with the database password."""
    return names.shorten(f"{config.cluster.resource_name}-database")


ONE_HEAP: Final = {"name": "MALLOC_ARENA_MAX", "value": "1"}
"""slurmrestd answers in threads, and glibc gives each a heap that keeps the largest answer that was made in it: 150 kB for
each job record, once for each of up to 8 heaps a core (run; docs/evidence/performance.md)."""


def restapi_spec(config: ClusterConfig) -> Spec:
    """Spec of the RestApi. One stands beside every Controller, an outside one too: the operator asks it before it
    deletes a pod, and with no answer to ask for it deletes busy pods (IsNodeDrained, fail-open)."""
    image = image_of(config, "slurmrestd")
    own = own_conf(config)
    spec: Spec = {
        "controllerRef": reference(config),
        "replicas": config.restapi.replicas,
        "slurmrestd": container(
            config,
            image,
            {"env": [ONE_HEAP, *own.env]}
            | filled({"volumeMounts": [*own.mounts]})
            | sized(config, "slurmrestd", config.restapi.resources),
        ),
        "service": service(config.restapi.service, names.SLURMRESTD_PORT),
    }
    added, annotations = pod_of(config, "slurmrestd")
    more = added | filled({"volumes": [*added.get("volumes", ()), *own.volumes]})
    pod = template(config, config.restapi.pod, more)
    if notes := annotations | own.annotations:
        pod.setdefault("metadata", {}).setdefault("annotations", {}).update(notes)
    if pod:
        spec["template"] = pod
    whole = with_raw(config, spec, config.restapi.raw, "restapi")
    return kept(config.adopted, "RestApi", config.cluster.resource_name, whole)
