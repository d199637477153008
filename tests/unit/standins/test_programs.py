"""The host's children end within the grace, and know that they are asked to."""

import os
import signal
import subprocess
import sys

from lab.standins.programs import Programs

STUBBORN = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(60)"
POLITE = STUBBORN.replace("signal.SIG_IGN", "lambda *_: exit(7)")


def start(programs, code):
    return programs.start([sys.executable, "-c", code], cwd="/", env=os.environ, stdout=subprocess.PIPE)


def test_a_program_is_asked_by_sigint():
    programs = Programs(grace=30)
    process = start(programs, POLITE)
    process.stdout.readline()
    programs.stop(process)
    assert programs.wait(process) == 7


def test_a_program_that_ignores_sigint_is_killed_after_the_grace():
    programs = Programs(grace=0.2)
    process = start(programs, STUBBORN)
    process.stdout.readline()
    programs.stop_all()
    assert programs.wait(process) == -signal.SIGKILL


def test_stopping_what_has_ended_does_nothing():
    programs = Programs()
    process = start(programs, "pass")
    assert programs.wait(process) == 0
    programs.stop(process)
    programs.stop_all()
    assert process.returncode == 0


def test_a_program_is_in_the_hosts_process_group_which_the_engine_ends():
    programs = Programs()
    process = start(programs, "import os\nprint(os.getpgid(0))")
    out, _ = process.communicate()
    assert int(out) == os.getpgid(0)
    programs.wait(process)
