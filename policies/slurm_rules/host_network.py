"""Host network, with the DNS policy that makes it work."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import on_host_network
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Edits, Options, rule, slinky

POLICY = "ClusterFirstWithHostNet"


def _set_policy(resource: Resource, _: Options) -> Edits:
    return {("spec", "template", "spec", "dnsPolicy"): POLICY} if on_host_network(resource) else {}


@rule("host-network-dns-policy", slinky("NodeSet", "LoginSet", "RestApi"), scope="resource", fix=_set_policy)
def host_network_dns_policy(resource: Resource, _: Stack, __: Options) -> Iterator[str]:
    """A pod on the host's network has dnsPolicy ClusterFirstWithHostNet.

    Why: with the default policy such a pod asks the host's DNS and finds no Service, so slurmd never finds slurmctld: the
    nodes don't register, or register and become unreachable when they resolve a name again.

    Source: Slinky hybrid guide, "Host Network" (which spells it dNSPolicy: that name is silently ignored).

    Do: set template.spec.dnsPolicy to ClusterFirstWithHostNet (level remediate does it).

    Level: mandatory, since nodes with jobs on them drop out.
    """
    policy = resource.get("spec", "template", "spec", "dnsPolicy")
    if on_host_network(resource) and policy != POLICY:
        wrong = "dNSPolicy" in resource.names("spec", "template", "spec")
        spelled = "; dNSPolicy is no field of a pod" if wrong else ""
        yield f"{resource.label} is on the host's network with dnsPolicy {policy or 'not set'}; set {POLICY}{spelled}"
