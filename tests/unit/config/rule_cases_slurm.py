"""Files and lines by which nodes are drained, never answer or never start, as sites write them.

What is said of slurmd and slurmctld was run on 26.05.5: slurmd up to its registration, slurmctld up to "Running as primary
controller".
"""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_files import GRES, file

NVIDIA = {"nvidia.com/gpu": 4}


def gpus(text: str, *items: str, devices: dict[str, int] | None = None) -> dict[str, Any]:
    """A NodeSet with GPUs, and a gres.conf."""
    extended = NVIDIA if devices is None else devices
    return merged(nodeset(gres=list(items), resources={"extended": extended}), file("gres.conf", text))


def prolog(first: str) -> dict[str, Any]:
    return {"controller": {"prolog": {"10-x.sh": f"{first}\nexit 0\n"}}}


SCRIPTS = [
    Case(
        f"a prolog of {bad}",
        minimal(**prolog(bad)),
        "error",
        "controller.prolog.10-x.sh",
        (*words, "drained"),
        prolog(good),
    )
    for bad, words, good in (
        ("#!/usr/bin/env bash -e", ("one argument", "#!/usr/bin/env -S bash -e"), "#!/usr/bin/env -S bash -e"),
        ("#!/bin/bash -e -u", ("one argument",), "#!/bin/bash -eu"),
        ("#!bash", ("bash", "path"), "#! /bin/bash"),
        ("#!", ("nothing",), "#!/usr/bin/perl -w -T"),
        ("#!/usr/bin/env -i bash", ("-S",), "#!/usr/bin/env bash  "),
    )
]
DRAINED = [
    Case(
        "gres.conf of comments alone",
        gpus("# none\n", "gpu:4"),
        "warning",
        GRES,
        ("no line", "drains"),
        file("gres.conf", "AutoDetect=nvml\n"),
    ),
    Case(
        "gres.conf that is empty, and GPUs of a host",
        minimal(external={"slurmdHosts": [{"name": "m", "config": {"Gres": "gpu:2"}}]}, **file("gres.conf", "\n")),
        "warning",
        GRES,
        ("no line", "external.slurmdHosts.0"),
        file("gres.conf", "NodeName=m Name=gpu File=/dev/nvidia[0-1]\n"),
    ),
    Case(
        "gres.conf with lines of another NodeSet",
        merged(gpus("NodeName=b-[0-9] Name=gpu File=/dev/nvidia[0-3]\n", "gpu:4"), {"nodesets": {"b": {"replicas": 1}}}),
        "warning",
        GRES,
        ("no line", "nodesets.gpu"),
        file("gres.conf", "NodeName=b-[0-9],gpu-[0-9] Name=gpu File=/dev/nvidia[0-3]\n"),
    ),
    Case(
        "GPUs of another vendor than AutoDetect's",
        gpus("AutoDetect=rsmi\n", "gpu:4"),
        "warning",
        GRES,
        ("AutoDetect=rsmi", "Write AutoDetect=nvidia"),
        file("gres.conf", "AutoDetect=nvml\n"),
    ),
    Case(
        "AMD's GPUs, which NVML doesn't find",
        gpus("AutoDetect=nvml\n", "gpu:4", devices={"amd.com/gpu": 4}),
        "warning",
        GRES,
        ("AutoDetect=nvml", "Write AutoDetect=rsmi"),
        file("gres.conf", "AutoDetect=rsmi\n"),
    ),
    Case(
        "fewer devices of one type, with the same sum",
        gpus("Name=gpu Type=a100 File=/dev/nvidia[0-2]\nName=gpu Type=v100 File=/dev/nvidia3\n", "gpu:a100:2", "gpu:v100:2"),
        "warning",
        "nodesets.gpu.gres",
        ("2 of gpu:v100", "names 1"),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:3", "gpu:v100:1"]}}},
    ),
    Case(
        "fewer slices of one profile",
        gpus(
            "AutoDetect=nvidia\n",
            "gpu:3g.40gb:2",
            "gpu:1g.10gb:1",
            devices={"nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-1g.10gb": 2},
        ),
        "warning",
        "nodesets.gpu.gres",
        ("2 of gpu:3g.40gb", "for 1"),
        {"nodesets": {"gpu": {"gres": ["gpu:3g.40gb:1", "gpu:1g.10gb:2"]}}},
    ),
]


def hosts(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return minimal(external={"slurmdHosts": list(rows)}, **more)


HOST = "external.slurmdHosts.0"
METAL = [
    Case(
        "a host of IPv6, which slurmctld doesn't speak",
        hosts({"name": "m[1-2]", "address": "2001:db8::[5-6]"}),
        "error",
        f"{HOST}.address",
        ("IPv4 alone", "EnableIPv6"),
        {"controller": {"extraConf": {"CommunicationParameters": "EnableIPv6"}}},
    ),
    Case(
        "slurmdbd of IPv6",
        minimal(accounting={"external": {"host": "2001:db8::7"}}, keys={"source": "imported"}),
        "error",
        "accounting.external.host",
        ("IPv4 alone", "EnableIPv6"),
        {"controller": {"extraConf": {"CommunicationParameters": "EnableIPv6"}}},
    ),
]
PORTS = [
    Case(
        f"two hosts at {name}",
        hosts(*bad),
        "warning",
        f"external.slurmdHosts.{len(bad) - 1}.address",
        ("192.0.2.5", "to one slurmd"),
        {"external": {"slurmdHosts": list(good)}},
    )
    for name, bad, good in (
        (
            "the port of all",
            ({"name": "a", "address": "192.0.2.5"}, {"name": "b", "address": "192.0.2.5", "config": {"Port": 6818}}),
            ({"name": "a", "address": "192.0.2.5"}, {"name": "b", "address": "192.0.2.5", "config": {"Port": 6819}}),
        ),
        (
            "one address of all",
            ({"name": "a[1-3]", "address": "192.0.2.5"},),
            ({"name": "a[1-3]", "address": "192.0.2.5", "config": {"Port": "[17001-17003]"}},),
        ),
        (
            "a port of two hostlists",
            (
                {"name": "a[1-2]", "address": "192.0.2.5", "config": {"Port": "17001-17002"}},
                {"name": "b[1-2]", "address": "192.0.2.5", "config": {"port": "17002,17003"}},
            ),
            (
                {"name": "a[1-2]", "address": "192.0.2.5", "config": {"Port": "17001-17002"}},
                {"name": "b[1-2]", "address": "192.0.2.5", "config": {"port": "17003,17004"}},
            ),
        ),
    )
]
CLOUD = [
    Case(
        "a host in the cloud that nothing starts",
        hosts({"name": "c[1-2]", "config": {"CPUs": 4, "State": "CLOUD"}}),
        "warning",
        f"{HOST}.config.State",
        ("ResumeProgram", "nothing starts it"),
        {"external": {"slurmdHosts": [{"name": "c[1-2]", "config": {"CPUs": 4, "State": "UNKNOWN"}}]}},
    ),
]
SLURM = SCRIPTS + METAL
SLURM_TOLD = DRAINED + PORTS + CLOUD
SLURM_SOUND: dict[str, dict[str, Any]] = {
    "Files, the other name of File": gpus("Name=gpu Files=/dev/nvidia[0-3]\n", "gpu:4"),
    "GPUs of a vendor that isn't known": gpus("AutoDetect=rsmi\n", "gpu:4", devices={"example.org/gpu": 4}),
}
"""Settings over which nothing is said."""
