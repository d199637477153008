"""The Kubernetes objects that a stack makes, by the names that its configuration gives them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import DAEMON_KEYS, MUNGE, TOKENS
from slinky_iac.parts.autoscale.scaler import scaler
from slinky_iac.parts.registry import parts_of
from slinky_iac.specs.clients import client_files, client_secret
from slinky_iac.specs.daemons import database_secret, script_maps
from slinky_iac.specs.endpoints import endpoint_objects, slurmctld_endpoint, slurmdbd_endpoint
from slinky_iac.specs.networks import network_policies
from slinky_iac.specs.restapi_tls import tls_secret
from slinky_iac.specs.rights import CORE


@dataclass(frozen=True)
class Made:
    """One object. ``namespace`` None: the kind has none."""

    group: str
    resource: str
    name: str
    namespace: str | None


def made(config: StackConfig) -> tuple[Made, ...]:
    """Everything that `pulumi up` makes but the operator's own charts."""
    namespace = config.cluster.namespace
    found = [Made(group, resource, name, namespace) for group, resource, name in _in_namespace(config)]
    found += [Made("networking.k8s.io", "networkpolicies", each.name, each.namespace) for each in network_policies(config)]
    found += _of_clients(config)
    # A munge cluster whose clients have namespaces of their own has none of its own.
    if config.cluster.create_namespace and (config.auth.makes_daemons or config.auth.client_image is not None):
        found.append(Made(CORE, "namespaces", namespace, None))
    objects = (each for part in parts_of(config) for each in part.objects(config, str))
    found += [Made(each.group, each.resource, each.name, namespace if each.namespaced else None) for each in objects]
    return tuple(found)


def _of_clients(config: StackConfig) -> Iterator[Made]:
    for name, client in config.clients.items():
        own = names.client(config.cluster.resource_name, name)
        if client.create_namespace:
            yield Made(CORE, "namespaces", client.namespace, None)
        if not config.keys.of_others:
            yield Made(CORE, "secrets", client_secret(config, name, client).name, client.namespace)
        if client_files(config, client):
            yield Made(CORE, "configmaps", own, client.namespace)
        if client.deployment is not None:
            yield Made("apps", "deployments", own, client.namespace)


def _in_namespace(config: StackConfig) -> Iterator[tuple[str, str, str]]:
    base = config.cluster.resource_name
    if not config.auth.makes_daemons:
        if config.munge.image is None:
            return
        yield CORE, "configmaps", names.client_conf(base)
        if config.keys.source == "imported":
            yield CORE, "secrets", config.secret_of(MUNGE).name
        return
    if config.cluster.quota:
        yield CORE, "resourcequotas", names.resource_quota(base)
    yield from _keys(config, base)
    yield from _users(config, base)
    for endpoint in (slurmdbd_endpoint(config), slurmctld_endpoint(config)):
        if endpoint is not None:
            yield from ((each.group, each.resource, each.name) for each in endpoint_objects(endpoint))
    if config.accounting.enabled:
        yield names.GROUP, "accountings", base
        database = config.accounting.database
        if database is not None and database.password_from is None:
            yield CORE, "secrets", database_secret(config)
    yield names.GROUP, "controllers", base
    yield from ((CORE, "configmaps", name) for _, name, files in script_maps(config) if files)
    yield names.GROUP, "restapis", base
    yield from ((names.GROUP, "tokens", names.user_token(base, each)) for each in config.tokens)
    yield from _tls(config, base)
    yield from ((names.GROUP, "nodesets", names.nodeset_resource(base, each)) for each in config.nodesets)
    yield from _autoscalers(config)
    yield from ((names.GROUP, "loginsets", names.loginset_resource(base, each)) for each in config.logins)


def _users(config: StackConfig, base: str) -> Iterator[tuple[str, str, str]]:
    if config.identity.passwd is not None:
        yield CORE, "configmaps", names.users(base)
    if config.identity.sssd is not None and config.identity.sssd.conf_secret is None:
        yield CORE, "secrets", names.sssd_secret(base)


def _autoscalers(config: StackConfig) -> Iterator[tuple[str, str, str]]:
    found = (scaler(config, name, nodeset) for name, nodeset in config.nodesets.items())
    yield from (
        (each.api_version.partition("/")[0], f"{each.kind.lower()}s", each.name) for each in found if each is not None
    )


def _keys(config: StackConfig, base: str) -> Iterator[tuple[str, str, str]]:
    if not config.keys.of_others:
        yield from ((CORE, "secrets", config.secret_of(key).name) for key in DAEMON_KEYS)
    if config.keys.jwks:
        yield CORE, "secrets", names.slurm_jwks_secret(base)
    if config.keys.has_token_keys:
        yield CORE, "secrets", config.secret_of(TOKENS).name
        yield CORE, "configmaps", names.token_key_set(base)


def _tls(config: StackConfig, base: str) -> Iterator[tuple[str, str, str]]:
    tls = config.restapi.tls
    if tls is None:
        return
    yield CORE, "configmaps", names.restapi_tls_conf(base)
    yield CORE, "services", names.restapi_tls_service(names.restapi_service(base))
    if tls.source == "generated":
        yield CORE, "secrets", tls_secret(config, tls)
    elif tls.source == "cert-manager":
        yield "cert-manager.io", "certificates", tls_secret(config, tls)
