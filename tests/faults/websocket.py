"""As much of a WebSocket's client as Jupyter's kernels and terminals need (RFC 6455): texts, in frames of any size."""

from __future__ import annotations

import base64
import os
import socket
import struct
from types import TracebackType
from typing import Self

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA


class WebSocket:
    """One connection. Every wait ends with TimeoutError after ``timeout`` seconds."""

    def __init__(self, host: str, port: int, path: str, headers: dict[str, str], timeout: float = 30) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout)
        self._stream = self._socket.makefile("rb")
        asked = {
            "Host": f"{host}:{port}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **headers,
        }  # fmt: skip
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items()), "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        status = self._stream.readline().decode().strip()
        while self._stream.readline() not in (b"\r\n", b""):
            pass
        if " 101 " not in f"{status} ":
            self.close()
            raise ConnectionError(f"no WebSocket at {path}: {status}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
        self._socket.close()

    def send(self, text: str) -> None:
        """Send one text."""
        self._frame(TEXT, text.encode())

    def receive(self) -> str:
        """The next text. Raises ConnectionError where the other side has ended."""
        whole = b""
        while True:
            head, second = self._exactly(2)
            size = second & 0x7F
            if size > 125:
                (size,) = struct.unpack("!H" if size == 126 else "!Q", self._exactly(2 if size == 126 else 8))
            content, kind = self._exactly(size), head & 0x0F
            if kind == CLOSE:
                raise ConnectionError(f"the other side closed: {content[2:].decode()}")
            if kind == PING:
                self._frame(PONG, content)
            elif kind != PONG:
                whole += content
                if head & 0x80:
                    return whole.decode()

    def _frame(self, kind: int, content: bytes) -> None:
        size, mask = len(content), os.urandom(4)
        length = struct.pack("!B", 0x80 | size) if size < 126 else struct.pack("!BH", 0xFE, size)
        if size > 0xFFFF:
            length = struct.pack("!BQ", 0xFF, size)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
        self._socket.sendall(bytes([0x80 | kind]) + length + mask + masked)

    def _exactly(self, count: int) -> bytes:
        read = self._stream.read(count)
        if len(read) < count:
            raise ConnectionError("the other side ended in the middle of a message")
        return read
