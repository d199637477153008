"""Stand-ins are put where an engine looks, and never where an official plugin is at hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.standins import install


def program(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def plan(tmp_path):
    def make(path=""):
        return install.plan(tmp_path / "bin", tmp_path / "home", tmp_path / "user", path, "4.21.4")

    return make


def names(links):
    return [link.at.name for link in links]


def test_all_are_needed_on_a_bare_machine(plan, tmp_path):
    links = plan()
    assert names(links) == [*install.BUNDLED, install.RANDOM]
    assert links[-1].at == tmp_path / "home/plugins/resource-random-v4.21.4/pulumi-resource-random"
    install.install(links)
    install.install(plan())
    for link in links:
        assert os.access(link.at, os.X_OK)
        assert link.at.resolve().parent == install.HERE


def test_ours_on_path_are_not_taken_for_official_ones(plan, tmp_path):
    install.install(plan())
    assert names(plan(str(tmp_path / "bin"))) == [*install.BUNDLED, install.RANDOM]


def test_an_official_host_on_path_keeps_all_three_away(plan, tmp_path):
    official = program(tmp_path / "official" / "pulumi-language-python")
    assert names(plan(f"/nowhere::{official.parent}")) == [install.RANDOM]


@pytest.mark.parametrize("name", install.BUNDLED)
def test_an_official_file_beside_pulumi_is_never_replaced(plan, tmp_path, name):
    program(tmp_path / "bin" / name)
    assert names(plan()) == [install.RANDOM]


def test_an_official_random_provider_is_used_wherever_it_is(plan, tmp_path):
    cached = Path("plugins/resource-random-v4.21.4/pulumi-resource-random")
    users = program(tmp_path / "user" / ".pulumi" / cached)
    assert plan()[-1].to == users
    install.install(plan())
    assert names(plan()) == list(install.BUNDLED), "linked once, it is official"


def test_an_official_random_provider_on_path_needs_no_link(plan, tmp_path):
    official = program(tmp_path / "official" / "pulumi-resource-random")
    assert names(plan(str(official.parent))) == list(install.BUNDLED)


def test_the_version_is_the_one_that_requirements_pin():
    assert install.random_version("pulumi==3.1.0\npulumi-random==4.21.4  # x\n") == "4.21.4"
    with pytest.raises(LabError, match=r"pulumi-random==VERSION.*Next"):
        install.random_version("pulumi-random>=4\n")


def test_this_module_needs_nothing_but_the_standard_library():
    path = f"[p for p in sys.path if 'site-packages' not in p] + [{str(install.HERE.parents[1])!r}]"
    code = f"import sys; sys.path = {path}; import lab.standins.install"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_a_launcher_without_a_fitting_python_says_where_it_looked(tmp_path):
    launcher = tmp_path / "lab" / "standins" / "with-python"
    launcher.parent.mkdir(parents=True)
    launcher.write_bytes((install.HERE / "with-python").read_bytes())
    launcher.chmod(0o755)
    done = subprocess.run(
        [launcher, "lab.standins.language_host"],
        cwd=tmp_path,
        env={"PATH": "/bin:/usr/bin", "PULUMI_PYTHON_CMD": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == "", "the engine would take it for a port"
    assert "no Python with the packages grpc and pulumi" in done.stderr
    assert f"{tmp_path}/venv" in done.stderr
    assert "Next:" in done.stderr
