"""What a ladder asks of Kubernetes before it begins, and the nodes that it makes there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.commands.qualify import refusals
from slinky_iac.commands.qualify.settings import BY, LABEL, NAMESPACE, RUN, SELECTOR, node_names
from slinky_iac.errors import KubeConflict, KubeError, KubeNotFound
from slinky_iac.kube import marks
from slinky_iac.kube.fake_nodes import FakeNodesClient, KubeNode

KWOK_S: Final = 60.0
"""How long the first fake node may take to get ready, with the first rung's nodes all made at once."""
PAUSE_S: Final = 1.0


@dataclass(frozen=True)
class Nodes:
    """The fake nodes of one API server."""

    kube: FakeNodesClient
    ladder: str
    """The name of the ladder whose nodes these are."""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    kwok_s: float = KWOK_S
    made: list[str] = field(default_factory=list)

    def check(self, *, beside_slurm: bool, folder: str, clean: str) -> bool:
        """Whether slurm-operator is there. ``folder``: what an earlier ladder has left of it; ``clean``: the command that
        removes a ladder. Raises :class:`slinky_iac.errors.QualifyRefused` where no ladder may begin."""
        try:
            controllers = self.kube.controllers()
            operator_there = True
        except KubeNotFound:
            controllers, operator_there = (), False
        refusals.require_no_slurm(controllers, told=beside_slurm)
        nodes = self.kube.kube_nodes()
        labelled = [node for node in nodes if node.metadata.labels.get(LABEL) == RUN]
        ladders = [node for node in labelled if node.fake]
        names = {node.metadata.name for node in labelled} - {node.metadata.name for node in ladders}
        refusals.require_unlabelled(sorted(names))
        left = [*([folder] if folder else []), *_counted(ladders)]
        refusals.require_empty(namespace=self.namespace(), folder=bool(folder), left=left, clean=clean)
        refusals.require_room(sum(node.takes_pods for node in nodes))
        return operator_there

    def make(self, count: int) -> None:
        """Make what is missing to ``count``, and wait until all are ready. Raises
        :class:`slinky_iac.errors.QualifyRefused` where no kwok answers or another maker has a node of its name."""
        for name in node_names(count)[len(self.made) :]:
            try:
                self.kube.make_node(name, LABEL, RUN, {BY: self.ladder})
            except KubeConflict:  # perhaps made by the try before, whose answer was lost
                if name not in {node.metadata.name for node in self._own()}:
                    raise refusals.not_ours(name) from None
            self.made.append(name)
        seconds = self.kwok_s + count / 10
        ends = self.now() + seconds
        while True:
            ready = sum(node.ready for node in self._own())
            if ready >= count:
                return
            if self.now() > ends:
                raise refusals.no_kwok(count, ready, seconds)
            self.sleep(PAUSE_S)

    def remove(self) -> int:
        """Delete every node of this ladder, and no other with its label; how many there were. The error of one that can't be
        deleted is raised after the others."""
        nodes, wrong = self._own(), None
        for node in nodes:
            try:
                self.kube.delete_node(node)
            except KubeError as error:
                wrong = wrong or error
        if wrong is not None:
            raise wrong
        self.made.clear()
        return len(nodes)

    def require_gone(self, clean: str) -> None:
        """Raises :class:`slinky_iac.errors.QualifyRefused` where another folder's ladder is there."""
        ladders = [node for node in self.kube.kube_nodes(SELECTOR) if node.fake]
        refusals.require_gone(namespace=self.namespace(), left=_counted(ladders), clean=clean)

    def namespace(self) -> refusals.Namespace:
        """How the ladder's namespace is."""
        try:
            namespace = marks.namespace(self.kube, NAMESPACE)
        except KubeNotFound:
            return refusals.Namespace.NONE
        return refusals.Namespace.ENDING if namespace.deletion_timestamp else refusals.Namespace.THERE

    def _own(self) -> list[KubeNode]:
        nodes = self.kube.kube_nodes(SELECTOR)
        return [node for node in nodes if node.fake and node.metadata.annotations.get(BY) == self.ladder]


def _counted(nodes: Sequence[KubeNode]) -> list[str]:
    return [f"{len(nodes)} Kubernetes nodes with label {SELECTOR}"] if nodes else []
