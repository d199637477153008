"""Debian's Chromium without a window: the page as the browser has it after layout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
CONTRAST = """const rgb = s => s.match(/[\\d.]+/g).slice(0, 3).map(Number);
const lum = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
"""
"""JavaScript: `rgb` of a colour, and `contrast` of two (WCAG 2)."""
DARK = "--blink-settings=preferredColorScheme=0"


def browse(
    folder: Path, file: Path, *arguments: str, width: int = 1180, height: int = 1600, scroll_bars: bool = False
) -> str:
    """Open a file and do what ``arguments`` say (``--dump-dom``, ``--screenshot=…``); returns stdout."""
    program = shutil.which("chromium")
    assert program, "chromium is missing: `./lab/lab tools` installs it (Debian's package chromium)"
    profile = folder / "profile"
    hidden = () if scroll_bars else ("--hide-scrollbars",)
    done = subprocess.run(
        [
            program,
            *FLAGS,
            *hidden,
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            *arguments,
            f"file://{file}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    shutil.rmtree(profile, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout
