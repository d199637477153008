"""A trial of the stack's files stands before all that is of the cluster; a stack that asks for none has nothing of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components import HybridCluster, HybridClusterArgs, trial
from components.program_parts import HybridCluster as ProgramCluster
from components.program_parts import NodeSet
from slinky_iac.config.reading.engine import StackRefused, read_stack
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.untried import Outcome
from slinky_iac.specs.trial import record
from tests.program import Recording, configured, run
from tests.stacks import merged, minimal
from tests.trial_server import RECORD, TAKEN, TrialServer

SETTINGS = minimal(nodesets={"gpu": {"replicas": 2}})
ON = merged(SETTINGS, {"controller": {"trial": {"enabled": True}}})
GOOD = Outcome(Verdict.FINE, "slurm.conf is new to the daemons. They take it")
REFUSED = Outcome(Verdict.PROBLEM, "slurm.conf is new to the daemons. fatal: no such thing")
UNKNOWN = Outcome(Verdict.UNKNOWN, "slurm.conf is new to the daemons, and no trial was made: pods is forbidden")


def built(settings: dict[str, Any], found: Outcome, *, preview: bool = False) -> tuple[Recording, list[StackConfig]]:
    """The stack's resources, where the trial comes to ``found``; and what was tried."""
    seen: list[StackConfig] = []
    recording = Recording()

    async def tried(config: StackConfig) -> Outcome:
        seen.append(config)
        return found

    def program() -> None:
        stack = read_stack()
        asked = tried if trial.trial_of(stack.config) is not None else None
        HybridCluster("lab", HybridClusterArgs(settings=stack, trial=asked))

    with configured(settings):
        try:
            run(program, preview=preview, recording=recording)
        except pulumi.RunError as error:
            raise Ended(str(error), recording) from None
    return recording, seen


class Ended(Exception):
    """The run ended with an error; ``made`` had been registered until then."""

    def __init__(self, said: str, made: Recording) -> None:
        super().__init__(said)
        self.made = made


def kinds(recording: Recording) -> list[str]:
    return [each.type for each in recording.resources]


def test_a_stack_that_asks_for_no_trial_has_nothing_of_it() -> None:
    recording, seen = built(SETTINGS, REFUSED)
    assert seen == []
    assert [each for each in recording.resources if "trial" in each.name] == []


def test_a_trial_leaves_all_as_it_is_but_for_its_record() -> None:
    without, (recording, (config,)) = built(SETTINGS, GOOD)[0], built(ON, GOOD)
    made = recording.one("ConfigMap", "lab-trial")
    assert made.inputs["data"] == record(config)
    assert made.inputs["metadata"]["name"] == "slurm-trial"
    assert {each.urn: each.inputs for each in recording.resources if each is not made} == {
        each.urn: each.inputs for each in without.resources
    }
    assert recording.outputs == without.outputs


@pytest.mark.parametrize("preview", [True, False])
def test_where_a_daemon_refuses_the_files_nothing_of_the_cluster_is_registered(preview: bool) -> None:
    with pytest.raises(Ended, match="fatal: no such thing") as ended:
        built(ON, REFUSED, preview=preview)
    assert kinds(ended.value.made) == ["slinky:slurm:HybridCluster"]


def test_without_a_verdict_an_update_ends_and_a_preview_goes_on_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Ended, match="Nothing was changed") as ended:
        built(ON, UNKNOWN)
    assert kinds(ended.value.made) == ["slinky:slurm:HybridCluster"]
    with caplog.at_level(logging.INFO):
        recording, _ = built(ON, UNKNOWN, preview=True)
    assert recording.of("Controller")
    assert [r.levelname for r in caplog.records if "pods is forbidden" in r.getMessage()] == ["WARNING"]


def test_what_the_daemons_take_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        built(ON, GOOD)
    assert [r.levelname for r in caplog.records if "They take it" in r.getMessage()] == ["INFO"]


SECTIONS = {key: value for key, value in ON.items() if key != "cluster"}


def program(make: Callable[[], object], server: TrialServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """What a program of a user's registers, whose Kubernetes cluster is the server's."""
    monkeypatch.setenv("KUBECONFIG", server.kubeconfig(folder))
    with configured({}):
        return run(make, preview=True)


def test_the_lines_of_a_nodeset_that_joins_are_tried_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = record(load(merged(ON, {"nodesets": {"cpu": {"replicas": 1}}})))
    make = lambda: NodeSet("cpu", cluster=ProgramCluster("lab", **SECTIONS), replicas=1)  # noqa: E731
    with TrialServer(said=TAKEN) as server:
        made = program(make, server, tmp_path, monkeypatch).one("ConfigMap", "lab-trial")
        assert made.inputs["data"] == wanted
        assert server.made == 1
        server.objects[RECORD] = {"metadata": {"name": "slurm-trial"}, "data": wanted}
        program(make, server, tmp_path, monkeypatch)
        assert server.made == 1, "what was tried isn't tried again"


def test_an_output_that_the_trial_would_need_is_refused_by_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> None:
        images = {"images": {"slurmctld": pulumi.Output.from_input("example.org/slurmctld:1")}}
        ProgramCluster("lab", **SECTIONS, cluster=images)

    with (
        TrialServer() as server,
        pytest.raises(StackRefused, match=r"controller\.trial\.enabled: true, and an Output"),
    ):
        program(make, server, tmp_path, monkeypatch)
    assert server.made == 0


def test_an_output_elsewhere_is_no_matter_for_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> None:
        gpu = {"replicas": 2, "image": pulumi.Output.from_input("example.org/slurmd:1")}
        ProgramCluster("lab", **{**SECTIONS, "nodesets": {"gpu": gpu}})

    with TrialServer(said=TAKEN) as server:
        assert program(make, server, tmp_path, monkeypatch).of("Controller")
    assert server.made == 1
