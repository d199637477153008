"""One image, five roles: the entry point reads its role from what slurm-operator gives to a container."""

import os
import subprocess
from pathlib import Path

import pytest

from lab.slurm import image

DAEMONS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd")


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """Daemons that print their name and each of their arguments in brackets."""
    for name in DAEMONS:
        stub = tmp_path / name
        stub.write_text('#!/bin/sh\nprintf "%s" "${0##*/}"\nfor word; do printf " [%s]" "$word"; done\n')
        stub.chmod(0o755)
    stub = tmp_path / "mkdir"  # /run and /var of the machine are none of the test's business
    stub.write_text("#!/bin/sh\n")
    stub.chmod(0o755)
    return tmp_path


def enter(stubs: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{stubs}:{os.environ['PATH']}"
    argv = ["bash", str(image.ENTRYPOINT), *arguments]
    return subprocess.run(argv, env={"PATH": path, **env}, capture_output=True, text=True, check=False, timeout=30)


def test_slurmd_takes_the_operator_s_arguments_as_a_shell_would(stubs: Path) -> None:
    done = enter(stubs, "-Z", "--conf-server", "ctl:6817", "--conf", "'Features=gpu Weight=5'")
    assert done.stdout == "slurmd [-D] [-Z] [--conf-server] [ctl:6817] [--conf] [Features=gpu Weight=5]"


def test_slurmrestd_is_told_by_its_token_and_keeps_its_arguments(stubs: Path) -> None:
    done = enter(stubs, "-s", "openapi/slurmctld", "0.0.0.0:6820", SLURM_JWT="daemon")
    assert done.stdout == "slurmrestd [-s] [openapi/slurmctld] [0.0.0.0:6820]"


@pytest.mark.parametrize("role", ["slurmctld", "slurmdbd"])
def test_a_role_can_be_given(stubs: Path, role: str) -> None:
    assert enter(stubs, SLURM_ROLE=role).stdout == f"{role} [-D]"


def test_a_command_is_run_as_it_is(stubs: Path) -> None:
    assert enter(stubs, "echo", "a  b").stdout == "a  b\n"


def test_without_a_sign_of_its_role_it_stops_and_says_what_to_set(stubs: Path) -> None:
    done = enter(stubs)
    assert done.returncode == 64
    assert "set SLURM_ROLE to slurmctld, slurmd, slurmdbd, slurmrestd or login" in done.stderr
