"""Two screens: what is wrong first and in full, what waits grouped by its cause, what is right by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.commands.preflight.report import WIDTH, grouped, summary
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, PodFacts, SlurmFacts
from tests.unit.preflight.made import FACTS, KUBE, UNASKED, check, slurm, stack

BEFORE = replace(
    FACTS,
    kube=replace(KUBE, restapi=False, restapi_pods=0, workers={}),
    slurm=SlurmFacts(trouble="no slurmrestd runs yet"),
)
"""Before the first `pulumi up`: connections and Kubernetes are known, Slurm isn't."""


def shown(facts: Facts, width: int = WIDTH) -> str:
    found = checks(stack(), facts)
    return summary("lab", found, facts, width=width)


def test_before_the_first_up_it_fits_one_screen_and_says_what_all_wait_for() -> None:
    text = shown(BEFORE)
    assert "checks wait for slurmrestd, which comes with the first `pulumi up`" in " ".join(text.split())
    assert len(text.splitlines()) <= 40, text
    assert "slinky handoff --role slurmctld" in text


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (replace(BEFORE, kube=replace(KUBE, trouble="refused", restapi=None)), "the Kubernetes API server doesn't answer"),
        (replace(BEFORE, kube=replace(KUBE, restapi=True, restapi_pods=0)), "whose pod isn't ready"),
        (slurm(conf=None), "slurmctld doesn't report by REST before Slurm 26.05"),
        (
            slurm(tokens={"configuration": "refused"}, conf=None, partitions=None, nodes=None),
            "a token that slurmctld accepts",
        ),
        (
            replace(BEFORE, pod=PodFacts(trouble="--no-pod was given", skipped=True)),
            "need a short-lived pod: --no-pod was given",
        ),
    ],
)
def test_each_cause_is_said_once(facts: Facts, said: str) -> None:
    assert " ".join(shown(facts).split()).count(said) == 1


@pytest.mark.parametrize("facts", [FACTS, UNASKED, BEFORE, slurm(partitions=(), nodes=(), clusters=()), slurm(conf=None)])
def test_every_check_is_in_it_once_by_its_name_or_in_full(facts: Facts) -> None:
    found = checks(stack(), facts)
    groups = grouped(found, facts)
    members = [each for group in groups for each in group.checks]
    assert all(each.verdict is Verdict.UNKNOWN for each in members)
    assert len({id(each) for each in members}) == len(members)
    text = shown(facts)
    assert {each.name for each in found} <= set(text.replace(",", " ").split())


def test_a_problem_comes_first_in_full_and_again_as_the_last_word() -> None:
    text = shown(slurm(partitions=()))
    assert text.splitlines()[3].startswith("problem   partitions")
    assert "PartitionName=gpu Nodes=gpu" in text
    assert text.splitlines()[-1].startswith("1 problem: correct it, then run preflight again.")


def test_an_unknown_check_is_never_called_fine() -> None:
    assert shown(BEFORE).splitlines()[-1].startswith("No problem found; ")
    assert "unknown checks. --all shows every check." in shown(BEFORE).splitlines()[-1]


def test_one_check_with_a_cause_of_its_own_keeps_its_row() -> None:
    lonely = check(Verdict.UNKNOWN, "key-age", "age", "Kubernetes", "not known: no right to read it")
    assert grouped((lonely,), FACTS) == ()
    assert "no right to read it" in summary("lab", (lonely,), FACTS)


@pytest.mark.parametrize("width", [80, WIDTH, 140])
@pytest.mark.parametrize("facts", [BEFORE, UNASKED, slurm(conf=None)])
def test_no_line_is_wider_than_the_screen_but_those_to_paste(facts: Facts, width: int) -> None:
    pasted = {line for each in checks(stack(), facts) for text in each.paste for line in text.split("\n")}
    assert [line for line in shown(facts, width).splitlines() if len(line) > width and line.strip() not in pasted] == []
