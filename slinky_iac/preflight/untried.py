"""What no daemon has tried yet of the files of a stack, and what a trial of it came to. Pure.

This is the one place that decides whether a preview or an update tries files (docs/adr/0025): where the setting asks for it,
and what is to be written isn't what the last trial was of. That is in a ConfigMap of the stack's, which an update writes
after its trial. A file with the same content on the same image isn't tried again, whatever became of the update since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.check_trial import verdicts
from slinky_iac.preflight.facts import TrialFacts
from slinky_iac.specs.trial import FILE, IMAGE, record, trials

SETTING: Final = "controller.trial"
WITHOUT: Final = f"or set {SETTING}.enabled: false, and these files are written without a trial"


@dataclass(frozen=True)
class Untried:
    """Files and images that no trial was of. Of none, no trial is asked for and no pod is made."""

    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    def __str__(self) -> str:
        """``slurm.conf, cgroup.conf, image of slurmctld``."""
        return ", ".join(self.names)


def untried(config: StackConfig, recorded: Mapping[str, str]) -> Untried:
    """What differs between the stack and ``recorded``, what the last trial was of: other files, more, or fewer."""
    if not config.slurmctld.tries_files:
        return Untried()
    wanted = record(config)
    changes = sorted(name for name in wanted.keys() | recorded.keys() if wanted.get(name) != recorded.get(name))
    files = (name.removeprefix(FILE) for name in changes if name.startswith(FILE))
    images = (f"image of {name.removeprefix(IMAGE)}" for name in changes if name.startswith(IMAGE))
    return Untried((*files, *images))


@dataclass(frozen=True)
class Outcome:
    """What a trial came to."""

    verdict: Verdict = Verdict.FINE
    said: str = ""
    """The daemons' own words, or why there are none; empty where nothing was to be tried."""

    @property
    def is_known(self) -> bool:
        """Whether the daemons have said that they take the files, or nothing was to be tried."""
        return self.verdict is Verdict.FINE

    def stops(self, *, preview: bool) -> bool:
        """Whether the run ends with an error. An update that knows no verdict ends; a preview warns of that."""
        return self.verdict is Verdict.PROBLEM or (self.verdict is Verdict.UNKNOWN and not preview)

    def in_words(self, *, preview: bool) -> str:
        """The sentence for the person who runs it: what was tried, what came back, what follows and what to do next."""
        if self.verdict is Verdict.UNKNOWN and preview:
            follows = (
                f". `pulumi up` makes the trial before its first change, and stops where it can't. Correct that, {WITHOUT}"
            )
        elif self.verdict is Verdict.UNKNOWN:
            follows = (
                ". Nothing was changed. Correct that and run the command again (`slinky preflight --try` makes the same"
                f" trial), {WITHOUT}"
            )
        elif self.verdict is Verdict.PROBLEM:
            follows = ". Nothing was changed; run the command again then"
        else:
            follows = ""
        return f"{SETTING}: {self.said}{follows}"


def outcome(config: StackConfig, new: Untried, facts: TrialFacts) -> Outcome:
    """What the daemons said of ``new``: the worst counts, and one that said nothing is unknown."""
    answers = [*verdicts(facts)]
    silent = {trial.daemon for trial in trials(config)} - {run.daemon for run in facts.daemons}
    worst = next((verdict for verdict in Verdict if any(answer.verdict is verdict for answer in answers)), Verdict.UNKNOWN)
    if silent and worst is not Verdict.PROBLEM:
        worst = Verdict.UNKNOWN
    told = [answer for answer in answers if answer.verdict is worst]
    said = "; ".join(
        f"{answer.about}: {answer.got}{f'. {answer.change}' if worst is Verdict.PROBLEM else ''}"
        if answer.about
        else answer.got
        for answer in told
    )
    return Outcome(worst, f"{new} is new to the daemons. {said or 'no daemon said anything'}")


def unasked(new: Untried | None, why: str) -> Outcome:
    """No trial was made. ``new`` is None where it isn't even known whether one is needed."""
    what = "whether files changed since the last trial is not known" if new is None else f"{new} is new to the daemons"
    return Outcome(Verdict.UNKNOWN, f"{what}, and no trial was made: {why.rstrip('.')}")
