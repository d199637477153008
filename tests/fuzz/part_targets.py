"""What comes back about a stack's other parts: its jobs, tokens for people, autoscalers, clients' pods, pods that look for a
preflight, slurmctld's host as `slinky init` asks it, slurmctld's metrics."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

from slinky_iac import node_demand
from slinky_iac.blueprint.places import Place
from slinky_iac.commands.init.stack import Wanted, hints, read, sections
from slinky_iac.commands.preflight.pod import Placement, report_of
from slinky_iac.config.sections import PodSettings
from slinky_iac.errors import KubeError, ProjectError, SlinkyError, SlurmrestError
from slinky_iac.keys.provider import parsed
from slinky_iac.kube import marks
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.machines import kubelet_config, machines
from slinky_iac.kube.pods import ShortPodClient, hosts_of, pods_with_secret
from slinky_iac.parts.autoscale.keda import autoscalers, scaled_object
from slinky_iac.parts.jobs.run import in_words, last, result
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.submitted import SubmittedJob
from tests.fuzz.key_targets import SETS
from tests.fuzz.kube_targets import REFUSAL, SCALER, asking_kube, listed
from tests.fuzz.slurm_targets import CONF, OTHERS, asking_slurm, body
from tests.fuzz.target import SECRET, Target
from tests.made.rows import job, number
from tests.unit.init.made import answer
from tests.unit.kube.test_client import meta, pod_body

PREFIX = "slinky-iac:dev/bench#0a1b2c."
TAG = f"{PREFIX}1.abcdef012345"
OWN = {"hold": True, "state_reason": "JobHeldUser", "exit_code": {"status": ["SUCCESS"], "return_code": number(0)}}
TAGGED = (
    body(
        jobs=[
            job(17, "PENDING", nodes="", comment=TAG, admin_comment="", **OWN),
            job(18, nodes="gpu-0", comment=TAG, admin_comment=TAG, standard_output="/tmp/\u202eslurm-18.out"),
            job(19, nodes="gpu-1", comment="", admin_comment=""),
        ],
        last_update=number(1_795_235_000),
    ),
    *OTHERS,
)
ROWS = (
    body(
        jobs=[
            {
                "job_id": 17,
                "user": "alice",
                "comment": {"administrator": TAG, "job": TAG},
                "state": {"current": ["NODE_FAIL"], "reason": "None"},
                "time": {"start": 1_795_235_000, "end": 1_795_235_060, "submission": 1_795_234_000},
                "nodes": "gpu-0",
                "exit_code": {"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(9), "name": "K"}},
                "stdout_expanded": "/tmp/slurm-17.out",
            }
        ]
    ),
    *OTHERS,
)
SUBMITTED = (body(job_id=17, step_id="batch", job_submit_user_msg="\x1b[2J"), *OTHERS)
LIMITS = (body(partitions=[{"name": "gpu", "maximums": {"time": number(60)}}, {"name": "all"}]), *OTHERS)
USERS = (
    body(users=[{"name": "alice", "administrator_level": ["Administrator"]}, {"name": "bob", "administrator_level": []}]),
    *OTHERS,
)


def _shown(found: SubmittedJob | None) -> str:
    if found is None:
        return ""
    return " ".join(str(each) for each in result(found).values()) + last(found)


def _tagged(client: SlurmrestClient) -> str:
    found = client.tagged_jobs(PREFIX)
    assert all(PREFIX in each.comment or PREFIX in each.admin_comment for each in found)
    for each in found:
        assert in_words(each)
        assert not (each.waits and each.over)
    return "\n".join(map(_shown, found))


SHORT = {
    "metadata": meta("slinky") | {"name": "slinky-preflight-0a1b2c3d"},
    "spec": {"nodeName": "node-1"},
    "status": {
        "phase": "Failed",
        "message": "evicted \x1b[31m",
        "containerStatuses": [
            {
                "name": "look",
                "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "date 1795235000\nuid 401"}},
            }
        ],
    },
}
MOUNTING = pod_body(0) | {"spec": {"volumes": [{"name": "k", "secret": {"secretName": "slurm-client-nb"}}, {"name": "e"}]}}
BROKEN = {
    "spec": {"scaleTargetRef": SCALER["spec"]["scaleTargetRef"]},
    "status": {"conditions": [{"type": "ScalingActive", "status": "False", "message": "no \x1b[2J metric ECHO"}]},
}
SCALED = SCALER | {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Fallback", "status": "True"}]}}


def _scaling(kube: KubeClient) -> None:
    with suppress(KubeError):
        assert all(isinstance(each.trouble, str) for each in autoscalers(kube, "slurm", "lab-worker-gpu"))
    found = scaled_object(kube, "slurm", "lab-gpu")
    fallback = found.status.says("Fallback")
    assert isinstance(found.paused, bool)
    assert fallback is None or isinstance(fallback.message, str)


def _short(kube: ShortPodClient) -> None:
    with suppress(KubeError):
        for each in kube.short_pods("slurm", "slinky-iac/preflight"):
            assert (each.ended, each.message, each.trouble) is not None
    pod = kube.short_pod("slurm", "slinky-preflight-0a1b2c3d")
    assert (pod.ended, pod.message, pod.trouble) is not None


PLACES = (
    Place("controller.external", "slurmctld", "ctl.example.org", 6817),
    Place("accounting.external", "slurmdbd", "10.0.0.2", 6819),
)
MESSAGE = (
    b"date 1795235000\nuid 401\nslurmd slurm 26.05.2\nmetrics 200 12\n"
    b"try ctl.example.org 6817 0 10.0.0.1 \ntry 10.0.0.2 6819 124 - timed out\n"
)


def _report(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    place = Placement("gpu", "slinky/slurmd:26.05", PodSettings())
    said = report_of(text, place, PLACES, pod="p", node="node-1", before=1.0, after=2.0)
    assert len(said.tried) == len(PLACES)


def _host(data: bytes) -> str:
    found = read(data.decode("utf-8", "replace"))
    assert base64.b64encode(SECRET.encode()).decode() not in repr(found)
    return "\n".join((*hints(found, sections(found, Wanted("ctl.example.org", "burst", 1, {}))), repr(found)))


OWNED = {"manager": "slinky-iac-dev", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {"f:x.org/ib": {}}}}}
MACHINE = {"metadata": meta("worker-1", labels={"x.org/ib": "true"}, annotations={}) | {"managedFields": [OWNED]}}
KUBELET = {"kubeletconfig": {"cpuManagerPolicy": "static", "memorySwap": {"swapBehavior": "NoSwap"}}}


def _machines(kube: KubeClient) -> None:
    for each in machines(kube).values():
        assert each.managed_by("slinky-iac-dev") or each.setters("labels", "x.org/ib") is not None


METRICS = "\n".join(f'{metric}{{partition="gpu"}} {at}' for at, metric in enumerate(node_demand.METRICS.values())).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


ASKED = ((SlurmrestError,), (KubeError,))
TARGETS = (
    Target("slurmrestd-tagged-jobs", TAGGED, asking_slurm(_tagged), ASKED[0]),
    Target("slurmrestd-submitted-job", TAGGED, asking_slurm(lambda c: _shown(c.submitted_job(17))), ASKED[0]),
    Target("slurmrestd-submit", SUBMITTED, asking_slurm(lambda c: c.submit_job("#!/bin/sh\n", {"name": "x"})), ASKED[0]),
    Target("slurmrestd-release", SUBMITTED, asking_slurm(lambda c: c.release_job(17)), ASKED[0]),
    Target("slurmrestd-partition-limits", LIMITS, asking_slurm(lambda c: c.partition_limits()), ASKED[0]),
    Target("slurmrestd-slurm-user", CONF, asking_slurm(lambda c: c.slurm_user()), ASKED[0]),
    Target(
        "slurmdbd-own-jobs",
        ROWS,
        asking_slurm(lambda c: "\n".join(map(_shown, c.accounted_jobs("bench")))),
        ASKED[0],
    ),
    Target("slurmdbd-admin-level", USERS, asking_slurm(lambda c: c.admin_level("alice") and None), ASKED[0]),
    Target("kube-scaling", (_json(SCALED), listed(BROKEN), REFUSAL), asking_kube(_scaling), ASKED[1]),
    Target(
        "kube-mounting-pods",
        (listed(MOUNTING, pod_body(1)), REFUSAL),
        asking_kube(lambda kube: pods_with_secret(kube, "notebooks", "slurm-client-nb")),
        ASKED[1],
    ),
    Target("kube-login-pods", (listed(pod_body(0)), REFUSAL), asking_kube(lambda k: hosts_of(k, "slurm", "m")), ASKED[1]),
    Target("kube-short-pods", (listed(SHORT), _json(SHORT), REFUSAL), asking_kube(_short), ASKED[1]),
    Target("kube-marks", (_json(SHORT), REFUSAL), asking_kube(lambda k: marks.namespace(k, "slurm")), ASKED[1]),
    Target("kube-machines", (listed(MACHINE), REFUSAL), asking_kube(_machines), ASKED[1]),
    Target("kubelet", (_json(KUBELET), REFUSAL), asking_kube(lambda k: kubelet_config(k, "worker-1")), ASKED[1]),
    Target("provider-keys", SETS, lambda data: parsed(data) and None, (ValueError,)),
    Target("preflight-pod", (MESSAGE,), _report, ()),
    Target("host-of-init", (answer().encode(), answer(slurm=SECRET.encode() * 2).encode()), _host, (ProjectError,)),
    Target(
        "metrics", (METRICS,), lambda data: node_demand.read(data.decode("utf-8", "replace"), "gpu") and None, (SlinkyError,)
    ),
)
