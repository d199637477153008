"""Tools: keyed by what decides them, taken from where they are right, never half there."""

import io
import os
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab import go, paths, python_env
from lab.obtain import ensure, fetch, says_version
from lab.tools import ENFORCER, LATER, LINTER, STORE, TOOLS, YAML_HOST, Release, Tool, tool


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "www"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def a_program(folder: Path, said: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return str(path)


def test_every_tool_has_its_lock_files_and_a_key() -> None:
    for each in (*TOOLS, LATER, ENFORCER, STORE, LINTER, YAML_HOST):
        assert {"go.mod", "go.sum"} <= {file.name for file in each.lock.iterdir()}
        assert len(each.key()) == 12
    assert len({each.key() for each in (*TOOLS, LATER, ENFORCER, STORE, LINTER, YAML_HOST)}) == len(TOOLS) + 5


def test_lab_up_builds_one_operator_and_the_later_one_says_what_it_is_mixed_with() -> None:
    assert LATER not in TOOLS
    lines = (LATER.lock / "go.mod").read_text().splitlines()
    assert f"\tgithub.com/SlinkyProject/slurm-operator v{LATER.version} // indirect" in lines
    client = "github.com/SlinkyProject/slurm-client"
    assert [line for line in lines if line.startswith("replace")] == [f"replace {client} => {client} v1.0.1"]


def test_key_changes_with_lock_files_and_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.tools.LOCKS", tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "go.sum").write_text("one")
    made = partial(Tool, "t", "1", (".",), ("t",), 1)
    before = made().key()
    assert made(cgo=False).key() != before
    (tmp_path / "t" / "go.sum").write_text("two")
    assert made().key() != before


def test_operator_is_built_for_an_image_without_a_c_library() -> None:
    assert tool("slurm-operator").cgo is False


@pytest.mark.parametrize("said", ["Kubernetes v1.34.4", "v1.34.4", "CoreDNS-1.34.4", "1.34.4"])
def test_right_version_is_recognised(tmp_path: Path, said: str) -> None:
    assert says_version(a_program(tmp_path, said), ["--version"], "1.34.4")


@pytest.mark.parametrize("said", ["Kubernetes v1.34.40", "v1.33.4", "11.34.4", ""])
def test_other_versions_are_not_used(tmp_path: Path, said: str) -> None:
    assert not says_version(a_program(tmp_path, said), ["--version"], "1.34.4")


def test_a_program_of_the_cache_is_not_started_to_ask_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    wanted = tool("pulumi")
    folder = tmp_path / "tools" / f"{wanted.name}-{wanted.key()}"
    folder.mkdir(parents=True)
    asked = tmp_path / "asked"
    for program in wanted.programs:
        (folder / program).write_text(f"#!/bin/sh\ntouch {asked}\n")
        (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert ensure([wanted]) == {program: folder / program for program in wanted.programs}
    assert not asked.exists()


def test_archive_is_unpacked_flat_and_executable(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    with tarfile.open(folder / "pulumi.tar.gz", "w:gz") as tar:
        for name in ("pulumi/pulumi", "pulumi/pulumi-language-python", "../outside"):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"code"))
    into = tmp_path / "a" / "b"
    into.mkdir(parents=True)
    fetch(f"{url}/pulumi.tar.gz", into, "pulumi")
    assert sorted(path.name for path in into.iterdir()) == ["outside", "pulumi", "pulumi-language-python"]
    assert os.access(into / "pulumi", os.X_OK)
    assert not (tmp_path / "a" / "outside").exists()


def test_single_file_release_gets_the_program_name(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    (folder / "kubelet").write_bytes(b"code")
    (tmp_path / "into").mkdir()
    fetch(f"{url}/kubelet", tmp_path / "into", "kubelet")
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["kubelet"]


def test_missing_release_is_an_oserror_so_that_the_build_takes_over(tmp_path: Path, served: tuple[Path, str]) -> None:
    with pytest.raises(OSError, match="404"):
        fetch(f"{served[1]}/nothing.tgz", tmp_path, "x")


def test_release_urls_need_only_what_fetch_fills_in() -> None:
    for each in TOOLS:
        if isinstance(each.release, Release):
            assert "{" not in each.release.url.format(arch="amd64", x64="x64", program="p")


@pytest.mark.parametrize(
    ("said", "version"), [("go version go1.26.8 linux/amd64", (1, 26)), ("go version go1.9 x", (1, 9)), ("", (0, 0))]
)
def test_go_version_is_compared_as_numbers(said: str, version: tuple[int, int]) -> None:
    assert go.version_of(said) == version


def test_environment_key_follows_requirements_and_python(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("a==1\n")
    before = python_env.key([file], (3, 11))
    assert python_env.key([file], (3, 12)) != before
    file.write_text("a==2\n")
    assert python_env.key([file], (3, 11)) != before
