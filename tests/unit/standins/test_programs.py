"""The host's children end whole, within the grace."""

import os
import signal
import subprocess
import sys
import threading

from lab.standins import lifeline
from lab.standins.programs import Programs

STUBBORN = """
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
time.sleep(60)
"""


def start(programs, code):
    return programs.start([sys.executable, "-c", code], cwd="/", env=os.environ, stdout=subprocess.PIPE)


def ended(pid):
    gone = threading.Event()
    lifeline.watch_parent(pid, gone.set)
    return gone.wait(5)


def test_a_program_ends_on_sigterm_with_its_children():
    programs = Programs(grace=30)
    process = start(programs, "import subprocess\nprint(1, flush=True)\nsubprocess.run(['sleep', '60'])")
    process.stdout.readline()
    programs.stop(process)
    assert programs.wait(process) == -signal.SIGTERM


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_with_its_children():
    programs = Programs(grace=0.2)
    process = start(programs, STUBBORN)
    child = int(process.stdout.readline())
    programs.stop_all()
    assert programs.wait(process) == -signal.SIGKILL
    assert ended(child)


def test_stopping_what_has_ended_does_nothing():
    programs = Programs()
    process = start(programs, "pass")
    assert programs.wait(process) == 0
    programs.stop(process)
    programs.stop_all()
    assert process.returncode == 0


def test_a_program_leads_its_own_session_so_that_ctrl_c_does_not_reach_it():
    programs = Programs()
    process = start(programs, "import os\nprint(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())")
    out, _ = process.communicate()
    assert out == b"True True\n"
    programs.wait(process)
