"""Rules of job_container.conf and namespace.yaml: where slurmd keeps the folders that each job has for itself.

Run on slurmd 26.05.5 and 25.11.7: without a base path a job saw the node's /tmp; 25.11.7 ended over a base path that is one
of the folders, and no job of namespace/tmpfs started where it is below one. Debian builds 26.05.5 for several slurmds of a
host (``MULTIPLE_SLURMD``), which puts the node's name behind the base path: such a slurmd starts with BasePath=/tmp. That
those of Slinky's images end is read: SchedMD's packages aren't built so (debian/rules). Source: ``_create_ns``,
``namespace_p_restore``, ``_is_plugin_disabled``, ``init_slurm_jc_conf`` and ``init_slurm_ns_conf`` of namespace/tmpfs and
namespace/linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import safe_yaml
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules.slurm_files import NAMESPACE_FILES, includes_another, rows_of
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.refusals import NAMESPACE, Conf
from slinky_iac.config.stack import StackConfig

_DEFAULT: Final = "/tmp,/dev/shm"
"""Dirs where a file has none (``SLURM_TMPFS_DEF_DIRS``)."""
_MEMORY: Final = "/dev/shm"
"""namespace/tmpfs makes it on its own (``_mount_private_dirs``): a base path below it is seen until then."""
_BY_WORDS: Final = (26, 5)
"""First release whose namespace/linux compares whole names of folders, and reads dir_confs; before, and in namespace/tmpfs
always, it is their beginnings (``_check_basepath_not_dir``, ``init_slurm_jc_conf``)."""


def _of_conf(text: str) -> Iterator[tuple[str, str]]:
    """Base path and folders of each line that has a base path."""
    rows = [row for _, row in rows_of(text)]
    common = next((row["dirs"] for row in rows if "dirs" in row and "basepath" not in row), _DEFAULT)
    yield from ((row["basepath"], row.get("dirs", common)) for row in rows if row.get("basepath"))


def _of_yaml(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The same of the defaults, and of the options of each entry of nodes, which replace them one by one."""
    defaults = _mapping(document.get("defaults"))
    entries = document.get("node_confs")
    nodes = [_mapping(_mapping(node_conf).get("options")) for node_conf in entries] if isinstance(entries, list) else []
    for options in (defaults, *({**defaults, **node} for node in nodes)):
        if isinstance(base := options.get("base_path"), str) and base:
            yield base, _dirs(options)


def _dirs(options: Mapping[str, object]) -> str:
    """Folders by comma: those of dir_confs, where it is there, else of dirs."""
    listed, dirs = options.get("dir_confs"), options.get("dirs")
    if isinstance(listed, list) and listed:
        return ",".join(str(_mapping(folder).get("path", "")) for folder in listed)
    return dirs if isinstance(dirs, str) else _DEFAULT


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _pairs(file: str, text: str) -> list[tuple[str, str]] | None:
    """Base paths and their folders; None where the file can't be read, or has lines elsewhere."""
    if file == "job_container.conf":
        return None if includes_another(text) else list(_of_conf(text))
    try:
        document = safe_yaml.read(text)
    except safe_yaml.NotYamlError:
        return None
    if not isinstance(document, Mapping):
        return None
    return list(_of_yaml(document))


def _in(folder: str, base: str, *, whole: bool) -> bool:
    """Whether slurmd takes a folder for the base path, or one below."""
    return folder.startswith(base) and (not whole or folder[len(base) :][:1] in ("", "/"))


def _hiding(base: str, dirs: str) -> str:
    """The folder of jobs that a base path is below."""
    return next((folder for folder in dirs.split(",") if folder and folder != _MEMORY and _in(base, folder, whole=True)), "")


def _folders(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    file = NAMESPACE_FILES.get(Conf(config.slurmctld.extra_conf).plugin(*NAMESPACE), "")
    text = config.slurmctld.config_files.get(file)
    bases = None if text is None else _pairs(file, text)
    if bases is None:
        return
    path = at(f"controller.configFiles.{file}")
    whole = file != "job_container.conf" and config.slurm_numbers >= _BY_WORDS
    key = "BasePath" if file == "job_container.conf" else "base_path"
    if not bases:
        yield path.error(
            f"has no {key}: slurmd makes no folders of jobs' own, without a word, and all jobs of a node share /tmp. Add"
            f" {key}{'=' if key == 'BasePath' else ': '}/var/spool/slurmd/jobs, or leave NamespaceType out"
        )
    for base, dirs in bases:
        if base.lower().startswith("none"):
            continue
        if not base.startswith("/"):
            yield path.error(
                f"has {key} {name_of(base)}, which doesn't begin with /: slurmd takes no such folder, and jobs have none of"
                " their own. Give the whole path"
            )
        elif any(_in(folder, base, whole=whole) for folder in dirs.split(",")):
            yield path.error(
                f"has {key} {name_of(base)}, one of the folders that each job has for itself ({shown(dirs)}): slurmd"
                " ends over it, and no job runs on such a node. Give another folder"
            )
        elif file == "job_container.conf" and (hidden := _hiding(base, dirs)):
            yield path.error(
                f"has {key} {name_of(base)}, below {hidden}, a folder that each job has for itself and that hides the job's"
                " own from slurmstepd: no job starts on such a node. Give a folder that is below none of them, as"
                " /var/spool/slurmd/jobs"
            )


RULES = (_folders,)
