"""The dynamic providers around slurmctld's configuration: one before the Controller, one after all that runs jobs.

An engine updates dependencies first and deletes dependents first, so no single resource can stand before the Controller's
update and before its deletion. Wire format: this module's path, the class names and the props' names are in users' state
files. Instances have no attributes; see :mod:`slinky_iac.drain.gates` for why the methods import what they work with.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pulumi.dynamic import CheckResult, CreateResult, UpdateResult

from slinky_iac.drain.gates import at_work, checked
from slinky_iac.engine.provider import Gate, Props, own_inputs

if TYPE_CHECKING:
    from slinky_iac.drain.conf_steps import ConfSettings
    from slinky_iac.drain.session import Session


class SlurmConfGateProvider(Gate):
    """Empties partitions and hosts of jobs before slurm.conf loses them; ``extraConf`` passes through to the Controller."""

    def check(self, _olds: Props, news: Props) -> CheckResult:
        """Add the plan: what leaves, whose jobs hold it up and until when. Limits fail here, in the preview."""
        from slinky_iac.drain import preview
        from slinky_iac.drain.conf_steps import ConfSettings

        return checked(news, ConfSettings.from_props, lambda settings: preview.slurm_conf(settings, _olds), "partitions")

    def create(self, props: Props) -> CreateResult:
        """The stack's first gate of this kind: compare with the Controller that is there, if one is."""
        from slinky_iac.drain import conf_run

        if props.get("outside") is not True:
            with _at_work(props) as (session, settings):
                olds = conf_run.live_lines(session, settings)
                if olds.partitions or olds.hosts:
                    conf_run.settle(session, settings, olds)
        return CreateResult(f"{props['stack']}/slurm-conf", own_inputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Wait until no job names what leaves; give back what an earlier, interrupted run closed."""
        from slinky_iac.drain import conf_run
        from slinky_iac.drain.conf_steps import lines_of

        with _at_work(_news) as (session, settings):
            session.require_kubeconfig()
            conf_run.settle(session, settings, lines_of(_olds))
        return UpdateResult(own_inputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """slurmctld is gone: forget what was closed for it, so that nothing of it is left in a namespace that stays."""
        from slinky_iac.drain import conf_run

        with _at_work(_props) as (session, settings):
            conf_run.forget(session, settings)


class QueueGateProvider(Gate):
    """Stands after all that runs jobs: before a destroy ends slurmctld, the queue and the jobs on bare metal end."""

    def create(self, props: Props) -> CreateResult:
        """Record the inputs; nothing is asked or changed."""
        return CreateResult(f"{props['stack']}/queue", own_inputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Return hosts whose resources or address have changed, once slurmctld has read it."""
        from slinky_iac.drain import conf_run

        with _at_work(_news) as (session, settings):
            session.require_kubeconfig()
            conf_run.return_hosts(session, settings)
        return UpdateResult(own_inputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """Wait for the queue and for bare metal; no program runs now, so all comes from the state."""
        from slinky_iac.drain import conf_run

        with _at_work(_props) as (session, settings):
            conf_run.finish(session, settings)


@contextmanager
def _at_work(props: Props) -> Iterator[tuple[Session, ConfSettings]]:
    """A session for what one provider call does, and what the props say."""
    from slinky_iac.drain.conf_steps import ConfSettings

    settings = ConfSettings.from_props(props)
    with at_work(settings) as session:
        yield session, settings
