"""Users that pods know by a passwd of the stack."""

from __future__ import annotations

from collections.abc import Iterator

FILES = frozenset({"users", "groups"})
"""Entries of a ConfigMap that daemons read as /etc/passwd and /etc/group. Source: passwd(5); login.defs(5) UID_MIN."""
_FIRST = 1000
_NOT_A_PERSON = (65534, 65535)


def account_faults(file: str, text: str) -> Iterator[str]:
    """Users and groups with numbers that are root's, SlurmUser's or a daemon's: a job runs with the number of its user."""
    for line in text.splitlines():
        fields = line.split(":")
        numbers = [number for number in fields[2 : 4 if file == "users" else 3] if line]
        if _of_system(file, fields, numbers):
            continue
        if line and (len(fields) < 4 or not all(_ordinary(number) for number in numbers)):
            yield f"has a number that isn't a user's; give one above {_FIRST - 1}"
            return


def _of_system(file: str, fields: list[str], numbers: list[str]) -> bool:
    """Whether a line says of root or slurm what every image says; of a group, without a member."""
    if len(set(numbers)) != 1 or (file == "groups" and fields[3:] != [""]):
        return False
    number = numbers[0]
    slurm = fields[0] == "slurm" and number.isascii() and number.isdigit() and 0 < int(number) < _FIRST
    return slurm or (fields[0], number) == ("root", "0")


def _ordinary(text: str) -> bool:
    return text.isascii() and text.isdigit() and _FIRST <= int(text) < 2**31 and int(text) not in _NOT_A_PERSON
