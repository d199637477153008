"""Why something outside of this program failed, as a clause that needs no manual of Python: no class, no number of an error.

A caller says what it wanted before the clause, and after it what follows and what to do.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence


def of_command(argv: Sequence[str], error: OSError | subprocess.TimeoutExpired) -> str:
    """Of a program that was to run: ```ssh` isn't installed here, or isn't in PATH``."""
    named = f"`{argv[0]}`" if argv else "the command"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{named} didn't end within {error.timeout:g} s"
    if isinstance(error, FileNotFoundError):
        return f"{named} isn't installed here, or isn't in PATH"
    if isinstance(error, PermissionError):
        return f"{named} may not be run by this user"
    return f"{named} can't be run: {_of_system(error)}" if error.errno else f"{named}: {error}"


def of_file(error: OSError | UnicodeError) -> str:
    """Of a file that was to be read or written: ``permission denied``."""
    return "it isn't plain text" if isinstance(error, UnicodeError) else _of_system(error)


def of_connection(error: OSError | UnicodeError) -> str:
    """Of a connection that was to be made: ``connection refused``."""
    if isinstance(error, socket.gaierror):
        return "the name is not known here"
    if isinstance(error, UnicodeError):
        return "it isn't a host's name"
    return "no answer in time" if isinstance(error, TimeoutError) else _of_system(error)


def of_shape(error: Exception) -> str:
    """Of data that was read as something which it isn't: ``a field is missing``. Nothing of the data is quoted."""
    if isinstance(error, KeyError | IndexError):
        return "a field is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, OverflowError):
        return "a number is too large"
    return "a text isn't UTF-8" if isinstance(error, UnicodeError) else "a field has another type"


def of_page(body: bytes) -> str:
    """Of an answer that was to be JSON and is a page; empty where it is none. Nothing of it is quoted."""
    if body.lstrip()[:1] != b"<":
        return ""
    return (
        "it is a page, HTML or XML, as a proxy or a login gives it: look at $HTTPS_PROXY, $NO_PROXY and the server of"
        " `kubectl config view --minify`"
    )


def _of_system(error: OSError) -> str:
    return (error.strerror or "the system doesn't say why").lower()
