"""What a part answers. A part is one thing that a Slurm person can name; what there is of it is in one folder here.

Every method is pure and answers for one configuration. A part says what concerns it; the loops that ask are elsewhere, once:
rules in ``config/rules.py``, objects in ``components/hybrid_cluster.py`` and ``commands/rights/made.py``, APIs in
``preflight/kube_questions.py``, metrics in the specs of slurmctld. docs/add-a-part.md has the smallest example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from slinky_iac.config.findings import Finding
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

Rule = Callable[[StackConfig, frozenset[str]], Iterator[Finding]]
"""Findings about a configuration. The second argument has the names of the secret values that are set."""
Document = Callable[[], Any]
"""Makes the text of names.WATCHED_FILE: what the stack is, without secrets, for a program that has no state."""


@dataclass(frozen=True)
class Api:
    """An API group that the part's objects need."""

    group: str
    missing: Finding
    """What is said where the Kubernetes cluster doesn't serve it."""


class Part:
    """The interface; a part overrides what it has something to say to."""

    name: ClassVar[str]
    """The folder's name. Logical names of its resources end with it."""
    component: ClassVar[str] = ""
    """Type of the component that its objects are children of, as URNs have it; empty where it makes none."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    daemon_rules: ClassVar[tuple[Rule, ...]] = ()
    """Rules of stacks that make daemons; a munge cluster's stack makes clients only."""

    def objects(self, config: StackConfig, document: Document) -> Iterable[Object]:  # noqa: ARG002
        """The Kubernetes objects that it makes, in their order."""
        return ()

    def apis(self, config: StackConfig) -> Iterable[Api]:  # noqa: ARG002
        """API groups that Kubernetes must serve for them."""
        return ()

    def reads_metrics(self, config: StackConfig) -> bool:  # noqa: ARG002
        """Whether it needs the metrics of slurmctld."""
        return False

    def service_monitor(self, config: StackConfig) -> Spec | None:  # noqa: ARG002
        """``metrics.serviceMonitor`` of a Controller in Kubernetes, where it has a say in that."""
        return None

    def status_account(self, config: StackConfig) -> str:  # noqa: ARG002
        """The ServiceAccount of a pod that runs `slinky status`; empty where it makes none."""
        return ""
