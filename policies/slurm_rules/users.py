"""Users that pods know by a passwd of the stack."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule

FILES = frozenset({"users", "groups"})
"""Entries of a ConfigMap that daemons read as /etc/passwd and /etc/group."""
_FIRST = 1000
_NOT_A_PERSON = (65534, 65535)


def lists_users(resource: Resource) -> bool:
    """Whether a resource is a ConfigMap with users and groups."""
    return resource.is_a("", "ConfigMap") and set(resource.names("data")) >= FILES


@rule("users-are-ordinary", lists_users, scope="resource")
def users_are_ordinary(config_map: Resource, _: Stack, __: Options) -> Iterator[str]:
    """Users and groups of a passwd ConfigMap have numbers of their own: not root's, SlurmUser's, or a daemon's.

    Why: a job runs with the number that slurmctld finds for its user. With 0 it is root in the pod, and slurmd's pods are
    privileged; with SlurmUser's number it may read slurm.key and rule the cluster.

    Source: passwd(5); login.defs(5) UID_MIN; slurm.conf(5) SlurmUser (401 in Slinky's images).

    Do: give users and groups numbers of 1000 or above.

    Level: mandatory, since it makes a user root.
    """
    for file in sorted(FILES):
        for line in config_map.text("data", file).splitlines():
            fields = line.split(":")
            numbers = [number for number in fields[2 : 4 if file == "users" else 3] if line]
            if _of_system(file, fields, numbers):
                continue
            if line and (len(fields) < 4 or not all(_ordinary(number) for number in numbers)):
                yield f"{config_map.label}: data.{file} has a number that isn't a user's; give one above {_FIRST - 1}"
                break


def _of_system(file: str, fields: list[str], numbers: list[str]) -> bool:
    """Whether a line says of root or slurm what every image says; of a group, without a member."""
    if len(set(numbers)) != 1 or (file == "groups" and fields[3:] != [""]):
        return False
    number = numbers[0]
    slurm = fields[0] == "slurm" and number.isascii() and number.isdigit() and 0 < int(number) < _FIRST
    return slurm or (fields[0], number) == ("root", "0")


def _ordinary(text: str) -> bool:
    return text.isascii() and text.isdigit() and _FIRST <= int(text) < 2**31 and int(text) not in _NOT_A_PERSON
