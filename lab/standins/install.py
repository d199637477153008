"""Put the stand-ins where an engine looks for plugins, unless the official ones are at hand. Standard library only.

An engine takes language hosts and the dynamic provider from PATH or from beside the real `pulumi` file (symlinks
resolved), and warns when PATH gives another file than the one beside it: so PATH should hold `bin_dir` itself, not a link
to it. A provider from PATH always gives a warning; one in PULUMI_HOME/plugins/resource-NAME-vVERSION does not, when
VERSION is the one that the pip package asks for.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

HERE = Path(__file__).resolve().parent
BUNDLED = ("pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")
"""They come with an official `pulumi`: either all three are its own, or all three are ours."""
RANDOM = "pulumi-resource-random"


@dataclass(frozen=True)
class Link:
    """One file that an engine is to find at `at`, and what it is."""

    at: Path
    to: Path


def random_version(requirements: str) -> str:
    """The version of pulumi-random that a requirements.txt pins. Raises LabError when it pins none."""
    pinned = re.search(r"^pulumi-random==([\w.]+)", requirements, re.MULTILINE)
    if pinned is None:
        raise LabError(
            "requirements.txt pins no pulumi-random==VERSION, and the engine finds a provider only under the exact version "
            "of its pip package; the stand-in was not installed. Next: pin it"
        )
    return pinned[1]


def is_official(file: Path) -> bool:
    """Whether `file` is there and is not one of ours."""
    return file.exists() and not file.resolve().is_relative_to(HERE)


def on_path(name: str, path: str) -> Path | None:
    """The official program of this name on PATH, if any: ours, found there, do not count."""
    found = (shutil.which(name, path=folder) for folder in path.split(":") if folder)
    return next((Path(file) for file in found if file and is_official(Path(file))), None)


def plan(bin_dir: Path, pulumi_home: Path, user_home: Path, path: str, version: str) -> list[Link]:
    """The links that are needed: none for what is official on `path`, beside `pulumi` or in the plugin cache.

    `bin_dir` holds the real pulumi file, `version` is pulumi-random's. An official provider that the user has in
    ~/.pulumi is linked instead of ours.
    """
    links = []
    if not any(is_official(bin_dir / name) for name in BUNDLED) and on_path(BUNDLED[0], path) is None:
        links += [Link(bin_dir / name, HERE / name) for name in BUNDLED]
    cached = Path("plugins") / f"resource-random-v{version}" / RANDOM
    users = user_home / ".pulumi" / cached
    if not is_official(pulumi_home / cached) and on_path(RANDOM, path) is None:
        links.append(Link(pulumi_home / cached, users if is_official(users) else HERE / RANDOM))
    return links


def install(links: list[Link]) -> None:
    """Make the links; a link that is there already is renewed, so a moved checkout heals itself."""
    for link in links:
        link.at.parent.mkdir(parents=True, exist_ok=True)
        new = link.at.with_name(f".{link.at.name}.new")
        new.unlink(missing_ok=True)
        new.symlink_to(link.to)
        new.replace(link.at)
