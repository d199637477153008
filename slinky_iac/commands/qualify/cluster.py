"""What a ladder asks of Kubernetes before it begins, and the nodes that it makes there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.commands.qualify import refusals
from slinky_iac.commands.qualify.settings import LABEL, NAMESPACE, RUN, SELECTOR, node_names
from slinky_iac.errors import KubeConflict, KubeError, KubeNotFound
from slinky_iac.kube import marks, tally
from slinky_iac.kube.fake_nodes import FakeNodesClient

KWOK_S: Final = 60.0
"""How long the first fake node may take to get ready, with the first rung's nodes all made at once."""
PAUSE_S: Final = 1.0


@dataclass(frozen=True)
class Nodes:
    """The fake nodes of one API server."""

    kube: FakeNodesClient
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    kwok_s: float = KWOK_S
    made: list[str] = field(default_factory=list)

    def check(self, *, beside_slurm: bool, left: list[str]) -> bool:
        """Whether slurm-operator is there. Raises :class:`slinky_iac.errors.QualifyRefused` where no ladder may begin."""
        try:
            controllers = self.kube.controllers()
            operator_there = True
        except KubeNotFound:
            controllers, operator_there = (), False
        refusals.require_no_slurm(controllers, told=beside_slurm)
        found = self.kube.kube_nodes()
        own = sum(each.metadata.labels.get(LABEL) == RUN for each in found)
        nodes = [f"{own} Kubernetes nodes with label {SELECTOR}"] if own else []
        refusals.require_empty(namespace_there=self._namespace_there(), left=[*left, *nodes])
        refusals.require_room(sum(each.takes_pods for each in found))
        return operator_there

    def make(self, count: int) -> None:
        """Make what is missing to ``count``, and wait until all are ready. Raises
        :class:`slinky_iac.errors.QualifyRefused` where no kwok answers or the API server throttles."""
        for name in node_names(count)[len(self.made) :]:
            try:
                self.kube.make_node(name, LABEL, RUN)
            except KubeConflict:
                pass  # made by the try before, whose answer was lost: the name and the check say that it is ours
            except KubeError as error:
                if error.status == tally.THROTTLED:
                    raise refusals.throttles(f"the creation of node {name}") from None
                raise
            self.made.append(name)
        ends = self.now() + self.kwok_s + count / 10
        while True:
            found = self.kube.kube_nodes(SELECTOR)
            if sum(each.ready for each in found) >= count:
                return
            if self.now() > ends:
                raise refusals.no_kwok(count, self.kwok_s + count / 10)
            self.sleep(PAUSE_S)

    def remove(self) -> int:
        """Delete every node with the ladder's label; how many there were."""
        found = self.kube.kube_nodes(SELECTOR)
        for each in found:
            self.kube.delete_node(each)
        self.made.clear()
        return len(found)

    def _namespace_there(self) -> bool:
        try:
            marks.namespace(self.kube, NAMESPACE)
        except KubeNotFound:
            return False
        return True
