"""slurm-operator's charts and CRDs, from its published Go module. Nothing of it is kept in this repository."""

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from lab import given_operator, go, images, locks, paths
from lab.errors import LabError

MODULE = "github.com/SlinkyProject/slurm-operator"
VERSION = "1.0.1"
"""The operator that the lab runs."""
CHECKSUMS = {
    "1.0.1": "h1:XtbXM6NN9O4b8cbr5Rtd9+pzSI8hBNCxkO7rBT/tvX8=",
    "1.0.2": "h1:iQA22YXcPWtIsu7Cu+w8jnoCPuCElAzMXokkryte3PY=",
    "1.1.0": "h1:TT3dGxWQ/z6nrSwNfphXT65LCNTrZDfe+2FgVRZVTa4=",
}
"""Versions that are served as Go modules, with Go's hash of each."""


def chart_dir(version: str | None = None) -> Path:
    """A writable copy of the module's helm/ folder: slurm-operator, slurm-operator-crds and slurm in it.

    Without a version, of the operator that the lab runs. The operator's chart has its own dependency inside, as the
    published chart has: Helm refuses it otherwise.
    """
    given = given_operator.given() if version is None else None
    with _alone():
        charts = _copied("helm", version or VERSION) if given is None else _copy_of(given.folder / "helm")
        dependency = charts / "slurm-operator" / "charts" / "slurm-operator-crds"
        if not dependency.is_dir():
            _copy(charts / "slurm-operator-crds", dependency)
        return charts


def crd_dir(version: str = VERSION) -> Path:
    """A writable copy of the module's config/crd/bases: one YAML file a custom resource."""
    with _alone():
        return _copied("config/crd/bases", version)


def _alone() -> AbstractContextManager[None]:
    """Tests run in several processes, and all of them ask: one copies, and the others wait for it."""
    return locks.alone("operator-charts", lambda: None)


def _copied(folder: str, version: str) -> Path:
    ready = paths.CACHE / "operator" / version / folder
    if ready.is_dir():
        return ready
    if version not in CHECKSUMS:
        raise LabError(f"slurm-operator {version} is not served as a Go module; these are: {', '.join(CHECKSUMS)}")
    source = go.module(MODULE, version, CHECKSUMS[version], go=go.ensure()) / folder
    _copy(source, ready)
    return ready


def _copy_of(source: Path) -> Path:
    """A copy of a folder that may change: one for each state of it."""
    files = [path for path in sorted(source.rglob("*")) if path.is_file()]
    ready = paths.CACHE / "operator" / f"given-{images.digest_of(files)}" / source.name
    if not ready.is_dir():
        _copy(source, ready)
    return ready


def _copy(source: Path, ready: Path) -> None:
    part = ready.with_name(f".{ready.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for path in sorted(source.rglob("*")):
        target = part / path.relative_to(source)
        if path.is_dir():
            target.mkdir()
        else:  # content only: the module cache is read-only, and copied modes would make the copy so
            shutil.copyfile(path, target)
    part.rename(ready)
