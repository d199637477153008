"""Images and charts: pinned, and of releases that go together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch

from slurm_rules.cluster import HELM_RELEASE, chart_name, containers, controller_of, is_external, operator_versions
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Option, Options, rule, slinky, word, words

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


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))


def _has_images(resource: Resource) -> bool:
    return resource.is_slinky or (resource.type == HELM_RELEASE and chart_name(resource).startswith("slurm"))


@rule(
    "images-pinned",
    _has_images,
    scope="resource",
    options={
        "require": word("tag", "What pins an image: a tag that doesn't move, or a digest.", "tag", "digest"),
        "except": words((), "Images (with *) that needn't be pinned so."),
    },
)
def images_pinned(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Every image has a tag that doesn't move, or a digest where the site asks for it; every chart has a version.

    Why: a tag that moves brings another Slurm release into some pods after a restart; slurmd newer than slurmctld is refused
    and its node's jobs fail. Only a digest says that tomorrow's pod runs what was tested today.

    Source: Slurm upgrade guide (order of daemons, versions that go together); Kubernetes, "Images".

    Do: write the tag of Slinky's release, and in production tag@sha256:….

    Level: advisory, since a tag that is kept does no harm.
    """
    if resource.type == HELM_RELEASE:
        if not resource.text("version") and resource.text("chart").startswith(("oci://", "http://", "https://")):
            yield f"{resource.label}: chart {resource.text('chart')} has no version, so each update takes the newest"
        for part in ("operator", "webhook"):
            if (tag := resource.text("values", part, "image", "tag")) in _MOVING:
                yield f"{resource.label}: values.{part}.image.tag is {tag}, which moves; give the release's tag"
        return
    for path in containers(resource):
        image = resource.text(*path, "image")
        if not image or any(fnmatch(image, pattern) for pattern in options["except"]):
            continue
        if "@sha256:" in image:
            continue
        if options["require"] == "digest":
            yield f"{resource.label}: {_dotted(path)}.image {image} has no digest; this site wants tag@sha256:…"
        elif tag_of(image) in _MOVING or not tag_of(image):
            yield f"{resource.label}: {_dotted(path)}.image {image} isn't pinned; give a tag that doesn't move"


_LINES = Option(
    {"1.0": "25.11", "1.1": "25.11", "1.2": "26.05"},
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
        image, place = resource.text(*path, "image"), f"{resource.label}: {_dotted(path)}.image"
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
