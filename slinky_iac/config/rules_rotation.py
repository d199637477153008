"""Rules about keys that are being replaced: who can take part, and which secrets may stand beside which."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, error
from slinky_iac.config.stack import COMING_KEYS, StackConfig


def rotation(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.jwks` and about the secrets that `keys rotate` sets."""
    keys, under_way = config.keys, [name for name in COMING_KEYS if name in secrets]
    if keys.source != "imported" and under_way:
        yield error(
            "keys.source",
            f"{keys.source}, but {', '.join(under_way)} is set: only imported keys are rotated. Remove it by `pulumi config"
            " rm`, or set keys.source: imported with both keys",
        )
    if {"slurmKeyNext", "slurmKeyPrevious"} <= secrets:
        yield error(
            "keys",
            "slurmKeyNext and slurmKeyPrevious are both set: a rotation has one of them at a time. See `python -m slinky_iac"
            " keys rotate slurm --plan`, then remove the one that is left over by `pulumi config rm`",
        )
    if not keys.jwks:
        if secrets & {"slurmKeyNext", "slurmKeyPrevious"}:
            yield error(
                "keys.jwks",
                "false, but slurm.key is being rotated: slurmd's pods would know one key only and be lost at the change."
                " Set keys.jwks: true, or end the rotation first",
            )
        return
    if keys.source != "imported":
        yield error("keys.jwks", f"true needs keys.source: imported (it is {keys.source}); others can't be rotated in place")
    if config.controller.external is None:
        yield error(
            "keys.jwks",
            "true, but slurmctld is in Kubernetes: its pod reads slurm.key only, so it couldn't take part. Leave it false;"
            " docs/keys.md says how such a cluster changes its key",
        )
    if config.logins:
        yield error(
            "keys.jwks",
            f"true, but login sets ({', '.join(config.logins)}) read slurm.key only: they would be cut off at the change."
            " Leave it false, or keep login hosts outside",
        )
