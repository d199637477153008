"""A Pulumi engine that works without the internet: its plugins in place, and the environment it is run with.

The stacks' state lies under STATE, so `lab down` removes it together with the cluster that it describes. The passphrase
lies in CACHE: a stack's configuration file may outlive a lab.
"""

import os
import secrets
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from lab import charts, given_host, paths, tools
from lab.errors import LabError
from lab.standins import install as standins

Say = Callable[[str], None]
HOME = paths.CACHE / "pulumi-home"
BACKEND = paths.STATE / "pulumi"
PASSPHRASE = paths.CACHE / "passphrase"
SELDOM_COLLECTED = {"GOGC": "400"}
"""For processes of Go that live for seconds: an eighth of the engine's processor time in a preview is its collector's."""
CHARTS_LINK = paths.REPO / ".lab-charts"
"""Where Pulumi.dev.yaml looks for the operator's charts."""


def prepare(programs: Mapping[str, Path], *, say: Say = print) -> None:
    """Put plugins, passphrase and charts in place. `programs` holds `pulumi` and `pulumi-resource-kubernetes`."""
    pulumi = programs["pulumi"].resolve()
    BACKEND.mkdir(parents=True, exist_ok=True)
    HOME.mkdir(parents=True, exist_ok=True)
    if not PASSPHRASE.exists():
        new = PASSPHRASE.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(secrets.token_urlsafe(24))
        new.rename(PASSPHRASE)
    wanted = standins.random_version((paths.REPO / "requirements.txt").read_text())
    standins.install(standins.plan(given_host.beside(pulumi), HOME, Path.home(), os.environ.get("PATH", ""), wanted))
    _install_provider(pulumi, programs["pulumi-resource-kubernetes"], say)
    _link(CHARTS_LINK, charts.chart_dir())


def environment(pulumi: Path, path: str) -> dict[str, str]:
    """What to export: pulumi first on `path`, kubeconfig, and settings that keep the engine offline."""
    folder = str(given_host.beside(pulumi))
    return {
        "PATH": path if path.split(":", maxsplit=1)[0] == folder else f"{folder}:{path}",
        "KUBECONFIG": str(paths.KUBECONFIG),
        "PULUMI_HOME": str(HOME),
        "PULUMI_BACKEND_URL": f"file://{BACKEND}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(PASSPHRASE),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        **SELDOM_COLLECTED,
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def end_left_behind() -> int:
    """End the plugins that killed engines of this lab have left: they look at no engine, or seldom. How many there were."""
    mark = f"PULUMI_BACKEND_URL=file://{BACKEND}\0".encode()
    found = 0
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes() and _is_orphan_plugin(entry):
                os.kill(int(entry.name), signal.SIGTERM)
                found += 1
    return found


def _is_orphan_plugin(entry: Path) -> bool:
    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    command = (entry / "cmdline").read_bytes().decode(errors="replace")
    return parent == 1 and any(part in command for part in ("pulumi-", "lab.standins."))


def exports(variables: Mapping[str, str]) -> str:
    """Shell text for `eval`."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def _install_provider(pulumi: Path, provider: Path, say: Say) -> None:
    version = tools.PULUMI_KUBERNETES
    if (HOME / "plugins" / f"resource-kubernetes-v{version}" / "pulumi-resource-kubernetes").exists():
        return
    say(f"pulumi: installing plugin kubernetes {version}")
    argv = [str(pulumi), "plugin", "install", "resource", "kubernetes", version, "--file", str(provider), "--reinstall"]
    env = {**os.environ, **environment(pulumi, os.environ.get("PATH", ""))}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`pulumi plugin install resource kubernetes {version}` failed: {done.stderr.strip()[-500:]}")


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    if link.is_dir() and not link.is_symlink():
        raise LabError(f"{link} is a folder, and the lab needs a link there; move it away and try again")
    new = link.with_name(f"{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)
