"""The script that asks slurmctld's host, run by real shells beside a made-up scontrol: it reads, and changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slinky_iac.commands.init.stack import SCRIPT, Found, read
from tests.unit.init.made import CONFIG, JWT, SLURM

SCONTROL = """\
#!/bin/sh
case "$*" in
"show config") cat "$STATE/config" ;;
*partition) printf 'PartitionName=all AllowGroups=ALL\\nPartitionName=metal State=UP\\n' ;;
*node) cat "$STATE/nodes"; [ -s "$STATE/nodes" ] || exit 1 ;;
esac
exit ${SCONTROL_CODE:-0}
"""
NODES = """\
NodeName=metal-1 Arch=x86_64 AvailableFeatures=a,b ActiveFeatures=a State=DOWN*+DRAIN Reason=NodeName=x State=IDLE
NodeName=gpu-0 Arch=x86_64 AvailableFeatures=gpu ActiveFeatures=gpu State=IDLE+DYNAMIC_NORM Version=26.05.5
"""
SHELLS = [shell for shell in (["sh"], ["dash"], ["bash"], ["busybox", "sh"]) if shutil.which(shell[0])]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder that stands for a host: its keys, its scontrol."""
    (tmp_path / "slurm.key").write_bytes(SLURM)
    (tmp_path / "jwt.key").write_bytes(JWT)
    config = CONFIG.replace("/etc/slurm/slurm.conf", f"{tmp_path}/slurm.conf")
    config = config.replace("jwt_key=/etc/slurm/jwt_hs256.key", f"disable_token_creation,jwt_key={tmp_path}/jwt.key")
    (tmp_path / "config").write_text(config.replace("= dbd", "= localhost"))
    (tmp_path / "nodes").write_text(NODES)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "scontrol").write_text(SCONTROL)
    (tmp_path / "bin" / "scontrol").chmod(0o755)
    return tmp_path


def asked(host: Path, shell: list[str], code: int = 0) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{host}/bin:/usr/bin:/bin", "STATE": str(host), "SCONTROL_CODE": str(code)}
    return subprocess.run(
        [*shell, "-s"], input=SCRIPT, env=env, cwd=host, capture_output=True, text=True, check=False, timeout=30
    )


@pytest.mark.parametrize("shell", SHELLS, ids=[shell[0] for shell in SHELLS])
def test_every_shell_gives_the_same_cluster_and_both_keys(host: Path, shell: list[str]) -> None:
    before = {path: path.read_bytes() for path in host.rglob("*") if path.is_file()}
    done = asked(host, shell)
    assert (done.returncode, done.stderr) == (0, "")
    found: Found = read(done.stdout)
    assert (found.slurm_key, found.jwt_key) == (SLURM, JWT)
    assert (found.name, found.release, found.uid, found.max_nodes) == ("atlas", "26.05", 401, 512)
    assert found.partitions == {"all", "metal"}
    assert [(each.name, each.states, each.features) for each in found.nodes or ()] == [
        ("metal-1", {"DOWN", "DRAIN"}, ("a", "b")),
        ("gpu-0", {"IDLE", "DYNAMIC_NORM"}, ("gpu",)),
    ]
    assert [each.registered_by("gpu") for each in found.nodes or ()] == [False, True]
    assert found.judged.key == f"{host}/jwt.key"
    assert found.database_address in ("", "127.0.0.1"), "a resolver may not know localhost by IPv4"
    assert {path: path.read_bytes() for path in host.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("nodes", "known"), [("", None), ("No nodes in the system\n", ())])
def test_nodes_that_are_not_told_are_unknown_and_none_are_none(host: Path, nodes: str, known: object) -> None:
    (host / "nodes").write_text(nodes)
    assert read(asked(host, ["sh"]).stdout).nodes == known


def test_a_key_that_is_not_there_is_missing_and_no_error(host: Path) -> None:
    (host / "slurm.key").unlink()
    found = read(asked(host, ["sh"]).stdout)
    assert found.slurm_key is None
    assert found.jwt_key == JWT


def test_a_slurmctld_that_does_not_answer_ends_the_script(host: Path) -> None:
    assert asked(host, ["sh"], code=1).returncode == 3
