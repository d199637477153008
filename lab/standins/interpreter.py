"""Which Python runs a program or a plugin, and in what environment: the `runtime.options` of Pulumi.yaml.

Of the options, `virtualenv` is honoured; `toolchain` and `typechecker` are ignored: a venv made by uv or poetry is one
like any other once it exists.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEPENDENCIES = """
import importlib.metadata, json, re, sys
distributions = {d.metadata["Name"]: d for d in importlib.metadata.distributions() if d.metadata["Name"]}
plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()
required = {
    plain(re.match(r"[\\w.-]+", requirement).group())
    for d in distributions.values() for requirement in d.requires or [] if "extra ==" not in requirement
}
everything = sys.argv[1] == "all"
print(json.dumps(sorted([n, d.version] for n, d in distributions.items() if everything or plain(n) not in required)))
"""
"""A program for the chosen Python: its packages as a JSON list of [name, version]; argument `all` or `direct`."""


class NoInterpreterError(Exception):
    """The virtualenv that Pulumi.yaml names can't run anything. The message says what to do."""


@dataclass(frozen=True)
class Interpreter:
    """A Python, and the virtual environment it belongs to when Pulumi.yaml named one."""

    python: Path
    venv: Path | None

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` as after `activate`: the venv's bin first on PATH, VIRTUAL_ENV set, PYTHONHOME gone."""
        if self.venv is None:
            return dict(base)
        env = {name: value for name, value in base.items() if name != "PYTHONHOME"}
        path = base.get("PATH", "")
        return env | {"VIRTUAL_ENV": str(self.venv), "PATH": f"{self.venv / 'bin'}:{path}"}


def virtualenv(root: Path, options: Mapping[str, object]) -> Path | None:
    """The folder that `virtualenv` names, relative to the folder of Pulumi.yaml; None when it is not set."""
    named = options.get("virtualenv")
    return root / str(named) if named else None


def find(root: Path, options: Mapping[str, object], environ: Mapping[str, str]) -> Interpreter:
    """The Python for what lives in `root`. Raises NoInterpreterError when the virtualenv named there is none.

    Without `virtualenv` it is $PULUMI_PYTHON_CMD, else the Python that runs this host: the launcher has looked for one
    with pulumi in it, which a bare python3 on PATH seldom is.
    """
    venv = virtualenv(root, options)
    if venv is None:
        return Interpreter(Path(environ.get("PULUMI_PYTHON_CMD") or sys.executable), None)
    python = venv / "bin" / "python"
    if not python.exists():
        what = "isn't a virtual environment" if venv.is_dir() else "does not exist"
        raise NoInterpreterError(
            f"runtime.options.virtualenv is {options['virtualenv']!r}, and {venv} {what}. Nothing was run. "
            f"Next: `pulumi install`, or python3 -m venv {venv} && {python} -m pip install -r {root / 'requirements.txt'}"
        )
    return Interpreter(python, venv)


def install_commands(directory: Path, root: Path, options: Mapping[str, object]) -> list[list[str]]:
    """What `pulumi install` runs: make the venv unless it is there, then pip with requirements.txt or pyproject.toml."""
    venv = virtualenv(root, options)
    python = str(venv / "bin" / "python") if venv else sys.executable
    commands = []
    if venv and not Path(python).exists():
        commands.append([sys.executable, "-m", "venv", str(venv)])
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    if (directory / "requirements.txt").exists():
        commands.append([*pip, "-r", str(directory / "requirements.txt")])
    elif (directory / "pyproject.toml").exists():
        commands.append([*pip, "-e", str(directory)])
    return commands
