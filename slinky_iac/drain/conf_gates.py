"""The dynamic providers around slurmctld: one after the Controller, one after all that runs jobs.

Wire format: this module's path, the class names and the props' names are in users' state files. Instances have no
attributes; see :mod:`slinky_iac.drain.gates` for why the methods import what they work with.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pulumi.dynamic import CheckResult, CreateResult, UpdateResult

from slinky_iac.drain.gates import ClusterGate, at_work, checked
from slinky_iac.engine.provider import Props, outputs, own_inputs
from slinky_iac.names import KEEP_QUEUE

if TYPE_CHECKING:
    from slinky_iac.drain.conf_steps import ConfSettings


class ControllerGateProvider(ClusterGate):
    """Owns the Controller's ``extraConf`` and its deletion.

    The Controller is created with the text, and Pulumi never writes it again. This resource, after it, does: it empties
    partitions and hosts of jobs before slurm.conf loses them. Its deletion, which the engine orders after that of all that
    runs jobs, waits until no job is left on any node and deletes the Controller itself (docs/adr/0024).
    """

    def planned(self, _olds: Props, news: Props) -> CheckResult:
        """Add the plan: what leaves, whose jobs hold it up and until when. Limits fail here, in the preview."""
        from slinky_iac.drain import preview

        def read(props: Props) -> ConfSettings:
            return _settings(props, _olds)

        return checked(_olds, news, read, preview.slurm_conf, "partitions")

    def create(self, props: Props) -> CreateResult:
        """The stack's first gate of this kind: compare with the Controller that is there."""
        if props.get("outside") is not True:
            _settle(props, {})
        return CreateResult(f"{props['stack']}/slurm-conf", outputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Wait until no job needs what leaves, and write; give back what an earlier, interrupted run closed."""
        _settle(_news, _olds)
        return UpdateResult(outputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """Wait until slurmctld has no job, and delete the Controller; no program runs now, so all comes from the state."""
        from slinky_iac.drain import conf_run

        settings = _of_destroy(_props)
        with at_work(settings) as session:
            conf_run.end(session, settings)


class QueueGateProvider(ClusterGate):
    """Stands after all that runs jobs: a destroy comes here first, and the queue is waited for while there are nodes."""

    def create(self, props: Props) -> CreateResult:
        """Record the inputs; nothing is asked or changed."""
        return CreateResult(f"{props['stack']}/queue", own_inputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """The same."""
        return UpdateResult(own_inputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """Wait until no job waits; no program runs now, so all comes from the state."""
        from slinky_iac.drain import conf_run

        settings = _of_destroy(_props)
        with at_work(settings) as session:
            conf_run.finish(session, settings, "first")


def _settings(props: Props, olds: Props | None = None) -> ConfSettings:
    """What the props say; NodeSets that the program has dropped are there until their own gates delete them."""
    from slinky_iac.drain.conf_steps import ConfSettings

    former = (olds or {}).get("nodesets") or {}
    return ConfSettings.from_props({**props, "nodesets": {**former, **(props.get("nodesets") or {})}})


def _of_destroy(props: Props) -> ConfSettings:
    return _settings(props).of_destroy(os.environ.get(KEEP_QUEUE, ""))


def _settle(props: Props, olds: Props) -> None:
    from slinky_iac.drain import conf_run
    from slinky_iac.drain.conf_steps import lines_of

    settings = _settings(props, olds)
    with at_work(settings) as session:
        session.require_kubeconfig()
        conf_run.settle(session, settings, lines_of(olds))
