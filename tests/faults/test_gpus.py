"""GPUs of a device plugin reach jobs: Kubernetes places the pod by `resources.extended`, Slurm the job by `gres`.

The devices are /dev/null under the name of a GPU's file (lab/device_plugin.py); all else is real. Beside it what such pods
usually have: a taint that is tolerated, an affinity, a priority class, requests and limits.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab import device_plugin
from lab.kubernetes import layout
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, INSIDE, exec_in, inside
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.inside_parts import pairs

NODE = layout.NODES[2]
RESOURCE = "nvidia.com/gpu"
TAINT = "nvidia.com/gpu=present:NoSchedule"
PRIORITY = "gpu-workers"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLUGIN_CONF = "AutoDetect=off\nName=gpu Type=a100 File=/dev/nvidia[0-1]\n"


def on_gpus(settings: Settings) -> None:
    """All in Kubernetes; the NodeSet's pods need both GPUs of a node."""
    inside(settings)
    settings["slinky-iac:controller"]["configFiles"]["gres.conf"] = PLUGIN_CONF
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE.name]}]}
    settings["slinky-iac:nodesetDefaults"] = {"pod": {"priorityClass": PRIORITY}}
    settings["slinky-iac:nodesets"] = {
        "gpu": {
            "replicas": 1,
            "resources": {"cpus": 1, "memory": "500Mi", "extended": {RESOURCE: 2}},
            "gres": ["gpu:a100:2"],
            "pod": {
                **GRACE,
                "tolerations": [{"key": RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
                },
            },
            "drain": {"registerDeadline": "90s"},
        }
    }


@pytest.fixture(scope="module")
def gpus(world: World) -> Iterator[Stack]:
    world.vacate()
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump({**priority, "metadata": {"name": PRIORITY}}))
    world.kubectl("taint", "node", NODE.name, TAINT)
    try:
        with device_plugin.running(NODE, RESOURCE, 2):
            await_true("the node offers two GPUs", lambda: allocatable(world) == "2", 60)
            stack = world.stack("gpus", dev_settings(on_gpus))
            stack.up()
            yield stack
            world.vacate()
    finally:
        world.kubectl("taint", "node", NODE.name, f"{TAINT}-", check=False)
        world.kubectl("delete", "priorityclass", PRIORITY, check=False)


def allocatable(world: World) -> str | None:
    """How many GPUs the node offers."""
    shown = json.loads(world.kubectl("get", "node", NODE.name, "-o", "json").stdout)
    found: str | None = shown["status"]["allocatable"].get(RESOURCE)
    return found


def worker(world: World) -> dict[str, Any]:
    """The NodeSet's pod."""
    found: dict[str, Any] = json.loads(world.kubectl("get", "pod", "-n", INSIDE, "inside-worker-gpu-0", "-o", "json").stdout)
    return found


def slurm(world: World, *argv: str) -> str:
    """What a command beside slurmctld prints."""
    return exec_in(world, *argv)


def test_slurm_has_the_gpus_that_kubernetes_gave_the_pod(gpus: Stack, world: World) -> None:
    node = pairs(slurm(world, "scontrol", "-o", "show", "node", "gpu-0"))
    assert (node["Gres"], node["State"].split("+")[0]) == ("gpu:a100:2", "IDLE")
    pod = worker(world)
    assert pod["spec"]["nodeName"] == NODE.name
    assert pod["spec"]["priorityClassName"] == PRIORITY
    slurmd = next(each for each in pod["spec"]["containers"] if each["name"] == "slurmd")
    assert slurmd["resources"]["limits"][RESOURCE] == "2"


def test_each_job_sees_the_gpus_that_it_asked_for(gpus: Stack, world: World) -> None:
    one = slurm(world, "srun", "-p", "main", "-t1", "--gres=gpu:1", "printenv", "CUDA_VISIBLE_DEVICES")
    both = slurm(world, "srun", "-p", "main", "-t1", "--gres=gpu:a100:2", "printenv", "CUDA_VISIBLE_DEVICES")
    assert (one.strip() in {"0", "1"}, both.strip()) == (True, "0,1")
    listed = slurm(world, "srun", "-p", "main", "-t1", "--gres=gpu:2", "sh", "-c", "ls /dev/nvidia*")
    assert listed.split() == ["/dev/nvidia0", "/dev/nvidia1"]


def test_a_job_that_asks_for_more_than_a_node_has_is_refused_at_once(gpus: Stack, world: World) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        slurm(world, "srun", "-p", "main", "-t1", "--gres=gpu:3", "true")
    assert "Requested node configuration is not available" in refused.value.stderr


def test_a_second_pod_waits_for_gpus_and_the_update_says_which_pod_waits_for_what(gpus: Stack, world: World) -> None:
    settings = yaml.safe_load(gpus.config_file.read_text())
    settings["config"]["slinky-iac:nodesets"]["gpu"]["replicas"] = 2
    gpus.config_file.write_text(yaml.safe_dump(settings))
    failed = gpus.pulumi("up", "--yes", "--skip-preview", check=False)
    said = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert "gpu-1" in said
    assert f"Insufficient {RESOURCE}" in said, said[-3000:]
    assert pairs(slurm(world, "scontrol", "-o", "show", "node", "gpu-0"))["State"].split("+")[0] == "IDLE"
