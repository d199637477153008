"""Which lines of slurm.conf a change takes away from jobs: partitions, and bare-metal hosts with their CPUs and GRES.

Only what can end a job counts. A partition or host that comes does no harm, and neither do other parameters of a line.
Source: ``src/slurmctld/read_config.c`` (``_sync_jobs_to_conf``, ``valid_job_resources``, ``gres_job_revalidate``), 25.11 and
26.05; watched with 26.05.5: other CPUs end or requeue a running job, other RealMemory or Weight doesn't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.policy import DrainPolicy, parse_policy
from slinky_iac.drain.settings import SCHEMA, reach_from

SLURM_CONF: Final = "slurm-conf"
"""Stands where a NodeSet's name stands in reasons of drains before a change of slurm.conf."""
RESOURCES: Final = frozenset(
    {"cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
    | {"corespeccount", "cpuspeclist", "gres"}
)
"""Parameters of a NodeName= line, in lower case, whose change ends jobs that run on the host."""
_LINE: Final = re.compile(r"^[ \t]*(PartitionName|NodeName)=(\S+)(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class ConfLines:
    """PartitionName= lines and NodeName= lines by name, of a configuration or of a running Controller."""

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)

    def with_more(self, other: ConfLines) -> ConfLines:
        """The lines of both; where both have one, this one's."""
        return ConfLines({**other.partitions, **self.partitions}, {**other.hosts, **self.hosts})


@dataclass(frozen=True)
class Leaving:
    """What jobs may lose by a change."""

    partitions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Bare-metal hosts whose NodeName= line goes."""
    changed: tuple[str, ...] = ()
    """Bare-metal hosts whose line stays, with other resources."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Hosts that must be free."""
        return (*self.hosts, *self.changed)

    def __bool__(self) -> bool:
        return bool(self.partitions or self.hosts or self.changed)


def read_lines(text: str) -> ConfLines:
    """The lines in a Controller's ``extraConf``."""
    found: dict[str, dict[str, str]] = {"partitionname": {}, "nodename": {}}
    for match in _LINE.finditer(text):
        found[match[1].lower()][match[2]] = match[0].strip()
    return ConfLines(found["partitionname"], found["nodename"])


def leaving(olds: ConfLines, news: ConfLines) -> Leaving:
    """What goes from ``olds`` to ``news``, in order of name."""
    stay = sorted(olds.hosts.keys() & news.hosts.keys())
    return Leaving(
        partitions=tuple(sorted(olds.partitions.keys() - news.partitions.keys())),
        hosts=tuple(sorted(olds.hosts.keys() - news.hosts.keys())),
        changed=tuple(name for name in stay if resources(olds.hosts[name]) != resources(news.hosts[name])),
    )


def resources(line: str) -> dict[str, str]:
    """The parameters of a NodeName= line that jobs rely on; Slurm takes the last of two."""
    pairs = (word.partition("=") for word in line.split())
    return {key.lower(): value for key, _, value in pairs if key.lower() in RESOURCES}


@dataclass(frozen=True)
class ConfSettings:
    """Props of the gates around slurmctld's configuration."""

    owner: Owner
    controller: str
    lines: ConfLines
    policy: DrainPolicy
    reach: Reach
    urn: str
    keeps_queue: bool = False
    """slurmctld's state outlives a destroy: jobs wait in its volume, and those on bare metal go on."""
    outside: bool = False
    """An admin writes slurm.conf, so this program only tells what leaves it."""

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> ConfSettings:
        """Read props, from a program or from a state file. Raises ValueError where another program wrote them."""
        if int(props.get("schema", 0)) != SCHEMA:
            raise ValueError(
                f"the gate's state has schema {props.get('schema')} and this program reads {SCHEMA}; nothing was changed."
                " Run the release of slinky-iac that wrote it, or a newer one"
            )
        return cls(
            owner=Owner(str(props["stack"]), SLURM_CONF),
            controller=str(props["controller"]),
            lines=lines_of(props),
            policy=parse_policy(props["policy"]),
            reach=reach_from(props),
            urn=str(props.get("urn", "")),
            keeps_queue=props.get("keepsQueue") is True,
            outside=props.get("outside") is True,
        )


def lines_of(props: Mapping[str, Any]) -> ConfLines:
    """The lines in props; none where there are none yet."""
    return ConfLines(_texts(props.get("partitions")), _texts(props.get("hosts")))


def _texts(raw: object) -> dict[str, str]:
    return {str(name): str(line) for name, line in raw.items()} if isinstance(raw, Mapping) else {}
