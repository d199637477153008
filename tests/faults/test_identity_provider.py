"""An identity provider's tokens at slurmrestd: refused before its keys are declared, taken after, and after a rotation."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest

from lab import slurm as outside
from lab.demo import nodeset_lines
from lab.slurm import cluster, site
from slinky_iac.parts.tokens.rsa import TokenKey, generate, parse
from tests.e2e.rotating import Rotated, accepted
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.test_token_key_rotation import handed_over, lab_is_plain, settings, token_key

KID = "realm-key-1"
REST = f"http://{site.LAB.network.address(12)}:6820/slurm/v0.0.44"


class Provider:
    """A provider as small as one can be: discovery, keys, and tokens for whom it knows."""

    def __init__(self) -> None:
        self.key: TokenKey = parse("provider", generate())

    def jwks(self) -> dict[str, Any]:
        """As Keycloak has it: a key that encrypts beside the one that signs."""
        signs = dict(self.key.jwk) | {"kid": KID, "x5t": "not read"}
        return {"keys": [signs, signs | {"kid": "realm-enc", "use": "enc", "alg": "RSA-OAEP"}]}

    def token(self, **claims: Any) -> str:
        """A token with these claims beside the usual ones."""
        now = int(time.time())
        usual = {"iss": "http://provider", "aud": "account", "iat": now, "exp": now + 300, **claims}
        return jwt.encode(usual, self.key.private, "RS256", headers={"kid": KID})

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host = f"http://{self.headers['Host']}"
                pages = {
                    "/.well-known/openid-configuration": {"issuer": host, "jwks_uri": f"{host}/certs"},
                    "/certs": provider.jwks(),
                }
                body = json.dumps(pages[self.path]).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


def got(url: str) -> dict[str, Any]:
    """A JSON document."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def asked(token: str, path: str, body: object = None) -> dict[str, Any] | None:
    """slurmrestd's answer; None where it refuses the token."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-SLURM-USER-TOKEN": token, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{REST}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as refused:
        code, said = refused.code, refused.read().decode()
    assert code in (401, 511) or "uthentication" in said, (code, said)
    return None


@pytest.fixture(scope="module")
def signed(world: World, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rotated]:
    """A stack whose tokens an RSA key signs, with slurmctld and slurmdbd outside."""
    slurm.cancel_all()
    world.vacate()
    stack = world.stack("provider", settings("prepared"))
    found = Rotated(world, slurm, stack)
    folder = tmp_path_factory.mktemp("key")
    for arguments in (
        ("generate", "tokens", "--out", str(folder / "token.pem")),
        ("import", "tokens", "--file", str(folder / "token.pem"), "--replace"),
    ):
        done = found.keys(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    stack.up()
    outside.set_nodesets_conf(nodeset_lines(str(stack.outputs()["outsideSlurmConf"])))
    give(found, folder / "first")
    stack.pulumi("config", "set", "--path", "slinky-iac:keys.tokens", "rs256")
    stack.up()
    yield found
    slurm.cancel_all()
    world.vacate()
    lab_is_plain()


def give(signed: Rotated, folder: Path) -> None:
    """The hand-off of both daemons, placed on their hosts."""
    done = signed.program("handoff", "--role", "slurmctld", "--role", "slurmdbd", "--out", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    handed_over(folder)
    await_true("slurmctld takes the stack's tokens", lambda: accepted(token_key(signed)), 60)


def test_a_providers_token_is_taken_once_it_is_declared_and_kept_through_a_rotation(signed: Rotated, tmp_path: Path) -> None:
    provider = Provider()
    token = provider.token(preferred_username="alice", sub="f3b0")
    assert asked(token, "/diag/") is None, "not declared yet"
    with provider.serving() as address:
        discovered = got(f"{address}/.well-known/openid-configuration")
        document = got(discovered["jwks_uri"])
    (signed.stack.folder / "realm.json").write_text(json.dumps(document))
    for name, value in (("jwksFile", "realm.json"), ("userClaim", "preferred_username")):
        signed.stack.pulumi("config", "set", "--path", f"slinky-iac:identity.oidc.{name}", value)
    signed.stack.up()
    give(signed, tmp_path / "declared")
    await_true("slurmctld takes the provider's token", lambda: asked(token, "/diag/") is not None, 60)
    assert asked(provider.token(preferred_username="alice", exp=1), "/diag/") is None, "one that has expired isn't"
    stranger = Provider().token(preferred_username="alice")
    assert asked(stranger, "/diag/") is None, "nor one of another key that is given the declared name"
    body = {
        "script": "#!/bin/sh\nid -un\n",
        "job": {
            "name": "oidc",
            "partition": "metal",
            "current_working_directory": "/tmp",
            "environment": ["PATH=/usr/bin:/bin"],
        },
    }
    answer = asked(token, "/job/submit", body)
    assert answer is not None
    assert signed.slurm.jobs()[answer["job_id"]]["user_name"] == "alice"
    (row,) = signed.slurm.await_completed(answer["job_id"])
    assert row.state == "COMPLETED"
    old = token_key(signed)
    done = signed.rotate("tokens", "--start")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (accepted(old), accepted(token_key(signed))) == (False, True)
    later = provider.token(preferred_username="alice")
    assert asked(later, "/diag/") is not None, "the provider's tokens outlive the stack's key"
    for host in ("ctl", "dbd"):
        found = json.loads(cluster.LAB.hosts.inside(host, "etc/slurm/jwks.json").read_bytes())
        assert {each["kid"] for each in found["keys"]} == {KID, token_key(signed).kid}
    rows = json.loads(signed.keys("verify", "--json").stdout)["checks"]
    assert {row["verdict"] for row in rows if row["what"].startswith("token key")} == {"agrees"}
    drift = signed.program("drift", "--json")
    assert "public-set" not in drift.stdout
