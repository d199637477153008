"""What the lab's stand-ins of Pulumi's plugins leave out of the SDK at first."""

from __future__ import annotations

import subprocess
import sys

from lab import paths

PROGRAM = """
import sys
from lab.standins import automation_later
automation_later.begin()
import pulumi, pulumi.dynamic
assert "pulumi.automation._local_workspace" not in sys.modules
from pulumi.automation import LocalWorkspace
assert pulumi.automation.LocalWorkspace is LocalWorkspace
print(LocalWorkspace.__module__)
"""


def test_a_program_that_asks_for_the_automation_api_gets_it_and_others_do_not_read_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=paths.REPO, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "pulumi.automation._local_workspace\n"), done.stderr
