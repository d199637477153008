"""Files and lines by which nodes are drained, never answer or never start, as sites write them.

What is said of slurmd and slurmctld was run on 26.05.5: slurmd up to its registration, slurmctld up to "Running as primary
controller".
"""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal, outside
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_files import GRES, file
from tests.unit.config.rule_cases_values import conf

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
METAL += [
    Case(
        "a host at the address of each pod's own",
        hosts({"name": "a", "address": "127.0.0.1"}),
        "error",
        f"{HOST}.address",
        ("would call itself",),
        {"external": {"slurmdHosts": [{"name": "a", "address": "192.0.2.7"}]}},
    ),
    Case(
        "slurmctld and slurmdbd at one port",
        outside(
            controller={"external": {"host": "192.0.2.1", "port": 6819}},
            accounting={"external": {"host": "192.0.2.1", "port": 6819}},
        ),
        "error",
        "accounting.external.port",
        ("one daemon alone",),
        {"controller": {"external": {"port": 6817}}},
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
REPLACED = [
    conf(f"{key}: {bad}, for which another is taken", "warning", key, bad, words, good, **more)
    for key, bad, words, good, more in (
        ("SuspendTime", "600", ("power saving is off",), "-1", {}),
        ("CpuFreqDef", "Fast", ("leaves it out", "OnDemand"), "performance", {}),
        ("CpuFreqDef", "UserSpace", ("leaves it out",), "OnDemand", {}),
        ("GpuFreqDef", "ultra", ("without it",), "high,memory=low", {}),
        ("MaxJobId", "99999999", ("67108863",), "67108863", {}),
        ("FastSchedule", "1", ("does nothing",), None, {}),
        ("SlurmdParameters", "l3cache_as_socket,numa_node_as_socket", ("Keep one",), "l3cache_as_socket", {}),
        ("MCSParameters", "enforced,selct", ("ondemandselect",), "enforced,select:a|b", {"MCSPlugin": "mcs/group"}),
        ("BcastParameters", "Compression=zstd", ("lz4",), "Compression=lz4,send_libs", {}),
        (
            "X11Parameters",
            "home_xauthority,use_raw_hostname",
            ("use_r…(16 characters)", "home_xauthority"),
            "home_xauthority",
            {},
        ),
        ("SuspendExcNodes", "node[1-4]", ("node1", "powers down"), None, {}),
        ("SuspendExcParts", "gpu", ("gpu", "powers down"), None, {}),
        ("SlurmctldParameters", "validate_nodeaddr_threads=0", ("1 or more",), "validate_nodeaddr_threads=8", {}),
        ("SlurmctldParameters", "power_save_interval=90", ("60 seconds",), "power_save_interval=60", {}),
    )
]
REPLACED += [
    Case(
        f"a partition with {key}={bad}",
        nodeset(partition={"config": {key: bad}}),
        "warning",
        f"nodesets.gpu.partition.config.{key}",
        ("leaves out", "FORCE"),
        {"nodesets": {"gpu": {"partition": {"config": {key: good}}}}},
    )
    for key, bad, good in (("OverSubscribe", "FORCE:0", "FORCE:1"), ("Shared", "YES:1", "YES:2"))
]
REPLACED.append(
    Case(
        "an option of slurmdbd that it doesn't have",
        minimal(accounting={"database": {"host": "db"}, "extraConf": {"Parameters": "PreserveCaseUsers"}}),
        "warning",
        "accounting.extraConf.Parameters",
        ("PreserveCaseUsers", "preservecaseuser"),
        {"accounting": {"extraConf": {"Parameters": "PreserveCaseUser"}}},
    )
)
LUA_LOCAL = (
    "local function slurm_job_submit(job, parts, uid)\n  slurm.log_info('slurm_job_submit: %u', uid)\n  return 0\nend\n"
)
LUA_MODIFY = "function slurm_job_modify(job, was, parts, uid) return 0 end\n"
READ = [
    Case(
        "a script that names its function in a text alone",
        minimal(**file("job_submit.lua", LUA_LOCAL + LUA_MODIFY, JobSubmitPlugins="lua")),
        "error",
        "controller.extraConf.JobSubmitPlugins",
        ("slurm_job_submit", "not as a local one"),
        file("job_submit.lua", LUA_LOCAL.removeprefix("local ") + LUA_MODIFY, JobSubmitPlugins="lua"),
    ),
    conf("PMIx of a release that Slurm doesn't build for", "error", "MpiDefault", "pmix_v7", ("pmi2, pmix",), "pmix_v5"),
    *(
        Case(
            f"MpiDefault={bad}, with images of {whose}",
            minimal(cluster={"name": "c", "images": images}, controller={"extraConf": {"MpiDefault": bad}}),
            "error",
            "controller.extraConf.MpiDefault",
            (f"mpi/{bad}", "srun", f"Write {good}"),
            {"controller": {"extraConf": {"MpiDefault": good}}},
        )
        for bad, good in (("mpi/pmix", "pmix"), ("mpi/pmi2", "pmi2"), ("mpi/pmix_v5", "pmix_v5"))
        for whose, images in (("Slinky's", {}), ("their own", {"slurmctld": "registry.example/slurmctld:1"}))
    ),
    conf("a depth in words", "error", "DependencyParameters", "max_depend_depth=ten", ("reads 0",), "max_depend_depth=10"),
    conf(
        "a limit of nodes with power in words",
        "error",
        "SlurmctldParameters",
        "max_powered_nodes=ten",
        ("reads 0",),
        "max_powered_nodes=10",
    ),
    conf(
        "more memory than nodes have",
        "error",
        "SlurmctldParameters",
        "node_reg_mem_percent=150",
        ("drained",),
        "node_reg_mem_percent=90.5",
    ),
    conf("exit codes with that of jobs that end well", "error", "RequeueExit", "0-9", ("begin again", "1-9"), "1-9,18,100"),
    conf("exit codes of every failure", "error", "RequeueExit", "1-255", ("every failure",), "1-9"),
    Case(
        "a container's end by a program of the site's",
        minimal(**file("oci.conf", 'RunTimeKill="/opt/kill %p"\n')),
        "error",
        "controller.configFiles.oci.conf",
        ("kill -s SIGNAL",),
        file("oci.conf", 'RunTimeKill="kill -s SIGTERM %p"\nRunTimeDelete="/bin/kill -s SIGKILL %p"\n'),
    ),
]
SLURM = READ + SCRIPTS + METAL


def saving(*, cpu: dict[str, str] | None = None, **more: str) -> dict[str, Any]:
    """Power saving of a slurmctld in Kubernetes; ``cpu``: of the partition."""
    programs = {"SuspendProgram": "/bin/true", "ResumeProgram": "/bin/true"}
    nodesets = {"cpu": {"replicas": 2, "partition": {"config": cpu or {}}}}
    return minimal(nodesets=nodesets, controller={"extraConf": programs | more})


def taken(name: str, bad: dict[str, Any], word: str, **cure: str) -> Case:
    words = ("pods of cpu", word, "SuspendExcStates: ", "DOWN")
    return Case(name, bad, "warning", "controller.extraConf.SuspendProgram", words, {"controller": {"extraConf": cure}})


POWER = [
    *(
        Case(
            f"pods that are powered down after each job: {kind}",
            minimal(nodesets={"cpu": {"replicas": 1} | own}, **more),
            "warning",
            f"{kind}.config.PowerDownOnIdle",
            ("each pod of the partition", "SuspendExcStates doesn't hold"),
            cure,
        )
        for kind, own, more, cure in (
            (
                "nodesets.cpu.partition",
                {"partition": {"config": {"PowerDownOnIdle": True}}},
                {},
                {"nodesets": {"cpu": {"partition": {"config": {"PowerDownOnIdle": "NO"}}}}},
            ),
            (
                "partitions.all",
                {},
                {"partitions": {"all": {"nodesets": ["ALL"], "config": {"PowerDownOnIdle": "yes"}}}},
                {"partitions": {"all": {"nodesets": []}}},
            ),
        )
    ),
    taken("pods that are powered down", saving(SuspendTime="600"), "600 s", SuspendExcStates="DYNAMIC_NORM"),
    taken(
        "pods of a partition that saves power",
        saving(cpu={"SuspendTime": "300"}),
        "300 s",
        SuspendExcParts="cpu",
    ),
    taken(
        "some pods that are left out",
        saving(SuspendTime="60", SuspendExcNodes="cpu-[0-1]:1", SuspendExcStates="DRAIN"),
        "DRAIN,DYNAMIC_NORM",
        SuspendExcNodes="cpu-[0-1]",
    ),
]
SLURM_TOLD = REPLACED + DRAINED + PORTS + CLOUD + POWER
REFUSED_ONCE = {
    "MaxTime": "2days",
    "State": "CLOSED",
    "GraceTime": "2m",
    "ExclusiveUser": "maybe",
    "OverSubscribe": "SOMETIMES",
}
"""What slurmctld can't read of a partition: said once, and not as harmful too."""
SLURM_SOUND: dict[str, dict[str, Any]] = {
    "Files, the other name of File": gpus("Name=gpu Files=/dev/nvidia[0-3]\n", "gpu:4"),
    "nodes of the stack that keep their power": minimal(
        nodesets={"cpu": {"replicas": 2}},
        controller={"extraConf": {"SuspendExcNodes": "cpu-[0-1]:1,cpu-1", "SuspendExcParts": "cpu"}},
    ),
    "pods whose partition saves no power": saving(cpu={"SuspendTime": "INFINITE"}, SuspendTime="600"),
    "power saving that is off": saving(SuspendTime="-1"),
    "a part of a GPU with media engines": gpus(
        "AutoDetect=nvml\n", "gpu:1g.10gb+me:1", devices={"nvidia.com/mig-1g.10gb.me": 1}
    ),
    "GPUs by a claim": merged(
        gpus("AutoDetect=nvidia\n", "gpu:8", devices={}),
        {
            "nodesets": {
                "gpu": {
                    "raw": {
                        "pod": {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "eight"}]},
                        "container": {"resources": {"claims": [{"name": "g"}]}},
                    }
                }
            }
        },
    ),
    "GPUs of a vendor that isn't known": gpus("AutoDetect=rsmi\n", "gpu:4", devices={"example.org/gpu": 4}),
}
"""Settings over which nothing is said."""
