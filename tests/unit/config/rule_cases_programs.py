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
    case("Prolog", "/etc/slurm/prolog.d/*", "error", (*_NO, "drained", "controller.prolog"), conf("Prolog", None)),
    case("Epilog", "/etc/slurm/epilog.sh", "error", (*_NO, "controller.epilog"), mounted("/etc/slurm/epilog.sh")),
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
PROGRAMS_SOUND = {
    "a script by its plain name": merged(nodeset(), file("task.sh"), conf("TaskProlog", "task.sh")),
    "a script of slurmctld's": merged(nodeset(), file("p.sh"), conf("PrologSlurmctld", "/etc/slurm/p.sh")),
    "a prolog that no pod runs": minimal(**conf("Prolog", "/etc/slurm/prolog.sh")),
    "a hook that may bring the program": merged(
        nodeset(raw={"container": {"args": ["-v"]}}), conf("UnkillableStepProgram", "/usr/local/sbin/u")
    ),
}
