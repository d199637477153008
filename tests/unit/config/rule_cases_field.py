"""Settings as real sites write them that slurmctld, slurmdbd, slurmd or Kubernetes refuse; each was met in public files.

What is said of slurmctld was run on 26.05.5, up to "Running as primary controller".
"""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal, outside
from tests.unit.config.rule_cases import Case, nodeset

DBD = {"database": {"host": "db.example.org"}}
SCRIPT = "#!/bin/sh\nexit 0\n"
LUA = (
    "-- Jobs require a limit of time\n"
    "function slurm_job_submit(job, parts, uid)\n"
    '  slurm.log_user("this partition requires a GPU")\n'
    "  return slurm.SUCCESS\nend\n"
    "  -- Required by Slurm; no dofile, no os.execute\n"
    "slurm_job_modify = function(job, was, parts, uid) return slurm.SUCCESS end\n"
)


def conf(key: str, value: str, **more: Any) -> dict[str, Any]:
    return minimal(operator={"version": "1.2.1"}, controller={"extraConf": {key: value}}, **more)


def without(key: str) -> dict[str, Any]:
    return {"controller": {"extraConf": {key: None}}}


def file(name: str, text: str) -> dict[str, Any]:
    return {"controller": {"configFiles": {name: text}}}


def volumes(source: dict[str, Any]) -> dict[str, Any]:
    return nodeset(volumes=[{"name": "scratch", "mountPath": "/scratch", "source": source}])


FIELD = [
    Case(
        "weights of a resource that isn't tracked",
        minimal(
            accounting=DBD,
            nodesets={
                "a": {"replicas": 1, "partition": {"config": {"TRESBillingWeights": "CPU=1.0,Mem=0.25G,GRES/gpu=2.0"}}}
            },
        ),
        "error",
        "nodesets.a.partition.config.TRESBillingWeights",
        ("gres/gpu", "AccountingStorageTRES", "controller.extraConf"),
        {"controller": {"extraConf": {"AccountingStorageTRES": "gres/gpu"}}},
    ),
    Case(
        "weights of priorities likewise",
        conf("PriorityWeightTRES", "CPU=1000,gres/fpga=1", accounting=DBD),
        "error",
        "controller.extraConf.PriorityWeightTRES",
        ("gres/fpga",),
        {"controller": {"extraConf": {"AccountingStorageTRES": "gres/fpga"}}},
    ),
    Case(
        "a weight without a number",
        minimal(
            accounting=DBD,
            nodesets={"a": {"replicas": 1, "partition": {"config": {"TRESBillingWeights": "CPU,Mem=0.25G"}}}},
        ),
        "error",
        "nodesets.a.partition.config.TRESBillingWeights",
        ("has CPU, which isn", "NAME=NUMBER"),
        {"nodesets": {"a": {"partition": {"config": {"TRESBillingWeights": "CPU=1,Mem=.25G"}}}}},
    ),
    Case(
        "licenses with a blank between",
        conf("Licenses", "matlab:50, ansys:10"),
        "error",
        "controller.extraConf.Licenses",
        ("without blanks",),
        {"controller": {"extraConf": {"Licenses": "matlab:50,ansys@db1=10,comsol"}}},
    ),
    Case(
        "licenses without a number",
        conf("Licenses", "matlab:many"),
        "error",
        "controller.extraConf.Licenses",
        (":COUNT",),
        {"controller": {"extraConf": {"Licenses": "matlab:7|ansys:3"}}},
    ),
    Case(
        "a name that oci.conf doesn't have",
        minimal(**file("oci.conf", "RunTimeState=runc\n")),
        "error",
        "controller.configFiles.oci.conf",
        ("RunTimeState on line 1", "--container"),
        file("oci.conf", "MountSpoolDir=/srun\n"),
    ),
    Case(
        "a plugin of slurmd's without its file",
        minimal(controller={"extraConf": {"JobContainerType": "job_container/tmpfs", "PrologFlags": "Contain"}}),
        "error",
        "controller.configFiles",
        ("lacks job_container.conf", "no slurmd starts"),
        file("job_container.conf", "AutoBasePath=true\nBasePath=/var/nvme\n"),
    ),
    Case(
        "what a plugin reads that isn't loaded",
        minimal(**file("acct_gather.conf", "SysfsInterfaces=ib0\n")),
        "error",
        "controller.configFiles.acct_gather.conf",
        ("SysfsInterfaces on line 1", "AcctGatherInterconnectType: sysfs"),
        {"controller": {"extraConf": {"AcctGatherInterconnectType": "sysfs"}}},
    ),
    Case(
        "a switch that the file doesn't have",
        minimal(
            controller={
                "extraConf": {"TopologyPlugin": "topology/tree"},
                "configFiles": {"topology.conf": "SwitchName=root Switches=leaf1\n"},
            }
        ),
        "error",
        "controller.configFiles.topology.conf",
        ("leaf1 below it",),
        file("topology.conf", "SwitchName=root Switches=leaf1\nSwitchName=leaf1 Nodes=a-[0-3]\n"),
    ),
    Case(
        "a trackable resource without slurmdbd",
        conf("AccountingStorageTRES", "gres/gpu"),
        "error",
        "controller.extraConf.AccountingStorageTRES",
        ("needs slurmdbd", "accounting.enabled is false"),
        without("AccountingStorageTRES"),
    ),
    Case(
        "a trackable resource that Slurm doesn't have",
        conf("AccountingStorageTRES", "gpu", accounting=DBD),
        "error",
        "controller.extraConf.AccountingStorageTRES",
        ("gpu", "write gres/gpu"),
        {"controller": {"extraConf": {"AccountingStorageTRES": "gres/gpu"}}},
    ),
    Case(
        "GresTypes without the type of a NodeSet",
        minimal(
            controller={"extraConf": {"GresTypes": "nic"}},
            nodesets={"a": {"replicas": 1, "gres": ["gpu:a100:4"], "resources": {"extended": {"nvidia.com/gpu": 4}}}},
        ),
        "error",
        "controller.extraConf.GresTypes",
        ("lacks gpu", "leave GresTypes out"),
        {"controller": {"extraConf": {"GresTypes": "gpu,nic"}}},
    ),
    Case(
        "shards of GPUs that the node doesn't have",
        outside(nodesets={"a": {"replicas": 1, "gres": ["shard:16"], "resources": {"extended": {"nvidia.com/gpu": 1}}}}),
        "error",
        "nodesets.a.gres",
        ("shard without gpu", "gpu:COUNT"),
        {"nodesets": {"a": {"gres": ["gpu:1", "shard:16"]}}},
    ),
    Case(
        "enable_stepmgr where cgroups are disabled, with an operator that then leaves PrologFlags out",
        minimal(
            operator={"version": "1.1.2"},
            controller={
                "extraConf": {"SlurmctldParameters": "enable_configless,enable_stepmgr"},
                "configFiles": {"cgroup.conf": "CgroupPlugin=disabled\n"},
            },
        ),
        "error",
        "controller.extraConf.SlurmctldParameters",
        ("enable_stepmgr", "PrologFlags"),
        file("cgroup.conf", "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"),
    ),
    Case(
        "enable_stepmgr without contained jobs",
        conf("SlurmctldParameters", "enable_stepmgr"),
        "error",
        "controller.extraConf.SlurmctldParameters",
        ("PrologFlags", "Contain"),
        {"controller": {"extraConf": {"PrologFlags": "Contain"}}},
    ),
    Case(
        "a plugin that Slurm doesn't have",
        conf("SchedulerType", "sched/bacfill"),
        "error",
        "controller.extraConf.SchedulerType",
        ("sched/backfill", "sched/builtin"),
        {"controller": {"extraConf": {"SchedulerType": "sched/backfill"}}},
    ),
    Case(
        "one of several plugins",
        conf("JobSubmitPlugins", "all_partitions,require_timelimt"),
        "error",
        "controller.extraConf.JobSubmitPlugins",
        ("job_submit/require_timelimit",),
        {"controller": {"extraConf": {"JobSubmitPlugins": "all_partitions,require_timelimit"}}},
    ),
    Case(
        "a QOS without slurmdbd",
        minimal(nodesets={"a": {"replicas": 1, "partition": {"config": {"QOS": "high"}}}}),
        "error",
        "nodesets.a.partition.config.QOS",
        ("accounting.enabled is false",),
        {"nodesets": {"a": {"partition": {"config": {"QOS": None}}}}},
    ),
    Case(
        "a prolog that can't be run",
        minimal(controller={"prolog": {"p.sh": "echo hello\n"}}),
        "error",
        "controller.prolog.p.sh",
        ("#!", "drained"),
        {"controller": {"prolog": {"p.sh": SCRIPT}}},
    ),
    Case(
        "a prolog with line ends of Windows",
        minimal(controller={"prolog": {"p.sh": "#!/bin/bash\r\nexit 0\r\n"}}),
        "error",
        "controller.prolog.p.sh",
        ("carriage return", "drained"),
        {"controller": {"prolog": {"p.sh": SCRIPT}}},
    ),
    Case(
        "cgroup.conf with a line that can't be read",
        minimal(**file("cgroup.conf", "CgroupPlugin=cgroup/v2\nConstrainCores yes\n")),
        "error",
        "controller.configFiles.cgroup.conf",
        ("line 2", "Key=Value"),
        file("cgroup.conf", "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\nConstrainCores=yes\n"),
    ),
    Case(
        "a plugin of cgroups that Slurm doesn't have",
        minimal(**file("cgroup.conf", "CgroupPlugin=systemd\n")),
        "error",
        "controller.configFiles.cgroup.conf",
        ("CgroupPlugin", "cgroup/v2"),
        file("cgroup.conf", "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"),
    ),
    Case(
        "a way to find GPUs that Slurm doesn't have",
        minimal(**file("gres.conf", "AutoDetect=amdgpu\n")),
        "error",
        "controller.configFiles.gres.conf",
        ("AutoDetect", "rsmi"),
        file("gres.conf", "AutoDetect=rsmi\n"),
    ),
    Case(
        "topology.conf with a parameter that Slurm doesn't read",
        minimal(**file("topology.conf", "SwitchName=s1 Blocks=a-[0-3]\n")),
        "error",
        "controller.configFiles.topology.conf",
        ("Blocks", "line 1"),
        file("topology.conf", "SwitchName=s1 Nodes=a-[0-3] LinkSpeed=100\nSwitchName=s2 Switches=s1\n"),
    ),
    Case(
        "cgroup.conf with a parameter that was removed",
        minimal(**file("cgroup.conf", "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n# TaskAffinity\nTaskAffinity=no\n")),
        "error",
        "controller.configFiles.cgroup.conf",
        ("TaskAffinity", "line 4"),
        file("cgroup.conf", "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"),
    ),
    Case(
        "cgroup.conf with a value that can't be read",
        minimal(**file("cgroup.conf", "ConstrainCores=sometimes\n")),
        "error",
        "controller.configFiles.cgroup.conf",
        ("ConstrainCores", "YES or NO"),
        file("cgroup.conf", "ConstrainCores=yes\nIgnoreSystemd=yes\n"),
    ),
    Case(
        "job_submit/lua without its script",
        conf("JobSubmitPlugins", "lua"),
        "error",
        "controller.extraConf.JobSubmitPlugins",
        ("job_submit.lua", "controller.configFiles"),
        file("job_submit.lua", LUA),
    ),
    Case(
        "job_submit.lua without a function that slurmctld calls",
        conf("JobSubmitPlugins", "lua")
        | {
            "controller": {
                "extraConf": {"JobSubmitPlugins": "lua"},
                "configFiles": {
                    "job_submit.lua": LUA.replace("slurm_job_modify", "modify") + "-- slurm_job_modify: later\n"
                },
            }
        },
        "error",
        "controller.extraConf.JobSubmitPlugins",
        ("slurm_job_modify", "slurmctld ends"),
        file("job_submit.lua", LUA),
    ),
    Case(
        "topology/tree with a file of comments only",
        conf("TopologyPlugin", "topology/tree")
        | {"controller": {"extraConf": {"TopologyPlugin": "topology/tree"}, "configFiles": {"topology.conf": "# later\n"}}},
        "error",
        "controller.extraConf.TopologyPlugin",
        ("topology.conf", "SwitchName="),
        file("topology.conf", "SwitchName=s1 Nodes=a-[0-3]\n"),
    ),
    Case(
        "a name that slurmdbd.conf lacks",
        minimal(accounting=DBD | {"extraConf": {"SlurmctldPidFile": "/run/slurmdbd.pid"}}),
        "error",
        "accounting.extraConf.SlurmctldPidFile",
        ("slurmdbd refuses its whole file", "it is a parameter of slurm.conf"),
        {"accounting": {"extraConf": {"SlurmctldPidFile": None}}},
    ),
    *(
        Case(
            f"slurmdbd.conf: {key}",
            minimal(accounting=DBD | {"extraConf": {key: value}}),
            "error",
            f"accounting.extraConf.{key}",
            (words,),
            {"accounting": {"extraConf": {key: good}}},
        )
        for key, value, words, good in (
            ("PurgeJobAfter", "12moths", "months, days or hours", "12months"),
            ("DebugLevel", "chatty", "verbose", "verbose"),
            ("MessageTimeout", "soon", "a whole number", "20"),
            ("ArchiveJobs", "later", "YES or NO", "yes"),
        )
    ),
    *(
        Case(f"slurm.conf: {key}", conf(key, value), "error", f"controller.extraConf.{key}", (words,), without(key))
        for key, value, words in (
            ("AccountingStorageEnforce", "assoc,limit", "associations"),
            ("DebugFlags", "Gang,Foo", "gang"),
            ("PreemptExemptTime", "abc", "a time of Slurm"),
            ("PriorityMaxAge", "seven", "a time of Slurm"),
            ("PriorityCalcPeriod", "x", "a time of Slurm"),
            ("PriorityCalcPeriod", "0", "a minute or more"),
            ("PropagateResourceLimitsExcept", "MEMLOK", "MEMLOCK"),
            ("PropagateResourceLimits", "memlock", "MEMLOCK"),
            ("ReconfigFlags", "KeepPartStat", "keeppartstate"),
            ("SchedulerParameters", "bf_window=10,max_script_size=9000000000", "max_script_size"),
        )
    ),
    Case(
        "a volume source that Kubernetes doesn't have",
        volumes({"persistentVolumeClam": {"claimName": "scratch"}}),
        "error",
        "nodesets.gpu.volumes.0.source.persistentVolumeClam",
        ("persistentVolumeClaim",),
        volumes({"persistentVolumeClaim": {"claimName": "scratch"}}),
    ),
    Case(
        "a field of a volume source that it doesn't have",
        volumes({"hostPath": {"pth": "/scratch"}}),
        "error",
        "nodesets.gpu.volumes.0.source.hostPath.pth",
        ("path",),
        volumes({"hostPath": {"path": "/scratch"}}),
    ),
    Case(
        "a toleration whose seconds are a text",
        nodeset(pod={"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": "soon"}]}),
        "error",
        "nodesets.gpu.pod.tolerations.0.tolerationSeconds",
        ("a whole number",),
        nodeset(pod={"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 30}]}),
    ),
    Case(
        "a device that isn't called as Kubernetes calls them",
        nodeset(resources={"extended": {"gpu": 4}}),
        "error",
        "nodesets.gpu.resources.extended.gpu",
        ("nvidia.com/gpu",),
        {"nodesets": {"gpu": {"resources": {"extended": {"gpu": None}}}}},
    ),
]
FIELD += [
    Case(
        "a quota of CPUs in a namespace whose sidecars ask for none",
        minimal(cluster={"name": "c", "quota": {"requests.cpu": "64"}}),
        "error",
        "cluster.quota.requests.cpu",
        ("cluster.defaultResources",),
        {"cluster": {"defaultResources": True}},
    ),
    Case(
        "the same with a NodeSet that asks for none",
        minimal(
            cluster={"name": "c", "quota": {"limits.memory": "640Gi"}, "defaultResources": True},
            nodesets={"a": {"replicas": 1, "resources": {"cpus": 4}}},
        ),
        "error",
        "nodesets.a.resources",
        ("cpus and memory", "limits.memory"),
        {"nodesets": {"a": {"resources": {"memory": "8Gi"}}}},
    ),
    Case(
        "two passwords of one database",
        minimal(accounting={"database": {"host": "db.example.org", "passwordFrom": {"secret": "mariadb"}}}),
        "error",
        "accounting.database.passwordFrom",
        ("databasePassword", "pulumi config rm"),
        {"accounting": {"database": {"passwordFrom": None}}},
    ),
]
FIELD += [
    Case(
        f"a raw piece that {what}",
        nodeset(raw=bad),
        "error",
        f"nodesets.gpu.raw.{path}",
        words,
        {"nodesets": {"gpu": {"raw": dict.fromkeys(bad)}}},
    )
    for what, bad, path, words in (
        ("a setting has", {"pod": {"nodeSelector": {"a": "b"}}}, "pod.nodeSelector", ("pod.nodeSelector",)),
        (
            "resources have",
            {"container": {"resources": {"limits": {"cpu": "2"}}}},
            "container.resources.limits.cpu",
            ("use resources",),
        ),
        (
            "makes slurmd unprivileged",
            {"container": {"securityContext": {"privileged": True}}},
            "container.securityContext.privileged",
            ("privileged",),
        ),
        ("the operator owns", {"container": {"command": ["sh"]}}, "container.command", ("operator",)),
        ("Kubernetes doesn't know", {"pod": {"runtimeClas": "x"}}, "pod.runtimeClas", ("runtimeClassName",)),
        ("has a wrong type", {"container": {"args": "-v"}}, "container.args", ("a list",)),
        ("gates go by", {"spec": {"ordinalPadding": 3}}, "spec.ordinalPadding", ("gates",)),
        ("has no Service", {"service": {"externalTrafficPolicy": "Local"}}, "service", ("no Service",)),
        (
            "shows a secret",
            {"container": {"env": [{"name": "API_TOKEN", "value": "x"}]}},
            "container.env",
            ("secretKeyRef",),
        ),
        (
            "sets a variable of ours",
            {"container": {"env": [{"name": "POD_CPUS", "value": "2"}]}},
            "container.env",
            ("POD_CPUS",),
        ),
    )
]
FIELD += [
    Case(
        "a daemon's pod with a folder of its node",
        minimal(controller={"raw": {"pod": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}}}),
        "error",
        "controller.raw.pod.volumes",
        ("hostPath",),
        {"controller": {"raw": {"pod": None}}},
    ),
    Case(
        "an external address of a Service",
        minimal(controller={"raw": {"service": {"externalIPs": ["192.0.2.1"]}}}),
        "error",
        "controller.raw.service.externalIPs",
        ("service.type",),
        {"controller": {"raw": {"service": None}}},
    ),
]
FIELD += [
    Case(
        "cgroups disabled beside a plugin that uses them by default",
        minimal(operator={"version": "1.2.1"}, **file("cgroup.conf", "CgroupPlugin=disabled\n")),
        "error",
        "controller.configFiles.cgroup.conf",
        ("ProctrackType", "proctrack/linuxproc"),
        {"controller": {"extraConf": {"ProctrackType": "proctrack/linuxproc"}}},
    ),
    Case(
        "more outside hosts than a ConfigMap holds",
        minimal(
            external={
                "slurmdHosts": [
                    {"name": f"metal-{n:05}", "config": {"CPUs": "2", "Features": "x" * 900}} for n in range(1100)
                ]
            },
            cluster={"name": "c", "maxNodeCount": 9000},
        ),
        "error",
        "external.slurmdHosts",
        ("KiB", "ConfigMap"),
        {"external": {"slurmdHosts": [{"name": "metal-1"}]}},
    ),
]
FIELD_TOLD = [
    Case(
        "a namespace of the operator's that can't have the Secret of its images yet",
        minimal(operator={"values": {"imagePullSecrets": [{"name": "regcred"}]}}),
        "warning",
        "operator.createNamespace",
        ("makes namespace slinky without", "Secret regcred", "set this false"),
        {"operator": {"createNamespace": False}},
    ),
    Case(
        "files that fill most of a ConfigMap",
        minimal(controller={"configFiles": {"job_submit.lua": "-- " + "x" * (800 << 10)}}),
        "warning",
        "controller.configFiles",
        ("of the 976 KiB",),
        {"controller": {"configFiles": {"job_submit.lua": "-- x"}}},
    ),
    Case(
        "a QOS that slurmdbd must have first",
        minimal(accounting=DBD, nodesets={"a": {"replicas": 1, "partition": {"config": {"AllowQos": "high"}}}}),
        "warning",
        "nodesets.a.partition.config.AllowQos",
        ("high", "sacctmgr add qos"),
        {"nodesets": {"a": {"partition": {"config": {"AllowQos": "normal"}}}}},
    ),
    Case(
        "more GPUs than devices",
        nodeset(gres=["gpu:4"], resources={"extended": {"nvidia.com/gpu": 2}}),
        "warning",
        "nodesets.gpu.gres",
        ("4 GPUs", "2 devices"),
        {"nodesets": {"gpu": {"gres": ["gpu:2"]}}},
    ),
    Case(
        "a plugin of a site's own image",
        conf("PriorityType", "priority/mine", cluster={"name": "c", "images": {"slurmctld": "registry.example.org/own:1"}}),
        "warning",
        "controller.extraConf.PriorityType",
        ("priority/multifactor", "your own images"),
        without("PriorityType"),
    ),
    Case(
        "metrics of a slurmctld that they can end",
        minimal(
            cluster={"name": "c", "images": {"slurmctld": "ghcr.io/slinkyproject/slurmctld:25.11.2-ubuntu24.04"}},
            operator={"version": "1.1.2"},
            controller={"metrics": True},
        ),
        "warning",
        "controller.metrics",
        ("25.11.2", "25.11.5"),
        {"cluster": {"images": {"slurmctld": "ghcr.io/slinkyproject/slurmctld:25.11.5-ubuntu24.04"}}},
    ),
]
SOUND = {
    "a name of a cluster with a hyphen": minimal(cluster={"name": "ml-cluster"}),
    "a value with blanks": minimal(
        controller={"extraConf": {"InteractiveStepOptions": "--interactive --preserve-env --pty $SHELL"}}
    ),
    "cgroups disabled with an operator that writes other plugins then": minimal(
        operator={"version": "1.1.2"}, **file("cgroup.conf", "CgroupPlugin=disabled\n")
    ),
    "no slurmdbd with an operator that leaves slurmrestd's plugins to slurmrestd": minimal(operator={"version": "1.1.1"}),
    "IPv6 alone": conf("CommunicationParameters", "DisableIPv4,EnableIPv6"),
    "a plugin that is built for several releases": conf("MpiDefault", "pmix_v5"),
    "a name that stands for no plugin": conf("MpiDefault", "openmpi"),
    "a name that stands for no plugin, with its kind": conf("MpiDefault", "mpi/none"),
    "resources of a daemon": minimal(controller={"resources": {"cpus": 2, "memory": "4Gi"}}),
    "a password in a Secret of others": minimal(
        cluster={"name": "lab", "createNamespace": False},
        accounting={"database": {"host": "db.example.org", "passwordFrom": {"secret": "mariadb", "key": "password"}}},
    ),
    "raw pieces": nodeset(
        raw={
            "pod": {"runtimeClassName": "nvidia", "initContainers": [{"name": "i", "image": "i:1"}]},
            "container": {
                "args": ["-v"],
                "env": [{"name": "HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
                "resources": {"claims": [{"name": "imex"}]},
            },
            "spec": {"minReadySeconds": 5},
        }
    ),
    "devices of nodes by their names": minimal(
        **file("gres.conf", "NodeName=a-0 Name=gpu Type=1g.5gb Count=2 \\\n  File=/dev/nvidia[0-1]\nAutoDetect=NVML # all\n")
    ),
    "local disks of nodes": minimal(
        controller={
            "extraConf": {
                "TmpFS": "/localscratch",
                "AcctGatherProfileType": "acct_gather_profile/hdf5",
                "NamespaceType": "namespace/tmpfs",
                "PrologFlags": "Contain",
            },
            "configFiles": {
                "job_container.conf": "AutoBasePath=true\nBasePath=/var/nvme/storage\n",
                "acct_gather.conf": "ProfileHDF5Dir=/mnt/data/slurm/profile_data\n",
            },
        }
    ),
    "a port that the operator writes too": conf("SlurmdPort", "6818"),
    "the least age of ended jobs that Slurm advises": conf("MinJobAge", "2"),
    "what clients of a federation show": conf("FederationParameters", "fed_display"),
    "a quota of GPUs": minimal(cluster={"name": "c", "quota": {"requests.nvidia.com/gpu": 8}}),
    "a resource that jobs don't consume": nodeset(gres=["license:no_consume:4"], resources={"extended": {"a.io/b": 1}}),
}
"""Settings over which nothing is said."""
