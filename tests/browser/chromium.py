"""Debian's Chromium without a window: the page as the browser has it after layout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
DARK = "--blink-settings=preferredColorScheme=0"


def browse(folder: Path, file: Path, *arguments: str, width: int = 1180, height: int = 1600) -> str:
    """Open a file and do what ``arguments`` say (``--dump-dom``, ``--screenshot=…``); returns stdout."""
    program = shutil.which("chromium")
    assert program, "chromium is missing: `./lab/lab tools` installs it (Debian's package chromium)"
    profile = folder / "profile"
    done = subprocess.run(
        [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", *arguments, f"file://{file}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    shutil.rmtree(profile, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout
