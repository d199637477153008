"""The shell of the drift check: the stack's state, then Kubernetes, then Slurm. Nothing is written anywhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from slinky_iac import names, stack_state
from slinky_iac.drain.observe import queued
from slinky_iac.drain.plugin_process import console_report
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.errors import KubeNotFound, StateError
from slinky_iac.fence import FencePart, fence_faults, fence_parts
from slinky_iac.slurm_drift.compare import Expected, Finding, Seen, SeenNode, SeenNodeSet, SeenPod, TokenSet, drift

_NODESET: Final = f"kubernetes:{names.API_VERSION}:NodeSet"
_CONTROLLER: Final = f"kubernetes:{names.API_VERSION}:Controller"
_CONFIG_MAP: Final = "kubernetes:core/v1:ConfigMap"
_STACK: Final = "pulumi:pulumi:Stack"
_PARTITION: Final = re.compile(r"^\s*PartitionName=(\S+)", re.IGNORECASE | re.MULTILINE)
_IMAGE_RELEASE: Final = re.compile(r":(\d\d\.\d\d)(?![\d])")
Resources = Sequence[Mapping[str, Any]]


def check(stack: str | None) -> tuple[Finding, ...]:
    """Look once and compare. Raises what reading the state and asking the clusters raise: no answer is no "no drift"."""
    resources = stack_state.export(stack)
    gates, hosts = stack_state.gates(resources), stack_state.outside_hosts(resources)
    reach = next(iter([*(each.reach for each in gates.values()), *([hosts.reach] if hosts else [])]), None)
    if reach is None:
        raise StateError(
            "the stack has no NodeSet and no bare-metal host, so it says nothing about Slurm's nodes: select another stack,"
            " or run `pulumi up` first"
        )
    wanted = expected(resources, gates, hosts)
    with open_session(reach, "", report=console_report()) as session:
        seen = look(session, gates, fence_parts(resources), wanted.partitions)
        if wanted.token_set is not None:
            seen = replace(seen, token_set=_token_set(session, wanted.token_set))
        return drift(wanted, seen)


def _token_set(session: Session, wanted: TokenSet) -> str | None:
    try:
        return session.kube.config_map_data(wanted.namespace, wanted.name).get(names.JWKS_FILE, "")
    except KubeNotFound:
        return None


@stack_state.as_written()
def expected(resources: Resources, gates: Mapping[str, GateSettings], hosts: OutsideSettings | None) -> Expected:
    """What a state says that Slurm should be."""
    identity = {str(_part(each, "clusterName")) for each in resources if _is(each, "ClusterIdentity")}
    controllers = {str(_spec(each).get("clusterName") or "") for each in resources if each.get("type") == _CONTROLLER}
    owners = [*(each.owner for each in gates.values()), *([hosts.owner] if hosts else [])]
    states = {} if hosts is None else {**dict.fromkeys(hosts.held, "drained"), **dict.fromkeys(hosts.active, "active")}
    return Expected(
        stack=owners[0].stack if owners else "",
        cluster=next(iter(sorted((identity | controllers) - {"", "None"})), ""),
        releases=frozenset(_releases(resources)),
        nodesets=tuple(sorted(gates)),
        hosts=states,
        partitions=tuple(sorted(set(_partitions(resources, gates)))),
        token_set=_written_set(resources),
    )


def _written_set(resources: Resources) -> TokenSet | None:
    """The ConfigMap that holds the public set, by the URN that this program gives it."""
    for each in resources:
        urn = str(each.get("urn", ""))
        if each.get("type") == _CONFIG_MAP and f"{names.TYPE_PREFIX}:AuthKeys$" in urn and urn.endswith("-token-jwks"):
            metadata, data = _part(each, "metadata"), _part(each, "data")
            if isinstance(metadata, dict) and isinstance(data, dict):
                found = (metadata.get("namespace"), metadata.get("name"), data.get(names.JWKS_FILE))
                return TokenSet(*(str(text or "") for text in found))
    return None


def _is(resource: Mapping[str, Any], name: str) -> bool:
    return str(resource.get("type", "")).endswith(f"dynamic/slurm:{name}")


def _part(resource: Mapping[str, Any], key: str) -> object:
    return (resource.get("inputs") or {}).get(key)


def _spec(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    found = _part(resource, "spec")
    return found if isinstance(found, dict) else {}


def _releases(resources: Resources) -> Iterable[str]:
    """Releases that the tags of the daemons' images begin with."""
    for each in resources:
        for daemon in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd"):
            part = _spec(each).get(daemon)
            image = part.get("image") if isinstance(part, dict) else None
            if isinstance(image, str) and (found := _IMAGE_RELEASE.search(image)):
                yield found.group(1)


def _partitions(resources: Resources, gates: Mapping[str, GateSettings]) -> Iterable[str]:
    """Partitions that the outside slurm.conf is to hold, or that the operator writes."""
    by_resource = {settings.resource: name for name, settings in gates.items()}
    for each in resources:
        if each.get("type") == _STACK:
            yield from _PARTITION.findall(str((each.get("outputs") or {}).get("outsideSlurmConf") or ""))
        elif each.get("type") == _CONTROLLER:
            yield from _PARTITION.findall(str(_spec(each).get("extraConf") or ""))
        elif each.get("type") == _NODESET and (_spec(each).get("partition") or {}).get("enabled") is True:
            name = _name(each)
            if name in by_resource:
                yield by_resource[name]


def _name(resource: Mapping[str, Any]) -> str:
    metadata = _part(resource, "metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def look(
    session: Session, gates: Mapping[str, GateSettings], fence: Sequence[FencePart] = (), partitions: Collection[str] = ()
) -> Seen:
    """One look: pods before nodes, so that a node that registers meanwhile isn't taken for one without a pod."""
    nodesets = {name: _nodeset(session, settings) for name, settings in gates.items()}
    answer = session.slurm.nodes(allow_none=True)
    nodes = answer.nodes if answer is not None else ()
    said = session.slurm.diag()
    members = {each.name: each.nodesets for each in session.slurm.partitions()}
    return Seen(
        now=session.now(),
        cluster=said.meta.slurm.cluster,
        release=said.meta.slurm.release,
        nodes={
            each.name: SeenNode(
                name=each.name,
                states=each.state,
                reason=each.reason,
                features=(*each.features, *each.active_features),
                version=each.version,
                resume_after=each.resume_after.value,
            )
            for each in nodes
        },
        partitions=frozenset(members),
        left=_left(session, [name for name, sets in members.items() if name not in partitions and set(sets) & gates.keys()]),
        nodesets=nodesets,
        fence=fence_faults(session.kube, fence),
    )


def _left(session: Session, names_: Sequence[str]) -> dict[str, int]:
    """How many jobs would be lost with each of these partitions."""
    jobs = [queued(job) for job in session.slurm.jobs().jobs] if names_ else []
    return {name: sum(job.lost_with([name]) for job in jobs) for name in names_}


def _nodeset(session: Session, settings: GateSettings) -> SeenNodeSet:
    state = session.nodeset(settings.resource)
    if state is None:
        return SeenNodeSet(exists=False)
    pods = session.kube.pods_of(settings.reach.namespace, state)
    seen = (SeenPod(p.slurm_node, p.ready, p.terminating, p.annotations.get(names.ANNOTATION_GATE, "")) for p in pods)
    return SeenNodeSet(exists=True, replicas=state.replicas_spec, pods=tuple(seen))
