"""sid moves: a root file system that can't serve the operator is named as such, with what was got."""

from dataclasses import replace

import pytest

from lab.slurm import needs
from lab.slurm.needs import Got

GOOD = Got(
    version="slurm-wlm 26.05.5\n",
    parsers=frozenset({"v0.0.43", "v0.0.44", "v0.0.45"}),
    plugins=frozenset(needs.PLUGINS),
    programs=frozenset(needs.PROGRAMS),
    slurm_uid=401,
)


def test_what_debian_sid_has_will_do() -> None:
    assert needs.faults(GOOD) == []


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (replace(GOOD, version="slurm-wlm 24.11.5"), "Slurm is slurm-wlm 24.11.5; 25.11 or newer is needed"),
        (replace(GOOD, version=""), "unknown version"),
        (replace(GOOD, parsers=frozenset({"v0.0.46", "v0.0.47"})), "serves v0.0.46, v0.0.47; the operator speaks v0.0.44"),
        (replace(GOOD, parsers=frozenset()), "serves no REST version"),
        (replace(GOOD, plugins=GOOD.plugins - {"auth_slurm"}), "plugin auth_slurm.so is not there"),
        (replace(GOOD, programs=GOOD.programs - {"sackd"}), "program sackd is not there"),
        (replace(GOOD, slurm_uid=64030), "uid 64030; auth/slurm needs 401"),
        (replace(GOOD, slurm_uid=None), "uid None"),
    ],
)
def test_each_unmet_need_is_one_fault_that_says_what_was_got(got: Got, said: str) -> None:
    faults = needs.faults(got)
    assert len(faults) == 1
    assert said in faults[0]


def test_all_faults_are_told_at_once() -> None:
    assert len(needs.faults(Got("", frozenset(), frozenset(), frozenset(), None))) == 3 + len(needs.PLUGINS) + len(
        needs.PROGRAMS
    )
