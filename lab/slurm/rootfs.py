"""The root file system of the lab's Slurm hosts: Debian sid with Slurm 26.05, made once per recipe.

`ensure` returns CACHE/rootfs/<key>, where the key is a digest of the recipe below: a warm machine returns at once.
A build happens in a folder beside it and is renamed when it is complete and judged good (lab.slurm.needs), so a
half-made one is never used. All of it runs in mount and pid namespaces of its own: whatever kills it, no mount and
no process stays. The mirror is read from the machine's apt configuration and is not part of the key.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab import given_slurm, paths
from lab.errors import LabError
from lab.slurm import mirror, needs

APT_FRAGMENTS = Path("/etc/apt/apt.conf.d")
Say = Callable[[str], None]


@dataclass(frozen=True)
class User:
    """An account that every host and image has, with the same uid everywhere."""

    name: str
    uid: int


@dataclass(frozen=True)
class Recipe:
    """All that decides what is in the root file system."""

    suite: str = "sid"
    packages: tuple[str, ...] = (
        "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sackd", "slurm-client", "slurm-wlm-basic-plugins",
        "slurm-wlm-jwt-plugin", "slurm-wlm-mysql-plugin", "mariadb-server", "openssh-server", "procps", "iproute2",
        "curl", "tini", "adduser",
    )  # fmt: skip
    slurm_uid: int = needs.SLURM_UID
    users: tuple[User, ...] = (User("alice", 2001), User("bob", 2002), User("drainop", 2031), User("drainadm", 2032))
    edition: int = 1
    """Raise it when `script` changes what it makes."""
    given: str = field(default="", repr=False)
    """Digest of a Slurm of the user's own that takes the place of Debian's (lab.given_slurm)."""

    def key(self) -> str:
        """Twelve hex digits, the same for the same recipe on every machine."""
        exchanged = self.given + EXCHANGE if self.given else ""
        return hashlib.sha256((repr(self) + exchanged).encode()).hexdigest()[:12]


RECIPE = Recipe()


def wanted() -> Recipe:
    """The lab's recipe, with the Slurm that the user names. Raises LabError where that lacks something."""
    return replace(RECIPE, given=given_slurm.digest())


def tell(line: str) -> None:
    """Say how far it is, on stderr: stdout is for what was asked for."""
    print(line, file=sys.stderr, flush=True)


def install_script(recipe: Recipe) -> str:
    """What runs inside the new root, after debootstrap and before the check.

    User slurm is made before Debian's packages would make it with another uid. The documentation, translations
    and manual pages are left out by dpkg itself, and no service starts from an installation (policy-rc.d).
    """
    users = "\n".join(f"useradd -m -u {user.uid} -s /bin/bash {user.name}" for user in recipe.users)
    return f"""set -e
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
cat > /etc/dpkg/dpkg.cfg.d/lab <<'END'
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/lintian/*
force-unsafe-io
END
groupadd -g {recipe.slurm_uid} slurm
useradd -u {recipe.slurm_uid} -g slurm -d /var/lib/slurm -M -s /usr/sbin/nologin slurm
{users}
apt-get update -qq
apt-get install -y -qq --no-install-recommends {" ".join(recipe.packages)}
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
rm -f /etc/ssh/ssh_host_* /etc/machine-id
install -d -o slurm -g slurm -m 755 /var/log/slurm /var/lib/slurm /var/spool/slurmctld
install -d -m 755 /etc/slurm /var/spool/slurmd
"""


def _faults(root: Path) -> list[str]:
    return needs.faults(needs.look(root))


def ensure(recipe: Recipe | None = None, *, say: Say = tell, faults: Callable[[Path], list[str]] = _faults) -> Path:
    """The root file system for `recipe`, built if it is not there; without one, for the lab's. Raises LabError if Debian has
    not what is needed: `faults` says what is missing in a root file system."""
    recipe = recipe or wanted()
    folder = paths.CACHE / "rootfs"
    ready = folder / recipe.key()
    if ready.is_dir():
        return ready
    base = ensure(replace(recipe, given=""), say=say, faults=faults) if recipe.given else None
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / "lock"):
        if ready.is_dir():
            return ready
        for leftover in folder.glob("*.part"):
            shutil.rmtree(leftover)
        part, log = folder / f"{recipe.key()}.part", folder / f"{recipe.key()}.log"
        if base is None:
            say(f"slurm: Debian {recipe.suite} with Slurm for the lab's hosts is being installed (about 3 minutes, 700 MB)")
            _build(recipe, part, log)
        else:
            say(f"slurm: the hosts get Slurm {given_slurm.release()} from {given_slurm.folder()} (half a minute, 800 MB)")
            part.mkdir()
            sealed(["sh", "-c", EXCHANGE, "exchange", str(base), str(part), str(given_slurm.folder())], log)
        if found := faults(part):
            whose = f"Debian {recipe.suite} has not what the lab needs" if base is None else given_slurm.FOLDER.variable
            mirrors = "; take a mirror (or a snapshot of it) that has, in this machine's apt configuration, and try again"
            raise LabError(f"{whose}: {'; '.join(found)}. It was built in {part}{mirrors if base is None else ''}")
        part.rename(ready)
    return ready


# Debian's Slurm goes, so that no plugin of another release is left to be loaded; its systemd units stay.
EXCHANGE = r"""set -eu
cp -a "$1/." "$2"
chroot "$2" sh -eu -s <<'END'
dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'slurm*' sackd | sed -n 's/^installed //p' |
    xargs dpkg-query -L | grep -E '^/usr/(s?bin|lib/[^/]*-linux-gnu)/' |
    while read -r path; do if [ -L "$path" ] || [ -f "$path" ]; then rm -f "$path"; fi; done
END
cp -a --remove-destination "$3/usr/." "$2/usr"  # Debian's daemons are links to alternatives
chroot "$2" ldconfig
"""


def _build(recipe: Recipe, root: Path, log: Path) -> None:
    if shutil.which("debootstrap") is None:
        _install_debootstrap(log)
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates", recipe.suite, str(root), mirror.read()]
    sealed(command, log)
    for fragment in sorted(APT_FRAGMENTS.glob("99*")):  # what a mirror needs: dates of a snapshot, a proxy
        shutil.copy(fragment, root / "etc/apt/apt.conf.d")
    inside = 'mount -t proc proc "$1/proc" && exec chroot "$1" sh -c "$2"'
    sealed(["sh", "-c", inside, "install", str(root), install_script(recipe)], log)


def sealed(argv: list[str], log: Path) -> None:
    """Run in namespaces that die with the command, so that neither a mount nor a postinst daemon outlives it."""
    seal = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "nice",
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    with log.open("a") as out:
        done = subprocess.run([*seal, *argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    if done.returncode:
        tail = "\n".join(f"  {line}" for line in log.read_text(errors="replace").splitlines()[-8:])
        raise LabError(f"{argv[0]} ended with {done.returncode} while making the Slurm hosts; {log} ends with:\n{tail}")


def _install_debootstrap(log: Path) -> None:
    apt = ["nice", "apt-get", "-qq", "-y", "--no-install-recommends"]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("a") as out:
        for argv in ([*apt, "update"], [*apt, "install", "debootstrap"]):
            subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    if shutil.which("debootstrap") is None:
        raise LabError(f"debootstrap is not installed and apt-get could not install it; see {log}")


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a file lock; the kernel gives it back when the process ends, however it ends."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
