"""install.sh on a made-up host, as it is but for where its root is: it can be cut short, and run again, at any time."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.handoff.folder import render
from slinky_iac.handoff.parts import Known
from tests.stacks import EXAMPLES
from tests.unit.handoff.made import KEYS, KNOWN, made, texts

STUBS = {
    "install": 'cp "$7" "$8"; chmod "$6" "$8"; echo "$6 $2" > "$8.as"',  # -o OWNER -g OWNER -m MODE SOURCE TARGET
    "stat": 'cat "$3.new.as"',
    "systemctl": 'echo "$@" >> "$CALLS"',
    "sleep": ":",
    "timeout": "exit 1",  # nobody is there to be asked
}
INSIDE, OUTSIDE = EXAMPLES[0], EXAMPLES[1]


@dataclass(frozen=True)
class Scratch:
    """A host whose root is a folder; its commands that need root, or take time, say what they were asked for."""

    root: Path

    def install(self, role: str, example: Path = OUTSIDE, known: Known = KNOWN) -> subprocess.CompletedProcess[str]:
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
            ["bash", str(there / "install.sh")],
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "CALLS": str(self.root / "calls")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    @property
    def asked(self) -> list[str]:
        """What systemctl was asked for."""
        calls = self.root / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    @property
    def hosts(self) -> str:
        return (self.root / "etc/hosts").read_text()


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    for folder in ("bin", "etc/slurm", "run/systemd/system"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n# a remark")
    for name, text in STUBS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return Scratch(tmp_path)


@pytest.mark.parametrize("role", ["slurmd", "login"])
def test_a_daemon_that_ran_before_its_key_was_placed_is_restarted_by_the_next_run(scratch: Scratch, role: str) -> None:
    """Started by its package, it has the package's unit: `systemctl start` would leave it as it is."""
    first = scratch.install(role)
    assert first.returncode == 1
    assert "lacking   " in first.stderr
    assert (scratch.asked, list((scratch.root / "etc").rglob("*.conf"))) == ([], [])
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    scratch.install(role)
    service = {"slurmd": "slurmd", "login": "sackd"}[role]
    assert f"restart {service}" in scratch.asked
    scratch.install(role)
    assert scratch.asked[-1] == f"start {service}"


def test_an_address_that_has_changed_takes_the_place_of_the_old_one(scratch: Scratch) -> None:
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    for address in ("192.0.2.9", "192.0.2.10", "192.0.2.10"):
        scratch.install("login", INSIDE, Known(slurmctld_address=address))
    first, remark, line = scratch.hosts.splitlines()
    assert (first, remark) == ("127.0.0.1 localhost", "# a remark")
    assert line.startswith("192.0.2.10 slurm-controller")
