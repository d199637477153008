"""The fence as a part: policies of the API server, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.findings import at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.fence.policies import policies
from slinky_iac.parts.fence.policy import guarded_by
from slinky_iac.parts.fence.rules import RULES
from slinky_iac.parts.part import Document, Guard, Kinds, Part
from slinky_iac.specs.objects import Object
from slinky_iac.specs.rights import Right, Use
from slinky_iac.specs.shared import Spec

API: Final = "admissionregistration.k8s.io/v1"
POLICY: Final = "ValidatingAdmissionPolicy"
_UNSERVED: Final = f"this API server doesn't serve {POLICY} ({API}): it is older than 1.30"
_CHANGE: Final = "Update Kubernetes, or set the fence off: then kubectl and others can delete NodeSets with jobs on them"
KINDS: Final = Kinds(
    api=API,
    kind=POLICY,
    resources=frozenset({"validatingadmissionpolicies", "validatingadmissionpolicybindings"}),
    off="fence: false",
    unserved=_UNSERVED,
    change=_CHANGE,
    since="It needs Kubernetes 1.30 or newer",
    missing=at("cluster.fence").warning(f"{_UNSERVED}. {_CHANGE} (`fence: false`)", id="fence-not-served"),
)


_OPEN_TO: Final = {
    "pods": "slurm-operator can delete pods with jobs while it has no client of slurmrestd",
    "workers": "anyone with the right to can delete pods with jobs",
}


def _open_to(name: str) -> str:
    return _OPEN_TO.get(guarded_by(name), "NodeSets can be deleted or lowered with jobs on them")


GUARD: Final = Guard(
    off={"cluster": {"fence": False}},
    policies=frozenset({POLICY, f"{POLICY}Binding"}),
    states={
        "stands": ": the API server lets NodeSets go or shrink only where a gate has drained them",
        "off": ": kubectl and others can delete NodeSets with their jobs (cluster.fence)",
        "broken": ": it lets through what it should refuse",
        "unknown": "",
    },
    open_to=_open_to,
    broken="the fence is broken",
    step="`pulumi up --refresh` makes the fence again: until then busy nodes can be deleted",
    metric="slinky_fence_stands",
    about_metric="1 where the API server refuses to delete and shrink NodeSets past the gates.",
)


class Fence(Part):
    """Policies and their bindings. A policy without a binding refuses nothing: the binding comes last and goes first."""

    name = "fence"
    component = "Fence"
    is_first = True
    guard = GUARD
    kinds = KINDS
    rules = RULES

    def objects(self, config: StackConfig, document: Document) -> Iterator[Object]:  # noqa: ARG002
        """A policy and its binding for each thing that is guarded."""
        for policy in policies(config) if config.cluster.fence else ():
            yield _object(policy.part, POLICY, policy.name, policy.spec)
            yield _object(f"{policy.part}-binding", f"{POLICY}Binding", policy.name, policy.binding, policy.part)

    def rights(self, config: StackConfig, use: Use) -> Iterator[Right]:
        """To see that it stands; and what Kubernetes asks of the writer of a policy that reads NodeSets. It asks itself,
        so no audit log shows it."""
        own = tuple(self.objects(config, str))
        if own and use is not Use.PREFLIGHT:
            for kind in dict.fromkeys(policy.resource for policy in own):
                which = tuple(policy.name for policy in own if policy.resource == kind)
                yield Right(own[0].group, kind, ("get",), "drift: the fence stands", which)
        if own and use is Use.APPLY:
            yield Right(
                names.GROUP,
                "nodesets",
                ("get", "list"),
                "Kubernetes wants it of the fence's writer",
                seldom=True,
            )

    def right_notes(self, config: StackConfig, use: Use) -> Iterator[str]:
        """Of the first `pulumi up`."""
        if not config.cluster.fence or use is not Use.APPLY:
            return
        yield (
            "cluster.fence: preview with the rights of review, and run the first `pulumi up` with --skip-preview. Its own"
            " preview would write the fence's binding as a trial before there is a policy, and for that the API server wants"
            " `get` on all objects of all kinds. The update has the policy by then."
        )
        if not config.operator.install:
            yield (
                "operator.install is false: the operator's CRDs must be there before the first `pulumi up`. While the kind"
                " NodeSet isn't known, the API server wants `get` on all objects of all kinds for the fence."
            )


_TAKEN_UP: Final = {"pulumi.com/patchForce": "true"}
"""A run that was killed may have made a policy that the state has no record of. The next one has another field manager, and
would be refused: ``matchConstraints``, which has defaults, is one value to server-side apply (run)."""


def _object(logical: str, kind: str, name: str, spec: Spec, after: str = "") -> Object:
    return Object(
        logical=logical,
        api_version=API,
        kind=kind,
        name=name,
        body={"spec": spec},
        annotations=_TAKEN_UP,
        namespaced=False,
        after=after,
    )
