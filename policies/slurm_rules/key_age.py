"""How old the keys of a stack are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from slurm_rules.key_material import keys_of
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, number, rule

EXTERNAL_KEY: Final = "pulumi-python:dynamic/slurm:ExternalKey"


@rule(
    "key-age",
    lambda resource: resource.is_a("", "Secret") or resource.type == EXTERNAL_KEY,
    options={"maxDays": number(1095, "Days after which a key is due for a new one.", 1)},
)
def key_age(secret: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """No key is older than the site allows.

    Why: nothing says who has read a key since it was made: backups of etcd, images of disks, people who have left. Only a
    new one ends that. The age is that of the immutable Secret (metadata.creationTimestamp), which each rotation replaces.
    For a Secret that is changed in place, and for a key that was imported after long use, the stack doesn't show it. Of a
    key that somebody else makes (keys.source: external) it is the time at which the key was written to its Secret.

    Source: NIST SP 800-57 part 1, section 5.3 (cryptoperiods); Kubernetes, ObjectMeta creationTimestamp.

    Do: `slinky keys rotate`, or raise maxDays in the site file.

    Level: advisory, since an old key that did not leak does no harm.
    """
    if secret.type == EXTERNAL_KEY:
        since = secret.peek("since")  # not known before the first update, when the key is of no age
        days = _days(since) if isinstance(since, str) else None
        if days is not None and days > options["maxDays"]:
            where = f"{secret.peek('namespace')}/{secret.peek('secret')}"
            yield f"Secret {where}: its key is {days} days old; this site allows {options['maxDays']:g}; rotate it"
        return
    made = secret.get("metadata", "creationTimestamp")
    if secret.get("immutable") is not True or made is None:
        return
    days = _days(str(made))
    if days is None:
        return
    for key in keys_of(secret, stack):
        if days > options["maxDays"]:
            yield f"{secret.label}: {key.what} is {days} days old; this site allows {options['maxDays']:g}; rotate it"


def _days(stamp: str) -> int | None:
    """Days since a time; None for a text that is none."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(stamp)).days
    except (ValueError, TypeError):
        return None
