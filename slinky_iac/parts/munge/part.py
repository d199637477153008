"""Clients of a munge cluster as a part. components/munge_clients.py registers their Secret, whose key only a program has."""

from __future__ import annotations

from slinky_iac.parts.munge.rules import RULES
from slinky_iac.parts.part import Part


class Munge(Part):
    """Rules alone."""

    name = "munge"
    rules = RULES
