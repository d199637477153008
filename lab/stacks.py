"""Pulumi stacks of the lab: a project folder that is links to the checkout, so that no committed file is ever touched.

`pulumi stack init` writes a salt into Pulumi.<stack>.yaml and `config set` writes secrets there; here both go to a copy
under STATE. Keys travel by standard input, never as arguments, which every user of a machine can read.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import paths
from lab.errors import LabError
from lab.slurm import site

LINKED = ("Pulumi.yaml", "__main__.py", "components", "slinky_iac", "requirements.txt", "venv")
CHARTS = ".lab-charts"
"""What Pulumi.dev.yaml calls the folder of the operator's charts."""
DEMO = "dev"


@dataclass(frozen=True)
class Stack:
    """One stack in a project folder of its own. Nothing is done before `init`."""

    name: str
    folder: Path
    env: Mapping[str, str]
    """What `pulumi` needs: PATH, PULUMI_*, KUBECONFIG (see `lab env`)."""
    account: Callable[["Stack", Sequence[str]], Mapping[str, str]] | None = field(default=None, repr=False)
    """Variables over ``env`` for a command of `pulumi` or of ours: as whom it goes to Kubernetes."""

    @property
    def config_file(self) -> Path:
        """The stack's settings: a copy, secrets included once they are set."""
        return self.folder / f"Pulumi.{self.name}.yaml"

    def init(self, settings: Path, charts: Path, secrets: Mapping[str, bytes]) -> None:
        """Make the project folder and the stack; with the same name again, settings and secrets are renewed.

        `secrets` are raw bytes by the name of their configuration value; they are stored as base64.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in LINKED:
            _link(self.folder / name, paths.REPO / name)
        _link(self.folder / CHARTS, charts)
        salt = _salt(self.config_file)
        shutil.copyfile(settings, self.config_file)
        with self.config_file.open("a") as file:
            file.write(salt)
        self.pulumi("stack", "select", "--create", self.name)
        for name, value in secrets.items():
            self.pulumi("config", "set", "--secret", name, stdin=base64.b64encode(value).decode())

    def environment(self, *arguments: str) -> dict[str, str]:
        """All variables for this command of `pulumi` or `python -m slinky_iac`."""
        over = self.account(self, arguments) if self.account else {}
        return {**os.environ, **self.env, **over}

    def up(self, *more: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`pulumi up` without the preview that it else makes first."""
        return self.pulumi("up", "--yes", "--skip-preview", *more, check=check)

    def destroy(self, *more: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`pulumi destroy` without the preview that it else makes first."""
        return self.pulumi("destroy", "--yes", "--skip-preview", *more, check=check)

    def pulumi(
        self, *arguments: str, stdin: str = "", check: bool = True, timeout: float = 1200
    ) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` with this stack. Raises LabError with the end of its output where it fails and `check` is set."""
        command = ["pulumi", *arguments, "--non-interactive"]
        if arguments[:2] != ("stack", "select"):
            command += ["--stack", self.name]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-150:])
            raise LabError(f"`pulumi {' '.join(arguments)}` ended with {done.returncode}:\n{tail}")
        return done

    def unlock(self) -> None:
        """Lift what a killed `pulumi` leaves, as docs/troubleshooting.md says: its lock, and an empty file."""
        backend = Path(self.environment()["PULUMI_BACKEND_URL"].removeprefix("file://"))
        for each in backend.rglob(f"{self.name}.json.attrs"):
            if not each.stat().st_size:
                each.unlink()
        self.pulumi("cancel", "--yes", check=False)

    def shown(self, *arguments: str) -> None:
        """Run `pulumi` with its output on the screen. Raises LabError where it fails."""
        command = ["pulumi", *arguments, "--stack", self.name, "--non-interactive"]
        done = subprocess.run(command, cwd=self.folder, env=self.environment(*arguments), check=False)
        if done.returncode != 0:
            raise LabError(f"`pulumi {' '.join(arguments)}` ended with {done.returncode}; its output is above")

    def program(self, *arguments: str, timeout: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m slinky_iac` in the project's folder, as a user does; whether it fails is the caller's to see."""
        with self.started(*arguments, **env) as run:
            try:
                out, err = run.communicate(timeout=timeout)
            except BaseException:
                run.kill()
                raise
        return subprocess.CompletedProcess(run.args, run.returncode, out, err)

    def started(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """The same, begun: in a process group of its own, and deaf to no signal (what a script starts in its background
        ignores Ctrl-C)."""
        return subprocess.Popen(
            ["env", "--default-signal=INT", sys.executable, "-m", "slinky_iac", *arguments],
            cwd=self.folder,
            env={**self.environment(*arguments), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs; secret ones as [secret]."""
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json").stdout)
        return found


def imported_keys() -> dict[str, bytes]:
    """The keys of the outside hosts, under the names of the configuration values that take them."""
    keys = site.LAB.keys
    return {"slurmKey": (keys / "slurm.key").read_bytes(), "jwtKey": (keys / "jwt_hs256.key").read_bytes()}


def _link(at: Path, to: Path) -> None:
    if at.is_symlink() and at.readlink() == to:
        return
    at.unlink(missing_ok=True)
    at.symlink_to(to)


def _salt(settings: Path) -> str:
    """The line that binds secrets to the passphrase: it must outlive a renewal of the settings."""
    if not settings.exists():
        return ""
    return "".join(line + "\n" for line in settings.read_text().splitlines() if line.startswith("encryptionsalt:"))
