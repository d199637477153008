"""Slurm's nodes."""

from __future__ import annotations

from typing import Any

from slinky_iac.slurmrest.objects import Node
from tests.made import rows
from tests.made.wire import read


def node(name: str, state: str = "IDLE", **fields: Any) -> Node:
    """``state`` as sinfo has it, with ``+``."""
    return read(Node, rows.node(name, *state.split("+"), **rows.numbers(fields, "reason_changed_at", "resume_after")))
