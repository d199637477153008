"""Files of slurmd, lines of nodes and partitions, and lists of words, as sites write them: what daemons end over, or drop.

What is said of slurmctld and slurmd was run on 26.05.5 and 25.11.7: slurmctld up to "Running as primary controller", slurmd
up to its registration, or as `slurmd -G`.
"""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_field import LUA

GRES, CGROUP = "controller.configFiles.gres.conf", "controller.configFiles.cgroup.conf"


def file(name: str, text: str, **conf: str) -> dict[str, Any]:
    return {"controller": {"configFiles": {name: text}} | ({"extraConf": conf} if conf else {})}


def bad(case: str, name: str, text: str, words: tuple[str, ...], good: str) -> Case:
    """A file over which slurmd ends, beside NodeSets, and the same file without the fault."""
    return Case(case, nodeset() | file(name, text), "error", f"controller.configFiles.{name}", words, file(name, good))


def line(place: str, parameters: dict[str, str | None]) -> dict[str, Any]:
    """Parameters of a node's line, a partition's, or of slurm.conf."""
    if place == "conf":
        return minimal(controller={"extraConf": parameters})
    return nodeset(**({"extraConf": parameters} if place == "node" else {"partition": {"config": parameters}}))


FILES = [
    bad(
        "cgroup.conf with which slurmd asks systemd",
        "cgroup.conf",
        "ConstrainCores=yes\nConstrainRAMSpace=yes\n",
        ("IgnoreSystemd=yes", "no slurmd in a pod"),
        "ConstrainCores=yes\nConstrainRAMSpace=yes\nIgnoreSystemd=yes\n",
    ),
    bad(
        "cgroup.conf that says it should",
        "cgroup.conf",
        "CgroupPlugin=cgroup/v2\nIgnoreSystemd=no\n",
        ("IgnoreSystemd=yes",),
        "CgroupPlugin=cgroup/v2\nignoresystemd=TRUE\n",
    ),
    bad(
        "cgroup.conf without a line",
        "cgroup.conf",
        "# nothing\n",
        ("IgnoreSystemd=yes",),
        "IgnoreSystemdOnFailure=yes\n",
    ),
]
SHARD = {"gres": ["gpu:2", "shard:8"], "resources": {"cpus": 4, "extended": {"nvidia.com/gpu": 2}}}
FILES += [
    bad(
        f"gres.conf: {case}",
        "gres.conf",
        text,
        words,
        "AutoDetect=nvidia\n",
    )
    for case, text, words in (
        ("more devices than files", "Name=gpu Count=8 File=/dev/nvidia[0-3]\n", ("line 1", "Count=8", "4 in File")),
        (
            "two ways of files",
            "Name=gpu File=/dev/nvidia0 MultipleFiles=/dev/nvidia[0-1]\n",
            ("File and MultipleFiles",),
        ),
        ("a part of a GPU counted twice", "Name=gpu MultipleFiles=/dev/nvidia0,/dev/nvidia1 Count=2\n", ("one device",)),
        ("files that are no list", "Name=gpu File=/dev/nvidia[3-0]\n", ("list of files",)),
        (
            "types and none",
            "Name=gpu Type=a File=/dev/nvidia0\nName=GPU File=/dev/nvidia1\n",
            ("1 and 2", "line 1 alone has Type"),
        ),
        ("files and none", "Name=gpu Count=2\n# x\nName=gpu File=/dev/nvidia1\n", ("1 and 3", "line 3 alone has File")),
        ("a line twice", "Name=fpga Count=2\nName=fpga Count=3\n", ("none has Type or File",)),
        ("variables and none", "Name=gpu File=/dev/nvidia0 Flags=no_gpu_env,opencl_env\n", ("no_gpu_env",)),
        ("a range without brackets", "Name=gpu File=/dev/nvidia0-7\n", ("line 1", "names one file", "[0-7]")),
        (
            "a device twice",
            "Name=gpu Type=a File=/dev/nvidia[0-3]\nName=gpu Type=a File=/dev/nvidia[3-7]\n",
            ("/dev/nvidia3", "lines 1 and 2"),
        ),
        ("a device twice on a line", "Name=gpu File=/dev/nvidia[0-1],/dev/nvidia1\n", ("twice on line 1",)),
        (
            "a device of one node twice",
            "Name=gpu File=/dev/nvidia0\nNodeName=gpu-0 Name=gpu File=/dev/nvidia0\n",
            ("lines 1 and 2",),
        ),
        (
            "other variables, and those of the default",
            "Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia1 Flags=nvidia_gpu_env\n",
            ("1 and 2", "the same"),
        ),
        (
            "other variables",
            "Name=gpu File=/dev/nvidia0 Flags=opencl_env\nName=gpu File=/dev/nvidia1 Flags=no_gpu_env\n",
            ("1 and 2", "the same"),
        ),
        ("parts of GPUs that nothing finds", "Name=shard Count=64\n", ("line 1", "divides GPUs", "AutoDetect")),
        ("a line that begins within", "File=/dev/nvidia0 Name=gpu\n", ("File at the beginning of line 1", "AutoDetect")),
    )
]
FILES += [
    bad(
        f"{name}: {case}",
        name,
        text,
        words,
        good,
    )
    for name, case, text, words, good in (
        ("helpers.conf", "a name", "Featre=a Helper=/usr/bin/x\n", ("Featre", "Feature?"), "Feature=a Helper=/usr/bin/x\n"),
        ("helpers.conf", "an order", "Helper=/usr/bin/x Feature=a\n", ("Helper at the beginning",), "Feature=a\n"),
        ("job_container.conf", "a name", "AutoBasePth=true\n", ("AutoBasePth", "slurmd ends"), "AutoBasePath=true\n"),
        ("job_container.conf", "a value", "BasePath=/tmp/n Shared=maybe\n", ("Shared", "YES or NO"), "BasePath=/tmp/n\n"),
        ("oci.conf", "a name", "RuntimeState=x\n", ("RuntimeState", "--container"), "MountSpoolDir=/srun\n"),
        ("burst_buffer.conf", "a name", "StageInTime=9\n", ("StageInTimeout?",), "StageInTimeout=900\n"),
        ("acct_gather.conf", "a name", "ProfileHDF5Dirr=/tmp/p\n", ("ProfileHDF5Dir?",), "# none\n"),
        ("namespace.yaml", "no YAML", "defaults: {dirs: [}\n", ("line 1", "no slurmd starts"), "defaults: {}\n"),
        ("namespace.yaml", "a list", "[]\n", ("isn't a mapping",), "defaults: {}\n"),
        ("namespace.yaml", "a name", "default: {shared: true}\n", ("default,", "defaults?"), "defaults: {shared: true}\n"),
        (
            *("namespace.yaml", "a name for some nodes", "node_confs: [{nodes: 'a-[0-3]', options: {basepath: /x}}]\n"),
            *(("basepath below options", "base_path?"), "node_confs: [{nodes: 'a-[0-3]', options: {base_path: /x}}]\n"),
        ),
        (
            *("namespace.yaml", "a list of folders", "defaults: {dirs: [/tmp]}\n"),
            *(("dirs", "commas"), "defaults: {dirs: '/tmp,/dev/shm'}\n"),
        ),
    )
]
FILES += [
    Case(
        "a GRES with a type and without, which no slurmd takes",
        nodeset(gres=["gpu:a100:4", "gpu:4"], resources={"extended": {"nvidia.com/gpu": 8}}),
        "error",
        "nodesets.gpu.gres",
        ("with a type", "without"),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:4", "gpu:h100:4"]}}},
    ),
    Case(
        "the same of hosts",
        minimal(external={"slurmdHosts": [{"name": "m-1", "config": {"Gres": "gpu:a100:4,gpu:4"}}]}),
        "error",
        "external.slurmdHosts.0.config",
        ("with a type",),
        {"external": {"slurmdHosts": [{"name": "m-1", "config": {"Gres": "gpu:8"}}]}},
    ),
]
FILES += [
    Case(
        f"{one} beside {other}",
        line(place, {other: "1", one: "1"}),
        "error",
        path,
        (other, "one of the two"),
        line(place, {other: None}),
    )
    for place, path, one, other in (
        ("node", "nodesets.gpu.extraConf.weight", "weight", "Weight"),
        ("node", "nodesets.gpu.extraConf.Feature", "Feature", "Features"),
        ("node", "nodesets.gpu.extraConf.Procs", "Procs", "CPUs"),
        ("partition", "nodesets.gpu.partition.config.maxtime", "maxtime", "MaxTime"),
        ("partition", "nodesets.gpu.partition.config.Shared", "Shared", "OverSubscribe"),
        ("partition", "nodesets.gpu.partition.config.Priority", "Priority", "PriorityTier"),
        ("partition", "nodesets.gpu.partition.config.DefMemPerCPU", "DefMemPerCPU", "DefMemPerNode"),
        ("partition", "nodesets.gpu.partition.config.DenyAccounts", "DenyAccounts", "AllowAccounts"),
        ("conf", "controller.extraConf.killwait", "killwait", "KillWait"),
        ("conf", "controller.extraConf.MaxMemPerCPU", "MaxMemPerCPU", "MaxMemPerNode"),
    )
]
FILES += [
    Case(
        "slurmdbd.conf with a parameter in two spellings",
        minimal(accounting={"database": {"host": "db"}, "extraConf": {"CommitDelay": "1", "commitdelay": "2"}}),
        "error",
        "accounting.extraConf.commitdelay",
        ("CommitDelay", "one of the two"),
        {"accounting": {"extraConf": {"commitdelay": None}}},
    ),
    Case(
        "a switch where Slurm takes a number",
        minimal(controller={"extraConf": {"JobRequeue": False}}),
        "error",
        "controller.extraConf.JobRequeue",
        ("Write 0", "no switch"),
        {"controller": {"extraConf": {"JobRequeue": 0}}},
    ),
    Case(
        "a limit of requests that isn't a number",
        minimal(controller={"extraConf": {"SlurmctldParameters": "rl_enable,rl_bucket_size=ten"}}),
        "error",
        "controller.extraConf.SlurmctldParameters",
        ("rl_bucket_size", "above 0"),
        {"controller": {"extraConf": {"SlurmctldParameters": "rl_enable,rl_bucket_size=10,rl_log_freq=-1"}}},
    ),
]
FILES += [
    Case(
        "job_submit.lua whose function is its own",
        minimal(
            **file("job_submit.lua", LUA.replace("slurm_job_modify =", "local slurm_job_modify ="), JobSubmitPlugins="lua")
        ),
        "error",
        "controller.extraConf.JobSubmitPlugins",
        ("job_submit.lua lacks the function slurm_job_modify:",),
        file("job_submit.lua", LUA),
    ),
    Case(
        "a partition's parameter by the name that scontrol shows",
        nodeset(partition={"config": {"JobDefaults": "DefCpuPerGPU=4"}}),
        "error",
        "nodesets.gpu.partition.config.JobDefaults",
        ("write DefCpuPerGPU and DefMemPerGPU",),
        {"nodesets": {"gpu": {"partition": {"config": {"JobDefaults": None, "DefCpuPerGPU": "4"}}}}},
    ),
    Case(
        "a resource with a blank before it",
        minimal(
            accounting={"database": {"host": "db"}}, controller={"extraConf": {"AccountingStorageTRES": "gres/gpu, gres/x"}}
        ),
        "error",
        "controller.extraConf.AccountingStorageTRES",
        ("a blank beside gres/x", "Remove the blanks"),
        {"controller": {"extraConf": {"AccountingStorageTRES": "gres/gpu,gres/x"}}},
    ),
]
ARCHIVE = {"database": {"host": "db"}, "extraConf": {"ArchiveDir": "/archive"}}
VOLUME = {
    "pod": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}]},
    "container": {"volumeMounts": [{"name": "a", "mountPath": "/archive"}]},
}
FILES += [
    Case(
        what,
        minimal(controller={"extraConf": conf}),
        "error",
        f"controller.extraConf.{key}",
        words,
        cure,
    )
    for what, conf, key, words, cure in (
        (
            *("ended jobs in a file that slurmctld may not write", {"JobCompType": "jobcomp/filetxt"}, "JobCompType"),
            *(("no JobCompLoc", "/var/log/slurm/"), line("conf", {"JobCompLoc": "/var/log/slurm/jobs.log"})),
        ),
        (
            "ended jobs in a folder that isn't there",
            {"JobCompType": "jobcomp/filetxt", "JobCompLoc": "/var/log/slurm/jobs/x.log"},
            *("JobCompLoc", ("no such folder",), line("conf", {"JobCompLoc": "/var/log/slurm/x.log"})),
        ),
        (
            *("a scheduler's log in one", {"SlurmSchedLogFile": "/var/log/slurm/sched/x.log"}, "SlurmSchedLogFile"),
            *(("no such folder",), line("conf", {"SlurmSchedLogFile": "/var/log/slurm/x.log"})),
        ),
        (
            *("profiles without a folder", {"AcctGatherProfileType": "acct_gather_profile/hdf5"}, "AcctGatherProfileType"),
            *(("no ProfileHDF5Dir",), file("acct_gather.conf", "ProfileHDF5Dir=/scratch/profiles\n")),
        ),
    )
]
FILES += [
    Case(
        "archives in a folder that isn't there",
        minimal(accounting=ARCHIVE),
        "error",
        "accounting.extraConf.ArchiveDir",
        ("slurmdbd ends", "Add a volume"),
        {"accounting": {"raw": VOLUME}},
    ),
    Case(
        "archives that go with the pod",
        minimal(accounting={"database": {"host": "db"}, "extraConf": {"ArchiveDir": "/tmp"}}),
        "error",
        "accounting.extraConf.ArchiveDir",
        ("goes with the pod", "accounting.raw"),
        {"accounting": {"extraConf": {"ArchiveDir": "/archive/x"}, "raw": VOLUME}},
    ),
]
FILES_TOLD = [
    Case(
        f"archives in a volume that goes with the pod, {key}",
        minimal(
            accounting={
                "database": {"host": "db"},
                "extraConf": {"ArchiveJobs": "yes", "PurgeJobAfter": "12months"} | named,
                "raw": {
                    "pod": {"volumes": [{"name": "x", "emptyDir": {}}]},
                    "container": {"volumeMounts": [{"name": "x", "mountPath": place}]},
                },
            }
        ),
        "warning",
        f"accounting.extraConf.{key}",
        (f"archives into '{place}', in the volume x, which goes with the pod", "persistentVolumeClaim"),
        {"accounting": {"raw": {"pod": VOLUME["pod"] | {"volumes": [VOLUME["pod"]["volumes"][0] | {"name": "x"}]}}}},
    )
    for place, key, named in (("/archive", "archivedir", {"archivedir": "/archive"}), ("/tmp", "ArchiveJobs", {}))
]
FILES_TOLD += [
    Case(
        f"{key} with an option that Slurm passes over",
        minimal(controller={"extraConf": {key: wrong}}),
        "warning",
        f"controller.extraConf.{key}",
        words,
        {"controller": {"extraConf": {key: right}}},
    )
    for key, wrong, words, right in (
        ("SchedulerParameters", "defer,bf_windw=9", ("bf_windw", "did you mean bf_window?"), "defer,bf_window=9"),
        ("AccountingStoreFlags", "job_coment", ("job_comment?",), "job_comment"),
        ("CpuFreqGovernors", "OnDmand", ("ondemand?",), "OnDemand,Performance"),
        ("JobAcctGatherFrequency", "tsk=30", ("task?",), "task=30,energy=15"),
        ("PriorityFlags", "FAIR_TREE", ("it reads", "no_fair_tree"), "MAX_TRES"),
        ("LaunchParameters", "enable_nss_slrum", ("enable_nss_slurm?",), "enable_nss_slurm"),
    )
]
FILES += [
    Case(
        "a partition in which no job can run",
        nodeset(partition={"config": {"MinNodes": 8, "MaxNodes": 4}}),
        "error",
        "nodesets.gpu.partition.config.MinNodes",
        ("is 8", "MaxNodes=4", "no job"),
        {"nodesets": {"gpu": {"partition": {"config": {"MinNodes": 4}}}}},
    )
]
FILES_TOLD += [
    Case(
        f"{name} that nothing loads",
        minimal(**file(name, text)),
        "warning",
        f"controller.configFiles.{name}",
        ("read by no daemon", key),
        file(name, text, **{key: value}),
    )
    for name, text, key, value in (
        ("job_submit.lua", LUA, "JobSubmitPlugins", "lua"),
        ("cli_filter.lua", "return slurm.SUCCESS\n", "CliFilterPlugins", "cli_filter/lua"),
        ("helpers.conf", "Feature=a Helper=/usr/bin/x\n", "NodeFeaturesPlugins", "node_features/helpers"),
        ("topology.conf", "SwitchName=s1 Nodes=a-0\n", "TopologyPlugin", "topology/tree"),
        ("job_container.conf", "BasePath=/tmp/n\n", "NamespaceType", "namespace/tmpfs"),
    )
]
FILES_TOLD += [
    Case(f"{key} that does nothing", line("conf", {key: bad_}), "warning", f"controller.extraConf.{key}", words, cure)
    for key, bad_, words, cure in (
        ("CoreSpecPlugin", "core_spec/none", ("does nothing", "Remove"), line("conf", {"CoreSpecPlugin": None})),
        (
            "CommunicationParameters",
            "NoAddrCache",
            ("NoAddrCache",),
            line("conf", {"CommunicationParameters": "EnableIPv6"}),
        ),
        ("SrunPortRange", "63000-60001", ("Write 60001-63000",), line("conf", {"SrunPortRange": "60001-63000"})),
    )
]
FILES_TOLD += [
    Case(
        "cgroup.conf with a name of an older release",
        minimal(**file("cgroup.conf", "CgroupAutomount=yes\nIgnoreSystemd=yes\n")),
        "warning",
        CGROUP,
        ("CgroupAutomount on line 1", "does nothing"),
        file("cgroup.conf", "IgnoreSystemd=yes\n"),
    ),
    Case(
        "a default time above the longest",
        nodeset(partition={"config": {"DefaultTime": "2-00:00:00", "MaxTime": "24:00:00"}}),
        "warning",
        "nodesets.gpu.partition.config.DefaultTime",
        ("longer than MaxTime",),
        {"nodesets": {"gpu": {"partition": {"config": {"DefaultTime": "1440"}}}}},
    ),
]
FILES_TOLD += [
    Case(
        "a partition's binding that Slurm passes over",
        nodeset(partition={"config": {"CpuBind": "cores_"}}),
        "warning",
        "nodesets.gpu.partition.config.CpuBind",
        ("cores_", "cores?"),
        {"nodesets": {"gpu": {"partition": {"config": {"CpuBind": "cores"}}}}},
    ),
    Case(
        "gres.conf with a flag that Slurm passes over",
        minimal(**file("gres.conf", "Name=gpu File=/dev/nvidia0 Flags=nvidia_gpu_envv\n")),
        "warning",
        GRES,
        ("nvidia_gpu_envv", "did you mean nvidia_gpu_env?"),
        file("gres.conf", "Name=gpu File=/dev/nvidia0 Flags=nvidia_gpu_env\n"),
    ),
    Case(
        "gres.conf with a resource that no node has",
        nodeset() | file("gres.conf", "Name=fpga File=/dev/nvidia0\n"),
        "warning",
        GRES,
        ("fpga", "line 1", "there are: gpu"),
        {"nodesets": {"gpu": {"gres": ["fpga:1"]}}},
    ),
    Case(
        "gres.conf with a node that the stack doesn't have",
        nodeset() | file("gres.conf", "NodeName=gpu[0-1] Name=gpu File=/dev/nvidia0\n"),
        "warning",
        GRES,
        ("NodeName=", "line 1", "such as gpu-0"),
        file("gres.conf", "NodeName=gpu-[0-1] Name=gpu File=/dev/nvidia0\n"),
    ),
    Case(
        "gres.conf with fewer devices than gres",
        nodeset(gres=["gpu:a100:8"], resources={"extended": {"nvidia.com/gpu": 8}})
        | file("gres.conf", "NodeName=gpu-[0-1] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"),
        "warning",
        "nodesets.gpu.gres",
        ("8 of gpu", "names 4", "drains"),
        file(
            "gres.conf",
            "".join(f"NodeName=gpu-{each} Name=gpu Type=a100 File=/dev/nvidia[0-7]\n" for each in (0, 1)),
        ),
    ),
    Case(
        "gres.conf with a type in other letters",
        nodeset(gres=["gpu:a100:8"], resources={"extended": {"nvidia.com/gpu": 8}})
        | file("gres.conf", "Name=gpu Type=A100 File=/dev/nvidia[0-7]\n"),
        "warning",
        "nodesets.gpu.gres",
        ("type a100", "Type=A100", "capital letters"),
        file("gres.conf", "Name=gpu Type=a100 File=/dev/nvidia[0-7]\n"),
    ),
    Case(
        "a resource that is neither counted nor asked for",
        nodeset(gres=["bandwidth:4G"]),
        "warning",
        "nodesets.gpu.gres",
        ("names devices", "Flags=CountOnly"),
        file("gres.conf", "Name=bandwidth Count=4G Flags=CountOnly\n"),
    ),
    Case(
        "gres.conf with GPUs that nothing finds",
        minimal(**file("gres.conf", "AutoDetect=off\nName=gpu Type=a100\n")),
        "warning",
        GRES,
        ("without File on line 2", "drained"),
        file("gres.conf", "AutoDetect=nvidia\nName=gpu Type=a100\n"),
    ),
    Case(
        "mpi.conf with a name that no plugin reads",
        minimal(**file("mpi.conf", "PMIxDirectCon=true\n")),
        "warning",
        "controller.configFiles.mpi.conf",
        ("PMIxDirectConn?",),
        file("mpi.conf", "PMIxDirectConn=true\n"),
    ),
    Case(
        "more CPUs than the pod has",
        nodeset(resources={"cpus": 4}, extraConf={"CPUs": 128}),
        "warning",
        "nodesets.gpu.extraConf.CPUs",
        ("128", "4 CPUs", "resources.cpus"),
        {"nodesets": {"gpu": {"extraConf": {"CPUs": 4}}}},
    ),
    Case(
        "more memory than the pod has",
        nodeset(resources={"memory": "8Gi"}, extraConf={"RealMemory": 512000}),
        "warning",
        "nodesets.gpu.extraConf.RealMemory",
        ("512000", "8192 MiB", "resources.memory"),
        {"nodesets": {"gpu": {"extraConf": {"RealMemory": 8192}}}},
    ),
    Case(
        "a model of GPUs without its count",
        nodeset(gres=["gpu:a100"], resources={"extended": {"nvidia.com/gpu": 8}}),
        "warning",
        "nodesets.gpu.gres",
        ("has 1 GPU,", 'Write "gpu:a100:8"; "gpu:a100" alone is one'),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:8"]}}},
    ),
    Case(
        "two models of GPUs with fewer than the devices",
        nodeset(gres=["gpu:a100:2", "gpu:h100"], resources={"extended": {"nvidia.com/gpu": 8}}),
        "warning",
        "nodesets.gpu.gres",
        ("has 3 GPUs,", "Write each model with its count, together 8"),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:4", "gpu:h100:4"]}}},
    ),
    Case(
        "a model of GPUs by a name that isn't Slurm's",
        nodeset(gres=["GPU:a100:4"], resources={"extended": {"nvidia.com/gpu": 4}}),
        "warning",
        "nodesets.gpu.gres",
        ('Write "gpu:a100:4"',),
        {"nodesets": {"gpu": {"gres": ["gpu:a100:4"]}}},
    ),
    Case(
        "GPUs by a name that isn't Slurm's",
        nodeset(gres=["GPU:4"], resources={"extended": {"nvidia.com/gpu": 4}}),
        "warning",
        "nodesets.gpu.gres",
        ("GPU", "small letters", "gpu:4"),
        {"nodesets": {"gpu": {"gres": ["gpu:4"]}}},
    ),
    Case(
        "a script of Lua that nothing has read",
        minimal(**file("job_submit.lua", LUA, JobSubmitPlugins="lua")),
        "info",
        "controller.configFiles.job_submit.lua",
        ("slinky preflight --try", "controller.trial.enabled"),
        {"controller": {"trial": {"enabled": True}}},
    ),
]
FILES_SOUND = {
    "cgroups of the older kind, which ask no systemd": nodeset() | file("cgroup.conf", "CgroupPlugin=cgroup/v1\n"),
    "cgroups disabled, beside plugins that use none": nodeset()
    | file("cgroup.conf", "CgroupPlugin=disabled\n", ProctrackType="proctrack/linuxproc"),
    "shards of GPUs, which are more than their files": nodeset(**SHARD)
    | file("gres.conf", "Name=gpu File=/dev/nvidia[0-1]\nName=shard Count=8 File=/dev/nvidia[0-1]\n"),
    "lines of other nodes": nodeset(**SHARD)
    | file("gres.conf", "NodeName=a Name=gpu Type=x File=/dev/nvidia0\nNodeName=b Name=gpu File=/dev/nvidia0 Count=1\n"),
    "what is only counted": nodeset(gres=["bandwidth:lustre:no_consume:4G"], resources={"extended": {}})
    | file("gres.conf", "Name=bandwidth Type=lustre Count=4G Flags=CountOnly\n", GresTypes="bandwidth"),
    "variables of a line, and of those below it": nodeset(**SHARD)
    | file("gres.conf", "Name=gpu File=/dev/nvidia0 Flags=nvidia_gpu_env\nName=gpu File=/dev/nvidia1\n"),
    "one device of two nodes, and of two resources": nodeset(**SHARD)
    | file(
        "gres.conf",
        "NodeName=gpu-0 Name=gpu File=/dev/nvidia0\nNodeName=gpu-1 Name=gpu File=/dev/nvidia0 Flags=no_gpu_env\n"
        "Name=shard Count=8 File=/dev/nvidia0\n",
    ),
    "a name with a dash in it": minimal(**file("gres.conf", "Name=gpu File=/dev/dri/card-1\n")),
    "parts of all GPUs of a node": nodeset(**SHARD)
    | file("gres.conf", "Name=gpu File=/dev/nvidia[0-1]\nName=shard Count=8\n"),
    "a name without a file, which AutoDetect finds": nodeset(**SHARD)
    | file("gres.conf", "AutoDetect=nvidia\nName=gpu Type=a100\nName=shard Count=8\n"),
    "helpers of features": minimal(
        **file("helpers.conf", "AllowUserBoot=root\nNodeName=a Feature=mig Helper=/usr/bin/m\nMutuallyExclusive=a,b\n")
    ),
    "folders of each job by node": minimal(
        **file("job_container.conf", "AutoBasePath=true\nNodeName=a-[0-3] BasePath=/tmp/n InitScript=/usr/bin/i\n")
    ),
    "options in capitals, with values, and numbers alone": minimal(
        controller={
            "extraConf": {
                "SchedulerParameters": "BF_Window=60,defer",
                "JobAcctGatherFrequency": "30",
                "PriorityFlags": "MAX_TRES",
            }
        }
    ),
    "as much as the pod has": nodeset(
        resources={"cpus": "3500m", "memory": "8Gi"}, extraConf={"CPUs": 4, "RealMemory": 8192, "CoreSpecCount": 1}
    ),
    "a script of Lua with its words in comments and texts": minimal(**file("job_submit.lua", LUA, JobSubmitPlugins="lua")),
    "limits by CPU and by GPU": nodeset(partition={"config": {"DefMemPerCPU": "1000", "DefMemPerGPU": "2000"}}),
    "cgroup.conf of hosts alone, which have systemd": minimal(
        external={"slurmdHosts": [{"name": "m-1"}]}, **file("cgroup.conf", "ConstrainCores=yes\n")
    ),
}
"""Settings over which no error is said."""
