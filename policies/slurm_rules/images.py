"""Images and charts: pinned, and of releases that go together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch

from slurm_rules.charts import HELM_RELEASE, chart_name, is_folder
from slurm_rules.cluster import containers, controller_of, is_external, operator_versions
from slurm_rules.model import Resource, Stack, mappings
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
    known = [each.removeprefix("oci://").rstrip("/") for each in registries]
    return any(name.startswith((f"{each}/", f"{each}:", f"{each}@")) for each in known)


_OPERATOR = ("slurm-operator", "slurm-operator-crds")


def _of_cluster(resource: Resource) -> bool:
    return resource.is_slinky or (resource.type == HELM_RELEASE and chart_name(resource) in _OPERATOR)


@rule(
    "images-pinned",
    _of_cluster,
    scope="resource",
    options={
        "require": word("tag", "What pins an image or chart: a tag that doesn't move, or a digest.", "tag", "digest"),
        "except": words((), "Images and charts (with *) that needn't be pinned so."),
    },
)
def images_pinned(resource: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Images of the cluster and of slurm-operator have a tag that doesn't move and charts a version, or both a digest.

    Why: a tag that moves brings another Slurm release into some pods after a restart; slurmd newer than slurmctld is refused
    and its node's jobs fail. Only a digest says that tomorrow's pod runs what was tested today. A registry may move a
    chart's version too. From which registries they come, cluster-as-made judges.

    Source: Slurm upgrade guide (order of daemons, versions that go together); Kubernetes, "Images".

    Do: write the tag of Slinky's release, and in production tag@sha256:…; for charts, operator.chart.digest and crdsDigest.

    Level: mandatory, since what runs after a restart is what no review has seen.
    """
    if resource.type == HELM_RELEASE:
        yield from _chart(resource, options)
    for where, image in _of_release(resource, options) if resource.type == HELM_RELEASE else _of_pods(resource):
        if _DIGEST.fullmatch(image) or any(fnmatch(image, pattern) for pattern in options["except"]):
            continue
        if options["require"] == "digest":
            yield f"{resource.label}: {where} {image} has no digest; this site wants tag@sha256:…"
        elif tag_of(image) in _MOVING or not tag_of(image):
            yield f"{resource.label}: {where} {image} isn't pinned; give a tag that doesn't move"


def _chart(release: Resource, options: Options) -> Iterator[str]:
    chart = release.text("chart")
    if is_folder(release) or any(fnmatch(chart, pattern) for pattern in options["except"]):
        return
    if _DIGEST.fullmatch(chart) is None and not release.text("version"):
        yield f"{release.label}: chart {chart} has no version, so each update takes the newest"
    if options["require"] == "digest" and _DIGEST.fullmatch(chart) is None:
        yield f"{release.label}: chart {chart} has no digest; this site wants oci://…@sha256:…, or a folder of the program"


def _of_pods(resource: Resource) -> Iterator[tuple[str, str]]:
    """Field and image of every container of a custom resource, and of every volume that is an image."""
    for path in containers(resource):
        if path[:3] != ("spec", "template", "spec") and (image := resource.text(*path, "image")):
            yield f"{_dotted(path)}.image", image
    for here, each in mappings(resource.get("spec", "template"), "spec.template"):
        found = each.get("image")
        if isinstance(found, str) and "name" in each:
            yield f"{here}.image", found
        if isinstance(found, Mapping) and isinstance(found.get("reference"), str):
            yield f"{here}.image.reference", found["reference"]


def _of_release(release: Resource, options: Options) -> Iterator[tuple[str, str]]:
    """Images of the operator's chart. Without values its own are by tag, which is said where digests are asked for."""
    if chart_name(release) != "slurm-operator":
        return
    for part, own in _OWN.items():
        image = release.get("values", part, "image") or {}
        off = part == "webhook" and release.get("values", "webhook", "enabled") is False
        tag = image.get("tag") or release.text("version") or "(its tag)"
        whole = f"{image.get('repository') or own}:{tag}" + (f"@{image['digest']}" if image.get("digest") else "")
        if image or (options["require"] == "digest" and not off):
            yield f"values.{part}.image" if image else f"values.{part}.image isn't set, so the chart's own,", whole


_OWN = {
    "operator": "ghcr.io/slinkyproject/slurm-operator",
    "webhook": "ghcr.io/slinkyproject/slurm-operator-webhook",
}
"""Images of slurm-operator's chart (helm/slurm-operator/values.yaml)."""


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
