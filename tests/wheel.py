"""The wheel of this checkout in an environment of its own: no module of the checkout can be imported there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slinky_iac.commands.new import WHEEL
from tests.stacks import ROOT


def build(folder: Path) -> Path:
    """The wheel of what is in this checkout now; returns its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    return folder / WHEEL


@dataclass(frozen=True)
class Site:
    """A site's project folder: not in the checkout, with a virtual environment that has the wheel installed."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Programs of its environment."""
        return self.folder / "venv" / "bin"

    def run(self, *words: str, check: bool = True, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the project's folder; ``env`` is all of its environment but PATH."""
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=self.folder,
            env={"PATH": f"{self.bin}:/usr/bin:/bin", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert not check or done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


def install(wheel: Path, site: Site) -> None:
    """Make the environment. pip installs the wheel itself; its dependencies are those of the tests' own environment, so that
    nothing is fetched, and `pip check` says whether they are what the wheel asks for."""
    # With the tests' pip: a pip of its own would be unpacked and compiled for seconds.
    venv = ["-m", "venv", "--without-pip", str(site.folder / "venv")]
    pip = ["-m", "pip", "--python", str(site.bin / "python"), "install", "--no-index", "--no-deps"]
    for words in (venv, [*pip, "--disable-pip-version-check", str(wheel)]):
        subprocess.run([sys.executable, *words], check=True, capture_output=True, timeout=300)
    (packages,) = (site.folder / "venv" / "lib").glob("python3*/site-packages")
    (packages / "tests-own.pth").write_text(sysconfig.get_paths()["purelib"])


def made(wheel: Path, folder: Path) -> Site:
    """A project from the template, in ``folder``, as `slinky new` of the installed wheel makes it."""
    site = Site(folder)
    folder.mkdir(parents=True)
    install(wheel, site)
    site.run("slinky", "new", str(folder), "--wheel", str(wheel))
    return site
