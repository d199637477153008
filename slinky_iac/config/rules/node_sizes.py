"""Rules of a node's numbers beside each other: CPUs against sockets and cores, and what is kept from jobs.

slurmctld names each in its log and takes another number. Run on 26.05.5 and 25.11.7; source: ``_parse_nodename`` of
read_config.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.quantities import mebibytes, whole_cpus
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig

_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_RANGES: Final = re.compile(r"[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*")
_MOST_CPUS: Final = 1 << 16


@dataclass(frozen=True)
class Node:
    """What one line of parameters makes of a node; None for what it doesn't say."""

    path: str
    parameters: Mapping[str, str]
    cpus: int | None
    cores: int | None
    """At most, where the line doesn't say how many threads a core has."""
    memory: int | None


def _number(conf: Conf, *names: str) -> int | None:
    numbers = [conf[name] for name in names if _WHOLE.fullmatch(conf[name])]
    return int(numbers[0]) if numbers else None


@dataclass(frozen=True)
class Host:
    """What a line says of an outside host. Where it doesn't say them, CPUs and sockets are None, and cores of a socket and
    threads of a core are 1."""

    path: str
    conf: Conf
    parameters: Mapping[str, str]

    @property
    def cpus(self) -> int | None:
        """All of them."""
        return _number(self.conf, "CPUs", "Procs")

    @property
    def sockets(self) -> int | None:
        """Of all boards."""
        per_board = _number(self.conf, "SocketsPerBoard")
        return _number(self.conf, "Sockets") if per_board is None else per_board * (_number(self.conf, "Boards") or 1)

    @property
    def cores(self) -> int:
        """Of a socket."""
        return _number(self.conf, "CoresPerSocket") or 1

    @property
    def threads(self) -> int:
        """Of a core."""
        return _number(self.conf, "ThreadsPerCore") or 1


def _hosts(config: StackConfig) -> Iterator[Host]:
    """A line each: hosts of one group share it."""
    for path, host in {host.path: host for host in config.external.slurmd_hosts}.items():
        yield Host(f"{path}.config", Conf(host.config), host.config)


def _nodes(config: StackConfig) -> Iterator[Node]:
    for host in _hosts(config):
        cpus, sockets = host.cpus, host.sockets
        if sockets is not None:
            cores: int | None = sockets * host.cores
        else:
            cores = None if cpus is None else cpus // host.threads
        yield Node(host.path, host.parameters, cpus, cores, _number(host.conf, "RealMemory"))
    for name, nodeset in config.nodesets.items():
        given = nodeset.resources
        cpus = None if given.cpus is None else whole_cpus(given.cpus)
        memory = None if given.memory is None else mebibytes(given.memory)
        yield Node(f"nodesets.{name}.extraConf", nodeset.extra_conf, cpus, cpus, memory)


def _shapes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """CPUs of outside hosts that are neither all sockets, nor all cores, nor all threads."""
    if not config.slurmctld.owns_conf:
        return
    for host in _hosts(config):
        cpus, sockets, cores, threads = host.cpus, host.sockets, host.cores, host.threads
        if not cpus or not sockets:
            continue
        sizes = (sockets, sockets * cores, sockets * cores * threads)
        if cpus not in sizes:
            key = spelt(host.parameters, "CPUs") or spelt(host.parameters, "Procs")
            yield at(f"{host.path}.{key}").warning(
                f"is {cpus}, and {sockets} sockets with {cores} cores of {threads} threads make {sizes[2]}: slurmctld takes"
                f" {sizes[2]}, and names it in its log. Give what `slurmd -C` prints on the host, or leave {key} out",
                id="slurm-ignores",
            )


def _kept(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Cores and memory that are kept from jobs."""
    for node in _nodes(config):
        for name, said in _of_node(node):
            yield at(f"{node.path}.{spelt(node.parameters, name)}").warning(said, id="slurm-ignores")


def _of_node(node: Node) -> Iterator[tuple[str, str]]:
    conf = Conf(node.parameters)
    kept, limit = _number(conf, "CoreSpecCount") or 0, _number(conf, "MemSpecLimit") or 0
    if kept and conf["CpuSpecList"]:
        yield "CoreSpecCount", "is there beside CpuSpecList, which slurmctld takes alone. Remove one of the two"
    elif kept and node.cores and kept >= node.cores:
        yield (
            "CoreSpecCount",
            f"is {kept}, and the node has {node.cores} cores at most: slurmctld keeps 1 from jobs, and says so in its log."
            f" Set {node.cores - 1} or less",
        )
    if limit and node.memory is not None and limit >= node.memory:
        yield (
            "MemSpecLimit",
            f"is {limit}, and the node has {node.memory} MiB: slurmctld keeps none from jobs, and names it in its log. Set"
            " less than that",
        )
    listed = _listed(conf["CpuSpecList"])
    if listed is None or not node.cpus:
        return
    if max(listed) >= node.cpus:
        yield (
            "CpuSpecList",
            f"names CPU {max(listed)}, and the node has {node.cpus}, counted from 0: slurmctld leaves the list out, and"
            " says so in its log. Correct it",
        )
    elif len(listed) == node.cpus:
        yield "CpuSpecList", "names all CPUs of the node, so none is left for jobs. Leave some out"


def _listed(text: str) -> frozenset[int] | None:
    """CPUs of a list such as 0,2-5; None for none, and for what isn't one."""
    if not _RANGES.fullmatch(text):
        return None
    spans = [tuple(map(int, part.split("-"))) for part in text.split(",")]
    if any(span[-1] >= _MOST_CPUS for span in spans):
        return frozenset({max(span[-1] for span in spans)})
    return frozenset(cpu for span in spans for cpu in range(span[0], span[-1] + 1)) or None


RULES = (_shapes, _kept)
