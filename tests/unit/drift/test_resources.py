"""What slurmctld believes of a node against what its pod may use."""

from dataclasses import replace

import pytest

from slinky_iac.commands.drift.compare import drift
from slinky_iac.preflight.check_resources import Promised, promised
from tests.made.pods import worker_pod
from tests.unit.drift.test_compare import EXPECTED, seen, worker

SPEC = {
    "extraConf": "Weight=3 Features=ib,fast Gres=gpu:2",
    "slurmd": {"resources": {"limits": {"cpu": "1500m", "memory": "2Gi"}}},
}


def told(record, wanted, **more):
    found = drift(replace(EXPECTED, promised={"gpu": wanted}), seen(record, pods=(worker_pod(record.name, **more),)))
    return [(each.kind, each.subject) for each in found if each.kind in {"node-features", "more-than-pod"}]


def test_a_spec_says_what_its_pods_have():
    assert promised(SPEC) == Promised(frozenset({"ib", "fast"}), 2, 2048)
    assert promised({}) == promised({"slurmd": {"resources": None}}) == Promised()
    assert promised({"slurmd": {"resources": {"limits": {"cpu": "many"}}}}) == Promised()


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"effective_cpus": 2, "real_memory": 2048}, []),
        ({"effective_cpus": 64, "real_memory": 2048}, ["more-than-pod"]),
        ({"effective_cpus": 2, "real_memory": 4096}, ["more-than-pod"]),
        ({"effective_cpus": 2, "real_memory": 4096, "specialized_memory": 2048}, []),
        ({}, []),
    ],
)
def test_more_in_slurm_than_the_pod_may_use_is_told_with_the_way_out(fields, kinds):
    record = worker("gpu-0", features=["gpu", "ib", "fast"], **fields)
    assert told(record, promised(SPEC)) == [(kind, "gpu-0") for kind in kinds]


def test_a_word_that_slurmctld_lost_is_told():
    assert told(worker("gpu-0", features=["gpu", "ib"]), promised(SPEC)) == [("node-features", "gpu-0")]


def test_a_pod_that_starts_or_ends_is_no_drift():
    record = worker("gpu-0", features=[], effective_cpus=64)
    assert told(record, promised(SPEC), ready=False) == []
    assert told(record, promised(SPEC), terminating=True) == []


def test_a_pod_without_limits_may_use_all():
    assert told(worker("gpu-0", effective_cpus=512, real_memory=1 << 20), promised({})) == []
