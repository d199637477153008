"""Slurm releases of all daemons against each other's rules and the operator's. Pure.

No daemon may be newer than slurmctld, nor slurmctld newer than slurmdbd; older ones are understood for two major releases,
for three from 24.11 on (https://slurm.schedmd.com/upgrades.html, Compatibility Window). Every slurm-operator 1.x speaks REST
v0.0.44.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.registry import PARTS, kinds_of
from slinky_iac.preflight.check import Answer, Answers, At, Expect, Run, fine, of, problem, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.releases import MINIMUM_SLURM, of_protocol, oldest, ordinal
from slinky_iac.slurmrest.versions import OLDER
from slinky_iac.text import some

OPERATOR_REST: Final = "v0.0.44"


def slurmctld_release(config: StackConfig, facts: Facts) -> str:
    """slurmctld's release: its own word, else its protocol number as slurmdbd has it; empty where it is unknown."""
    if facts.slurm.version:
        return facts.slurm.version
    rows = [row for row in facts.slurm.clusters or () if row.name == config.cluster.name and row.controller.port]
    return of_protocol(rows[0].rpc_version) if rows else ""


def _slurmctld(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld is new enough for the operator, and of the release that the configuration says."""
    release = slurmctld_release(config, facts)
    mine, wanted = ordinal(release), config.slurm_release
    least = f"{MINIMUM_SLURM[0]}.{MINIMUM_SLURM[1]:02}"
    said, line = f"is {release}, and the stack is set to {wanted}", f'slurmVersion: "{release[:5]}"'
    at = "in Pulumi.<stack>.yaml, under slinky-iac:cluster"
    if mine is None:
        yield unknown(
            "not known: no daemon that was asked reports it",
            f"It must be {least} or newer, and no older than {wanted}, the release of the stack's images; this shows it",
            "slurmctld -V",
            at=At.SLURMCTLD,
        )
    elif mine < (ordinal(least) or 0):
        yield problem(f"is {release}", f"slurm-operator needs {least} or newer: update slurmdbd, then slurmctld")
    elif mine < (ordinal(wanted) or 0):
        advice = "Update slurmctld; or set cluster.slurmVersion to its release, and cluster.images to images of that release"
        yield problem(f"{said}: newer pods can't join it", advice, line, at=f"{at}, with images of that release")
    elif mine > (ordinal(wanted) or 0):
        yield warning(said, "Older pods can join a newer slurmctld; set slurmVersion to its release", line, at=at)
    else:
        yield fine(f"is {release}, as the stack says")


def _slurmdbd(config: StackConfig, facts: Facts) -> Answers:
    """slurmdbd is no older than slurmctld. It doesn't tell its release; that it answers a client shows it isn't older."""
    if not config.accounting.enabled:
        return
    client = facts.slurm.release or (facts.host.client if facts.host is not None else "")
    controller = slurmctld_release(config, facts)
    if facts.slurm.slurmdbd_answers and client and ordinal(client) == ordinal(controller):
        yield fine(f"understands {client[:5]}, slurmctld's release, so it is no older")
        return
    yield unknown(
        f"not known: slurmdbd doesn't report it over REST{_why(facts, 'slurmdbd_answers')}",
        f"It must be no older than slurmctld{f' ({controller})' if controller else ''}; this shows it",
        "slurmdbd -V",
        at="on slurmdbd's host",
    )


def _why(facts: Facts, field: str) -> str:
    said = facts.slurm.failed.get(field, "")
    return f", and it could not be asked ({said})" if said else ""


def _slurmrestd(config: StackConfig, facts: Facts) -> Answers:
    """slurmrestd is no newer than slurmctld."""
    if facts.slurm.way:
        yield _client(facts.slurm.release, slurmctld_release(config, facts))


def _rest(_: StackConfig, facts: Facts) -> Answers:
    """slurmrestd serves the REST version that the operator speaks."""
    slurm = facts.slurm
    if not slurm.way:
        return
    served = ", ".join(slurm.served or ()) or "none that is known"
    if slurm.served is None:
        yield unknown(f"not known: {slurm.failed.get('served', 'it was not asked')}")
    elif OPERATOR_REST in slurm.served:
        yield fine(f"{served}; the operator speaks {OPERATOR_REST}")
    else:
        yield problem(
            f"{served}, without {OPERATOR_REST}{_release(slurm.served)}",
            "slurm-operator 1.x and this program need Slurm 25.11 or newer",
        )


def _release(served: Sequence[str]) -> str:
    """Which Slurm serves no more than that, where it is known."""
    newest = next((OLDER[version] for version in served if version in OLDER), "")
    return f": it is Slurm {newest}" if newest else ""


def _images(config: StackConfig, facts: Facts) -> Answers:
    """slurmd in an image is no newer than slurmctld, nor too old for it."""
    controller = slurmctld_release(config, facts)
    for report in facts.pod.reports:
        if report.slurmd:
            about, source = f"slurmd in {report.image}", f"pod on {report.node}"
            yield from of([_client(report.slurmd, controller)], about=about, source=source)


def _slurmds(config: StackConfig, facts: Facts) -> Answers:
    """No slurmd that is registered is newer than slurmctld or too old for it."""
    controller = slurmctld_release(config, facts)
    by_release: dict[str, list[str]] = {}
    for node in facts.slurm.nodes or ():
        if node.version:
            by_release.setdefault(node.version, []).append(node.name)
    for release, nodes in sorted(by_release.items()):
        yield from of([_client(release, controller)], about=f"slurmd of {some(nodes, 6)}")


def _client(release: str, controller: str) -> Answer:
    """One daemon that talks to slurmctld: no newer, and not too old."""
    mine, its = ordinal(release), ordinal(controller)
    if mine is None or its is None:
        got = f"is {release}" if mine is not None else "not known"
        other = f"slurmctld is {controller}" if its is not None else "slurmctld's isn't known"
        return unknown(f"{got}; {other}", "It may not be newer than slurmctld")
    if mine > its:
        return problem(
            f"is {release}, newer than slurmctld ({controller}): slurmctld refuses it",
            f"Use {controller[:5]} or older there, or update slurmdbd and slurmctld first",
        )
    if mine < (ordinal(oldest(controller)) or 0):
        return problem(
            f"is {release}, too old for slurmctld ({controller})",
            f"Use {controller[:5]}: Slurm understands three major releases back (two before 24.11)",
        )
    return fine(f"is {release}; slurmctld is {controller}")


def _served(name: str, config: StackConfig, facts: Facts) -> Answers:
    """The API server can have the objects of this part."""
    kinds = kinds_of(config).get(name)
    if kinds is None or facts.kube.trouble:
        return
    there = facts.kube.serves.get(name)
    if there is None:
        got = "not known: the API server doesn't report which APIs it serves"
        yield unknown(got, f"{kinds.since}; this shows it", "kubectl version")
    elif there:
        yield fine(f"the API server serves {kinds.kind}")
    else:
        at = f"in Pulumi.<stack>.yaml, under slinky-iac:{kinds.missing.path.partition('.')[0]}"
        yield problem(kinds.unserved, kinds.change, kinds.off, at=at)


EXPECTED: Final = (
    Expect("version-slurmctld", "slurmctld's release", "slurmctld", _slurmctld, Run.SHORT),
    Expect("version-slurmdbd", "slurmdbd's release", "slurmdbd", _slurmdbd),
    Expect("version-slurmrestd", "slurmrestd's release", "slurmrestd", _slurmrestd),
    Expect("rest-version", "REST versions served", "slurmrestd", _rest),
    Expect("version-image", "slurmd in an image", "pod", _images),
    Expect("version-slurmd", "slurmd", "slurmctld", _slurmds),
    *(
        Expect(part.name, part.kinds.missing.path, "Kubernetes", partial(_served, part.name))
        for part in PARTS
        if part.kinds is not None
    ),
)
