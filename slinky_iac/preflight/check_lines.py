"""NodeSet= and PartitionName= lines. Pure."""

from __future__ import annotations

from typing import Final

from slinky_iac.cluster.partition_closing import closing_steps, losing
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import INSIDE, OUTSIDE, Answers, At, Expect, Run, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.specs.slurm_conf import line, nodeset_lines, parameter, partition_lines


def _missing(config: StackConfig, facts: Facts) -> list[str]:
    """Partitions that the stack has and slurmctld hasn't."""
    there = {partition.name for partition in facts.slurm.partitions or ()}
    return [name for name in partition_lines(config) if name not in there]


def _unseen(config: StackConfig, facts: Facts) -> list[str]:
    """NodeSets that no partition of slurmctld's names."""
    in_use = {name for partition in facts.slurm.partitions or () for name in partition.nodesets}
    return [name for name in config.nodesets if name not in in_use]


def _partitions(config: StackConfig, facts: Facts) -> Answers:
    """An external slurmctld has every partition of the stack."""
    wanted, own = partition_lines(config), nodeset_lines(config)
    if facts.slurm.partitions is None:
        both = (*own.values(), *wanted.values())
        yield unknown(facts.slurm.unknown("partitions"), "slurm.conf must have these lines", *both, at=At.SLURM_CONF)
    elif missing := _missing(config, facts):
        also = [own[name] for name in _unseen(config, facts) if _needed(config, name, missing)]
        yield problem(
            "has none of that name: jobs can't be submitted to them",
            "Add",
            *also,
            *(wanted[name] for name in missing),
            at=At.SLURM_CONF,
            about=f"partitions {', '.join(missing)}",
        )
    elif wanted:
        yield fine("has them", about=f"partitions {', '.join(wanted)}")


def _written(config: StackConfig, facts: Facts) -> Answers:
    """With slurmctld in Kubernetes the operator writes the lines; after `pulumi up` they are there."""
    wanted = partition_lines(config)
    if facts.slurm.partitions is None or not wanted:
        return
    if missing := _missing(config, facts):
        yield problem(
            "has none of that name, and the operator should have written them",
            "Run `pulumi up`; where that is done, look at the operator's log and the Controller's events",
            about=f"partitions {', '.join(missing)}",
        )
    else:
        yield fine("has them", about=f"partitions {', '.join(wanted)}")


def _needed(config: StackConfig, nodeset: str, partitions: list[str]) -> bool:
    shared = (config.partitions[name].nodesets for name in partitions if name in config.partitions)
    return nodeset in partitions or any(nodeset in names for names in shared)


def _nodesets(config: StackConfig, facts: Facts) -> Answers:
    """NodeSet= lines show in the partitions that name them, and nowhere else."""
    if facts.slurm.partitions is None:
        return
    own, unseen, missing = nodeset_lines(config), _unseen(config, facts), _missing(config, facts)
    if expected := [name for name in unseen if config.nodesets[name].partition.enabled and name not in missing]:
        yield warning(
            "no partition of slurm.conf names these NodeSets in Nodes=. Unless a partition has Nodes=ALL, no job can run on"
            " their pods",
            "Add, and add each name to Nodes= of its partition, then run `scontrol reconfigure`",
            *(own[name] for name in expected),
            at=At.SLURM_CONF,
            about=f"NodeSet= lines of {', '.join(expected)}",
        )
    if hidden := [name for name in unseen if not config.nodesets[name].partition.enabled]:
        yield unknown(
            "not known: slurmctld reports them through partitions that name them, and these have none of their own",
            "slurm.conf must have them",
            *(own[name] for name in hidden),
            at=At.SLURM_CONF,
            about=f"NodeSet= lines of {', '.join(hidden)}",
        )
    if shown := [name for name in own if name not in unseen]:
        yield fine("partitions name them", about=f"NodeSet= lines of {', '.join(shown)}")


def _left(config: StackConfig, facts: Facts) -> Answers:
    """Partitions over the stack's NodeSets that the stack doesn't have: removing their lines loses their jobs."""
    wanted, jobs = partition_lines(config), facts.slurm.jobs_by_partition
    for partition in facts.slurm.partitions or ():
        named = None if jobs is None else jobs.get(partition.name, 0)
        own = sorted(nodeset_lines(config).keys() & set(partition.nodesets))
        if own and partition.name not in wanted:
            yield warning(
                f"has it with {', '.join(own)}, and the stack hasn't: if its line goes,"
                f" {losing([partition.name], (), named)}",
                "Add it to partitions, or close and empty it before its line is removed",
                *closing_steps([partition.name], ()),
                at=At.SLURMCTLD,
                about=f"partition {partition.name}",
            )


def _storage(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld accounts to slurmdbd, to the one that the configuration names."""
    conf, ports = facts.slurm.conf, [host.port for host in config.slurmdbd.hosts]
    if not config.accounting.enabled or conf is None or conf.AccountingStorageType is None:
        return
    if conf.AccountingStorageType != "accounting_storage/slurmdbd":
        keys = ("AccountingStorageHost", "AccountingStoragePort") if ports else ()
        yield problem(
            f"is {conf.AccountingStorageType or 'unset'}: {parameter('AccountingStorageType').without}",
            "Set it, or accounting.enabled: false",
            "AccountingStorageType=accounting_storage/slurmdbd",
            *(line(key, config) for key in keys),
            at=At.RESTARTED,
        )
    elif ports and conf.AccountingStoragePort not in (None, *ports):
        yield problem(
            f"is {conf.AccountingStoragePort}, and accounting.external.port is {ports[0]}",
            "Set the one that slurmdbd listens on",
            f"port: {conf.AccountingStoragePort}",
            at="in Pulumi.<stack>.yaml, under slinky-iac:accounting, external",
            about="AccountingStoragePort",
        )
    else:
        yield fine(f"is slurmdbd at {conf.AccountingStorageHost} port {conf.AccountingStoragePort}")


EXPECTED: Final = (
    Expect("partitions", "NodeSet= and PartitionName= lines", "slurmctld", _partitions, Run.SHORT, OUTSIDE),
    Expect("partitions", "PartitionName= lines", "slurmctld", _written, where=INSIDE),
    Expect("nodeset-lines", "NodeSet= lines", "slurmctld", _nodesets, Run.SHORT, OUTSIDE),
    Expect("partitions-left", "partitions", "slurmctld", _left, Run.SHORT, OUTSIDE),
    Expect("accounting", "AccountingStorageType", "slurmctld", _storage, Run.SHORT),
)
