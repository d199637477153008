"""Values that slurmctld reads otherwise than they are written, and parameters, nodes and folders that do nothing.

Each was run on slurmctld, or slurmd where it reads the file, of 26.05.5 and 25.11.7: what they do in silence and otherwise
than asked is an error, what they name in their log, or what does nothing, a warning.
"""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_files import file, line


def conf(case: str, level: str, key: str, bad: str, words: tuple[str, ...], good: str | None, **more: str) -> Case:
    """A parameter of slurm.conf, beside others, and the same with another value."""
    wrong = line("conf", {key: bad, **more})
    cure = {"controller": {"extraConf": {key: good, **more}}}
    if good is None:
        cure = {"controller": {"extraConf": {key: None, **more}}}
    return Case(case, wrong, level, f"controller.extraConf.{key}", words, cure)


def host(**parameters: Any) -> dict[str, Any]:
    return minimal(external={"slurmdHosts": [{"name": "metal-1", "config": parameters}]})


def without_database(**parameters: str) -> dict[str, Any]:
    return minimal(accounting={"enabled": False, "database": None}, controller={"extraConf": parameters})


OPTIONS, PREEMPT = "SchedulerParameters", "PreemptParameters"
OF_TYPE = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
SILENT = [
    conf(f"{key}={bad}, of which slurmctld makes something else", "error", key, bad, words, good)
    for key, bad, words, good in (
        (OPTIONS, "bf_continue,bf_window=7-0", ("bf_window=7-0", "reads 7,"), "bf_continue,bf_window=10080"),
        (OPTIONS, "bf_max_job_user=ten", ("reads 0,", "whole number"), "bf_max_job_user=10"),
        (OPTIONS, "bf_interval=1.5", ("reads 1,",), "bf_interval=2"),
        (OPTIONS, "max_script_size=4m", ("reads 4,",), "max_script_size=4194304"),
        (OPTIONS, "bf_continue=no", ("would be on",), "bf_continue=yes"),
        (OPTIONS, "bf_interval=60,bf_interval=90", ("twice", "the first"), "bf_interval=60"),
        (OPTIONS, "max_job_bf=100", ("refuses", "bf_max_job_test"), "bf_max_job_test=100"),
    )
]
SILENT += [
    conf(
        "a count of preemption in words", "error", PREEMPT, "reorder_count=ten", ("reads 0,",), "reorder_count=3", **OF_TYPE
    ),
    conf(
        "limits that go along, beside those that don't",
        "error",
        "PropagateResourceLimits",
        "NONE",
        ("all limits but MEMLOCK",),
        "ALL",
        PropagateResourceLimitsExcept="MEMLOCK",
    ),
    *(
        Case(
            f"{key} with a blank beside a comma",
            nodeset(partition={"config": {key: "hpc, admins"}}),
            "error",
            f"nodesets.gpu.partition.config.{key}",
            ("blank", "Write a,b"),
            {"nodesets": {"gpu": {"partition": {"config": {key: "hpc,admins"}}}}},
        )
        for key in ("AllowGroups", "AllowAccounts", "DenyAccounts")
    ),
]
OLDER = {"slurmVersion": "25.11", "images": {each: f"x/{each}:1" for each in ("slurmctld", "slurmrestd", "slurmd")}}
TMPFS = {"NamespaceType": "namespace/tmpfs", "PrologFlags": "Contain"}
LINUX = TMPFS | {"NamespaceType": "namespace/linux"}
FOLDERS = [
    Case(
        case,
        minimal(**file(name, bad, **kind)) | ({"cluster": minimal()["cluster"] | OLDER} if older else {}),
        "error",
        f"controller.configFiles.{name}",
        words,
        file(name, good, **kind),
    )
    for case, name, kind, bad, words, good, older in (
        (
            "folders of jobs that are nowhere",
            "job_container.conf",
            TMPFS,
            "AutoBasePath=true\n",
            ("no BasePath", "share /tmp"),
            "AutoBasePath=true\nBasePath=/scratch/j\n",
            False,
        ),
        (
            "folders of jobs at a part of a path",
            "job_container.conf",
            TMPFS,
            "AutoBasePath=true\nBasePath=scratch/j\n",
            ("scratch/j", "begin with /"),
            "BasePath=none\n",
            False,
        ),
        (
            "folders of jobs in one of these",
            "job_container.conf",
            TMPFS,
            "BasePath=/tmp\n",
            ("slurmd ends",),
            "BasePath=/tmpj\nDirs=/tmp\n",
            True,
        ),
        (
            "namespaces without a base path",
            "namespace.yaml",
            LINUX,
            "defaults: {auto_base_path: true}\n",
            ("no base_path",),
            "node_confs: [{nodes: [a], options: {base_path: /a}}]\n",
            False,
        ),
        (
            "namespaces at a part of a path",
            "namespace.yaml",
            LINUX,
            "defaults: {base_path: a/b}\n",
            ("a/b", "begin with /"),
            "defaults: {base_path: /a/b}\n",
            False,
        ),
    )
]
VALUES = SILENT + FOLDERS

NAMED = [
    conf(f"{key}={bad}, which slurmctld names in its log", "warning", key, bad, words, good)
    for key, bad, words, good in (
        (OPTIONS, "bf_window=3000000", ("1 to 43200", "its default"), "bf_window=43200"),
        (OPTIONS, "bf_interval=0", ("1 to 10800 or -1",), "bf_interval=-1"),
        (OPTIONS, "bf_window=ten", ("reads 0",), "bf_window=10"),
        (OPTIONS, "bf_interval=30s", ("reads 30,",), "bf_interval=30"),
        (OPTIONS, "bf_window", ("without a value",), "bf_window=60"),
        (OPTIONS, "delay_boot=5m", ("time of Slurm",), "delay_boot=5:00"),
        (OPTIONS, "bf_hetjob_prio=mean", ("avg, max, min",), "bf_hetjob_prio=avg"),
        (OPTIONS, "max_sched_time=10", ("half of MessageTimeout, 5 s",), "max_sched_time=5"),
        (OPTIONS, "correspond_after_task_cnt=5", ("10 or more",), "correspond_after_task_cnt=10"),
        (OPTIONS, "bf_max_job_user=9,bf_max_job_assoc=9", ("bf_max_job_assoc alone",), "bf_max_job_user=9"),
        (OPTIONS, "bf_ignore_newly_avail_nodes", ("closest of its", "all: slurm.conf(5)"), "defer"),
        (OPTIONS, "kill_invalid_depend", ("an option of DependencyParameters",), "defer"),
        ("LogTimeFormat", "iso8601ms", ("iso8601_ms?",), "iso8601_ms,format_stderr"),
        ("MpiParams", "ports=12000:12999", ("ports=12000-12999",), "ports=12000-12999"),
        ("MpiParams", "ports=12999-12000", ("no ports",), "ports=12000-12999"),
        ("MpiParams", "12000-12999", ("no ports",), "disable_slurm_hydra_bootstrap"),
        ("HealthCheckProgram", "/usr/sbin/nhc", ("never run", "HealthCheckInterval: 300"), None),
        ("RoutePlugin", "route/topology", ("no effect", "RouteTree"), "route/default"),
    )
]
NAMED += [
    conf(
        "options of backfill with the plain scheduler",
        "warning",
        OPTIONS,
        "bf_continue,bf_max_job_test=10",
        ("bf_continue", "backfill alone"),
        "bf_max_job_test=10,bf_interval=60",
        SchedulerType="sched/builtin",
    ),
    conf(
        "weights without the plugin that weighs",
        "warning",
        "PriorityWeightAge",
        "1000",
        ("priority/basic",),
        "0",
        PriorityType="priority/basic",
    ),
    *(
        Case(
            f"{key} without slurmdbd",
            without_database(**{key: bad} | more),
            "warning",
            f"controller.extraConf.{key}",
            (word, "accounting.enabled is false"),
            {"controller": {"extraConf": {key: good} | more}},
        )
        for key, bad, word, good, more in (
            ("AccountingStorageEnforce", "limits", "no effect", None, {}),
            ("PriorityWeightFairshare", "1000", "no effect", "0", {}),
            ("PreemptType", "preempt/qos", "no QOS", "preempt/partition_prio", {"PreemptMode": "REQUEUE"}),
        )
    ),
]
SHAPE = {"Sockets": 2, "CoresPerSocket": 32, "ThreadsPerCore": 2, "RealMemory": 5000}
NODES = [
    Case(
        f"a host with {key}={bad}",
        host(**SHAPE | more | {key: bad}),
        "warning",
        f"external.slurmdHosts.0.config.{key}",
        words,
        {"external": {"slurmdHosts": [{"name": "metal-1", "config": {**SHAPE, **more, key: good}}]}},
    )
    for key, bad, words, good, more in (
        ("CPUs", 256, ("make 128", "slurmd -C"), 64, {}),
        ("CoreSpecCount", 64, ("64 cores", "63 or less"), 63, {}),
        ("MemSpecLimit", 5000, ("keeps none",), 4999, {}),
        ("CoreSpecCount", 2, ("CpuSpecList",), 0, {"CpuSpecList": "0,1"}),
        ("CpuSpecList", "0-1", ("names all CPUs",), "1", {"CPUs": 2, "CoresPerSocket": 1}),
    )
]
NODES += [
    Case(
        f"a NodeSet with {key}={bad}",
        nodeset(resources={"cpus": 4, "memory": "8Gi"}, gres=[], extraConf={key: bad}),
        "warning",
        f"nodesets.gpu.extraConf.{key}",
        words,
        {"nodesets": {"gpu": {"extraConf": {key: good}}}},
    )
    for key, bad, words, good in (
        ("CoreSpecCount", 4, ("4 cores at most",), 3),
        ("MemSpecLimit", 8192, ("8192 MiB",), 1024),
        ("CpuSpecList", "0,4", ("names CPU 4", "counted from 0"), "0,3"),
    )
]
TREE = "SwitchName=s1 Nodes=metal-1\nSwitchName=s2 Nodes={}\nSwitchName=top Switches=s[1-2]\n"
BLOCKS = (
    "- topology: t\n  block:\n    block_sizes: [1]\n    blocks: [{{block: a, nodes: metal-1}}, {{block: b, nodes: {}}}]\n"
)
HOSTS = {"external": {"slurmdHosts": [{"name": f"metal-{number}"} for number in (1, 2)]}}
TOPOLOGY = [
    Case(
        f"{name} with {bad}",
        minimal(**HOSTS, **file(name, text.format(bad), **more)),
        "warning",
        f"controller.configFiles.{name}",
        words,
        file(name, text.format("metal-2"), **more),
    )
    for name, text, more in (
        ("topology.conf", TREE, {"TopologyPlugin": "topology/tree"}),
        ("topology.yaml", BLOCKS, {}),
    )
    for bad, words in (("metal-9", ("metal-9", "no node of the stack")), ("metal-1", ("metal-1 in", "Remove it from one")))
]
OF_TYPES = [
    Case(
        "GPUs without a type, which their file has",
        nodeset(gres=["gpu:2"]) | file("gres.conf", "Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"),
        "warning",
        "nodesets.gpu.gres",
        ("no job can ask", "gpu:a100:2"),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:2"]}}},
    ),
    Case(
        "GPUs of a type, which their file lacks",
        nodeset(gres=["gpu:a100:2"]) | file("gres.conf", "Name=gpu File=/dev/nvidia[0-1]\n"),
        "warning",
        "nodesets.gpu.gres",
        ("no Type", "drains the node"),
        file("gres.conf", "Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"),
    ),
]
VALUES_TOLD = NAMED + NODES + TOPOLOGY + OF_TYPES

VALUES_SOUND = {
    "what big sites give the scheduler": line(
        "conf",
        {
            OPTIONS: "bf_continue,bf_window=20160,bf_resolution=600,bf_max_job_test=5000,bf_yield_interval=1000000,"
            "default_queue_depth=1000,max_rpc_cnt=150,bf_max_job_user_part=30,sched_min_interval=2000000,delay_boot=1:00"
        },
    ),
    "a group of a directory": nodeset(partition={"config": {"AllowGroups": "domain users,hpc"}}),
    "a check at the start alone": line(
        "conf", {"HealthCheckProgram": "/usr/sbin/nhc", "HealthCheckNodeState": "START_ONLY"}
    ),
    "a folder of jobs by node": minimal(**file("job_container.conf", "NodeName=a BasePath=/scratch\n", **TMPFS)),
    "all limits but one": line("conf", {"PropagateResourceLimitsExcept": "MEMLOCK"}),
    "pods in a topology": minimal(
        **file("topology.conf", "SwitchName=s Nodes=cpu-[0-1]\n", TopologyPlugin="topology/tree"),
        nodesets={"cpu": {"replicas": 2}},
    ),
}
"""Settings over which no error is said."""
