"""The Debian mirror comes from the machine's apt configuration, in both of its styles."""

from pathlib import Path

import pytest

from lab.errors import LabError
from lab.slurm import mirror

DEB822 = """\
Types: deb
# a comment in the middle
URIs: http://debian.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://debian.example/debian-security
Suites: bookworm-security
Components: main
"""


def machine(folder: Path, **files: str) -> tuple[Path, Path]:
    apt = folder / "apt"
    (apt / "sources.list.d").mkdir(parents=True)
    for name, text in files.items():
        place = apt / "sources.list" if name == "main" else apt / "sources.list.d" / name.replace("_", ".")
        place.write_text(text)
    release = folder / "os-release"
    release.write_text('NAME="Debian"\nVERSION_CODENAME=bookworm\n')
    return apt, release


def test_deb822_sources_name_the_mirror(tmp_path: Path) -> None:
    apt, release = machine(tmp_path, debian_sources=DEB822)
    assert mirror.read(apt, release) == "http://debian.example/debian"


def test_one_line_sources_name_the_mirror_whatever_their_options(tmp_path: Path) -> None:
    text = "# deb http://wrong/ bookworm main\ndeb [arch=amd64 signed-by=/k.gpg] https://m.example/debian/ bookworm main\n"
    apt, release = machine(tmp_path, main=text)
    assert mirror.read(apt, release) == "https://m.example/debian"


def test_other_archives_and_security_are_no_mirror(tmp_path: Path) -> None:
    others = "deb https://tools.example/apt tools-bookworm main\ndeb http://s.example/security bookworm-security main\n"
    apt, release = machine(tmp_path, other_list=others)
    with pytest.raises(LabError, match=r"none of the 2 sources .* serves bookworm main"):
        mirror.read(apt, release)


def test_disabled_sources_are_passed_over(tmp_path: Path) -> None:
    apt, release = machine(tmp_path, debian_sources="Enabled: no\n" + DEB822)
    with pytest.raises(LabError, match="no Debian mirror"):
        mirror.read(apt, release)
