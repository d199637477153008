"""A registry of Helm charts on loopback: the GETs of the OCI distribution protocol, over plain HTTP.

Helm 3 asks by TLS first, and again in plain text where the answer isn't TLS (pkg/registry/fallback.go): so does anything
between Helm and a registry get its way, and so can a test without certificates.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import yaml

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
LAYER: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TLS_HANDSHAKE: Final = 0x16


def archive(name: str, version: str, templates: Mapping[str, str]) -> bytes:
    """A packed chart; the same bytes for the same content."""
    meta = {"apiVersion": "v2", "name": name, "version": version}
    texts = {"Chart.yaml": yaml.safe_dump(meta), **{f"templates/{file}": text for file, text in templates.items()}}
    return _packed(name, {file: text.encode() for file, text in texts.items()})


def of_folder(folder: Path, **changed: str) -> bytes:
    """A chart's folder, packed. ``changed``: a text and its replacement."""
    files = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    for old, new in changed.items():
        files = {name: content.replace(old.encode(), new.encode()) for name, content in files.items()}
    return _packed(folder.name, files)


def _packed(name: str, files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for file, content in files.items():
            entry = tarfile.TarInfo(f"{name}/{file}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Registry:
    """What it has, and what was asked of it."""

    address: str
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    """By ``name:tag`` and ``name@digest``."""
    asked: list[str] = field(default_factory=list)

    @property
    def charts(self) -> str:
        """What `operator.chart.oci` is to be."""
        return f"oci://{self.address}/charts"

    def push(self, name: str, version: str, packed: bytes) -> str:
        """Take a chart in under a tag, whatever was there, and give the digest by which Helm knows it."""
        config = json.dumps({"name": name, "version": version}).encode()
        parts = [(CONFIG, config), (LAYER, packed)]
        config_of, layer = ({"mediaType": kind, "digest": digest_of(each), "size": len(each)} for kind, each in parts)
        self.blobs |= {digest_of(each): each for _, each in parts}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config_of, "layers": [layer]}
        raw = json.dumps(manifest).encode()
        self.manifests |= {f"charts/{name}:{version}": raw, f"charts/{name}@{digest_of(raw)}": raw}
        return digest_of(raw)

    def found(self, path: str) -> tuple[str, bytes] | None:
        """Media type and bytes behind a path."""
        name, _, reference = path.removeprefix("/v2/").rpartition("/")
        name, _, kind = name.rpartition("/")
        if kind == "blobs":
            blob = self.blobs.get(reference)
            return None if blob is None else ("application/octet-stream", blob)
        manifest = self.manifests.get(f"{name}{'@' if ':' in reference else ':'}{reference}")
        return None if manifest is None else (MANIFEST, manifest)


@contextmanager
def serving() -> Iterator[Registry]:
    """The registry, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        raw_requestline: bytes

        def parse_request(self) -> bool:
            if self.raw_requestline[0] == TLS_HANDSHAKE:
                self.wfile.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                self.close_connection = True
                return False
            return super().parse_request()

        def do_GET(self) -> None:
            registry.asked.append(self.path)
            found = registry.found(self.path)
            kind, content = found or ("text/plain", b"")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if found:
                self.send_header("Docker-Content-Digest", digest_of(content))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry = Registry(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
