"""The machine's limit of inotify instances: raised while any lab is up, as it was before when the last one is down."""

from pathlib import Path

import pytest

from lab import inotify


@pytest.fixture
def limit(tmp_path: Path) -> Path:
    file = tmp_path / "limit"
    file.write_text("128\n")
    return file


def test_the_last_lab_puts_the_limit_back(limit: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    inotify.enough(limit, users, "a")
    inotify.enough(limit, users, "b")
    inotify.enough(limit, users, "a")
    assert int(limit.read_text()) == inotify.ENOUGH
    inotify.restore(limit, users, "a")
    assert int(limit.read_text()) == inotify.ENOUGH, "b is still up"
    inotify.restore(limit, users, "b")
    assert limit.read_text() == "128\n"
    assert not users.exists()


def test_what_all_labs_share_goes_with_the_last_one(limit: Path, tmp_path: Path) -> None:
    """A mount point that is removed takes another lab's mounts on it along."""
    users, taken = tmp_path / "users", list[str]()
    for lab in ("a", "b"):
        inotify.enough(limit, users, lab)
    inotify.restore(limit, users, "a", last=lambda: taken.append("a"))
    assert taken == []
    inotify.restore(limit, users, "b", last=lambda: taken.append("b"))
    assert taken == ["b"]


def test_what_a_reboot_left_of_a_lab_goes_too(limit: Path, tmp_path: Path) -> None:
    """The note of who is up and the raised limit are gone then; mount points on a disk are not."""
    taken = list[str]()
    inotify.restore(limit, tmp_path / "users", "a", last=lambda: taken.append("a"))
    assert taken == ["a"]


def test_a_higher_limit_is_left_alone(limit: Path, tmp_path: Path) -> None:
    limit.write_text("100000\n")
    inotify.enough(limit, tmp_path / "users", "a")
    assert limit.read_text() == "100000\n"


def test_down_without_up_changes_nothing(limit: Path, tmp_path: Path) -> None:
    inotify.restore(limit, tmp_path / "users", "a")
    assert limit.read_text() == "128\n"
