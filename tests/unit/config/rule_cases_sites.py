"""What public sites write that was taken without a word, refused though it is sound, or answered with the wrong advice.

The right answers are those of Slurm's sources, 26.05 and 25.11; a case names the function where it isn't the file's own.
"""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_files import file, line
from tests.unit.config.rule_cases_values import conf

WITH_DATABASE: dict[str, Any] = {
    "cluster": {"name": "lab"},
    "accounting": {"database": {"host": "db.example.org"}},
}
OF_OTHERS = {"cluster": {"createNamespace": False}}
OF_OTHERS |= {"accounting": {"database": {"passwordFrom": {"secret": "db", "key": "password"}}}}
MOUNTED = {
    "pod": {"volumes": [{"name": "site", "configMap": {"name": "site", "defaultMode": 0o555}}]},
    "container": {"volumeMounts": [{"name": "site", "mountPath": "/opt/site"}]},
}
ARCHIVE = merged(MOUNTED, {"container": {"volumeMounts": [{"name": "site", "mountPath": "/archive"}]}})


def dbd(case: str, level: str, key: str, bad: str, words: tuple[str, ...], cure: dict[str, Any]) -> Case:
    """A parameter of slurmdbd.conf."""
    wrong = merged(WITH_DATABASE, {"accounting": {"extraConf": {key: bad}}})
    return Case(case, wrong, level, f"accounting.extraConf.{key}", words, {"accounting": cure})


def shares(gres_conf: str, *items: str) -> dict[str, Any]:
    settings = {"gres": ["gpu:4", *items], "resources": {"cpus": 4, "extended": {"nvidia.com/gpu": 4}}}
    return nodeset(**settings) | file("gres.conf", gres_conf)


GRES_CONF = "controller.configFiles.gres.conf"
DATABASE = [
    dbd(
        "a script of archives that slurmdbd's pod lacks",
        "error",
        "ArchiveScript",
        "/opt/site/archive.sh",
        ("slurmdbd ends", "accounting.raw"),
        {"raw": MOUNTED},
    ),
    dbd(
        "a script of archives in /etc/slurm, where only slurmctld's pod has files of settings",
        "error",
        "ArchiveScript",
        "/etc/slurm/archive.sh",
        ("slurmdbd ends",),
        {"extraConf": {"ArchiveScript": None}},
    ),
    dbd(
        "slurmdbd that speaks neither IPv4 nor IPv6",
        "error",
        "CommunicationParameters",
        "DisableIPv4",
        ("EnableIPv6", "slurmdbd refuses"),
        {"extraConf": {"CommunicationParameters": "DisableIPv4,EnableIPv6"}},
    ),
    Case(
        "archives in a folder that goes with the pod",
        merged(WITH_DATABASE, {"accounting": {"extraConf": {"ArchiveJobs": "yes", "PurgeJobAfter": "12months"}}}),
        "error",
        "accounting.extraConf.ArchiveJobs",
        ("/tmp", "ArchiveDir"),
        {"accounting": {"extraConf": {"ArchiveDir": "/archive"}, "raw": ARCHIVE}},
    ),
]
TMPFS = {"NamespaceType": "namespace/tmpfs", "PrologFlags": "Contain"}
LINUX = {"NamespaceType": "namespace/linux", "PrologFlags": "Contain"}


def folders(case: str, name: str, bad: str, words: tuple[str, ...], good: str) -> Case:
    """job_container.conf or namespace.yaml of the release that is the default."""
    kind = TMPFS if name == "job_container.conf" else LINUX
    path = f"controller.configFiles.{name}"
    return Case(case, minimal(**file(name, bad, **kind)), "error", path, words, file(name, good, **kind))


FILES_OF_PLUGINS = [
    *(
        conf(f"topology/{kind} without its file", "error", "TopologyPlugin", f"topology/{kind}", (kind, named), None)
        for kind, named in (("ring", "RingName="), ("torus3d", "topology.yaml"))
    ),
    Case(
        "topology.conf without a ring",
        minimal(**file("topology.conf", "SwitchName=s Nodes=a-[0-3]\n", TopologyPlugin="topology/ring")),
        "error",
        "controller.extraConf.TopologyPlugin",
        ("ring", "RingName="),
        file("topology.conf", "RingName=r Nodes=a-[0-3]\n"),
    ),
    Case(
        "a ring that is there twice",
        minimal(**file("topology.conf", "RingName=r Nodes=a\nRingName=r Nodes=b\n", TopologyPlugin="topology/ring")),
        "error",
        "controller.configFiles.topology.conf",
        ("ring r", "twice"),
        file("topology.conf", "RingName=r Nodes=a\nRingName=s Nodes=b\n"),
    ),
    *(
        Case(
            f"a feature of helpers.conf called {bad}",
            minimal(**file("helpers.conf", text, NodeFeaturesPlugins="node_features/helpers")),
            "error",
            "controller.configFiles.helpers.conf",
            (bad, "begins with a letter"),
            file(
                "helpers.conf", "Feature=mig_on,_4k Helper=/usr/bin/true\nNodeName=a-0 Feature=x.1=2 Helper=/usr/bin/true\n"
            ),
        )
        for bad, text in (
            ("mig-on", "Feature=mig-on Helper=/usr/bin/true\n"),
            ("4k", "Feature=a,4k Helper=/usr/bin/true\n"),
            ("b/c", "NodeName=a-0 Feature=b/c Helper=/usr/bin/true\n"),
        )
    ),
    folders(
        "folders of jobs in one of these, of this release",
        "job_container.conf",
        "BasePath=/tmp\n",
        ("slurmd ends",),
        "BasePath=/var/spool/j\n",
    ),
    folders(
        "folders of jobs that begin as one of these",
        "job_container.conf",
        "AutoBasePath=true\nBasePath=/var/tmp\nDirs=/tmp,/var/tmp2\n",
        ("slurmd ends",),
        "AutoBasePath=true\nBasePath=/var/spool/tmp\nDirs=/tmp,/var/tmp2\n",
    ),
    folders(
        "folders of jobs below one of these, which hides them",
        "job_container.conf",
        "AutoBasePath=true\nBasePath=/tmp/jobs\n",
        ("no job starts", "below /tmp"),
        "AutoBasePath=true\nBasePath=/dev/shm/jobs\n",
    ),
    folders(
        "namespaces in one of their folders",
        "namespace.yaml",
        "defaults: {auto_base_path: true, base_path: /tmp}\n",
        ("slurmd ends",),
        "defaults: {base_path: /var/tmp}\n",
    ),
    folders(
        "namespaces in one of their folders with options",
        "namespace.yaml",
        "defaults: {base_path: /scratch, dir_confs: [{path: /scratch/a}, {path: /dev/shm, tmpfs: true}]}\n",
        ("slurmd ends", "/scratch"),
        "defaults: {base_path: /tmp, dir_confs: [{path: /scratch/a}]}\n",
    ),
    folders(
        "namespaces of a node in the folders of all",
        "namespace.yaml",
        "defaults: {base_path: /a, dirs: '/tmp,/b'}\nnode_confs: [{nodes: [n], options: {base_path: /b}}]\n",
        ("slurmd ends", "/b"),
        "node_confs: [{nodes: [n], options: {base_path: /b2}}]\n",
    ),
]
GRES = [
    *(
        Case(
            f"fewer {name} in gres.conf than on the node",
            shares(text, f"{name}:32"),
            "error",
            GRES_CONF,
            (name, "32", "slurmd ends"),
            file("gres.conf", good),
        )
        for name, text, good in (
            ("shard", "AutoDetect=nvidia\nName=shard Count=16\n", "AutoDetect=nvidia\nName=shard Count=32\n"),
            ("mps", "AutoDetect=nvidia\nName=mps Count=30\n", "AutoDetect=nvidia\nName=mps Count=64\n"),
            (
                "shard",
                "Name=gpu File=/dev/nvidia[0-3]\nName=shard Count=4 File=/dev/nvidia[0-3]\n",
                "Name=gpu File=/dev/nvidia[0-3]\nName=shard Count=16 File=/dev/nvidia[0-1]\n"
                "Name=shard Count=16 File=/dev/nvidia[2-3]\n",
            ),
        )
    ),
    conf("types of gres with a blank", "error", "GresTypes", "gpu, nic", ("blank", "Write a,b"), "gpu,nic"),
    *(
        conf(f"{key} with a blank beside a comma", "error", key, bad, ("blank", "Write a,b"), bad.replace(" ", ""))
        for key, bad in (
            ("BcastExclude", "/a, /b"),
            ("CpuFreqGovernors", "OnDemand, Performance"),
            ("HealthCheckNodeState", "IDLE, MIXED"),
            ("MetricsAuthUsers", "ann, bob"),
            ("SuspendExcStates", "DOWN, DRAIN"),
        )
    ),
]
SITES = [*DATABASE, *FILES_OF_PLUGINS, *GRES]
SITES += [
    conf(
        "enforcement by the number of old",
        "error",
        "AccountingStorageEnforce",
        "0",
        ("Write one of these, or remove it",),
        "1",
    ),
    conf("the harmful option by its beginning", "error", "SlurmdParameters", "config_override", ("config_override",), None),
    Case(
        "a partition without nodes for a job",
        line("part", {"MaxNodes": "0"}),
        "error",
        "nodesets.gpu.partition.config.MaxNodes",
        ("no job would run",),
        {"nodesets": {"gpu": {"partition": {"config": {"MaxNodes": "1"}}}}},
    ),
    Case(
        "a plugin of plugstack.conf by a pattern",
        minimal(**file("plugstack.conf", "required /usr/lib/slurm/x*.so\n")),
        "error",
        "controller.configFiles.plugstack.conf",
        ("pattern", "each job"),
        file("plugstack.conf", "required /usr/lib/slurm/x.so a=*\ninclude /usr/share/pyxis/*\n"),
    ),
    Case(
        "the expiry of credentials without what is always there",
        minimal(controller={"extraConf": {"AuthInfo": "cred_expire=1"}}),
        "error",
        "controller.extraConf.AuthInfo",
        ("cred_expire",),
        {"controller": {"extraConf": {"AuthInfo": "cred_expire=120"}}},
    ),
]


def ignored(key: str, bad: str, words: tuple[str, ...], good: str | None, **more: str) -> Case:
    return conf(f"{key}={bad}, which does nothing", "warning", key, bad, words, good, **more)


def partition(key: str, bad: str, words: tuple[str, ...], good: str | None, **more: str) -> Case:
    path = f"nodesets.gpu.partition.config.{key}"
    cure = {"nodesets": {"gpu": {"partition": {"config": {key: good}}}}}
    return Case(f"{key}={bad} of a partition", line("part", {key: bad, **more}), "warning", path, words, cure)


SITES_TOLD = [
    ignored("KeepAliveTime", "60", ("CommunicationParameters",), None),
    ignored("SbcastParameters", "Compression=lz4", ("BcastParameters",), None),
    ignored("LaunchType", "launch/slurm", ("does nothing",), None),
    ignored("BurstBufferParameters", "x", ("does nothing",), None),
    ignored("ExtSensorsFreq", "1", ("does nothing",), None),
    ignored("HealthCheckNodeState", "IDEL", ("passes over", "did you mean idle?"), "IDLE"),
    ignored("HealthCheckTimeout", "60", ("HealthCheckInterval",), "30", HealthCheckInterval="60"),
    ignored("TreeWidth", "0", ("default",), "2"),
    ignored("MessageTimeout", "200", ("100",), "100"),
    ignored("SchedulerTimeSlice", "1", ("5 seconds",), "5"),
    ignored("SlurmctldParameters", "cloud_reg_addrs", ("cloud_reg_addrs", "does nothing"), None),
    ignored("CommunicationParameters", "NoAddrCache", ("NoAddrCache", "does nothing"), None),
    ignored("PrologFlags", "RunInJob,Serial", ("Serial", "RunInJob"), "RunInJob"),
    ignored("MCSParameters", "ondemand", ("mcs/none",), None, MCSPlugin="mcs/none"),
    ignored("Licenses", "foo*4,bar", ("foo*4", "foo:4"), "foo:4,bar"),
    ignored("PrivateData", "cloud", ("it reads accounts",), "jobs"),
    ignored("SuspendExcStates", "DOWN,IDLE", ("IDLE", "passes over"), "DOWN,MAINT"),
    partition("PreemptMode", "GANG", ("GANG",), None),
    partition("OverTimeLimit", "-5", ("below 0",), "5"),
    partition("ExclusiveUser", "YES", ("ExclusiveTopo",), "NO", ExclusiveTopo="YES"),
    partition("Alternate", "nosuch", ("nosuch",), "gpu"),
    dbd("a timeout of slurmdbd's", "warning", "MessageTimeout", "300", ("100",), {"extraConf": {"MessageTimeout": "60"}}),
    Case(
        "an obsolete file of devices",
        minimal(**file("cgroup.conf", "IgnoreSystemd=yes\nAllowedDevicesFile=/etc/slurm/cgroup_allowed.conf\n")),
        "warning",
        "controller.configFiles.cgroup.conf",
        ("AllowedDevicesFile", "does nothing"),
        file("cgroup.conf", "IgnoreSystemd=yes\n"),
    ),
    Case(
        "a plugin of topology beside a file with another",
        minimal(**file("topology.yaml", "- topology: t\n  flat: true\n", TopologyPlugin="topology/tree")),
        "warning",
        "controller.extraConf.TopologyPlugin",
        ("topology.yaml",),
        {"controller": {"extraConf": {"TopologyPlugin": None}}},
    ),
    Case(
        "AutoDetect in a line that begins with Name",
        shares("Name=gpu File=/dev/nvidia[0-3] AutoDetect=nvidia\n"),
        "warning",
        GRES_CONF,
        ("AutoDetect", "line 1", "NodeName"),
        file("gres.conf", "NodeName=gpu-[0-1] AutoDetect=nvidia Name=gpu File=/dev/nvidia[0-3]\n"),
    ),
    *(
        Case(
            f"{cpus} of a processor",
            nodeset(resources={"cpus": cpus, "memory": "8Gi"}),
            "warning",
            "nodesets.gpu.resources.cpus",
            (f"counts {whole} CPU", "share"),
            {"nodesets": {"gpu": {"resources": {"cpus": "4000m"}}}},
        )
        for cpus, whole in (("500m", 1), ("3500m", 4))
    ),
    Case(
        "devices that AutoDetect doesn't find",
        nodeset(gres=["gpu:8"], resources={"extended": {"habana.ai/gaudi": 8}}),
        "warning",
        "nodesets.gpu.gres",
        ("Name=gpu and File",),
        file("gres.conf", "Name=gpu File=/dev/accel/accel[0-7]\n"),
    ),
]
SITES_SOUND: dict[str, dict[str, Any]] = {
    "a level of the log that the operator names": minimal(controller={"extraConf": {"SlurmSchedLogLevel": "1"}}),
    "the same with operator 1.0": minimal(
        operator={"version": "1.0.1"}, controller={"extraConf": {"SlurmSchedLogLevel": "1"}}
    ),
    "enforcement by numbers": merged(
        merged(WITH_DATABASE, OF_OTHERS), {"controller": {"extraConf": {"AccountingStorageEnforce": "1,2"}}}
    ),
    "the expiry of credentials": minimal(controller={"extraConf": {"AuthInfo": "use_client_ids,cred_expire=300"}}),
    "energy by an old name": minimal(controller={"extraConf": {"AcctGatherEnergyType": "acct_gather_energy/rsmi"}}),
    "interconnect by an old name": minimal(
        controller={"extraConf": {"AcctGatherInterconnectType": "acct_gather_infiniband/ofed"}}
    ),
    "nothing gathered": minimal(controller={"extraConf": {"JobAcctGatherType": "jobacct_gather/none"}}),
    "an empty item": minimal(controller={"extraConf": {"GresTypes": "gpu,"}}),
    "GPUs beside a network's devices": nodeset(
        gres=["gpu:8"], resources={"extended": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}}
    ),
    "Neuron": nodeset(gres=["gpu:16"], resources={"extended": {"aws.amazon.com/neuron": 16}}),
    "what is only counted, fewer in gres.conf than on the node": nodeset(gres=["qpu:2"])
    | file("gres.conf", "Name=qpu Count=1\n"),
    "shares of Count on each of several nodes": shares(
        "AutoDetect=nvidia\nNodeName=gpu-0 Name=shard Count=32\nNodeName=gpu-1 Name=shard Count=64\n", "shard:32"
    ),
    "plugins of a folder beside plugstack.conf": minimal(
        **file("plugstack.conf", "include plugstack.conf.d/*.conf\ninclude /etc/slurm/plugstack.conf.d/*\n")
    ),
    "archives of what nothing purges": merged(
        merged(WITH_DATABASE, OF_OTHERS), {"accounting": {"extraConf": {"ArchiveJobs": "yes"}}}
    ),
    "namespaces whose base only begins as a folder does": minimal(
        **file("namespace.yaml", "defaults:\n  base_path: /local\n  dirs: /localscratch\n", **LINUX)
    ),
}
