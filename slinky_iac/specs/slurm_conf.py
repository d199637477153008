"""Lines of slurm.conf: those that this program adds inside Kubernetes, and those that an outside slurmctld must have.

Source: slurm.conf(5), the hybrid guide (Slurm Configuration), slurm-operator ``controller_config.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from slinky_iac.config.adopted import OWN_LINE, keeps_line
from slinky_iac.config.sections import ExternalHost
from slinky_iac.config.slurm.forms import completed, item_name
from slinky_iac.config.slurm.node_gres import types_of
from slinky_iac.config.slurm.node_groups import node_groups
from slinky_iac.config.slurm.permitted import KEPT
from slinky_iac.config.slurm.plugins import bare
from slinky_iac.config.stack import StackConfig
from slinky_iac.node_demand import METRICS_TYPE
from slinky_iac.parts.registry import PARAMETERS, inside_conf, reads_metrics
from slinky_iac.releases import OPERATOR_MAX_NODE_COUNT


def pairs(parameters: Mapping[str, str]) -> str:
    """``KEY=VALUE`` pairs on one line, in the order given."""
    return " ".join(pair(key, value) for key, value in parameters.items())


def pair(key: str, value: str) -> str:
    """``KEY=VALUE``; a value with blanks in quotes, as slurm.conf(5) has them (parse_config.c)."""
    return f'{key}="{value}"' if " " in value else f"{key}={value}"


def _has(parameters: Mapping[str, str], name: str) -> bool:
    return any(key.lower() == name.lower() for key in parameters)


def partition_line(name: str, nodes: str, parameters: Mapping[str, str]) -> str:
    """A PartitionName= line; one without a node keeps its queue."""
    members = nodes or '""'
    return " ".join(filter(None, [f"PartitionName={name}", f"Nodes={members}", pairs(parameters)]))


def shared_partitions(config: StackConfig) -> dict[str, str]:
    """The PartitionName= lines of partitions that name several NodeSets, by name."""
    return {
        name: partition_line(name, ",".join(partition.nodesets), partition.config)
        for name, partition in config.partitions.items()
    }


def partition_lines(config: StackConfig) -> dict[str, str]:
    """The PartitionName= line of every partition that slurmctld must have, by name: the NodeSets' own, and those shared."""
    own = {
        name: partition_line(name, name, nodeset.partition.config)
        for name, nodeset in config.nodesets.items()
        if nodeset.partition.enabled
    }
    return own | shared_partitions(config)


def nodeset_lines(config: StackConfig) -> dict[str, str]:
    """The NodeSet= line of every NodeSet, by name: its pods' nodes have its name for a feature."""
    return {name: f"NodeSet={name} Feature={name}" for name in config.nodesets}


def controller_extra_conf(config: StackConfig) -> str:
    """``spec.extraConf`` of a Controller in Kubernetes: its tail of slurm.conf, or nothing."""
    own = {**config.slurmctld.extra_conf} | inside_conf(config)
    lines = [pair(key, _kept(key, value)) for key, value in own.items()]
    if config.cluster.max_node_count != OPERATOR_MAX_NODE_COUNT:
        lines.append(f"MaxNodeCount={config.cluster.max_node_count}")
    lines.extend(_gres_line(config))
    said = _has(config.controller.extra_conf, OWN_LINE) or keeps_line(config.adopted, config.cluster.resource_name)
    if config.operator_version.prunes_slurm_conf and not said:
        lines.append(f"{OWN_LINE}=2")  # as operators up to 1.1 wrote: with 0 a deleted pod that comes back stays DOWN
    lines.extend(metal_lines(config))
    # The operator writes the same NodeSet= lines, but not before their NodeSets are there, nor after; without one, slurmctld
    # refuses its whole file. Slurm takes two of one name for one.
    named = {member for partition in config.partitions.values() for member in partition.nodesets}
    lines.extend(line for name, line in nodeset_lines(config).items() if name in named)
    lines.extend(shared_partitions(config).values())
    return "\n".join(lines)


def _kept(key: str, value: str) -> str:
    """A value with the items that it must have: operators up to 1.1 write them on a line before, which doesn't count."""
    kept = KEPT.get(key.lower())
    return value if kept is None else completed(key, kept, value)


def host_lines(config: StackConfig) -> dict[str, str]:
    """The NodeName= line of every bare-metal host, by name."""
    return {h.name: host_line(h.name, h.address, h.config) for h in config.external.slurmd_hosts}


def metal_lines(config: StackConfig) -> tuple[str, ...]:
    """The NodeName= lines of bare-metal hosts as slurm.conf has them: one for the equal hosts of one hostlist."""
    return tuple(host_line(*group) for group in node_groups(config.external.slurmd_hosts))


def host_line(name: str, address: str | None, parameters: Mapping[str, str]) -> str:
    """The NodeName= line of a bare-metal host."""
    where = f"NodeAddr={address}" if address else ""
    return " ".join(filter(None, [f"NodeName={name}", where, pairs(parameters)]))


def _gres_line(config: StackConfig) -> list[str]:
    """GresTypes= of a slurmctld in Kubernetes: operators up to 1.1 write ``gpu`` and nothing else, from 1.2 on nothing."""
    written = () if config.operator_version.prunes_slurm_conf else ("gpu",)
    types = types_of(config)
    if not set(types) - set(written) or _has(config.controller.extra_conf, "GresTypes"):
        return []
    return [f"GresTypes={','.join(sorted({*types, *written}))}"]


def _accounting(value: Callable[[ExternalHost], str]) -> Callable[[StackConfig], str]:
    """A value of stacks that account with an external slurmdbd."""

    def found(config: StackConfig) -> str:
        return next(map(value, config.slurmdbd.hosts), "")

    return found


class Compared(StrEnum):
    """When a value that slurm.conf has already is enough. The words are those that check.sh takes."""

    EQUAL = ""
    LIST = "list"
    """It may have more, after a comma."""
    LEAST = "least"
    """It may be a greater number."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of slurm.conf that an external slurmctld must have."""

    key: str
    value: Callable[[StackConfig], str]
    """What it must be; empty where this stack needs none."""
    without: str
    """What follows where it has another value, or none."""
    compared: Compared = Compared.EQUAL
    restart: bool = True
    """slurmctld reads it only when it starts; else `scontrol reconfigure` is enough."""
    slurmdbd: bool = False
    """slurmdbd.conf must have it too."""
    comment: str = ""
    """A line above it, for the admin."""
    over_rest: str = ""
    """How slurmrestd writes the value, where that differs."""
    calls: Callable[[str, str, Mapping[str, str]], Iterator[tuple[str, ...]]] | None = None
    """As :attr:`slinky_iac.parts.part.Parameter.calls`."""

    @property
    def adds(self) -> bool:
        """Whether a site's own line keeps its items, and ours are added to them."""
        return self.compared is Compared.LIST

    def lacking(self, value: str, got: object) -> tuple[str, ...]:
        """What ``got``, which slurmctld runs with (a text, a number or a list), lacks of ``value``; empty: it is enough.

        Of a list's ``key=/path`` the key counts: where files are is for the host's admin to say.
        """
        if self.compared is Compared.LEAST:
            return () if int(str(got)) >= int(value) else (value,)
        if self.compared is Compared.EQUAL:
            is_enough = str(got) == self.over_rest or bare(self.key, str(got)) == bare(self.key, value)
            return () if is_enough else (value,)
        there = {item_name(self.key, str(word)) for word in (got if isinstance(got, list) else str(got).split(","))}
        return tuple(word for word in value.split(",") if item_name(self.key, word) not in there)


REQUIRED: Final = (
    Parameter("ClusterName", lambda config: config.cluster.name, "this may be another cluster"),
    Parameter("AuthType", lambda _: "auth/slurm", "pods can't speak to it at all", slurmdbd=True),
    Parameter("CredType", lambda _: "cred/slurm", "pods can't speak to it at all"),
    Parameter(
        "AuthInfo",
        lambda _: "use_client_ids",
        "users that its host doesn't know can't run jobs",
        Compared.LIST,
        slurmdbd=True,
    ),
    Parameter(
        "AuthAltTypes", lambda _: "auth/jwt", "no token is accepted, so no node can be drained", Compared.LIST, slurmdbd=True
    ),
    Parameter(
        "AuthAltParameters",
        PARAMETERS["AuthAltParameters"].value,
        "no token is accepted, so no node can be drained",
        Compared.LIST,
        slurmdbd=True,
        comment="your file may name another path in jwt_key=: keep that one, and have it once; add the rest with a comma",
        calls=PARAMETERS["AuthAltParameters"].calls,
    ),
    Parameter(
        "SlurmctldParameters",
        lambda _: "enable_configless",
        "slurmd in pods gets no configuration",
        Compared.LIST,
        restart=False,
        comment="pods fetch their configuration; add to other SlurmctldParameters with a comma",
    ),
    Parameter(
        "MaxNodeCount",
        lambda config: str(config.cluster.max_node_count),
        "pods beyond it can't register",
        Compared.LEAST,
        comment="counts every node, those of this file and the pods: with less than both, pods can't register",
    ),
    Parameter(
        "ReturnToService",
        lambda _: "2",
        "a pod that comes back stays DOWN until somebody resumes it",
        restart=False,
        comment="a pod that comes back may run jobs again without an admin",
        over_rest="all",
    ),
    Parameter(
        "MetricsType",
        lambda config: METRICS_TYPE if reads_metrics(config) else "",
        "the autoscaler and Prometheus get no metrics",
        restart=False,
        comment="the autoscaler and Prometheus go by these; they are off while PrivateData is set",
    ),
    Parameter("GresTypes", lambda config: ",".join(types_of(config)), "nodes with it can't register", Compared.LIST),
    Parameter("AccountingStorageType", _accounting(lambda _: "accounting_storage/slurmdbd"), "jobs are not accounted"),
    Parameter(
        "AccountingStorageHost",
        _accounting(lambda slurmdbd: slurmdbd.host),
        "jobs are not accounted",
        comment="or another name of this host, which your file may have already",
    ),
    Parameter("AccountingStoragePort", _accounting(lambda slurmdbd: str(slurmdbd.port)), "jobs are not accounted"),
)
"""The parameters, in the order in which they are written. From here come the output ``outsideSlurmConf``, the files and
checks of the hand-off, the checks of preflight and drift, and the table of docs/outside-hosts.md. The policies have a list
of their own on purpose: they judge what this program renders."""


def parameter(key: str) -> Parameter:
    """The required parameter of that name."""
    return next(requirement for requirement in REQUIRED if requirement.key == key)


def line(key: str, config: StackConfig) -> str:
    """``KEY=VALUE`` of a required parameter."""
    return f"{key}={parameter(key).value(config)}"


def required(config: StackConfig) -> tuple[tuple[Parameter, str], ...]:
    """The parameters that this stack needs of an external slurmctld, with their values."""
    return tuple((requirement, value) for requirement in REQUIRED if (value := requirement.value(config)))


def commented(requirement: Parameter, value: str) -> tuple[str, ...]:
    """The line of a parameter, below what its admin has to know of it."""
    comment = requirement.comment or (
        "keep what this line has in your file: add to it with a comma" if requirement.adds else ""
    )
    return (*((f"# {comment}",) if comment else ()), f"{requirement.key}={value}")


def outside_lines(config: StackConfig) -> tuple[str, ...]:
    """NodeName=, NodeSet= and PartitionName= lines that slurm.conf of an outside slurmctld must hold, those of hosts one by
    one, since an admin may have them in other groups."""
    return (*host_lines(config).values(), *nodeset_lines(config).values(), *partition_lines(config).values())


def outside_slurm_conf(config: StackConfig) -> str:
    """The lines that slurm.conf of an outside slurmctld must hold for this stack's NodeSets, with the reason of each.

    An outside slurmctld learns nothing from the operator (no partition, no NodeSet line, no extraConf), so what is
    missing here is missing. The text holds no secret. Where slurmctld is in Kubernetes, it says that there is nothing to do.
    """
    if config.auth.outside_conf:
        return f"# {config.cluster.name} {config.auth.outside_conf}\n"
    if config.slurmctld.owns_conf:
        return f"# slurmctld of {config.cluster.name} is in Kubernetes: the operator writes its slurm.conf\n"
    lines = [f"# slurm.conf of {config.cluster.name}: what the NodeSets in Kubernetes need"]
    hosts = [host.host for host in config.slurmctld.hosts]
    if (
        len(hosts) > 1
    ):  # for a reader alone: an own line may name them otherwise, and a second line would be another slurmctld
        lines.append(f"# keep your SlurmctldHost lines; they name these hosts, the primary first: {', '.join(hosts)}")
    for requirement, value in required(config):
        lines += commented(requirement, value)
    sets = (*nodeset_lines(config).values(), *partition_lines(config).values())
    metal = metal_lines(config)
    if metal:
        lines.append("# leave out hosts that slurm.conf names already: slurmctld refuses a file with a node twice")
    return "\n".join([*lines, *metal, *sets]) + "\n"
