"""Debian packages that the lab needs, only those that are missing, in one apt-get call."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.errors import LabError

Say = Callable[[str], None]

NEEDED = {
    "etcd": "etcd-server",
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "iptables": "iptables",
    "ip": "iproute2",
    "conntrack": "conntrack",
    "debootstrap": "debootstrap",
    "busybox": "busybox-static",
    "openssl": "openssl",
    "nsenter": "util-linux",
    "kubectl": "kubernetes-client",
    "chromium": "chromium",
    "munged": "munge",
    "tmux": "tmux",
}
"""A program (on PATH, or an absolute path) and the Debian 12 package that brings it."""
QUIET_SERVICES = Path("/usr/sbin/policy-rc.d")
SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def missing(needed: dict[str, str]) -> list[str]:
    """Packages of those programs that are not there, sorted."""
    return sorted({package for program, package in needed.items() if shutil.which(program, path=SEARCH) is None})


def ensure(needed: dict[str, str] = NEEDED, *, say: Say = print) -> None:
    """Install the packages of those programs that are missing. Raises LabError with apt's last words."""
    packages = missing(needed)
    if not packages:
        return
    install(packages, say=say)
    still = missing(needed)
    if still:
        raise LabError(f"apt-get installed {' '.join(still)}, but their programs are not on PATH ({SEARCH})")


def install(packages: Sequence[str], *, say: Say = print) -> None:
    """Install packages without starting their services: etcd and containerd of the lab are its own processes."""
    if os.geteuid() != 0:
        raise LabError(f"these Debian packages are missing: {' '.join(packages)}; install them, or run the lab as root")
    say(f"apt: installing {' '.join(packages)} (under a minute)")
    ours = not QUIET_SERVICES.exists()
    if ours:
        QUIET_SERVICES.write_text("#!/bin/sh\nexit 101\n")
        QUIET_SERVICES.chmod(0o755)
    try:
        _apt("update")
        _apt("install", "-y", "--no-install-recommends", *packages)
    finally:
        if ours:
            QUIET_SERVICES.unlink(missing_ok=True)


def _apt(*arguments: str) -> None:
    argv = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", *arguments]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`apt-get {' '.join(arguments)}` failed: {(done.stderr or done.stdout).strip()[-800:]}")
