"""What partitions name in slurmdbd, and what slurmctld tracks: over what is missing, slurmctld ends at its next start. Pure.

Source: ``read_config.c`` (``_build_single_partitionline_info``), ``slurm_get_tres_weight_array``: fatal, run on 26.05.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.rules.tres import OWN_TRES, QOS_WORDS
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import OUTSIDE, Answers, At, Expect, fine, problem, unknown
from slinky_iac.preflight.facts import Facts
from slinky_iac.slurmrest.level import ALWAYS

_FATAL: Final = "slurmctld ends over it at its next start"


def _named(config: StackConfig, *keys: str) -> Iterator[tuple[str, str]]:
    """Path and value of these parameters of all partitions."""
    for path, parameters in partition_parameters(config).items():
        yield from ((f"{path}.{key}", value) for key, value in parameters.items() if key.lower() in keys)


def _qos(config: StackConfig, facts: Facts) -> Answers:
    """slurmdbd has every QOS that a partition names."""
    named = {path: [name for name in value.lower().split(",") if name] for path, value in _named(config, *QOS_WORDS)}
    if not named or not config.accounting.enabled:
        return
    held = facts.slurm.qos
    for path, names in named.items():
        if held is None:
            why = facts.slurm.unknown("qos", "slurmdbd was not asked")
            yield unknown(
                why, "It must have them; this shows it", "sacctmgr -n show qos format=name", at=At.SLURMCTLD, about=path
            )
        elif lacking := [name for name in names if name not in held and name != "all"]:
            made = "sacctmgr -i add qos " + ",".join(map(name_of, lacking))
            yield problem(
                f"slurmdbd has no QOS {', '.join(map(name_of, lacking))}: {_FATAL}", "Make it first", made, about=path
            )
        else:
            yield fine("slurmdbd has them", about=path)


def _weights(config: StackConfig, facts: Facts) -> Answers:
    """An outside slurmctld tracks what the weights of partitions name; inside, a rule has looked."""
    conf = facts.slurm.conf
    for path, value in _named(config, "tresbillingweights"):
        named = {item.partition("=")[0].strip().lower() for item in value.split(",")} - {""} - OWN_TRES
        if not named:
            continue
        if conf is None or conf.AccountingStorageTRES is None:
            show = "scontrol show config | grep -i '^AccountingStorageTRES '"
            yield unknown(
                facts.slurm.unknown("conf"), f"It must have {', '.join(sorted(named))}", show, at=At.SLURMCTLD, about=path
            )
        elif lacking := sorted(named - {resource.lower() for resource in conf.AccountingStorageTRES}):
            whole = ",".join([*conf.AccountingStorageTRES, *lacking])
            said = f"slurmctld doesn't track {', '.join(map(name_of, lacking))}: {_FATAL}"
            yield problem(
                said, "Set, before the partition's line", f"AccountingStorageTRES={whole}", at=At.RESTARTED, about=path
            )
        else:
            yield fine("slurmctld tracks what it names", about=path)


def _admin_level(config: StackConfig, facts: Facts) -> Answers:
    """AdminLevel of slurmrest.user. Gates ask it again before they drain."""
    user, slurm = config.slurmrest.user, facts.slurm
    if user in ALWAYS:
        return
    subject, modify = f"slurmrest.user {user}", f"sacctmgr modify user {user} set adminlevel=Admin"
    if slurm.admin is None:
        why = slurm.failed.get("admin") or slurm.trouble or "Slurm was not asked"
        look = f"sacctmgr show user {user} format=user,adminlevel"
        yield unknown(f"not known: {why}", "Look by hand", look, at=At.SLURMCTLD, about=subject)
    elif slurm.admin:
        yield problem(slurm.admin, "Give it the level", modify, at=At.SLURMCTLD, about=subject)
    else:
        yield fine("is an administrator of Slurm, which drains need", about=subject)


EXPECTED: Final = (
    Expect("qos", "QOS of partitions", "slurmdbd", _qos),
    Expect("tres", "weights of partitions", "slurmctld", _weights, where=OUTSIDE),
)
LEVEL: Final = (Expect("admin-level", "slurmrest.user", "slurmdbd", _admin_level),)
