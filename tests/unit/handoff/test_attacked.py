"""install.sh and the checks where somebody else is at work: on the way to the host, on the host, or in what it reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.handoff.common import functions_for
from slinky_iac.commands.handoff.common import words as script_words
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.host_scripts import File
from slinky_iac.commands.rotation.model import Host
from slinky_iac.keys.catalogue import Role
from tests.unit.handoff.made import KEYS
from tests.unit.handoff.scratch import Scratch, scratch

__all__ = ["scratch"]
ESCAPES = "\x1b]0;pwned\x07\x1b[2Jevil"
OTHER = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
"""Runs a process as a user who is not the one of the tests."""


def with_key(scratch: Scratch) -> Scratch:
    (scratch.root / "etc/slurm/slurm.key").write_bytes(KEYS["slurm.key"])
    return scratch


def carried(scratch: Scratch, to: str = "carried") -> Path:
    """The folder of a role as `Scratch.install` has carried it, moved elsewhere."""
    folder = scratch.root / "carried"
    if to != "carried":
        folder = Path(shutil.move(folder, scratch.root / to))
    return folder


def again(scratch: Scratch, script: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """install.sh once more, by that path, from that folder."""
    env = {
        "PATH": f"{scratch.root}/bin:{os.environ['PATH']}",
        "CALLS": str(scratch.root / "calls"),
        "AS": str(scratch.root / "as"),
        **options.pop("env", {}),
    }
    argv = ["bash", "--", script]
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=60, **options)


def placed(scratch: Scratch) -> list[Path]:
    return [path for top in ("etc", "usr") for path in (scratch.root / top).rglob("*")]


@pytest.mark.parametrize("umask", [0, 0o002, 0o077, 0o777])
def test_folders_on_the_way_are_root_s_alone_to_change_and_all_may_look_into_them(scratch: Scratch, umask: int) -> None:
    """A unit's folder that anybody may write to makes anybody root."""
    with_key(scratch).carry_role("slurmd")
    again(scratch, str(carried(scratch) / "install.sh"), scratch.root, umask=umask)
    found = {path: path.stat().st_mode & 0o777 for path in placed(scratch) if path.is_dir()}
    assert (scratch.root / "etc/systemd/system/slurmd.service.d") in found
    assert set(found.values()) == {0o755}


def test_a_run_that_was_cut_short_after_a_file_is_made_good_by_the_next_one(scratch: Scratch) -> None:
    """To the second run nothing has changed, and the daemon would go on with the unit that it began with."""
    tool = scratch.root / "bin/systemctl"
    works = tool.read_text()
    tool.write_text("#!/bin/bash\nexit 1\n")
    assert with_key(scratch).install("slurmd").returncode != 0
    assert (scratch.root / "etc/systemd/system/slurmd.service.d/10-slinky-iac.conf").exists()
    tool.write_text(works)
    scratch.install("slurmd")
    assert "restart slurmd" in scratch.asked
    scratch.install("slurmd")
    assert scratch.asked[-1] == "start slurmd"
    assert list((scratch.root / "etc/slurm").glob(".*")) == []


def test_the_mark_of_a_change_is_not_made_through_a_link(scratch: Scratch, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("root's")
    (scratch.root / "etc/slurm/.slinky-iac-slurmd").symlink_to(victim)
    with_key(scratch).install("slurmd")
    assert victim.read_text() == "root's"
    assert list((scratch.root / "etc/slurm").glob(".*")) == []


@pytest.mark.parametrize("name", ["-rf * $(touch pwned)", "new\nline\n", "'a \"b"])
def test_a_folder_by_any_name_is_installed_from(scratch: Scratch, name: str) -> None:
    with_key(scratch).carry_role("slurmd")
    carried(scratch, name)
    done = again(scratch, f"{name}/install.sh", scratch.root)
    assert (scratch.root / "etc/systemd/system/slurmd.service.d/10-slinky-iac.conf").exists(), done.stderr
    assert not (scratch.root / "pwned").exists()


def test_a_folder_of_the_same_name_on_cdpath_is_not_taken_for_it(scratch: Scratch, tmp_path: Path) -> None:
    with_key(scratch).install("slurmd")
    unit = "etc/systemd/system/slurmd.service.d/10-slinky-iac.conf"
    (scratch.root / unit).unlink()
    evil = tmp_path / "evil/carried"
    shutil.copytree(scratch.root / "carried", evil)
    (evil / "files" / unit).write_text("[Service]\nExecStart=evil\n")
    again(scratch, "carried/install.sh", scratch.root, env={"CDPATH": str(tmp_path / "evil")})
    assert "evil" not in (scratch.root / unit).read_text()


def test_a_folder_that_anybody_may_change_is_not_installed_from(scratch: Scratch) -> None:
    with_key(scratch).install("slurmd")
    shutil.rmtree(scratch.root / "etc/systemd")
    folder = carried(scratch)
    (folder / "files" / f"x{ESCAPES}").write_text("")
    (folder / "files" / f"x{ESCAPES}").chmod(0o666)
    done = again(scratch, str(folder / "install.sh"), scratch.root)
    assert done.returncode == 1
    assert "anybody may change" in done.stderr
    assert done.stderr.replace("\n", "").isprintable()
    assert not (scratch.root / "etc/systemd").exists()


def test_someone_who_is_not_root_is_told_so_and_nothing_is_begun(scratch: Scratch) -> None:
    with_key(scratch).install("slurmd")
    asked, before = scratch.asked, {path: path.read_bytes() for path in placed(scratch) if path.is_file()}
    (scratch.root / "etc").chmod(0o555)
    text = (scratch.root / "carried/install.sh").read_text()
    done = subprocess.run(
        ["bash", "-s"],
        input=text.replace(f"{scratch.root}/etc/", "/etc/") if OTHER else text,
        env={"PATH": os.environ["PATH"]}, cwd="/", capture_output=True, text=True, check=False, timeout=30, **OTHER,
    )  # fmt: skip
    (scratch.root / "etc").chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("run this as root")
    assert {path: path.read_bytes() for path in placed(scratch) if path.is_file()} == before
    assert scratch.asked == asked


# -- what others on the host can do to a check -----------------------------------------------------------------------


def check(*call: str, root: Path | None = None) -> str:
    script = f"set -uf\n{functions_for([call[0]])}\n{script_words(call)}\n"
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | ({"SLINKY_ROOT": str(root)} if root else {})
    done = subprocess.run(["bash", "-s"], input=script, env=env, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout


@pytest.fixture
def fake(tmp_path: Path) -> Any:
    """A process that another user calls like a daemon, with a command line of that user's choice."""
    tmp_path.chmod(0o755)
    name = f"d{os.getpid()}"
    rename = f"printf {name} >/proc/$$/comm; echo up; read -r _"
    argv = [ESCAPES, "-c", rename, "--conf-server", "ctl:6817"]
    env = {"SLURM_SACK_JWKS": "/etc/slurm/slurm.jwks", "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        argv, executable="/bin/bash", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd="/", **OTHER
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield name
        process.communicate("\n")


def test_another_user_s_process_by_a_daemon_s_name_is_not_the_daemon(fake: str) -> None:
    said = check("check_running", fake, "--conf-server ctl:6817")
    if OTHER:
        assert said == f"bad      {fake} does not run here\n"
    assert said.replace("\n", "").isprintable()


def test_another_user_s_process_does_not_keep_a_daemon_from_its_restart(fake: str, tmp_path: Path) -> None:
    """The script would take it for a slurmd that finds slurm.jwks at any reconfiguration, and cut the real one off."""
    follows = host_scripts.change(Host("h", (Role.SLURMD,)), [File("slurm.key", b"k" * 64)], folder=str(tmp_path))
    found = re.search(r"(?ms)^# Does the running.*?^\}$", follows)
    assert found is not None
    (tmp_path / "slurm.key").write_bytes(b"k" * 64)
    done = subprocess.run(
        ["sh", "-c", f"{found[0]}\nfollows {fake}"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert (done.returncode != 0) == bool(OTHER)


def test_what_a_check_says_moves_no_cursor(tmp_path: Path) -> None:
    conf = tmp_path / "etc/slurm/slurm.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text(f"ClusterName={ESCAPES}\x9b\n")
    said = check("check_parameter", "/etc/slurm/slurm.conf", "ClusterName", "atlas", root=tmp_path)
    assert "evil" in said
    assert said.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "line", ["include slurm.conf", "include /etc/slurm/slurm.conf", "include /etc/slurm", "include pipe"]
)
def test_a_configuration_that_includes_itself_or_what_is_no_file_is_read_to_an_end(tmp_path: Path, line: str) -> None:
    conf = tmp_path / "etc/slurm/slurm.conf"
    conf.parent.mkdir(parents=True)
    os.mkfifo(conf.parent / "pipe")
    conf.write_text(f"{line}\nClusterName=atlas\n")
    said = check("check_parameter", "/etc/slurm/slurm.conf", "ClusterName", "atlas", root=tmp_path)
    assert said == "ok       ClusterName=atlas\n"
