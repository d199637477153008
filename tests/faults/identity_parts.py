"""What tests of users share: homes on the nodes, and ssh into a login pod as a person does it."""

from __future__ import annotations

import subprocess
import uuid

from lab import paths
from lab.kubernetes import layout, machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from tests.e2e.test_two_stacks import INSIDE
from tests.faults.later_operator import Inside

HOMES = f"/srv/{paths.STATE.name}-homes"
"""Nodes of all labs see one file system, so each lab has its own."""
VOLUME = {"name": "home", "mountPath": "/home", "source": {"hostPath": {"path": HOMES}}}
_OPTIONS = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"


def on_node(*argv: str) -> None:
    """A command on a Kubernetes node, as root."""
    argv_ = machine.entered(KUBERNETES.home, layout.NODES[0], list(argv))
    subprocess.run(argv_, check=True, cwd="/", timeout=60)


def home(user: str, number: int) -> None:
    """A home as the site's file server has it."""
    on_node("install", "-d", "-m", "755", HOMES)
    on_node("install", "-d", "-m", "700", "-o", str(number), "-g", str(number), f"{HOMES}/{user}")


def by_ssh(cluster: Inside, user: str, number: int, commands: str) -> list[str]:
    """What commands print in a session of hers in the login pod, which begins with her own key."""
    pods = cluster.world.objects("pods", INSIDE)
    (pod,) = [each for each in pods if each["metadata"]["name"].startswith("inside-login")]
    there = ["exec", "-n", INSIDE, pod["metadata"]["name"], "-c", "login", "--", "sh", "-c"]
    key = f"/tmp/{uuid.uuid4().hex}"
    public = cluster.world.kubectl(*there, f"ssh-keygen -q -t ed25519 -N '' -f {key} && cat {key}.pub").stdout.strip()
    keys = f"{HOMES}/{user}/.ssh"
    on_node("sh", "-c", f"umask 077; mkdir -p {keys}; echo '{public}' > {keys}/authorized_keys")
    on_node("chown", "-R", f"{number}:{number}", keys)
    shell = f"ssh {_OPTIONS} -i {key} {user}@{pod['status']['podIP']} '{commands}'"
    said = cluster.world.kubectl(*there, shell, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout.splitlines()
