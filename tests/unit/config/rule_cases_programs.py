"""More cases for the rules: programs and folders of plugins that slurm.conf names, and pods that lack them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tests.stacks import merged as laid
from tests.stacks import minimal
from tests.unit.config.rule_cases import Case, nodeset


def merged(*layers: dict[str, Any]) -> dict[str, Any]:
    """Stacks laid one over the other."""
    return reduce(laid, layers)


SCRIPT = "#!/bin/sh\nexit 0\n"
OWN = {"nodesets": {"gpu": {"image": "registry.example/slurmd:ours"}}}
OWN_SLURMCTLD = {"cluster": {"images": {"slurmctld": "registry.example/slurmctld:ours"}}}


def conf(name: str, value: str | None, **more: str) -> dict[str, Any]:
    """Parameters of slurm.conf."""
    return {"controller": {"extraConf": {name: value, **more}}}


def mounted(at: str) -> dict[str, Any]:
    """A volume of the NodeSet's."""
    return {"nodesets": {"gpu": {"volumes": [{"name": "v", "mountPath": at, "source": {"emptyDir": {}}}]}}}


def mounted_in_slurmctld(at: str) -> dict[str, Any]:
    """A volume of slurmctld's pod."""
    raw = {
        "pod": {"volumes": [{"name": "v", "emptyDir": {}}]},
        "container": {"volumeMounts": [{"name": "v", "mountPath": at}]},
    }
    return {"controller": {"raw": raw}}


def file(name: str) -> dict[str, Any]:
    """A file of the stack's."""
    return {"controller": {"configFiles": {name: SCRIPT}}}


def case(name: str, value: str, level: str, words: tuple[str, ...], cure: dict[str, Any], **more: str) -> Case:
    """A program that pods don't have, and a stack that gives it."""
    path = f"controller.extraConf.{name}"
    return Case(f"{name}={value}", merged(nodeset(), conf(name, value, **more)), level, path, words, cure)


_NO = ("pods of nodesets.gpu don't have", "slurm-runs@controller.extraConf.")
PROGRAMS = [
    case(
        "Prolog",
        "/etc/slurm/prolog.d/*",
        "error",
        ("'/etc/slurm/prolog.d/*', which", *_NO, "drained", "controller.prolog"),
        conf("Prolog", None),
    ),
    case(
        "Epilog",
        "/etc/slurm/epilog.sh",
        "error",
        ("'/etc/slurm/epilog.sh', which", *_NO, "controller.epilog"),
        mounted("/etc/slurm/epilog.sh"),
    ),
    case(
        "TaskProlog",
        "/etc/slurm/scripts/task.sh",
        "error",
        (*_NO, "each task ends", "its plain name"),
        merged(file("task.sh"), conf("TaskProlog", "task.sh")),
    ),
    case(
        "HealthCheckProgram",
        "/etc/slurm/check.sh",
        "error",
        (*_NO, "no node is checked"),
        mounted("/etc/slurm/check.sh"),
        HealthCheckInterval="300",
    ),
    case(
        "PrologSlurmctld",
        "/etc/slurm/ufm-prolog.sh",
        "error",
        ("pods of slurmctld don't have", "requeued", "controller.configFiles"),
        file("ufm-prolog.sh"),
    ),
    Case(
        "a script of the stack's that slurmd's pods don't have by its path",
        merged(nodeset(), file("task.sh"), conf("TaskProlog", "/etc/slurm/task.sh")),
        "error",
        "controller.extraConf.TaskProlog",
        ("slurm.key alone",),
        conf("TaskProlog", "task.sh"),
    ),
    Case(
        "an image of one's own has nothing in /etc/slurm",
        merged(nodeset(), OWN, conf("Prolog", "/etc/slurm/prolog.sh")),
        "error",
        "controller.extraConf.Prolog",
        _NO,
        conf("Prolog", "/usr/local/bin/prolog.sh"),
    ),
    *(
        Case(
            f"{section}: PluginDir={value}",
            merged(minimal(accounting={"database": {"host": "db"}}), {section: {"extraConf": {"PluginDir": value}}}),
            "error",
            f"{section}.extraConf.PluginDir",
            ("each image knows its own", ends),
            {section: {"extraConf": {"PluginDir": None}}},
        )
        for section, ends in (("controller", "slurmctld refuses"), ("accounting", "slurmdbd ends"))
        for value in ("/usr/lib64/slurm", "/usr/lib/slurm:/opt/slurm/lib")
    ),
]
_IMAGE = ("the image of pods of", "Slinky's")
PROGRAMS_TOLD = [
    case("Prolog", "/usr/local/bin/slurm-prolog.sh", "warning", (*_IMAGE, "nodesets.gpu", "drained"), OWN),
    case("Epilog", "/opt/site/epilog.sh", "warning", (*_IMAGE, "controller.epilog"), mounted("/opt/site/")),
    case("UnkillableStepProgram", "/usr/local/sbin/unkillable", "warning", _IMAGE, OWN),
    case("RebootProgram", "/usr/sbin/reboot", "warning", (*_IMAGE, "reboots nothing"), OWN),
    case("HealthCheckProgram", "/usr/sbin/nhc", "warning", _IMAGE, OWN, HealthCheckInterval="300"),
    case("MailProg", "/usr/bin/mailx", "warning", (*_IMAGE, "slurmctld", "no mail"), conf("MailProg", "/bin/true")),
    case("EpilogSlurmctld", "/opt/site/e.sh", "warning", (*_IMAGE, "slurmctld"), mounted_in_slurmctld("/opt/site")),
    case("ResumeProgram", "/opt/site/resume", "warning", (*_IMAGE, "power saving is off"), OWN_SLURMCTLD),
]


def spank(line: str) -> dict[str, Any]:
    return nodeset() | {"controller": {"configFiles": {"plugstack.conf": f"# ours\n{line}\n"}}}


def _required(plugin: str, cure: dict[str, Any]) -> Case:
    words = ("requires", "on line 2", "nodesets.gpu", "each job fails", "write optional")
    path = "controller.configFiles.plugstack.conf"
    return Case(f"a plugin {plugin} that each job needs", spank(f"required {plugin} a=b"), "warning", path, words, cure)


PROGRAMS_TOLD += [
    _required("/opt/spank/private-tmp.so", mounted("/opt/spank")),
    _required("/opt/spank/lua.so", spank("optional /opt/spank/lua.so")),
    _required("x11.so", OWN),
    _required("spank_pyxis.so", {"nodesets": {"gpu": {"image": "ghcr.io/slinkyproject/slurmd-pyxis:26.05-ubuntu24.04"}}}),
]
PERL, ROCKY = "#!/usr/bin/perl -w\nexit 0;\n", "ghcr.io/slinkyproject/slurmd:26.05-rockylinux9"


def begun(kind: str, line: str, **more: Any) -> dict[str, Any]:
    """A script of the stack's with this first line."""
    return merged(nodeset(), {"controller": {kind: {"s": f"{line}\nexit 0\n"}, **more}})


def job(line: str) -> dict[str, Any]:
    """A job of the stack's with such a script."""
    script = {"text": f"{line}\nexit 0\n"}
    return {"accounting": {"enabled": True, "database": {"host": "db"}}} | {
        "jobs": {"smoke": {"user": "alice", "script": script, "timeLimit": "10m", "workingDirectory": "/home/alice"}}
    }


def _interpreted(kind: str, line: str, name: str, follows: str, cure: dict[str, Any], **more: Any) -> Case:
    words = (f"is run by {name}, as its first line says", "awk, bash, env, python3, sed, sh", follows)
    return Case(f"{kind}: {line}", begun(kind, line, **more), "warning", f"controller.{kind}.s", words, cure)


PROGRAMS_TOLD += [
    _interpreted("prolog", "#!/opt/site/bin/sh", "/opt/site/bin/sh", "drained at its first job", mounted("/opt/site")),
    _interpreted("prolog", "#!/usr/bin/env python", "python", "drained at its first job", mounted("/usr/local")),
    _interpreted("epilog", "#!/usr/bin/python3.12 -u", "/usr/bin/python3.12", "drained after its first job", OWN),
    _interpreted("epilog", "#!/usr/bin/env -S X=1 tclsh", "tclsh", "after", {"controller": {"epilog": {"s": SCRIPT}}}),
    _interpreted("configFiles", "#!/usr/bin/lua", "/usr/bin/lua", "each task ends", OWN, extraConf={"TaskProlog": "s"}),
    _interpreted(
        "configFiles",
        "#!/usr/bin/ruby",
        "/usr/bin/ruby",
        "each job is requeued",
        OWN_SLURMCTLD,
        extraConf={"PrologSlurmctld": "/etc/slurm/s"},
    ),
    Case(
        "a script in Perl in an image of Rocky Linux",
        merged(nodeset(image=ROCKY), {"controller": {"prolog": {"s": PERL}}}),
        "warning",
        "controller.prolog.s",
        ("/usr/bin/perl", "drained at its first job"),
        {"nodesets": {"gpu": {"image": ROCKY.replace("rockylinux9", "ubuntu24.04")}}},
    ),
    Case(
        "a job's script in a language that the image doesn't have",
        merged(nodeset(), job("#!/usr/bin/Rscript")),
        "warning",
        "jobs.smoke.script.text",
        ("/usr/bin/Rscript", "the job fails as it starts"),
        OWN,
    ),
]
PROGRAMS += [
    Case(
        f"a job's script that begins with {line!r}",
        merged(nodeset(), job(line)),
        "error",
        "jobs.smoke.script.text",
        (said, "the job fails as it starts"),
        job("#!/bin/bash"),
    )
    for line, said in (
        ("#!bash", "isn't the path"),
        ("#!/bin/bash\r", "carriage return"),
        ("#!/bin/sh -e -u", "one argument"),
    )
]
INTERPRETED_SOUND = {
    f"{kind}: {line}": begun(kind, line)
    for kind in ("prolog", "epilog")
    for line in (
        "#!/bin/sh",
        "#! /usr/bin/bash -eu",
        "#!/usr/bin/env bash",
        "#!/usr/bin/env -S python3 -u",
        "#!/usr/bin/env -Spython3 -u",
        "#!/usr/bin/python3",
        "#!/usr/bin/awk -f",
        "#!/bin/dash",
        "#!/usr/bin/perl -w",
    )
}
PROGRAMS_SOUND = INTERPRETED_SOUND | {
    "a script by its plain name": merged(nodeset(), file("task.sh"), conf("TaskProlog", "task.sh")),
    "a script of slurmctld's": merged(nodeset(), file("p.sh"), conf("PrologSlurmctld", "/etc/slurm/p.sh")),
    "a prolog that no pod runs": minimal(**conf("Prolog", "/etc/slurm/prolog.sh")),
    "a hook that may bring the program": merged(
        nodeset(raw={"container": {"args": ["-v"]}}), conf("UnkillableStepProgram", "/usr/local/sbin/u")
    ),
}
