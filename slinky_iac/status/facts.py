"""What a stack's state says about itself: pure reading of `pulumi stack export`. No secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names, stack_state
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.fence import FencePart, fence_parts
from slinky_iac.key_lifecycle.planned_stop import Holder, daemons, holders
from slinky_iac.status.exported import Resources, inputs, metadata, spec
from slinky_iac.status.key_places import JWT_KEY, SLURM_KEY, KeyPlace, jwt_reference, key_places, signing

_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_PROVIDER: Final = "pulumi:providers:kubernetes"
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
    """What each daemons' key is held in, by its name; see :func:`slinky_iac.key_lifecycle.planned_stop.holders`."""
    daemons: tuple[Holder, ...] = ()
    """Custom resources whose pods read keys when they start."""
    fence: tuple[FencePart, ...] = ()
    """The fence in the API server; empty where the stack has none."""


@stack_state.as_written()
def facts(stack: str, resources: Resources) -> Facts:
    """What the state says. ``stack``: its name where known, else read from the resources."""
    gates, hosts = stack_state.gates(resources), stack_state.outside_hosts(resources)
    controller, accounting = spec(resources, "Controller"), spec(resources, "Accounting")
    reach = next(iter([*(each.reach for each in gates.values()), *([hosts.reach] if hosts else [])]), None)
    keys = tuple(key_places(resources, controller))
    release = next((each for each in inputs(resources, _RELEASE) if each.get("name") == OPERATOR), {})
    versions = [str(settings.version) for settings in gates.values()]
    return Facts(
        stack=stack or next(iter(_stack_names(resources)), ""),
        resources=len(resources),
        cluster=str(controller.get("clusterName") or next(iter(_cluster_names(resources)), "")),
        operator=next(iter([*versions, str(release.get("version") or "")]), ""),
        operator_namespace=str(release.get("namespace") or ""),
        slurmctld=_address(controller),
        slurmdbd=_address(accounting),
        has_slurmctld=bool(controller),
        has_slurmdbd=bool(accounting),
        reach=reach or _reach(resources, controller),
        gates=gates,
        hosts=hosts,
        keys=keys,
        signing=signing(reach, keys),
        holders={SLURM_KEY: holders(resources, "slurm"), JWT_KEY: holders(resources, "jwt")},
        daemons=daemons(resources),
        fence=fence_parts(resources),
    )


def _stack_names(resources: Resources) -> Iterable[str]:
    for each in resources:
        parts = str(each.get("urn", "")).split("::")
        if len(parts) >= 4:
            yield parts[0].removeprefix("urn:pulumi:")


def _cluster_names(resources: Resources) -> Iterable[str]:
    for each in resources:
        if str(each.get("type", "")).endswith("dynamic/slurm:ClusterIdentity"):
            yield str((each.get("inputs") or {}).get("clusterName") or (each.get("outputs") or {}).get("clusterName") or "")


def _address(spec: Mapping[str, Any]) -> str:
    outside = spec.get("externalConfig")
    if spec.get("external") is not True or not isinstance(outside, dict):
        return ""
    return f"{outside.get('host')}:{int(outside.get('port') or 0)}"


def _reach(resources: Resources, controller: Mapping[str, Any]) -> Reach | None:
    """For a stack without any NodeSet or host: what its gates would have said."""
    restapi, jwt = metadata(resources, "RestApi"), jwt_reference(controller)
    if not restapi or not jwt:
        return None
    provider = next(iter(inputs(resources, _PROVIDER)), {})
    return Reach(
        namespace=str(restapi.get("namespace") or ""),
        restapi_service=names.restapi_service(str(restapi.get("name") or "")),
        jwt_secret=str(jwt.get("name") or ""),
        jwt_entry=str(jwt.get("key") or ""),
        kubeconfig=_text(provider.get("kubeconfig")),
        context=_text(provider.get("context")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
