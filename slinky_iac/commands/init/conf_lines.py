"""Lines of an outside slurm.conf and cgroup.conf that pods need and that the running cluster hasn't, and scripts of it that
pods haven't. Pure.

Sources: `scontrol show config`, which has cgroup.conf behind slurm.conf; slurm.conf(5), SlurmctldParameters,
enable_configless: of Prolog, Epilog, TaskProlog and TaskEpilog slurmctld sends those that are named without a folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from slinky_iac.commands.host_shell import known, number
from slinky_iac.config.reading.load import examined
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import power
from slinky_iac.config.slurm.refusals import NAMESPACE
from slinky_iac.config.slurm.words import beyond
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import SLURMD_PORT
from slinky_iac.parts.registry import PARTS
from slinky_iac.specs.slurm_conf import REQUIRED, Compared, required

_IGNORE_SYSTEMD: Final = "IgnoreSystemd"
_CGROUP_PLUGIN: Final = "CgroupPlugin"
_TAKEN: Final = re.compile(r"ClusterName|AuthAltParameters|AccountingStorage.*")
"""Parameters whose values the stack takes from the cluster, or that have a note of their own."""
_SCRIPT: Final = re.compile(r"(?:Prolog|Epilog)(?:\[\d+\])?|TaskProlog|TaskEpilog")
"""Programs that run on nodes; 25.11 and newer number those that may be there more than once."""
_PORT: Final = "SlurmdPort"
_HEALTH: Final = ("HealthCheckProgram", "HealthCheckInterval")
_PORTS: Final = "SlurmctldPort"
_BASE_PATHS: Final = {"tmpfs": "AutoBasePath=true in job_container.conf", "linux": "auto_basepath: true in namespace.yaml"}
"""What lets slurmd make the folder where these are (``namespace_p_restore``), by plugin."""
_DOWN: Final = re.compile(r"Slurmctld\((primary|backup[0-9]*)\) at ([A-Za-z0-9_.-]+) is DOWN")
"""What `scontrol show config` ends with, one line a slurmctld (``_print_ping`` of scontrol.c)."""
_OF_PARTS: Final = frozenset(key for part in PARTS for key in part.conf_read)
_READ: Final = frozenset({_PORT, *_HEALTH, *NAMESPACE, _PORTS, *power.PARAMETERS}) | _OF_PARTS
_NOT_SENT: Final = re.compile(r"[/*?\[]")
"""In the name of a script that slurmctld doesn't send: a folder, or a pattern."""


def of_nodes(config: Mapping[str, str]) -> dict[str, str]:
    """The parameters that this module reads, of all that `scontrol show config` printed; empty for one without a value."""
    keys = {parameter.key for parameter in REQUIRED} | {_IGNORE_SYSTEMD, _CGROUP_PLUGIN} | _READ
    return {key: known(config, key) for key in config if key in keys or _SCRIPT.fullmatch(key)}


def down(lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Host and place of each slurmctld that didn't answer scontrol."""
    return tuple((said[2], said[1]) for said in map(_DOWN.match, lines) if said)


def of_slurmctld(down: Iterable[tuple[str, str]], release: str) -> Iterator[str]:
    """What makes all else that was read less sure: a slurmctld that is down, a release that isn't known."""
    for host, place in down:
        yield (
            f"slurmctld on {name_of(host)} ({place}) is DOWN, as the output says: it may have other lines than what was"
            " read. Once it is UP again (`scontrol ping`), run this again and compare; no pod registers while all of them"
            " are DOWN"
        )
    if said := beyond(release):
        yield f"the cluster is {said}"


def hints(now: Mapping[str, str], settings: Mapping[str, object]) -> Iterator[str]:
    """One note on scripts, and one with all lines to change. ``now``: what :func:`of_nodes` found. A parameter that the
    output doesn't have is in neither."""
    lacking = [f"{key}={name_of(value)}" for key, value in now.items() if _SCRIPT.fullmatch(key) and _NOT_SENT.search(value)]
    if lacking:
        yield (
            f"{', '.join(lacking)}: pods have no such file, unless their image or a volume brings it, and slurmctld sends"
            " only scripts that are named without a folder, beside slurm.conf. A Prolog or Epilog that isn't there drains"
            " the node, a TaskProlog ends the task: `slinky docs outside-hosts 'Prolog and epilog'`"
        )
    config, _ = examined(settings)
    yield from _of_pods(now, config)
    if changes := [*_conf(now, config), *_cgroup(now)]:
        yield f"the hand-off will ask to change, in slurm.conf where no other file is named: {'; '.join(changes)}"


def warnings(now: Mapping[str, str], settings: Mapping[str, object]) -> Iterator[str]:
    """What ends pods, or takes them from the cluster again, until a line is changed."""
    port = now.get(_PORT, "")
    if port and port != str(SLURMD_PORT):
        yield (
            f"SlurmdPort is {name_of(port)}, and slurm-operator asks its pods at {SLURMD_PORT} whether they live: Kubernetes"
            f" ends each that listens elsewhere. Set SlurmdPort={SLURMD_PORT}, and Port={name_of(port)} in the NodeName="
            " lines of hosts that keep theirs"
        )
    config, _ = examined(settings)
    saving = power.PowerSaving.read(now)
    if config is not None and (taken := saving.takes(config)):
        yield (
            f"slurmctld saves power: pods that are idle for {name_of(saving.time)} s (SuspendTime) are powered down as any"
            f" node, and {power.FOLLOWS}. Before pods of {', '.join(taken)} join, add {power.LINE} to slurm.conf, with what"
            " SuspendExcStates has there already"
        )


def _of_pods(now: Mapping[str, str], config: StackConfig | None) -> Iterator[str]:
    """What pods would lack that other nodes have."""
    yield from _private(now)
    if "-" in now.get(_PORTS, ""):
        yield (
            f"{_PORTS} is {name_of(now[_PORTS])}: each command and daemon takes one port of them by chance, and the stack's"
            " controller.external.port is the first. Let pods reach all of them (firewalls, and networkPolicies, which let"
            " them reach the first alone), or set one port in slurm.conf"
        )
    program, interval = (now.get(key, "") for key in _HEALTH)
    if program and interval.split(" ")[0] not in ("", "0"):
        yield (
            f"HealthCheckProgram={name_of(program)}: slurmd in pods runs it too, and Slinky's images have no such program."
            " Each run would be an error in slurmd's log, and no pod is checked: put it into an image of your own, or a"
            " volume of the NodeSets"
        )
    for part in PARTS:
        yield from part.pods_lack(now, config)


def _private(now: Mapping[str, str]) -> Iterator[str]:
    """Folders that each job has for itself are below one of the node's (``_create_ns``, ``namespace_p_restore``)."""
    for key in NAMESPACE:
        plugin = now.get(key, "").rpartition("/")[2].lower()
        if plugin not in ("", "none"):
            automatic = _BASE_PATHS.get(plugin, "the like, in its own file,")
            yield (
                f"{key} is {name_of(now[key])}: slurmd in pods reads the same file of it, and no job starts on them where"
                f" they lack the base path. With {automatic} slurmd makes it, on the pod's own disk; else mount a volume"
                " there (nodesets.<name>.volumes)"
            )


def _conf(now: Mapping[str, str], config: StackConfig | None) -> Iterator[str]:
    for parameter, value in required(config) if config is not None else ():
        if parameter.key not in now or _TAKEN.fullmatch(parameter.key):
            continue
        got = number(now, parameter.key, 0) if parameter.compared is Compared.LEAST else now[parameter.key]
        lacking = parameter.lacking(value, got)
        if lacking and parameter.adds and got:
            yield f"{parameter.key}, add {','.join(lacking)}"
        elif lacking:
            yield f"{parameter.key}={value} (it {f'is {name_of(str(got))}' if got else 'has no value'})"


def _cgroup(now: Mapping[str, str]) -> Iterator[str]:
    """Pods have no systemd that slurmd could ask."""
    said = now.get(_IGNORE_SYSTEMD, "").lower()
    if said and said != "yes" and now.get(_CGROUP_PLUGIN, "").lower() != "disabled":
        yield f"{_IGNORE_SYSTEMD}=yes in cgroup.conf (it is {name_of(said)}), once you know that it suits slurmd on metal"
