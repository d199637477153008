"""The whole hybrid cluster, composed in an order that holds on the way up and, reversed, on the way down."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pydantic.alias_generators import to_camel

from slinky_iac.addresses import listed
from slinky_iac.blueprint import objects
from slinky_iac.config.files import read_ca
from slinky_iac.config.findings import Finding, Level, acknowledged
from slinky_iac.config.reading.engine import KeyOutputs, StackRefused, StackSettings
from slinky_iac.config.rules.sections import require_sound
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import JWT, SLURM
from slinky_iac.parts.part import Document
from slinky_iac.parts.registry import behind, own_client_pod, parts_of, texts
from slinky_iac.specs.directory import CA, CONF
from slinky_iac.specs.refused import unmakeable
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from slinky_iac.specs.trial import record

from .accounting import Accounting, AccountingArgs
from .auth_keys import AuthKeys, AuthKeysArgs, key_fingerprint
from .blueprint import Blueprint, cluster_document
from .client import Client, ClientArgs
from .cluster_identity import ClusterIdentity, cluster_props
from .connection import ClusterProvider, as_it_is, require_args, share
from .controller import Controller, ControllerArgs
from .external_endpoints import ExternalEndpoints, ExternalEndpointsArgs
from .first_look import Lost, none_lost
from .gates import OutsideHosts, outside_props
from .gates_removals import Removals, removal_props
from .gates_sessions import before_sssd
from .inputs import Given
from .joining import Joinable, by_name, require_alone
from .login_set import LoginSet, LoginSetArgs
from .network_policies import NetworkPolicies, NetworkPoliciesArgs
from .node_set import NodeSet, NodeSetArgs
from .operator import Operator, OperatorArgs
from .own_gates import own_gate
from .part_gates import PartGates, PartGatesArgs
from .part_objects import PartObjects, PartObjectsArgs
from .resources import HIDDEN, child, custom_resource, namespace, register_object
from .rest_api import RestApi, RestApiArgs
from .slurm_conf import ControllerGate, QueueGate, controller_props, queue_props
from .trial import Trial, require_taken
from .watched import watched
from .ways import way_of


async def _none(_config: StackConfig) -> tuple[Finding, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class HybridClusterArgs:
    """``settings``: what :func:`slinky_iac.config.reading.engine.read_stack` returns.

    ``notices``: asks, with the settings and NodeSets that joined, for findings of this very run, such as an outside daemon
    that doesn't answer. Asked for beside the registrations, since answers may take seconds; shown like the others, and no
    part of the stack's outputs. ``lost``: asks whether a custom resource of the state is in Kubernetes. ``trial``: tries the
    stack's files first; None: nothing does.
    """

    settings: StackSettings
    notices: Callable[[StackConfig], Awaitable[tuple[Finding, ...]]] = _none
    lost: Lost = none_lost
    trial: Trial | None = None
    numbers: Mapping[str, pulumi.Output[int]] = field(default_factory=dict)
    """By NodeSet, the number of its nodes where another resource gives it."""
    filled: Callable[[Any], Any] = as_it_is
    """What outputs are shown by: a program's Outputs take the place of placeholders here."""


class HybridCluster(Joinable):
    """Operator, keys, outside endpoints, slurmdbd, slurmctld, slurmrestd, then NodeSets and login sets.

    slurmrestd stands before the NodeSets and outlives them on destroy: without it the operator takes every node for
    drained. Attributes are what the next person needs: addresses, join commands, fingerprints, slurm.conf lines.
    """

    slurmrestd_url: pulumi.Output[str]
    """Address of slurmrestd inside Kubernetes."""
    slurmrestd_ca: pulumi.Output[str]
    """PEM of who signed slurmrestd's certificate, where this stack did."""
    slurmd_join: pulumi.Output[str]
    """Options of slurmd for a host outside that joins this cluster."""
    sackd_join: pulumi.Output[str]
    """Options of sackd for a login host outside that joins this cluster."""
    slurm_key_fingerprint: pulumi.Output[str]
    """Fingerprint of slurm.key, to compare with the file on hosts by eye; no secret."""
    jwt_key_fingerprint: pulumi.Output[str]
    """Fingerprint of the key that slurmctld verifies tokens with."""
    outside_slurm_conf: pulumi.Output[str]
    """Lines that the slurm.conf of an outside slurmctld needs."""
    nodesets: pulumi.Output[dict[str, int]]
    """Replicas of each NodeSet, by its name in Slurm."""
    scale_in_plans: pulumi.Output[dict[str, Any]]
    """By NodeSet, what its last scale-in was to drain, and whose jobs were on it."""
    findings: pulumi.Output[list[str]]
    """Warnings and notes about the settings."""
    munge_key_fingerprint: pulumi.Output[str]
    """Fingerprint of munge.key, with `keys.auth: auth/munge`."""
    munge_client_pod: pulumi.Output[dict[str, Any]]
    """What a pod needs to submit to a cluster with auth/munge: containers, volumes, environment."""
    client_pods: pulumi.Output[dict[str, Any]]
    """By client, what its pod needs: containers, volumes, environment."""
    token_key_set: pulumi.Output[str]
    """The public half of the key that signs this stack's tokens, as a JSON Web Key Set, which slurmctld reads."""
    keys_since: pulumi.Output[dict[str, Any]]
    """By key, when it was written or its Secret was made, as Kubernetes or its source says it."""

    def __new__(cls, name: str = "", args: Any = None, *_: Any, **_more: Any) -> Self:  # noqa: ANN401, ARG004 - a program's
        require_args(cls, HybridCluster, HybridClusterArgs, args)
        return super().__new__(cls)

    def __init__(self, name: str, args: HybridClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        settings, config = args.settings, args.settings.config
        require_alone(name)
        super().__init__("HybridCluster", name, config, opts)
        self.config, self.filled, self._numbers = config, args.filled, args.numbers
        read, authority = _read(config)
        self.judged, self.sections = settings.findings, settings.sections
        self.told: pulumi.Output[int] = pulumi.Output.from_input(self._look(args.notices))
        # Not named after the cluster: under a new name it would be a new resource, with nothing old to compare with.
        identity = ClusterIdentity("cluster-identity", self._identity(config, args.trial), child(self))
        about = cluster_document(config, name, settings.keys.public)
        Blueprint(f"{name}-blueprint", args.filled(about), child(self, identity))
        self._kube = ClusterProvider(f"{name}-kubernetes", config, child(self, identity))
        share(self._kube, config)
        self._without_slurm(settings)
        if not config.auth.makes_daemons:
            self._clients_only(name, settings)
        else:
            self._all(name, args, read, authority, identity)
        self._of_nodesets()
        self.client_pods = by_name({n: c.pod for n, c in self.client_components.items()})
        for attribute in EXPORTS.values():
            setattr(self, attribute, args.filled(getattr(self, attribute)))
        self.register_outputs({attribute: getattr(self, attribute) for attribute in EXPORTS.values()})

    def providers(self, config: ClusterConfig) -> Mapping[str, pulumi.ProviderResource]:  # noqa: ARG002
        """None yet: its own is made after the check of the cluster's identity, and given to each child."""
        return {}

    def exports(self) -> Mapping[str, str]:
        """All that the class declares."""
        return EXPORTS

    def _all(
        self,
        name: str,
        args: HybridClusterArgs,
        read: Mapping[str, Mapping[str, str]],
        authority: str | None,
        identity: ClusterIdentity,
    ) -> None:
        """Everything, where the cluster has auth/slurm."""
        settings, config = args.settings, args.settings.config
        operator = None
        if config.operator.install:
            operator = Operator(f"{name}-operator", OperatorArgs(config=config, filled=args.filled), self._child())
        space = self._namespace(name, config)
        keys = AuthKeys(f"{name}-keys", AuthKeysArgs(config=config, keys=settings.keys), self._child(space))
        endpoints = ExternalEndpoints(f"{name}-endpoints", ExternalEndpointsArgs(config=config), self._child(space))
        guards = self._parts(name, config, (operator, space), first=True)
        networks = None
        if config.network_policies.enabled:
            networks = NetworkPolicies(f"{name}-networks", NetworkPoliciesArgs(config=config), self._child(operator, space))
        for made in objects.trial_record(config):
            register_object(name, config, made, self._child(space), data=self._late(lambda: record(self.config)))
        quotas = [register_object(name, config, quota, self._child(space)) for quota in objects.quota(config)]
        users = self._users(name, settings, authority, space)
        first = (operator, space, keys, endpoints, *guards, networks, *quotas, users)
        accounting = None
        if config.accounting.enabled:
            of_slurmdbd = AccountingArgs(
                config=config, database_password=settings.database_password, token_set=settings.keys.public
            )
            accounting = Accounting(f"{name}-accounting", of_slurmdbd, self._child(*first))
        of_slurmctld = ControllerArgs(
            config=config, jwt_key_fingerprint=keys.jwt_key_fingerprint, lost=args.lost, filled=args.filled
        )
        controller = Controller(f"{name}-controller", of_slurmctld, self._child(*first, accounting))
        restapi = RestApi(f"{name}-restapi", RestApiArgs(config=config, lost=args.lost), self._child(*first, controller))
        prints = {SLURM.config: keys.slurm_key_fingerprint, JWT.config: keys.jwt_key_fingerprint}
        document = partial(watched, config, prints, keys.since, settings.keys.public, args.numbers)
        self._parts(name, config, first, document=document)
        labels = self._before_nodesets(name, config, identity)
        Removals(f"{name}-removals", self._late_props(removal_props, "stands"), child(self, identity))
        workers = self._workers(name, config, controller, (*first, controller, restapi, *labels))
        self._gates(name, config, read, (*first, controller, restapi, *workers))
        self._clients(name, config, keys.client_file(settings.keys), controller, restapi)
        for manifest in behind(config, "slurmrestd"):
            custom_resource(config, manifest, self._child(*first))
        join = listed(config.slurmctld.joins)
        self.slurmrestd_url, self.slurmrestd_ca = restapi.url, restapi.ca
        self.slurmd_join = pulumi.Output.from_input(f"/usr/sbin/slurmd --conf-server {join}")
        self.sackd_join = pulumi.Output.from_input(f"/usr/sbin/sackd --conf-server {join}")
        self.slurm_key_fingerprint, self.jwt_key_fingerprint = keys.slurm_key_fingerprint, keys.jwt_key_fingerprint
        self.keys_since = by_name(keys.since)

    def _identity(self, config: StackConfig, trial: Trial | None) -> Mapping[str, Any]:
        """Props of what stands before all that is of the cluster. They are whole once its files are tried, with the lines of
        NodeSets that join, so nothing changes before."""
        props = cluster_props(config)
        if trial is None:
            return props

        async def tried() -> str:
            await require_taken(trial, await self._late(lambda: self.config), self)
            return config.cluster.name

        return {**props, "clusterName": asyncio.ensure_future(tried())}

    def _child(self, *after: pulumi.Resource | None, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401
        """Options of a child in the cluster's Kubernetes."""
        return child(self, *after, provider=self._kube, **more)

    async def _look(self, notices: Callable[[StackConfig], Awaitable[tuple[Finding, ...]]]) -> int:
        findings = acknowledged(await notices(self.config), self.config.acknowledged)
        say(findings, self, self.given)
        return len(findings)

    def _of_settings(self) -> list[str]:
        """The output ``findings``, and it is said."""
        say(self.judged, self, self.given)
        lines: list[str] = self.filled([_worded(finding) for finding in self.judged])
        return lines

    def _namespace(self, name: str, config: StackConfig) -> Namespace | None:
        made = next(objects.own_namespace(config), None)
        if made is None:
            return None
        more = {"provider": self._kube, "retain_on_delete": config.cluster.keep_namespace}
        return namespace(self, name, "namespace", config, made.name, "cluster.createNamespace", made.labels, **more)

    def _parts(
        self,
        name: str,
        config: StackConfig,
        after: tuple[pulumi.Resource | None, ...],
        *,
        first: bool = False,
        document: Document = str,
        keys: KeyOutputs | None = None,
    ) -> list[pulumi.Resource]:
        """What the parts make before the daemons, or after them."""
        return [
            PartObjects(
                f"{name}-{part.name}",
                PartObjectsArgs(config=config, part=part.name, document=document, keys=keys or KeyOutputs()),
                self._child(*after),
            )
            for part in parts_of(config)
            if part.is_first == first and any(True for _ in part.objects(config, str))
        ]

    def _before_nodesets(self, name: str, config: StackConfig, identity: ClusterIdentity) -> list[pulumi.Resource]:
        """The parts' own gates that NodeSets need. PartGates, which programs make by a part's name alone, asks them again:
        the answer follows from the settings."""
        part_gates = ((part.name, part.before_nodesets(config)) for part in parts_of(config))
        return [
            PartGates(f"{name}-{before.logical}", PartGatesArgs(config=config, part=part), self._child(identity))
            for part, before in part_gates
            if before is not None
        ]

    def _users(
        self, name: str, settings: StackSettings, authority: str | None, space: Namespace | None
    ) -> pulumi.Resource | None:
        config, conf = settings.config, settings.sssd_conf
        for manifest in objects.users(config):
            return register_object(name, config, manifest, self._child(space))  # type: ignore[no-any-return]
        for manifest in objects.sssd(config) if conf is not None else ():
            files = {CONF: conf} if authority is None else {CONF: conf, CA: authority}
            options = self._child(space, hooks=before_sssd(config, way_of(config, self.filled)), **HIDDEN)
            return register_object(name, config, manifest, options, string_data=files)  # type: ignore[no-any-return]
        return None

    def _workers(
        self, name: str, config: StackConfig, controller: Controller, first: tuple[pulumi.Resource | None, ...]
    ) -> list[pulumi.Resource]:
        gate = ControllerGate(f"{name}-slurmctld", self._slurmctld(), controller.resource, child(self, *first))
        self.before_nodesets = after = (*first, gate)
        for nodeset, settings in config.nodesets.items():
            args = NodeSetArgs(cluster=config, name=nodeset, settings=settings, replicas=self._numbers.get(nodeset))
            self.nodeset_components[nodeset] = NodeSet(f"{name}-{nodeset}", args, self._child(*after))
        workers: list[pulumi.Resource] = [*self.nodeset_components.values()]
        if config.external.slurmd_hosts:
            workers.append(OutsideHosts(f"{name}-outside-hosts", outside_props(config), child(self, *after)))
        if config.slurmctld.pods:
            workers.append(QueueGate(f"{name}-queue", queue_props(config), self._after_nodesets(*after, *workers)))
        for login, of_login in config.logins.items():
            logins = LoginSetArgs(cluster=config, name=login, settings=of_login, filled=self.filled)
            LoginSet(f"{name}-login-{login}", logins, self._child(*after))
        return workers

    def _slurmctld(self) -> dict[str, Any]:
        """Props of slurmctld's gate. Of what depends on NodeSets, with those that join."""
        return self._late_props(controller_props, "partitions", "nodesets", "onEachNode")

    def _gates(
        self,
        name: str,
        config: StackConfig,
        read: Mapping[str, Mapping[str, str]],
        after: tuple[pulumi.Resource | None, ...],
    ) -> None:
        """The parts' own gates, after all daemons and nodes; so a destroy ends them first."""
        for part in parts_of(config):
            run = {
                gate.name: own_gate(name, config, gate, self._after_nodesets(*after))
                for gate in part.gates(config, read[part.name])
            }
            if run:
                pulumi.export(part.name, by_name(run))

    def _clients(self, name: str, config: StackConfig, key: pulumi.Output[str] | None, *after: pulumi.Resource) -> None:
        for client, settings in config.clients.items():
            args = ClientArgs(cluster=config, name=client, settings=settings, key=key, filled=self.filled)
            self.client_components[client] = Client(f"{name}-client-{client}", args, self._child(*after))

    def _clients_only(self, name: str, settings: StackSettings) -> None:
        """A munge cluster: nothing of Slinky's can be of it, so only what its clients' pods need is made."""
        config, key = settings.config, settings.keys.values.get(settings.config.auth.client_key.config)
        self._parts(name, config, (self._namespace(name, config),), keys=settings.keys)
        self._clients(name, config, key)
        self.munge_client_pod = pulumi.Output.from_input(own_client_pod(config) or {})
        self.munge_key_fingerprint = key_fingerprint(key)

    def _without_slurm(self, settings: StackSettings) -> None:
        """The outputs, before anything is made: a munge cluster has most of them empty."""
        self.client_components: dict[str, Client] = {}
        self.slurmrestd_url = self.slurmrestd_ca = self.slurmd_join = self.sackd_join = pulumi.Output.from_input("")
        self.slurm_key_fingerprint = self.jwt_key_fingerprint = self.munge_key_fingerprint = self.slurmrestd_url
        self.munge_client_pod = self.keys_since = by_name({})
        self.outside_slurm_conf = pulumi.Output.from_input(outside_slurm_conf(settings.config))
        self.token_key_set = pulumi.Output.from_input(settings.keys.public or "")
        self.findings = pulumi.Output.from_input(self._late(self._of_settings))


EXPORTS: Final[Mapping[str, str]] = {to_camel(attribute): attribute for attribute in inspect.get_annotations(HybridCluster)}
"""Stack outputs, each with the cluster's attribute that it shows. Commands read them by these names."""


def _read(config: StackConfig) -> tuple[Mapping[str, Mapping[str, str]], str | None]:
    """Texts of parts, and the certificate of the directory. Before anything is made: what can't be read, and what this
    release of the operator would drop, or Kubernetes refuse, is an error."""
    sssd = config.identity.sssd if config.auth.makes_daemons else None
    try:
        require_sound(unmakeable(config))
        return texts(config), read_ca(sssd.ca_file) if sssd is not None and sssd.ca_file is not None else None
    except ConfigError as error:
        raise StackRefused(str(error)) from None


def say(findings: tuple[Finding, ...], about: pulumi.Resource, settings: Given | None) -> None:
    """Show findings in the run. No placeholder of ``settings`` is in a message."""
    if settings is not None:
        findings = tuple(replace(notice, message=settings.worded(notice.message)) for notice in findings)
    if accepted := dict.fromkeys(notice.id for notice in findings if notice.reason):
        said = f"acknowledged in the stack's file: {', '.join(accepted)} (`slinky check` shows them with their reasons)"
        pulumi.log.info(said, resource=about)
    for finding in (notice for notice in findings if not notice.reason):
        log = pulumi.log.warn if finding.level is Level.WARNING else pulumi.log.info
        log(str(finding), resource=about)


def _worded(finding: Finding) -> str:
    return f"{'acknowledged' if finding.reason else finding.level}: {finding}"
