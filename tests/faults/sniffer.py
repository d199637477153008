"""All TCP that passes the machine's interfaces while it listens: what somebody on the wire could read."""

from __future__ import annotations

import socket
import struct
import threading
from collections import defaultdict
from typing import Self

ETH_P_ALL = 3
IPV4, TCP = 0x0800, 6


class Sniffer:
    """Use as a context; :meth:`said` may be asked meanwhile and afterwards."""

    def __init__(self) -> None:
        self._by_port: dict[int, bytearray] = defaultdict(bytearray)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.settimeout(0.2)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join(5)
        self._socket.close()

    def said(self, port: int) -> bytes:
        """Everything that went to or came from a port, packet after packet."""
        return bytes(self._by_port[port])

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                frame = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        if len(frame) < 54 or struct.unpack_from("!H", frame, 12)[0] != IPV4 or frame[23] != TCP:
            return
        begin = 14 + (frame[14] & 15) * 4
        end = 14 + struct.unpack_from("!H", frame, 16)[0]
        ports = struct.unpack_from("!HH", frame, begin)
        payload = frame[begin + (frame[begin + 12] >> 4) * 4 : end]
        for port in ports:
            self._by_port[port] += payload
