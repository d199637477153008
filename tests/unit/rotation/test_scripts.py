"""What hosts run: the file arrives byte for byte or not at all, only its owner reads it, and a mistake stops the script."""

from __future__ import annotations

import os
import stat
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slinky_iac.commands.rotation.host_scripts import File, KeyReport, change, look, parse_report
from slinky_iac.commands.rotation.model import Host
from slinky_iac.keys.catalogue import Role
from tests.unit.examples import examples

RAW = st.binary(min_size=32, max_size=1200)
CALLS = "calls"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder like /etc/slurm, and commands that only note that they were called."""
    folder = tmp_path / "etc slurm"
    folder.mkdir()
    for name in ("slurm.key", "jwt_hs256.key"):
        (folder / name).write_bytes(b"old" * 20)
        (folder / name).chmod(0o600)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "scontrol"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/{CALLS}\n')
        (programs / name).chmod(0o755)
    return tmp_path


def run(host: Path, script: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{host / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-s"], input=script, env=env, capture_output=True, text=True, check=False, timeout=30)


def calls(host: Path) -> list[str]:
    return (host / CALLS).read_text().splitlines() if (host / CALLS).exists() else []


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(raw=RAW)
def test_a_key_arrives_byte_for_byte_and_for_its_owner_only(host: Path, raw: bytes) -> None:
    folder = host / "etc slurm"
    done = run(host, change(Host("dbd", (Role.SLURMDBD,)), [File("jwt_hs256.key", raw)], folder=str(folder)))
    assert done.returncode == 0, done.stderr
    file = folder / "jwt_hs256.key"
    assert file.read_bytes() == raw
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert parse_report(done.stdout) == {"jwt_hs256.key": KeyReport(sha256(raw).hexdigest(), read=True)}
    assert not list(folder.glob("*.new"))


def test_a_file_that_somebody_left_or_opened_gets_no_byte_of_the_key(host: Path) -> None:
    folder, elsewhere = host / "etc slurm", host / "elsewhere"
    elsewhere.write_text("theirs")
    (folder / "jwt_hs256.key.new").write_text("open to all")
    (folder / "slurm.key.new").symlink_to(elsewhere)
    with (folder / "jwt_hs256.key.new").open() as opened:
        files = [File("jwt_hs256.key", b"j" * 64), File("slurm.key", b"s" * 64)]
        assert run(host, change(Host("dbd", (Role.SLURMDBD,)), files, folder=str(folder))).returncode == 0
        assert opened.read() == "open to all"
    assert elsewhere.read_text() == "theirs"
    assert (folder / "slurm.key").read_bytes() == b"s" * 64


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ((Role.LOGIN,), ["systemctl restart sackd"]),
        ((Role.SLURMD,), ["systemctl restart slurmd"]),
        ((Role.SLURMDBD,), ["systemctl restart slurmdbd"]),
        ((Role.BACKUP,), ["systemctl restart slurmctld"]),
        ((Role.SLURMCTLD,), ["scontrol reconfigure"]),
        ((Role.SLURMDBD, Role.SLURMCTLD), ["systemctl restart slurmdbd", "scontrol reconfigure"]),
    ],
)
def test_each_daemon_reads_the_file_in_its_own_way(host: Path, roles: tuple[Role, ...], expected: list[str]) -> None:
    script = change(Host("h", roles), [File("slurm.jwks", b"{}" * 20)], folder=str(host / "etc slurm"))
    assert run(host, script).returncode == 0
    assert calls(host) == expected


def test_a_daemon_that_follows_by_itself_is_not_restarted(host: Path) -> None:
    """Without its socket, for about a second, each srun on the host would fail."""
    program = host / "bin" / "sackd"
    program.symlink_to("/bin/sleep")
    env = {"PATH": os.environ["PATH"], "SLURM_SACK_JWKS": "/etc/slurm/slurm.jwks"}
    script = change(Host("h", (Role.LOGIN,)), [File("slurm.jwks", b"{}" * 20)], folder=str(host / "etc slurm"))
    with subprocess.Popen([str(program), "60"], env=env) as running:
        assert run(host, script).returncode == 0
        running.kill()
    assert calls(host) == ["systemctl reload sackd"]


@pytest.mark.parametrize(("role", "expected"), [(Role.SLURMD, []), (Role.LOGIN, ["systemctl reload sackd"])])
def test_a_daemon_that_has_its_own_configuration_is_not_restarted(host: Path, role: Role, expected: list[str]) -> None:
    """slurmctld tells every slurmd, but no sackd that didn't fetch its configuration: that would go on with the old key."""
    (host / "etc slurm" / "slurm.conf").write_text("ClusterName=lab\n")
    script = change(Host("h", (role,)), [File("slurm.jwks", b"{}" * 20)], folder=str(host / "etc slurm"))
    assert run(host, script).returncode == 0
    assert calls(host) == expected


def test_where_a_file_cannot_be_placed_no_daemon_is_touched(host: Path) -> None:
    (host / "etc slurm" / "slurm.key").unlink()
    script = change(Host("h", (Role.SLURMD,)), [File("slurm.jwks", b"{}" * 20)], folder=str(host / "etc slurm"))
    assert run(host, script).returncode != 0
    assert calls(host) == []
    assert not (host / "etc slurm" / "slurm.jwks").exists()


def test_a_file_is_replaced_whole(host: Path) -> None:
    """slurmctld maps jwt_hs256.key into memory: written in place, it is read half-written; cut short, it kills slurmctld."""
    file = host / "etc slurm" / "jwt_hs256.key"
    with file.open("rb") as held:
        assert (
            run(host, change(Host("h", (Role.SLURMCTLD,)), [File(file.name, b"n" * 40)], folder=str(file.parent))).returncode
            == 0
        )
        assert held.read() == b"old" * 20


def test_a_look_tells_what_is_there_and_holds_no_key(host: Path) -> None:
    text = look(["slurm.jwks", "slurm.key"], folder=str(host / "etc slurm"))
    done = run(host, "echo Welcome to this host\n" + text)
    assert done.returncode == 0
    assert parse_report(done.stdout) == {"slurm.key": KeyReport(sha256(b"old" * 20).hexdigest(), read=False)}


def test_a_file_counts_as_read_only_when_the_daemons_were_parse_report(host: Path) -> None:
    """Cut between the file and the restart, a host looks as if it were done, and is left behind at the change."""
    folder = host / "etc slurm"
    (host / "bin" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    script = change(Host("h", (Role.SLURMD,)), [File("slurm.jwks", b"{}" * 20)], folder=str(folder))
    assert run(host, script).returncode != 0
    assert (folder / "slurm.jwks").exists()
    assert not parse_report(run(host, look(["slurm.jwks"], folder=str(folder))).stdout)["slurm.jwks"].read
    (host / "bin" / "systemctl").write_text("#!/bin/sh\n")
    assert parse_report(run(host, script).stdout)["slurm.jwks"].read
    (folder / "slurm.jwks").write_bytes(b"another")
    assert not parse_report(run(host, look(["slurm.jwks"], folder=str(folder))).stdout)["slurm.jwks"].read


def test_a_file_shows_nothing_of_itself() -> None:
    assert "key" not in repr(File("slurm.jwks", b"secret key")).replace("slurm.jwks", "")
