"""What a stack's state says about itself: pure reading of `pulumi stack export`. No secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import PROVIDER, RELEASE, State, as_written, custom, dynamic
from slinky_iac.cluster.reach import Reach
from slinky_iac.commands.rotation.planned_stop import Holder, daemons, holders
from slinky_iac.commands.status.key_places import KeyPlace, jwt_reference, key_places, signing
from slinky_iac.drain.settings import GateSettings, OutsideSettings, gates, outside_hosts
from slinky_iac.fence import FencePart, fence_parts
from slinky_iac.keys.catalogue import DAEMON_KEYS

IDENTITY: Final = dynamic("ClusterIdentity")
OPERATOR: Final = "slurm-operator"
"""Name of the operator's release and Deployment."""


@dataclass(frozen=True)
class Facts:
    """One stack, as its state has it."""

    stack: str
    resources: int
    cluster: str = ""
    operator: str = ""
    """The release that the specs are written for."""
    operator_namespace: str = ""
    """Where this stack deploys the operator; empty where another does."""
    slurmctld: str = ""
    """``host:port`` of an outside slurmctld; empty where it is in Kubernetes, or there is none."""
    slurmdbd: str = ""
    has_slurmctld: bool = False
    has_slurmdbd: bool = False
    reach: Reach | None = None
    gates: Mapping[str, GateSettings] = field(default_factory=dict)
    hosts: OutsideSettings | None = None
    keys: tuple[KeyPlace, ...] = ()
    signing: str = ""
    """Name of the key that signs this stack's tokens; empty where the state doesn't tell."""
    holders: Mapping[str, tuple[Holder, ...]] = field(default_factory=dict)
    """What each daemons' key is held in, by its name; see :func:`slinky_iac.commands.rotation.planned_stop.holders`."""
    daemons: tuple[Holder, ...] = ()
    """Custom resources whose pods read keys when they start."""
    fence: tuple[FencePart, ...] = ()
    """The fence in the API server; empty where the stack has none."""


@as_written()
def facts(stack: str, state: State) -> Facts:
    """What the state says. ``stack``: its name where known, else read from the resources."""
    own, hosts = gates(state), outside_hosts(state)
    controller, accounting = state.first(custom("Controller")).spec, state.first(custom("Accounting")).spec
    keys = tuple(key_places(state))
    release = next((each.inputs for each in state.all(RELEASE) if each.inputs.get("name") == OPERATOR), {})
    versions = [str(settings.version) for settings in own.values()]
    way = reach_of(own, hosts) or _reach(state)
    return Facts(
        stack=stack or state.stack,
        resources=len(state),
        cluster=cluster_name(state),
        operator=next(iter([*versions, str(release.get("version") or "")]), ""),
        operator_namespace=str(release.get("namespace") or ""),
        slurmctld=_address(controller),
        slurmdbd=_address(accounting),
        has_slurmctld=bool(controller),
        has_slurmdbd=bool(accounting),
        reach=way,
        gates=own,
        hosts=hosts,
        keys=keys,
        signing=signing(reach_of(own, hosts), keys),
        holders={key.label: holders(state, key) for key in DAEMON_KEYS},
        daemons=daemons(state),
        fence=fence_parts(state),
    )


def reach_of(gates: Mapping[str, GateSettings], hosts: OutsideSettings | None) -> Reach | None:
    """The way to the clusters that the stack's gates have; None where it has no gate."""
    return next(iter([*(each.reach for each in gates.values()), *([hosts.reach] if hosts else [])]), None)


def cluster_name(state: State) -> str:
    """ClusterName, as the Controller or the record of the cluster's identity has it; empty where there is neither."""
    identity = state.first(IDENTITY)
    said = (state.first(custom("Controller")).spec, identity.inputs, identity.outputs)
    return next((str(each["clusterName"]) for each in said if each.get("clusterName")), "")


def _address(spec: Mapping[str, Any]) -> str:
    external = spec.get("externalConfig")
    if spec.get("external") is not True or not isinstance(external, dict):
        return ""
    return f"{external.get('host')}:{int(external.get('port') or 0)}"


def _reach(state: State) -> Reach | None:
    """For a stack without any NodeSet or host: what its gates would have said."""
    restapi, jwt = state.first(custom("RestApi")), jwt_reference(state.first(custom("Controller")).spec)
    if not restapi.metadata or not jwt:
        return None
    provider = state.first(PROVIDER).inputs
    return Reach(
        namespace=restapi.namespace,
        restapi_service=names.restapi_service(restapi.object_name),
        jwt_secret=str(jwt.get("name") or ""),
        jwt_entry=str(jwt.get("key") or ""),
        kubeconfig=_text(provider.get("kubeconfig")),
        context=_text(provider.get("context")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
