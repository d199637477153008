"""`status --prometheus`: numbers of what was answered, and no number for what wasn't."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.status.build import status
from slinky_iac.commands.status.metrics import METRICS, Sample, exposition, sample
from slinky_iac.commands.status.model import Answer
from slinky_iac.commands.status.prometheus import samples, text
from slinky_iac.drain.own_writers import WriterState
from tests.unit.status import made

SILENT = Answer(trouble="connection refused")


@pytest.fixture(name="whole")
def _whole():
    return status(made.known_facts(), made.answers())


def numbers(found, name):
    return {tuple(sorted(each.labels.items())): each.value for each in samples(found) if each.name == name}


def labelled(found, name, *labels):
    return {tuple(dict(key)[label] for label in labels): value for key, value in numbers(found, name).items()}


def test_drains_are_counted_by_owner_with_the_age_of_the_oldest(whole):
    found = labelled(whole, "slinky_drain_nodes", "group", "owner")
    assert sum(found.values()) == len(whole.drains)
    assert found["gpu", "this stack"] == 1
    assert labelled(whole, "slinky_drain_deadline_seconds", "group")["gpu",] == 1800


def test_wanted_and_registered_stand_side_by_side(whole):
    wanted, here = (labelled(whole, f"slinky_nodeset_{each}", "nodeset") for each in ("wanted", "registered"))
    assert wanted.keys() == here.keys() == {("gpu",), ("cpu",)}
    assert wanted["cpu",] == 2
    pods = labelled(whole, "slinky_nodeset_pods", "nodeset")
    assert (here["cpu",], pods["cpu",]) == (2, 3), "one of its pods is not registered"


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        (Answer(WriterState(paused=True)), {("gpu",): 1}),
        (Answer(WriterState(paused=False)), {("gpu",): 0}),
        (SILENT, {}),
    ],
)
def test_a_paused_autoscaler_is_one_and_an_unknown_one_has_no_number(answer, number):
    found = status(made.known_facts(), replace(made.answers(), writers={"gpu": {"autoscaler": answer}}))
    assert labelled(found, "slinky_scaler_paused", "nodeset") == number
    assert bool(found.unknown) == (not number)


def test_a_key_has_its_age_and_never_its_fingerprint(whole):
    ages = labelled(whole, "slinky_key_age_seconds", "key")
    assert ages.keys() == {("slurm.key",), ("JWT key",)} | ({("token key",)} & ages.keys())
    assert all(value > 0 for value in ages.values())
    assert "SHA256" not in text(whole)


def test_what_was_not_answered_has_no_number(whole):
    blind = made.answers()
    silent = Answer(trouble="connection refused")
    unasked = Answer(trouble="not asked: slurmrestd doesn't answer")
    blind = replace(blind, slurmrestd=silent, token=unasked, nodes=unasked, jobs=unasked, slurmdbd=unasked, served=unasked)
    found = status(made.known_facts(), blind)
    names = {each.name for each in samples(found)}
    assert labelled(found, "slinky_endpoint_up", "endpoint")["slurmrestd",] == 0
    assert not names & {"slinky_drain_nodes", "slinky_drain_age_seconds", "slinky_nodeset_registered", "slinky_nodes"}
    assert ("slurmctld",) not in labelled(found, "slinky_endpoint_up", "endpoint")
    assert "slinky_nodeset_wanted" in names, "Kubernetes was asked"


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_no_text_breaks_out_of_its_label(name, value):
    lines = exposition([sample("slinky_key_age_seconds", value, key=name)]).split("\n")
    assert [line.startswith("#") for line in lines[:2]] == [True, True]
    assert len(lines) == 4, "one number, one line"
    inside = lines[2].removeprefix('slinky_key_age_seconds{key="').rpartition('"} ')[0]
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")


def test_every_metric_says_what_it_is_once(whole):
    shown = text(whole)
    for name in METRICS:
        assert shown.count(f"# HELP {name} ") == shown.count(f"# TYPE {name} gauge") <= 1
    with pytest.raises(AssertionError):
        sample("slinky_made_up", 1)
    assert exposition([Sample("slinky_status_unknown", 2.5, {})]).endswith("slinky_status_unknown 2.5\n")
