"""Rules of job_container.conf and namespace.yaml: where slurmd keeps the folders that each job has for itself.

Run on slurmd 26.05.5 and 25.11.7: without a base path a job saw the node's /tmp. Source: ``namespace_p_restore``,
``_is_plugin_disabled``, ``init_slurm_jc_conf`` and ``init_slurm_ns_conf`` of namespace/tmpfs and namespace/linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac import safe_yaml
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules.slurm_files import lines_of, pairs
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.refusals import Conf
from slinky_iac.config.stack import StackConfig

_FILES: Final = {"tmpfs": "job_container.conf", "linux": "namespace.yaml"}
"""Plugins of NamespaceType, and the file that each reads."""
_DEFAULT: Final = "/tmp,/dev/shm"
"""Dirs where a file has none (``SLURM_TMPFS_DEF_DIRS``)."""
_MAY_BE_BOTH: Final = (26, 5)
"""First release whose slurmd starts with a base path that is one of the folders."""


def _of_conf(text: str) -> Iterator[tuple[str, str]]:
    """Base path and folders of each line that has a base path."""
    rows = [{key.lower(): value for _, key, value in pairs(each)} for _, each in lines_of(text)]
    common = next((row["dirs"] for row in rows if "dirs" in row and "basepath" not in row), _DEFAULT)
    yield from ((row["basepath"], row.get("dirs", common)) for row in rows if row.get("basepath"))


def _of_yaml(value: object, dirs: str) -> Iterator[tuple[str, str]]:
    """The same of each object with a base path, with the folders that the defaults have."""
    if isinstance(value, list):
        for each in value:
            yield from _of_yaml(each, dirs)
    elif isinstance(value, Mapping):
        own = value.get("dirs")
        if isinstance(base := value.get("base_path"), str) and base:
            yield base, own if isinstance(own, str) else dirs
        for inner in value.values():
            yield from _of_yaml(inner, dirs)


def _pairs(file: str, text: str) -> list[tuple[str, str]] | None:
    """Base paths and their folders; None where the file can't be read, or has lines elsewhere."""
    if file == "job_container.conf":
        included = any(each.lower().startswith("include ") for _, each in lines_of(text))
        return None if included else list(_of_conf(text))
    try:
        document = safe_yaml.read(text)
    except safe_yaml.NotYamlError:
        return None
    if not isinstance(document, Mapping):
        return None
    defaults = document.get("defaults")
    dirs = defaults.get("dirs") if isinstance(defaults, Mapping) else None
    return list(_of_yaml(document, dirs if isinstance(dirs, str) else _DEFAULT))


def _folders(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    conf = Conf(config.slurmctld.extra_conf)
    named = conf["NamespaceType"] or conf["JobContainerType"]
    file = _FILES.get(named.rpartition("/")[2], "")
    text = config.slurmctld.config_files.get(file)
    found = None if text is None else _pairs(file, text)
    if found is None:
        return
    path = at(f"controller.configFiles.{file}")
    key = "BasePath" if file == "job_container.conf" else "base_path"
    if not found:
        yield path.error(
            f"has no {key}: slurmd makes no folders of jobs' own, without a word, and all jobs of a node share /tmp. Add"
            f" {key}{'=' if key == 'BasePath' else ': '}/var/spool/slurmd/jobs, or leave NamespaceType out"
        )
    for base, dirs in found:
        if base.lower().startswith("none"):
            continue
        if not base.startswith("/"):
            yield path.error(
                f"has {key} {name_of(base)}, which doesn't begin with /: slurmd takes no such folder, and jobs have none of"
                " their own. Give the whole path"
            )
        elif config.slurm_numbers < _MAY_BE_BOTH and any(each.strip().startswith(base) for each in dirs.split(",")):
            yield path.error(
                f"has {key} {name_of(base)}, one of the folders that each job has for itself ({shown(dirs)}): slurmd"
                " ends over it, and no job runs on such a node. Give another folder"
            )


RULES = (_folders,)
