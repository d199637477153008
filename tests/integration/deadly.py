"""A server between a stack and a real API server: it kills the engine, with all that it has started, right after the API
server has done a write, so that the state has no record of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import threading
from contextlib import closing, suppress
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from tests.integration.engine import Project, Running, processes_of
from tests.integration.kube_api import TOKEN, KubeApi, write_kubeconfig

WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Deadly:
    """It serves on loopback while it is entered."""

    def __init__(self, api: KubeApi, project: Project, *kinds: str) -> None:
        """``kinds``: in the API's plural; none: all."""
        self.kinds = kinds
        self.project = project
        self.run: Running | None = None
        self.killed_at: list[str] = []
        """The kinds after whose first write it has killed."""
        self._lock = threading.Lock()
        self._open: list[HTTPSConnection] = []
        self._server = json.loads(api.kubeconfig.read_text())["clusters"][0]["cluster"]["server"].removeprefix("https://")

    def kubeconfig(self, file: Path) -> str:
        """Path of a kubeconfig that leads here. Who comes this way is the API server's administrator."""
        write_kubeconfig(file, {"server": f"http://127.0.0.1:{self._http.server_address[1]}"}, {})
        return str(file)

    def settle(self) -> None:
        """Wait until all that was to be killed is."""
        with self._lock:
            pass

    def kills(self, method: str, path: str) -> bool:
        """Whether the run ends here: at the first write of each kind."""
        parts = urlsplit(path)
        names = [word for word in parts.path.split("/")[3 if parts.path.startswith("/api/") else 4 :] if word]
        kind = names[2] if names[:1] == ["namespaces"] and len(names) > 2 else names[0] if names else ""
        with self._lock:
            passes = kind in self.killed_at or kind not in (self.kinds or (kind,))
            if passes or method not in WRITES or "dryRun" in parse_qs(parts.query) or self.run is None:
                return False
            self.killed_at.append(kind)
            self.run.kill()
            for pid in processes_of(self.project.engine):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.run = None
            return True

    def __enter__(self) -> Deadly:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                kept = {name: self.headers[name] for name in ("accept", "content-type") if name in self.headers}
                there = HTTPSConnection(outer._server, timeout=120, context=ssl._create_unverified_context())
                outer._open.append(there)
                with closing(there):
                    there.request(self.command, self.path, body, {**kept, "authorization": f"Bearer {TOKEN}"})
                    done = there.getresponse()
                    if done.status < 300 and outer.kills(self.command, self.path):
                        return
                    self.send_response(done.status)
                    self.send_header("content-type", done.headers.get("content-type", ""))
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                    while block := done.read1(1 << 16):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
                    self.wfile.write(b"0\r\n\r\n")

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

            def log_message(self, *arguments: object) -> None:
                """Nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Those who asked are killed: that is the point."""

        self._http = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        for each in self._open:  # the API server doesn't end while a watch is open
            if each.sock is not None:
                each.sock.shutdown(socket.SHUT_RDWR)
