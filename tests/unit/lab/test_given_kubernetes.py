"""Programs of another Kubernetes, which the user names, take the place of the lab's own, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import paths, tools
from lab.errors import LabError
from lab.given_kubernetes import FOLDER, PROGRAMS, programs, version


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "STATE", tmp_path / "state")
    made = tmp_path / "newer"
    made.mkdir()
    for name in PROGRAMS:
        (made / name).write_text(f"#!/bin/sh\necho {'Kubernetes v1.37.2' if name == 'kubelet' else name}\n")
        (made / name).chmod(0o755)
    monkeypatch.setenv(FOLDER.variable, str(made))
    return made


def test_without_a_folder_the_lab_runs_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER.variable, "")
    assert (programs(), version()) == ({}, tools.KUBERNETES)


def test_a_folder_replaces_all_programs_of_kubernetes_and_containerd(folder: Path) -> None:
    assert programs() == {name: folder / name for name in PROGRAMS}
    assert {*tools.tool("kubernetes").programs, "containerd"} <= programs().keys()


def test_the_release_is_what_the_kubelet_says(folder: Path) -> None:
    assert version() == "1.37.2"


@pytest.mark.parametrize("name", ["kubelet", "containerd-shim-runc-v2"])
def test_a_folder_that_lacks_a_program_is_refused_with_its_name(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(LabError, match=f"has no {name}"):
        programs()


@pytest.mark.parametrize("said", ["#!/bin/sh\necho what?\n", "not a program"])
def test_a_kubelet_without_a_release_is_refused(folder: Path, said: str) -> None:
    (folder / "kubelet").write_text(said)
    with pytest.raises(LabError, match="gives no release"):
        version()
