"""A host that `--via` reaches may be somebody else's by now: what it answers ends in time, in size, and in plain words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from time import monotonic

import pytest

from slinky_iac.commands import children
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.host_scripts import Via
from slinky_iac.commands.rotation.model import Host
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import Role

HOST = Host("metal-1", (Role.SLURMD,))
ENV = dict(os.environ)


def sh(script: str, timeout: float = 30, **options: object) -> subprocess.CompletedProcess[str]:
    return children.run(["sh", "-c", script], timeout=timeout, env=ENV, **options)  # type: ignore[arg-type]


def test_bytes_that_are_no_text_are_an_answer_like_any_other() -> None:
    said = Via("sh -c 'printf \"\\377\\nslinky-iac: slurm.key aa aa\\n\"' {host}").script(HOST, "")
    assert host_scripts.parse_report(said)["slurm.key"].read


def test_what_a_host_says_moves_no_cursor() -> None:
    with pytest.raises(RotationError) as caught:
        Via("sh -c 'printf \"\\033]0;pwned\\007\\033[2J\\302\\233evil\" >&2; exit 3' {host}").script(HOST, "")
    assert "evil" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("stream", ["", " >&2"])
def test_an_endless_answer_ends_at_a_bound(stream: str) -> None:
    with pytest.raises(RotationError, match="printed more than"):
        Via(f"sh -c 'exec yes{stream}' {{host}}").script(HOST, "")


def test_an_answer_that_drips_ends_at_its_deadline_and_so_does_the_program(tmp_path: Path) -> None:
    begun = monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        sh(f"echo $$ > {tmp_path}/pid; while :; do echo x; sleep 0.1; done", timeout=1)
    assert monotonic() - begun < 20
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_one_that_closes_its_streams_and_stays_ends_at_its_deadline_too() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        sh("exec <&- >&- 2>&-; exec sleep 60", timeout=1)


def test_a_long_script_and_a_long_answer_do_not_wait_for_each_other() -> None:
    given = "x" * 3_000_000
    assert sh("cat", input=given).stdout == given


def test_one_that_does_not_read_its_input_is_no_fault() -> None:
    done = sh("exec <&-; echo done; exit 4", input="x" * 1_000_000)
    assert (done.stdout, done.returncode) == ("done\n", 4)


def test_what_a_host_says_of_files_is_words_and_no_more() -> None:
    """A line of another form, and a name that was not asked for, are nobody's."""
    said = "slinky-iac: \x1b[2J\nslinky-iac: a b c d\n\x85slinky-iac: x y z\nslinky-iac:  slurm.key  aa never \n"
    seen = host_scripts.parse_report(said)
    assert (seen["slurm.key"].digest, seen["slurm.key"].read) == ("aa", False)
    assert set(seen) <= {"slurm.key", "x"}
