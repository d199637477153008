"""A key comes in byte for byte or not at all, never over one that is in use, and a new one is its owner's alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slinky_iac.config.load import load
from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.key_lifecycle import bring, files
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.keys.raw import fingerprint
from tests.stacks import ROOT, outside
from tests.unit.key_lifecycle.test_engine import JWT, KEY, NEXT, Pulumi


def material(**given: bytes) -> Material:
    return Material(load(outside()), given)


def test_a_generated_file_is_its_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        shown = bring.generate(tmp_path / "slurm.key")
    finally:
        os.umask(old)
    file = tmp_path / "slurm.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shown == fingerprint(file.read_bytes())
    assert not file.read_bytes().endswith(b"\n")


def test_a_disk_that_is_full_leaves_no_part_of_a_key(tmp_path: Path) -> None:
    script = """if True:
        import resource, sys
        from pathlib import Path
        from slinky_iac.errors import KeyMaterialError
        from slinky_iac.key_lifecycle.bring import generate
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            generate(Path(sys.argv[1]))
        except KeyMaterialError as error:
            print(error)
    """
    file = tmp_path / "slurm.key"
    done = subprocess.run([sys.executable, "-c", script, str(file)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "can't be written" in done.stdout
    assert not file.exists()


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "slurm.key"
    file.write_bytes(KEY)
    with pytest.raises(KeyMaterialError, match="is there already"):
        bring.generate(file)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyMaterialError):
        bring.generate(tmp_path / "link")
    assert file.read_bytes() == KEY
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyMaterialError, match="can't be made"):
        bring.generate(tmp_path / "no" / "slurm.key")


def test_the_newline_trap_is_caught_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "slurm.key"
    file.write_bytes(KEY + b"\n")
    with pytest.raises(KeyMaterialError, match="line break"):
        files.read(file, allow_trailing_newline=False)
    assert files.read(file, allow_trailing_newline=True) == KEY + b"\n"
    file.chmod(0o644)
    assert files.readable_by_others(file)
    file.chmod(0o600)
    assert not files.readable_by_others(file)


def test_an_import_sets_the_secret_byte_for_byte() -> None:
    pulumi = Pulumi()
    assert bring.bring(Engine(None, pulumi), material(jwtKey=JWT), "slurm", KEY, replace=False) == fingerprint(KEY)
    assert [command[4] for command in pulumi.commands] == ["slurmKey"]


def test_the_same_key_again_changes_nothing() -> None:
    pulumi = Pulumi()
    bring.bring(Engine(None, pulumi), material(slurmKey=KEY), "slurm", KEY, replace=False)
    assert pulumi.commands == []


def test_another_key_is_a_rotation_unless_nothing_runs_with_the_old() -> None:
    pulumi = Pulumi()
    with pytest.raises(RotationError, match="keys rotate slurm"):
        bring.bring(Engine(None, pulumi), material(slurmKey=KEY), "slurm", NEXT, replace=False)
    assert pulumi.commands == []
    bring.bring(Engine(None, pulumi), material(slurmKey=KEY), "slurm", NEXT, replace=True)
    assert len(pulumi.commands) == 1


@pytest.mark.parametrize("coming", ["slurmKeyNext", "slurmKeyPrevious"])
def test_nothing_is_imported_into_a_rotation(coming: str) -> None:
    given = material(slurmKey=KEY, **{coming: NEXT})
    with pytest.raises(RotationError, match="is being rotated"):
        bring.bring(Engine(None, Pulumi()), given, "slurm", JWT, replace=True)
    bring.bring(Engine(None, Pulumi()), given, "jwt", JWT, replace=False)


def test_one_key_for_both_is_refused() -> None:
    with pytest.raises(KeyMaterialError, match="any daemon"):
        bring.bring(Engine(None, Pulumi()), material(slurmKey=KEY), "jwt", KEY, replace=False)


@pytest.mark.parametrize("place", ["", "slurm", "slurm/name", "slurm//entry", "a/b/c/d"])
def test_a_secrets_entry_is_named_whole(place: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/SECRET/ENTRY"):
        bring.from_secret(material(), place)
