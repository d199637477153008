"""The case of the rule about the section munge of a cluster with auth/slurm: the fault and its cure."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

CASES: list[Case] = []
TOLD = [
    Case(
        "a cluster with auth/slurm has no use for munge's settings",
        minimal(munge={"slurmUser": "slurm"}),
        "warning",
        "munge",
        ("auth/slurm", "slurm.key", "Remove it"),
        {
            "keys": {"auth": "auth/munge", "source": "imported"},
            "controller": {"external": {"host": "ctl.example.org"}},
            "munge": {"image": "munge:1"},
        },
        frozenset({"mungeKey"}),
    ),
]
