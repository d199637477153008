"""The printed commands that place a key, run as they are printed against hosts that are folders: a key that is on a host is
never destroyed or replaced, and nothing is written where none could be read."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.forms import render
from slinky_iac.commands.handoff.model import Role
from slinky_iac.commands.handoff.role_sheets import handoff
from tests.stacks import form
from tests.unit.handoff.made import KNOWN, texts

SOURCE, BACKUP, NEW = "slurmctld.example.org", "ctl2.example.org", "new.example.org"
KEY = b"not a key of any cluster, but as long as one"
PATHS = {"slurm.key": "/etc/slurm/slurm.key", "jwt_hs256.key": "/etc/slurm/jwt_hs256.key"}
PROGRAMS = {
    # The last word is what the remote shell gets; each host's /etc is a folder.
    "ssh": 'host=${1#root@}; shift; echo "$host" >> "$HOSTS/asked"; [ ! -e "$HOSTS/silent-$host" ] || exit 255\n'
    'exec sh -c "$(printf %s "$*" | sed "s|/etc/|$HOSTS/$host/etc/|g")"',
    # As `install` of coreutils does: it truncates the target before it reads the source.
    "install": 'for each; do from=$to; to=$each; done; if [ -e "$from" ]; then : > "$to"; cat "$from" > "$to"; fi',
    "kubectl": 'cat "$HOSTS/secret"',
}


@dataclass(frozen=True)
class Hosts:
    """Hosts that a fake ssh reaches, each a folder."""

    root: Path

    def place(self, command: str, host: str) -> subprocess.CompletedProcess[str]:
        """Run a printed command for a host."""
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "HOSTS": str(self.root), "TMPDIR": str(self.root / "tmp")}
        done = subprocess.run(
            ["sh", "-c", command.replace("HOST", host)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
        assert list((self.root / "tmp").iterdir()) == [], "a copy of the key stays"
        return done

    def file(self, host: str, path: str) -> Path:
        """Where a host's file is."""
        return self.root / host / path.lstrip("/")


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """The host with the keys and two without."""
    found = Hosts(tmp_path)
    for folder in ("bin", "tmp", *(f"{host}/etc/slurm" for host in (SOURCE, BACKUP, NEW))):
        (tmp_path / folder).mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    for path in PATHS.values():
        found.file(SOURCE, path).write_bytes(KEY)
    return found


def backed() -> dict[str, str]:
    """The rendered hand-off of a cluster whose slurmctld has a backup, and whose keys its hosts have."""
    config = form("controller-outside", controller={"external": {"host": SOURCE, "backups": [BACKUP]}})
    return texts(render("folder", handoff(config, KNOWN), None))


def page_of(role: str) -> str:
    """Where a role's own page is."""
    return f"{role}/README.md"


def printed(page: str, key: str) -> str:
    """The command of a page that places a key."""
    (found,) = re.findall(rf"^Place {re.escape(key)}[^`]*: `([^`]+)`$", page, re.MULTILINE)
    return str(found)


each_key = pytest.mark.parametrize("key", PATHS)
each_role = pytest.mark.parametrize("role", ["slurmctld", "slurmdbd"])


@each_key
@each_role
def test_a_host_without_a_key_gets_it_byte_for_byte(hosts: Hosts, role: str, key: str) -> None:
    done = hosts.place(printed(backed()[page_of(role)], key), NEW)
    assert (done.returncode, hosts.file(NEW, PATHS[key]).read_bytes()) == (0, KEY), done.stderr


@each_key
@each_role
def test_a_command_for_the_host_that_has_the_key_leaves_it_as_it_is(hosts: Hosts, role: str, key: str) -> None:
    done = hosts.place(printed(backed()[page_of(role)], key), SOURCE)
    assert hosts.file(SOURCE, PATHS[key]).read_bytes() == KEY
    assert done.returncode != 0
    assert "not placed: its source has no such key, or the host has a file there" in done.stderr


@each_key
def test_another_key_on_the_host_is_not_replaced(hosts: Hosts, key: str) -> None:
    hosts.file(NEW, PATHS[key]).write_bytes(b"its own")
    done = hosts.place(printed(backed()[page_of("slurmctld")], key), NEW)
    assert hosts.file(NEW, PATHS[key]).read_bytes() == b"its own"
    assert done.returncode != 0


@each_key
@pytest.mark.parametrize("lacking", ["missing", "empty", "silent"])
def test_a_key_that_cannot_be_read_writes_nothing_and_asks_no_other_host(hosts: Hosts, key: str, lacking: str) -> None:
    source = hosts.file(SOURCE, PATHS[key])
    if lacking == "missing":
        source.unlink()
    elif lacking == "empty":
        source.write_bytes(b"")
    else:
        (hosts.root / f"silent-{SOURCE}").touch()
    done = hosts.place(printed(backed()[page_of("slurmctld")], key), NEW)
    assert done.returncode != 0
    assert not hosts.file(NEW, PATHS[key]).exists()
    assert (hosts.root / "asked").read_text().split() == [SOURCE]


@pytest.mark.parametrize("encoded", ["", "bm90IGEga2V5"])
def test_a_secret_that_has_no_such_entry_writes_nothing(hosts: Hosts, encoded: str) -> None:
    (hosts.root / "secret").write_text(encoded)
    page = texts(render("folder", handoff(form("all-in-kubernetes"), KNOWN), None))[page_of("slurmd")]
    done = hosts.place(printed(page, "slurm.key"), NEW)
    there = hosts.file(NEW, PATHS["slurm.key"])
    assert (done.returncode == 0, there.exists()) == (bool(encoded), bool(encoded)), done.stderr
    assert not encoded or there.read_bytes() == b"not a key"


@pytest.mark.parametrize("path", ["README.md", page_of("slurmctld")])
def test_the_host_that_has_the_keys_is_named_with_a_way_to_compare(path: str) -> None:
    page = backed()[path]
    for key, place in PATHS.items():
        assert f"{SOURCE} has {key}: don't place it there." in page
        assert f"`openssl dgst -sha256 -binary {place} | base64`" in page


def test_the_advice_of_install_sh_names_the_host_that_has_the_key(hosts: Hosts) -> None:
    """On that host it is lost and has to be restored; elsewhere it is placed, by the very command of the page."""
    (sheet,) = handoff(
        form("controller-outside", controller={"external": {"host": SOURCE, "backups": [BACKUP]}}), KNOWN, [Role.SLURMCTLD]
    ).sheets
    for key in sheet.keys:
        assert f"on {SOURCE} restore it" in key.advice
        done = hosts.place(key.advice.partition("by: ")[2], BACKUP)
        assert (done.returncode, hosts.file(BACKUP, PATHS[key.name]).read_bytes()) == (0, KEY)


@pytest.mark.parametrize("path", ["README.md", page_of("slurmctld"), page_of("slurmdbd")])
def test_a_jwt_key_in_another_place_is_kept_there_and_named_once(path: str) -> None:
    """Of two jwt_key= the daemon takes one, and which isn't for a reader to guess."""
    files = backed()
    comment = "# your file may name another path in jwt_key=: keep that one, and have it once; add the rest with a comma\n"
    assert f"{comment}AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key\n" in files[path]
    assert comment in files["slurmctld/slurm.conf.lines"]
    assert f"jwt_key= of slurm.conf on {SOURCE} may name another path of jwt_hs256.key" in files[path]
