"""Each key's way from the configuration to its Secret, on the real engine with a real API server, and each way in which it
can fail: what is left on the disk and on the screen afterwards holds no key.

The program is the project's own, with every secret that it makes a Secret of: both daemons' keys and their next ones, the
token key, the password of the database and sssd.conf. Its kubeconfig has a credential plugin, which writes down what it is
started with: by the engine's plugin, and by our own code.
The walk from the Secret to pods and daemons is tests/e2e/test_leaks.py.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.charts import crd_dir
from tests.integration import leaks
from tests.integration.engine import PASSPHRASE, Engine, Project, create_project, eventually, processes_of
from tests.integration.kube_api import TOKEN, KubeApi, write_kubeconfig
from tests.raw_keys import raw_key, text_key
from tests.stacks import ROOT, outside

BIND = text_key("bind", 24)
SSSD = b"[sssd]\ndomains = x\n[domain/x]\nid_provider = ldap\nldap_uri = ldaps://ldap.example.org\nldap_default_authtok = "
PEM = rsa.generate_private_key(65537, 2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)
KEYS = {name: raw_key(name, 64) for name in ("slurmKey", "jwtKey", "slurmKeyNext", "jwtKeyNext")}
TEXTS = {"databasePassword": text_key("database", 24), "sssdConf": SSSD + BIND, "tokenKey": PEM.strip()}
"""Secrets that are set as they are; keys are set as base64."""
LOOKED_FOR = {**KEYS, **TEXTS, "sssdConf": BIND, "tokenKey": PEM.splitlines()[5]}
"""A part of a text is what mustn't be found: of sssd.conf its password, of a PEM a line of the key."""
PLACES = {
    "slurmKey": ("slurm-auth-slurm", "slurm.key"),
    "jwtKey": ("slurm-auth-jwths256", "jwt_hs256.key"),
    "databasePassword": ("slurm-database", "password"),
    "sssdConf": ("slurm-sssd", "sssd.conf"),
    "tokenKey": ("slurm-token-key", "token.pem"),
}
"""The Secrets that the program makes of them, and their entries."""
PROGRAM = """
    from components.program import hybrid_cluster

    hybrid_cluster()
"""
CREDENTIAL = """\
#!/bin/sh
parent=$(tr '\\0' ' ' < /proc/$PPID/cmdline)
{ printf '%s\\n' "$parent"; env; } > "$TOLD/env.$$"
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$WALK_TOKEN"
"""


@dataclass(frozen=True)
class Walk:
    """A stack with both keys set, and a folder of all that was said."""

    project: Project
    told: Path
    temporary: Path

    def run(self, name: str, *words: str, ok: bool | None = True) -> str:
        """Run pulumi and keep what it says; ``ok`` None: either end is right."""
        done = self.project.run(*words, ok=bool(ok), env=self.env)
        assert ok is not False or done.returncode != 0, f"{name} was to fail"
        said = done.stdout + done.stderr
        (self.told / f"{name}.txt").write_text(said)
        return said

    @property
    def env(self) -> dict[str, str]:
        own = {"TOLD": str(self.told), "WALK_TOKEN": TOKEN, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)}
        return own | {"PYTHONDONTWRITEBYTECODE": "1"}

    def leaked(self, *, but: Collection[str] = ()) -> list[str]:
        """Places that hold a key, but for its Secret: folders of the backend, the engine's home, the project, temporary
        files, and all that was said."""
        engine = self.project.engine
        folders = [self.told, engine.backend, engine.home, self.project.folder]
        folders += [self.temporary] if any(self.temporary.rglob("*")) else []
        return [
            f"{name}: {place}" for name, key in LOOKED_FOR.items() if name not in but for place in leaks.find(key, *folders)
        ]


def slinky(walk: Walk, *words: str, code: int, **env: str) -> str:
    """Run a command of this program on the stack."""
    done = subprocess.run(
        [sys.executable, "-m", "slinky_iac", *words],
        cwd=walk.project.folder,
        env={**walk.project.engine.env, **walk.env, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    (walk.told / f"slinky-{words[0]}.txt").write_text(said)
    assert done.returncode == code, said
    return said


def settings(kubeconfig: Path, **keys_too: bool) -> dict[str, Any]:
    cluster = {"name": "lab", "createNamespace": False, "fence": False}
    keys = {"source": "imported", "protect": False, "tokens": "rs256", "jwks": True} | keys_too
    return outside(
        keys=keys,
        cluster=cluster,
        kubernetes={"kubeconfig": str(kubeconfig)},
        operator={"install": False, "version": "1.1.0"},
        accounting={"database": {"host": "mariadb"}},
        identity={"sssd": {}},
        nodesets={},
    )


@pytest.fixture
def walk(engine: Engine, tmp_path: Path) -> Walk:
    project = create_project(engine, tmp_path / "project", "slinky-iac")
    told, temporary = tmp_path / "told", tmp_path / "temporary"
    told.mkdir()
    temporary.mkdir()
    (tmp_path / "credential").write_text(CREDENTIAL)
    (tmp_path / "credential").chmod(0o755)
    project.write(main=PROGRAM)
    for name, raw in {**{name: base64.b64encode(raw) for name, raw in KEYS.items()}, **TEXTS}.items():
        project.run("config", "set", "--secret", name, stdin=raw.decode())
    made = Walk(project, told, temporary)
    configure(made, "https://127.0.0.1:1")
    return made


def configure(walk: Walk, server: str, *, tls: bool = True, **keys: bool) -> None:
    """The stack's settings, with a kubeconfig of this server and the credential plugin."""
    folder = walk.told.parent
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(folder / "credential")}
    cluster = {"server": server} | ({"insecure-skip-tls-verify": True} if tls else {})
    write_kubeconfig(folder / "kubeconfig", cluster, {"exec": {**plugin, "interactiveMode": "Never"}})
    file = walk.project.folder / "Pulumi.test.yaml"
    kept = yaml.safe_load(file.read_text())
    secret = {k: v for k, v in kept["config"].items() if isinstance(v, dict) and "secure" in v}
    own = {f"slinky-iac:{name}": value for name, value in settings(folder / "kubeconfig", **keys).items()}
    file.write_text(yaml.safe_dump({**kept, "config": {**own, **secret}}))


@pytest.fixture(scope="module")
def api(kube: KubeApi) -> Iterator[KubeApi]:
    kube.kubectl("create", "namespace", "slurm")
    kube.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0")))
    kube.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    yield kube
    kube.kubectl("delete", "namespace", "slurm", "--wait=false")


def server_of(kube: KubeApi) -> str:
    return str(json.loads(kube.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])


class Between:
    """A server between the engine and the real API server, which answers a write of a Secret as it likes."""

    def __init__(self, kube: KubeApi) -> None:
        self.evil = ""
        self.writes = 0
        self.errors: list[str] = []
        self.over = threading.Event()
        server, outer = server_of(kube).removeprefix("https://"), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def whatever(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                if self.command in {"POST", "PATCH", "PUT"} and "/secrets" in self.path and outer.evil:
                    outer.writes += 1
                    outer.answer(self, body)
                    return
                kept = {name: self.headers[name] for name in ("accept", "content-type") if name in self.headers}
                there = HTTPSConnection(server, timeout=60, context=ssl._create_unverified_context())
                with closing(there):
                    there.request(self.command, self.path, body, {**kept, "authorization": f"Bearer {TOKEN}"})
                    done = there.getresponse()
                    self.give(done.status, done.headers.get("content-type", ""), done.read())

            def give(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = whatever

            def log_message(self, *arguments: object) -> None:
                """Nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Killed engines are the point; what else went wrong is the test's fault."""
                outer.errors.append(repr(sys.exception()))

        self.handler = Handler
        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def answer(self, request: Any, body: bytes) -> None:
        """What a hostile or a broken server says to a Secret with a key in it."""
        said = body.decode("utf-8", "replace")
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": said,
            "reason": "Forbidden",
            "code": 403,
        }
        match self.evil:
            case "an error that repeats the request":
                request.give(403, "application/json", json.dumps(status).encode())
            case "a page that repeats the request":
                request.give(500, "text/html", f"<html>{said}</html>".encode())
            case "an object that is cut off":
                request.give(201, "application/json", body[: len(body) // 2])
            case "the end of the connection":
                request.close_connection = True
            case _:
                self.over.wait(300)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)


@pytest.fixture
def between(api: KubeApi, walk: Walk) -> Iterator[Between]:
    made = Between(api)
    configure(walk, made.url, tls=False, jwks=False)
    yield made
    made.close()


def test_a_stack_s_life_leaves_no_key_but_in_its_secret(walk: Walk, api: KubeApi) -> None:
    configure(walk, server_of(api))
    folder = walk.project.folder
    walk.run("preview", "preview", "--diff")
    walk.run("preview-json", "preview", "--json", "--save-plan", str(folder / "update-plan.json"))
    walk.run("up", "up", "--yes", "--plan", str(folder / "update-plan.json"), "--diff")
    for name, (secret, entry) in PLACES.items():
        held = json.loads(api.kubectl("get", "secret", "-n", "slurm", secret, "-o", "json"))["data"]
        assert base64.b64decode(held[entry]) == {**KEYS, **TEXTS}[name], f"{name} did arrive"
    for name, *words in (
        ("export", "stack", "export"),
        ("history", "stack", "history", "--json", "--full-dates"),
        ("config", "config", "--json"),
        ("outputs", "stack", "output", "--json"),
        ("refresh", "refresh", "--yes", "--diff"),
    ):
        walk.run(name, *words)
    (folder / "preview.json").write_text(walk.run("preview-events", "preview", "--json"))
    (folder / "pages").mkdir()
    slinky(walk, "plan", "preview.json", "--folder", "pages", code=0)
    assert {page.suffix for page in (folder / "pages").iterdir()} >= {".md", ".html", ".json", ".txt"}
    slinky(walk, "verify-state", code=0)
    assert walk.leaked() == []


def test_only_a_kubeconfig_that_a_setting_names_is_copied_by_its_provider(walk: Walk, api: KubeApi) -> None:
    """pulumi-kubernetes writes the kubeconfig of its input to a temporary file of its owner, for Helm, and leaves it."""
    configure(walk, server_of(api))
    walk.run("preview", "preview")
    copies = [file for file in walk.temporary.rglob("*") if file.is_file() and b"127.0.0.1" in file.read_bytes()]
    assert copies, "docs/security.md says that copies stay: mend it where they don't"
    assert {file.stat().st_mode & 0o777 for file in copies} == {0o600}
    assert all(file.name.startswith("kubeconfig") for file in copies)
    for file in copies:
        file.unlink()

    stack = walk.project.folder / "Pulumi.test.yaml"
    kept = yaml.safe_load(stack.read_text())
    del kept["config"]["slinky-iac:kubernetes"]
    stack.write_text(yaml.safe_dump(kept))
    done = walk.project.run("preview", env={**walk.env, "KUBECONFIG": str(walk.told.parent / "kubeconfig")})
    assert "to create" in done.stdout
    assert [file for file in walk.temporary.rglob("*") if file.is_file() and b"127.0.0.1" in file.read_bytes()] == []


EVIL = (
    "an error that repeats the request",
    "a page that repeats the request",
    "an object that is cut off",
    "the end of the connection",
)


@pytest.mark.parametrize("evil", EVIL)
def test_a_hostile_answer_to_a_key_s_secret_shows_no_key(walk: Walk, between: Between, evil: str) -> None:
    """What the answer repeats is the Secret's data: it must not get to the screen, the history or the state. pulumi masks
    what stands there as in the stack's secret: keys, which are base64 in both. Of the others it shows what such a server
    repeats (docs/security.md)."""
    between.evil = evil
    walk.run("up", "up", "--yes", "--skip-preview", ok=False)
    assert between.writes, between.errors
    walk.run("export", "stack", "export")
    walk.run("history", "stack", "history", "--json")
    assert walk.leaked(but=TEXTS) == []
    others = {place.split(": ")[1] for place in walk.leaked()}
    assert others <= {str(walk.told / "up.txt")}, "no file has them but what was shown"


def test_a_sigkill_while_a_key_s_secret_is_written_leaves_no_key(walk: Walk, between: Between) -> None:
    between.evil = "nothing at all"
    running = walk.project.engine.spawn("up", "--yes", "--skip-preview", cwd=walk.project.folder, env=walk.env)
    eventually("a Secret is being written", lambda: between.writes >= 1)
    children = {pid: Path(f"/proc/{pid}/environ").read_bytes() for pid in processes_of(walk.project.engine)}
    running.kill()
    for pid in children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    (walk.told / "killed.txt").write_text(running.output)
    assert walk.leaked() == []
    for pid, environment in children.items():
        (walk.told / f"environ.{pid}").write_bytes(environment)
    holders = {place.split(": ")[1].rpartition(".")[2] for place in walk.leaked()}
    assert holders <= {str(pid) for pid, env in children.items() if b"PULUMI_CONFIG=" in env}, (
        "the engine's way to the program"
    )


def test_what_this_program_starts_gets_no_passphrase(walk: Walk, api: KubeApi) -> None:
    """The engine's own plugins have its environment; ours don't hand it on."""
    configure(walk, server_of(api))
    walk.run("preview", "preview")
    started = [file.read_text() for file in walk.told.glob("env.*")]
    ours = [text for text in started if "resource-kubernetes" not in text.splitlines()[0]]
    assert ours, "the program asked the API server"
    assert [text.splitlines()[0] for text in ours if PASSPHRASE in text or "PULUMI_CONFIG" in text] == []


def test_a_wrong_passphrase_writes_no_hand_off(walk: Walk) -> None:
    said = slinky(walk, "handoff", "--out", "hand", code=1, PULUMI_CONFIG_PASSPHRASE="another one")
    assert "incorrect passphrase" in said
    assert not (walk.project.folder / "hand").exists()
    assert walk.leaked() == []


def test_a_verbose_log_may_hold_keys_and_nothing_beside_it_does(walk: Walk, api: KubeApi) -> None:
    """docs/operations.md warns of -v=9 and --tracing: they write the log and the trace alone; plan files and state stay
    encrypted."""
    configure(walk, server_of(api))
    folder = walk.project.folder
    words = ("--logtostderr", "--logflow", "-v=9", "--tracing", f"file:{walk.told / 'verbose-trace'}")
    walk.run("verbose-preview", "preview", "--save-plan", str(folder / "update-plan.json"), *words)
    walk.run("verbose-up", "up", "--yes", "--plan", str(folder / "update-plan.json"), *words)
    walk.run("verbose-refresh", "refresh", "--yes", *words)
    assert (folder / "update-plan.json").stat().st_size > 0
    walk.run("export", "stack", "export")
    assert beside_verbose_logs(walk) == set()

    running = walk.project.engine.spawn("destroy", "--yes", "--skip-preview", *words, cwd=folder, env=walk.env)
    eventually("the destroy is over", lambda: collected(api) == [] and running.process.poll() is not None, 180)
    (walk.told / "verbose-destroy.txt").write_text(running.output)
    assert running.wait() == 0, running.output[-2000:]
    assert api.kubectl("get", "secrets", "-n", "slurm", "-o", "name") == ""
    walk.run("history-after", "stack", "history", "--json")
    walk.run("export-after", "stack", "export")
    assert beside_verbose_logs(walk) == set()


def test_a_sigkill_under_a_verbose_log_leaves_keys_in_that_log_at_most(walk: Walk, between: Between) -> None:
    between.evil = "nothing at all"
    words = ("up", "--yes", "--skip-preview", "--logtostderr", "--logflow", "-v=9")
    running = walk.project.engine.spawn(*words, cwd=walk.project.folder, env=walk.env)
    eventually("a Secret is being written", lambda: between.writes >= 1)
    children = processes_of(walk.project.engine)
    running.kill()
    for pid in children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    (walk.told / "verbose-killed.txt").write_text(running.output)
    assert beside_verbose_logs(walk) == set()


def beside_verbose_logs(walk: Walk) -> set[str]:
    """Places that hold a key and aren't the log that -v=9 writes."""
    holders = {place.split(": ")[1] for place in walk.leaked()}
    return {place for place in holders if not Path(place).name.startswith("verbose-")}


def collected(api: KubeApi) -> list[str]:
    """Objects that are being deleted. An API server alone keeps each until its garbage collector, here this function, has
    taken the finalizer away."""
    kinds = "secrets,configmaps,controllers,accountings,restapis"
    found = json.loads(api.kubectl("get", kinds, "-n", "slurm", "-o", "json"))["items"]
    going = [f"{each['kind']}/{each['metadata']['name']}" for each in found if "deletionTimestamp" in each["metadata"]]
    for name in going:
        change = json.dumps({"metadata": {"finalizers": None}})
        api.kubectl("patch", name, "-n", "slurm", "--type=merge", "-p", change)
    return going
