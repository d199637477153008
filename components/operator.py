"""slurm-operator itself: namespace, CRDs and chart, ready before anything that needs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.helm.v3 import Release

from slinky_iac import operator_change, ownership
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.operator import CRDS, chart, operator_values, service_monitor_stub

from . import helm_chart
from .connection import Component, as_it_is
from .first_look import first_look, look_before
from .gates import policy_of
from .resources import child, namespace
from .ways import asks, way_of


@dataclass(frozen=True, kw_only=True)
class OperatorArgs:
    """What the operator is deployed from."""

    config: StackConfig
    filled: Callable[[Any], Any] = as_it_is
    """What puts a program's Outputs in the place of placeholders."""


class Operator(Component):
    """The operator, deployed as real Helm releases so that Helm's own waiting and hooks hold.

    Client-side rendering would sign a new webhook certificate in every preview (chart function genCA). The CRDs are a
    release of their own, made first, removed last and protected: they hold the NodeSets of all stacks.
    """

    version: pulumi.Output[str]
    namespace: pulumi.Output[str]

    def __init__(self, name: str, args: OperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Operator", name, args.config, opts)
        settings = args.config.operator
        self.version = pulumi.Output.from_input(settings.version)
        namespace = self._namespace(name, args.config)
        self.namespace = pulumi.Output.from_input(settings.namespace) if namespace is None else namespace.metadata.name
        stub = self._stub(name, args.config)
        crds = self._release(name, CRDS, args, child(self, namespace, protect=settings.protect_crds))
        operator = child(self, namespace, crds, stub)
        self.release = self._release(name, "slurm-operator", args, operator)
        self.register_outputs({"version": self.version, "namespace": self.namespace})

    def _namespace(self, name: str, config: StackConfig) -> Namespace | None:
        if not config.operator.create_namespace:
            return None
        space, setting = config.operator.namespace, "operator.createNamespace"
        return namespace(self, name, "operator-namespace", config, space, setting)

    def _stub(self, name: str, config: StackConfig) -> pulumi.CustomResource | None:
        wanted = config.operator.service_monitor_stub
        if not (config.operator_version.needs_service_monitor_crd if wanted is None else wanted):
            return None
        # 80 ms of imports that only stacks with an old operator need.
        from pulumi_kubernetes.apiextensions.v1 import CustomResourceDefinition  # noqa: PLC0415

        stub = service_monitor_stub()
        hooks = first_look("service-monitor-stub", config, ownership.monitor_stub(stub["metadata"]["name"]))
        return CustomResourceDefinition(
            f"{name}-service-monitor-stub", metadata=stub["metadata"], spec=stub["spec"], opts=child(self, hooks=hooks)
        )

    def _release(self, name: str, which: str, args: OperatorArgs, opts: pulumi.ResourceOptions) -> Release | None:
        config, settings = args.config, args.config.operator
        crds = which == CRDS
        if crds and not settings.install_crds:
            return None
        reference, version = chart(config, which)
        hooks = first_look(which, config, ownership.release(settings.namespace, which))
        if not crds:
            hooks = pulumi.ResourceHookBinding(before_create=hooks.before_create, before_update=[_pods_first(args)])
        if (settings.chart.crds_digest if crds else settings.chart.digest) is not None:
            setting = f"operator.chart.{'crdsDigest' if crds else 'digest'}"
            hooks = helm_chart.of_release(which, setting, version, hooks)
        return Release(
            f"{name}-{which}",
            name=which,
            chart=helm_chart.located(reference, local=settings.chart.path is not None),
            version=version,
            namespace=settings.namespace,
            values={} if crds else operator_values(config),
            timeout=settings.timeout,
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(hooks=hooks)),
        )


def _pods_first(args: OperatorArgs) -> pulumi.ResourceHook:
    """A look, right before another release of the operator, at the pods it would end: a preview warns, an update stops."""
    config = args.config
    hide, release = policy_of(config).hide_by(pulumi.get_stack()), f"slurm-operator {config.operator.version}"
    return look_before(
        "slinky-operator-change",
        operator_change.changes_release,
        asks(way_of(config, args.filled), partial(operator_change.in_the_way, config, os.environ, Path.home(), hide)),
        warns=f"{release}: {{}}",
        stops=f"{release} was not installed: {{}}",
    )
