"""What Slurm's parameters and files may reach only with a word of the stack: programs, other hosts, places, bounds."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case
from tests.unit.config.rule_cases_field import DBD, conf, file, without


def _files(name: str, text: str) -> dict[str, Any]:
    return minimal(controller={"configFiles": {name: text}})


def _of(name: str, key: str, value: str, words: tuple[str, ...]) -> Case:
    return Case(name, conf(key, value), "error", f"controller.extraConf.{key}", words, without(key))


REACH = [
    _of("a program of a shared folder", "MailProg", "/home/shared/mail", ("isn't of the image", "slurm-runs")),
    _of("a shell in the place of a program", "RebootProgram", "/sbin/reboot;id", ("isn't of the image",)),
    _of("libraries of users", "PluginDir", "/usr/lib64/slurm:/scratch/lib", ("isn't of the image",)),
    _of("jobs are told to another host", "JobCompHost", "logs.example.org", ("another host", "slurm-sends")),
    _of("a way of telling it", "JobCompType", "jobcomp/elasticsearch", ("jobcomp/filetxt",)),
    _of("messages of daemons in a log", "DebugFlags", "NetRaw", ("netraw", "credentials")),
    _of("a log beside the state", "SlurmctldLogFile", "/etc/cron.d/x", ("daemons write below", "slurm-writes")),
    _of("a timeout below an answer", "SlurmdTimeout", "10", ("jobs are lost below 60", "slurm-bounds")),
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
        _files("acct_gather.conf", "ProfileInfluxDBHost=influx.example.org:8086\n"),
        "error",
        "controller.configFiles.acct_gather.conf",
        ("ProfileInfluxDBHost on line 1", "another host"),
        file("acct_gather.conf", "ProfileHDF5Dir=/scratch/profiles\n"),
    ),
]
