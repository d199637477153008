"""What an update tries first: files that no daemon of these images has tried. Without a verdict nothing goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeForbidden, KubeNotFound, KubeUnreachable
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.ask_trials import try_first
from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.facts import DaemonTrial, TrialFacts
from slinky_iac.preflight.untried import Outcome, Untried, outcome, unasked, untried
from slinky_iac.specs.trial import record
from tests.stacks import merged, minimal
from tests.unit.preflight import test_ask_pods
from tests.unit.preflight.made import NOW

ON = {"enabled": True}
SETTINGS = minimal(
    operator={"version": "1.2.1"},
    accounting={"enabled": True, "database": {"host": "db", "passwordFrom": {"secret": "db"}}},
    controller={
        "trial": ON,
        "extraConf": {"SlurmctldTimeout": "30"},
        "configFiles": {"cgroup.conf": "CgroupPlugin=autodetect\n"},
    },
    nodesets={"gpu": {"replicas": 2}},
)


def of(**over: Any) -> StackConfig:
    return load(merged(SETTINGS, over))


CONFIG = of()
TAKEN = tuple(DaemonTrial(daemon, "taken", "slurm 26.05.5") for daemon in ("slurmctld", "slurmdbd"))
REFUSED = DaemonTrial("slurmctld", "refused", "slurm 26.05.5", ("fatal: Can't find plugin for switch/x",))


def test_nothing_is_tried_where_nothing_is_new_or_the_setting_is_off() -> None:
    assert untried(CONFIG, record(CONFIG)) == Untried()
    off = of(controller={"trial": None})
    assert untried(off, {}) == Untried()
    assert untried(of(controller={"trial": {"enabled": False}}), {}) == Untried()


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"controller": {"extraConf": {"SlurmctldTimeout": "60"}}}, ("slurm.conf",)),
        ({"controller": {"configFiles": {"cgroup.conf": "CgroupPlugin=cgroup/v2\n"}}}, ("cgroup.conf",)),
        ({"controller": {"configFiles": {"cgroup.conf": None}}}, ("cgroup.conf",)),
        ({"controller": {"prolog": {"10-gpu.sh": "#!/bin/sh\n"}}}, ("slurm.conf",)),
        ({"accounting": {"extraConf": {"PurgeJobAfter": "24months"}}}, ("slurmdbd.conf",)),
        ({"nodesets": {"gpu": {"partition": {"config": {"MaxTime": "60"}}}}}, ("slurm.conf",)),
        ({"nodesets": {"cpu": {"replicas": 1}}}, ("slurm.conf",)),
        (
            {"operator": {"version": "1.1.2"}},
            ("gres.conf", "slurm.conf", "slurmdbd.conf", "image of slurmctld", "image of slurmdbd"),
        ),
        ({"cluster": {"images": {"slurmctld": "example.org/slurmctld:1"}}}, ("image of slurmctld",)),
        ({"nodesets": {"gpu": {"replicas": 7}}}, ()),
        ({"nodesets": {"gpu": {"image": "example.org/slurmd:1"}}}, ()),
    ],
    ids=str,
)
def test_what_is_new_is_named_by_file_and_a_scale_in_is_nothing_new(change: dict[str, Any], new: tuple[str, ...]) -> None:
    assert untried(of(**change), record(CONFIG)).names == new


def test_without_an_earlier_trial_all_is_new() -> None:
    found = untried(CONFIG, {})
    assert str(found) == "cgroup.conf, slurm.conf, slurmdbd.conf, image of slurmctld, image of slurmdbd"


def test_a_record_is_one_that_kubernetes_takes_and_holds_no_file() -> None:
    found = record(of(controller={"configFiles": {"cgroup.conf": "A=secret\n"}}))
    assert all(key.replace(".", "").replace("_", "").replace("-", "").isalnum() for key in found)
    assert "secret" not in "".join(found.values())


NEW = Untried(("slurm.conf",))


def test_a_daemons_own_sentence_ends_a_preview_and_an_update() -> None:
    found = outcome(CONFIG, NEW, TrialFacts((REFUSED, TAKEN[1])))
    assert [found.stops(preview=each) for each in (True, False)] == [True, True]
    said = found.in_words(preview=False)
    assert "controller.trial: slurm.conf" in said
    assert "fatal: Can't find plugin for switch/x" in said
    assert "controller (extraConf, configFiles)" in said
    assert "Nothing was changed" in said


@pytest.mark.parametrize(
    "facts",
    [
        TrialFacts(trouble="pods is forbidden"),
        TrialFacts((TAKEN[0],)),
        TrialFacts((TAKEN[0], DaemonTrial("slurmdbd", "silent", said=("0/3 nodes are available",)))),
        TrialFacts(TAKEN, trouble="pods is forbidden"),
        TrialFacts(),
    ],
    ids=str,
)
def test_without_a_verdict_of_each_daemon_an_update_ends_and_a_preview_warns(facts: TrialFacts) -> None:
    found = outcome(CONFIG, NEW, facts)
    assert found.verdict is Verdict.UNKNOWN
    assert [found.stops(preview=each) for each in (True, False)] == [False, True]
    assert "Nothing was changed" in found.in_words(preview=False)
    assert "`pulumi up` makes the trial" in found.in_words(preview=True)
    for preview in (True, False):
        assert "set controller.trial.enabled: false" in found.in_words(preview=preview)


def test_a_refusal_counts_before_a_silence() -> None:
    found = outcome(CONFIG, NEW, TrialFacts((REFUSED,), trouble="no answer"))
    assert found.verdict is Verdict.PROBLEM


def test_what_is_taken_goes_on() -> None:
    found = outcome(CONFIG, NEW, TrialFacts(TAKEN))
    assert (found.verdict, found.is_known, found.stops(preview=False)) == (Verdict.FINE, True, False)
    assert "slurm 26.05.5 takes them" in found.said
    assert not Outcome().said


def test_why_there_was_no_trial_is_told() -> None:
    assert "whether files changed" in unasked(None, "x").said
    assert "slurm.conf is new" in unasked(NEW, "x").said


@dataclass
class Kube(test_ask_pods.FakeKube):
    """The same with the record."""

    config_map: Mapping[str, str] | Exception = field(default_factory=dict)

    def config_map_data(self, namespace: str, name: str) -> dict[str, str]:
        assert (namespace, name) == ("slurm", "slurm-trial")
        if isinstance(self.config_map, Exception):
            raise self.config_map
        return {**self.config_map}


class Way:
    """A way on which each pause costs no time; ``kube`` may be why there is none."""

    def __init__(self, kube: Kube | Exception) -> None:
        self.kube, now = kube, [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        self.clock = Clock(wall=lambda: NOW, monotonic=lambda: now[0], sleep=sleep)

    def client(self, *_: object, **__: object) -> Kube:
        if isinstance(self.kube, Exception):
            raise self.kube
        return self.kube


def tried(kube: Kube | Exception, config: StackConfig = CONFIG) -> Outcome:
    return try_first(config, Way(kube))


WORDS = "".join(f"release {each} slurm 26.05.5\nverdict {each} taken\n" for each in ("slurmctld", "slurmdbd"))


def test_no_pod_is_made_where_the_last_trial_was_of_the_same() -> None:
    kube = Kube(config_map=record(CONFIG))
    assert tried(kube) == Outcome()
    assert kube.made_in == []


@pytest.mark.parametrize("earlier", [KubeNotFound("none"), {"file.slurm.conf": "another"}], ids=["first", "changed"])
def test_what_is_new_is_tried_in_pods_that_are_gone_afterwards(earlier: Any) -> None:
    kube = Kube(phases=[test_ask_pods.pod("Succeeded", WORDS)], config_map=earlier)
    found = tried(kube)
    assert (found.verdict, kube.made_in, kube.there) == (Verdict.FINE, ["slurm", "slurm"], {})


def test_pods_are_made_in_the_namespace_that_the_stack_names() -> None:
    kube = Kube(phases=[test_ask_pods.pod("Succeeded", WORDS)])
    tried(kube, of(controller={"trial": ON | {"namespace": "trials"}}))
    assert kube.made_in == ["trials", "trials"]


@pytest.mark.parametrize(
    "kube",
    [
        KubeUnreachable("no answer"),
        Kube(config_map=KubeForbidden("configmaps is forbidden")),
        Kube(on_make=test_ask_pods.raising(KubeForbidden("pods is forbidden"))),
        Kube(phases=[test_ask_pods.pod("Pending", trouble="0/3 nodes are available")]),
    ],
    ids=["unreachable", "record", "pods", "pending"],
)
def test_whatever_keeps_the_trial_from_being_made_stops_the_update(kube: Kube | Exception) -> None:
    found = tried(kube)
    assert found.stops(preview=False)
    assert not found.stops(preview=True)
