"""Amounts as Kubernetes writes them, and what people write in their place. Pure."""

from __future__ import annotations

import re
from typing import Final

from slinky_iac.config.shown import Refused

_QUANTITY: Final = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")
_LEAST: Final = 64 << 20  # bytes
_BYTES: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGTP])i?[Bb]", re.IGNORECASE)


def quantity(value: str) -> str:
    """A quantity. Raises :class:`Refused` for another text."""
    if _QUANTITY.fullmatch(value) is None:
        raise Refused(
            value, "; a Kubernetes quantity is a number with a unit, for example 500m or 4 for CPUs, 16Gi for bytes"
        )
    return value


def memory(value: str) -> str:
    """An amount of memory. Raises :class:`Refused` for another text, with Kubernetes' spelling of it where that is known."""
    if found := _BYTES.fullmatch(value):
        unit = found[2].upper()
        raise Refused(value, f"; write {found[1]}{'k' if unit == 'K' else unit} or {found[1]}{unit}i")
    if _QUANTITY.fullmatch(value) is None:
        raise Refused(value, "; an amount of memory is a number with a unit, for example 512Mi or 16Gi")
    return value


def slurmd_memory(value: str) -> str:
    """The same for slurmd's container: a number without a unit, below what it starts with, was meant in MB."""
    memory(value)
    if value.isdigit() and (number := int(value[:20])) < _LEAST:
        meant = f"{number}Mi" + (f", or {number >> 10}Gi" if number and not number % 1024 else "")
        raise ValueError(
            f"got {number}, which is bytes; give its unit, for example {meant} (Slurm counts MB, and Kubernetes bytes)"
        )
    return value
