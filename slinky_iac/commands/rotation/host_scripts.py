"""The hosts outside Kubernetes: which there are, what each does for a step, as a shell script, and the command that the
caller names by which a script is run on one.

The key is in the script, so it goes by standard input and never into arguments or the environment, which others on a machine
can read. A file is replaced by a rename: slurmctld maps jwt_hs256.key into memory, and one that is cut short under it kills
it (SIGBUS; facts/slurmrestd.md#key-files). Safe to repeat.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from slinky_iac import causes
from slinky_iac.commands import children
from slinky_iac.commands.host_shell import TRUSTED
from slinky_iac.commands.rotation.model import Host, Step, Turn
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Role
from slinky_iac.keys.registry import BUNDLES
from slinky_iac.kube.connection import for_children

FOLDER = "/etc/slurm"
MARK = "slinky-iac:"
"""Begins the lines that a script tells us; whatever else a login shell prints is left alone."""


_PIECE = 8
"""Letters of a key's base64 that never stand together by chance in what a host says."""
READ = ".read"
"""Behind a file's name: a file with the digest of what the host's daemons have read. No secret."""
NEVER = "never"
"""In a digest's place: no script of ours has come to a file."""
_UNITS = {
    Role.SLURMDBD: "slurmdbd",
    Role.SLURMCTLD: "slurmctld",
    Role.BACKUP: "slurmctld",
    Role.SLURMD: "slurmd",
    Role.LOGIN: "sackd",
}
"""All daemons' units, in the order in which a host with several of them starts them."""


_SHELL: Final = Path(__file__).parent
_FUNCTIONS: Final = TRUSTED + (_SHELL / "place.sh").read_text().rstrip("\n")
_FOLLOWS: Final = (_SHELL / "follows.sh").read_text().rstrip("\n")
_FOLLOWED = {
    # slurmctld tells only a sackd that fetched its configuration from it, and once in vain forgets that one, too
    # (sackd_mgr.c, agent.c; 26.05). At a reload (SIGHUP) it restarts itself, and keeps its socket.
    Role.LOGIN: "if follows sackd; then systemctl reload sackd; else systemctl restart sackd; fi",
    Role.SLURMD: "follows slurmd || systemctl restart slurmd",
}


@dataclass(frozen=True)
class File:
    """One file for a host: its name in Slurm's folder, and its bytes."""

    name: str
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 in hex, as sha256sum prints it."""
        return sha256(self.content).hexdigest()


def change(host: Host, files: Sequence[File], *, folder: str = FOLDER, marked: bool = True) -> str:
    """The script that places ``files`` and lets this host's daemons read them; says what the files are then.

    ``marked``: whether it marks them as read at its end; else :func:`mark` does, once that was seen.

    slurmd reads at slurmctld's reconfiguration, sackd at a reload, without a gap. Those without a configuration of their own
    that began with slurm.key would continue with it (``fetch_config.c`` sets SLURM_SACK_KEY for their later selves; 26.05):
    they are restarted, once in their life. Jobs survive that, but for a second `srun` and `sbatch` on that host fail.
    """
    lines = [line for file in files for line in _place(file)]
    if followed := [line for role, line in _FOLLOWED.items() if role in host.roles]:
        lines += [_FOLLOWS, *followed]
    if Role.SLURMDBD in host.roles:  # it reads keys only when it starts; slurmctld keeps what it has to say meanwhile
        lines.append("systemctl restart slurmdbd")
    if Role.BACKUP in host.roles:
        lines.append("systemctl restart slurmctld")
    if Role.SLURMCTLD in host.roles:
        lines.append("scontrol reconfigure")
    # Only now: a script that was cut short before would else look done, with a file in place that no daemon has read.
    return _script(folder, [*lines, *(_marks(files) if marked else ())], files)


def mark(files: Sequence[File], *, folder: str = FOLDER) -> str:
    """The script that marks ``files`` as read by the host's daemons; says what the files are. It holds no key."""
    return _script(folder, _marks(files), files)


def _marks(files: Iterable[File]) -> list[str]:
    return [f"mark {shlex.quote(file.name + READ)} {file.digest}" for file in files]


def replaced(host: Host, file: File, *, folder: str = FOLDER) -> str:
    """The script that places a key in a planned stop and restarts this host's daemons; says what the file is then.

    A slurm.jwks that an earlier rotation left goes: beside it no daemon looks at slurm.key (auth/slurm ``internal.c``).
    """
    read = shlex.quote(file.name + READ)
    # Marked before the file changes: cut short between file and restart, a host would else look done.
    lines = [f"mark {read} begun", *_place(file)]
    if file.name == "slurm.key":
        lines.append(f"rm -f slurm.jwks slurm.jwks{READ}")
    units = dict.fromkeys(unit for role, unit in _UNITS.items() if role in host.roles)
    lines += [f"systemctl restart {unit}" for unit in units]
    lines.append(f"mark {read} {file.digest}")
    return _script(folder, lines, [file])


def look(names: Iterable[str], *, folder: str = FOLDER) -> str:
    """The script that says which of these files a host has: ``slinky-iac: NAME DIGEST READ``. It holds no key."""
    lines = [f"cd {shlex.quote(folder)}"]
    for name in names:
        quoted, read = shlex.quote(name), shlex.quote(name + READ)
        digest = f'$(sha256sum < {quoted} | cut -d" " -f1)'
        said = f"$([ -f {read} ] && head -c 64 {read} || echo {NEVER})"  # a pipe in its place would never end
        lines.append(f'[ -f {quoted} ] && echo "{MARK} {name} {digest} {said}"')
    return "\n".join([*lines, "true"]) + "\n"


@dataclass(frozen=True)
class KeyReport:
    """A file as a host has it."""

    digest: str
    read: bool
    """Whether a script of ours has let the host's daemons read exactly this file."""
    cut: bool = False
    """Whether one has come to this host and this isn't the file that its daemons have read since."""


def parse_report(output: str) -> dict[str, KeyReport]:
    """Files by name, from what a script said."""
    words = (line.split() for line in output.splitlines() if line.startswith(MARK))
    said = (line[1:] for line in words if len(line) == 4)
    return {name: KeyReport(digest, read=read == digest, cut=read not in (digest, NEVER)) for name, digest, read in said}


def without_key(said: str, script: str) -> str:
    """``said`` without what it repeats of a key in ``script``: a shell that is none of ours may quote what it can't read."""
    texts = re.findall(r"<<'KEY'\n(.*?)\nKEY\n", script, re.DOTALL)
    pieces = {line[at : at + _PIECE] for text in texts for line in text.split("\n") for at in range(len(line) - _PIECE + 1)}
    at = [at for at in range(len(said) - _PIECE + 1) if said[at : at + _PIECE] in pieces]
    hidden = {place for begin in at for place in range(begin, begin + _PIECE)}
    shown = "".join("\0" if place in hidden else letter for place, letter in enumerate(said))
    return re.sub("\0+", "(of the key)", shown)


def _script(folder: str, lines: Iterable[str], files: Iterable[File]) -> str:
    """A script that changes something, in a folder that only root can change, and then says what is there."""
    unsafe = "Nothing was changed on this host. Then run this again"
    begun = [
        "set -eu",
        "umask 077",
        _FUNCTIONS,
        f"cd -P -- {shlex.quote(folder)}",
        f'if ! why=$(trusted .); then echo "$why. {unsafe}" >&2; exit 1; fi',
    ]
    return "\n".join([*begun, *lines, *look([file.name for file in files]).splitlines()[1:]]) + "\n"


def _place(file: File) -> list[str]:
    text = base64.encodebytes(file.content).decode().rstrip("\n")
    # Owner as of the key that is there before any rotation; slurm.conf names SlurmUser, but configless hosts have none.
    owner = "slurm.key" if file.name in BUNDLES else file.name
    return [f"place {shlex.quote(file.name)} {file.digest} {shlex.quote(owner)} <<'KEY'", text, "KEY"]


TIMEOUT_S: Final = 180
ORDER: Final = tuple(Role)


def hosts_of(config: StackConfig, backups: Iterable[str] = ()) -> tuple[Host, ...]:
    """All hosts outside Kubernetes that hold a key, in the order in which they are changed: slurmctld's last, since its
    reconfiguration is what makes slurmd and sackd everywhere read what is there by then."""
    by_host: dict[str, set[Role]] = {}
    for host in config.external.login_hosts:
        by_host.setdefault(host.name, set()).add(Role.LOGIN)
    for metal in config.external.slurmd_hosts:
        by_host.setdefault(metal.name, set()).add(Role.SLURMD)
    for dbd in config.slurmdbd.hosts:
        by_host.setdefault(dbd.host, set()).add(Role.SLURMDBD)
    hosts = [controller.host for controller in config.slurmctld.hosts]
    for backup in (*backups, *hosts[1:]):
        by_host.setdefault(backup, set()).add(Role.BACKUP)
    for first in hosts[:1]:
        by_host.setdefault(first, set()).add(Role.SLURMCTLD)
    made = [Host(name, tuple(role for role in ORDER if role in roles)) for name, roles in by_host.items()]
    return tuple(sorted(made, key=lambda host: max(ORDER.index(role) for role in host.roles)))


def host_in_turn(step: Step | None, name: str) -> tuple[Step, Host]:
    """The hosts' step that is due, and the host ``name`` in it.

    Raises :class:`RotationError` where ``step``, the one that is due, isn't the hosts', or the host has no part in it.
    """
    if step is None or step.turn is not Turn.HOSTS:
        raise RotationError(
            f"{f'step {step.name} is due, which runs on no host' if step else 'no step is due'}; no script was made"
        )
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
            why = causes.of_command(self.command(host), error)
            raise RotationError(f"host {host.name}, by `{shown}`: {why}; {_AGAIN}") from None
        if done.returncode != 0:
            said = without_key(done.stderr, text).strip()[-600:] or "nothing on stderr"
            raise RotationError(f"host {host.name}: `{shown}` ended with {done.returncode}: {said}; {_AGAIN}")
        return done.stdout


_AGAIN = "the step isn't done. It can be repeated: repair the host, then run the same command again"
