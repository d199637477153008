"""Pulumi's official language host, which the user names, stands beside the engine, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import paths
from lab.errors import LabError
from lab.given_host import HOST, beside
from lab.standins.install import BUNDLED


@pytest.fixture
def host(tmp_path: Path) -> Path:
    folder = tmp_path / "official"
    folder.mkdir()
    for name in BUNDLED:
        (folder / name).write_text(f"#!/bin/sh\necho {name}\n")
    return folder


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(paths, "STATE", tmp_path / "state")
    monkeypatch.setenv(HOST.variable, "")
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text("engine")
    return program


def test_without_a_folder_an_engine_is_started_where_it_is(pulumi: Path) -> None:
    assert beside(pulumi) == pulumi.parent


def test_an_engine_finds_itself_and_the_three_files_in_one_folder(
    pulumi: Path, host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST.variable, str(host))
    made = beside(pulumi)
    assert made == beside(pulumi), "the same again"
    assert (made / "pulumi").samefile(pulumi)
    assert not (made / "pulumi").is_symlink(), "an engine looks beside its real file"
    assert {name: (made / name).resolve() for name in BUNDLED} == {name: host / name for name in BUNDLED}
    assert sorted(each.name for each in pulumi.parent.iterdir()) == ["pulumi"], "the engine's own folder is others' too"


@pytest.mark.parametrize("missing", BUNDLED)
def test_a_folder_that_lacks_a_file_is_refused_with_its_name(
    pulumi: Path, host: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST.variable, str(host))
    (host / missing).unlink()
    with pytest.raises(LabError, match=rf"has no {missing}\. It must hold .*Nothing was started"):
        beside(pulumi)


def test_a_lab_keeps_the_folder_that_it_was_begun_with(pulumi: Path, host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    HOST.take(str(host))
    monkeypatch.setenv(HOST.variable, "")
    assert HOST.exported() == {HOST.variable: str(host)}
    assert beside(pulumi) != pulumi.parent


def test_a_folder_that_is_refused_is_not_kept(pulumi: Path, host: Path) -> None:
    (host / BUNDLED[0]).unlink()
    with pytest.raises(LabError):
        HOST.take(str(host))
    assert HOST.named() == ""
