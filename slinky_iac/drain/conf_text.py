"""A Controller's ``extraConf``, the tail of slurm.conf: on which of its lines and numbers jobs rely, what a change takes
away, and the text that takes nothing that is still in use. Pure.

Only what can end a job counts: partitions; bare-metal hosts with their CPUs, GRES and address; the number of nodes; types of
GRES. What comes does no harm, and neither do other parameters of a line. Source: ``src/slurmctld/read_config.c``, 25.11 and
26.05 (``_sync_jobs_to_conf``, ``valid_job_resources``, ``gres_job_revalidate``), ``node_conf.c`` (``add_node_record``).
Watched with 26.05.5: other CPUs end or requeue a running job, and so does another address once SlurmdTimeout is over; other
RealMemory or Weight doesn't. MaxNodeCount under the number of nodes ends the jobs of those that find no room.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.conf_lines import conf_lines
from slinky_iac.drain.losses import Change, gres_of
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import bracketed, expand
from slinky_iac.releases import OPERATOR_MAX_NODE_COUNT
from slinky_iac.slurmrest.controller import Host
from slinky_iac.slurmrest.objects import by_comma

RESOURCES: Final = frozenset(
    {"cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
    | {"corespeccount", "cpuspeclist", "gres"}
    | {"nodeaddr", "nodehostname", "port"}
)
"""Parameters of a NodeName= line, in lower case, whose change ends jobs that run on the host."""
_PAIRED: Final = frozenset({"nodeaddr", "nodehostname", "port"})
"""Parameters of which a line of several hosts has one value for each (slurm.conf(5), NodeName)."""
_LINE: Final = re.compile(r"(PartitionName|NodeName)=(\S+)(.*)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"MaxNodeCount=(\d+)", re.IGNORECASE)
_TYPES: Final = re.compile(r"GresTypes=(\S+)", re.IGNORECASE)


_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_PAIR: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]*=\S.*")
_RELIED: Final = re.compile(r"(PartitionName|NodeName)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ConfLines:
    """PartitionName= lines and NodeName= lines by name, of a configuration or of a running Controller."""

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)


def read_lines(text: str) -> ConfLines:
    """The lines in a Controller's ``extraConf``."""
    lines: dict[str, dict[str, str]] = {"partitionname": {}, "nodename": {}}
    for match in filter(None, map(_LINE.fullmatch, conf_lines(text))):
        lines[match[1].lower()] |= _by_name(match)
    return ConfLines(lines["partitionname"], lines["nodename"])


def _by_name(match: re.Match[str]) -> dict[str, str]:
    """A line by each name that it has, as if it were that one's alone: with several names, an address is a list too."""
    every = _named(match)
    if len(every) < 2:
        return dict.fromkeys(every, match[0])
    words = [_for_each(word, len(every)) for word in match[3].split()]
    return {name: " ".join([f"{match[1]}={name}", *(own[at] for own in words)]) for at, name in enumerate(every)}


def _for_each(word: str, count: int) -> Sequence[str]:
    """A parameter as each of so many names has it: the same, or its own where it has a hostlist of as many values."""
    key, _, value = word.partition("=")
    try:
        own = expand(bracketed(value) if key.lower() == "port" else value) if key.lower() in _PAIRED else ()
    except HostlistError:
        own = ()
    return [f"{key}={part}" for part in own] if len(own) == count else [word] * count


def unjudged(live: str, wanted: str) -> tuple[str, ...]:
    """Lines of a Controller that somebody has written, which aren't in ``wanted`` and of which it isn't known what jobs rely
    on: ``Include``, blanks around ``=``, names in quotes, ``DEFAULT``."""
    own = {*conf_lines(wanted)}
    return tuple(line for line in conf_lines(live) if line not in own and not _is_judged(line))


def _is_judged(line: str) -> bool:
    if not _PAIR.fullmatch(line):
        return False
    match = _LINE.fullmatch(line)
    return bool(match and _named(match)) if _RELIED.match(line) else True


def _named(match: re.Match[str]) -> tuple[str, ...]:
    """The partition or the hosts of a line; none where that isn't known."""
    try:
        every = expand(match[2]) if match[1].lower() == "nodename" else (match[2],)
    except HostlistError:
        return ()
    return every if all(_NAME.fullmatch(name) and name.upper() != "DEFAULT" for name in every) else ()


def leaving(olds: ConfLines, news: ConfLines) -> Change:
    """What jobs may lose from ``olds`` to ``news``: partitions, bare-metal hosts whose NodeName= line goes, and those whose
    line stays, with other resources or another address."""
    stay = olds.hosts.keys() & news.hosts.keys()
    return Change(
        partitions=frozenset(olds.partitions.keys() - news.partitions.keys()),
        records=frozenset(olds.hosts.keys() - news.hosts.keys()),
        nodes=frozenset(name for name in stay if resources(olds.hosts[name]) != resources(news.hosts[name])),
    )


def resources(line: str) -> dict[str, str]:
    """The parameters of a NodeName= line that jobs rely on; Slurm takes the last of two."""
    pairs = (word.partition("=") for word in line.split())
    return {key.lower(): value for key, _, value in pairs if key.lower() in RESOURCES}


_SHOWN: Final[Mapping[str, str]] = {
    "cpus": "cpus",
    "procs": "cpus",
    "boards": "boards",
    "sockets": "sockets",
    "corespersocket": "cores",
    "threadspercore": "threads",
    "nodeaddr": "address",
    "nodehostname": "hostname",
    "port": "port",
}
"""Of :data:`RESOURCES`, what slurmrestd shows as slurm.conf has it, by its field."""
_COUNTED: Final = re.compile(r"(\w+)(?::[^:,]*)?:(\d+)")


def otherwise(line: str, host: Host) -> str:
    """What slurmctld shows of a host that its line, of this program, doesn't say; empty where the line may have been read.

    ``CoreSpecCount``, ``CpuSpecList`` and ``SocketsPerBoard`` aren't compared: slurmctld counts from them.
    """
    wished = {key.lower(): (key, text) for key, _, text in (word.partition("=") for word in line.split())}
    for key, shown in _SHOWN.items():
        name, text = wished.get(key, ("", ""))
        actual = getattr(host, shown)
        if text and actual and f"{actual}".casefold() != text.casefold():
            return f"{shown} {actual} of {host.name}, whose line has {name}={text}"
    gres = wished.get("gres", ("", ""))[1]
    if host.gres and _gres(host.gres) != _gres(gres):
        return f"GRES {host.gres} of {host.name}, whose line has {gres or 'none'}"
    return ""


def _gres(text: str) -> set[tuple[str, int]]:
    """Names with their counts, without types and sockets; ``shard:4K`` and the like are left out."""
    items = by_comma(re.sub(r"\([^)]*\)", "", text))
    counts: dict[str, int] = {}
    for match in filter(None, map(_COUNTED.fullmatch, items)):
        counts[match[1]] = counts.get(match[1], 0) + int(match[2])
    return {*counts.items()}


def max_nodes(text: str) -> int:
    """MaxNodeCount as slurmctld has it with this text."""
    number = _last(_NUMBER, text)
    return int(number) if number else OPERATOR_MAX_NODE_COUNT


def gres_types(text: str) -> frozenset[str]:
    """GresTypes in this text."""
    types = _last(_TYPES, text)
    return frozenset(types.split(",")) if types else frozenset()


def _last(pattern: re.Pattern[str], text: str) -> str:
    """A parameter's value, of which the last line counts; empty where no line has it."""
    return next((match[1] for match in map(pattern.fullmatch, reversed([*conf_lines(text)])) if match), "")


def narrows(live: str, wanted: str) -> bool:
    """Whether the number of nodes or a type of GRES goes down with ``wanted``, so that it matters which nodes stand."""
    return max_nodes(wanted) < max_nodes(live) or bool(gres_types(live) - gres_types(wanted))


def fitting(live: str, wanted: str, cluster: ClusterView) -> str:
    """``wanted`` with the number of ``live`` where slurmctld has more nodes than ``wanted`` allows, and with the types of
    GRES that these have. A later update takes them away, when the nodes are gone.

    Not with a number in between: slurm-operator 1.2 restarts slurmctld over each change, and a node may come meanwhile.
    """
    text, number = wanted, max_nodes(live)
    if max_nodes(wanted) < min(number, len(cluster.nodes)):
        text = _set(_NUMBER, text, f"MaxNodeCount={number}")
    used = frozenset[str]().union(*map(gres_of, cluster.nodes.values()))
    kept = (gres_types(live) - gres_types(wanted)) & used
    return _set(_TYPES, text, f"GresTypes={','.join(sorted(gres_types(wanted) | kept))}") if kept else text


def _set(pattern: re.Pattern[str], text: str, line: str) -> str:
    return "\n".join(
        [line, *(other_line for other_line in text.split("\n") if other_line and not pattern.fullmatch(other_line))]
    )


def kept_back(wanted: str, text: str) -> tuple[str, ...]:
    """A sentence for each thing that ``text`` (of :func:`fitting`) still has, and ``wanted`` has not."""
    sentences = []
    if max_nodes(text) != max_nodes(wanted):
        sentences.append(
            f"MaxNodeCount stays {max_nodes(text)} and is not yet {max_nodes(wanted)}: slurmctld has more nodes than that,"
            " and would end the jobs of those without room. `pulumi up` lowers it once they are gone"
        )
    if more := sorted(gres_types(text) - gres_types(wanted)):
        sentences.append(
            f"GresTypes keeps {', '.join(more)} while nodes have it, for their jobs. `pulumi up` takes it away once they are"
            " gone"
        )
    return tuple(sentences)


def in_words(going: Change) -> str:
    """``partition gpu, host metal-1``."""
    parts = (f"partition {name}" for name in sorted(going.partitions)), (f"host {name}" for name in going.hosts)
    return ", ".join(phrase for part in parts for phrase in part)
