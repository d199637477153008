"""A cluster and its parts in one call each, for programs: sections by name, checked with the messages of the YAML way.

A section is a mapping as a stack's file has it, with names in snake_case or camelCase (:mod:`slinky_iac.settings` has
their types). Secrets come from the stack's configuration (`pulumi config set --secret slinky-iac:…`).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

import pulumi

from slinky_iac import settings
from slinky_iac.collector import collect_seldom
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.reading.engine import StackRefused, read_sections, sound_sections
from slinky_iac.config.reading.load import examined, load
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.stack import KEY_FIELDS, SECRET_KEYS, ClusterConfig, StackConfig
from slinky_iac.engine.program_process import end_silently
from slinky_iac.errors import ConfigError
from slinky_iac.ownership import lost
from slinky_iac.parts.registry import PARTS
from slinky_iac.preflight import notices
from slinky_iac.specs.refused import unmakeable
from slinky_iac.specs.workers import nodeset_spec

from .arguments import (
    given_twice,
    named,
    not_at_once,
    not_sections,
    option_faults,
    option_faults_of,
    outside,
    refuse,
    require_arguments,
    require_name,
)
from .connection import described
from .first_look import require_adopted
from .given_secrets import given_secrets, in_plain_text, said_of, wrong_kinds
from .hybrid_cluster import HybridCluster as _Cluster
from .hybrid_cluster import HybridClusterArgs, say
from .inputs import Address, Given, given, taken_for_names
from .joining import require_alone
from .line import place_of_program
from .node_set import NodeSet as _NodeSet
from .node_set import NodeSetArgs
from .refusals import judged, require_none
from .threads import in_thread
from .trial import trial_of

Part = Mapping[str, Any] | None
"""A section: a mapping of its settings' names."""
Hosts = pulumi.Input[str] | Address


class HybridCluster(_Cluster):
    """A whole cluster. ``config`` is what its parts join."""

    given: Given

    def __new__(cls, name: object = "", *_more: Any, **arguments: Any) -> Self:  # noqa: ANN401 - a program's
        require_arguments(cls, f"HybridCluster {name}" if isinstance(name, str) else "HybridCluster", arguments)
        return super().__new__(cls)

    def __init__(  # noqa: PLR0913 - a section each, by name
        self,
        name: str,
        *,
        slurmctld: Hosts | None = None,
        slurmdbd: Hosts | None = None,
        cluster: settings.ClusterSettings | None = None,
        operator: settings.OperatorSettings | None = None,
        keys: settings.KeysSettings | None = None,
        controller: settings.ControllerSettings | None = None,
        accounting: settings.AccountingSettings | None = None,
        restapi: settings.RestApiSettings | None = None,
        nodesets: Mapping[str, settings.NodeSetSettings] | None = None,
        logins: Mapping[str, settings.LoginSetSettings] | None = None,
        partitions: Mapping[str, settings.PartitionSettings] | None = None,
        identity: settings.IdentitySettings | None = None,
        external: settings.ExternalSettings | None = None,
        kubernetes: settings.KubernetesSettings | None = None,
        drain: settings.DrainSettings | None = None,
        database_password: pulumi.Input[str] | None = None,
        slurm_key: pulumi.Input[str] | None = None,
        jwt_key: pulumi.Input[str] | None = None,
        token_key: pulumi.Input[str] | None = None,
        munge_key: pulumi.Input[str] | None = None,
        sssd_conf: pulumi.Input[str] | None = None,
        more: settings.StackSettings | None = None,
        export: bool = True,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """``name``: ClusterName of slurm.conf. ``slurmctld``, ``slurmdbd``: outside hosts, in short for ``controller`` and
        ``accounting``, which may have their ports. ``more``: sections that have no argument here, by their names in the
        configuration: ``more={"nodeset_defaults": {"owner": "autoscaler"}}``. ``database_password``, ``slurm_key``,
        ``jwt_key``, ``token_key``, ``munge_key``, ``sssd_conf``: secrets that another resource gives, as a secret manager;
        by default the stack's of these names. Keys are base64, as the stack's. ``export``: make the outputs that commands
        read, of the whole program.

        Raises :class:`slinky_iac.config.reading.engine.StackRefused` with every error, before anything of it is registered;
        what the program registered earlier goes on.
        """
        end_silently()
        collect_seldom()
        require_name("HybridCluster", name)
        what = f"HybridCluster {name}"
        require_alone(name)
        given_parts: dict[str, Part | Mapping[str, Part]] = {
            "operator": operator,
            "keys": keys,
            "restapi": restapi,
            "nodesets": nodesets,
            "logins": logins,
            "partitions": partitions,
            "identity": identity,
            "external": external,
            "kubernetes": kubernetes,
            "drain": drain,
        }
        first = {"cluster": cluster, "controller": controller, "accounting": accounting}
        faults = [
            *option_faults_of(opts),
            *not_sections({**first, **given_parts, "more": more}),
            *not_at_once({**first, "kubernetes": kubernetes, "more": more}),
        ]
        more_parts = _parts(more)
        faults += given_twice(more_parts, {**first, **given_parts})
        given_parts |= more_parts
        sections, of_hosts = _sections(name, cluster, (controller, slurmctld), (accounting, slurmdbd))
        self.given = inputs = given({**sections, **given_parts}, what=what)
        secrets = {
            "databasePassword": database_password,
            "slurmKey": slurm_key,
            "jwtKey": jwt_key,
            "tokenKey": token_key,
            "mungeKey": munge_key,
            "sssdConf": sssd_conf,
        }
        require_none(what, inputs, faults, of_hosts, wrong_kinds(secrets))
        self.secrets = given_secrets(secrets)
        values = judged(what, inputs, partial(read_sections, inputs.sections, self.secrets, inputs.call), self.secrets)
        config = values.config
        inputs.judge = partial(_faults, self.secrets)
        require_none(what, inputs, _not_yet_known(config, inputs), _must_be_known(config, inputs))
        require_adopted(config)
        inputs.digests(config)
        args = HybridClusterArgs(
            settings=values,
            notices=self._asked,
            lost=partial(lost, config, os.environ, Path.home()),
            numbers=inputs.numbers,
            filled=inputs.filled,
            trial=trial_of(config),
        )
        super().__init__(name, args, _filling(opts, inputs))
        for warning in in_plain_text(self.secrets):
            pulumi.log.warn(warning, resource=self)
        if export:
            self.export()

    async def _asked(self, config: StackConfig) -> tuple[Finding, ...]:
        """What a preview tells of the world, with what is known of the Outputs; nothing is asked of a placeholder."""
        inputs = self.given
        known = await inputs.known()
        config = examined(inputs.with_known(known))[0] or config
        unknown = {placeholder.removeprefix("https://") for placeholder in inputs.outputs.keys() - known.keys()}
        ask = partial(notices, config, os.environ, Path.home(), unknown=frozenset(unknown))
        nothing: tuple[Finding, ...] = ()
        said = (*await taken_for_names(inputs), *await said_of(inputs, self.secrets))
        return (*said, *await in_thread(ask, nothing))


class NodeSet(_NodeSet):
    """One NodeSet and its gate, of a cluster that this program or another one makes."""

    def __new__(cls, name: object = "", *_more: Any, **arguments: Any) -> Self:  # noqa: ANN401 - a program's
        what = f"NodeSet {name}" if isinstance(name, str) else "NodeSet"
        faults = option_faults(arguments)
        if name and arguments.get("cluster") is None:
            faults += (
                "cluster: is needed: cluster=HYBRIDCLUSTER, as the program made it, or sections of another program's",
            )
        if faults:
            raise refuse(what, faults)
        return super().__new__(cls)

    def __init__(
        self,
        name: str,
        *,
        cluster: ClusterConfig | _Cluster | settings.StackSettings,
        slurm_name: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **settings: Unpack[settings.NodeSetSettings],
    ) -> None:
        """``name``: the NodeSet's in Pulumi and, without ``slurm_name``, in Slurm. ``cluster``: a HybridCluster of the
        program, its configuration, or sections of a cluster that another program makes, by name. ``settings``: those of a
        NodeSet, as ``replicas=4, gres=["gpu:8"]``; with ``scaling_mode="DaemonSet"`` it has no ``replicas``. An Output in
        ``replicas`` is judged by the gate alone: previews that don't know it say so.

        Of a HybridCluster, it is made and removed in the order of the cluster's own NodeSets, all rules of the cluster hold
        for it, and the cluster's outputs have it. Make it right after the HybridCluster, and not in an ``apply``.

        Raises :class:`slinky_iac.config.reading.engine.StackRefused` with every error, before anything of it is registered;
        what the program registered earlier goes on.
        """
        end_silently()
        require_name("NodeSet", name)
        what, slurm = f"NodeSet {name}", name if slurm_name is None else slurm_name
        require_name(f"{what}: slurm_", slurm)
        replicas, where = settings.get("replicas"), f"nodesets.{slurm}."
        later = isinstance(replicas, pulumi.Output | Awaitable)
        faults = [*option_faults_of(opts), *_no_number(f"{where}replicas", replicas), *not_sections(settings, where)]
        own = {key: value for key, value in settings.items() if value is not None} | ({"replicas": 1} if later else {})
        config, inputs, said = _joined(what, slurm, cluster, own, faults)
        checked = config.nodesets[slurm]
        joins = cluster.joining(name, config, said, inputs) if isinstance(cluster, _Cluster) else None
        whole = cluster if isinstance(cluster, ClusterConfig) else config
        inputs.digest(nodeset_spec(whole, slurm, checked))
        asked = replicas if later else None
        args = NodeSetArgs(cluster=whole, name=slurm, settings=checked, replicas=asked, filled=inputs.filled)
        super().__init__(name, args, pulumi.ResourceOptions.merge(_filling(opts, inputs), joins))
        if isinstance(cluster, _Cluster):
            cluster.joined(slurm, self, inputs.filled)
        else:
            say(said, self, inputs)


Joined = tuple[StackConfig, Given, tuple[Finding, ...]]
"""The settings of a cluster with a NodeSet of its own, the same with placeholders, and what is to say about them."""


def _joined(
    what: str,
    name: str,
    cluster: ClusterConfig | _Cluster | settings.StackSettings,
    own: Mapping[str, Any],
    faults: Sequence[Finding],
) -> Joined:
    """The settings of a NodeSet in those of its cluster, as far as the program has them. Raises :class:`StackRefused`, with
    the ``faults`` that are known."""
    if isinstance(cluster, _Cluster):
        return _in_cluster(what, name, cluster, own, faults)
    if not isinstance(cluster, ClusterConfig | Mapping):
        raise refuse(what, (f"cluster: takes a HybridCluster, its config, or sections by name; got {described(cluster)}",))
    around = _parts(cluster) if isinstance(cluster, Mapping) else {"cluster": {"name": cluster.cluster.name}}
    inputs = given({**around, "nodesets": {name: own}}, what=what)
    require_none(what, inputs, faults)
    inputs.judge = _faults_of_part
    stack = judged(what, inputs, partial(load, inputs.sections), {})
    if isinstance(cluster, ClusterConfig):
        stack = stack.model_copy(update={field: getattr(cluster, field) for field in ClusterConfig.model_fields})
    every = findings(stack, frozenset(SECRET_KEYS))  # of the other sections, the program that makes the cluster says them
    said = [finding for finding in every if finding.path.split(".")[:2] == ["nodesets", name]]
    return stack, inputs, judged(what, inputs, partial(require_sound, tuple(said)), {})


def _in_cluster(what: str, name: str, cluster: _Cluster, own: Mapping[str, Any], faults: Sequence[Finding]) -> Joined:
    """The same of a cluster of the program, judged as if the NodeSet were one of its ``nodesets``."""
    if name in cluster.config.nodesets:
        where = f"HybridCluster {cluster.config.cluster.name} has a NodeSet {name} already"
        raise StackRefused(f"{what}{place_of_program()}: {where}; remove one, or give this one another slurm_name")
    inputs = given({"nodesets": {name: own}}, cluster.given or Given(sections=dict(cluster.sections)), what=what)
    require_none(what, inputs, faults)

    def sound() -> tuple[StackConfig, tuple[Finding, ...]]:
        values = sound_sections(inputs.sections, cluster.secrets)
        require_sound(unmakeable(values.config))
        return values.config, values.findings

    config, said = judged(what, inputs, sound, cluster.secrets)
    return config, inputs, said


def _parts(sections: settings.StackSettings | Mapping[str, Part] | None) -> dict[str, Any]:
    """Sections by name, whose settings are judged when they are read; none where it is said that they are no mapping."""
    return dict(sections) if isinstance(sections, Mapping) else {}


def _no_number(path: str, replicas: object) -> list[Finding]:
    """The fault of a number that came as a text."""
    if not isinstance(replicas, str):
        return []
    return [at(path).error(f"takes a whole number, got the text {described(replicas)}; use config.require_int")]


def _sections(
    name: str, cluster: Part, slurmctld: tuple[Part, Hosts | None], slurmdbd: tuple[Part, Hosts | None]
) -> tuple[dict[str, Any], list[Finding]]:
    """The sections that other arguments say a part of."""
    own, faults = named(_parts(cluster), name)
    sections: dict[str, Any] = {"cluster": own}
    for section, (part, host) in (("controller", slurmctld), ("accounting", slurmdbd)):
        sections[section], wrong = (part, []) if host is None else outside(section, _parts(part), host)
        faults += wrong
    return sections, faults


def _not_yet_known(config: StackConfig, inputs: Given) -> list[Finding]:
    """The error where a trial of the files would need what another resource gives, before anything is made."""
    if not (inputs.outputs and config.slurmctld.tries_files):
        return []
    from slinky_iac.preflight.trial import made_of  # noqa: PLC0415 - few stacks ask for a trial

    if not any(placeholder in text for placeholder in inputs.outputs for text in made_of(config)):
        return []
    return [
        at("controller.trial.enabled").error(
            "true, and an Output is in what it tries: slurm.conf, slurmdbd.conf, or the image or the place of their daemons."
            " The trial is made before anything else is. Give these as texts (cluster.images.slurmctld,"
            " cluster.images.slurmdbd, nodeSelector and affinity of controller.pod and accounting.pod, addresses), or set"
            " enabled: false"
        )
    ]


def _must_be_known(config: StackConfig, inputs: Given) -> list[Finding]:
    """Errors of Outputs that decide, with another setting, what is made: names of Secrets that the cluster makes, numbers of
    nodes by which parts make something."""
    ours = {path: key.the for path, key in KEY_FIELDS.items()} if config.key_source.makes_secrets else {}
    unnamed = [fault for name in inputs.numbers for part in PARTS for fault in part.unknown_number(config, name)]
    return unnamed + [
        at(f"{path}.secret").error(
            f"can't be an Output with keys.source: {config.key_source.setting}, since the cluster makes the Secret of {key}:"
            " give its name as a text, or set keys.source: existing"
        )
        for path, key in ours.items()
        if f"{path}.secret" in inputs.by_path
    ]


def _faults(secrets: Mapping[str, pulumi.Input[str]], sections: Mapping[str, Any]) -> Sequence[str]:
    """What is wrong with the settings of a whole cluster."""
    try:
        sound_sections(sections, secrets, with_keys=False)
    except ConfigError as error:
        return error.faults
    return ()


def _faults_of_part(sections: Mapping[str, Any]) -> Sequence[str]:
    """The same of settings that no cluster is at hand for."""
    return tuple(map(str, examined(sections)[1]))


def _filling(opts: pulumi.ResourceOptions | None, inputs: Given) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[inputs.fill]))
