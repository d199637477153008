"""The Kubernetes objects that a stack makes: the one list of them. Components register these, `slinky rights` names them.

Secrets are listed without what is in them: their component adds that. Charts (slurm-operator's, JupyterHub's) and what
belongs to them are not in the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.config.clients import Client
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import LoginSet, NodeSet
from slinky_iac.keys.catalogue import DAEMON_KEYS, Key
from slinky_iac.parts.registry import behind, beside, parts_of
from slinky_iac.specs.clients import client_files, client_secret, deployment_spec
from slinky_iac.specs.daemons import (
    accounting_spec,
    controller_spec,
    database_secret,
    restapi_spec,
    script_maps,
)
from slinky_iac.specs.endpoints import endpoint_objects, slurmctld_endpoint, slurmdbd_endpoint
from slinky_iac.specs.identity import passwd_files
from slinky_iac.specs.networks import network_policies
from slinky_iac.specs.objects import Object, key_secret
from slinky_iac.specs.shared import labels, namespace_labels, quota_spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec


def objects(config: StackConfig) -> tuple[Object, ...]:
    """All of them."""
    own = _of_cluster(config) if config.auth.makes_daemons else ()
    clients = (manifest for name, client in config.clients.items() for manifest in client_objects(config, name, client))
    return (*own, *network_objects(config), *clients, *own_namespace(config), *parts_objects(config))


def parts_objects(config: StackConfig) -> Iterator[Object]:
    """What the parts make for the cluster as a whole."""
    yield from (manifest for part in parts_of(config) for manifest in part.objects(config, str))


def _of_cluster(config: StackConfig) -> Iterator[Object]:
    yield from quota(config)
    for keys in (DAEMON_KEYS, config.own_keys):
        yield from (key_secret(config, key) for key in keys if key in config.made_keys)
        yield from (bundle(config, key) for key in keys if key in config.bundled)
    yield from users(config)
    yield from sssd(config)
    yield from (manifest for endpoint in endpoints(config) for manifest in endpoint_objects(endpoint))
    if config.accounting.enabled:
        yield accounting(config)
        yield from database(config)
    yield controller(config)
    yield from scripts(config)
    yield from trial_record(config)
    yield restapi(config)
    yield from behind(config, "slurmrestd")
    yield from beside(config, "slurmrestd")
    for name, settings in config.nodesets.items():
        yield nodeset(config, name, settings)
        yield from (made for part in parts_of(config) for made in part.of_nodeset(config, name, settings))
    yield from (loginset(config, name, settings) for name, settings in config.logins.items())


def own_namespace(config: StackConfig) -> Iterator[Object]:
    """The cluster's Namespace. A stack of clients that have namespaces of their own has none itself."""
    if config.cluster.create_namespace and (config.auth.makes_daemons or any(parts_objects(config))):
        yield namespace(config.cluster.namespace, namespace_labels(config))


def _core(kind: str, name: str, logical: str, body: Mapping[str, Any], **more: Any) -> Object:  # noqa: ANN401
    return Object(logical=logical, api_version="v1", kind=kind, name=name, body=body, **more)


def logical(config: ClusterConfig, kind: str, name: str) -> str:
    """Logical name of one of the operator's custom resources, which no component's name begins."""
    return f"{config.cluster.namespace}-{name}-{kind.lower()}"


def _slinky(config: ClusterConfig, kind: str, name: str, spec: Mapping[str, Any]) -> Object:
    return Object(
        logical=logical(config, kind, name), api_version=names.API_VERSION, kind=kind, name=name, body={"spec": spec}
    )


def namespace(name: str, noted: Mapping[str, str]) -> Object:
    """A Namespace with its labels."""
    return _core("Namespace", name, "namespace", {}, labels=noted, namespaced=False)


def quota(config: ClusterConfig) -> Iterator[Object]:
    """The ResourceQuota of the cluster's namespace."""
    if config.cluster.quota:
        yield _core(
            "ResourceQuota", names.resource_quota(config.cluster.resource_name), "quota", {"spec": quota_spec(config)}
        )


def bundle(config: ClusterConfig, key: Key) -> Object:
    """The object with several keys of a kind: neither immutable nor protected, for pods follow its changes while they run,
    and it can be made again from the keys."""
    return _core(key.bundle_kind, key.bundle_at(config.cluster.resource_name).name, key.bundle_logical, {})


def users(config: ClusterConfig) -> Iterator[Object]:
    """The ConfigMap with passwd and group."""
    if config.identity.passwd is not None:
        files = passwd_files(config.identity.passwd)
        yield _core("ConfigMap", names.users(config.cluster.resource_name), "users", {"data": files})


def sssd(config: ClusterConfig) -> Iterator[Object]:
    """The Secret with sssd.conf, where the stack has that."""
    if config.identity.sssd is not None and config.identity.sssd.conf_from is None:
        yield _core("Secret", names.sssd_secret(config.cluster.resource_name), "sssd", {})


def endpoints(config: ClusterConfig) -> Iterator[Any]:
    """What leads to slurmdbd and slurmctld outside."""
    yield from (endpoint for endpoint in (slurmdbd_endpoint(config), slurmctld_endpoint(config)) if endpoint is not None)


def accounting(config: ClusterConfig) -> Object:
    """slurmdbd's Accounting."""
    return _slinky(config, "Accounting", config.cluster.resource_name, accounting_spec(config))


def database(config: ClusterConfig) -> Iterator[Object]:
    """The Secret with the database's password, where no other has it."""
    settings = config.accounting.database
    if settings is not None and settings.password_from is None:
        yield _core("Secret", database_secret(config), "database", {})


def controller(config: StackConfig) -> Object:
    """slurmctld's Controller."""
    return _slinky(config, "Controller", config.cluster.resource_name, controller_spec(config))


def scripts(config: ClusterConfig) -> Iterator[Object]:
    """The ConfigMaps with files that slurmctld hands out."""
    yield from (_core("ConfigMap", name, name, {"data": data}) for _, name, data in script_maps(config) if data)


def trial_record(config: StackConfig) -> Iterator[Object]:
    """The ConfigMap with what was tried; its component adds that."""
    if config.slurmctld.tries_files:
        yield _core("ConfigMap", names.trial_record(config.cluster.resource_name), "trial", {})


def restapi(config: ClusterConfig) -> Object:
    """slurmrestd's RestApi."""
    return _slinky(config, "RestApi", config.cluster.resource_name, restapi_spec(config))


def nodeset(config: ClusterConfig, name: str, settings: NodeSet) -> Object:
    """A NodeSet, by its name in Slurm."""
    own = names.nodeset_resource(config.cluster.resource_name, name)
    return _slinky(config, "NodeSet", own, nodeset_spec(config, name, settings))


def loginset(config: ClusterConfig, name: str, settings: LoginSet) -> Object:
    """A login set, by its name in the stack's file."""
    own = names.loginset_resource(config.cluster.resource_name, name)
    return _slinky(config, "LoginSet", own, loginset_spec(config, name, settings))


def network_objects(config: StackConfig) -> Iterator[Object]:
    """One NetworkPolicy for each part that runs in pods."""
    for policy in network_policies(config):
        yield Object(
            logical=policy.part,
            api_version="networking.k8s.io/v1",
            kind="NetworkPolicy",
            name=policy.name,
            namespace=policy.namespace,
            body={"spec": policy.spec},
        )


def client_objects(config: ClusterConfig, name: str, client: Client) -> Iterator[Object]:
    """What pods of a client need, and its pod where one is asked for."""
    own, space = names.client(config.cluster.resource_name, name), client.namespace
    if client.create_namespace:
        yield client_namespace(config, client)
    if config.auth.client_key in config.made_keys:
        # Not immutable: the sidecar follows a new key, and kubelet brings no change of an immutable Secret into a pod.
        # Not protected: it is a copy.
        yield _core("Secret", client_secret(config, name, client).name, "key", {}, namespace=space)
    if files := client_files(config, client):
        yield _core("ConfigMap", own, "files", {"data": files}, namespace=space)
    if spec := deployment_spec(config, name, client):
        yield Object(
            logical="deployment", api_version="apps/v1", kind="Deployment", name=own, namespace=space, body={"spec": spec}
        )


def client_namespace(config: ClusterConfig, client: Client) -> Object:
    """The Namespace of a client."""
    return namespace(client.namespace, {**labels(config), "pod-security.kubernetes.io/warn": "restricted"})
