"""A made-up host whose root is a folder: install.sh runs on it as it is but for where its root is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import render
from tests.stacks import EXAMPLES
from tests.unit.handoff.made import KNOWN, made, texts

STUBS = {
    # -T -o OWNER -g OWNER -m MODE SOURCE TARGET
    "install": 'cp "$8" "$9"; chmod "$7" "$9"; echo "$7 $3" > "$AS/${9##*/}"',
    "stat": 'cat "$AS/${3##*/}"',
    "systemctl": 'echo "$@" >> "$CALLS"',
    "sleep": ":",
    "pgrep": "exit 1",  # no daemon runs there, whatever runs on the machine of the tests
    "timeout": "exit 1",  # no person is there to be asked
}
INSIDE, OUTSIDE = EXAMPLES[0], EXAMPLES[1]


@dataclass(frozen=True)
class Scratch:
    """A host whose root is a folder; its commands that need root, or take time, say what they were asked for."""

    root: Path

    def install(
        self, role: str, example: Path = OUTSIDE, known: Known = KNOWN, *, arguments: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Carry a new copy of a role's folder there, and run its install.sh."""
        return self._run(self.carry_role(role, example, known), *arguments)

    def carry_role(self, role: str, example: Path = OUTSIDE, known: Known = KNOWN) -> Path:
        """Carry a new copy of a role's folder there; its install.sh, which has not run."""
        return self.carry(texts(render("folder", made(example, known), None)), role)

    def call(self, rendered: dict[str, str], role: str, *words: str) -> str:
        """Carry a role's folder there and run one function of its install.sh; what it says."""
        done = self._run(self.calling(rendered, role, *words))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calling(self, rendered: dict[str, str], role: str, *words: str) -> Path:
        """Carry a role's folder there, with an install.sh that runs one function alone; its path."""
        script = self.carry(rendered, role)
        head = script.read_text().partition("\nmkdir -p ")[0]
        script.write_text(f"{head}\n{' '.join(words)}\n")
        return script

    def carry(self, rendered: dict[str, str], role: str) -> Path:
        """Write a role's folder there, with an install.sh whose root is this host's; its path."""
        there = self.root / "carried"
        for path, text in rendered.items():
            below, _, name = path.partition("/")
            if below == role:
                (there / name).parent.mkdir(parents=True, exist_ok=True)
                (there / name).write_text(text)
        script = (there / "install.sh").read_text()
        script = re.sub(r"(?<![\w$])/(etc|run|usr/local/sbin)/", rf"{self.root}/\1/", script)
        script = script.replace('"/$1"', f'"{self.root}/$1"')
        (there / "install.sh").write_text(script.replace("in 1 2 3 4 5 6 7 8 9 10;", "in 1;"))
        return there / "install.sh"

    def cut_short(self, script: Path, at: int) -> bool:
        """Run a script that SIGKILL ends, with all that it has started, when it starts its program number ``at``, whose
        output is open then; whether it came so far."""
        count = self.root / "count"
        count.write_bytes(b"")
        for name in ("awk", "cat", "chmod", "cp", "dd", "find", "grep", "id", "mktemp", "mv", "pwd", "rm", "truncate", "wc"):
            stub = self.root / "bin" / name
            if not stub.exists():
                real = f"exec {shutil.which(name)} " + '"$@"'
                kill = f'echo >> {count}; mapfile -t n < {count}; [ "${{#n[@]}}" != "$KILL_AT" ] || kill -KILL 0'
                stub.write_text(f"#!/bin/bash\n{kill}\n{real}\n")
                stub.chmod(0o755)
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "KILL_AT": str(at)}
        done = subprocess.run(
            ["bash", str(script)], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60,
            start_new_session=True,
        )  # fmt: skip
        assert done.returncode in (0, -9), done.stderr
        return done.returncode == -9

    def _run(self, script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(script), *arguments],
            env={
                "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                "CALLS": str(self.root / "calls"),
                "AS": str(self.root / "as"),
                "SLINKY_ROOT": str(self.root) if arguments else "",
            },
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    @property
    def asked(self) -> list[str]:
        """What systemctl was asked for."""
        calls = self.root / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    @property
    def hosts(self) -> str:
        """Its /etc/hosts."""
        return (self.root / "etc/hosts").read_text()


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A host with nothing of Slurm on it."""
    root = tmp_path / "host"
    for folder in ("bin", "as", "etc/slurm", "run/systemd/system"):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(0o755)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n# a remark")
    for name, text in STUBS.items():
        (root / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (root / "bin" / name).chmod(0o755)
    return Scratch(root)
