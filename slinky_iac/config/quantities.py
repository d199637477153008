"""Amounts as Kubernetes writes them, and what people write in their place. Pure."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from slinky_iac.config.kubernetes.names import is_quantity
from slinky_iac.config.shown import Refused

_QUANTITY: Final = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")
_PARTS: Final = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))")
_DECIMAL: Final = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {unit: number for number, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_LEAST: Final = 64 << 20  # bytes
_BYTES: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGTP])i?[Bb]", re.IGNORECASE)


def amount(value: object) -> Fraction | None:
    """A quantity as a number; None of what is none, which its type says."""
    if not is_quantity(value) or (match := _PARTS.fullmatch(str(value))) is None:
        return None
    digits, power, unit = match[1].rstrip("."), int(match[2] or 0), match[3] or ""
    scale = Fraction(1024) ** _BINARY[unit] if unit in _BINARY else Fraction(10) ** (power + _DECIMAL[unit])
    return Fraction(digits) * scale


def quantity(value: str) -> str:
    """A quantity. Raises :class:`Refused` for another text."""
    if value.startswith("-") and value[1:].isdecimal():
        raise Refused(value, "; it must be above 0, for example 500m or 4")
    if _QUANTITY.fullmatch(value) is None:
        raise Refused(
            value, "; a Kubernetes quantity is a number with a unit, for example 500m or 4 for CPUs, 16Gi for bytes"
        )
    return value


def memory(value: str) -> str:
    """An amount of memory of a container. Raises :class:`Refused` for another text, with Kubernetes' spelling where that is
    known, and ValueError for a number without a unit that is below what any daemon starts with: MB was meant."""
    if match := _BYTES.fullmatch(value):
        unit = match[2].upper()
        raise Refused(value, f"; write {match[1]}{'k' if unit == 'K' else unit} or {match[1]}{unit}i")
    if _QUANTITY.fullmatch(value) is None:
        raise Refused(value, "; an amount of memory is a number with a unit, for example 512Mi or 16Gi")
    if value.endswith("m"):
        number = value[:-1][:20]
        raise ValueError(f"got {number}m, thousandths of a byte; Kubernetes writes Mi for mebibytes: {number}Mi")
    if value[-1].isdigit() and float(value[:20]) < _LEAST:
        raise ValueError(
            f"got {value[:20]}, which is bytes; {_with_unit(value[:20])} (Slurm counts MB, and Kubernetes bytes)"
        )
    return value


def _with_unit(value: str) -> str:
    number = int(value) if value.isdigit() else 0
    meant = f"{number or value}Mi" + (f", or {number >> 10}Gi" if number and not number % 1024 else "")
    if number and not number % (1 << 20):
        return f"give its unit: {number >> 20}Mi if bytes are meant, else {meant}"
    return f"give its unit, for example {meant}"


def whole_cpus(quantity: str) -> int:
    """CPUs of a quantity, rounded up: what slurmd gets as its CPUs (Slinky's chart rounds the same way). Raises ValueError
    for what is none."""
    return max(1, int(-(-_number(quantity) // 1)))


def mebibytes(quantity: str) -> int:
    """Mebibytes of a quantity, rounded down, as RealMemory counts. Raises ValueError for what is none."""
    return int(_number(quantity) // 2**20)


def _number(quantity: str) -> Fraction:
    if (number := amount(quantity)) is None or number < 0:
        raise ValueError(f"{quantity!r} isn't a Kubernetes quantity")
    return number
