"""slurmctld: in Kubernetes with its scripts and files, or the operator's picture of an outside one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac import names, ownership
from slinky_iac.blueprint import objects
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import restarts_slurmctld

from .connection import Component, as_it_is
from .first_look import Lost, first_look, look_before, none_lost, require_there
from .gates import policy_of
from .resources import GATED, child, custom_resource, register_object
from .ways import asks, way_of


@dataclass(frozen=True, kw_only=True)
class ControllerArgs:
    """``jwt_key_fingerprint``: an annotation of the Controller, by which a changed key wakes the operator."""

    config: StackConfig
    jwt_key_fingerprint: pulumi.Output[str] | None = None
    lost: Lost = none_lost
    filled: Callable[[Any], Any] = as_it_is
    """What puts a program's Outputs in the place of placeholders."""


class Controller(Component):
    """The Controller custom resource; ``join_host`` and ``join_port`` are what outside daemons connect to.

    A slurmctld in Kubernetes is created with its tail of slurm.conf. From then on only its gate writes that
    (components/slurm_conf.py), so no update of the Controller, targeted or not, takes a partition or a host from a job.
    """

    join_host: pulumi.Output[str]
    join_port: pulumi.Output[int]

    def __init__(self, name: str, args: ControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Controller", name, args.config, opts)
        config = args.config
        files = [register_object(name, config, script, child(self)) for script in objects.scripts(config)]
        told = args.jwt_key_fingerprint
        first = first_look("controllers", config, ownership.custom(config, "controllers"))
        queue = _queue_first(config, args.filled)
        hooks = pulumi.ResourceHookBinding(before_create=first.before_create, before_update=[queue] if queue else None)
        self.resource = custom_resource(
            config,
            objects.controller(config),
            child(self, *files, hooks=hooks, ignore_changes=[f"spec.{GATED['Controller']}"]),
            {} if told is None else {names.ANNOTATION_JWT_KEY: told},
        )
        require_there(self.resource, "controllers", args.lost)
        target = config.slurmctld.join
        self.join_host = pulumi.Output.from_input(target.host)
        self.join_port = pulumi.Output.from_input(target.port)
        self.register_outputs({"join_host": self.join_host, "join_port": self.join_port})


def _queue_first(config: StackConfig, filled: Callable[[Any], Any]) -> pulumi.ResourceHook | None:
    """A look, right before an update that may restart a slurmctld that keeps no state, at the jobs that it would forget: a
    preview warns, an update stops."""
    if not config.slurmctld.forgets_queue:
        return None
    hide = policy_of(config).hide_by(pulumi.get_stack())
    name = config.cluster.resource_name

    def look(way: Reach) -> str:
        from slinky_iac.drain import restart_losses  # noqa: PLC0415 - few updates change a Controller, and its clients take 0.1 s

        return restart_losses.forgotten_jobs(way, hide, config.cluster.name)

    what = "slurmctld's pod restarts with this change, and controller.persistence is off: {}"
    return look_before(
        "slinky-queue-first",
        lambda old, new: restarts_slurmctld(old, new, config.operator_version),
        asks(way_of(config, filled), look),
        warns=f"{name}: {what}. The update stops before it",
        stops=f"Controller {name} was not changed: {what}. Wait until they have ended, or cancel them",
    )
