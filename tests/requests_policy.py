"""A ValidatingAdmissionPolicy as sites have it, by Kyverno or by Kubernetes itself: each container of a pod asks for CPU and
memory, and has a limit of memory.

What Kyverno's sample policy "require-requests-limits" asks for, of init containers too: https://kyverno.io/policies/.
"""

from __future__ import annotations

from typing import Any, Final

NAME: Final = "site-requests"
WORDS: Final = "asks for no CPU or memory, or has no limit of memory"
"""What the API server says of a pod that it refuses, behind the containers' names."""
_SIZED: Final = (
    "has(c.resources) && has(c.resources.requests) && has(c.resources.limits)"
    " && 'cpu' in c.resources.requests && 'memory' in c.resources.requests && 'memory' in c.resources.limits"
)


def objects(namespace: str) -> list[dict[str, Any]]:
    """The policy and its binding, for the pods of one namespace."""
    api = "admissionregistration.k8s.io/v1"
    all_of = "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            ]
        },
        "variables": [{"name": "bare", "expression": f"({all_of}).filter(c, !({_SIZED})).map(c, c.name)"}],
        "validations": [
            {
                "expression": "variables.bare.size() == 0",
                "messageExpression": f"variables.bare.join(', ') + ' {WORDS}'",
            }
        ],
    }
    of_namespace = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    binding = {"policyName": NAME, "validationActions": ["Deny"], "matchResources": of_namespace}
    return [
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": NAME}, "spec": policy},
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": NAME}, "spec": binding},
    ]
