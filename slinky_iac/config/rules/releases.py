"""Rules of Slurm's releases: which may speak to which, by what is set and by images' tags of Slinky's form.

No daemon may be newer than slurmctld, nor slurmctld newer than slurmdbd; how old one may be says
:func:`slinky_iac.releases.oldest`. A tag of another form is passed over: preflight asks the daemon in the image itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.slurm.words import beyond
from slinky_iac.config.stack import StackConfig
from slinky_iac.releases import MINIMUM_SLURM, of_image, oldest, ordinal, release_numbers, too_old

_BASES = {"25.11": "ubuntu24.04", "26.05": "ubuntu26.04"}
"""The system of Slinky's images of a release, by which their tags end (docs/releases.md)."""
_FOLLOWS = {
    "slurmd": "no node of it registers, and the update waits to its deadline",
    "login": "every Slurm command in its pods fails",
    "slurmrestd": "the operator and the gates can't ask Slurm",
}


def _versions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    said = config.cluster.slurm_version
    if said is not None and release_numbers(said) < MINIMUM_SLURM:
        yield at("cluster.slurmVersion").error(too_old(said))
        return  # what follows from it isn't said: no image mends it
    if config.slurm_numbers < MINIMUM_SLURM:
        yield at("cluster.images.slurmctld").error(
            f"is Slurm {config.slurm_release}, and slurm-operator needs 25.11 or newer (REST v0.0.44). Set an image of 25.11"
            " or newer, slurmdbd's first"
        )
        return
    images = config.operator_version.slurm_release
    if config.slurm_numbers < release_numbers(images):
        for name in _defaulted_images(config):
            yield at(f"cluster.images.{name}").error(
                f"is Slinky's {images} by default, newer than the cluster's {config.slurm_release}; older Slurm daemons"
                f" refuse a newer {name}. Set an image of the cluster's release",
                _image_of(name, config.slurm_release),
            )
    yield from _given(config)


def _image_of(name: str, release: str) -> str:
    """YAML that sets Slinky's own image of a release; empty where Slinky is not known to have made one."""
    base = _BASES.get(release)
    image = f"    {name}: ghcr.io/slinkyproject/{name}:{release}-{base}\n"
    return f"slinky-iac:cluster:\n  images:\n{image}" if base else ""


def _defaulted_images(config: StackConfig) -> Iterator[str]:
    """Images that this stack runs beside outside daemons, and for which it has no setting."""
    images = config.cluster.images
    used = {
        "slurmctld": bool(config.slurmctld.pods),
        "slurmrestd": True,
        "slurmd": any(nodeset.image is None for nodeset in config.nodesets.values()),
        "login": any(login.image is None for login in config.logins.values()),
    }
    return (name for name, is_used in used.items() if is_used and getattr(images, name) is None)


def _given_images(config: StackConfig) -> Iterator[tuple[str, str, str]]:
    """Images of daemons and commands that speak to slurmctld, as they are given: path, daemon and image."""
    images = config.cluster.images
    own: list[tuple[str, str, str | None]] = [("cluster.images.slurmrestd", "slurmrestd", images.slurmrestd)]
    if any(nodeset.image is None for nodeset in config.nodesets.values()):
        own.append(("cluster.images.slurmd", "slurmd", images.slurmd))
    if any(login.image is None for login in config.logins.values()):
        own.append(("cluster.images.login", "login", images.login))
    own += [(f"nodesets.{name}.image", "slurmd", nodeset.image) for name, nodeset in config.nodesets.items()]
    own += [(f"logins.{name}.image", "login", login.image) for name, login in config.logins.items()]
    own += [(f"clients.{name}.image", "login", client.image) for name, client in config.clients.items()]
    return ((path, daemon, image) for path, daemon, image in own if image is not None)


def _given(config: StackConfig) -> Iterator[Finding]:
    """What tags of given images say against slurmctld's release, where that is known."""
    slurmctld, said = config.slurmctld.image, config.cluster.slurm_version
    its = of_image(slurmctld)
    if its and said is not None and config.slurmdbd.hosts and _order(its) > _order(said):
        yield at("cluster.images.slurmctld").error(
            f"is Slurm {its}, newer than the outside slurmdbd's {said} (cluster.slurmVersion), which refuses it: no job is"
            f" accounted. Set an image of {said}, or update slurmdbd first and set its release"
        )
    if slurmctld and not its and said is None:
        return
    release = config.slurm_release
    for path, daemon, image in _given_images(config):
        if not (its := of_image(image)):
            continue
        if _order(its) > _order(release):
            yield at(path).error(
                f"is Slurm {its}, newer than slurmctld's {release}, which refuses it: {_FOLLOWS[daemon]}. Set an image of"
                f" {release}, or update slurmdbd and slurmctld first"
            )
        elif daemon == "slurmrestd" and release_numbers(its) < MINIMUM_SLURM:
            yield at(path).error(
                f"is Slurm {its}, and slurm-operator needs 25.11 or newer (REST v0.0.44): {_FOLLOWS[daemon]}. Set an image"
                f" of {release}"
            )
        elif _order(its) < _order(oldest(release)):
            yield at(path).error(
                f"is Slurm {its}, too old for slurmctld's {release}, which understands {oldest(release)} and newer:"
                f" {_FOLLOWS[daemon]}. Set an image of {release}"
            )
    yield from _slurmdbd(config, release)


def _slurmdbd(config: StackConfig, release: str) -> Iterator[Finding]:
    """slurmdbd in Kubernetes, by default of the operator's release, is no older than slurmctld."""
    if not config.slurmdbd.pods:
        return
    own = config.cluster.images.slurmdbd
    its = of_image(own) if own else config.operator_version.slurm_release
    if its and _order(its) < _order(release):
        yield at("cluster.images.slurmdbd").error(
            f"is {'' if own else 'by default '}Slurm {its}, older than slurmctld's {release}, and refuses it: no job is"
            f" accounted. Set an image of {release} or newer: slurmdbd is updated first"
        )
    elif its and _order(release) < _order(oldest(its)):
        yield at("cluster.images.slurmdbd").error(
            f"is {'' if own else 'by default '}Slurm {its}, and understands {oldest(its)} and newer: slurmctld is {release}."
            f" Set an image of {release}"
        )


def _beyond(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A release of which no table says what it reads."""
    setting = "cluster.images.slurmctld" if of_image(config.slurmctld.image) else "cluster.slurmVersion"
    if said := beyond(config.slurm_release):
        yield at(setting).info(f"is {said}", id="slurm-newer")


def _order(release: str) -> int:
    return ordinal(release) or 0


RULES = (_versions, _beyond)
