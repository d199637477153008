"""A person's token: made by `slinky token` and by `scontrol token`, used as docs/tokens.md says, and kept out of jobs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import jwt
import pytest

from tests.e2e.gated import STACK, Gated
from tests.e2e.slurm import Slurm
from tests.stacks import ROOT

STANDS_ON = STACK
SLURMRESTD = "http://10.99.0.12:6820"


def token(gated: Gated, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`slinky token` for the stack."""
    return subprocess.run(
        [sys.executable, "-m", "slinky_iac", "token", "--stack", gated.stack.name, *arguments],
        cwd=gated.stack.folder,
        env={**gated.stack.environment("config"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def examples() -> list[str]:
    """The commands of docs/tokens.md below "Use it"."""
    page = (ROOT / "docs" / "tokens.md").read_text().partition("## Use it")[2]
    found = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in re.split(r"\n(?=curl)", block)]
    assert len(found) == 4, found
    return found


def test_a_token_of_alice_does_what_the_page_says(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    before = int(time.time())
    made = token(gated, "--user", "alice", "--lifespan", "10m")
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+\n", made.stdout), "the token and nothing else"
    assert made.stderr == ""
    claims = jwt.decode(made.stdout.strip(), options={"verify_signature": False})
    assert claims["sun"] == "alice"
    assert 600 <= claims["exp"] - before <= 660
    (tmp_path / ".slurm-token").write_text(f"X-SLURM-USER-TOKEN: {made.stdout}")
    answers = [
        subprocess.run(
            ["sh", "-c", command],
            env={"HOME": str(tmp_path), "SLURMRESTD": SLURMRESTD, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        for command in examples()
    ]
    assert [(each.returncode, json.loads(each.stdout)["errors"]) for each in answers] == [(0, [])] * 4, answers
    job = json.loads(answers[1].stdout)["job_id"]
    assert slurm.jobs()[job]["user_name"] == "alice"
    (row,) = slurm.await_completed(job)
    assert row.state == "COMPLETED"


def test_scontrol_token_serves_who_has_a_login(slurm: Slurm) -> None:
    said = slurm.user("scontrol", "token", "lifespan=60").strip()
    assert said.startswith("SLURM_JWT=")
    assert jwt.decode(said.partition("=")[2], options={"verify_signature": False})["sun"] == "alice"


@pytest.mark.parametrize("arguments", [("--user", "root"), ("--user", "slurm"), ("--user", "alice", "--lifespan", "2d")])
def test_no_token_where_none_is_allowed(gated: Gated, arguments: tuple[str, ...]) -> None:
    refused = token(gated, *arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "No token was made" in refused.stderr
