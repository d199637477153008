"""Outside hosts as running things: start one, run commands in it, stop it.

A host is a tini process in its own mount, uts, net and pid namespaces. Whatever ends its holder (`unshare`, which the
supervisor knows) ends the tini and with it every process of the host, its mounts and its network interface; so a
host can't be left over in part.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import supervise
from lab.errors import LabError
from lab.slurm.network import Outside
from lab.slurm.site import LAB as LAB_SITE
from lab.slurm.site import Site
from lab.slurm.topology import Host

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INIT = Path(__file__).with_name("host-init.sh")
START_SECONDS = 30.0
# The environment of the machine's session stays outside (it may hold credentials), the supervisor's marker goes in.
_CLEAN = (
    'exec env -i "PATH=$1" "HOME=$2" "USER=$3" LANG=C.UTF-8 ' + f'"{supervise.MARKER}=${supervise.MARKER}" ' + '"${@:4}"'
)


@dataclass(frozen=True)
class Bind:
    """A folder or file of the machine that the host sees at `target`."""

    source: Path
    target: str


@dataclass(frozen=True)
class Hosts:
    """The hosts of one site."""

    site: Site

    def up(self, host: Host, lower: Path, binds: Sequence[Bind], *, cgroup: Path | None = None) -> None:
        """Start `host` over the root file system `lower` and join it to the network. Does nothing if it is there.

        With `cgroup`, a place in the cgroup2 tree, it boots systemd there; else its first process only waits.
        """
        folder = self.site.host(host.name)
        if not self.is_up(host.name):
            self.down(host.name)
            folder.mkdir(parents=True, exist_ok=True)
            pairs = [part for bind in binds for part in (str(bind.source), bind.target)]
            seal = ["unshare", "--mount", "--uts", "--net", "--pid", "--fork", "--kill-child"]
            script = ["sh", str(INIT), host.name, str(lower), str(folder), *pairs]
            env = {} if cgroup is None else {"HOST_CGROUP": str(cgroup)}
            self.site.supervisor.start(self._holder(host.name), [*seal, *script], env=env)
            self.site.supervisor.await_true(
                f"host {host.name} is up", lambda: self.is_up(host.name), START_SECONDS, log=self._holder(host.name)
            )
        Outside(self.site.network).attach(host, self.pid(host.name))

    def down(self, name: str) -> None:
        """End the host and all that runs in it. Its disk stays."""
        self.site.supervisor.stop(self._holder(name), timeout=2.0)
        (self.site.host(name) / "pid").unlink(missing_ok=True)

    def is_up(self, name: str) -> bool:
        """Is the host's first process there, and the one that was started?"""
        return self._first(name) is not None

    def pid(self, name: str) -> int:
        """The host's first process, as the machine numbers it. Raises LabError if the host is not up."""
        pid = self._first(name)
        if pid is None:
            raise LabError(f"host {name} is not up; start the lab (`lab.slurm.up()`), or look at {self._log(name)}")
        return pid

    def inside(self, name: str, path: str) -> Path:
        """A path of the host (relative to its root) as the machine can open it."""
        return Path(f"/proc/{self.pid(name)}/root") / path

    def run(
        self,
        name: str,
        argv: Sequence[str],
        *,
        user: str | None = None,
        timeout: float = 60.0,
        check: bool = True,
        stdin: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a host (as root, or as `user`) and return what it said.

        Raises LabError when it takes longer than `timeout` seconds (it is ended then, in the host too), or when it
        fails and `check` is set. Give secrets through `stdin`, never in `argv`.
        """
        inner = ["timeout", "-k", "2", str(timeout), *argv]
        command = self.entered(name, inner, user=user)
        begun = time.monotonic()
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",  # a job's name may hold any byte
            check=False,
            timeout=timeout + 10,
            cwd="/",
        )
        shown = " ".join(argv)
        if done.returncode in (124, 137) and time.monotonic() - begun >= timeout:
            raise LabError(f"{name}: `{shown}` took longer than {timeout:.0f} s; said so far: {_short(done)}")
        if check and done.returncode:
            raise LabError(f"{name}: `{shown}` ended with {done.returncode}: {_short(done)}")
        return done

    def entered(self, name: str, argv: Sequence[str], *, user: str | None = None) -> list[str]:
        """The command that runs `argv` in a host with a clean environment."""
        home = "/root" if user is None else f"/home/{user}"
        become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        enter = ["nsenter", "-t", str(self.pid(name)), "-m", "-u", "-p", "-n", "-r", "-w", "--"]
        return [*enter, "bash", "-c", _CLEAN, "host", PATH, home, user or "root", *become, *argv]

    def spawn(self, name: str, daemon: str, argv: Sequence[str], *, user: str | None = None) -> None:
        """Start a daemon that stays in the foreground, supervised; does nothing if it is alive."""
        self.site.supervisor.start(self.process(name, daemon), self.entered(name, argv, user=user))

    def process(self, name: str, daemon: str) -> str:
        """The name by which the supervisor knows a daemon."""
        return f"{self.site.label}-{name}-{daemon}"

    def _holder(self, name: str) -> str:
        return f"{self.site.label}-{name}"

    def _log(self, name: str) -> Path:
        return self.site.supervisor.log_path(self._holder(name))

    def _first(self, name: str) -> int | None:
        try:
            pid, start = (int(word) for word in (self.site.host(name) / "pid").read_text().split())
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return pid if int(fields[19]) == start and fields[0] not in "ZX" else None


def _short(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-800:] or "nothing"


LAB = Hosts(LAB_SITE)
run = LAB.run
