"""Two blank hosts and the hand-off of a stack that names them: what the tests of joining work on."""

from __future__ import annotations

import base64
import os
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab import paths, python_env
from lab.slurm import blank
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.hosts import LAB as HOSTS
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.world import Settings, dev_settings

METAL, LOGIN, SPARE = "metal-3", "login-2", "login-3"
CTL = "10.99.0.10"


def settings(addresses: dict[str, str]) -> Settings:
    """The dev stack's settings with one more slurmd host and one more login host. slurmctld is given by its address, so that
    the blank hosts need no DNS."""
    found = dev_settings()
    found["slinky-iac:controller"] = {"external": {"host": CTL, "port": 6817}}
    outside = found["slinky-iac:external"]
    metal = {"name": METAL, "address": addresses[METAL], "config": {"CPUs": 2, "RealMemory": 1000}}
    outside["slurmdHosts"] = [*outside["slurmdHosts"], metal]
    outside["loginHosts"] = [*outside["loginHosts"], {"name": LOGIN, "address": addresses[LOGIN]}]
    return found


@dataclass(frozen=True)
class Joining:
    """The stack whose hand-off is used, and the addresses of the two hosts."""

    stack: Stack
    addresses: dict[str, str]
    folder: Path

    def handoff(self, out: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the command as an admin does, in the project's folder."""
        command = [
            sys.executable,
            "-m",
            "slinky_iac",
            "handoff",
            "--stack",
            self.stack.name,
            "--out",
            str(self.folder / out),
        ]
        env = {**os.environ, **self.stack.env, "PYTHONPATH": str(paths.REPO)}
        return subprocess.run(
            [*command, *arguments], cwd=self.stack.folder, env=env, capture_output=True, text=True, check=check, timeout=120
        )

    def carry(self, source: str, host: str) -> str:
        """Copy a rendered folder to a host, as scp would; returns its place there."""
        there = f"/srv/{Path(source).name}"
        archive = subprocess.run(["tar", "-C", str(self.folder / source), "-c", "."], capture_output=True, check=True).stdout
        script = f"rm -rf {there} && mkdir -p {there} && base64 -d | tar -C {there} -x"
        HOSTS.run(host, ["sh", "-c", script], stdin=base64.b64encode(archive).decode())
        return there

    def playbook(self, out: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the rendered playbook against the blank hosts: real Ansible, with a shell into the host for ssh."""
        programs = python_env.ensure_ansible(say=lambda _line: None)
        home = self.folder / "ansible-home"
        settings = {
            "ANSIBLE_HOME": str(home),
            "HOME": str(home),
            "ANSIBLE_SSH_EXECUTABLE": str(self._ssh()),
            "ANSIBLE_SSH_TRANSFER_METHOD": "piped",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        command = ["ansible-playbook", "-i", "inventory.yaml", "handoff.yaml", "-e", "ansible_become=false", *arguments]
        return subprocess.run(
            command, cwd=self.folder / out, env=settings, capture_output=True, text=True, check=False, timeout=240
        )

    def _ssh(self) -> Path:
        """A program that takes ssh's arguments and goes into the lab's host of that address."""
        cases = "".join(
            f'  {address}) exec {shlex.join(HOSTS.entered(name, ["sh", "-c"]))} "$2" ;;\n'
            for name, address in self.addresses.items()
        )
        text = f'#!/bin/bash\nwhile [ $# -gt 2 ]; do shift; done\ncase $1 in\n{cases}esac\necho "no host $1" >&2\nexit 255\n'
        path = self.folder / "ssh"
        path.write_text(text)
        path.chmod(0o700)
        return path

    def boot(self, host: str, user_data: str) -> None:
        """Let a host's cloud-init carry out a file of user data, as at a first boot: files, then commands."""
        seed = "/var/lib/cloud/seed/nocloud"
        local = "network: {config: disabled}\ndatasource_list: [NoCloud]\n"
        script = f"""set -e
            mkdir -p {seed}
            echo 'instance-id: first' > {seed}/meta-data
            cat > {seed}/user-data
            printf '%s' '{local}' > /etc/cloud/cloud.cfg.d/99-lab.cfg
            cloud-init init
            for module in write_files_deferred runcmd scripts_user; do
                cloud-init single --name cc_$module --frequency always
            done"""
        HOSTS.run(host, ["sh", "-c", script], stdin=(self.folder / user_data).read_text())

    def checked(self, host: str, role: str) -> subprocess.CompletedProcess[str]:
        """What the role's own check says on the host."""
        return HOSTS.run(host, [f"/usr/local/sbin/slurm-check-{role}"], check=False, timeout=120)

    def await_checked(self, host: str, role: str, timeout: float = 60) -> str:
        """Wait until the role's check finds nothing wrong; returns what it says."""
        said: list[subprocess.CompletedProcess[str]] = []

        def fine() -> bool:
            said.append(self.checked(host, role))
            return said[-1].returncode == 0

        try:
            await_true(f"slurm-check-{role} on {host} finds nothing wrong", fine, timeout, every=1.0)
        except AssertionError as error:
            error.add_note(said[-1].stdout)
            raise
        return said[-1].stdout

    def leave(self) -> None:
        """Take both hosts away, with what slurmctld was told of them. Repeatable."""
        CLUSTER.write()
        for host in self.addresses:
            blank.LAB.down(host)
        CLUSTER.reconfigure()


def private(folder: Path) -> bool:
    """Whether only the owner can read anything in a folder."""
    return all(
        stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        for path in (folder, *folder.rglob("*"))
        if path.is_file() or path == folder
    )
