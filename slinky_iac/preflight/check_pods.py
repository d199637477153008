"""Whether Kubernetes would make the pods that the stack's custom resources describe, in the API server's own words. Pure.

slurm-operator makes pods after `pulumi up` has ended, and no CRD looks into them: what refuses a pod there (Kubernetes'
validation, a quota, Pod Security, an admission webhook) is an event of the operator's, which no preview shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Answer, Answers, Check, Expect, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, KubeFacts, PodVerdict

_QUOTA: Final = "exceeded quota"
_OF_NAMESPACE: Final = (_QUOTA, "PodSecurity")
"""Words of refusals that another namespace may not have."""


def _verdicts(config: StackConfig, facts: Facts) -> Answers:
    """The API server takes a pod of each custom resource, in a request that makes none."""
    for verdict in facts.kube.pods:
        yield _answer(config, verdict)


def _answer(config: StackConfig, verdict: PodVerdict) -> Answer:
    about, own = f"pods of {name_of(verdict.path)}", config.cluster.namespace
    where = "" if verdict.namespace == own else f", asked in namespace {name_of(verdict.namespace)}, not in {name_of(own)}"
    if verdict.trouble:
        return unknown(
            f"not known: {verdict.trouble}",
            "Where a webhook can't be asked, only `pulumi up` tells; `kubectl get events` of the namespace then names it",
            about=about,
        )
    if not verdict.refused:
        return fine(f"the API server would make them{where}", about=about)
    if where and any(word in verdict.refused for word in _OF_NAMESPACE):
        return unknown(
            f"not known{where}: {verdict.refused}", "Run preflight again once the namespace is there", about=about
        )
    if _QUOTA in verdict.refused:
        return warning(
            f"the API server would make no more of them: {verdict.refused}",
            "If pods are still to come, raise the quota (cluster.quota, if this stack makes it) before `pulumi up`",
            about=about,
        )
    return problem(
        f"the API server refuses them{where}: {verdict.refused}",
        f"Change what it names in {name_of(verdict.path)}, or ask who runs the webhook or the policy that it names",
        about=about,
    )


_ROW: Final = Expect("pods-accepted", "pods of the stack", "the API server", _verdicts)
EXPECTED: Final = (_ROW,)


def verdicts(config: StackConfig, pods: tuple[PodVerdict, ...]) -> Iterator[Check]:
    """What the API server's answers come to, for a preview, which asks nothing else of Kubernetes in this way."""
    return _ROW.checks(config, Facts(kube=KubeFacts(pods=pods)))
