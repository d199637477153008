"""Death of the engine or the parent is noticed, and nothing else is taken for it."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lab.standins import lifeline

ROOT = Path(lifeline.__file__).resolve().parents[2]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address(server):
    return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["127.0.0.1:1"], "127.0.0.1:1"),
        (["--tracing", "x", "-v=3", "127.0.0.1:1"], "127.0.0.1:1"),
        (["127.0.0.1:1", "--logtostderr"], "127.0.0.1:1"),
        (["--logtostderr"], ""),
        ([], ""),
    ],
)
def test_the_engine_s_address_is_the_last_argument_that_is_no_flag(argv, expected):
    assert lifeline.engine_address(argv) == expected


def test_a_listening_engine_is_alive_and_a_closed_one_is_gone(listener):
    gone = threading.Event()
    lifeline.watch_engine(address(listener), gone.set, period=0.01)
    accepted, _ = listener.accept()
    accepted.close()
    assert not gone.is_set()
    listener.close()
    assert gone.wait(5)


def test_an_engine_too_busy_to_accept_is_not_gone(listener):
    """A full accept queue makes connections hang or fail, but nothing refuses them."""
    assert not lifeline.refuses(address(listener))


def test_the_end_of_the_parent_is_noticed():
    gone = threading.Event()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        lifeline.watch_parent(parent.pid, gone.set)
        assert not gone.is_set()
        parent.communicate(b"\n")
        assert gone.wait(5)


def test_a_parent_that_was_gone_before_is_noticed():
    with subprocess.Popen([sys.executable, "-c", ""]) as parent:
        parent.wait()
    gone = threading.Event()
    lifeline.watch_parent(parent.pid, gone.set)
    assert gone.wait(5)


def test_leaving_ends_the_whole_group_and_one_that_ignores_sigterm():
    code = (
        "import os, signal, subprocess, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from lab.standins.lifeline import leave\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '60'], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))\n"
        "print(child.pid, flush=True)\n"
        "leave(0.1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as leader:
        child = int(leader.stdout.readline())
        assert leader.wait(10) == -signal.SIGKILL
        gone = threading.Event()
        lifeline.watch_parent(child, gone.set)
        assert gone.wait(5)
    assert os.getpid() != leader.pid
