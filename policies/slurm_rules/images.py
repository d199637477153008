"""Images and charts: pinned, and of releases that go together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from slurm_rules.charts import chart_name, is_folder
from slurm_rules.cluster import containers, controller_of, is_external, operator_versions
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Option, Options, rule, slinky, word

_MOVING = frozenset({"latest", "main", "master", "edge", "dev", "nightly", "stable"})
_RELEASE = re.compile(r"v?(\d\d\.\d\d)\b")
MINIMUM = "25.11"
SLURM_DAEMONS = ("slurmctld", "reconfigure", "slurmdbd", "slurmrestd", "slurmd", "login")
"""Containers whose image is a release of Slurm."""


def tag_of(image: str) -> str:
    """The tag of an image, empty where it has none."""
    name = image.split("@", 1)[0].rsplit("/", 1)[-1]
    return name.partition(":")[2]


def slurm_release(image: str) -> str | None:
    """The Slurm release that an image's tag begins with, e.g. ``26.05``."""
    match = _RELEASE.match(tag_of(image))
    return match[1] if match else None


_DIGEST = re.compile(r".+@sha256:[0-9a-f]{64}")
_DOCKER = "docker.io/"


def full_name(image: str) -> str:
    """An image with its registry, as a kubelet reads it: ``alpine:3`` is ``docker.io/library/alpine:3``."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{_DOCKER}{image}" if slash else f"{_DOCKER}library/{image}"


def from_registry(image: str, registries: Iterable[str]) -> bool:
    """Whether an image or chart comes from one of these registries or folders of them."""
    name = full_name(image.removeprefix("oci://"))
    known = [registry.removeprefix("oci://").rstrip("/") for registry in registries]
    return any(name.startswith((f"{registry}/", f"{registry}:", f"{registry}@")) for registry in known)


def pin_fault(image: str, require: str, exempt: Iterable[str]) -> str:
    """What an image lacks that pins it; empty for nothing. ``require``: a tag that doesn't move, or a digest."""
    if _DIGEST.fullmatch(image) or any(fnmatch(image, pattern) for pattern in exempt):
        return ""
    if require == "digest":
        return "has no digest; this site wants tag@sha256:…"
    return "isn't pinned; give a tag that doesn't move" if tag_of(image) in _MOVING or not tag_of(image) else ""


_OWN = {
    "operator": "ghcr.io/slinkyproject/slurm-operator",
    "webhook": "ghcr.io/slinkyproject/slurm-operator-webhook",
}
"""Images of slurm-operator's chart (helm/slurm-operator/values.yaml)."""


def operator_images(release: Resource, require: str) -> Iterator[tuple[str, str]]:
    """Chart and images of slurm-operator's release. Without values its own are by tag, which counts where digests do."""
    chart, version = release.text("chart"), release.text("version")
    if not is_folder(release):
        yield "chart", chart if _DIGEST.fullmatch(chart) or not version else f"{chart}:{version}"
    for part, own in _OWN.items() if chart_name(release) == "slurm-operator" else ():
        image = release.get("values", part, "image") or {}
        off = part == "webhook" and release.get("values", "webhook", "enabled") is False
        if image or (require == "digest" and not off):
            named = f"{image.get('repository') or own}:{image.get('tag') or version or '(its tag)'}"
            yield f"values.{part}.image", named + (f"@{image['digest']}" if image.get("digest") else "")


_LINES = Option(
    {"1.0": "25.11", "1.1": "25.11", "1.2": "26.05", "1.3": "26.05"},
    {"type": "object", "description": "Slurm release of Slinky's images, by minor release of the operator."},
)


@rule(
    "versions-agree",
    slinky("Controller", "RestApi", "NodeSet", "LoginSet", "Accounting"),
    options={
        "releases": _LINES,
        "registry": word("ghcr.io/slinkyproject/", "Beginning of Slinky's own images."),
        "outsideRelease": word("", "Slurm release of outside daemons, e.g. 26.05, if any."),
    },
)
def versions_agree(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """Images, operator release and REST version go together, and no daemon is newer than slurmctld.

    Why: every 1.x operator speaks REST v0.0.44 only, which slurmrestd has since 25.11: with an older one it is blind. Slinky
    ships 25.11 images with 1.0 and 1.1 and 26.05 with 1.2. slurmctld refuses slurmd, slurmrestd and sackd newer than itself.

    Source: slurm-operator go.mod and chart annotation slinky.slurm.net/minimum-slurm-version; docs/versioning.md; Slurm
    upgrade guide (slurmdbd, then slurmctld, then slurmd).

    Do: take the images of the operator's release, or your own of one Slurm release for all daemons; upgrade in that order.

    Level: mandatory, since a blind operator deletes busy pods.
    """
    versions = operator_versions(stack)
    if len(versions) > 1 and resource.kind == "Controller":
        yield f"the stack speaks of slurm-operator {', '.join(sorted(versions))}; chart and gates must be of one release"
    expected = {options["releases"].get(".".join(version.split(".")[:2])) for version in versions} - {None}
    ceiling = _slurmctld_release(resource, stack, options)
    for path in containers(resource):
        if path[-1] not in SLURM_DAEMONS:
            continue  # a sidecar's tag, ubuntu:24.04 say, is no release of Slurm
        image, place = resource.text(*path, "image"), f"{resource.label}: {'.'.join(map(str, path))}.image"
        release = slurm_release(image)
        if release is None:
            continue
        if release < MINIMUM:
            yield f"{place} is Slurm {release}; the operator needs {MINIMUM} or newer (REST v0.0.44)"
        elif image.startswith(options["registry"]) and expected and release not in expected:
            yield (
                f"{place} is Slinky's {release}; slurm-operator {', '.join(sorted(versions))} goes"
                f" with {', '.join(sorted(map(str, expected)))}"
            )
        elif ceiling and release > ceiling and resource.kind in ("RestApi", "NodeSet", "LoginSet"):
            yield f"{place} is Slurm {release}, newer than slurmctld's {ceiling}, which refuses it"


def _slurmctld_release(resource: Resource, stack: Stack, options: Options) -> str | None:
    controller = resource if resource.kind == "Controller" else controller_of(resource, stack)
    if controller is None:
        return None
    if is_external(controller):
        return options["outsideRelease"] or None
    return slurm_release(controller.text("spec", "slurmctld", "image"))
