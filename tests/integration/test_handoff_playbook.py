"""The rendered playbooks of all examples, judged by Ansible's own tools in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lab import python_env
from slinky_iac.commands.handoff.write import write
from tests.stacks import EXAMPLES
from tests.unit.handoff.made import FORMS, made


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the playbook of each example."""
    folder = tmp_path_factory.mktemp("playbooks")
    for example in EXAMPLES:
        write(folder / example.stem.removeprefix("Pulumi."), FORMS["ansible"](made(example), None), with_keys=False)
    return folder


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's programs; its own folders stay in ``folder``, and it asks nobody outside."""
    programs = python_env.ensure_ansible(say=lambda _line: None)
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ANSIBLE_HOME": str(folder / ".ansible"),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_NOCOLOR": "1",
    }
    return subprocess.run(
        [str(programs / program), *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )


def test_every_playbook_passes_ansible_lint_at_its_strictest(rendered: Path) -> None:
    playbooks = sorted(str(path.relative_to(rendered)) for path in rendered.glob("*/handoff.yaml"))
    assert len(playbooks) == len(EXAMPLES)
    found = run(rendered, "ansible-lint", "--offline", "--profile", "production", "--strict", "--nocolor", "-q", *playbooks)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr


def test_a_playbook_that_is_wrong_fails_the_same_lint(rendered: Path) -> None:
    (rendered / "bad.yaml").write_text("---\n- hosts: all\n  tasks:\n    - shell: rm -rf /tmp/x\n")
    found = run(rendered, "ansible-lint", "--offline", "--profile", "production", "--strict", "--nocolor", "-q", "bad.yaml")
    assert found.returncode != 0


def test_the_inventory_has_the_hosts_that_the_stack_names(rendered: Path) -> None:
    told = run(rendered / "all-outside", "ansible-inventory", "-i", "inventory.yaml", "--graph", "slurmd")
    assert [line.strip(" |-") for line in told.stdout.splitlines()] == ["@slurmd:", "metal-001", "metal-002"], told.stderr
