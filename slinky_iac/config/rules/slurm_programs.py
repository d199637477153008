"""Rules of programs that slurm.conf names, and of those that run a stack's scripts: whether pods have them, as far as a
stack's file says it.

In pods of slurmd /etc/slurm is the operator's volume with slurm.key alone: scripts come from slurmctld, by a name without a
folder. In slurmctld's pod it has controller.configFiles, prolog and epilog. What an image has is known of none but Slinky's,
which has no site's scripts; a volume or a hook of the container's may bring more. Sources: ``nodesetVolumes`` and
``controllerVolumes`` of slurm-operator; fetch_config.c, prep_script_slurmd.c, task.c, ``_is_valid_path`` (read_config.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.conf_lines import PLUGSTACK, file_lines
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.pieces import listed
from slinky_iac.config.raw import Raw
from slinky_iac.config.rules.slurm_reach import RUNS, is_program, refusal
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm import shebang
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Volume
from slinky_iac.parts.registry import PARTS
from slinky_iac.text import some

_ETC: Final = "/etc/slurm/"
_SLINKY: Final = "ghcr.io/slinkyproject/"
_FOLDERS: Final = ("/bin", "/usr/bin")
"""Where images have programs, one folder by two names."""
_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", *_FOLDERS, "/sbin")
_EVERYWHERE: Final = frozenset({"true", "false", "sh", "bash", "env", "awk", "sed", "python3"})
"""Programs of all of Slinky's images since 25.11: those of the distributions' base images, and Python by supervisor, which
starts the daemons (Dockerfiles of SlinkyProject/containers, June 2026)."""
_KNOWN: Final = ", ".join(sorted(_EVERYWHERE - {"true", "false"}))
_UBUNTU: Final = frozenset({"dash", "perl"})
"""More of them in those of Ubuntu (packages that are essential there)."""
_ROCKY: Final = "-rockylinux"
"""What the tags of the others have."""
_AS_FILE: Final = "controller.configFiles, and its plain name here"
_AS_PATH: Final = "controller.configFiles, and /etc/slurm/ with its name here"
_MOUNTED: Final = "a volume that is mounted elsewhere (nodesets.<name>.volumes)"
_REQUIRED: Final = re.compile(r"\s*required\s+([^\s#*?\[]+)(?:\s|$)")
_NOT_RUN: Final = "it isn't run, and the log alone says so"


@dataclass(frozen=True)
class _Program:
    """What runs a program, what follows where it isn't there, and where a stack puts one."""

    of_nodes: bool
    follows: str
    put: str


def _of_nodes(follows: str, put: str = _MOUNTED) -> _Program:
    return _Program(of_nodes=True, follows=follows, put=put)


def _of_slurmctld(follows: str = _NOT_RUN) -> _Program:
    return _Program(of_nodes=False, follows=follows, put=_AS_PATH)


_PROGRAMS: Final[Mapping[str, _Program]] = {
    "Prolog": _of_nodes("each node is drained at its first job", "controller.prolog, without this line"),
    "Epilog": _of_nodes("each node is drained after its first job", "controller.epilog, without this line"),
    "TaskProlog": _of_nodes("each task ends before its program starts", _AS_FILE),
    "TaskEpilog": _of_nodes(_NOT_RUN, _AS_FILE),
    "HealthCheckProgram": _of_nodes("no node is checked, and the log alone says so"),
    "UnkillableStepProgram": _of_nodes(_NOT_RUN),
    "RebootProgram": _of_nodes("`scontrol reboot` reboots nothing"),
    "PrologSlurmctld": _of_slurmctld("each job is requeued, or ended, before it starts"),
    "EpilogSlurmctld": _of_slurmctld(),
    "ResvProlog": _of_slurmctld(),
    "ResvEpilog": _of_slurmctld(),
    "SuspendProgram": _of_slurmctld("power saving is off"),
    "ResumeProgram": _of_slurmctld("power saving is off"),
    "ResumeFailProgram": _of_slurmctld(),
    "SlurmctldPrimaryOnProg": _of_slurmctld(),
    "SlurmctldPrimaryOffProg": _of_slurmctld(),
    "MailProg": _of_slurmctld("no mail is sent"),
}


def is_slinkys(image: str | None) -> bool:
    """Whether an image is one of Slinky's, which have what they have."""
    return image is None or image.startswith(_SLINKY)


@dataclass(frozen=True)
class _Pods:
    """Pods of one kind: their setting, their image, and the folders of their volumes."""

    path: str
    image: str | None
    raw: Raw
    volumes: tuple[Volume, ...] = ()
    files: frozenset[str] = frozenset()
    """What the stack puts into /etc/slurm."""

    def may_have(self, program: str) -> bool:
        """Whether a file, a volume, the image or a hook may bring a program; never the image for /etc/slurm, which is a
        volume, and read-only."""
        places = [volume.mount_path for volume in self.volumes]
        places += [str(mount.get("mountPath")) for mount in listed(self.raw.container, "volumeMounts")]
        if any(f"{program}/".startswith(f"{place.rstrip('/')}/") for place in places):
            return True
        if program.startswith(_ETC):
            return program.removeprefix(_ETC) in self.files
        changed = {"lifecycle", "command", "args"} & self.raw.container.keys()
        return self._has(program) or not is_slinkys(self.image) or bool(changed)

    def may_load(self, plugin: str) -> bool:
        """The same for a plugin, by its path or by its name in the folder of Slurm's own."""
        own = not is_slinkys(self.image) or "pyxis" in (self.image or "")
        return own or ("/" in plugin and self.may_have(plugin))

    def may_find(self, name: str) -> bool:
        """The same for a program by its path, or by its name in PATH."""
        return any(map(self.may_have, [name] if "/" in name else [f"{folder}/{name}" for folder in _PATH]))

    def _has(self, program: str) -> bool:
        folder, _, name = program.rpartition("/")
        more = frozenset[str]() if _ROCKY in (self.image or "") else _UBUNTU
        return folder in _FOLDERS and name in _EVERYWHERE | more


def _pods(config: StackConfig, program: _Program) -> Iterator[_Pods]:
    if program.of_nodes:
        for name, nodeset in config.nodesets.items():
            yield _Pods(f"nodesets.{name}", nodeset.image or config.cluster.images.slurmd, nodeset.raw, nodeset.volumes)
    elif config.slurmctld.pods:
        slurmctld = config.slurmctld
        files = frozenset({*slurmctld.config_files, *slurmctld.prolog, *slurmctld.epilog})
        yield _Pods("slurmctld", config.cluster.images.slurmctld, config.controller.raw, files=files)


def _there(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    for name, program in _PROGRAMS.items():
        key = spelt(own, name)
        value = own.get(key, "").strip().strip('"')
        if not value.startswith("/") or not is_program(name, value) or _never_run(name, own):
            continue
        path = value.partition(" ")[0]
        lacking = [pod.path for pod in _pods(config, program) if not pod.may_have(path)]
        if not lacking:
            continue
        where = f"controller.extraConf.{key}"
        pods = f"pods of {some(map(name_of, lacking), 3)}"
        if path.startswith(_ETC):
            has = "slurm.key alone" if program.of_nodes else "the stack's own files"
            yield refusal(
                where,
                RUNS,
                f"is {shown(path)}, which {pods} don't have: their /etc/slurm has {has}, and {program.follows}. Give the"
                f" script in {program.put}",
            )
        else:
            yield at(where).warning(
                f"is {shown(path)}: the image of {pods} is Slinky's, which has no program of a site's. If it isn't there,"
                f" {program.follows}. Give the script in {program.put}, or use an image of your own that has it; acknowledge"
                " this if Slinky's has it",
                id="program-not-in-image",
            )


def _scripts(config: StackConfig) -> Iterator[tuple[str, str, _Program]]:
    """Scripts of the stack's that pods run, each with its setting, its text, and what runs it."""
    slurmctld, own = config.slurmctld, config.slurmctld.extra_conf
    for kind, parameter, files in (("prolog", "Prolog", slurmctld.prolog), ("epilog", "Epilog", slurmctld.epilog)):
        yield from ((f"controller.{kind}.{name}", text, _PROGRAMS[parameter]) for name, text in files.items())
    for parameter, program in _PROGRAMS.items():
        name = own.get(spelt(own, parameter), "").strip().strip('"').partition(" ")[0]
        name = name if program.of_nodes else name.removeprefix(_ETC)
        if name in slurmctld.config_files:
            yield f"controller.configFiles.{name}", slurmctld.config_files[name], program
    for path, text in (script for part in PARTS for script in part.job_scripts(config)):
        yield path, text, _of_nodes("the job fails as it starts")


def _unrunnable(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A prolog or an epilog that Linux can't run."""
    controller = config.slurmctld
    for kind, files in (("prolog", controller.prolog), ("epilog", controller.epilog)):
        for name, text in files.items():
            if said := shebang.fault(text):
                yield at(f"controller.{kind}.{name}").error(
                    f"{said}: slurmd can't run it, the first job of every node fails there, and the node is drained"
                )


def _interpreters(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The program behind ``#!``: without it, execve(2) fails as if the script weren't there."""
    for path, text, program in _scripts(config):
        name = shebang.interpreter(text)
        lacking = [pod.path for pod in _pods(config, program) if not pod.may_find(name)] if name else []
        if lacking:
            yield at(path).warning(
                f"is run by {name_of(name)}, as its first line says: the image of pods of {some(map(name_of, lacking), 3)}"
                f" is Slinky's, in which {_KNOWN} are known to be, and no others. If it isn't there, {program.follows}."
                " Begin with one of these (#!/bin/bash, #!/usr/bin/python3), mount it from a volume, or use an image of your"
                " own that has it; acknowledge this if Slinky's has it",
                id="program-not-in-image",
            )


def _spank(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Plugins that each job needs (``_spank_stack_process_line`` of spank.c). Slinky's images have none but that of Pyxis,
    in those that are named after it."""
    path = at("controller.configFiles.plugstack.conf")
    for number, line in file_lines(PLUGSTACK, config.slurmctld.config_files.get(PLUGSTACK, "")):
        if (match := _REQUIRED.match(line)) is None:
            continue
        lacking = [pod.path for pod in _pods(config, _of_nodes("")) if not pod.may_load(match[1])]
        if lacking:
            yield path.warning(
                f"requires {shown(match[1])} on line {number}: the image of pods of {some(map(name_of, lacking), 3)} is"
                f" Slinky's, which has no plugin of a site's. If it isn't there, each job fails as it starts. Put it on"
                f" {_MOUNTED}, use an image of your own that has it, or write optional; acknowledge this if Slinky's has it",
                id="program-not-in-image",
            )


def _never_run(name: str, own: Mapping[str, str]) -> bool:
    """A check of nodes without an interval is said of elsewhere."""
    return name == "HealthCheckProgram" and Conf(own)["HealthCheckInterval"] in ("", "0")


def _plugins(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """PluginDir: a folder that an image lacks ends the daemon; with one that has other plugins it finds none."""
    images = config.cluster.images
    of_conf: list[str | None] = [images.slurmctld, images.slurmrestd]
    of_conf += [nodeset.image or images.slurmd for nodeset in config.nodesets.values()]
    of_conf += [login.image or images.login for login in config.logins.values()]
    for section, own, users in (
        ("controller", config.slurmctld.extra_conf, of_conf),
        ("accounting", config.slurmdbd.extra_conf, [images.slurmdbd]),
    ):
        key = spelt(own, "PluginDir")
        if key and is_program(key, own[key]) and any(map(is_slinkys, users)):
            yield at(f"{section}.extraConf.{key}").error(
                f"is {shown(own[key])}: each image knows its own folder of plugins, and this one line would be for all of"
                f" them. {_without(section)} where an image has no such folder. Leave it out; with images of your own for"
                " all daemons that read it, it may be set"
            )


def _without(section: str) -> str:
    return "slurmctld refuses its whole file, and slurmd and commands end" if section == "controller" else "slurmdbd ends"


RULES = (_there, _unrunnable, _interpreters, _spank, _plugins)
