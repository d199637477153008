"""Taking partitions and hosts out of slurm.conf: what is closed for it meanwhile, and the steps, to be pasted, by which an
admin does it where slurm.conf is not this program's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names


def closing_steps(partitions: Sequence[str], hosts: Sequence[str]) -> tuple[str, ...]:
    """Close, wait until no job names them, remove the lines: in this order no job is lost."""
    named = ",".join(partitions)
    return (
        *(f"scontrol update partitionname={name} state=drain" for name in partitions),
        *(f'scontrol update nodename={name} state=drain reason="leaves slurm.conf"' for name in hosts),
        *([f"squeue --partition={named}   # go on when it lists no job, running or waiting"] if partitions else []),
        *([f"squeue --nodelist={','.join(hosts)}   # go on when it lists no job"] if hosts else []),
        "# remove the lines from slurm.conf, then",
        "scontrol reconfigure",
    )


def losing(partitions: Sequence[str], hosts: Sequence[str], jobs: int | None) -> str:
    """``slurm.conf loses partition batch with 14 jobs``."""
    what = ", ".join([*(f"partition {name}" for name in partitions), *(f"host {name}" for name in hosts)])
    count = "; whose jobs name it is not known" if jobs is None else f" with {jobs} job{'' if jobs == 1 else 's'}"
    return f"slurm.conf loses {what}{count}"


ENTRY: Final = "held"


@dataclass(frozen=True)
class Held:
    """What is closed or drained before a change of slurm.conf: partitions with the state that they had, and hosts.

    Remembered in a ConfigMap: a partition has no field for whose its state is, and an annotation on the Controller would
    restart slurmctld's pod (operator 1.1 and newer copy them to it). Wire format: one entry ``held``, JSON
    ``{"began":null,"hosts":{"metal-1":"prod"},"partitions":{"batch":"UP"}}``.
    """

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    """With the stack whose name is in the drain's reason: a stack that was renamed since knows its own by it. Empty:
    others hold the host, and it is only waited for."""
    began: int | None = None
    """When slurmctld last began with a configuration, as it was before the Controller got the new one."""
    closed: Mapping[str, str] = field(default_factory=dict)
    """Partitions whose state of ours isn't the usual one for the state that they had. In the entry where there is one."""

    def __bool__(self) -> bool:
        return bool(self.partitions or self.hosts)

    def of(self, partitions: Iterable[str], hosts: Iterable[str]) -> Held:
        """These partitions and hosts of it; without the time, which is about a file."""
        own, named = set(partitions), set(hosts)
        return Held(
            {name: state for name, state in self.partitions.items() if name in own},
            {host: stack for host, stack in self.hosts.items() if host in named},
            closed=self.closed,
        )

    def text(self) -> str:
        """The entry's value."""
        plain: dict[str, Any] = {"partitions": dict(self.partitions), "hosts": dict(self.hosts), "began": self.began}
        if closed := {name: state for name, state in self.closed.items() if name in self.partitions}:
            plain["closed"] = closed
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Held:
        """The value back. Raises ValueError where it isn't one that this program wrote."""
        try:
            raw: Any = json.loads(text)
            partitions = {str(name): str(state) for name, state in raw["partitions"].items()}
            hosts = {str(name): str(stack) for name, stack in raw["hosts"].items()}
            began = raw["began"]
            if not (began is None or type(began) is int):
                raise TypeError  # noqa: TRY301 - as other shapes that this program never wrote
            closed = {str(name): str(state) for name, state in raw.get("closed", {}).items()}
            return cls(partitions, hosts, began, closed)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"entry {ENTRY} isn't one that this program wrote") from None


def place(controller: str) -> str:
    """Name of the ConfigMap in which gates remember what they have closed, and which run may do so."""
    return names.shorten(f"{controller}-gates")
