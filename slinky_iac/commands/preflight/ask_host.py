"""Run the script on slurmctld's host by the command of `--via`. What it says wrong is a fact, like every silence."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from slinky_iac.commands import children
from slinky_iac.commands.preflight.host_answer import SCRIPT, filled, read
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ProjectError
from slinky_iac.kube.connection import for_children
from slinky_iac.kube.wire import Clock
from slinky_iac.preflight.facts import Facts, HostFacts
from slinky_iac.text import printable

TIMEOUT_S: Final = 120
Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def require_host(config: StackConfig, via: str) -> None:
    """Raises :class:`ProjectError` where the stack has no host to ask, or ``via`` is no command."""
    if config.controller.external is None:
        raise ProjectError("--via: slurmctld of this stack runs in Kubernetes, so there is no host to ask; leave --via out")
    if config.keys.auth == "auth/munge":
        raise ProjectError("--via: there is nothing to ask for a stack with keys.auth: auth/munge; leave --via out")
    if not _command(via, "HOST"):
        raise ProjectError("--via: names no command, such as 'ssh root@{host} sh -s'")


def _command(via: str, host: str) -> list[str]:
    """Words of the command. It may name the host itself: there is only one to ask. Empty where they can't be split."""
    try:
        return [word.replace("{host}", host) for word in shlex.split(via)]
    except ValueError:
        return []


def ask_host(
    facts: Facts,
    config: StackConfig,
    via: str,
    *,
    clock: Clock,
    run: Shell = children.run,
    env: Mapping[str, str] = os.environ,
) -> Facts:
    """The facts, with what slurmctld's host says; what slurmrestd said counts before it."""
    assert config.controller.external is not None
    host = config.controller.external.host
    before = clock.wall()
    try:
        done = run(_command(via, host), input=SCRIPT, timeout=TIMEOUT_S, env=for_children(env))
    except (OSError, subprocess.TimeoutExpired) as wrong:
        return replace(facts, host=HostFacts(host, trouble=f"did not answer ({type(wrong).__name__})"))
    if done.returncode != 0:
        said = printable(done.stderr.strip()[-300:]) or "nothing on stderr"
        return replace(facts, host=HostFacts(host, trouble=f"ended with {done.returncode}: {said}"))
    found, slurm = read(host, done.stdout, before, clock.wall())
    return replace(facts, host=found, slurm=filled(facts.slurm, slurm))
