"""What of a cluster can't change once it lives: refused in preview, with the reason, before anything is touched.

The operator's webhook refuses the same at apply time, half-way through an update (``internal/webhook/
controller_webhook.go``); where the webhook is off, nobody does, and the cluster breaks. A dynamic resource sees both the
old and the new values in ``check``, which runs in preview too.

Wire format: this module's path, the class name and the property names are in users' state files.
"""

from __future__ import annotations

from typing import Any, Final

from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, DiffResult, ResourceProvider, UpdateResult

REASONS: Final = {
    "clusterName": "slurmdbd names its tables and slurmctld its saved state after ClusterName: under a new one the job queue"
    " and the accounts are gone",
    "namespace": "all resources of a cluster live in one namespace; in another one they are a new cluster, and the old one's"
    " jobs die with its pods",
    "resourceName": "every Service, Secret and pod is named after it, so all would be replaced, workers with their jobs"
    " included",
    "slurmKeySecret": "the operator can't change slurmKeyRef of a live Controller: running daemons keep the old key",
    "jwtKeySecret": "the operator can't change the JWT key reference of a live Controller",
    "persistence": "slurmctld's StatefulSet can't change its volume claims, and with them goes the job queue",
    "slurmctld": "moving slurmctld between Kubernetes and an outside host leaves its saved state, the job queue, behind",
}
"""Properties and why they stay as they are."""


class IdentityProvider(ResourceProvider):
    """Refuses a change of any property in :data:`REASONS`; touches nothing in the world."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """Failures for every property that differs from the state's."""
        failures = [
            CheckFailure(
                name,
                f"{name}: can't change from {_olds[name]!r} to {news.get(name)!r}: {why}. Set it back; or drain and destroy"
                " this stack and bring up a new one",
            )
            for name, why in REASONS.items()
            if name in _olds and _olds[name] != news.get(name)
        ]
        return CheckResult(news, failures)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """A difference only where a property is new (an older state lacks it)."""
        return DiffResult(changes=any(_olds.get(name) != _news.get(name) for name in REASONS))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Record what the cluster is."""
        return CreateResult(str(props["clusterName"]), {name: props.get(name) for name in REASONS})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Record properties that an older state lacked."""
        return UpdateResult({name: _news.get(name) for name in REASONS})
