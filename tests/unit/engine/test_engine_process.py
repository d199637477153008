"""One process is known as the engine, by what the kernel says of it, and nothing else is taken for it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from slinky_iac.engine import engine_process
from slinky_iac.engine.engine_process import EngineProcess, address_in, found

LISTEN = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"
LOOK = "import sys; from slinky_iac.engine.engine_process import found; print(found(sys.argv[1]))"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def address(of: socket.socket) -> str:
    return f"127.0.0.1:{of.getsockname()[1]}"


def started(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - as the kernel's manual has it
        return file.read().rpartition(")")[2].split()[19]


def look(at: str, *shell: str) -> str:
    """What a grandchild of this process finds, with a shell between."""
    argv = ["/bin/sh", "-c", f'{" ".join(shell)} "$@"\n:', "sh", sys.executable, "-c", LOOK, at]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_the_engine_is_the_ancestor_that_listens_there(listening: socket.socket) -> None:
    assert look(address(listening)) == str(EngineProcess(os.getpid(), started(os.getpid())))


def test_a_process_that_is_no_ancestor_is_not_the_engine() -> None:
    code = f"{LISTEN}; input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert look(f"127.0.0.1:{int(other.stdout.readline())}") == "None"
        other.communicate("\n")


def test_where_nobody_listens_there_is_no_engine(listening: socket.socket) -> None:
    at = address(listening)
    listening.close()
    assert look(at) == "None"
    assert found("127.0.0.1:0") is None
    assert found("") is None


def test_a_process_lives_until_it_ends_and_its_number_alone_says_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        engine = EngineProcess(child.pid, started(child.pid))
        assert engine.lives()
        assert not EngineProcess(child.pid, "1").lives(), "the kernel has given the number to a later process"
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not engine.lives(), "ended, and not yet waited for"
    assert not engine.lives()


def test_a_call_is_the_engines_by_both_of_its_ports(listening: socket.socket) -> None:
    """This process is engine and plugin at once."""
    engine = EngineProcess(os.getpid(), started(os.getpid()))
    with socket.create_connection(listening.getsockname()) as ours, listening.accept()[0]:
        port = ours.getsockname()[1]
        assert engine.calls_from(f"ipv4:127.0.0.1:{port}")
        assert not EngineProcess(os.getppid(), started(os.getppid())).calls_from(f"ipv4:127.0.0.1:{port}")
        assert not EngineProcess(os.getpid(), "1").calls_from(f"ipv4:127.0.0.1:{port}")
    assert not engine.calls_from(f"ipv4:127.0.0.1:{port}"), "the connection is over"


def test_a_connection_to_elsewhere_is_not_a_call_to_here() -> None:
    code = f"{LISTEN}; s.accept(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        with socket.create_connection(("127.0.0.1", int(other.stdout.readline()))) as ours:
            engine = EngineProcess(os.getpid(), started(os.getpid()))
            assert not engine.calls_from(f"ipv4:127.0.0.1:{ours.getsockname()[1]}")
        other.communicate("\n")


@pytest.mark.parametrize(
    "peer", ["", "unix:", "unix:/tmp/x", "ipv4:127.0.0.1:", "ipv4:10.0.0.1:80", "ipv6:%5B::1%5D:80", "x"]
)
def test_what_is_no_address_of_this_machine_is_not_the_engine(peer: str) -> None:
    assert not EngineProcess(os.getpid(), started(os.getpid())).calls_from(peer)


def test_the_tests_run_where_the_kernel_says_who_calls() -> None:
    assert engine_process.KNOWN


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["127.0.0.1:4000"], "127.0.0.1:4000"),
        (["--logtostderr", "-v=9", "127.0.0.1:4000"], "127.0.0.1:4000"),
        (["--tracing", "http://127.0.0.1:9411/api", "127.0.0.1:4000"], "127.0.0.1:4000"),
        (["--tracing", "127.0.0.1:9411", "127.0.0.1:4000"], "127.0.0.1:4000"),
        (["127.0.0.1:4000", "--tracing=x"], "127.0.0.1:4000"),
        (["--tracing"], ""),
        ([], ""),
    ],
)
def test_the_engine_is_the_last_address_among_the_arguments(arguments: list[str], address: str) -> None:
    """`pulumi up -v=9 --logtostderr` starts each plugin with its flags; tests/integration/test_key_walk.py runs it so."""
    assert address_in(arguments) == address
