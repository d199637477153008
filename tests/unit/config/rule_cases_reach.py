"""What Slurm's parameters and files may reach only with a word of the stack: programs, other hosts, places, bounds."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
from tests.unit.config.rule_cases import Case, nodeset
from tests.unit.config.rule_cases_field import DBD, conf, file, without


def _files(name: str, text: str) -> dict[str, Any]:
    return minimal(controller={"configFiles": {name: text}})


def _of(name: str, key: str, value: str, words: tuple[str, ...]) -> Case:
    return Case(name, conf(key, value), "error", f"controller.extraConf.{key}", words, without(key))


def _raw_arguments(section: str, word: str) -> dict[str, Any]:
    part: dict[str, Any] = {"raw": {"container": {"args": [word]}}}
    named = {"nodesets": {"gpu": {"replicas": 1, **part}}, "logins": {"a": {"sssdConfFrom": {"secret": "sssd"}, **part}}}
    return {section: named.get(section, part)}


def _raw(section: str, raw: dict[str, Any]) -> dict[str, Any]:
    return nodeset(raw=raw) if section == "nodesets" else minimal(**{section: {"raw": raw}})


REACH = [
    _of("a program of a shared folder", "MailProg", "/home/shared/mail", ("isn't of the image", "slurm-runs")),
    _of("a shell in the place of a program", "RebootProgram", "/sbin/reboot;id", ("isn't of the image",)),
    _of("a program that runs another", "RebootProgram", "/usr/bin/env /home/x", ("isn't of the image", "slurm-runs")),
    _of("a program that sends", "MailProg", "/usr/bin/nc mail.example.org 25", ("isn't of the image",)),
    _of("libraries of users", "PluginDir", "/usr/lib64/slurm:/scratch/lib", ("isn't of the image",)),
    _of("jobs are told to another host", "JobCompHost", "logs.example.org", ("another host", "slurm-sends")),
    _of("a way of telling it", "JobCompType", "jobcomp/elasticsearch", ("jobcomp/filetxt",)),
    _of("messages of daemons in a log", "DebugFlags", "Gres,NetRaw", ("has NetRaw: ", "credentials")),
    _of(
        "a log beside the state",
        "SlurmctldLogFile",
        "/etc/cron.d/x",
        ("allowed are files and folders below /var/log", "slurm-writes"),
    ),
    _of(
        "a spool where users write",
        "SlurmdSpoolDir",
        "/scratch/spool/%n",
        ("files and folders below /var/spool, /run", "slurm-writes"),
    ),
    _of("a timeout below an answer", "SlurmdTimeout", "10", ("lost below 60", "slurm-bounds")),
    _of("no time to end", "KillWait", "1", ("lost below 10", "slurm-bounds")),
    _of("a number that is another one to slurmctld", "KillWait", "0x10", ("lost below 10",)),
    Case(
        "a partition whose jobs are ended for others",
        nodeset(partition={"config": {"PreemptMode": "CANCEL"}}),
        "error",
        "nodesets.gpu.partition.config.PreemptMode",
        ("has CANCEL: ", "ended for others", "allowed: off"),
        {"nodesets": {"gpu": {"partition": {"config": {"PreemptMode": "OFF"}}}}},
    ),
    _of("a spool of jobs that begin again", "RequeueExit", "0,3", ("has 0: ", "begin again")),
    _of("processes that leave their job", "ProctrackType", "proctrack/linuxproc", ("go on after it",)),
    _of(
        "a scheduler that stands",
        "SchedulerParameters",
        "bf_continue,sched_interval=-1",
        ("has sched_interval=…: nothing is scheduled",),
    ),
    _of(
        "users that run programs",
        "SlurmctldParameters",
        "allow_user_triggers,user_resv_delete",
        ("has allow_user_triggers, user_resv_delete: users run programs",),
    ),
    Case(
        "records of jobs that are dropped",
        conf("SlurmctldParameters", "max_dbd_msg_action=discard"),
        "error",
        "controller.extraConf.SlurmctldParameters",
        ("has max_dbd_msg_action=…", "allowed: all but", "max_dbd_msg_action=discard"),
        conf("SlurmctldParameters", "max_dbd_msg_action=exit"),
    ),
    _of("a parameter without a row", "PowerAction", "x", ("does not know which of its values are safe",)),
    Case(
        "devices for every job",
        _files("cgroup.conf", "ConstrainDevices=no\n"),
        "error",
        "controller.configFiles.cgroup.conf",
        ("line 1", "devices of others", "slurm-bounds"),
        file("cgroup.conf", "ConstrainDevices=yes\n"),
    ),
    Case(
        "records that go after a day",
        minimal(accounting=DBD | {"extraConf": {"PurgeJobAfter": "1day"}}),
        "error",
        "accounting.extraConf.PurgeJobAfter",
        ("less than a month", "slurm-bounds"),
        {"accounting": {"extraConf": {"PurgeJobAfter": "12months"}}},
    ),
    Case(
        "a library that every job loads",
        _files("plugstack.conf", "required /scratch/spank.so\n"),
        "error",
        "controller.configFiles.plugstack.conf",
        ("line 1", "isn't a library of the image"),
        file("plugstack.conf", "required x11.so\n"),
    ),
    Case(
        "a script of slurmctld that runs programs",
        _files("job_submit.lua", "function f() os.execute('id') end\n"),
        "error",
        "controller.configFiles.job_submit.lua",
        ("os.execute", "slurm-runs"),
        file("job_submit.lua", "return 0\n"),
    ),
    Case(
        "profiles that go elsewhere",
        merged(
            _files("acct_gather.conf", "ProfileInfluxDBHost=influx.example.org:8086\n"),
            {
                "controller": {"extraConf": {"AcctGatherProfileType": "acct_gather_profile/influxdb"}},
                "acknowledged": {"slurm-sends@controller.extraConf.AcctGatherProfileType": "the site's own InfluxDB"},
            },
        ),
        "error",
        "controller.configFiles.acct_gather.conf",
        ("ProfileInfluxDBHost on line 1", "another host"),
        file("acct_gather.conf", "# none\n"),
    ),
]
KEYS = {"secretRef": {"name": "slurm-auth-slurm"}}
KEY = {"name": "K", "valueFrom": {"secretKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}}}
REACH_RAW = [
    Case(
        f"a raw piece {what}",
        minimal(controller={"raw": bad}),
        "error",
        f"controller.raw.{path}",
        words,
        {"controller": {"raw": dict.fromkeys(bad)}},
    )
    for what, bad, path, words in (
        (
            "over /etc/slurm",
            {"container": {"volumeMounts": [{"name": "x", "mountPath": "/opt/../etc/slurm/slurm.conf", "subPath": "a"}]}},
            "container.volumeMounts",
            ("/opt/../etc/slurm/slurm.conf", "take their place"),
        ),
        (
            "over a program",
            {"container": {"volumeMounts": [{"name": "x", "mountPath": "//usr/sbin/slurmctld"}]}},
            "container.volumeMounts",
            ("programs",),
        ),
        (
            "that mounts the keys' volume",
            {"container": {"volumeMounts": [{"name": "slurm-etc", "mountPath": "/x"}]}},
            "container.volumeMounts",
            ("slurm-etc", "which has its place there already. Remove the mount"),
        ),
        (
            "beside it that mounts them",
            {
                "pod": {
                    "initContainers": [
                        {"name": "i", "image": "i:1", "volumeMounts": [{"name": "slurm-etc", "mountPath": "/x"}]}
                    ]
                }
            },
            "pod.initContainers",
            ("mounts slurm-etc, the name of a volume of the operator's with slurm.key", "another container would read it"),
        ),
        (
            "that is root of the node",
            {"container": {"securityContext": {"privileged": True}}},
            "container.securityContext.privileged",
            ("in sight",),
        ),
        (
            "of the name of theirs",
            {"pod": {"volumes": [{"name": "slurm-etc", "emptyDir": {}}]}},
            "pod.volumes",
            ("Rename it",),
        ),
        (
            "with a key",
            {"pod": {"volumes": [{"name": "k", "secret": {"secretName": "slurm-auth-slurm"}}]}},
            "pod.volumes",
            ("a key of the cluster",),
        ),
        ("with a key as a variable", {"container": {"env": [KEY]}}, "container.env", ("a key of the cluster",)),
        ("with all keys as variables", {"container": {"envFrom": [KEYS]}}, "container.envFrom", ("a key of the cluster",)),
        (
            "with a key before it starts",
            {"pod": {"initContainers": [{"name": "a", "env": [KEY]}]}},
            "pod.initContainers.env",
            ("a key of the cluster",),
        ),
        (
            "with a token of Kubernetes",
            {"pod": {"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}},
            "pod.volumes",
            ("serviceAccountToken",),
        ),
        ("that ends pods", {"pod": {"activeDeadlineSeconds": 60}}, "pod.activeDeadlineSeconds", ("no gate drains",)),
        ("that sees other processes", {"pod": {"hostPID": True}}, "pod.hostPID", ("in sight",)),
        ("that shares them", {"pod": {"shareProcessNamespace": True}}, "pod.shareProcessNamespace", ("in sight",)),
        (
            "with an account",
            {"pod": {"serviceAccountName": "deployer"}},
            "pod.serviceAccountName",
            ("a token of such an account", "pullSecrets"),
        ),
        ("that leads elsewhere", {"pod": {"hostAliases": []}}, "pod.hostAliases", ("other hosts",)),
        (
            "that loads a library",
            {"container": {"env": [{"name": "LD_PRELOAD", "value": "/scratch/x.so"}]}},
            "container.env",
            ("LD_PRELOAD", "other code"),
        ),
    )
]
REACH_RAW += [
    Case(
        "a claim of the keys' volume's name",
        nodeset(raw={"spec": {"volumeClaimTemplates": [{"metadata": {"name": "slurm-etc"}}]}}),
        "error",
        "nodesets.gpu.raw.spec.volumeClaimTemplates",
        ("slurm-etc", "another name"),
        {"nodesets": {"gpu": {"raw": {"spec": None}}}},
    ),
    Case(
        "a volume over /etc/slurm by another spelling",
        nodeset(volumes=[{"name": "x", "mountPath": "/opt/../etc/slurm", "source": {"configMap": {"name": "x"}}}]),
        "error",
        "nodesets.gpu.volumes",
        ("/etc/slurm", "mount it elsewhere"),
        {"nodesets": {"gpu": {"volumes": []}}},
    ),
]
REACH_RAW += [
    Case(
        f"an argument by which {what}",
        minimal(**_raw_arguments(section, word)),
        "error",
        f"{path}.raw.container.args",
        (word.partition("=")[0], "isn't taken here"),
        _raw_arguments(section, "-v") if section != "logins" else {"logins": {"a": {"raw": None}}},
    )
    for what, section, path, word in (
        ("slurmd is another node", "nodesets", "nodesets.gpu", "-N"),
        ("slurmd asks another slurmctld", "nodesets", "nodesets.gpu", "--conf-server=evil.example.org"),
        ("slurmd has other features", "nodesets", "nodesets.gpu", "--conf"),
        ("slurmctld forgets all jobs", "controller", "controller", "-c"),
        ("slurmrestd runs without authentication", "restapi", "restapi", "-a"),
        ("a login pod runs another program", "logins", "logins.a", "sleep"),
    )
]
REACH_RAW += [
    Case(
        f"a raw piece by which {what}",
        nodeset(raw={"pod": bad}),
        "error",
        f"nodesets.gpu.raw.pod.{path}",
        words,
        {"nodesets": {"gpu": {"raw": {"pod": None}}}},
    )
    for what, bad, path, words in (
        ("jobs have the pod's token", {"automountServiceAccountToken": True}, "automountServiceAccountToken", ("token",)),
        ("names lead elsewhere", {"dnsConfig": {"nameservers": ["192.0.2.1"]}}, "dnsConfig.nameservers", ("other hosts",)),
        ("names are completed elsewhere", {"dnsConfig": {"searches": ["evil.org"]}}, "dnsConfig.searches", ("other hosts",)),
    )
]

_DOWN = ["sh", "-c", "scontrol update nodename=$(hostname) state=down reason=x"]
_DELETE = ["scontrol", "delete", "nodename=x"]
REACH_RAW += [
    Case(
        f"a command of a container that {what}",
        _raw(section, raw),
        "error",
        f"{path}.raw.{below}",
        (words, f"`slinky-iac:acknowledged:` the line `slurm-runs@{path}.raw.{below}: WHY`"),
        {section: {"gpu": {"raw": None}} if section == "nodesets" else {"raw": None}},
    )
    for what, section, path, raw, below, words in (
        (
            "sets its node to DOWN",
            "controller",
            "controller",
            {"container": {"lifecycle": {"preStop": {"exec": {"command": _DOWN}}}}},
            "container.lifecycle.preStop",
            "which ends its jobs; drain it",
        ),
        (
            "deletes its node's record",
            "nodesets",
            "nodesets.gpu",
            {"container": {"lifecycle": {"postStart": {"exec": {"command": _DELETE}}}}},
            "container.lifecycle.postStart",
            "deletes a node's record",
        ),
        (
            "cancels jobs",
            "controller",
            "controller",
            {"container": {"lifecycle": {"preStop": {"exec": {"command": ["scancel", "--state=RUNNING"]}}}}},
            "container.lifecycle.preStop",
            "ends jobs of others",
        ),
        (
            "sets a node to DOWN before slurmd",
            "nodesets",
            "nodesets.gpu",
            {"pod": {"initContainers": [{"name": "a", "image": "r/a:1", "command": _DOWN[:2], "args": _DOWN[2:]}]}},
            "pod.initContainers",
            "which ends its jobs; drain it",
        ),
    )
]
