"""The commands of the pages for the cluster's users, as alice types them on the login host."""

from __future__ import annotations

import re

import pytest

from tests.e2e.gated import STACK, Gated
from tests.e2e.slurm import Slurm
from tests.stacks import ROOT

STANDS_ON = STACK
SAMPLES = ROOT / "examples" / "jobs"


@pytest.fixture(autouse=True)
def none_left(gated: Gated) -> None:
    """Each test begins with a stack that the settings say."""
    gated.reset()


def commands(page: str, heading: str) -> list[str]:
    """Lines of the shell blocks of a page from a heading to the next."""
    section = (ROOT / "docs" / page).read_text().partition(heading)[2].partition("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]


def typed(slurm: Slurm, *lines: str) -> str:
    """Lines typed by alice in one shell; the first that fails ends it."""
    return slurm.user("sh", "-ec", "cd /tmp; HOME=/tmp; " + "\n".join(lines))


def test_what_the_page_of_the_login_says(slurm: Slurm) -> None:
    first, *lines = commands("login.md", "# Log in")
    assert first == "ssh alice@login.example.org"
    assert len(lines) == 8
    said = typed(slurm, *lines)
    for words in ("(alice)", "gpu-[0-2]", "metal-[1-2]", "MaxTime=", "research", "JOBID", "Submitted batch job"):
        assert words in said, said


def test_what_the_page_of_jobs_says_of_the_samples(slurm: Slurm) -> None:
    submit, queue, accounted, cat = commands("jobs.md", "## The samples")
    (name,) = re.findall(r"examples/jobs/(\w+)\.sh", submit)
    script = (SAMPLES / f"{name}.sh").read_text()
    slurm.user("sh", "-ec", 'mkdir -p /tmp/examples/jobs; printf %s "$1" > /tmp/examples/jobs/hello.sh', "sh", script)
    said = typed(slurm, submit, queue)
    (job,) = re.findall(r"Submitted batch job (\d+)", said)
    (row,) = slurm.await_completed(int(job))
    assert row.state == "COMPLETED"
    assert re.search(rf"^{job} .*COMPLETED", typed(slurm, accounted), re.MULTILINE)
    assert cat == "cat hello-*.out"


def test_what_the_page_of_tokens_says_of_a_token_that_no_job_inherits(slurm: Slurm) -> None:
    lines = commands("tokens.md", "## Keep it out of jobs")
    own = lines[: lines.index("umask 077", 1)]
    said = typed(slurm, *own, "stat -c %a ~/.slurm-token", "cut -d. -f1 ~/.slurm-token", "env")
    assert re.search(r"^600\nX-SLURM-USER-TOKEN: \w+$", said, re.MULTILINE), said
    assert "SLURM_JWT" not in said
    slurm.user("rm", "/tmp/.slurm-token")
