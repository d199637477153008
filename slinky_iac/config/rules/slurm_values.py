"""Rules of what options of SchedulerParameters and three others are given: numbers, bounds, words, on and off.

slurmctld looks for each option by its name and reads what follows as C's ``atoi`` does: of ``7-0`` it takes 7 without a
word, of ``ten`` 0. What is out of bounds it names in its log, and takes its default. All of it was run on
slurmctld 26.05.5 and 25.11.7; the bounds are :func:`slinky_iac.config.slurm.words.values_of`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.findings import Finding, Setting, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig

_JUDGED: Final = ("DependencyParameters", "PreemptParameters", "SchedulerParameters", "SlurmctldParameters")
_READ: Final = re.compile(r"([+-]?[0-9]{1,18})(.*)")
_IGNORES: Final = "slurm-ignores"
_UNIT: Final = re.compile(r"s|secs?|seconds?|m|mins?|minutes?", re.IGNORECASE)
"""What people write behind a number that is in this unit already."""
_ELSEWHERE: Final = frozenset({"max_job_bf", "min_exempt_priority", "max_dbd_msg_action", "node_reg_mem_percent"}) | {
    "power_save_interval",
    "power_save_min_interval",
}
"""Options over which slurmctld ends (:data:`slinky_iac.config.slurm.refusals.REFUSED`), or that other rules judge."""
_SIZES: Final = ("max_script_size", "max_submit_line_size")
"""Options in bytes, of which 4m isn't 4."""
_OFF: Final = frozenset({"0", "no", "off", "false"})
_TIME: Final = re.compile(r"([0-9]+-)?[0-9]+(:[0-9]+){0,2}|infinite|unlimited|-1", re.IGNORECASE)
_MESSAGE_TIMEOUT: Final = 10
"""Seconds of MessageTimeout where it isn't set."""


@dataclass(frozen=True)
class Bounds:
    """What a number may be; None where it is open."""

    least: int | None
    most: int | None
    others: tuple[int, ...]

    @classmethod
    def parse(cls, form: str) -> Bounds:
        """Of ``LEAST..MOST,OTHER``."""
        span, *others = form.split(",")
        least, _, most = span.partition("..")
        return cls(int(least) if least else None, int(most) if most else None, tuple(map(int, others)))

    def has(self, number: int) -> bool:
        """Whether slurmctld takes a number."""
        low = self.least is None or number >= self.least
        return number in self.others or (low and (self.most is None or number <= self.most))

    def __str__(self) -> str:
        if self.least is None:
            return "a number"
        span = f"{self.least} to {self.most}" if self.most is not None else f"{self.least} or more"
        return " or ".join((span, *map(str, self.others)))


def _of_number(option: str, value: str, bounds: Bounds) -> tuple[bool, str] | None:
    """Whether a number is refused, and what is said of it; None where nothing is wrong."""
    match = _READ.fullmatch(value)
    number, rest = (int(match[1]), match[2].strip()) if match else (0, value)
    got = f"has {option}={name_of(value)}"
    if not bounds.has(number):
        said = "and takes its default" if match and not rest else f"reads {number}, and takes its default"
        return False, f"{got}: slurmctld takes {bounds}, names another in its log at most, {said}. Correct it, or remove it"
    if not rest:
        return None
    meant = option not in _SIZES and match is not None and _UNIT.fullmatch(rest) is not None
    return not meant, (
        f"{got}, of which slurmctld reads {number}, without a word. Write a whole number"
        f"{', in the unit that the manual says' if match else ''}, or remove it"
    )


def _of_option(option: str, equals: str, value: str, form: str) -> tuple[bool, str] | None:  # noqa: PLR0911 - one a form
    if not form:
        if not equals or value.lower() not in _OFF:
            return None
        return True, (
            f"has {option}={value}, and slurmctld looks for the word {option} alone: it would be on. Remove it"
            ", and it is off"
        )
    if not equals or not value:
        return False, f"has {option} without a value: slurmctld passes over it. Write {option}=…, or remove it"
    if form == "time":
        if _TIME.fullmatch(value):
            return None
        return False, (
            f"has {option}={name_of(value)}, which isn't a time of Slurm's, as 5 (minutes) or 0:30: slurmctld passes over"
            " it. Correct it, or remove it"
        )
    if ".." not in form:
        words = form.split("|")
        if value.lower().startswith(tuple(words)):
            return None
        return False, (
            f"has {option}={name_of(value)}: slurmctld takes {', '.join(words)}, and names another in its log. Correct it,"
            " or remove it"
        )
    return _of_number(option, value, Bounds.parse(form))


def _values(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    for name in _JUDGED:
        key = spelt(own, name)
        forms = slurm_words.values_of(config.slurm_release, name)
        first: dict[str, str] = {}
        for item in map(str.strip, own.get(key, "").split(",")):
            option, equals, value = (part.strip() for part in item.partition("="))
            if (form := forms.get(option.lower())) is None or option.lower() in _ELSEWHERE:
                continue
            path = at(f"controller.extraConf.{key}")
            if option.lower() in first and first[option.lower()] != value and form:
                yield path.error(
                    f"has {option} twice, and slurmctld takes the first of them, without a word: keep the one that you mean"
                )
            first.setdefault(option.lower(), value)
            if fault := _of_option(option, equals, value, form):
                yield path.error(f"{fault[1]} (slurm.conf(5))") if fault[0] else path.warning(fault[1], id=_IGNORES)
        if key and name == "SchedulerParameters":
            yield from _together(config, at(f"controller.extraConf.{key}"), first)


def _together(config: StackConfig, path: Setting, options: dict[str, str]) -> Iterator[Finding]:
    """Options that another one, or another parameter, makes void."""
    conf = Conf(config.slurmctld.extra_conf)
    most = conf.number("MessageTimeout", _MESSAGE_TIMEOUT) // 2
    longest = options.get("max_sched_time", "")
    if longest.isdecimal() and most < int(longest[:18]):
        yield path.warning(
            f"has max_sched_time={name_of(longest)}, above half of MessageTimeout, {most} s: slurmctld names it in its log,"
            " and takes its default. Lower it, or raise MessageTimeout",
            id=_IGNORES,
        )
    counted = {name: options.get(name, "0") for name in ("bf_max_job_user", "bf_max_job_assoc")}
    if all(value.isdecimal() and int(value[:18]) for value in counted.values()):
        yield path.warning(
            "has bf_max_job_user and bf_max_job_assoc: slurmctld takes bf_max_job_assoc alone, and says so in its log. Keep"
            " one",
            id=_IGNORES,
        )
    if conf.plugin("SchedulerType") == "builtin":
        lost = [
            option for option in options if option.startswith("bf_") and option not in ("bf_interval", "bf_max_job_test")
        ]
        if lost:
            yield path.warning(
                f"has {', '.join(lost)}, which sched/backfill alone reads, and SchedulerType is sched/builtin: what"
                f" {'they say' if len(lost) > 1 else 'it says'} has no effect. Remove it, or leave SchedulerType out",
                id=_IGNORES,
            )


RULES = (_values,)
