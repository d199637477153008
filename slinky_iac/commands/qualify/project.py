"""The project of a ladder: links to the site's own, and a stack, state and passphrase of its own, so that nothing of the
site's is written.

All of it lies in one folder, :data:`FOLDER`, until the ladder's end: a later `slinky qualify --clean` finds what a run that
was killed has left. :mod:`slinky_iac.commands.qualify.folder` says whose it is.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from slinky_iac import safe_yaml
from slinky_iac.commands.qualify.folder import Folder, Mark
from slinky_iac.commands.qualify.settings import STACK
from slinky_iac.config.reading.stack_file import SECTIONS, settings_elsewhere
from slinky_iac.config.stack import PROJECT
from slinky_iac.errors import ProjectError, StateError
from slinky_iac.kube import tally
from slinky_iac.kube.tally import Tally

FOLDER: Final = ".slinky-qualify"
QUOTED_LINES: Final = 25
GRACE_S: Final = 60.0
"""How long `pulumi` may take to end after its first signal."""
_SITES: Final = "Pulumi.yaml"
_OWN_STACKS: Final = re.compile(r"Pulumi\..+\.ya?ml")
_LEFT_OUT: Final = frozenset({FOLDER, ".git", _SITES})
_ELSEWHERE: Final = ("backend", "stackConfigDir", "template")
"""What a Pulumi.yaml says of where state and stacks' files are: a ladder has its own places."""


class Project:
    """The folder and what runs in it. Nothing is written before :meth:`make`."""

    def __init__(self, site: Path) -> None:
        """``site``: the folder of the site's project, with its Pulumi.yaml."""
        self._site = site.resolve()
        self.folder = self._site / FOLDER
        self.held = Folder(self.folder)
        self._here = self.folder / "project"
        self._log = self.folder / "pulumi.log"
        self._requests = self.folder / "requests.log"
        self._begun: subprocess.Popen[bytes] | None = None
        self.file = self._here / f"Pulumi.{STACK}.yaml"

    @property
    def exists(self) -> bool:
        """A ladder has been here and has not been cleaned up."""
        return self.held.exists

    def require_program(self) -> None:
        """Raises :class:`ProjectError` where the site's program isn't one that a ladder may run: it must build what the
        stack's file says, else a ladder would build the site's own cluster."""
        program = self._program()
        runtime = program.get("runtime")
        name = runtime.get("name") if isinstance(runtime, dict) else runtime
        own = settings_elsewhere((), self._site)
        if name != "python" or own:
            what = "describes its cluster itself" if own else f"has the runtime {str(name)[:40]!r}"
            raise ProjectError(
                f"the program of {self._site} {what}, and a ladder runs it with other settings: only a program in Python"
                " that calls hybrid_cluster() takes them from the stack's file. Nothing was made. Make a project beside it,"
                " `slinky new DIR`, and run the ladder there"
            )

    def make(self, mark: Mark) -> None:
        """Make the folder, its links and the stack. Raises :class:`ProjectError` where the site's folder isn't a project, or
        where the folder is there already: then it is left as it is."""
        program = {key: value for key, value in self._program().items() if key not in _ELSEWHERE}
        self.held.make(mark)
        try:
            self._here.mkdir(mode=0o700)
            (self.folder / "state").mkdir(mode=0o700)
            passphrase = self.folder / "passphrase"
            passphrase.touch(mode=0o600)
            passphrase.write_text(secrets.token_urlsafe(24), encoding="utf-8")
            for entry in self._site.iterdir():
                if entry.name not in _LEFT_OUT and not _OWN_STACKS.fullmatch(entry.name):
                    (self._here / entry.name).symlink_to(entry)
            (self._here / _SITES).write_text(json.dumps(self._adapted(program)), encoding="utf-8")
        except OSError as wrong:
            raise ProjectError(
                f"{wrong.filename}: can't be written ({wrong.strerror}); no ladder began. Give this user room in it"
            ) from None
        self._run("stack", "init", STACK)

    def write(self, settings: Mapping[str, object]) -> None:
        """Write the stack's settings, as JSON, which is YAML too; what binds its secrets to the passphrase stays."""
        salt = [
            line
            for line in (self.file.read_text("utf-8").splitlines() if self.file.exists() else [])
            if "encryptionsalt" in line
        ]
        config = json.dumps({f"{PROJECT}:{name}": value for name, value in settings.items()})
        self.file.write_text("\n".join([*salt, f"config: {config}", ""]), encoding="utf-8")

    def up(self) -> subprocess.Popen[bytes]:
        """Begin `pulumi up` without a preview."""
        return self._start("up", "--yes", "--skip-preview")

    def preview(self) -> subprocess.Popen[bytes]:
        """Begin `pulumi preview`."""
        return self._start("preview")

    def destroy(self) -> subprocess.Popen[bytes]:
        """Begin `pulumi destroy`."""
        return self._start("destroy", "--yes", "--skip-preview")

    def unlock(self) -> None:
        """Lift the lock of an update that was killed."""
        self._run("cancel", "--yes", check=False)

    def said(self) -> str:
        """The last lines of the last `pulumi`."""
        text = self._log.read_text("utf-8", errors="replace") if self._log.exists() else ""
        return "\n".join([line for line in text.splitlines() if line.strip()][-QUOTED_LINES:])

    def stop(self) -> None:
        """End the update that was begun last, if it still runs, in order, as Ctrl-C does: its gates give back what they have
        drained. Another Ctrl-C meanwhile, or too long a time, ends it at once."""
        run = self._begun
        if run is not None and run.poll() is None:
            try:
                os.killpg(run.pid, signal.SIGINT)
                run.wait(GRACE_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()

    def tally(self) -> Tally:
        """Requests since the last call of this."""
        lines = self._requests.read_text("utf-8", errors="replace").splitlines() if self._requests.exists() else []
        self._requests.unlink(missing_ok=True)
        return tally.read(lines)

    def remove(self) -> None:
        """Remove the folder that this process has made or taken. Raises :class:`ProjectError` where something is left."""
        if self.held.lock:  # first, for it says that the stack may have resources: without its passphrase none can be asked
            self.file.unlink(missing_ok=True)
        self.held.remove()

    def _program(self) -> Mapping[Any, Any]:
        """The site's Pulumi.yaml. Raises :class:`ProjectError`."""
        file = self._site / _SITES
        if not file.is_file():
            raise ProjectError(
                f"{self._site} has no Pulumi.yaml, and a ladder runs a site's own program. Nothing was made. Run it in the"
                " project's folder, or make one: `slinky new DIR`"
            )
        try:
            whole = safe_yaml.read(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, safe_yaml.NotYamlError):
            whole = None
        if not isinstance(whole, dict):
            raise ProjectError(f"{file}: can't be read, or isn't a project's YAML. Nothing was made. See `pulumi preview`")
        return whole

    def _adapted(self, program: Mapping[Any, Any]) -> dict[Any, Any]:
        """It without the project's own values of our sections, which would come to the rung's, and its virtual environment
        found from the ladder's folder too."""
        project = dict(program)
        if isinstance(config := program.get("config"), dict):
            project["config"] = {key: value for key, value in config.items() if str(key).rpartition(":")[2] not in SECTIONS}
        runtime = given if isinstance(given := program.get("runtime"), dict) else {}
        options = runtime.get("options")
        if isinstance(options, dict) and ".." in Path(str(options.get("virtualenv"))).parts:
            place = str(self._site / options["virtualenv"])
            project["runtime"] = {**runtime, "options": {**options, "virtualenv": place}}
        return project

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PULUMI_CONFIG_PASSPHRASE"}
        if paths := kept.get("KUBECONFIG"):  # pulumi runs in another folder than this process
            places = (path if path[:1] in ("", "~") else str(Path(path).absolute()) for path in paths.split(":"))
            kept["KUBECONFIG"] = ":".join(places)
        return {
            **kept,
            "PULUMI_BACKEND_URL": f"file://{quote(str(self.folder / 'state'))}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.folder / "passphrase"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            tally.FILE: str(self._requests),
        }

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["pulumi", *arguments, "--non-interactive", "--stack", STACK]
        try:
            with self._log.open("wb") as log, _later() as came:
                self._begun = run = subprocess.Popen(
                    command,
                    cwd=self._here,
                    env=self._environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C goes to this program, which ends the update in order
                    pass_fds=self.held.lock,
                )
                self.held.runs(run.pid)
        except OSError as wrong:
            raise StateError(f"pulumi can't be run ({wrong.strerror}). Install Pulumi and put it on PATH") from None
        if came:
            raise KeyboardInterrupt
        return run

    def _run(self, *arguments: str, check: bool = True) -> None:
        named = arguments if arguments[:2] == ("stack", "init") else (*arguments, "--stack", STACK)
        try:
            done = subprocess.run(
                ["pulumi", *named, "--non-interactive"],
                cwd=self._here,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as wrong:
            raise StateError(f"pulumi can't be run ({wrong.strerror}). Install Pulumi and put it on PATH") from None
        if check and done.returncode:
            raise StateError(f"`pulumi {' '.join(arguments)}` ended with {done.returncode}: {done.stderr.strip()[-1500:]}")


@contextmanager
def _later() -> Iterator[list[int]]:
    """Signals that end this process in order only come to ``came`` inside of ``with``: a process that has begun and isn't
    written down yet would have no owner that ends it."""
    came: list[int] = []
    ends = [end for end in signal.valid_signals() if signal.getsignal(end) is signal.default_int_handler]
    for end in ends:
        signal.signal(end, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for end in ends:
            signal.signal(end, signal.default_int_handler)
