"""Command lines as a person runs them after a plan has printed them: in the project's folder, by a shell, word for word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lab import paths
from lab.stacks import Stack


def run(stack: Stack, line: str, folder: Path, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run one printed line; fails the test where it ends with another status than 0 anywhere in its pipe.

    ``folder`` gets an `ssh` to the lab's hosts, and the project's `python` and `slinky`. Printed lines have no `--yes`:
    a person answers pulumi's questions. Here every answer is yes.
    """
    tools = folder / "tools"
    if not tools.exists():
        tools.mkdir()
        on_host = f"exec env PYTHONPATH={paths.REPO} {sys.executable} -m tests.e2e.on_host"
        _program(tools / "ssh", f'[ "$2 $3" = "sh -s" ] || exit 64\n{on_host} "${{1#root@}}"')
        _program(tools / "python", f'exec {stack.folder}/venv/bin/python "$@"')
        _program(tools / "slinky", f'exec {stack.folder}/venv/bin/python -m slinky_iac "$@"')
    env = {**os.environ, **stack.env, "PULUMI_SKIP_CONFIRMATIONS": "true"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=stack.folder,
        env={**env, "PATH": f"{tools}:{env['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done


def _program(at: Path, script: str) -> None:
    at.write_text(f"#!/bin/sh\n{script}\n")
    at.chmod(0o755)
