"""Network interfaces of this machine, looked at and changed by `ip`."""

import json
import subprocess
from typing import Any

from lab.errors import LabError


def ip(*commands: str, inside: list[str] | None = None) -> None:
    """Run `ip` commands as one batch. Raises LabError with what `ip` said."""
    argv = [*(inside or []), "ip", "-batch", "-"]
    done = subprocess.run(argv, input="\n".join(commands) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`ip {'; '.join(commands)}` failed: {done.stderr.strip()}; the lab needs root")


def known(device: str = "", *, inside: list[str] | None = None) -> list[Any]:
    """What `ip` knows about a device, or about all; empty if there is none."""
    argv = [*(inside or []), "ip", "-j", "link", "show", *(("dev", device) if device else ())]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        return []
    answer = json.loads(done.stdout)
    return [entry for entry in answer if entry] if isinstance(answer, list) else []


def delete(name: str) -> None:
    """Delete an interface; does nothing where there is none."""
    subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)


def of_lab(bridge: str, prefix: str) -> list[str]:
    """Names of the interfaces that exist on this machine: a lab's bridge, and what begins with its prefix."""
    names = [str(link["ifname"]) for link in known()]
    return [name for name in names if name == bridge or name.startswith(prefix)]


def remove(bridge: str, prefix: str) -> None:
    """Delete them. Raises LabError where one stays."""
    for name in of_lab(bridge, prefix):
        delete(name)
    left = of_lab(bridge, prefix)
    if left:
        raise LabError(f"network interfaces {', '.join(left)} could not be removed; try `ip link del NAME`")
