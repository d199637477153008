"""The plan for a stack whose key can't be replaced under running jobs: what to stop, in which order. Pure; only shown."""

from __future__ import annotations

from slinky_iac.config.stack import StackConfig
from slinky_iac.key_lifecycle.model import Host, Rotation, Step, Turn, Which


def planned_stop(config: StackConfig, which: Which, hosts: tuple[Host, ...], why: str) -> Rotation:
    """All steps of a planned stop. ``why``: the reason that nothing less will do."""
    key = "slurmKey" if which == "slurm" else "jwtKey"
    kept = "" if config.controller.external is not None or config.controller.persistence.enabled else " the queue is lost:"
    stop = [
        Step("drain", Turn.PERSON, "set every NodeSet's replicas to 0, then `pulumi up`", "no job runs on a pod after it"),
        Step(
            "remove",
            Turn.PERSON,
            "`pulumi destroy --exclude-protected`",
            f"pods keep the key that they began with, so all must go;{kept} the keys' Secrets and their namespace stay",
        ),
    ]
    if hosts:
        places = ", ".join(host.name for host in hosts)
        stop.append(
            Step(
                "hosts",
                Turn.PERSON,
                f"stop Slurm's daemons on {places}; place the new key",
                "a running one keeps the old",
                hosts=hosts,
            )
        )
    if config.keys.source == "generated":
        made = "keys.source: imported; `python -m slinky_iac keys import` for both, the new one and the other"
        again = "a generated key would be the same again, since its generator is kept with the Secrets"
    elif config.keys.source == "existing":
        made = "replace the Secret that `keys` names, under its name"
        again = "this stack doesn't make it, so nothing else needs changing"
    else:
        made = f"`python -m slinky_iac keys import {which} --replace`: {key} is the new key"
        again = "nothing runs with the old one any more"
    back = [
        Step("key", Turn.PERSON, made, again),
        Step(
            "secrets",
            Turn.PERSON,
            "`pulumi state unprotect --all`, then `pulumi destroy`",
            "the old Secrets are immutable, and go with this",
        ),
        Step(
            "start",
            Turn.PERSON,
            "start Slurm's daemons on the hosts; `pulumi up` with the replicas of before",
            "all begin alike",
        ),
    ]
    return Rotation(which, (*stop, *back), under_way=False, notes=(why,))
