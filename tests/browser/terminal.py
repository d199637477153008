"""A terminal of tmux, and its screen as a page: what a person sees of a program that draws."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

SGR = re.compile(r"\x1b\[([0-9;]*)m")
COLOURS = ("#1c1f24", "#f2495c", "#73bf69", "#eab839", "#5794f2", "#b877d9", "#6ed0e0", "#d8d9da")
BRIGHT = ("#70757d", "#ff7383", "#96d98d", "#ffee52", "#8ab8ff", "#ca95e5", "#9be7f2", "#ffffff")
STYLE = (
    "body{margin:0;background:#14161a}pre{margin:0;padding:14px 16px;color:#d8d9da;"
    "font:14px/1.35 'DejaVu Sans Mono','Liberation Mono',monospace}"
)


class Terminal:
    """A tmux server of its own with one session, whose panes have this environment."""

    def __init__(self, folder: Path, *, width: int, height: int, cwd: Path, env: Mapping[str, str]) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self._cwd, self._env = cwd, {**env, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        size = ["-x", str(width), "-y", str(height)]
        self._run("new-session", "-d", "-s", "0", *size, "sh")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments], cwd=self._cwd, env=self._env, capture_output=True, text=True, check=False, timeout=30
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, line: str) -> None:
        """A line, as a person types it."""
        self._run("send-keys", "-t", "0", "-l", line)
        self._run("send-keys", "-t", "0", "Enter")

    def key(self, name: str) -> None:
        """One key, as tmux names it."""
        self._run("send-keys", "-t", "0", name)

    @property
    def text(self) -> str:
        """The screen."""
        return self._run("capture-pane", "-p", "-t", "0")

    @property
    def coloured(self) -> str:
        """The screen with its colours, as escape sequences."""
        return self._run("capture-pane", "-e", "-p", "-t", "0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run("kill-server")


def page(coloured: str) -> str:
    """A screen as HTML."""
    found: list[str] = []
    codes: list[int] = []
    for at, part in enumerate(SGR.split(coloured.rstrip("\n"))):
        if at % 2:
            new = [int(code or 0) for code in part.split(";")]
            codes = new if 0 in new else [*codes, *new]
        elif part:
            found.append(f'<span style="{_style(codes)}">{html.escape(part)}</span>')
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{''.join(found)}</pre>"


def _style(codes: list[int]) -> str:
    style: dict[str, str] = {}
    for code in codes:
        if code == 1:
            style["font-weight"] = "bold"
        elif code == 2:
            style["opacity"] = "0.65"
        elif 30 <= code <= 37:
            style["color"] = COLOURS[code - 30]
        elif 90 <= code <= 97:
            style["color"] = BRIGHT[code - 90]
        elif code in {0, 39}:
            style.clear()
    return ";".join(f"{key}:{value}" for key, value in style.items())
