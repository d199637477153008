"""`slinky drift`: the stack's state, then Kubernetes, then Slurm; what differs, as lines or JSON, and an exit code for a
nightly job. Nothing is written anywhere."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Final

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.blueprint import blueprint
from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.cluster.snapshot import ClusterView, Workers
from slinky_iac.cluster.spec_drift import Desired, faults
from slinky_iac.commands import output
from slinky_iac.commands.drift.compare import Expected, Finding, PublicFile, Seen, drift
from slinky_iac.commands.drift.places import place_of_nodeset, places_of_hosts
from slinky_iac.commands.output import waiting_line
from slinky_iac.commands.status.facts import reach_of
from slinky_iac.drain.losses import Change, losers
from slinky_iac.drain.settings import GateSettings, OutsideSettings, gates, outside_hosts
from slinky_iac.errors import KubeNotFound, SlurmrestVersionError, StateError
from slinky_iac.keys.registry import PUBLIC
from slinky_iac.kube.machines import machines
from slinky_iac.parts.registry import GUARDS, on_machines
from slinky_iac.preflight.check_resources import promised
from slinky_iac.specs.slurm_conf import REQUIRED
from slinky_iac.text import plain

_PARTITION: Final = re.compile(r"^\s*PartitionName=(\S+)", re.IGNORECASE | re.MULTILINE)
_PARAMETER: Final = re.compile(r"^(\w+)=(.*)$", re.MULTILINE)
_IMAGE_RELEASE: Final = re.compile(r":(\d\d\.\d\d)(?![\d])")


def check(stack: str | None) -> tuple[Finding, ...]:
    """Look once and compare. Raises what reading the state and asking the clusters raise: no answer is no "no drift"."""
    state = pulumi_state.export(stack)
    own, hosts = gates(state), outside_hosts(state)
    reach = reach_of(own, hosts)
    if reach is None:
        raise StateError(
            "the stack has no NodeSet and no bare-metal host, so it says nothing about Slurm's nodes: select another stack,"
            " or run `pulumi up` first"
        )
    wanted = expected(state, own, hosts)
    with connected(reach) as session:
        seen = look(session, own, blueprint(state).guards, wanted.partitions)
        if wanted.required:
            with suppress(SlurmrestVersionError):  # before Slurm 26.05 slurmrestd can't tell
                seen = replace(seen, conf=session.slurm.running_conf().slurm_conf)
        if wanted.on_machines:
            seen = replace(seen, machines=machines(session.kube))
        if wanted.public is not None:
            with suppress(KubeNotFound):
                data = session.kube.config_map_data(wanted.public.namespace, wanted.public.name)
                seen = replace(seen, public=data.get(PUBLIC.bundle, ""))
        return drift(wanted, seen)


@pulumi_state.as_written()
def expected(state: State, gates: Mapping[str, GateSettings], hosts: OutsideSettings | None) -> Expected:
    """What a state says that Slurm should be."""
    stack = blueprint(state)
    owners = [*(gate.owner for gate in gates.values()), *([hosts.owner] if hosts else [])]
    states = {} if hosts is None else {**dict.fromkeys(hosts.held, "drained"), **dict.fromkeys(hosts.active, "active")}
    specs = {name: spec for name, spec in stack.nodesets.items() if name in gates}
    lines = f"{stack.outside_conf}\n{stack.extra_conf}"
    own = (name for name, spec in specs.items() if (spec.get("partition") or {}).get("enabled") is True)
    required = {parameter.key for parameter in REQUIRED}
    return Expected(
        stack=owners[0].stack if owners else "",
        cluster=stack.cluster,
        releases=frozenset(match[1] for image in stack.images if (match := _IMAGE_RELEASE.search(image))),
        nodesets=tuple(sorted(gates)),
        selections={name: gate.selection for name, gate in gates.items() if gate.selection is not None},
        hosts=states,
        host_places=places_of_hosts(lines),
        nodeset_places={name: place_of_nodeset(str(spec.get("extraConf") or "")) for name, spec in specs.items()},
        partitions=tuple(sorted({*_PARTITION.findall(lines), *own})),
        required={key: value for key, value in _PARAMETER.findall(stack.outside_conf) if key in required},
        promised={name: promised(spec) for name, spec in specs.items()},
        on_machines=on_machines(lambda kind: [resource.made for resource in state.all(pulumi_state.dynamic(kind))]),
        public=PublicFile(stack.namespace, stack.public_name, stack.public) if stack.public else None,
    )


def look(
    session: Connection,
    gates: Mapping[str, GateSettings],
    guards: Mapping[str, Sequence[Desired]],
    partitions: Collection[str] = (),
) -> Seen:
    """One look: pods before nodes, so that a node that registers meanwhile isn't taken for one without a pod."""
    kube = session.kube
    workers = {name: Workers.look(kube, gate.reach.namespace, gate.resource) for name, gate in gates.items()}
    nodes = session.slurm.nodes(allow_none=True).by_name()
    said = session.slurm.diag()
    members = {partition.name: partition.nodesets for partition in session.slurm.partitions()}
    left = [name for name, sets in members.items() if name not in partitions and set(sets) & gates.keys()]
    jobs = ClusterView.of((), session.slurm.jobs().jobs if left else ())
    return Seen(
        now=session.now(),
        cluster=said.meta.slurm.cluster,
        release=said.meta.slurm.release,
        nodes=nodes,
        partitions=frozenset(members),
        left={name: len(losers(Change(partitions=frozenset([name])), jobs)) for name in left},
        workers=workers,
        guards={name: faults(session.kube, objects, GUARDS[name].open_to) for name, objects in guards.items()},
    )


CODES = "exit codes: 0 no drift; 1 something could not be asked; 2 wrong arguments; 5 drift"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    output.add_stack(parser)
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look and tell. Raises what asking raises; returns the exit code."""
    with waiting_line(sys.stderr, "drift: reading the stack's state, querying Kubernetes and Slurm"):
        findings = check(arguments.stack)
    print(shown(findings, as_json=arguments.json))
    return output.DRIFTED if findings else 0


def shown(findings: tuple[Finding, ...], *, as_json: bool) -> str:
    """The findings as text. Reasons are anybody's words, so they are made harmless for a terminal."""
    if as_json:
        return output.as_json({"drift": [asdict(finding) for finding in findings]})
    if not findings:
        return "no drift: Slurm is as the stack says"
    return "\n".join(f"{finding.kind}  {plain(finding.subject)}\n    {plain(finding.text, 1000)}" for finding in findings)
