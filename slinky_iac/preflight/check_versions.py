"""Slurm releases of all daemons against each other's rules and the operator's. Pure.

No daemon may be newer than slurmctld, nor slurmctld newer than slurmdbd; older ones are understood for two major releases,
for three from 24.11 on (https://slurm.schedmd.com/upgrades.html, Compatibility Window). Every slurm-operator 1.x speaks REST
v0.0.44.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.operator_version import MINIMUM_SLURM
from slinky_iac.preflight.check import ON_SLURMCTLD, Check, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.slurm_release import of_protocol, ordinal
from slinky_iac.slurmrest.versions import OLDER

OPERATOR_REST: Final = "v0.0.44"
_THREE_SINCE: Final = 24 * 2 + 1
"""Ordinal of 24.11, the first release that understands three older ones."""


def slurmctld_release(config: StackConfig, facts: Facts) -> str:
    """slurmctld's release: its own word, else its protocol number as slurmdbd has it; empty where nobody says."""
    conf = facts.slurm.conf
    if conf is not None and conf.version:
        return conf.version
    rows = [each for each in facts.slurm.clusters or () if each.name == config.cluster.name and each.port]
    return of_protocol(rows[0].rpc_version) if rows else ""


def slurmctld(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld is new enough for the operator, and of the release that the configuration says."""
    release = slurmctld_release(config, facts)
    mine, wanted = ordinal(release), config.slurm_release
    least = f"{MINIMUM_SLURM[0]}.{MINIMUM_SLURM[1]:02}"
    if mine is None:
        yield unknown(
            "version-slurmctld",
            "slurmctld's release",
            "slurmctld",
            "not known: nobody who was asked says it",
            f"It must be {least} or newer, and no older than {wanted}, of which the stack's images are; this shows it",
            "slurmctld -V",
            at=ON_SLURMCTLD,
        )
    elif mine < (ordinal(least) or 0):
        yield problem(
            "version-slurmctld",
            "slurmctld's release",
            "slurmctld",
            f"is {release}",
            f"slurm-operator needs {least} or newer: update slurmdbd, then slurmctld",
        )
    elif mine < (ordinal(wanted) or 0):
        yield problem(
            "version-slurmctld",
            "slurmctld's release",
            "slurmctld",
            f"is {release}, and the stack is set to {wanted}: newer pods can't join it",
            "Update slurmctld, or set cluster.slurmVersion and give images of its release",
            f'slurmVersion: "{release[:5]}"',
            at="in Pulumi.<stack>.yaml, under slinky-iac:cluster, with images of that release",
        )
    elif mine > (ordinal(wanted) or 0):
        yield warning(
            "version-slurmctld",
            "slurmctld's release",
            "slurmctld",
            f"is {release}, and the stack is set to {wanted}",
            "Older pods can join a newer slurmctld; say what it is",
            f'slurmVersion: "{release[:5]}"',
            at="in Pulumi.<stack>.yaml, under slinky-iac:cluster",
        )
    else:
        yield fine("version-slurmctld", "slurmctld's release", "slurmctld", f"is {release}, as the stack says")


def slurmdbd(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmdbd is no older than slurmctld. It doesn't tell its release; that it answers a client shows it isn't older."""
    if not config.accounting.enabled:
        return
    subject, client = "slurmdbd's release", facts.slurm.release
    controller = slurmctld_release(config, facts)
    if facts.slurm.slurmdbd_answers and client and ordinal(client) == ordinal(controller):
        yield fine("version-slurmdbd", subject, "slurmdbd", f"understands {client[:5]}, as slurmctld is, so it is no older")
        return
    yield unknown(
        "version-slurmdbd",
        subject,
        "slurmdbd",
        f"not known: slurmdbd tells it to nobody{_why(facts, 'slurmdbd_answers')}",
        f"It must be no older than slurmctld{f' ({controller})' if controller else ''}; this shows it",
        "slurmdbd -V",
        at="on slurmdbd's host",
    )


def _why(facts: Facts, field: str) -> str:
    said = facts.slurm.failed.get(field, "")
    return f", and it could not be asked ({said})" if said else ""


def slurmrestd(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmrestd is no newer than slurmctld, and serves the REST version that the operator speaks."""
    slurm = facts.slurm
    if not slurm.way:
        return
    subject = "slurmrestd's release"
    controller = slurmctld_release(config, facts)
    yield from _client("version-slurmrestd", subject, "slurmrestd", slurm.release, controller)
    if slurm.served is None:
        why = slurm.failed.get("served", "it was not asked")
        yield unknown("rest-version", "REST versions served", "slurmrestd", f"not known: {why}")
        return
    served = ", ".join(slurm.served) or "none that is known"
    if OPERATOR_REST in slurm.served:
        got = f"{served}; the operator speaks {OPERATOR_REST}"
        yield fine("rest-version", "REST versions served", "slurmrestd", got)
    else:
        yield problem(
            "rest-version",
            "REST versions served",
            "slurmrestd",
            f"{served}, without {OPERATOR_REST}{_release(slurm.served)}",
            "slurm-operator 1.x and this program speak nothing older: Slurm 25.11 or newer is needed",
        )


def _release(served: Sequence[str]) -> str:
    """Which Slurm serves no more than that, where it is known."""
    newest = next((OLDER[each] for each in served if each in OLDER), "")
    return f": it is Slurm {newest}" if newest else ""


def slurmd(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """No slurmd, registered or in an image, is newer than slurmctld or too old for it."""
    controller = slurmctld_release(config, facts)
    for report in facts.pod.reports:
        if report.slurmd:
            where = f"pod on {report.node}"
            yield from _client("version-image", f"slurmd in {report.image}", where, report.slurmd, controller)
    by_release: dict[str, list[str]] = {}
    for node in facts.slurm.nodes or ():
        if node.version:
            by_release.setdefault(node.version, []).append(node.name)
    for release, nodes in sorted(by_release.items()):
        some = ", ".join(nodes[:6]) + (f" and {len(nodes) - 6} more" if len(nodes) > 6 else "")
        yield from _client("version-slurmd", f"slurmd of {some}", "slurmctld", release, controller)


def _client(name: str, subject: str, source: str, release: str, controller: str) -> Iterator[Check]:
    """One daemon that talks to slurmctld: no newer, and not too old."""
    mine, its = ordinal(release), ordinal(controller)
    if mine is None or its is None:
        got = f"is {release}" if mine is not None else "not known"
        other = f"slurmctld is {controller}" if its is not None else "slurmctld's isn't known"
        yield unknown(name, subject, source, f"{got}; {other}", "It may not be newer than slurmctld")
    elif mine > its:
        yield problem(
            name,
            subject,
            source,
            f"is {release}, newer than slurmctld ({controller}): slurmctld refuses it",
            f"Use {controller[:5]} or older there, or update slurmdbd and slurmctld first",
        )
    elif its - mine > (3 if its >= _THREE_SINCE else 2):
        yield problem(
            name,
            subject,
            source,
            f"is {release}, too old for slurmctld ({controller})",
            f"Use {controller[:5]}: Slurm understands three major releases back (two before 24.11)",
        )
    else:
        yield fine(name, subject, source, f"is {release}; slurmctld is {controller}")


CHECKS = (slurmctld, slurmdbd, slurmrestd, slurmd)
