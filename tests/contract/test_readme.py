"""README's first block makes a project, as it is pasted in a clone: a Python without packages, and no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from slinky_iac.commands.new import FILES
from tests.stacks import ROOT

PULUMI = """#!/bin/sh
# In the place of Pulumi's CLI, whose `install` asks a registry.
set -eu
[ "$*" = install ] && [ -f Pulumi.yaml ] && [ -f requirements.txt ]
mkdir -p venv/bin && echo "WALKED=$PWD" > venv/bin/activate
"""


def block() -> str:
    """The two lines. Nothing in them is to be filled in: a page can't know the address at which it is read."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    first = str(next(each for each in blocks if "slinky_iac new" in each))
    assert len(first.splitlines()) == 2
    assert not re.search(r"\b(?!HOME\b)[A-Z]{3,}\b", first)
    return first


def cloned(folder: Path, env: Mapping[str, str]) -> Path:
    """A clone of this checkout, in a folder with a space in its name."""
    clone = folder / "a clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], env=dict(env), check=True, timeout=120)
    return clone


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """A machine's environment: git, a shell's tools, a Python without packages, and what stands for `pulumi`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{base}" -S "$@"\n')
    (programs / "pulumi").write_text(PULUMI)
    for each in (python, programs / "pulumi"):
        each.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": os.devnull}


def test_the_first_two_lines_of_readme_make_a_project(bare: dict[str, str], tmp_path: Path) -> None:
    assert shutil.which("git"), "git is missing"
    unsafe = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    clone = cloned(tmp_path, bare | unsafe)
    walked = subprocess.run(
        ["bash", "-euc", f'{block()}\necho "walked $WALKED"'],
        cwd=clone,
        env={**bare, **unsafe, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert walked.returncode == 0, walked.stderr
    project = Path(bare["HOME"]) / "my-cluster"
    assert walked.stdout.splitlines()[-1] == f"walked {project}"
    assert set(FILES) <= {path.name for path in project.iterdir()}
    assert yaml.safe_load((project / "Pulumi.yaml").read_text())["runtime"]["options"]["virtualenv"] == "venv"
    (source,) = [line for line in (project / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert Path(source) == clone, "it is installed from the clone"
    assert (Path(source) / "pyproject.toml").is_file()
    for command in ("pulumi login", "slinky init", "pulumi up"):
        assert command in walked.stdout
