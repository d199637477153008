"""slurmrestd: the operator's only way to know whether a node is free."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import belonging_to, controller_of
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky


@rule("restapi-for-every-controller", slinky("Controller"))
def restapi_for_every_controller(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Every Controller, one for an outside slurmctld too, has a RestApi.

    Why: the operator asks the RestApi whether a node is drained before it deletes the pod. Without one it has no client,
    treats every node as drained (fail-open) and deletes pods with running jobs at the next scale-in or update.

    Source: Slinky hybrid guide, "External Slurmrestd"; slurm-operator internal/controller/nodeset/slurmcontrol
    (IsNodeDrained), slurmclient_sync.go; seen on 1.1.0 and 1.2.1: a busy pod was deleted at once.

    Do: add a RestApi with controllerRef to this Controller, also where slurmrestd runs outside.

    Level: mandatory, since running jobs are lost.
    """
    if not list(belonging_to(controller, stack, "RestApi")):
        yield f"{controller.label} has no RestApi; without an answer from slurmrestd the operator deletes busy pods"


@rule("nodesets-depend-on-restapi", slinky("NodeSet"))
def nodesets_depend_on_restapi(nodeset: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """Every NodeSet depends on the RestApi of its Controller, so that slurmrestd is removed after the last NodeSet.

    Why: on destroy Pulumi removes what nothing depends on first. With the RestApi gone the operator's client is gone, and it
    deletes the remaining pods with their jobs, undrained.

    Source: slurm-operator internal/controller/slurmclient/slurmclient_sync.go; Pulumi, resource option dependsOn.

    Do: add the RestApi to dependsOn of the NodeSet, or of the component around it.

    Level: mandatory, since running jobs are lost on destroy.
    """
    controller = controller_of(nodeset, stack)
    if controller is None:
        return  # references-resolve says so
    needs = stack.needs(nodeset)
    for restapi in belonging_to(controller, stack, "RestApi"):
        if restapi.urn not in needs:
            yield f"{nodeset.label} doesn't depend on {restapi.label}, which may then be removed before it; add dependsOn"


@rule("restapi-answers", slinky("RestApi"), scope="resource")
def restapi_answers(restapi: Resource, _: Stack, __: Options) -> Iterator[str]:
    """A RestApi has at least one pod, or its Service leads to an outside slurmrestd.

    Why: with no pod behind the Service the operator can't ask, and after its next restart it deletes pods undrained.

    Source: slurm-operator internal/controller/slurmclient/slurmclient_sync.go (URL from the Service's name);
    slurmcontrol.go (IsNodeDrained).

    Do: set replicas to 1 or more; with 0, give service.spec type ExternalName and an externalName that listens on 6820.

    Level: mandatory, since running jobs are lost.
    """
    replicas = restapi.number("spec", "replicas")
    outside = restapi.text("spec", "service", "spec", "type") == "ExternalName"
    if replicas is not None and replicas < 1 and not outside:
        yield f"{restapi.label} has {replicas:g} replicas and no outside slurmrestd behind its Service; set 1 or more"
