"""The dynamic provider of a Slurm job.

Wire format: this module's path, the class name and the props' names are in users' state files. Instances have no
attributes; see :mod:`slinky_iac.drain.gates` for why the methods import what they work with.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from slinky_iac.engine.plugin_process import prepare
from slinky_iac.engine.provider import Gate, Props, is_unknown, own_inputs

if TYPE_CHECKING:
    from slinky_iac.parts.jobs.props import JobSettings
    from slinky_iac.slurmrest.submitted import SubmittedJob


LAST_RUN: Final = ("run", "digest", "last", "result")
"""Outputs that say what became of the last run."""


class JobLifeProvider(Gate):
    """Makes the nonce that all runs of a job's resource carry: it is in the state before the first of them is submitted."""

    def create(self, props: Props) -> CreateResult:
        """A nonce. No secret: it is in the job's comment."""
        import secrets

        nonce = secrets.token_hex(6)
        return CreateResult(nonce, {**own_inputs(props), "nonce": nonce})


class SlurmJobProvider(Gate):
    """Submits one job, exactly once for each change of it or each update, and follows it."""

    def needed(self, news: Props) -> Props:
        """All but the nonce, which is made before the first run."""
        return {**news, "nonce": ""}

    def planned(self, _olds: Props, news: Props) -> CheckResult:
        """Ask slurmctld whether it has the partition and allows the time limit; changes nothing."""
        from slinky_iac.parts.jobs import preview

        try:
            settings = _settings(self.needed(news))
        except ValueError as fault:
            return CheckResult(news, [CheckFailure("schema", str(fault))])
        return CheckResult(news, [CheckFailure(where, text) for where, text in preview.faults(settings)])

    def diff(self, _id: str, olds: Props, news: Props) -> DiffResult:
        """A run that is due, or another way of following it."""
        if is_unknown(news):
            return DiffResult(changes=True)
        due = _settings(news, olds).due
        return DiffResult(changes=True) if due else super().diff(_id, olds, news)

    def create(self, props: Props) -> CreateResult:
        """The first run. Where it fails the resource is in the state all the same: only it ends what it has submitted."""
        settings = _settings(props, {})
        return CreateResult(_identity(settings), _perform(settings, props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """A run where one is due; where only the ways of it have changed, the new ones are noted."""
        settings = _settings(_news, _olds)
        if settings.due:
            return UpdateResult(_perform(settings, _news))
        kept: Props = {name: _olds[name] for name in LAST_RUN if name in _olds}
        return UpdateResult({**own_inputs(_news), **kept})

    def read(self, id_: str, props: Props) -> ReadResult:
        """The state, with what Slurm says of the last run now."""
        from slinky_iac.parts.jobs import run

        prepare()
        settings = _settings(props)
        job = run.look_again(settings) if settings.run else None
        own = own_inputs(props)
        return ReadResult(id_, own if job is None else {**own, **_outcome(settings, settings.run, job)})

    def delete(self, _id: str, _props: Props) -> None:
        """Cancel what still runs, or wait for it; no program runs now, so all comes from the state."""
        from slinky_iac.parts.jobs import run

        run.end(_settings(_props))


def _settings(props: Props, olds: Props | None = None) -> JobSettings:
    from slinky_iac.parts.jobs.props import JobSettings

    return JobSettings.from_props(props, olds)


def _perform(settings: JobSettings, props: Props) -> Props:
    """The outputs of a run that went well. Where it didn't, the engine keeps them, and the error is raised."""
    from slinky_iac.engine.plugin_process import keep_made
    from slinky_iac.parts.jobs import run

    outs = {**own_inputs(props), "run": settings.next_run, "digest": settings.digest, "last": "open", "result": {}}
    try:
        number, job = run.perform(settings)
        outs |= _outcome(settings, number, job)
        run.require_good(settings, job)
    except Exception:
        keep_made(_identity(settings), outs, props)
        raise
    return outs


def _outcome(settings: JobSettings, number: int, job: SubmittedJob) -> Props:
    from slinky_iac.parts.jobs import run

    digest = job.admin_comment.rpartition(".")[2]
    return {"run": number, "digest": digest or settings.digest, "last": run.last(job), "result": run.result(job)}


def _identity(settings: JobSettings) -> str:
    return f"{settings.stack}/jobs/{settings.job}"
