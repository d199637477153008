"""Rules about keys: whose they are, and keys that are being replaced."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, ROTATION_SECRETS, SLURM
from slinky_iac.parts.registry import PARTS


def keys(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about keys that daemons share, and rotations."""
    source = config.key_source
    for rule in (rule for part in PARTS for rule in part.key_rules):
        yield from rule(config, secrets)
    yield from _named(config)
    if (config.slurmctld.hosts or config.slurmdbd.hosts) and source.makes_values:
        yield at("keys.source").error(
            "generated, but slurmctld or slurmdbd is outside and has keys already; pods with new keys could talk to none of"
            " them. Set keys.source: imported, and import both keys of slurmctld's host: `slinky keys import slurm --file"
            " slurm.key`, `slinky keys import jwt --file jwt_hs256.key`"
        )
    if source.configured:
        for key in DAEMON_KEYS:
            if key.config not in secrets:
                yield at("keys.source").error(
                    f"imported, but {key.config} is not set; run `slinky keys import {key.name} --file {key.file}`, with the"
                    " file of slurmctld's host"
                )
    yield from _rotation(config, secrets)
    if config.secret_of(SLURM) == config.secret_of(JWT):
        yield at("keys").error(
            "both keys are the same entry of the same Secret; a leaked token key would open auth/slurm too. Name another"
            " entry in jwtKeyFrom"
        )


def kept(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Two Secrets that this stack makes can't have one name. Those that somebody else makes have the names that they are
    given."""
    if config.key_source.makes_secrets and config.secret_of(SLURM).name == config.secret_of(JWT).name:
        yield at("keys").error("both keys would be made in one Secret; name different ones in slurmKeyFrom and jwtKeyFrom")


def _named(config: StackConfig) -> Iterator[Finding]:
    """Secrets of somebody else are named, and what is said of them is said of such alone."""
    keys, source = config.keys, config.key_source
    given = {"slurmKeyFrom": keys.slurm_key_from, "jwtKeyFrom": keys.jwt_key_from}
    for setting in (name for name, place in given.items() if place is None and not source.makes_secrets):
        yield at(f"keys.{setting}").error(
            f"is needed with keys.source: {source.setting}, to know which Secret is meant: give {{secret: NAME, key: ENTRY}}"
        )
    for_others = {"madeBy": keys.made_by, "acceptedChange": keys.accepted_change}
    for setting in (name for name, text in for_others.items() if text and not source.awaited):
        yield at(f"keys.{setting}").error(f"is for keys.source: external, and keys.source is {source.setting}: remove it")


def _rotation(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Findings about `keys.jwks` and about the secrets that `keys rotate` sets."""
    source, under_way = config.key_source, [name for name in ROTATION_SECRETS if name in secrets]
    yield from _under_way(config, secrets)
    if under_way and not source.configured:
        yield at("keys.source").error(
            f"{source.setting}, but {', '.join(under_way)} is set: only imported keys are rotated. Remove it by `pulumi"
            " config rm`, or set keys.source: imported with both keys"
        )
    if secrets.issuperset(SLURM.rotation_secrets):
        yield at("keys").error(
            "slurmKeyNext and slurmKeyPrevious are both set: a rotation has one of them at a time. See `slinky"
            " keys rotate slurm --plan`, then remove the one that is left over by `pulumi config rm`"
        )
    if not config.keys.jwks:
        if SLURM.previous in secrets:
            yield at("keys.jwks").error(
                "false, but slurm.key is being rotated: slurmd's pods would know one key only and be lost at the change."
                " Set keys.jwks: true, or end the rotation first"
            )
        return
    if not source.configured:
        yield at("keys.jwks").error(
            f"true needs keys.source: imported, and it is {source.setting}: only an imported key can be replaced under"
            " running jobs. Remove keys.jwks, or see `slinky docs keys`"
        )
    if config.slurmctld.reads_one_key:
        yield at("keys.jwks").error(
            "true, but slurmctld is in Kubernetes: its pod reads slurm.key only, so it couldn't take part. Leave it false;"
            " `slinky docs keys` says how such a cluster changes its key"
        )
    if config.logins:
        yield at("keys.jwks").error(
            f"true, but login sets ({', '.join(map(name_of, config.logins))}) read slurm.key only: they would lose the"
            " cluster at the change. Leave it false, or keep login hosts outside"
        )


def _under_way(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    """Every preview says that a key is being replaced, and in which steps: who looks may be another than who began."""
    if not config.key_source.configured:
        return
    for key in DAEMON_KEYS:
        stops = config.slurmctld.reads_one_key or (key is SLURM and key not in config.bundled)
        mark = next((name for name in key.rotation_secrets if name in secrets), None)
        if mark is None:
            continue
        command = f"`slinky keys rotate {key.name}"
        if stops:
            yield at("keys").info(
                f"{mark} is set: the key is being replaced in a planned stop. Steps: make; remove, which waits until the"
                " last job on a pod has ended and the last pod is gone; key; outside hosts, where there are; up."
                f" {command} --plan` shows where it stands, with the commands of each step; {command} --stop` continues."
                f" An update before that brings everything back with the old key; to cancel it: `pulumi config rm"
                f" slinky-iac:{mark}`",
                id="planned-stop",
            )
        else:
            yield at("keys").info(
                f"{mark} is set: the key is being replaced under running jobs. {command} --plan` shows the steps, where it"
                f" stands and who has to act; {command}` continues",
                id="key-rotation",
            )


RULES = (kept,)
OF_DAEMONS = (keys,)
"""Rules of stacks that make daemons; others make clients only."""
