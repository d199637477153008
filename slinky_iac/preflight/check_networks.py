"""Are the NetworkPolicies of a stack enforced? A short-lived pod has no label of the cluster: daemons refuse it. Pure."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.connections import on_host_network, parts
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import Part
from slinky_iac.preflight.check import Check, fine, unknown, warning
from slinky_iac.preflight.facts import Facts, Tried

_NAME: Final = "network-policies"
_PARTS: Final[dict[str, Part]] = {"controller": "slurmctld", "accounting": "slurmdbd", "restapi": "slurmrestd"}


def guarded(config: StackConfig, seen: Tried) -> bool:
    """Whether a policy of the stack is for the pods behind this Service."""
    part = _PARTS.get(seen.place.path)
    return config.network_policies.enabled and part is not None and part in parts(config)


def refusal(config: StackConfig, facts: Facts, seen: Tried, subject: str, source: str) -> Check:
    """What a connection says of the policies: it is to be refused."""
    if not seen.open:
        if facts.slurm.nodes is not None:
            return fine(_NAME, subject, source, f"refuses a pod that is none of the cluster's: {seen.trouble}")
        return unknown(
            _NAME,
            subject,
            source,
            f"{seen.trouble}, and slurmrestd doesn't answer: refused by a policy, or down",
            "Run preflight again once slurmrestd answers",
        )
    if on_host_network(config, "slurmd"):
        return fine(_NAME, subject, source, "takes connections; on the host network this pod has its node's address")
    return warning(
        _NAME,
        subject,
        source,
        "takes the connection of a pod that is none of the cluster's, though networkPolicies.enabled is true",
        "Run `pulumi up` where the policies aren't made yet. Else the network plugin enforces none, or another policy lets"
        " everybody in (docs/networks.md)",
        "kubectl get networkpolicies -A",
    )
