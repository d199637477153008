"""The hosts outside Kubernetes: which there are, and running a script on one through a command that the caller names."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.commands import children
from slinky_iac.commands.rotation.host_scripts import without_key
from slinky_iac.commands.rotation.model import Host, Step, Turn
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Role
from slinky_iac.kube.connection import for_children

TIMEOUT_S: Final = 180
ORDER: Final = tuple(Role)


def hosts_of(config: StackConfig, backups: Iterable[str] = ()) -> tuple[Host, ...]:
    """All hosts outside Kubernetes that hold a key, in the order in which they are changed: slurmctld's last, since its
    reconfiguration is what makes slurmd and sackd everywhere read what is there by then."""
    found: dict[str, set[Role]] = {}
    for host in config.external.login_hosts:
        found.setdefault(host.name, set()).add(Role.LOGIN)
    for metal in config.external.slurmd_hosts:
        found.setdefault(metal.name, set()).add(Role.SLURMD)
    if config.accounting.enabled and config.accounting.external is not None:
        found.setdefault(config.accounting.external.host, set()).add(Role.SLURMDBD)
    for backup in backups:
        found.setdefault(backup, set()).add(Role.BACKUP)
    if config.controller.external is not None:
        found.setdefault(config.controller.external.host, set()).add(Role.SLURMCTLD)
    made = [Host(name, tuple(role for role in ORDER if role in roles)) for name, roles in found.items()]
    return tuple(sorted(made, key=lambda host: max(ORDER.index(role) for role in host.roles)))


def host_in_turn(step: Step | None, name: str) -> tuple[Step, Host]:
    """The hosts' step that is due, and the host ``name`` in it.

    Raises :class:`RotationError` where ``step``, the one that is due, isn't the hosts', or the host has no part in it.
    """
    if step is None or step.turn is not Turn.HOSTS:
        raise RotationError(f"{f'step {step.name}' if step else 'no step'} is due, not a host step; no script was made")
    for host in step.hosts:
        if host.name == name:
            return step, host
    known = ", ".join(host.name for host in step.hosts)
    raise RotationError(f"{name!r} has no part in step {step.name}, which is for {known}; nothing was made")


@dataclass(frozen=True)
class Via:
    """A command that runs a shell on a host and gives it our script on standard input.

    ``template``: words for a shell, with ``{host}`` where the name goes: ``ssh root@{host} sh -s``.
    """

    template: str
    run: Callable[..., subprocess.CompletedProcess[str]] = children.run

    def command(self, host: Host) -> Sequence[str]:
        """The words of the command for one host. Raises ValueError where the template has no ``{host}``."""
        if "{host}" not in self.template:
            raise ValueError(f"--via {self.template!r} has no {{host}}: every host would get every script. Nothing was run")
        return [word.replace("{host}", host.name) for word in shlex.split(self.template)]

    def script(self, host: Host, text: str) -> str:
        """Run a script; returns what it printed. Raises :class:`RotationError` where it fails; no key is quoted."""
        shown = shlex.join(self.command(host))
        try:
            done = self.run(self.command(host), input=text, timeout=TIMEOUT_S, env=for_children(os.environ))
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error) if isinstance(error, children.TooMuchPrintedError) else type(error).__name__
            raise RotationError(f"host {host.name}: `{shown}` did not end ({why}); {_AGAIN}") from None
        if done.returncode != 0:
            said = without_key(done.stderr, text).strip()[-600:] or "nothing on stderr"
            raise RotationError(f"host {host.name}: `{shown}` ended with {done.returncode}: {said}; {_AGAIN}")
        return done.stdout


_AGAIN = "the step isn't done. It can be repeated: repair the host, then run the same command again"
