"""A made-up host whose root is a folder: install.sh runs on it as it is but for where its root is."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.render_folder import render
from tests.stacks import EXAMPLES
from tests.unit.handoff.made import KNOWN, made, texts

STUBS = {
    # -T -o OWNER -g OWNER -m MODE SOURCE TARGET: the target is a new file, so what it is as goes to a place by its name
    "install": 'cp "$8" "$9"; chmod "$7" "$9"; as=${9%.??????}; echo "$7 $3" > "$AS/${as##*/.}"',
    "stat": 'cat "$AS/${3##*/}"',
    "systemctl": 'echo "$@" >> "$CALLS"',
    "sleep": ":",
    "timeout": "exit 1",  # nobody is there to be asked
}
INSIDE, OUTSIDE = EXAMPLES[0], EXAMPLES[1]


@dataclass(frozen=True)
class Scratch:
    """A host whose root is a folder; its commands that need root, or take time, say what they were asked for."""

    root: Path

    def install(
        self, role: str, example: Path = OUTSIDE, known: Known = KNOWN, *, arguments: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Carry a role's folder there, anew, and run its install.sh."""
        there = self.root / "carried"
        for path, text in texts(render(made(example, known), None)).items():
            below, _, name = path.partition("/")
            if below == role:
                (there / name).parent.mkdir(parents=True, exist_ok=True)
                (there / name).write_text(text)
        script = (there / "install.sh").read_text()
        script = re.sub(r"(?<![\w$])/(etc|run|usr/local/sbin)/", rf"{self.root}/\1/", script)
        script = script.replace('"/$1"', f'"{self.root}/$1"')
        (there / "install.sh").write_text(script.replace("in 1 2 3 4 5 6 7 8 9 10;", "in 1;"))
        return subprocess.run(
            ["bash", str(there / "install.sh"), *arguments],
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
