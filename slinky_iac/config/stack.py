"""A stack's whole configuration as one frozen value, and its JSON schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field
from pydantic.alias_generators import to_camel

from slinky_iac import names
from slinky_iac.config.adopted import Adopted
from slinky_iac.config.auth import SlurmAuth
from slinky_iac.config.base import Section
from slinky_iac.config.clients import Clients
from slinky_iac.config.fields import ContextName, FilePath, Reason, SlurmUser, Url, checked
from slinky_iac.config.findings import GENERAL, OF_ONE_PLACE
from slinky_iac.config.identity import Identity
from slinky_iac.config.networks import NetworkPolicies
from slinky_iac.config.sections import Cluster, Keys, Operator
from slinky_iac.config.shown import Refused
from slinky_iac.config.workers import (
    Drain,
    External,
    LoginSetDefaults,
    LoginSets,
    NodeSet,
    NodeSetDefaults,
    NodeSets,
    Partitions,
    SlurmrestdAddress,
)
from slinky_iac.keys.catalogue import Key, SecretEntry
from slinky_iac.keys.registry import ROTATING, SECRETS
from slinky_iac.keys.sources import KEY_SOURCES, KeySource
from slinky_iac.parts.jobs.settings import Jobs, Smoke, UserTokens
from slinky_iac.parts.monitoring.settings import Monitoring
from slinky_iac.parts.munge.settings import Munge, MungeAuth
from slinky_iac.parts.node_table.settings import Nodes
from slinky_iac.parts.slurmctld.place import Slurmctld, slurmctld_of
from slinky_iac.parts.slurmctld.settings import Controller
from slinky_iac.parts.slurmdbd.place import Slurmdbd, slurmdbd_of
from slinky_iac.parts.slurmdbd.settings import Accounting
from slinky_iac.parts.slurmrestd.place import Slurmrestd, slurmrestd_of
from slinky_iac.parts.slurmrestd.settings import RestApi
from slinky_iac.parts.tokens.signing import Signing, signing_of
from slinky_iac.releases import OperatorVersion, of_image, release_numbers
from slinky_iac.text import closest

PROJECT = "slinky-iac"
"""Pulumi project, and so the namespace of the configuration keys (``slinky-iac:cluster``)."""
SSSD_CONF = "sssdConf"


_PREFLIGHT = re.compile(r"preflight\.[a-z][a-z-]{1,40}")


def _finding(value: str) -> str:
    kind, place, _ = value.partition("@")
    if kind in OF_ONE_PLACE and not place:
        raise Refused(value, f", which is acknowledged for one setting: {kind}@PATH, as the finding's message has it")
    if kind in KINDS or _PREFLIGHT.fullmatch(kind):
        return value
    near = closest(value, KINDS)
    did = f"did you mean {near}?" if near else "a finding shows its id in brackets, and an error has none"
    raise Refused(value, f", which isn't the id of a finding; {did} (`slinky docs findings`)")


FindingId = Annotated[str, checked(_finding)]
"""An id of a warning or a note, as docs/findings.md lists them, or ``preflight.<check>``."""


class Access(SlurmrestdAddress):
    """How drains reach slurmrestd from where `pulumi` runs."""

    url: Url | None = None
    """A direct address of slurmrestd. By default the Kubernetes API server's service proxy, so a kubeconfig is enough."""
    user: SlurmUser = names.SLURM_USER
    """Slurm user that tokens of gates and commands name: SlurmUser, or one with AdminLevel=Admin in slurmdbd; a lower level
    is an error before anything is drained. Slurm's logs and reasons show a separate user, and `sacctmgr` can take its rights
    away."""


class Kubernetes(Section):
    """Which Kubernetes cluster. Resources and drains use the same one: that is why it is said here, once."""

    kubeconfig: FilePath | None = None
    """Path of a kubeconfig file; by default $KUBECONFIG or the usual place. Each run of pulumi leaves a copy of a file
    that is named here in $TMPDIR, readable by its user only: pulumi-kubernetes makes it. With $KUBECONFIG it makes none."""
    context: ContextName | None = None
    """Context of it; by default the current one."""
    cluster: str | None = Field(default=None, pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    """UID of the namespace kube-system: a preview or an update fails if another Kubernetes cluster answers, or none. By
    default the stack keeps to the cluster of its first `pulumi up`, where that can be asked."""


class ClusterConfig(Section):
    """A cluster without those who work in it: what a NodeSet or a LoginSet has to know, in whichever program it is made."""

    cluster: Cluster
    """The Slurm cluster and its namespace."""
    operator: Operator = Operator()
    """slurm-operator."""
    keys: Keys = Keys()
    """slurm.key and JWT key."""
    munge: Munge = Munge()
    """Clients of a cluster with auth/munge."""
    controller: Controller = Controller()
    """slurmctld."""
    accounting: Accounting = Accounting()
    """slurmdbd."""
    restapi: RestApi = RestApi()
    """slurmrestd."""
    identity: Identity = Identity()
    """How slurmctld, slurmd and login pods know the cluster's users."""
    drain: Drain | None = None
    """Drain settings for all NodeSets that have none of their own."""
    kubernetes: Kubernetes = Kubernetes()
    """Which Kubernetes cluster."""
    slurmrest: Access = Access()
    """How this program reaches slurmrestd."""
    adopted: Adopted | None = None
    """What the stack took over from a Helm release. `slinky adopt` writes it."""

    @property
    def auth(self) -> SlurmAuth | MungeAuth:
        """How the daemons of the cluster know each other. Nothing else chooses."""
        return MungeAuth(self.munge) if self.keys.auth == MungeAuth.name else SlurmAuth(self.keys)

    @property
    def key_source(self) -> KeySource:
        """Where these keys come from. Nothing else chooses."""
        return KEY_SOURCES[self.keys.source]

    @property
    def signing(self) -> Signing:
        """What signs the tokens of gates and commands."""
        return signing_of(self.keys)

    @property
    def slurmctld(self) -> Slurmctld:
        """slurmctld, in Kubernetes or outside."""
        return slurmctld_of(self.controller, self.cluster)

    @property
    def slurmdbd(self) -> Slurmdbd:
        """slurmdbd: none, in Kubernetes or outside."""
        return slurmdbd_of(self.accounting, self.cluster)

    @property
    def slurmrestd(self) -> Slurmrestd:
        """slurmrestd in Kubernetes, with or without TLS."""
        return slurmrestd_of(self.restapi, self.cluster)

    @property
    def installs_operator(self) -> bool:
        """Whether the stack deploys slurm-operator, which its clients alone don't need."""
        return self.operator.install and self.auth.makes_daemons

    @property
    def bundled(self) -> tuple[Key, ...]:
        """Keys of which daemons get several at once, so that one is replaced under running jobs."""
        return (*self.auth.bundled, *self.own_keys)

    @property
    def made_keys(self) -> tuple[Key, ...]:
        """Keys whose Secrets the stack makes."""
        return (*(self.auth.keys if self.key_source.makes_secrets else ()), *self.own_keys)

    @property
    def own_keys(self) -> tuple[Key, ...]:
        """Keys of this program alone, which sign tokens and which no daemon has."""
        return self.signing.own_keys if self.auth.makes_daemons else ()

    @property
    def in_configuration(self) -> tuple[Key, ...]:
        """Keys whose values are the stack's secret configuration values."""
        shared = self.auth.keys if self.key_source.configured else ()
        return (*shared, *self.own_keys)

    @property
    def key_entries(self) -> tuple[SecretEntry, ...]:
        """Where the keys are that daemons of Slinky's and this program can have, used or not."""
        return tuple(self.secret_of(key) for key in ROTATING)

    @property
    def operator_version(self) -> OperatorVersion:
        """The operator's release, which decides the shape of every spec."""
        return self.operator.parsed

    @property
    def slurm_release(self) -> str:
        """slurmctld's major release, e.g. ``26.05``: as the tag of its own image has it, as it is set, or the operator's."""
        own = of_image(self.slurmctld.image)
        return own or self.cluster.slurm_version or self.operator_version.slurm_release

    @property
    def slurm_numbers(self) -> tuple[int, ...]:
        """The same as numbers, e.g. ``(26, 5)``."""
        return release_numbers(self.slurm_release)

    def secret_of(self, key: Key) -> SecretEntry:
        """Where a key is: its Secret and the entry in it, for keys of the stack and of others."""
        section, field = _KEY_FIELDS.get(key, ("", ""))
        named = getattr(getattr(self, section), field) if section else None
        return SecretEntry(key.secret(self.cluster.resource_name), key.file) if named is None else named.entry(key.file)

    def bundle_of(self, key: Key) -> SecretEntry | None:
        """Where daemons get several keys of this kind at once, so that one is replaced under running jobs; None where they
        get one."""
        return key.bundle_at(self.cluster.resource_name) if key in self.bundled else None

    def drain_for(self, nodeset: NodeSet) -> Drain:
        """Drain settings that hold for a NodeSet: its own, else the cluster's, else the defaults."""
        return nodeset.drain if "drain" in nodeset.model_fields_set or self.drain is None else self.drain


class StackConfig(ClusterConfig):
    """Everything that one stack says about its hybrid cluster."""

    nodeset_defaults: NodeSetDefaults | None = None
    """What all NodeSets have, unless their own section says another. `slinky check --resolved` shows what comes of it."""
    nodesets: NodeSets = Field(default_factory=dict)
    """NodeSets by name."""
    partitions: Partitions = Field(default_factory=dict)
    """Partitions over several NodeSets, by name."""
    login_defaults: LoginSetDefaults | None = None
    """What all login sets have, in the same way."""
    logins: LoginSets = Field(default_factory=dict)
    """Login sets by name."""
    clients: Clients = Field(default_factory=dict)
    """Clients of the cluster in pods of your own (Jupyter, CI, portals), by name: each in a namespace that isn't the
    cluster's."""
    external: External = External()
    """What lives outside Kubernetes."""
    network_policies: NetworkPolicies = NetworkPolicies()
    """Who may connect to the stack's pods."""
    jobs: Jobs = Field(default_factory=dict)
    """Slurm jobs that `pulumi up` submits through slurmrestd, by name."""
    monitoring: Monitoring = Monitoring()
    """What Prometheus and Grafana are given."""
    nodes: Nodes = Nodes()
    """One table of nodes for Kubernetes and Slurm."""
    tokens: UserTokens = Field(default_factory=dict)
    """Tokens of slurmrestd for programs in Kubernetes, by name: slurm-operator makes and renews them."""
    smoke: Smoke = Smoke()
    """Short jobs that show, after each `pulumi up`, that every partition runs jobs."""
    acknowledged: dict[FindingId, Reason] = Field(default_factory=dict)
    """Findings that you accept: the id of each, as docs/findings.md lists it, and your reason. Of one that refuses the stack
    the message has the id with its setting: `slurm-runs@controller.extraConf.MailProg`. A preview no longer
    warns of them and names their ids in one line; `slinky check` shows them with their reasons."""

    @property
    def in_control(self) -> frozenset[str]:
        """Users in whose name the stack gives no token and submits no job: who is one of them rules the cluster."""
        return frozenset({"root", names.SLURM_USER, self.slurmrest.user})

    def drain_of(self, nodeset: str) -> Drain:
        """Drain settings that hold for the NodeSet of that name."""
        return self.drain_for(self.nodesets[nodeset])


def sections() -> dict[str, type[Section]]:
    """The sections that are one mapping each, by their names in a stack's file."""
    fields = {field.alias or name: field.annotation for name, field in StackConfig.model_fields.items()}
    return {
        name: annotation
        for name, annotation in fields.items()
        if isinstance(annotation, type) and issubclass(annotation, Section)
    }


_KEY_FIELDS: Final = {
    key: (name, field) for name, section in sections().items() for field, key in section.key_fields.items()
}
KEY_FIELDS: Final = {f"{name}.{to_camel(field)}": key for key, (name, field) in _KEY_FIELDS.items()}
"""Settings that say where a key is."""
_OF_PARTS: Final = tuple(key for key in _KEY_FIELDS if key not in ROTATING)
KEYS: Final = (*ROTATING, *_OF_PARTS)
"""All keys that a stack can have."""
SECRET_KEYS = (*SECRETS[:2], "databasePassword", *(key.config for key in _OF_PARTS), *SECRETS[2:], SSSD_CONF)
"""Configuration values that are set by ``pulumi config set --secret`` only and never enter :class:`StackConfig`."""
FIRST_SECRETS = frozenset(SECRET_KEYS) - {name for key in ROTATING for name in key.rotation_secrets}
"""Secrets that a stack may need from its first `pulumi up` on."""


def _below(kind: type[Section]) -> Iterator[type[Section]]:
    """All sections, those within others included."""
    for section in kind.__subclasses__():
        yield section
        yield from _below(section)


KINDS: Final[Mapping[str, str]] = {
    **GENERAL,
    **{name: text for section in _below(Section) for name, text in section.finding_ids.items()},
}
"""Every id of a warning or a note about settings, and what docs/findings.md says of it."""
MEANT: Final[Mapping[tuple[str, str], str]] = {
    slip: text for section in _below(Section) for slip, text in section.meant.items()
}
"""Settings with values by which people mean another section, and what each is here."""
VARIABLES: Final = tuple(variable for section in _below(Section) for variable in section.variables)
"""What names of environment variables begin with by which libraries of parts find files and sockets."""
SECRET_WORDS: Final[Mapping[str, str]] = {
    name: text for section in _below(Section) for name, text in section.secrets.items()
}
"""What each secret of a stack is, for the reference and for the package's schema."""


def json_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of ``Pulumi.<stack>.yaml`` for editors: every section with its descriptions."""
    model = StackConfig.model_json_schema(by_alias=True)
    definitions = model.pop("$defs")
    config = {f"{PROJECT}:{name}": schema for name, schema in model["properties"].items()}
    secret = {
        "description": "Secret: set it by `pulumi config set --secret`.",
        "type": "object",
        "properties": {"secure": {"type": "string"}},
        "required": ["secure"],
        "additionalProperties": False,
    }
    config |= {f"{PROJECT}:{name}": secret for name in SECRET_KEYS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Pulumi.<stack>.yaml of {PROJECT}",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": config,
                "required": [f"{PROJECT}:{name}" for name in model["required"]],
                "patternProperties": {f"^(?!{PROJECT}:)": {}},
                "additionalProperties": False,
            }
        },
        "required": ["config"],
        "$defs": definitions,
    }
