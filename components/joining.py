"""What a HybridCluster does for NodeSets that join it later in the program: their order, its gates and its outputs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pulumi

from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.drain.written_plan import overview
from slinky_iac.parts.registry import PARTS
from slinky_iac.specs.slurm_conf import outside_slurm_conf

from .connection import Component
from .inputs import Given
from .node_set import NodeSet

Made = TypeVar("Made")
_clusters: WeakKeyDictionary[object, str] = WeakKeyDictionary()
"""The cluster of each program of this process."""


class Joinable(Component):
    """A cluster of the program, as it is for a NodeSet that isn't in its settings."""

    config: StackConfig
    """What its parts join, with the NodeSets that have joined."""
    nodesets: pulumi.Output[dict[str, int]]
    scale_in_plans: pulumi.Output[dict[str, Any]]
    outside_slurm_conf: pulumi.Output[str]
    judged: tuple[Finding, ...]
    """What is to say about ``config``. It is said late, once no NodeSet can join."""
    sections: Mapping[str, object]
    """The sections that ``config`` is of, as they were before a NodeSet joined."""
    given: Given | None = None
    """The same with NodeSets that joined, and with placeholders of Outputs; None: without any."""
    secrets: Mapping[str, pulumi.Input[str]] = MappingProxyType({})
    """Secrets that the program gives."""

    def __init__(self, kind: str, name: str, config: ClusterConfig, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(kind, name, config, opts)
        _clusters[pulumi.runtime.settings.get_monitor()] = name
        self.is_registered = self.is_exported = False
        self.before_nodesets: tuple[pulumi.Resource | None, ...] = ()
        self.nodeset_components: dict[str, NodeSet] = {}

    def joining(
        self, name: str, config: StackConfig, judged: tuple[Finding, ...], settings: Given
    ) -> pulumi.ResourceOptions:
        """Options of a NodeSet that joins the cluster later in the program: it is made after, and so removed before, all
        that the cluster's own are. ``config``, ``judged``, ``settings``: the cluster's with this NodeSet.

        Raises :class:`StackRefused` where it is too late for that: a gate of the queue stands before it then.
        """
        if refused := config.auth.refusals.get("NodeSet"):
            raise StackRefused(f"NodeSet {name}: {self._name} {refused}")
        if self.is_registered:
            raise StackRefused(
                f"NodeSet {name}: HybridCluster {self._name} is with the engine already, so its gates don't wait for this"
                " NodeSet. Nothing of it was made. Make NodeSets right after the cluster: not in an apply, and before the"
                " program awaits something or calls a function of a provider (`get_…`)"
            )
        self.config, self.judged, self.given = config, judged, settings
        return pulumi.ResourceOptions(depends_on=[resource for resource in self.before_nodesets if resource is not None])

    def joined(self, name: str, made: NodeSet, filled: Callable[[Any], Any]) -> None:
        """A NodeSet that :meth:`joining` was asked for is made: the cluster's outputs have it. ``filled``: what they are
        shown by."""
        self.nodeset_components[name], self.filled = made, filled
        self.outside_slurm_conf = filled(pulumi.Output.from_input(outside_slurm_conf(self.config)))
        self._of_nodesets()
        if self.is_exported:
            self.export()

    def exports(self) -> Mapping[str, str]:
        """Stack outputs, each with the attribute that it shows."""
        return {}

    def export(self) -> None:
        """Make the outputs of the program that commands read."""
        self.is_exported = True
        for output, attribute in self.exports().items():
            pulumi.export(output, getattr(self, attribute))
        for output, text in (pair for part in PARTS for pair in part.outputs(self.config)):
            pulumi.export(output, text)

    def _of_nodesets(self) -> None:
        self.nodesets = by_name({n: c.replicas for n, c in self.nodeset_components.items()})
        self.scale_in_plans = by_name({n: c.plan.apply(overview) for n, c in self.nodeset_components.items()})

    def _late(self, made: Callable[[], Made]) -> Awaitable[Made]:
        """What is asked for once the program goes on to something else: NodeSets that joined until then are in it."""

        async def asked() -> Made:
            self.is_registered = True
            return made()

        return asyncio.ensure_future(asked())

    def _late_props(self, props: Callable[[StackConfig], Mapping[str, Any]], *names: str) -> dict[str, Any]:
        """Props of a gate, those of ``names`` with NodeSets that join the cluster."""
        late = {name: pulumi.Output.from_input(self._late(partial(_one, props, self, name))) for name in names}
        return {**props(self.config), **late}

    def _after_nodesets(self, *after: pulumi.Resource | None) -> pulumi.ResourceOptions:
        """Options of what is made after all NodeSets, also those that join, and so removed before them."""

        def waits() -> Sequence[pulumi.Resource]:
            return [resource for resource in (*after, *self.nodeset_components.values()) if resource is not None]

        return pulumi.ResourceOptions(parent=self, depends_on=self._late(waits))


def require_alone(name: str = "") -> None:
    """Raises :class:`StackRefused` where the program has a cluster already: names of a stack's resources don't hold its. And
    where it is in an `apply`. ``name``: empty for the cluster of the stack's file, before that is read."""
    what = f"HybridCluster {name}" if name else "hybrid_cluster()"
    if _in_an_apply():
        raise StackRefused(
            f"{what}: is made in an apply, which a preview doesn't run while its value isn't known: that preview would show"
            " the deletion of the whole cluster. Nothing of it was made. Make it outside, and give the Output itself:"
            " slurmctld=vm.access_ip_v4 (`slinky docs own-repository` has which settings take one)"
        )
    other = _clusters.get(pulumi.runtime.settings.get_monitor())
    if other is not None and not name:
        raise StackRefused(
            f"{what}: this program has HybridCluster {other} already; one stack is one cluster. Nothing of it was made."
            " hybrid_cluster() is for settings in the stack's file: remove one of the two"
        )
    if other is not None:
        raise StackRefused(
            f"{what}: this stack has {other} already; one stack is one cluster. Nothing of it was made. Give"
            f" {name} a stack of its own: `pulumi stack init {name}`, and one call for all stacks,"
            " HybridCluster(pulumi.get_stack(), …); or a project of its own"
        )


def _in_an_apply() -> bool:
    """Whether a callback of an Output is at work: the SDK has no word for it, and calls all of them from this one module."""
    frame, calls = inspect.currentframe(), pulumi.output.__file__
    while frame is not None and frame.f_code.co_filename != calls:
        frame = frame.f_back
    return frame is not None


def _one(props: Callable[[StackConfig], Mapping[str, Any]], cluster: Joinable, name: str) -> Any:  # noqa: ANN401
    return cluster.filled(props(cluster.config).get(name))


def by_name(outputs: dict[str, pulumi.Output[Any]]) -> pulumi.Output[dict[str, Any]]:
    """All of them as one; `Output.all` would make a list of none."""
    return pulumi.Output.all(**outputs) if outputs else pulumi.Output.from_input({})
