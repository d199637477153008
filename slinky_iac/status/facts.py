"""What a stack's state says about itself: pure reading of `pulumi stack export`. No secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from slinky_iac import names, stack_state
from slinky_iac.drain.settings import GateSettings, OutsideSettings, Reach

Resources = Sequence[Mapping[str, Any]]
_SLINKY: Final = f"kubernetes:{names.API_VERSION}:"
_SECRET: Final = "kubernetes:core/v1:Secret"
_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_PROVIDER: Final = "pulumi:providers:kubernetes"
_STACK: Final = "pulumi:pulumi:Stack"
OPERATOR: Final = "slurm-operator"
"""Name of the operator's release and Deployment."""


@dataclass(frozen=True)
class KeyPlace:
    """Where a key is, and what the stack says about it."""

    name: str
    namespace: str
    secret: str
    entry: str
    fingerprint: str
    """``SHA256:…``; something else where the stack doesn't know it."""
    made: int | None


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


def facts(stack: str, resources: Resources) -> Facts:
    """What the state says. ``stack``: its name where known, else read from the resources."""
    gates, hosts = stack_state.gates(resources), stack_state.outside_hosts(resources)
    controller, accounting = _spec(resources, "Controller"), _spec(resources, "Accounting")
    reach = next(iter([*(each.reach for each in gates.values()), *([hosts.reach] if hosts else [])]), None)
    release = next((each for each in _inputs(resources, _RELEASE) if each.get("name") == OPERATOR), {})
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
        keys=tuple(_keys(resources, controller)),
    )


def _inputs(resources: Resources, kind: str) -> Iterable[Mapping[str, Any]]:
    return [each.get("inputs") or {} for each in resources if each.get("type") == kind]


def _spec(resources: Resources, kind: str) -> Mapping[str, Any]:
    return _part(resources, kind, "spec")


def _metadata(resources: Resources, kind: str) -> Mapping[str, Any]:
    return _part(resources, kind, "metadata")


def _part(resources: Resources, kind: str, part: str) -> Mapping[str, Any]:
    """A part of the first custom resource of the kind; empty where there is none."""
    found = next(iter(_inputs(resources, f"{_SLINKY}{kind}")), {}).get(part)
    return found if isinstance(found, dict) else {}


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
    restapi, jwt = _metadata(resources, "RestApi"), _jwt_reference(controller)
    if not restapi or not jwt:
        return None
    provider = next(iter(_inputs(resources, _PROVIDER)), {})
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


def _jwt_reference(controller: Mapping[str, Any]) -> Mapping[str, Any]:
    found = controller.get("jwtKeyRef") or controller.get("jwtHs256KeyRef")
    return found if isinstance(found, dict) else {}


def _keys(resources: Resources, controller: Mapping[str, Any]) -> Iterable[KeyPlace]:
    outputs = next((each.get("outputs") or {} for each in resources if each.get("type") == _STACK), {})
    namespace = str(_metadata(resources, "Controller").get("namespace") or "")
    slurm = controller.get("slurmKeyRef")
    places = (
        ("slurm.key", slurm if isinstance(slurm, dict) else {}, "slurmKeyFingerprint"),
        ("JWT key", _jwt_reference(controller), "jwtKeyFingerprint"),
    )
    for name, reference, output in places:
        if reference:
            secret = str(reference.get("name") or "")
            said = outputs.get(output)
            fingerprint = said if isinstance(said, str) else ""
            made = _made(resources, secret)
            yield KeyPlace(name, namespace, secret, str(reference.get("key") or ""), fingerprint, made)


def _made(resources: Resources, secret: str) -> int | None:
    for each in resources:
        metadata = (each.get("inputs") or {}).get("metadata") if each.get("type") == _SECRET else None
        if isinstance(metadata, dict) and metadata.get("name") == secret:
            return seconds(each.get("created"))
    return None


def seconds(text: object) -> int | None:
    """Seconds since 1970 of an RFC 3339 text, fractions of any length cut off; None for anything else."""
    if not isinstance(text, str):
        return None
    head, dot, tail = text.partition(".")
    zone = tail.lstrip("0123456789") if dot else ""
    try:
        moment = datetime.fromisoformat(f"{head}{zone}")
    except ValueError:
        return None
    return int(moment.timestamp()) if moment.tzinfo is not None else None
