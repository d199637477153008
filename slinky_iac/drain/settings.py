"""What a gate's props say, as frozen values. The props are in users' state files: a wire format with a number.

A destroy reads them with no program running, so everything a drain needs is here, the policy included, except secrets: the
JWT key is read from its Kubernetes Secret when it is used, and so follows a rotation and is in no state file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slinky_iac import names
from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.reach import Reach
from slinky_iac.keys.catalogue import JWT
from slinky_iac.keys.registry import SIGNING
from slinky_iac.names import SLURM_USER
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import DAEMON, Selection
from slinky_iac.text import printable

if TYPE_CHECKING:  # every program imports this module, and the types of Slurm take a while
    from slinky_iac.slurmrest.objects import Node

OnDeadline = Literal["keep", "undo", "requeue", "cancel"]
Signal = Literal["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]

_MAX_S: Final = 400 * 24 * 3600
"""Longest time accepted anywhere, in seconds: more is a slip, and Slurm's own fields are 32 bits wide."""


def _whole(low: int, high: int = _MAX_S) -> Meta:
    return Meta(ge=low, le=high, description=f"a whole number from {low} to {high}")


Seconds = Annotated[int, _whole(0)]
LAST_RESORT_S: Final = 300
"""How long what a requeue or a cancel sets in motion may take: jobs leave, nodes get idle, the operator sees it."""


@dataclass(frozen=True)
class Limits:
    """What a scale-in may touch at the most; None for no limit."""

    max_share: Annotated[float, Meta(gt=0, le=1, description="a number above 0 to 1")] | None = None
    """Share of the NodeSet's pods that is selected for removal at once, above 0 to 1."""
    max_jobs: Annotated[int, _whole(0, 1_000_000_000)] | None = None
    """Distinct jobs on the nodes that are selected for removal."""
    max_job_age_s: Seconds | None = None
    """No job that has run longer than this many seconds may be on them."""


@dataclass(frozen=True)
class DrainPolicy:
    """What a drain may decide without asking a person."""

    deadline_s: Seconds = 1800
    """Longest wait of one `pulumi up`, in seconds; a second run begins a new one."""
    on_deadline: OnDeadline = "keep"
    """keep: fail, leave nodes drained. undo: fail, return ours. requeue: requeue jobs that may. cancel: signal them, and
    cancel after ``grace_s``. Only the last two touch jobs."""
    grace_s: Seconds = 60
    """Between signal and cancel."""
    signal: Signal = "SIGTERM"
    max_at_once: Annotated[int, _whole(1, 1_000_000)] | None = None
    """Nodes that hold a drain of ours while jobs run on them. Free ones stay drained until all are, and don't count."""
    register_deadline_s: Seconds = 300
    """How long a new node may take to register."""
    start_at_once: Annotated[int, _whole(1, 1_000_000)] | None = None
    """Pods of a scale-out that may be on their way at a time."""
    poll_s: Annotated[int, _whole(1, 3600)] = 2
    """Between two looks."""
    bound_s: Annotated[int, _whole(1)] = 600
    """Longest stay in one provider call."""
    hold_factor: Annotated[float, Meta(ge=0, le=1000, description="a number from 0 to 1000")] = 2.0
    """``resume_after`` of our drains, as a multiple of the deadline: the dead man's switch. 0 for none."""
    min_hold_s: Annotated[int, _whole(600)] = 3600
    """Shortest ``resume_after``: the operator must be done with the pods before slurmctld returns the nodes."""
    show_users: bool = True
    """Whether users are named; plans are in states and previews, which more people read than may ask Slurm."""
    limits: Limits = Limits()

    def hide_by(self, stack: str) -> str:
        """What users' names are made unreadable with (:func:`pseudonym`); empty where they are shown."""
        return "" if self.show_users else f"slinky-iac/{stack}"

    @property
    def hold_s(self) -> int | None:
        """Seconds after which slurmctld returns a node whose drainer died; None for never."""
        if self.hold_factor == 0:
            return None
        return min(max(int(self.deadline_s * self.hold_factor), self.min_hold_s), _MAX_S)

    @property
    def overtime_s(self) -> int:
        """Seconds that a run continues after the deadline: none where the policy ends it there; where the policy acts only
        then, as long as its act may take until the pods can go."""
        return last_resort_s(self.on_deadline) + (self.grace_s if self.on_deadline == "cancel" else 0)


def pseudonym(user: str, hide: str) -> str:
    """``user-3f2a`` in place of a name: the same in all looks, so that a plan doesn't change while nothing does, and too
    short to be sure of a name by trying all."""
    return f"user-{hashlib.sha256(f'{hide}/{user}'.encode('utf-8', 'replace')).hexdigest()[:4]}" if user else ""


def last_resort_s(on_deadline: str) -> int:
    """:data:`LAST_RESORT_S` where the policy acts at the deadline, else 0."""
    return LAST_RESORT_S if on_deadline in {"requeue", "cancel"} else 0


def parse_policy(raw: Mapping[str, Any]) -> DrainPolicy:
    """A policy from plain values, e.g. a gate's props. Absent fields have their defaults; numbers may be floats that are
    whole (Pulumi's wire knows no integers).

    :raises ValueError: names each field at fault, what it holds and what is allowed.
    """
    faults: list[str] = []
    limits = raw.get("limits", {})
    if not isinstance(limits, Mapping):
        faults.append(f"limits: got {limits!r}; allowed is a mapping of limits")
        limits = {}
    values = _read(DrainPolicy, {key: value for key, value in raw.items() if key != "limits"}, "", faults)
    parts = _read(Limits, limits, "limits.", faults)
    if faults:
        raise ValueError(printable("the drain policy can't be used, nothing was drained: " + "; ".join(faults)))
    return DrainPolicy(**values, limits=Limits(**parts))


def _read(kind: type, raw: Mapping[str, Any], path: str, faults: list[str]) -> dict[str, Any]:
    """Fields of ``kind`` by their types; what is wrong goes to ``faults``: msgspec alone would tell the first one only."""
    hints = {name: hint for name, hint in get_type_hints(kind, include_extras=True).items() if name != "limits"}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in hints:
            faults.append(f"{path}{key}: not known; allowed are {', '.join(sorted(hints))}")
            continue
        try:
            values[key] = msgspec.convert(value, hints[key], strict=not isinstance(value, float))
        except msgspec.ValidationError:
            faults.append(f"{path}{key}: got {value!r}; allowed is {_allowed(hints[key])}")
    return values


def _allowed(hint: Any) -> str:  # noqa: ANN401 - any type
    """What a field may hold, in words."""
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) in (Union, UnionType):
        return f"{_allowed(get_args(hint)[0])} or none"
    return "true or false" if hint is bool else str(get_args(hint)[1].description)


def plain_policy(policy: DrainPolicy) -> dict[str, Any]:
    """The same as plain values, for props and JSON; :func:`parse_policy` reads it back."""
    return asdict(policy)


GATED: Final = "Gated"
OPERATORS: Final = "RollingUpdate"
KUBERNETES: Final = "kubernetes"
"""Input that each gate's check fills in."""
LEAVING: Final = "formerAutoscaler"
"""Input of one update, never in the outputs: the ScaledObject that goes with it."""
SCHEMA: Final = 1
"""Number of this shape."""


@dataclass(frozen=True)
class Owner:
    """One stack's hold on one NodeSet. ``nodeset`` is its name in the configuration."""

    stack: str
    nodeset: str

    @property
    def text(self) -> str:
        """As tags have it."""
        return f"{self.stack}/{self.nodeset}"

    @property
    def prefix(self) -> str:
        """Beginning of each reason that is this owner's."""
        return names.drain_owner(self.stack, self.nodeset)

    def owns(self, reason: str) -> bool:
        """Whether a drain reason is this owner's; Slurm may have appended to it, so its beginning decides."""
        return names.owns_reason(reason, self.stack, self.nodeset)

    def holds(self, record: Node | None) -> bool:
        """Whether a drain of this owner's is on a node."""
        return record is not None and record.drained_or_draining and self.owns(record.reason)

    def reason(self, why: str) -> str:
        """Reason for a drain of this owner's."""
        return names.drain_reason(self.stack, self.nodeset, why)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What each gate's settings hold: whose drains they are, what these may do, and how to reach things."""

    owner: Owner
    policy: DrainPolicy
    reach: Reach
    urn: str
    cluster: str = ""
    """ClusterName of its slurmctld; ``""``: not known."""
    kubernetes: str = ""
    """UID of the Kubernetes cluster in which it was made (:mod:`slinky_iac.cluster.which`); ``""``: none answered."""

    @property
    def hide(self) -> str:
        """:meth:`DrainPolicy.hide_by` for this stack."""
        return self.policy.hide_by(self.owner.stack)

    @classmethod
    def common(cls, props: Mapping[str, Any], nodeset: str) -> dict[str, Any]:
        """These fields from props. Raises ValueError where another program wrote them."""
        known_schema(props)
        owner, policy = Owner(stack=str(props["stack"]), nodeset=nodeset), parse_policy(props["policy"])
        reach, urn, cluster = reach_from(props), str(props.get("urn", "")), str(props.get("cluster", ""))
        kubernetes = str(props.get(KUBERNETES) or "")
        return {
            "owner": owner, "policy": policy, "reach": reach, "urn": urn, "cluster": cluster, "kubernetes": kubernetes,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GateSettings(Settings):
    """One NodeSet's gate: where it is, how many replicas it may have."""

    resource: str
    """Name of the NodeSet custom resource."""
    controller: str
    replicas: int
    max_replicas: int
    """With an autoscaler, the most replicas it may ask for."""
    scaler: Literal["stack", "autoscaler"]
    version: OperatorVersion
    updates: str = OPERATORS
    """Who replaces pods of an earlier template: ``updateStrategy.type``."""
    max_unavailable: int | str = 1
    template: str = ""
    """Digest of what pods are made from."""
    leaving: str = ""
    """Name of the ScaledObject that it had, and that the engine removes after this update."""
    selection: Selection | None = None
    """With ``scalingMode: DaemonSet``, which Kubernetes nodes fit; no number is used then."""
    props: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """All that the gate was given: a part reads what it has put there (``Part.gate_props``)."""

    @property
    def rolls(self) -> bool:
        """Whether this gate replaces pods of an earlier template."""
        return self.updates == GATED

    @property
    def by_stack(self) -> bool:
        """Whether the number of replicas is this stack's to write; else an autoscaler writes it, up to a maximum."""
        return self.scaler == "stack"

    @property
    def target(self) -> int:
        """The number of replicas that nodes are drained down to."""
        return self.replicas if self.by_stack else self.max_replicas

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> GateSettings:
        """Read props, from a program or from a state file. Numbers may have come as floats.

        :raises ValueError: the shape is of another program's making; nothing can be done with it safely.
        """
        return cls(
            **cls.common(props, str(props["nodeset"])),
            resource=str(props["resource"]),
            controller=str(props["controller"]),
            replicas=int(props["replicas"]),
            max_replicas=int(props["maxReplicas"]),
            scaler="autoscaler" if props["owner"] == "autoscaler" else "stack",
            version=OperatorVersion.parse(str(props["operatorVersion"])),
            updates=str(props.get("updates") or OPERATORS),
            max_unavailable=_count_or_share(props.get("maxUnavailable")),
            template=str(props.get("template") or ""),
            leaving=str(props.get(LEAVING) or ""),
            selection=Selection.of(props["selection"]) if props.get("scalingMode") == DAEMON else None,
            props=props,
        )


@dataclass(frozen=True, kw_only=True)
class OutsideSettings(Settings):
    """The gate of the bare-metal slurmd hosts."""

    controller: str
    held: tuple[str, ...]
    active: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    """Hosts that have left the configuration: those that we hold drained are returned to service, once."""
    inside: bool = False
    """slurmctld is in Kubernetes, so the stack itself gives it the NodeName= lines of hosts."""

    @classmethod
    def from_props(cls, props: Mapping[str, Any], olds: Mapping[str, Any] | None = None) -> OutsideSettings:
        """Read props, from a program or from a state file; ``olds``, the state's, tell which hosts have been dropped.

        Raises ValueError as :meth:`GateSettings.from_props` does.
        """
        hosts = {str(name): str(state) for name, state in dict(props["hosts"]).items()}
        before = {str(name) for name in (olds or {}).get("hosts") or ()}
        return cls(
            **cls.common(props, names.HOSTS_OWNER),
            controller=str(props["controller"]),
            held=tuple(sorted(name for name, state in hosts.items() if state == "drained")),
            active=tuple(sorted(name for name, state in hosts.items() if state != "drained")),
            dropped=tuple(sorted(before - hosts.keys())),
            inside=props.get("inside") is True,
        )


OUTSIDE_HOSTS: Final = pulumi_state.dynamic("OutsideHosts")


@pulumi_state.as_written()
def gates(state: pulumi_state.State) -> dict[str, GateSettings]:
    """Settings of all NodeSets' gates, by NodeSet."""
    gate_settings = (GateSettings.from_props(resource.made) for resource in state.all(names.NODESET_SCALE))
    return {settings.owner.nodeset: settings for settings in gate_settings}


@pulumi_state.as_written()
def outside_hosts(state: pulumi_state.State) -> OutsideSettings | None:
    """Settings of the gate of the bare-metal hosts, where the stack has one."""
    gate_settings = [OutsideSettings.from_props(resource.made) for resource in state.all(OUTSIDE_HOSTS)]
    return gate_settings[0] if gate_settings else None


def _count_or_share(value: object) -> int | str:
    return value if isinstance(value, str) else int(value) if isinstance(value, int | float) else 1


_OTHER_RELEASE: Final = "nothing was drained or changed. Run the release of slinky-iac that wrote it, or a newer one"


def known_schema(props: Mapping[str, Any]) -> None:
    """:raises ValueError: another release wrote these props."""
    schema = int(props.get("schema", 0))
    if schema != SCHEMA:
        raise ValueError(f"the gate's state has schema {schema} and this program reads {SCHEMA}; {_OTHER_RELEASE}")


REACH: Final = {
    "namespace": "namespace",
    "restapi_service": "restapiService",
    "jwt_secret": "jwtSecret",
    "jwt_entry": "jwtEntry",
    "algorithm": "tokens",
    "kubeconfig": "kubeconfig",
    "context": "context",
    "url": "url",
    "ca_file": "caFile",
    "client_cert_file": "clientCertFile",
    "client_key_file": "clientKeyFile",
    "plain_http": "allowPlainHttp",
    "restapi_scheme": "restapiScheme",
    "user": "slurmUser",
}
REACH_PROPS: Final = tuple(REACH.values())


def reach_from(props: Mapping[str, Any]) -> Reach:
    """The part of the props that says how to reach things; without a choice by HS256 and for the user slurm.

    :raises ValueError: it names a way to sign that this program doesn't know.
    """
    arguments = {field.name: props.get(REACH[field.name]) or None for field in fields(Reach)}
    algorithm = arguments.pop("algorithm") or JWT.algorithm
    if algorithm not in SIGNING:
        known = " and ".join(SIGNING)
        raise ValueError(f"the gate's state signs tokens by {algorithm!r}, and this program knows {known}; {_OTHER_RELEASE}")
    user = arguments.pop("user") or SLURM_USER
    arguments["plain_http"] = arguments["plain_http"] == "true"
    return Reach(**arguments, algorithm=algorithm, user=user)  # type: ignore[arg-type]


def reach_props(reach: Reach) -> dict[str, str]:
    """The same as props; what is not set is an empty text, so that a later value is a change and not a new property."""
    texts = {prop: getattr(reach, name) or "" for name, prop in REACH.items()}
    return texts | {REACH["plain_http"]: "true" if reach.plain_http else ""}
