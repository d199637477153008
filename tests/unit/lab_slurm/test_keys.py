"""Keys are made once, are private, and are not shown."""

import stat
from pathlib import Path

import pytest

from lab.slurm import keys


def test_keys_have_the_sizes_that_slurm_wants(tmp_path: Path) -> None:
    made = keys.ensure(tmp_path / "keys")
    assert len(made.slurm) == 1024
    assert len(made.jwt) == 32
    assert made.slurm != keys.ensure(tmp_path / "others").slurm


def test_keys_stay_the_same_for_a_lab_state(tmp_path: Path) -> None:
    assert keys.ensure(tmp_path) == keys.ensure(tmp_path)


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    keys.ensure(tmp_path / "keys")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert modes == {"slurm.key": 0o600, "jwt_hs256.key": 0o600, "database-password": 0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_keys_do_not_show_in_a_representation(tmp_path: Path) -> None:
    assert repr(keys.ensure(tmp_path)) == "Keys()"


def test_a_file_is_replaced_whole_and_only_when_it_differs(tmp_path: Path) -> None:
    file = tmp_path / "a"
    keys.put(file, b"one", mode=0o644)
    first = file.stat().st_ino
    keys.put(file, b"one", mode=0o644)
    assert file.stat().st_ino == first
    keys.put(file, b"two", mode=0o600)
    assert file.stat().st_ino != first
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"two", 0o600)


def test_a_half_written_file_of_a_killed_run_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.new").write_text("half")
    keys.put(tmp_path / "a", b"whole", mode=0o600)
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert not (tmp_path / "a.new").exists()


@pytest.mark.parametrize("made", [b"", b"\n", b"x"])
def test_a_key_that_is_there_is_never_overwritten(tmp_path: Path, made: bytes) -> None:
    (tmp_path / "slurm.key").write_bytes(made)
    assert keys.ensure(tmp_path).slurm == made
