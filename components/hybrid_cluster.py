"""The whole hybrid cluster, composed in an order that holds on the way up and, reversed, on the way down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes import Provider
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, ResourceQuota, Secret

from slinky_iac import names, taken
from slinky_iac.config.directory_files import read_ca
from slinky_iac.config.findings import Finding, Level, acknowledged
from slinky_iac.config.job_scripts import scripts_of
from slinky_iac.config.reader import StackRefused, StackSettings
from slinky_iac.config.rules import require_sound
from slinky_iac.config.rules_jobs import smoke_jobs
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import MUNGE
from slinky_iac.specs.directory import CA, CONF
from slinky_iac.specs.dropped import dropped
from slinky_iac.specs.endpoints import host_port
from slinky_iac.specs.identity import passwd_files
from slinky_iac.specs.shared import namespace_labels, quota_spec
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from slinky_iac.specs.user_tokens import token_spec

from .accounting import Accounting, AccountingArgs
from .auth_keys import AuthKeys, AuthKeysArgs
from .client import Client, ClientArgs
from .cluster_identity import ClusterIdentity
from .controller import Controller, ControllerArgs
from .external_endpoints import ExternalEndpoints, ExternalEndpointsArgs
from .fence import Fence, FenceArgs
from .first_look import Lost, first_look, none_lost
from .gates import OutsideHosts, child_urn, outside_props
from .login_set import LoginSet, LoginSetArgs
from .monitoring import Monitoring, MonitoringArgs
from .munge_clients import MungeClients, MungeClientsArgs, munge_fingerprint
from .network_policies import NetworkPolicies, NetworkPoliciesArgs
from .node_set import NodeSet, NodeSetArgs
from .node_table import NodeTable, NodeTableArgs
from .operator import Operator, OperatorArgs
from .resources import child, custom_resource, metadata, token
from .rest_api import RestApi, RestApiArgs
from .slurm_conf import QueueGate, queue_props
from .slurm_job import SlurmJob, job_props


@dataclass(frozen=True, kw_only=True)
class HybridClusterArgs:
    """``settings``: what :func:`slinky_iac.config.reader.read_stack` returns.

    ``notices``: findings of this very run, such as an outside daemon that doesn't answer. Asked for beside the
    registrations, since answers may take seconds; shown like the others, and no part of the stack's outputs. ``lost``: asks
    whether a custom resource of the state is in Kubernetes.
    """

    settings: StackSettings
    notices: Callable[[], tuple[Finding, ...]] = tuple
    lost: Lost = none_lost


class HybridCluster(pulumi.ComponentResource):
    """Operator, keys, outside endpoints, slurmdbd, slurmctld, slurmrestd, then NodeSets and login sets.

    slurmrestd stands before the NodeSets and outlives them on destroy: without it the operator takes every node for
    drained. Attributes are what the next person needs: addresses, join commands, fingerprints, slurm.conf lines.
    """

    slurmrestd_url: pulumi.Output[str]
    slurmrestd_ca: pulumi.Output[str]
    slurmd_join: pulumi.Output[str]
    sackd_join: pulumi.Output[str]
    slurm_key_fingerprint: pulumi.Output[str]
    jwt_key_fingerprint: pulumi.Output[str]
    outside_slurm_conf: pulumi.Output[str]
    nodesets: pulumi.Output[dict[str, int]]
    scale_in_plans: pulumi.Output[dict[str, Any]]
    findings: pulumi.Output[list[str]]
    munge_key_fingerprint: pulumi.Output[str]
    munge_client_pod: pulumi.Output[dict[str, Any]]
    client_pods: pulumi.Output[dict[str, Any]]
    token_key_set: pulumi.Output[str]
    keys_since: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, args: HybridClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("HybridCluster"), name, None, opts)
        settings, config = args.settings, args.settings.config
        _require_effect(config)
        scripts = _scripts(config)
        self._authority = _authority(config)
        self._say(settings.findings)
        self.told: pulumi.Output[int] = pulumi.Output.from_input(self._look(args.notices, config.acknowledged))
        # Not named after the cluster: under a new name it would be a new resource, with nothing old to compare with.
        identity = ClusterIdentity("cluster-identity", config, child(self))
        kube = self._kubernetes(name, config, identity)
        if config.keys.auth == "auth/munge":
            self._clients_only(name, settings, kube)
            return
        operator = None
        if config.operator.install:
            operator = Operator(f"{name}-operator", OperatorArgs(config=config), child(self, provider=kube))
        namespace = self._namespace(name, config, kube)
        keys_args = AuthKeysArgs(config=config, keys=settings.keys)
        keys = AuthKeys(f"{name}-keys", keys_args, child(self, namespace, provider=kube))
        endpoints = ExternalEndpoints(
            f"{name}-endpoints", ExternalEndpointsArgs(config=config), child(self, namespace, provider=kube)
        )
        fence = None
        if config.cluster.fence:
            fence = Fence(f"{name}-fence", FenceArgs(config=config), child(self, operator, namespace, provider=kube))
        networks = None
        if config.network_policies.enabled:
            args_ = NetworkPoliciesArgs(config=config)
            networks = NetworkPolicies(f"{name}-networks", args_, child(self, operator, namespace, provider=kube))
        users = self._users(name, settings, kube, namespace)
        first = (operator, namespace, keys, endpoints, fence, networks, self._quota(name, config, kube, namespace), users)
        accounting = self._accounting(name, settings, kube, first)
        controller = Controller(
            f"{name}-controller",
            ControllerArgs(config=config, jwt_key_fingerprint=keys.jwt_key_fingerprint, lost=args.lost),
            child(self, *first, accounting, provider=kube),
        )
        restapi = RestApi(
            f"{name}-restapi", RestApiArgs(config=config, lost=args.lost), child(self, *first, controller, provider=kube)
        )
        if _is_monitored(config):
            watched = MonitoringArgs(cluster=config, settings=config.monitoring)
            Monitoring(f"{name}-monitoring", watched, child(self, *first, provider=kube))
        table = None
        if config.nodes.table:
            rows = NodeTableArgs(cluster=config, settings=config.nodes)
            table = NodeTable(f"{name}-nodes", rows, child(self, identity, provider=kube))
        workers = self._workers(name, config, kube, (*first, controller, restapi, table))
        self._jobs(name, config, scripts, (*first, controller, restapi, *workers))
        self._clients(name, config, kube, keys.client_file(settings.keys), (controller,))
        for each, found in config.tokens.items():
            base = names.user_token(config.cluster.resource_name, each)
            custom_resource("Token", base, config, token_spec(config, each, found), child(self, *first, provider=kube))
        self._outputs(config, keys, controller, restapi, settings)

    async def _look(self, notices: Callable[[], tuple[Finding, ...]], reasons: Mapping[str, str]) -> int:
        found = acknowledged(await asyncio.to_thread(notices), reasons)
        self._say(found)
        return len(found)

    def _say(self, findings: tuple[Finding, ...]) -> None:
        if accepted := dict.fromkeys(each.id for each in findings if each.reason):
            said = f"acknowledged in the stack's file: {', '.join(accepted)} (`slinky check` shows them with their reasons)"
            pulumi.log.info(said, resource=self)
        for finding in (each for each in findings if not each.reason):
            say = pulumi.log.warn if finding.level is Level.WARNING else pulumi.log.info
            say(str(finding), resource=self)

    def _kubernetes(self, name: str, config: StackConfig, identity: ClusterIdentity) -> Provider:
        access = config.kubernetes
        # The SDK would write this shell's $KUBECONFIG into the state. A destroy from another shell would then delete there,
        # while the gates, which read their shell's, drain elsewhere; and each desk's path would be a change to preview.
        shells = [_without_kubeconfig] if access.kubeconfig is None else []
        options = child(self, identity, transformations=shells)
        in_place = config.keys.has_token_keys or config.restapi.tls is not None
        return Provider(
            f"{name}-kubernetes",
            kubeconfig=access.kubeconfig,
            context=access.context,
            # In place, else a Secret that changes is deleted first. Those that are immutable are replaced all the same.
            enable_secret_mutable=True if config.keys.jwks or config.clients or in_place or config.identity.sssd else None,
            enable_config_map_mutable=True if in_place or config.identity.passwd is not None else None,
            opts=options,
        )

    def _namespace(self, name: str, config: StackConfig, kube: Provider) -> Namespace | None:
        if not config.cluster.create_namespace:
            return None
        space, stack = config.cluster.namespace, pulumi.get_stack()
        meta = {"name": space, "labels": namespace_labels(config), "annotations": {names.ANNOTATION_STACK: stack}}
        hooks = first_look("namespace", config, taken.namespace(space, stack, "cluster.createNamespace"))
        keep = config.cluster.keep_namespace
        options = child(self, provider=kube, retain_on_delete=keep, hooks=hooks)
        return Namespace(f"{name}-namespace", metadata=meta, opts=options)

    def _quota(self, name: str, config: StackConfig, kube: Provider, namespace: Namespace | None) -> ResourceQuota | None:
        if not config.cluster.quota:
            return None
        meta = metadata(config, names.resource_quota(config.cluster.resource_name))
        return ResourceQuota(
            f"{name}-quota", metadata=meta, spec=quota_spec(config), opts=child(self, namespace, provider=kube)
        )

    def _users(
        self, name: str, settings: StackSettings, kube: Provider, namespace: Namespace | None
    ) -> pulumi.Resource | None:
        config, options = settings.config, child(self, namespace, provider=kube)
        base = config.cluster.resource_name
        if config.identity.passwd is not None:
            data = passwd_files(config.identity.passwd)
            return ConfigMap(f"{name}-users", metadata=metadata(config, names.users(base)), data=data, opts=options)
        sssd = config.identity.sssd
        if sssd is None or sssd.conf_secret is not None or settings.sssd_conf is None:
            return None
        ca = {} if self._authority is None else {CA: self._authority}
        return Secret(
            f"{name}-sssd",
            metadata=metadata(config, names.sssd_secret(base)),
            string_data={CONF: settings.sssd_conf, **ca},
            opts=pulumi.ResourceOptions.merge(
                options, pulumi.ResourceOptions(additional_secret_outputs=["data", "stringData"])
            ),
        )

    def _accounting(
        self, name: str, settings: StackSettings, kube: Provider, after: tuple[pulumi.Resource | None, ...]
    ) -> Accounting | None:
        if not settings.config.accounting.enabled:
            return None
        password, public = settings.database_password, settings.keys.token_set
        args = AccountingArgs(config=settings.config, database_password=password, token_set=public)
        return Accounting(f"{name}-accounting", args, child(self, *after, provider=kube))

    def _workers(
        self, name: str, config: StackConfig, kube: Provider, after: tuple[pulumi.Resource | None, ...]
    ) -> list[pulumi.Resource]:
        self.nodeset_components = {
            nodeset: NodeSet(
                f"{name}-{nodeset}",
                NodeSetArgs(cluster=config, name=nodeset, settings=settings),
                child(self, *after, provider=kube),
            )
            for nodeset, settings in config.nodesets.items()
        }
        jobs: list[pulumi.Resource] = [*self.nodeset_components.values()]
        if config.external.slurmd_hosts:
            hosts_name = f"{name}-outside-hosts"
            props = outside_props(config, child_urn(self, OutsideHosts, hosts_name))
            jobs.append(OutsideHosts(hosts_name, props, child(self, *after)))
        if config.controller.external is None:
            queue_name = f"{name}-queue"
            queue = queue_props(config, child_urn(self, QueueGate, queue_name))
            jobs.append(QueueGate(queue_name, queue, child(self, *after, *jobs)))
        for login, settings in config.logins.items():
            LoginSet(
                f"{name}-login-{login}",
                LoginSetArgs(cluster=config, name=login, settings=settings),
                child(self, *after, provider=kube),
            )

        return jobs

    def _jobs(
        self, name: str, config: StackConfig, scripts: Mapping[str, str], after: tuple[pulumi.Resource | None, ...]
    ) -> None:
        """Jobs of the stack, after all that runs them; so a destroy ends them first."""
        made: dict[str, pulumi.Output[Any]] = {}
        for job, settings in config.jobs.items():
            logical = f"{name}-job-{job}"
            props = job_props(config, job, settings, scripts[job], child_urn(self, SlurmJob, logical))
            made[job] = SlurmJob(logical, props, child(self, *after)).result
        for job, settings in smoke_jobs(config).items():
            logical = f"{name}-{job}"
            script = scripts_of({job: settings})[job]
            props = job_props(config, job, settings, script, child_urn(self, SlurmJob, logical), row=True)
            made[job] = SlurmJob(logical, props, child(self, *after)).result
        if made:
            pulumi.export("jobs", _by_name(made))

    def _clients(
        self,
        name: str,
        config: StackConfig,
        kube: Provider,
        key: pulumi.Output[str] | None,
        after: tuple[pulumi.Resource | None, ...],
    ) -> None:
        self.client_components = {
            each: Client(
                f"{name}-client-{each}",
                ClientArgs(cluster=config, name=each, settings=settings, key=key),
                child(self, *after, provider=kube),
            )
            for each, settings in config.clients.items()
        }

    def _clients_only(self, name: str, settings: StackSettings, kube: Provider) -> None:
        """A munge cluster: nothing of Slinky's can be of it, so only what its clients' pods need is made."""
        config = settings.config
        key = settings.keys.values.get(MUNGE.config)
        none = pulumi.Output.from_input("")
        self.munge_client_pod = pulumi.Output.from_input({})
        if config.munge.image is not None:
            namespace = self._namespace(name, config, kube)
            args = MungeClientsArgs(config=config, key=key)
            clients = MungeClients(f"{name}-munge", args, child(self, namespace, provider=kube))
            self.munge_client_pod = clients.pod
        self._clients(name, config, kube, key, ())
        self.slurmrestd_url = self.slurmrestd_ca = self.slurmd_join = self.sackd_join = none
        self.slurm_key_fingerprint = self.jwt_key_fingerprint = none
        self.nodeset_components = {}
        self.munge_key_fingerprint = munge_fingerprint(key)
        self.keys_since = _by_name({})
        self._register(config, settings)

    def _outputs(
        self, config: StackConfig, keys: AuthKeys, controller: Controller, restapi: RestApi, settings: StackSettings
    ) -> None:
        join = pulumi.Output.all(controller.join_host, controller.join_port).apply(lambda found: host_port(*found))
        self.slurmrestd_url, self.slurmrestd_ca = restapi.url, restapi.ca
        self.slurmd_join = pulumi.Output.concat("/usr/sbin/slurmd --conf-server ", join)
        self.sackd_join = pulumi.Output.concat("/usr/sbin/sackd --conf-server ", join)
        self.slurm_key_fingerprint = keys.slurm_key_fingerprint
        self.jwt_key_fingerprint = keys.jwt_key_fingerprint
        self.munge_key_fingerprint = pulumi.Output.from_input("")
        self.munge_client_pod = pulumi.Output.from_input({})
        self.keys_since = _by_name(keys.since)
        self._register(config, settings)

    def _register(self, config: StackConfig, settings: StackSettings) -> None:
        self.outside_slurm_conf = pulumi.Output.from_input(outside_slurm_conf(config))
        self.nodesets = _by_name({n: c.replicas for n, c in self.nodeset_components.items()})
        self.client_pods = _by_name({n: c.pod for n, c in self.client_components.items()})
        self.scale_in_plans = _by_name({n: c.plan for n, c in self.nodeset_components.items()})
        self.token_key_set = pulumi.Output.from_input(settings.keys.token_set or "")
        self.findings = pulumi.Output.from_input([_worded(each) for each in settings.findings])
        self.register_outputs(
            {
                "slurmrestd_url": self.slurmrestd_url,
                "slurmrestd_ca": self.slurmrestd_ca,
                "slurmd_join": self.slurmd_join,
                "sackd_join": self.sackd_join,
                "slurm_key_fingerprint": self.slurm_key_fingerprint,
                "jwt_key_fingerprint": self.jwt_key_fingerprint,
                "outside_slurm_conf": self.outside_slurm_conf,
                "nodesets": self.nodesets,
                "scale_in_plans": self.scale_in_plans,
                "findings": self.findings,
                "munge_key_fingerprint": self.munge_key_fingerprint,
                "munge_client_pod": self.munge_client_pod,
                "client_pods": self.client_pods,
                "token_key_set": self.token_key_set,
                "keys_since": self.keys_since,
            }
        )


def _require_effect(config: StackConfig) -> None:
    """Before anything is made: what this release of the operator would drop is an error, never passed over."""
    try:
        require_sound(dropped(config))
    except ConfigError as error:
        raise StackRefused(str(error)) from None


def _scripts(config: StackConfig) -> Mapping[str, str]:
    """Before anything is made: a script that can't be read is an error."""
    try:
        return scripts_of(config.jobs)
    except ConfigError as error:
        raise StackRefused(str(error)) from None


def _authority(config: StackConfig) -> str | None:
    """Before anything is made: a directory's certificate that can't be read is an error."""
    sssd = config.identity.sssd
    if sssd is None or sssd.ca_file is None or config.keys.auth == "auth/munge":
        return None
    try:
        return read_ca(sssd.ca_file)
    except ConfigError as error:
        raise StackRefused(str(error)) from None


def _is_monitored(config: StackConfig) -> bool:
    asked = config.monitoring
    external = asked.slurmctld and config.controller.external is not None
    return external or asked.rules or asked.dashboard or asked.status is not None


def _by_name(found: dict[str, pulumi.Output[Any]]) -> pulumi.Output[dict[str, Any]]:
    """All of them as one; `Output.all` would make a list of none."""
    return pulumi.Output.all(**found) if found else pulumi.Output.from_input({})


def _without_kubeconfig(
    args: pulumi.ResourceTransformationArgs,
) -> pulumi.ResourceTransformationResult:
    return pulumi.ResourceTransformationResult({**args.props, "kubeconfig": None}, args.opts)


def _worded(finding: Finding) -> str:
    return f"{'acknowledged' if finding.reason else finding.level}: {finding}"
