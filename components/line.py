"""The line of the program that makes a component, for what is wrong with its arguments."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent


def place_of_program() -> str:
    """The line of the program that makes the component, in parentheses; empty where only Pulumi's code does."""
    frame = sys._getframe(1)
    while frame is not None and Path(frame.f_code.co_filename).parent == _HERE:
        frame = frame.f_back  # type: ignore[assignment]
    file = "" if frame is None else frame.f_code.co_filename
    if not file or file.startswith("<") or f"{os.sep}pulumi{os.sep}" in file:
        return ""
    path = Path(file)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name
    return f" ({shown}:{frame.f_lineno})"
