"""What a part answers. A part is one thing that a Slurm person can name; what there is of it is in one folder here.

Every method is pure and answers for one configuration. A part says what concerns it; the loops that ask are elsewhere,
once: rules in ``config/rules/sections.py``, objects in ``blueprint/objects.py``, pieces of daemons' pods in
``specs/daemons.py``, notices in ``preflight/preview.py``, APIs in ``preflight/kube_questions.py``, rights in
``commands/rights``, guards in ``commands/status`` and ``commands/drift``, metrics in the specs of slurmctld.
docs/add-a-part.md has the smallest example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from slinky_iac import names
from slinky_iac.config.clients import Client
from slinky_iac.config.findings import Finding
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.keys.catalogue import Key, SecretEntry
from slinky_iac.specs.objects import Object
from slinky_iac.specs.rights import Right, Use
from slinky_iac.specs.shared import Spec

if TYPE_CHECKING:  # a program asks for no rows, and compares nothing
    from slinky_iac.kube.machines import Machine
    from slinky_iac.preflight.check import Expect

Rule = Callable[[StackConfig, frozenset[str]], Iterator[Finding]]
"""Findings about a configuration. The second argument has the names of the secret values that are set."""
Document = Callable[[], Any]
"""Makes the text of names.WATCHED_FILE: what the stack is, without secrets, for a program that has no state."""


@dataclass(frozen=True)
class Parameter:
    """What a parameter of an outside slurm.conf must be."""

    value: Callable[[ClusterConfig], str]
    calls: Callable[[str, str, Mapping[str, str]], Iterator[tuple[str, ...]]] | None = None
    """Calls of the hand-off's check.sh for a value that names files, of the configuration file, the value and the files that
    are public; None for a value that is compared."""


@dataclass(frozen=True)
class Api:
    """An API group that the part's objects need."""

    group: str
    missing: Finding
    """What is said where the Kubernetes cluster doesn't serve it."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of Kubernetes objects that an older Kubernetes doesn't serve, and without which the part can't be."""

    api: str
    """Group and version."""
    kind: str
    """The one that is named in messages."""
    resources: frozenset[str]
    """All of them, as RBAC names them."""
    off: str
    """Its line in the stack's file that does."""
    unserved: str
    """What is found where they aren't served."""
    change: str
    """What to do then."""
    since: str
    """What is needed, where it isn't known whether they are served."""
    missing: Finding
    """What a preview says where they aren't. Its path is the setting that turns the part off."""


@dataclass(frozen=True)
class OutsideFile:
    """A file that an outside slurmctld needs beside its slurm.conf. An admin's own file of this name stays."""

    name: str
    text: str
    check: str
    """Function of the hand-off's check.sh that says what the file lacks, of its path and ``entries``."""
    entries: tuple[str, ...]


@dataclass(frozen=True)
class MadeOnce:
    """A value that a gate keeps as long as it lives. A resource beside the gate makes it: so it is in the state before the
    gate's first act."""

    kind: str
    """What its resource's type ends with; its provider is among :attr:`Part.providers`."""
    logical: str
    """Its resource's name, below the gate's."""
    props: Mapping[str, Any]
    """Its properties, which are all that its provider needs."""
    made: str
    """The property that its provider fills in, and the gate's property that gets it."""


@dataclass(frozen=True)
class OwnGate:
    """A gate that a part asks for: a resource whose provider is this program's."""

    kind: str
    """What its resource's type ends with; its provider is among :attr:`Part.providers`."""
    logical: str
    """Its resource's name, below that of its parent."""
    props: Mapping[str, Any]
    """Its properties, besides those of all gates of a stack."""
    made: str
    """The property that its provider fills in: what came of it."""
    name: str = ""
    """Its name in the stack's output, which is called like the part, where there is one."""
    once: MadeOnce | None = None


@dataclass(frozen=True)
class Before:
    """Gates that stand before all NodeSets, as children of the part's component."""

    logical: str
    """The component's name, below that of the cluster."""
    gates: tuple[OwnGate, ...]


@dataclass(frozen=True)
class Guard:
    """A part whose objects keep others from an act: once they are gone or changed, nothing else would show it. `status`,
    `drift` and metrics compare them with what the stack has made, and say this."""

    off: Mapping[str, Mapping[str, object]]
    """Settings without which a stack has none of it, by section."""
    policies: frozenset[str]
    """Kinds of its objects, of admissionregistration.k8s.io/v1."""
    states: Mapping[str, str]
    """What each state means: ``stands``, ``off`` (the stack has none), ``broken``, ``unknown``."""
    open_to: Callable[[str], str]
    """What can happen while the object of this name is gone or changed."""
    broken: str
    """The state in a summary's words."""
    step: str
    """What to do next, where it is broken."""
    metric: str
    about_metric: str
    """The metric's help: when it is 1."""


class OnMachines(Protocol):
    """What a resource of a part has set on Kubernetes nodes."""

    def differences(self, live: Mapping[str, Machine]) -> Iterable[tuple[str, str]]:
        """Node and text of each difference to the nodes as they are."""

    def place_of(self, machine: str) -> str:
        """The place in Slurm's topology that it gives a node, and so the node's pods; empty for none."""


class Part:
    """The interface; a part overrides what it has something to say to."""

    name: ClassVar[str]
    """The folder's name. Logical names of its resources end with it."""
    component: ClassVar[str] = ""
    """Type of the component that its objects are children of, as URNs have it; empty where it makes none."""
    is_first: ClassVar[bool] = False
    """Whether its objects are made before all daemons and NodeSets, and removed after them; else they are made after."""
    needs_daemons: ClassVar[bool] = True
    """Whether only a stack that makes daemons can have it; others make clients only."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    guard: ClassVar[Guard | None] = None
    kinds: ClassVar[Kinds | None] = None
    daemon_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules of stacks that make daemons; others make clients only."""
    client_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules of these others."""

    key_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules of its keys, which are said before those of keys that daemons share."""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    """Parameters that an outside slurm.conf must have because of it."""

    providers: ClassVar[Mapping[str, str]] = {}
    """Classes of the providers of its own resources, by the end of these resources' types: states have these names."""

    metrics_reader: ClassVar[tuple[str, str] | None] = None
    """Who of it reads the metrics of slurmctld, and the setting that asks for that, in words."""
    looks_by: ClassVar[str] = ""
    """The setting of objects that look at the :data:`Document`."""

    key: ClassVar[Key | None] = None
    """A key of its own, by which clients prove themselves. Its component shows the fingerprint."""
    conf_read: ClassVar[tuple[str, ...]] = ()
    """Parameters of a running slurm.conf by which :meth:`pods_lack` judges."""

    users: ClassVar[frozenset[str]] = frozenset()
    """Users and groups of hosts and images by which its daemons have their rights; no person has such a name."""
    volumes: ClassVar[tuple[str, ...]] = ()
    """What names of volumes begin with by which it finds its own in a pod."""

    def applied(self, config: StackConfig) -> StackConfig:
        """The configuration with what the part's section means for other sections, before anything is asked of it."""
        return config

    def outputs(self, config: StackConfig) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Outputs of a program that the settings alone say."""
        return ()

    def outside_files(self, config: StackConfig) -> Iterable[OutsideFile]:  # noqa: ARG002
        """Files that an outside slurmctld needs of it."""
        return ()

    def objects(self, config: StackConfig, document: Document) -> Iterable[Object]:  # noqa: ARG002
        """The Kubernetes objects that it makes, in their order."""
        return ()

    def beside(self, config: ClusterConfig, daemon: names.Part) -> Iterable[Object]:  # noqa: ARG002
        """Objects that a daemon's pods need: its component makes them before the daemon."""
        return ()

    def behind(self, config: StackConfig, daemon: names.Part) -> Iterable[Object]:  # noqa: ARG002
        """Custom resources that need a daemon: made after it."""
        return ()

    def texts(self, config: StackConfig) -> Mapping[str, str]:  # noqa: ARG002
        """Texts that are read before anything is made, for :meth:`gates`. Raises :class:`slinky_iac.errors.ConfigError`
        with all that can't be read or used."""
        return {}

    def gates(self, config: StackConfig, texts: Mapping[str, str]) -> Iterable[OwnGate]:  # noqa: ARG002
        """Gates after all daemons and nodes; so a destroy ends them first."""
        return ()

    def before_nodesets(self, config: StackConfig) -> Before | None:  # noqa: ARG002
        """Gates before all NodeSets, which need what they set; None where it has no component there."""
        return None

    def environments(self, config: StackConfig) -> Iterable[tuple[str, Mapping[str, str]]]:  # noqa: ARG002
        """Environments of jobs that its settings give, by these settings."""
        return ()

    def job_scripts(self, config: StackConfig) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Scripts that nodes run as jobs, by the settings that have them."""
        return ()

    def unknown_number(self, config: StackConfig, nodeset: str) -> Iterable[Finding]:  # noqa: ARG002
        """Errors of settings that decide by the number of a NodeSet's nodes, where a program has an Output there."""
        return ()

    def written_secrets(self, config: StackConfig) -> Iterable[tuple[str, str | None]]:  # noqa: ARG002
        """Secrets that others write on the part's behalf, where settings name them, by these settings."""
        return ()

    def held_secrets(self, config: StackConfig) -> Mapping[str, str]:  # noqa: ARG002
        """Names of the Secrets of its daemons that no pod of jobs may have, and what they hold."""
        return {}

    def inside_conf(self, config: ClusterConfig) -> Mapping[str, str]:  # noqa: ARG002
        """Parameters that slurm.conf and slurmdbd.conf in Kubernetes need of it, besides the operator's own."""
        return {}

    def pod_of(self, config: ClusterConfig, daemon: names.Part) -> Spec:  # noqa: ARG002
        """What it adds to a daemon's pods: ``metadata`` and ``spec`` of their template."""
        return {}

    def client_pod(
        self,
        config: ClusterConfig,  # noqa: ARG002
        client: Client,  # noqa: ARG002
        key: SecretEntry,  # noqa: ARG002
        files: str,  # noqa: ARG002
    ) -> Spec | None:
        """What a client's pod needs that proves itself in the part's way: ``key`` is its Secret, ``files`` its ConfigMap.
        None where clients have sackd."""
        return None

    def own_client_pod(self, config: StackConfig) -> Spec | None:  # noqa: ARG002
        """What pods of yours in the cluster's own namespace take into their specs to be its clients; None for nothing."""
        return None

    def client_files(self, config: ClusterConfig) -> Mapping[str, str]:  # noqa: ARG002
        """What the ConfigMap of a client needs for that."""
        return {}

    def of_nodeset(self, config: ClusterConfig, name: str, nodeset: NodeSet) -> Iterable[Object]:  # noqa: ARG002
        """Objects that come and go with a NodeSet: made after its gate, so gone before the gate drains the last nodes."""
        return ()

    def gate_props(self, config: ClusterConfig, name: str, nodeset: NodeSet) -> Mapping[str, Any]:  # noqa: ARG002
        """What a NodeSet's gate has to know of them, besides its own properties."""
        return {}

    def notices(self, config: StackConfig, today: date) -> Iterable[Finding]:  # noqa: ARG002
        """What a preview says of it on this day."""
        return ()

    def apis(self, config: StackConfig) -> Iterable[Api]:  # noqa: ARG002
        """API groups that Kubernetes must serve for them."""
        return ()

    def asks_slurmctld(self, config: StackConfig) -> bool:  # noqa: ARG002
        """Whether pods of others ask slurmctld itself for its metrics, on the part's behalf."""
        return False

    def reads_metrics(self, config: StackConfig) -> bool:  # noqa: ARG002
        """Whether it needs the metrics of slurmctld."""
        return False

    def service_monitor(self, config: StackConfig) -> Spec | None:  # noqa: ARG002
        """``metrics.serviceMonitor`` of a Controller in Kubernetes, where it has a say in that."""
        return None

    def pods_lack(self, running: Mapping[str, str], config: StackConfig | None) -> Iterable[str]:  # noqa: ARG002
        """What pods would lack in a cluster that runs with these parameters, for `slinky init`; ``config``: None where the
        settings aren't whole yet."""
        return ()

    def rights(self, config: StackConfig, use: Use) -> Iterable[Right]:  # noqa: ARG002
        """What an account of this use may do beyond making, changing and removing its objects."""
        return ()

    def right_notes(self, config: StackConfig, use: Use) -> Iterable[str]:  # noqa: ARG002
        """What to know of the rights that it needs, one sentence each."""
        return ()

    def checks(self) -> tuple[Expect, ...]:
        """Its rows of `slinky preflight`."""
        return ()

    def last_checks(self) -> tuple[Expect, ...]:
        """Further ones, which stand behind those of pods."""
        return ()

    def on_machines(self, made: Mapping[str, Any]) -> OnMachines | None:  # noqa: ARG002
        """What one of its own resources (:attr:`providers`) has set on Kubernetes nodes, by the resource's outputs."""
        return None

    def status_account(self, config: StackConfig) -> str:  # noqa: ARG002
        """The ServiceAccount of a pod that runs `slinky status`; empty where it makes none."""
        return ""
