"""NodeSet= and PartitionName= lines, and what slurmdbd knows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slinky_iac.closing import closing_steps, losing
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import ON_SLURMCTLD, RESTARTED, SLURM_CONF, Check, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, PartitionFacts
from slinky_iac.specs.slurm_conf import nodeset_lines, partition_lines


def lines(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld has a partition, and in it a NodeSet, for every one of the stack's."""
    if config.controller.external is None:
        yield from _inside(config, facts)
        return
    wanted, seen = partition_lines(config), facts.slurm.partitions
    own = nodeset_lines(config)
    if seen is None:
        yield unknown(
            "partitions",
            "NodeSet= and PartitionName= lines",
            "slurmctld",
            f"not known: {facts.slurm.failed.get('partitions', 'slurmctld was not asked')}",
            "slurm.conf must have these lines",
            *own.values(),
            *wanted.values(),
            at=SLURM_CONF,
        )
        return
    there = {each.name for each in seen}
    missing = [name for name in wanted if name not in there]
    in_use = {name for each in seen for name in each.nodesets}
    unseen = [name for name in own if name not in in_use]
    if missing:
        also = [own[name] for name in unseen if _needed(config, name, missing)]
        yield problem(
            "partitions",
            f"partitions {', '.join(missing)}",
            "slurmctld",
            "has none of that name: nobody can submit to them",
            "Add",
            *also,
            *(wanted[name] for name in missing),
            at=SLURM_CONF,
        )
    elif wanted:
        yield fine("partitions", f"partitions {', '.join(wanted)}", "slurmctld", "has them")
    yield from _nodesets(config, own, unseen, missing)
    yield from _left(wanted, own, seen)


def _left(wanted: dict[str, str], own: dict[str, str], seen: Iterable[PartitionFacts]) -> Iterator[Check]:
    """Partitions over the stack's NodeSets that the stack doesn't have: whoever takes their lines out loses their jobs."""
    for each in seen:
        if each.name not in wanted and own.keys() & set(each.nodesets):
            yield warning(
                "partitions-left",
                f"partition {each.name}",
                "slurmctld",
                f"has it over {', '.join(sorted(own.keys() & set(each.nodesets)))}, and the stack hasn't: if its line goes,"
                f" {losing([each.name], (), each.jobs)}",
                "Add it to partitions, or close and empty it before its line goes",
                *closing_steps([each.name], ()),
                at=ON_SLURMCTLD,
            )


def _needed(config: StackConfig, nodeset: str, partitions: list[str]) -> bool:
    shared = (config.partitions[name].nodesets for name in partitions if name in config.partitions)
    return nodeset in partitions or any(nodeset in names for names in shared)


def _nodesets(config: StackConfig, own: dict[str, str], unseen: list[str], missing: list[str]) -> Iterator[Check]:
    """NodeSet= lines show in the partitions that name them, and nowhere else."""
    expected = [name for name in unseen if config.nodesets[name].partition.enabled and name not in missing]
    if expected:
        yield warning(
            "nodeset-lines",
            f"NodeSet= lines of {', '.join(expected)}",
            "slurmctld",
            "their partitions don't name them: unless they hold ALL nodes, the pods are in no partition",
            "Add, and name them in their partitions' Nodes=",
            *(own[name] for name in expected),
            at=SLURM_CONF,
        )
    hidden = [name for name in unseen if not config.nodesets[name].partition.enabled]
    if hidden:
        yield unknown(
            "nodeset-lines",
            f"NodeSet= lines of {', '.join(hidden)}",
            "slurmctld",
            "not known: slurmctld tells them only by partitions that name them, and these have none of their own",
            "slurm.conf must have them",
            *(own[name] for name in hidden),
            at=SLURM_CONF,
        )
    shown = [name for name in own if name not in unseen]
    if shown:
        yield fine("nodeset-lines", f"NodeSet= lines of {', '.join(shown)}", "slurmctld", "partitions name them")


def _inside(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """With slurmctld in Kubernetes the operator writes the lines; after `pulumi up` they are there."""
    wanted, seen = partition_lines(config), facts.slurm.partitions
    if seen is None or not wanted:
        return
    missing = [name for name in wanted if name not in {each.name for each in seen}]
    if missing:
        yield problem(
            "partitions",
            f"partitions {', '.join(missing)}",
            "slurmctld",
            "has none of that name, and the operator should have written them",
            "Run `pulumi up`; where that is done, look at the operator's log and the Controller's events",
        )
    else:
        yield fine("partitions", f"partitions {', '.join(wanted)}", "slurmctld", "has them")


def storage(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld accounts to slurmdbd, to the one that the configuration names."""
    conf, accounting = facts.slurm.conf, config.accounting
    if not accounting.enabled or conf is None or conf.storage_type is None:
        return
    outside, subject = accounting.external, "AccountingStorageType"
    host = f"AccountingStorageHost={outside.host}" if outside is not None else ""
    port = f"AccountingStoragePort={outside.port}" if outside is not None else ""
    if conf.storage_type != "accounting_storage/slurmdbd":
        yield problem(
            "accounting",
            subject,
            "slurmctld",
            f"is {conf.storage_type or 'unset'}: jobs are not accounted",
            "Set it, or accounting.enabled: false",
            *filter(None, ("AccountingStorageType=accounting_storage/slurmdbd", host, port)),
            at=RESTARTED,
        )
    elif outside is not None and conf.storage_port not in (None, outside.port):
        yield problem(
            "accounting",
            "AccountingStoragePort",
            "slurmctld",
            f"is {conf.storage_port}, and accounting.external.port is {outside.port}",
            "Set the one that slurmdbd listens on",
            f"port: {conf.storage_port}",
            at="in Pulumi.<stack>.yaml, under slinky-iac:accounting, external",
        )
    else:
        yield fine("accounting", subject, "slurmctld", f"is slurmdbd at {conf.storage_host} port {conf.storage_port}")


def registered(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld is registered with slurmdbd, under our name."""
    if not config.accounting.enabled:
        return
    name, rows = config.cluster.name, facts.slurm.clusters
    subject = f"cluster {name} in slurmdbd"
    by_hand = "sacctmgr -n show cluster format=cluster,controlhost,controlport"
    said = facts.slurm.silent.get("slurmdbd", "")
    if said:
        yield problem(
            "slurmdbd",
            "slurmdbd",
            "slurmrestd",
            said,
            "slurmctld takes our token, so slurmdbd is down, slurmrestd has no way to it, or it refuses the token: it must"
            " have the same JWT key, and reads a new one only when it is restarted",
            "systemctl status slurmdbd; grep -i AuthAlt /etc/slurm/slurmdbd.conf",
            at="on slurmdbd's host",
        )
        return
    if rows is None:
        why = facts.slurm.failed.get("clusters", "slurmdbd was not asked")
        change = "It must list the cluster with slurmctld's address and port"
        yield unknown("slurmdbd", subject, "slurmdbd", f"not known: {why}", change, by_hand, at=ON_SLURMCTLD)
        return
    row = next((each for each in rows if each.name == name), None)
    if row is None:
        known = ", ".join(sorted(each.name for each in rows)) or "none"
        yield problem(
            "slurmdbd",
            subject,
            "slurmdbd",
            f"isn't there; it has {known}",
            "slurmctld registers by itself once it reaches slurmdbd: check ClusterName, AccountingStorageHost and its log",
            by_hand,
            at=ON_SLURMCTLD,
        )
    elif not row.host or not row.port:
        yield problem(
            "slurmdbd",
            subject,
            "slurmdbd",
            "is there, and no slurmctld is registered (host empty, port 0)",
            "Start slurmctld, or repair its way to slurmdbd: jobs are kept back and lost at its queue's limit",
            by_hand,
            at=ON_SLURMCTLD,
        )
    else:
        yield fine("slurmdbd", subject, "slurmdbd", f"slurmctld is registered from {row.host} port {row.port}")


CHECKS = (lines, storage, registered)
