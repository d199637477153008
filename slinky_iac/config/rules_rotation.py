"""Rules about keys that are being replaced: who can take part, and which secrets may stand beside which."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, error, info
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import DAEMON_KEYS, ROTATION_SECRETS, SLURM


def rotation(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.jwks` and about the secrets that `keys rotate` sets."""
    keys, under_way = config.keys, [name for name in ROTATION_SECRETS if name in secrets]
    yield from _under_way(config, secrets)
    if keys.source != "imported" and under_way:
        yield error(
            "keys.source",
            f"{keys.source}, but {', '.join(under_way)} is set: only imported keys are rotated. Remove it by `pulumi config"
            " rm`, or set keys.source: imported with both keys",
        )
    if secrets.issuperset(SLURM.rotation_secrets):
        yield error(
            "keys",
            "slurmKeyNext and slurmKeyPrevious are both set: a rotation has one of them at a time. See `slinky"
            " keys rotate slurm --plan`, then remove the one that is left over by `pulumi config rm`",
        )
    if not keys.jwks:
        if SLURM.previous in secrets:
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
            f"true, but login sets ({', '.join(map(name_of, config.logins))}) read slurm.key only: they would lose the"
            " cluster at the change."
            " Leave it false, or keep login hosts outside",
        )


def _under_way(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Every preview says that a key is being replaced, and in which steps: who looks may be another than who began."""
    if config.keys.source != "imported":
        return
    inside = config.controller.external is None
    for key in DAEMON_KEYS:
        stops = inside or (key is SLURM and not config.keys.jwks)
        mark = next((name for name in key.rotation_secrets if name in secrets), None)
        if mark is None:
            continue
        command = f"`slinky keys rotate {key.name}"
        if stops:
            yield info(
                "keys",
                f"{mark} is set: the key is being replaced in a planned stop. Steps: make; remove, which waits until the"
                " last job on a pod has ended and the last pod is gone; key; outside hosts, where there are; up."
                f" {command} --plan` shows where it stands, with the commands of each step; {command} --stop` continues."
                f" An update before that brings everything back with the old key; to cancel it: `pulumi config rm {mark}`",
                id="planned-stop",
            )
        else:
            yield info(
                "keys",
                f"{mark} is set: the key is being replaced under running jobs. {command} --plan` shows the steps, where it"
                f" stands and who has to act; {command}` continues",
                id="key-rotation",
            )
