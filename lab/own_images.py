"""The images that are not Slurm's: the operator's, from its own binaries, and busybox, which also holds the pods."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab import images, paths, tools
from lab.errors import LabError
from lab.images import Image, Start

BUSYBOX = "slinky-lab/busybox:1"
OPERATOR = f"slinky-lab/slurm-operator:{tools.OPERATOR}"
WEBHOOK = f"slinky-lab/slurm-operator-webhook:{tools.OPERATOR}"
OPERATORS = {"manager": OPERATOR, "webhook": WEBHOOK}
"""Images of the operator's programs."""
NONROOT = "65532:65532"
EDITION = "2"
"""Raise it when what is packed changes while the programs do not."""


def ensure(binaries: Mapping[str, Path]) -> list[Image]:
    """The images, packed if they are not in CACHE. `binaries` holds `manager` and `webhook`."""
    return [_busybox(), *of_programs(binaries, OPERATORS)]


def of_programs(binaries: Mapping[str, Path], names: Mapping[str, str]) -> list[Image]:
    """The images of programs, by program; packed if they are not in CACHE."""
    return [of_program(program, binaries[program], name) for program, name in names.items()]


def of_program(program: str, binary: Path, name: str) -> Image:
    """The image that starts one of the operator's programs, packed if it is not in CACHE."""
    start = Start(entrypoint=(f"/{program}",), user=NONROOT)
    return images.pack_files({program: binary}, name, _archive(program, binary, name), start=start)


def _busybox() -> Image:
    found = shutil.which("busybox", path="/bin:/usr/bin")
    if found is None:
        raise LabError("busybox is missing; `apt-get install busybox-static` brings it")
    listed = subprocess.run([found, "--list"], capture_output=True, text=True, check=True).stdout.split()
    links = {f"bin/{applet}": "busybox" for applet in listed if applet != "busybox"}
    binary = Path(found)
    start = Start(command=("/bin/sleep", "2147483647"))  # so that it can be the pause image
    return images.pack_files(
        {"bin/busybox": binary}, BUSYBOX, _archive("busybox", binary, BUSYBOX), start=start, links=links
    )


def _archive(program: str, binary: Path, name: str) -> Path:
    return paths.CACHE / "images" / f"{program}-{images.digest_of([binary], EDITION, name)}.tar"
