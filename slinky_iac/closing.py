"""The steps, to be pasted, by which an admin takes partitions and hosts out of a slurm.conf that is not this program's."""

from __future__ import annotations

from collections.abc import Sequence


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
