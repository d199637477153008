"""The lab with Slurm of another release, from a folder of the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab import given_operator, paths
from lab.errors import LabError
from lab.given_slurm import FOLDER, VERSION, digest, folder, release, version
from lab.slurm import image, rootfs


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "STATE", tmp_path / "state")
    made = tmp_path / "slurm"
    for name in FOLDER.needed:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (made / VERSION).write_text("/* made */\n#define SLURM_VERSION_NUMBER 0x190b07\n#define SLURM_VERSION_NUM(a,b,c) 1\n")
    monkeypatch.setenv(FOLDER.variable, str(made))
    return made


def test_without_a_folder_the_lab_has_debians_slurm(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER.variable)
    assert (folder(), digest(), release(), rootfs.wanted()) == (None, "", "26.05", rootfs.RECIPE)


def test_the_release_is_in_the_settings_of_the_lab(installed: Path) -> None:
    assert (version(), release()) == ("25.11.7", "25.11")
    settings = given_operator.dev_settings()
    assert 'slurmVersion: "25.11"' in settings
    assert 'slurmVersion: "26.05"' not in settings


def test_hosts_and_image_are_others_than_debians_and_follow_the_folder(installed: Path) -> None:
    before = rootfs.wanted()
    assert before.key() != rootfs.RECIPE.key()
    assert image.key(before) != image.key(rootfs.RECIPE)
    os.utime(installed / "usr/sbin/slurmd", (0, 0))
    assert rootfs.wanted().key() != before.key()


def test_debians_own_root_file_system_keeps_its_key(installed: Path) -> None:
    """The field for the user's Slurm must not make every machine install Debian again."""
    assert "given" not in repr(rootfs.RECIPE)


@pytest.mark.parametrize("name", FOLDER.needed)
def test_a_folder_that_lacks_a_file_is_refused_with_its_name(installed: Path, name: str) -> None:
    (installed / name).unlink()
    with pytest.raises(LabError, match=name):
        rootfs.wanted()


def test_a_header_without_a_release_is_refused(installed: Path) -> None:
    (installed / VERSION).write_text("#define SLURM_VERSION_NUM(a,b,c) 1\n")
    with pytest.raises(LabError, match="SLURM_VERSION_NUMBER"):
        release()
