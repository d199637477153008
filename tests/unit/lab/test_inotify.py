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


def test_a_higher_limit_is_left_alone(limit: Path, tmp_path: Path) -> None:
    limit.write_text("100000\n")
    inotify.enough(limit, tmp_path / "users", "a")
    assert limit.read_text() == "100000\n"


def test_down_without_up_changes_nothing(limit: Path, tmp_path: Path) -> None:
    inotify.restore(limit, tmp_path / "users", "a")
    assert limit.read_text() == "128\n"
