"""Which chart a Helm release is made of, however it is named: folder, archive, tag, digest."""

from __future__ import annotations

import re
import string
from pathlib import Path

from slurm_rules.model import API_GROUP, Hidden, Resource

HELM_RELEASE = "kubernetes:helm.sh/v3:Release"
_VERSION = re.compile(r"-v?[0-9]++(?![a-z])")
"""Where a version begins, in the letters that one may have to the text's end."""
_OF_VERSIONS = string.digits + string.ascii_lowercase + ".+-"
_NAMES = re.compile(r"^(?:- |  )?[ \t]*+name:\s*+[\"']?([A-Za-z0-9._-]+)", re.MULTILINE)


def base_name(reference: str) -> str:
    """``slurm`` for oci://…/slurm:1.2.1, https://…/slurm-1.2.1.tgz?x, ./charts/Slurm/ and ghcr.io/…/slurm@sha256:…"""
    last = re.split(r"[?#]", reference.strip())[0].rstrip("/").rsplit("/", 1)[-1].lower()
    last = last.split("@", 1)[0].split(":", 1)[0]
    bare = re.sub(r"\.(tgz|tar\.gz|zip)$", "", last)
    match = _VERSION.search(bare, len(bare.rstrip(_OF_VERSIONS)))
    return bare[: match.start()] if match else bare


def chart_name(release: Resource) -> str:
    """Name of a release's chart, by its reference."""
    return base_name(release.text("chart"))


def chart_names(release: Resource) -> set[str]:
    """The same, with the name and the dependencies that an unpacked chart on this machine says it has."""
    return {chart_name(release), *_unpacked(release.text("chart"))}


def is_folder(release: Resource) -> bool:
    """A chart of the program's own files, which a review sees. Helm takes NAME/CHART for a repository of the machine where
    there is no such folder, so a folder begins with ``.`` or ``/``."""
    return release.text("chart").startswith(("/", "./", "../")) and not release.text("repositoryOpts", "repo")


def _unpacked(reference: str) -> set[str]:
    file = Path(reference) / "Chart.yaml"
    try:
        return set(_NAMES.findall(file.read_text(encoding="utf-8"))) if file.is_absolute() and file.is_file() else set()
    except (OSError, ValueError):
        return set()


def makes_cluster(release: Resource) -> bool:
    """Whether a deployed release is known to have made custom resources of slurm-operator."""
    made = release.peek("resourceNames")
    if isinstance(made, Hidden) or not made:
        return False
    return any(f".{API_GROUP}/" in str(kind) for kind in made)
