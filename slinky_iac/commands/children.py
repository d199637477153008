"""Programs that are run for an answer (hosts by ``--via``, kubectl): what they print is others' text, of any length."""

from __future__ import annotations

import selectors
import subprocess
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import IO, Final

LIMIT: Final = 4 * 1024 * 1024
"""Bytes that one may print on either stream; the longest answer, ``scontrol show config`` with both keys, has 20 kB."""
_PIECE: Final = 65536


class TooMuchPrintedError(OSError):
    """A program printed more than any answer has."""


def run(
    argv: Sequence[str], *, timeout: float, env: Mapping[str, str], input: str = "", limit: int = LIMIT
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with ``input`` as its standard input; bytes that aren't text are replaced.

    Raises OSError where it can't be run, :class:`TooMuchPrintedError` where it prints too much, and TimeoutExpired; it is
    killed then.
    """
    ends = monotonic() + timeout
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, bufsize=0
    ) as child:
        try:
            out, err = _exchange(child, input.encode(), argv, ends, timeout, limit)
            code = child.wait(max(ends - monotonic(), 0.01))
        finally:
            if child.poll() is None:
                child.kill()
    return subprocess.CompletedProcess(argv, code, out.decode(errors="replace"), err.decode(errors="replace"))


def _exchange(
    child: subprocess.Popen[bytes], given: bytes, argv: Sequence[str], ends: float, timeout: float, limit: int
) -> tuple[bytearray, bytearray]:
    """Write what is given and read what is printed, side by side, until both streams have ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    rest = memoryview(given)
    printed: dict[IO[bytes], bytearray] = {child.stdout: bytearray(), child.stderr: bytearray()}
    with selectors.DefaultSelector() as waiting:
        for stream in printed:
            waiting.register(stream, selectors.EVENT_READ)
        waiting.register(child.stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            ready = waiting.select(max(ends - monotonic(), 0))
            if not ready:
                raise subprocess.TimeoutExpired(argv, timeout)
            for key, _ in ready:
                if key.fileobj is child.stdin:
                    rest = _written(child.stdin, rest)
                    if not rest:
                        waiting.unregister(child.stdin)
                        child.stdin.close()
                    continue
                stream = child.stdout if key.fileobj is child.stdout else child.stderr
                piece = stream.read(_PIECE)
                printed[stream] += piece
                if not piece:
                    waiting.unregister(stream)
                elif len(printed[stream]) > limit:
                    raise TooMuchPrintedError(f"it printed more than {limit} bytes")
    return printed[child.stdout], printed[child.stderr]


def _written(stream: IO[bytes], rest: memoryview) -> memoryview:
    """What is left to write. A pipe that is ready takes 512 bytes and more at once (POSIX, PIPE_BUF)."""
    try:
        return rest[stream.write(rest[:512]) :]
    except BrokenPipeError:  # it doesn't want to know
        return rest[:0]
