"""One policy of the fence, and the pieces of CEL and of rules that several of them have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from slinky_iac import names
from slinky_iac.specs.shared import Spec

Guarded = Literal["nodesets", "controller", "needed", "namespace", "crds", "workers", "pods"]
"""What a policy guards: the NodeSets; slurm.conf in the Controller; the custom resources that NodeSets need; their
namespace; the CRDs of these; worker pods, against all but slurm-operator; worker pods, against slurm-operator."""
PERMITTED_DELETE: Final = f"'{names.PERMIT_DELETE}{names.PERMIT_AT}'"
_NAME: Final = "slinky-iac-"


@dataclass(frozen=True)
class Policy:
    """One ValidatingAdmissionPolicy and the binding of the same name."""

    part: Guarded
    name: str
    spec: Spec
    binding: Spec


def policy_name(namespace: str, cluster: str, part: Guarded) -> str:
    """Name of a policy and of its binding. They belong to no namespace, and a dot is in no part's name."""
    return f"{_NAME}{part}.{namespace}.{cluster}"


def guarded_by(name: str) -> str:
    """What a policy, or its binding, guards: one of :data:`Guarded`."""
    return name.removeprefix(_NAME).partition(".")[0]


def rule(group: str, resources: list[str], *operations: str) -> Spec:
    """Requests that a policy is asked about."""
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": resources, "operations": list(operations)}


def named(namespace: str) -> Spec:
    """Selects a namespace, or what is in it, by the label that the API server gives each namespace."""
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


def binding(name: str) -> Spec:
    """The spec of a policy's binding."""
    return {"policyName": name, "validationActions": ["Deny"]}


def each_nodeset(namespace: str) -> Spec:
    """A binding's part by which a policy is evaluated once for each NodeSet, and lets through where there is none."""
    return {"paramRef": {"namespace": namespace, "selector": {}, "parameterNotFoundAction": "Allow"}}


def permit(of: str) -> str:
    """In CEL, the permission on an object; empty where it has none."""
    return f"{of}.metadata.?annotations[?'{names.ANNOTATION_PERMIT}'].orValue('')"


def way_out(name: str) -> str:
    """The end of each refusal."""
    return f"In an emergency, jobs or not: kubectl delete validatingadmissionpolicybinding {name}"


def texts(members: Iterable[str]) -> str:
    """A list of texts in CEL."""
    return f"[{', '.join(repr(text) for text in members)}]"
