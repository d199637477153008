"""Kubernetes of another release, which the user has built, in place of the lab's own: `lab up --kubernetes DIR`.

DIR holds the programs, and containerd with its shim: a newer kubelet needs a newer one than Debian's. containerd finds
the shim beside itself. Nothing of DIR is built or kept here.
"""

import re
import subprocess
from pathlib import Path
from typing import Final

from lab import tools
from lab.errors import LabError
from lab.given import Given

CONTAINERD: Final = "containerd"
PROGRAMS: Final = (*tools.tool("kubernetes").programs, CONTAINERD, "containerd-shim-runc-v2")
FOLDER: Final = Given(
    "SLINKY_LAB_KUBERNETES",
    "kubernetes-programs",
    PROGRAMS,
    f"hold {', '.join(PROGRAMS)}, built from one release of Kubernetes and one of containerd that goes with it",
)


def programs() -> dict[str, Path]:
    """The user's programs by name; none where the user names no folder. Raises LabError where the folder lacks one."""
    folder = FOLDER.folder(FOLDER.named())
    return {} if folder is None else {name: folder / name for name in PROGRAMS}


def version() -> str:
    """The release that the lab runs, ``1.35.4``. Raises LabError where the user's kubelet doesn't say one."""
    given = programs()
    if not given:
        return tools.KUBERNETES
    kubelet = given["kubelet"]
    try:
        said = subprocess.run([str(kubelet), "--version"], capture_output=True, text=True, check=False, timeout=20).stdout
    except OSError as error:
        said = str(error)
    found = re.fullmatch(r"Kubernetes v(\d+\.\d+\.\d+)\n", said)
    if found is None:
        raise LabError(f"{kubelet} --version gives no release of Kubernetes: {said.strip()[:200]!r}. Nothing was started")
    return found[1]
