"""A registry of a site's own: it gives one image to those who have its user's password, and to no other.

It runs in a Kubernetes node, on loopback, where containerd asks a registry by plain HTTP; so the lab needs no certificate.
The image is one that the node has already under another name, so that no layer is carried. ``python -m
tests.faults.site_registry FOLDER`` is the registry.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from lab import images, paths, supervise
from lab.kubernetes import machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.kubernetes.layout import Node
from tests.oci_registry import digest_of

HOST: Final = "127.0.0.1:5080"
REPOSITORY: Final = "site/slurm"
IMAGE: Final = f"{HOST}/{REPOSITORY}:stable"
USER: Final = "site"
MANIFEST, CONFIG, PASSWORD, ASKED = "manifest.json", "config.json", "password", "asked"
"""Files of its folder: what it has, whom it lets in, and what was asked of it: `STATUS PATH` a line."""


@contextmanager
def running(node: Node, image: str, password: str, folder: Path) -> Iterator[None]:
    """The registry in a node, with an image that the node has."""
    folder.mkdir(parents=True)
    manifest = json.loads(_content(node, _digest(node, f"docker.io/{image}")))
    # Another id, else kubelet asks a registry for the image's other name, too: it is one that a Secret was needed for.
    config = json.dumps({**json.loads(_content(node, manifest["config"]["digest"])), "author": USER}).encode()
    manifest["config"] |= {"digest": digest_of(config), "size": len(config)}
    (folder / CONFIG).write_bytes(config)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    (folder / PASSWORD).touch(mode=0o600)
    (folder / PASSWORD).write_text(password)
    (folder / ASKED).touch()
    name = f"{node.name}-site-registry"
    argv = ["env", f"PYTHONPATH={paths.REPO}", sys.executable, "-m", "tests.faults.site_registry", str(folder)]
    supervise.start(name, machine.entered(KUBERNETES.home, node, argv), restarts=True)
    try:
        yield
    finally:
        supervise.stop(name)


def asked(folder: Path) -> list[tuple[int, str]]:
    """Status and path of each request so far."""
    rows = (line.partition(" ") for line in (folder / ASKED).read_text().splitlines())
    return [(int(status), path) for status, _, path in rows]


def pull_secret(name: str, namespace: str, password: str) -> dict[str, Any]:
    """What lets a kubelet in, as `kubectl create secret docker-registry` makes it."""
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    document = json.dumps({"auths": {HOST: {"username": USER, "password": password, "auth": auth}}})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": document},
    }


def _ctr(node: Node, *argv: str) -> bytes:
    address = ["--address", str(KUBERNETES.home.socket(node)), "--namespace", images.NAMESPACE]
    return subprocess.run(["ctr", *address, *argv], capture_output=True, check=True, timeout=120).stdout


def _digest(node: Node, image: str) -> str:
    row = _ctr(node, "images", "ls", f"name=={image}").decode().splitlines()[1]
    return next(word for word in row.split() if word.startswith("sha256:"))


def _content(node: Node, digest: str) -> bytes:
    return _ctr(node, "content", "get", digest)


def serve(folder: Path) -> None:
    """Be the registry until a signal ends it."""
    manifest, config = (folder / MANIFEST).read_bytes(), (folder / CONFIG).read_bytes()
    allowed = base64.b64encode(f"{USER}:{(folder / PASSWORD).read_text()}".encode()).decode()
    kind = json.loads(manifest)["mediaType"]
    has = {
        "/v2/": ("application/json", b"{}"),
        f"/v2/{REPOSITORY}/manifests/stable": (kind, manifest),
        f"/v2/{REPOSITORY}/manifests/{digest_of(manifest)}": (kind, manifest),
        f"/v2/{REPOSITORY}/blobs/{digest_of(config)}": ("application/octet-stream", config),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            content_type, content = has.get(path, ("text/plain", b""))
            let_in = self.headers.get("Authorization") == f"Basic {allowed}"
            status = 401 if not let_in else 200 if path in has else 404
            with (folder / ASKED).open("a") as file:
                file.write(f"{status} {path}\n")
            self.send_response(status)
            if status == 200:
                self.send_header("Content-Type", content_type)
                self.send_header("Docker-Content-Digest", digest_of(content))
            elif status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="site"')
            body = content if status == 200 else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    host, _, port = HOST.partition(":")
    ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
