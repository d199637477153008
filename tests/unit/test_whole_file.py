"""A file is there whole or not at all, also where the disk is full in the middle of it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slinky_iac.commands import whole_file


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process may become larger; Python ignores the signal for it, so the write fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("before", [None, "config: {}\n"])
def test_a_write_that_fails_leaves_what_was_there(before: str | None, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    if before is not None:
        file.write_text(before)
    with room_for(1 << 12), pytest.raises(OSError, match="too large"):
        whole_file.write(file, "x" * (1 << 16))
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == ({} if before is None else {file.name: before})


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    file, link = tmp_path / "Pulumi.prod.yaml", tmp_path / "link"
    file.write_text("somebody's work")
    link.symlink_to(tmp_path / "nowhere")
    for there in (file, link):
        with pytest.raises(FileExistsError):
            whole_file.write(there, "x", new=True)
    assert file.read_text() == "somebody's work"


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "site.json"
    file.write_text("{}")
    file.chmod(0o640)
    whole_file.write(file, "[]")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("[]", 0o640)
