"""What slurmctld and slurmdbd themselves said of the files that they would be given (`preflight --try`). Pure."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Answers, At, Expect, fine, problem, unknown
from slinky_iac.preflight.facts import Facts, TrialFacts

_UNSEEN: Final = "; what slurmd alone reads (TaskPlugin, ProctrackType, prologs) isn't tried"
TRY_OUTSIDE: Final = "slinky handoff --role slurmctld --out handoff"


def _trial(config: StackConfig, facts: Facts) -> Answers:
    """Each daemon read all of its files and was about to serve, or said what it refuses."""
    trial = facts.trial
    if trial is None:
        return
    if not config.slurmctld.owns_conf:
        yield unknown(
            "slurmctld is outside, and its slurm.conf isn't this program's to read",
            "Its admin tries the lines beside the file: make the hand-off, then run `try.sh` of its folder slurmctld",
            TRY_OUTSIDE,
            at=At.SLURMCTLD,
        )
        return
    yield from verdicts(trial)


def verdicts(trial: TrialFacts) -> Answers:
    """What the daemons of one trial said, and why one said nothing."""
    if trial.trouble:
        yield unknown(f"no trial: {trial.trouble}", "Correct that, then run `slinky preflight --try` again")
    for run in trial.daemons:
        about, said = f"files of {run.daemon}", "; ".join(run.said)
        left = f"; not tried: {', '.join(run.left)}" if run.left else ""
        if run.verdict == "taken":
            yield fine(
                f"{run.release or run.daemon} takes them{f' and says: {said}' if said else ''}{left}{_UNSEEN}", about=about
            )
        elif run.verdict == "refused":
            yield problem(
                f"{run.release or run.daemon} refuses them: {said or 'it ended without a word'}",
                _change(run.daemon),
                about=about,
            )
        else:
            why = said or "it neither ended nor came to serve in time"
            yield unknown(
                f"not known: {why}{left}",
                "Run `slinky preflight --try` again; if it stays so, try the daemon's image by hand",
                about=about,
            )


def _change(daemon: str) -> str:
    where = (
        "accounting.extraConf" if daemon == "slurmdbd" else "controller (extraConf, configFiles) or the partition's config"
    )
    return f"Correct what it names in {where}: with these files it wouldn't start"


EXPECTED: Final = (Expect("trial", "files of slurmctld", "a pod of its image", _trial),)
