"""The Python environments: <repo>/venv for the program and its tools, policies/venv for the policy pack, one for Ansible.

All come from lock files, by hash: what was looked at is what is installed. The first two are links into CACHE, to a folder
named after a digest of the locks, so a second checkout shares them and changed locks get a fresh one. A venv that is a
folder of its own in the checkout is the user's, and is left alone.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lab import apt, locks, paths
from lab.errors import LabError

Say = Callable[[str], None]
COMPLETE = ".complete"
"""Written into a venv when its packages are all there: a venv can't be renamed into place, its scripts name it."""


def ensure(*, say: Say = print) -> Path:
    """The program's environment, made if need be. Returns its python."""
    folder = paths.REPO
    return _linked(folder / "venv", [folder / "requirements" / "dev.lock"], say)


def ensure_policies(*, say: Say = print) -> Path | None:
    """The policy pack's environment; None while there is no policy pack."""
    lock = paths.REPO / "policies" / "requirements.lock"
    return _linked(lock.parent / "venv", [lock], say) if lock.exists() else None


def ensure_ansible(*, say: Say = print) -> Path:
    """The folder of Ansible's programs, for tests of rendered playbooks: its pins are its own, so it is linked nowhere."""
    return _made([paths.REPO / "requirements" / "ansible.lock"], say) / "bin"


def ensure_dashboard(*, say: Say = print) -> Path:
    """The Python that has Grafana's SDK, for lab/dashboard.py."""
    return _made([paths.REPO / "requirements" / "dashboard.lock"], say) / "bin" / "python"


def ensure_clouds(*, say: Say = print) -> Path:
    """The folder of the clouds' SDKs, for tests of examples/clouds, whose environment has what these need. Nothing is
    compiled ahead: of ten thousand modules a test imports some hundred."""
    found = _made([paths.REPO / "requirements" / "clouds.lock"], say, "--no-deps", "--no-compile")
    return next(found.glob("lib/python3*/site-packages"))


def ensure_docs(*, say: Say = print) -> Path:
    """The folder of the programs that build the pages as a site: made when it is first needed, and linked nowhere."""
    return _made([paths.REPO / "requirements" / "docs.lock"], say) / "bin"


def key(requirements: Sequence[Path], version: tuple[int, int]) -> str:
    """Twelve hex digits of the locks and the Python they are for."""
    digest = hashlib.sha256(repr(version).encode())
    for file in requirements:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _linked(link: Path, requirements: Sequence[Path], say: Say) -> Path:
    if link.is_dir() and not link.is_symlink():
        return link / "bin" / "python"
    ready = _made(requirements, say)
    if not link.is_symlink() or link.readlink() != ready:
        new = link.with_name(f".{link.name}.new")
        new.unlink(missing_ok=True)
        new.symlink_to(ready)
        new.replace(link)
    return ready / "bin" / "python"


def _made(requirements: Sequence[Path], say: Say, *words: str) -> Path:
    ready = paths.CACHE / "venv" / key(requirements, sys.version_info[:2])
    ready.parent.mkdir(parents=True, exist_ok=True)
    with locks.alone("python", lambda: say("python: somebody else is installing packages; waiting")):
        if not (ready / COMPLETE).exists():
            _make(ready, requirements, say, *words)
    return ready


def _make(folder: Path, requirements: Sequence[Path], say: Say, *words: str) -> None:
    say(f"python: installing {', '.join(file.name for file in requirements)} into {folder} (about a minute)")
    shutil.rmtree(folder, ignore_errors=True)
    if not _venv(folder):
        shutil.rmtree(folder, ignore_errors=True)
        apt.install(["python3-venv"], say=say)  # Debian's python3 has no ensurepip without it
        if not _venv(folder):
            raise LabError(f"`{sys.executable} -m venv {folder}` fails even with python3-venv installed")
    done = subprocess.run([*installing(folder, requirements), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        named = " ".join(file.name for file in requirements)
        raise LabError(f"pip could not install {named} into {folder}: {done.stderr.strip()[-800:]}")
    (folder / COMPLETE).touch()


def installing(folder: Path, locks: Sequence[Path]) -> list[str]:
    """The command that installs what the locks hold into an environment, and nothing whose hash isn't in them."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [*pip, "--require-hashes", *(word for file in locks for word in ("-r", str(file)))]


def _venv(folder: Path) -> bool:
    argv = [sys.executable, "-m", "venv", str(folder)]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0
