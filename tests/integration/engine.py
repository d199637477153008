"""A real Pulumi engine for tests: its files, one isolated backend a test, and commands in a real project folder.

Nothing outside the test's folder is read or written: backend, PULUMI_HOME and passphrase are the test's own, the provider
plugins are linked in. An engine is never faked, and a missing one fails the test.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.engine import SELDOM_COLLECTED
from lab.standins import install

REPO = Path(__file__).resolve().parents[2]
NO_CLUSTER = """\
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {token: none}}]
"""
"""A kubeconfig that reaches nothing: no test of this tier may touch the cluster of the person who runs it."""
PASSPHRASE = "correct horse battery staple"
STACK = "test"
SETTINGS = f"Pulumi.{STACK}.yaml"


@dataclass(frozen=True)
class Tools:
    """Where an engine and its plugins are."""

    bin_dir: Path
    """Holds `pulumi`, and beside it the language host and the dynamic provider."""
    plugins: Path
    """A PULUMI_HOME/plugins folder: pulumi-random, and whatever providers the lab has installed."""


def engine_env() -> tuple[Path, Path | None]:
    """The folder of the engine, and the plugin folder that goes with it when there is one.

    `lab/lab env` sets both, PATH and PULUMI_HOME; $SLINKY_IAC_BIN names another folder for the engine.
    """
    named = os.environ.get("SLINKY_IAC_BIN")
    found = (named and shutil.which("pulumi", path=named)) or shutil.which("pulumi")
    if found is None:
        raise RuntimeError("no pulumi in $SLINKY_IAC_BIN or on PATH: run `lab/lab tools`, then `eval $(lab/lab env)`")
    plugins = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"
    return Path(found).resolve().parent, plugins if plugins.is_dir() else None


def prepare(folder: Path) -> Tools:
    """The engine with its stand-ins in `folder`, so that a test never writes into anybody's installation."""
    origin, plugins = engine_env()
    bin_dir, home = folder / "bin", folder / "home"
    bin_dir.mkdir()
    (home / "plugins").mkdir(parents=True)
    if plugins is not None:
        _link_plugins(plugins, home / "plugins")
    if any(install.is_official(origin / name) for name in install.BUNDLED):
        bin_dir = origin
    else:
        _link(origin / "pulumi", bin_dir / "pulumi")
    version = install.random_version((REPO / "requirements.txt").read_text())
    install.install(install.plan(bin_dir, home, Path.home(), os.environ["PATH"], version))
    return Tools(bin_dir, home / "plugins")


def _link_plugins(source: Path, target: Path) -> None:
    """Every plugin of a cache, in folders of their own: the engine passes over folders that are links."""
    for file in source.glob("resource-*/*"):
        (target / file.parent.name).mkdir(exist_ok=True)
        (target / file.parent.name / file.name).symlink_to(file)


def _link(source: Path, target: Path) -> None:
    """A hard link, else a copy: the engine looks for its plugins beside its real file, symlinks resolved."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@dataclass(frozen=True)
class Engine:
    """`pulumi` with a backend, a home and a passphrase of its own under `root`."""

    tools: Tools
    root: Path

    def __post_init__(self) -> None:
        self.backend.mkdir(parents=True)
        self.home.mkdir()
        self.temporary.mkdir()
        (self.home / "plugins").symlink_to(self.tools.plugins)
        (self.root / "kubeconfig").write_text(NO_CLUSTER)

    @property
    def backend(self) -> Path:
        """The file backend: stacks, history, backups, locks."""
        return self.root / "backend"

    @property
    def home(self) -> Path:
        """PULUMI_HOME: credentials, workspaces, the engine's own logs."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """TMPDIR: what plugins leave there, such as pulumi-kubernetes' copies of a kubeconfig, goes with the test."""
        return self.root / "temporary"

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of a command."""
        # By name: pytest takes a variable of its own away while other threads read here.
        names = [name for name in os.environ if not name.startswith(("PULUMI_", "VIRTUAL_ENV"))]
        inherited = {name: value for name in names if (value := os.environ.get(name)) is not None}
        return {
            **inherited,
            "PATH": f"{self.tools.bin_dir}:{os.environ['PATH']}",
            "PULUMI_HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_STACK": STACK,
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "SLINKY_LAB_PYTHON": sys.executable,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **SELDOM_COLLECTED,
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "KUBECONFIG": str(self.root / "kubeconfig"),
            "NO_COLOR": "1",
        }

    def run(
        self,
        *args: str,
        cwd: Path,
        ok: bool = True,
        timeout: float = 300,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """`pulumi ARGS --non-interactive`; with `ok`, an exit code other than 0 fails the test with both outputs."""
        done = subprocess.run(
            [str(self.tools.bin_dir / "pulumi"), *args, "--non-interactive"],
            cwd=cwd,
            env={**self.env, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if ok and done.returncode:
            raise AssertionError(f"pulumi {' '.join(args)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def spawn(self, *args: str, cwd: Path, env: Mapping[str, str] | None = None) -> "Running":
        """The same command in the background, leader of a process group, its output in a file."""
        log = self.root / f"spawned-{len(list(self.root.glob('spawned-*')))}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(self.tools.bin_dir / "pulumi"), *args, "--non-interactive"],
                cwd=cwd,
                env={**self.env, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Running(process, log)


@dataclass(frozen=True)
class Running:
    """A `pulumi` in the background."""

    process: subprocess.Popen[bytes]
    log: Path

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to the foreground group, where plugins are not."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the engine alone."""
        self.process.kill()
        self.process.wait()

    def wait(self, timeout: float = 90) -> int:
        """The exit code. Past `timeout` seconds the engine is killed and the test fails with its output."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"pulumi did not end within {timeout} s:\n{self.output}") from None

    @property
    def output(self) -> str:
        """What it has printed so far, both streams."""
        return self.log.read_text()


@dataclass(frozen=True)
class Project:
    """A project folder with one stack in it."""

    engine: Engine
    folder: Path

    def write(self, **files: str) -> None:
        """Write files by module name: `write(main=…)` is `__main__.py`, `write(other=…)` is `other.py`; indents go."""
        for name, text in files.items():
            file = self.folder / ("__main__.py" if name == "main" else f"{name}.py")
            file.write_text(textwrap.dedent(text))

    def run(self, *args: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """`Engine.run` in this folder."""
        return self.engine.run(*args, cwd=self.folder, ok=ok, **more)

    def up(self, *args: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """`pulumi up --yes --skip-preview`."""
        return self.run("up", "--yes", "--skip-preview", *args, ok=ok, **more)

    def preview(self, *args: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """`pulumi preview`."""
        return self.run("preview", *args, ok=ok, **more)

    def refresh(self, *args: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """`pulumi refresh --yes --skip-preview`."""
        return self.run("refresh", "--yes", "--skip-preview", *args, ok=ok, **more)

    def destroy(self, *args: str, ok: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """`pulumi destroy --yes --skip-preview`."""
        return self.run("destroy", "--yes", "--skip-preview", *args, ok=ok, **more)

    def spawn(self, *args: str) -> Running:
        """`Engine.spawn` in this folder."""
        return self.engine.spawn(*args, cwd=self.folder)

    def outputs(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """The stack's outputs."""
        done = self.run("stack", "output", "--json", *(["--show-secrets"] if show_secrets else []))
        return dict(json.loads(done.stdout))

    def state(self) -> dict[str, Any]:
        """The deployment as exported: `resources`, `pending_operations` …, secrets encrypted."""
        return dict(json.loads(self.run("stack", "export").stdout)["deployment"])

    def resources(self) -> dict[str, dict[str, Any]]:
        """The state's resources by name."""
        return {r["urn"].rpartition("::")[2]: r for r in self.state().get("resources", [])}

    def twin(self, engine: Engine, folder: Path) -> "Project":
        """A copy of the project and its stack as they are now, with a folder and a backend of its own."""
        shutil.copytree(self.folder, folder, symlinks=True)
        shutil.copytree(self.engine.backend, engine.backend, dirs_exist_ok=True)
        return Project(engine, folder)

    def locks(self) -> list[Path]:
        """Lock files of the backend: empty unless an operation runs or has been killed."""
        return list((self.engine.backend / ".pulumi" / "locks").rglob("*.json"))


def create_project(engine: Engine, folder: Path, name: str = "probe") -> Project:
    """A folder with Pulumi.yaml, using the Python that runs the tests, and a stack `test`: a copy of one that `pulumi stack
    init` has made once."""
    blank = _blank(engine.tools, name)
    project = _in_folder(engine, folder, name)
    shutil.copytree(blank.engine.backend, engine.backend, dirs_exist_ok=True)
    shutil.copy(blank.folder / SETTINGS, folder / SETTINGS)
    return project


def _in_folder(engine: Engine, folder: Path, name: str) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Pulumi.yaml").write_text(
        f"name: {name}\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n"
    )
    return Project(engine, folder)


@cache
def _blank(tools: Tools, name: str) -> Project:
    root = tools.plugins.parents[1] / f"blank-{name}"
    project = _in_folder(Engine(tools, root / "engine"), root / "project", name)
    project.run("stack", "init", STACK)
    return project


def eventually(what: str, check: Callable[[], object], timeout: float = 90.0) -> None:
    """Return as soon as `check()` is true; past `timeout` seconds the test fails naming `what`."""
    deadline = time.monotonic() + timeout
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.05)


def processes_of(engine: Engine) -> dict[int, str]:
    """Every process with the engine's PULUMI_HOME in its environment, by pid: its command line."""
    mark = f"PULUMI_HOME={engine.home}\0".encode()
    return {pid: command for pid, environ, command in _processes() if mark in environ}


def _processes() -> Iterator[tuple[int, bytes, str]]:
    """Pid, environment and command line of what runs; zombies and kernel threads have no environment and are left out."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environ, command = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if environ:
                yield int(entry.name), environ + b"\0", command.replace(b"\0", b" ").decode(errors="replace")
