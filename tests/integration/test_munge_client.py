"""The sidecar's own script with a real munged, its volumes as the kubelet makes them: root's key, world-writable folders.

What it is not: a pod. Paths are moved into a folder; users are changed by setpriv where the tests run as root.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.parts.munge.clients import KEY_FOLDER, OWN_FOLDER, client_pod
from tests.clusters import MUNGE, stack_sections

MUNGED, ALICE = 65030, 20001
ROOT = os.geteuid() == 0


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found, f"{name} is missing: `./lab/lab tools` installs it (Debian's package munge)"
    return found


def as_user(user: int) -> list[str]:
    """A prefix that changes the user, where that is possible."""
    ids = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    return [program("setpriv"), *ids] if ROOT else []


@dataclass(frozen=True)
class Side:
    """One host or pod with its munged."""

    folder: Path

    @property
    def socket(self) -> str:
        return f"--socket={self.folder}/run/munge.socket.2"

    def encode(self, user: int = ALICE) -> str:
        """A credential, as a command in the notebook gets it from libmunge."""
        argv = [*as_user(user), program("munge"), "--no-input", self.socket]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout

    def decode(self, credential: str) -> subprocess.CompletedProcess[str]:
        """What the other side, slurmctld's, makes of it."""
        argv = [program("unmunge"), "--keys=STATUS,UID", "--numeric", self.socket]
        return subprocess.run(argv, input=credential, capture_output=True, text=True, check=False, timeout=10)


def volumes(folder: Path, key: bytes) -> Path:
    """A pod's volumes: the Secret as root's with the group's read bit behind two links, emptyDirs open to all."""
    secret = folder / "key" / "..2026"
    secret.mkdir(parents=True)
    (secret / "munge.key").write_bytes(key)
    (secret / "munge.key").chmod(0o440)
    (folder / "key" / "..data").symlink_to("..2026")
    (folder / "key" / "munge.key").symlink_to("..data/munge.key")
    for name in ("own", "run"):
        (folder / name).mkdir()
        (folder / name).chmod(0o2777)
    if ROOT:
        for each in (secret, secret / "munge.key", folder / "own", folder / "run"):
            os.chown(each, 0, MUNGED)
    return folder


@contextmanager
def sidecar(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The container's command, its paths moved into ``folder``, until the probe of its socket holds."""
    (container,) = client_pod(load(stack_sections(MUNGE)))["initContainers"]
    script = container["command"][-1]
    for path, name in ((KEY_FOLDER, "key"), (OWN_FOLDER, "own"), ("/run/munge", "run")):
        script = script.replace(path, str(folder / name))
    script = script.replace("exec munged", f"exec {program('munged')}")
    started = subprocess.Popen(
        [*as_user(MUNGED), *container["command"][:-1], script],
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    try:
        end = time.monotonic() + 20
        probe = [*as_user(MUNGED), program("munge"), "--no-input", Side(folder).socket, "--output=/dev/null"]
        while subprocess.run(probe, capture_output=True, check=False, timeout=10).returncode != 0:
            assert started.poll() is None, started.communicate()[1]
            assert time.monotonic() < end, "munged never answered"
            time.sleep(0.05)
        yield started
    finally:
        started.kill()
        started.communicate()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that other users may walk into, as temporary folders of pytest may not be."""
    folder = tmp_path_factory.mktemp("munge")
    for each in (folder, *folder.parents):
        if each.owner() and each.stat().st_uid == os.geteuid() and str(each).count("/") > 1:
            each.chmod(each.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH | stat.S_IRGRP | stat.S_IROTH)
    return folder


@pytest.fixture(scope="module")
def pod(world: Path) -> Path:
    return volumes(world / "pod", b"the outside cluster's munge.key, forty-odd bytes")


def test_a_users_credential_is_taken_on_the_other_side_as_hers(pod: Path, world: Path) -> None:
    outside = volumes(world / "outside", (pod / "key" / "munge.key").read_bytes())
    with sidecar(pod), sidecar(outside):
        said = Side(outside).decode(Side(pod).encode())
        assert said.stdout.split() == ["STATUS:", "0", "UID:", str(ALICE if ROOT else os.geteuid())]


def test_munged_keeps_the_key_for_itself(pod: Path) -> None:
    with sidecar(pod):
        copy = (pod / "own" / "munge.key").stat()
        assert stat.S_IMODE(copy.st_mode) == 0o400
        assert copy.st_uid == (MUNGED if ROOT else os.geteuid())
        if ROOT:
            reading = subprocess.run(
                [*as_user(ALICE), "cat", str(pod / "own" / "munge.key")], capture_output=True, check=False
            )
            assert reading.returncode != 0


def test_a_sidecar_that_was_killed_starts_again_on_the_same_volumes(pod: Path) -> None:
    for _ in range(2):
        with sidecar(pod) as running:
            assert Side(pod).encode().startswith("MUNGE:")
            running.kill()
            running.wait()


def test_another_key_is_refused(pod: Path, world: Path) -> None:
    stranger = volumes(world / "stranger", b"another munge.key of more than thirty-two bytes")
    with sidecar(pod), sidecar(stranger):
        said = Side(stranger).decode(Side(pod).encode())
        assert said.returncode != 0
        assert "Invalid credential" in said.stdout + said.stderr


def test_a_stray_line_break_makes_it_another_key(pod: Path, world: Path) -> None:
    trap = volumes(world / "newline", (pod / "key" / "munge.key").read_bytes() + b"\n")
    with sidecar(pod), sidecar(trap):
        assert Side(trap).decode(Side(pod).encode()).returncode != 0
