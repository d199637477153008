"""Slurm compute nodes as pods, and after them the gate that owns their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import pulumi

from slinky_iac import names
from slinky_iac.blueprint import objects
from slinky_iac.blueprint.document import nodeset_document
from slinky_iac.config import workers as config
from slinky_iac.config.reading.engine import of_call
from slinky_iac.config.shown import shown
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.ownership import frozen, newer
from slinky_iac.parts.registry import PARTS
from slinky_iac.specs.workers import template_digest

from .blueprint import Blueprint
from .connection import Component, as_it_is, given, require_args
from .first_look import first_look, import_command, look_before_update
from .gates import NodeSetScale, counts, gate_props
from .line import place_of_program
from .resources import GATED, MODE, OF_EACH_NODE, child, custom_resource, nodeset_object

WHOLE_NUMBER: Final = "it takes a whole number: config.require_int(NAME), or output.apply(int)"
"""What to do about a number that came as a text."""


@dataclass(frozen=True, kw_only=True)
class NodeSetArgs:
    """``name`` is the NodeSet's in Slurm, ``settings`` what it is. ``cluster`` is the cluster that its nodes join; a whole
    :class:`StackConfig` is one, and so is a ClusterConfig of a program of somebody's own."""

    cluster: ClusterConfig
    name: str
    settings: config.NodeSet
    replicas: pulumi.Input[int] | None = None
    """The number, where another resource gives it; what ``settings`` has isn't used then."""
    filled: Callable[[Any], Any] = as_it_is
    """What outputs are shown by: a program's Outputs take the place of placeholders here."""


class NodeSet(Component):
    """One NodeSet custom resource and its gate.

    The custom resource is created with 0 replicas and its number is ignored from then on: only the gate writes it, so no
    update of the NodeSet, targeted or not, can end a node. In DaemonSet mode, too, the gate alone writes the mode and the
    node selector. ``plan`` is what the last scale-in was to do to whom.
    """

    resource_name: pulumi.Output[str]
    replicas: pulumi.Output[int]
    plan: pulumi.Output[dict[str, Any]]

    def __new__(cls, name: str = "", args: Any = None, *_: Any, **_more: Any) -> Self:  # noqa: ANN401, ARG004 - a program's
        require_args(cls, NodeSet, NodeSetArgs, args)
        return super().__new__(cls)

    def __init__(self, name: str, args: NodeSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NodeSet", name, args.cluster, opts)
        cluster = args.cluster
        if given(opts) is None:  # without a HybridCluster, whose document has its NodeSets
            self.filled = args.filled
            document = self.filled(nodeset_document(cluster, args.name, args.settings))
            Blueprint(f"{name}-blueprint", document, child(self))
        made = objects.nodeset(cluster, args.name, args.settings)
        kube, space, spec = made.name, cluster.cluster.namespace, dict(made.body["spec"])
        noted = {
            names.ANNOTATION_TEMPLATE: template_digest(spec),
            names.ANNOTATION_UPDATE: spec["updateStrategy"]["type"],
        }
        gated = [GATED["NodeSet"]]
        if args.settings.on_each_node:
            noted[names.ANNOTATION_MODE] = args.settings.scaling_mode
            gated += OF_EACH_NODE
        # A program has one HybridCluster, and may join NodeSets of one name to several clusters.
        which = kube if given(opts) is not None else "-".join(filter(None, (cluster.kubernetes.context, space, kube)))
        hooks = look_before_update(which, cluster, frozen(cluster, kube))
        there = f"{space}/{kube}"
        kind, called = f"kubernetes:{names.API_VERSION}:NodeSet", made.logical
        mends = import_command(self, opts.parent if opts is not None else None, kind, called, there)
        replaces = args.settings.scaling_mode if pulumi.runtime.is_dry_run() else ""
        hooks.before_create = first_look(which, cluster, newer(cluster, kube, replaces=replaces), mends).before_create
        ignored = [f"spec.{field}" for field in gated]
        options = child(self, ignore_changes=ignored, replace_on_changes=[MODE], hooks=hooks)
        self.resource = custom_resource(cluster, made, options, noted)
        props = gate_props(cluster, args.name, args.settings)
        if args.replicas is not None:
            where, call = f"nodesets.{args.name}.replicas", f"NodeSet {name}{place_of_program()}"
            number = pulumi.Output.from_input(args.replicas).apply(lambda known: counted(known, where, call))
            props |= counts(args.settings, number)
        self.gate = NodeSetScale(f"{name}-scale", props, self.resource, child(self))
        # After the gate, so before it on the way down: what may add pods is gone before the last are drained.
        for manifest in (made for part in PARTS for made in part.of_nodeset(cluster, args.name, args.settings)):
            nodeset_object(cluster, manifest, child(self, self.gate))
        self.resource_name = pulumi.Output.from_input(kube)
        self.replicas = self.gate.replicas
        self.plan = self.gate.plan
        self.register_outputs({"resource_name": self.resource_name, "replicas": self.replicas, "plan": self.plan})


def counted(known: object, where: str, call: str = "") -> int:
    """A number of replicas that another resource has given. Raises RunError for anything else; ``call`` as
    :func:`slinky_iac.config.reading.engine.of_call` has it."""
    number = int(known) if isinstance(known, float) and known.is_integer() else known
    with of_call(call):
        if isinstance(number, str):
            raise pulumi.RunError(f"{where}: the Output that it is given is the text {shown(number)}; {WHOLE_NUMBER}")
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise pulumi.RunError(f"{where}: must be a whole number from 0, and its Output gives something else")
        return number
