"""A person at Debian's Chromium: keys and clicks by the DevTools protocol, and what stands on the page."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.browser.chromium import FLAGS
from tests.e2e.slurm import await_true
from tests.faults.websocket import WebSocket

SHIFT = 8


class Browser:
    """One window."""

    def __init__(self, folder: Path, width: int = 1180, height: int = 860) -> None:
        program = shutil.which("chromium")
        assert program, "chromium is missing: `./lab/lab tools` installs it (Debian's package chromium)"
        profile = folder / "profile"
        size = f"--window-size={width},{height}"
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", size, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        told = profile / "DevToolsActivePort"
        await_true("the browser listens", lambda: told.exists() and told.read_text().count("\n") == 1, 30)
        port = int(told.read_text().split()[0])
        pages = httpx.get(f"http://127.0.0.1:{port}/json/list", timeout=30).json()
        (page,) = [each["id"] for each in pages if each["type"] == "page"]
        self._socket = WebSocket("127.0.0.1", port, f"/devtools/page/{page}", {}, timeout=60)
        self._asked = 0
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": parameters}))
        while True:
            heard = json.loads(self._socket.receive())
            if heard.get("id") == self._asked:
                assert "error" not in heard, f"{method}: {heard['error']}"
                found: dict[str, Any] = heard["result"]
                return found

    def value(self, script: str) -> Any:
        """What an expression is in the page; None where it fails."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def open(self, address: str) -> None:
        """Go to an address."""
        self.ask("Page.navigate", url=address)

    def await_there(self, selector: str, timeout: float = 120) -> None:
        """Wait until something matches."""
        await_true(f"{selector} is on the page", lambda: self.value(f"!!document.querySelector({selector!r})"), timeout)

    def text(self, selector: str) -> list[str]:
        """The text of all that matches."""
        found: list[str] = self.value(f"[...document.querySelectorAll({selector!r})].map(each => each.innerText)")
        return found

    def click(self, selector: str) -> None:
        """Click on the middle of the last that matches, once it is there."""
        self.await_there(selector)
        box = f"[...document.querySelectorAll({selector!r})].at(-1).getBoundingClientRect()"
        x, y = self.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.ask("Input.insertText", text=text)

    def enter(self, modifiers: int = 0) -> None:
        """The key Enter."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r", "modifiers": modifiers}
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, **key)

    def picture(self, file: Path, height: int) -> None:
        """The upper part of the window as it is."""
        width = self.value("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", clip=clip)["data"]))
