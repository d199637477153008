"""The stack's own token key (RS256) is brought in, used and replaced while jobs run: no call is refused at any moment."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lab import slurm as outside
from lab.demo import apply_lines_of
from lab.slurm import cluster
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster_access import reach
from slinky_iac.config.reading.load import load
from slinky_iac.drain.session import Session, open_session
from slinky_iac.engine.plugin_process import console_report
from slinky_iac.errors import SlinkyError, SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens.public import public_set as jwks
from slinky_iac.parts.tokens.rsa import TokenKey, decode
from slinky_iac.slurmrest.auth import held
from tests.e2e.rotating import NAMESPACE, NODES, Rotated, accepted
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings

DAEMONS = {"ctl": "slurm.conf", "dbd": "slurmdbd.conf"}
ANSWER_S = 60
"""Longest wait for a daemon that is being restarted; a refusal isn't waited for."""


def settings(tokens: str) -> Settings:
    """Two pods beside two metal hosts."""
    found = dev_settings()
    found["slinky-iac:nodesets"] = {"gpu": {"replicas": 2, "pod": {"terminationGrace": "2s"}}}
    found["slinky-iac:partitions"] = {}
    found["slinky-iac:keys"] = {"source": "imported", "tokens": tokens}
    return found


def way(world: World, tokens: str) -> Reach:
    """How gates reach Slurm with these settings."""
    config = load({name.split(":")[1]: section for name, section in settings(tokens).items()})
    return replace(reach(config), kubeconfig=world.env["KUBECONFIG"])


@dataclass
class Calls(threading.Thread):
    """Asks slurmctld and slurmdbd all the time, as gates do: one that goes on, and a new one each time, which has the
    Secret's key alone and tries no other."""

    reach: Reach
    answered: int = 0
    refused: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        with open_session(self.reach, "", budget_s=ANSWER_S, report=console_report()) as standing:
            while not self._over.is_set():
                self._once(standing)

    def _once(self, standing: Session) -> None:
        try:
            with open_session(self.reach, "", budget_s=ANSWER_S, report=console_report()) as fresh:
                place = self.reach
                found = held(fresh.kube, place.namespace, place.jwt_secret, place.jwt_entry, place.algorithm)
                self.names |= {key.kid for key in found if isinstance(key, TokenKey)}
                with fresh.slurm_with(found) as client:
                    until_answered(client.diag)
                    until_answered(client.clusters)
            until_answered(standing.slurm.diag)
        except SlinkyError as error:
            self.refused.append(f"{time.strftime('%X')} {type(error).__name__}: {error}")
        else:
            self.answered += 1

    def end(self) -> None:
        """Stop asking; fails where a call was refused, or where next to none was made."""
        self._over.set()
        self.join(ANSWER_S * 3)
        assert self.refused == []
        assert self.answered > 10


def until_answered(ask: Callable[[], object]) -> None:
    """Ask until a daemon that is being restarted is back. slurmdbd's refusal looks like silence, and so ends here too."""
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            ask()
        except SlurmrestAuthError:
            raise
        except SlurmrestUnreachable:
            if time.monotonic() > end:
                raise
        else:
            return


def token_key(signed: Rotated) -> TokenKey:
    """The token key of the stack's configuration."""
    values = json.loads(signed.stack.pulumi("config", "--json", "--show-secrets").stdout)
    return decode("tokenKey", values["slinky-iac:tokenKey"]["value"])


def lab_is_plain() -> None:
    """slurm.conf and slurmdbd.conf as the lab writes them, without a set of public keys."""
    for host in DAEMONS:
        for file in cluster.LAB.hosts.inside(host, "etc/slurm").glob("jwks.json*"):
            file.unlink()
        cluster.LAB.hosts.inside(host, "usr/local/sbin/systemctl").unlink(missing_ok=True)
    cluster.LAB.write()
    outside.daemon_restart("dbd", "slurmdbd")
    outside.reconfigure()


def handed_over(folder: Path) -> None:
    """What the outside admin does with the hand-off: the set of each role, and its AuthAltParameters line."""
    for host, role in (("dbd", "slurmdbd"), ("ctl", "slurmctld")):
        conf = cluster.LAB.hosts.inside(host, f"etc/slurm/{DAEMONS[host]}")
        (line,) = re.findall(r"(?m)^AuthAltParameters=.*$", (folder / role / f"{DAEMONS[host]}.lines").read_text())
        text, count = re.subn(r"(?m)^AuthAltParameters=.*$", line, conf.read_text())
        assert count == 1
        conf.write_text(text)
        place = cluster.LAB.hosts.inside(host, "etc/slurm/jwks.json")
        place.write_bytes((folder / role / "files/etc/slurm/jwks.json").read_bytes())
    outside.daemon_restart("dbd", "slurmdbd")
    outside.reconfigure()


@pytest.fixture(scope="module")
def signed(world: World, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rotated]:
    """A stack with jobs on all its nodes and a key for tokens, which nothing signs with yet."""
    slurm.cancel_all()
    world.vacate()
    stack = world.stack("tokens", settings("prepared"))
    found = Rotated(world, slurm, stack)
    file = tmp_path_factory.mktemp("key") / "token.pem"
    for arguments in (("generate", "tokens", "--out", str(file)), ("import", "tokens", "--file", str(file), "--replace")):
        done = found.keys(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    stack.up()
    apply_lines_of(stack)
    slurm.await_registered(*NODES)
    found.begin()
    yield found
    slurm.cancel_all()
    world.vacate()
    lab_is_plain()


def program(signed: Rotated, *arguments: str) -> str:
    """What `python -m slinky_iac` prints."""
    done = signed.program(*arguments)
    return done.stdout


def preflight(signed: Rotated) -> dict[str, set[str]]:
    """Verdicts of the preflight's checks of the token key, by name of the check."""
    checks = json.loads(program(signed, "preflight", "--no-pod", "--json"))["checks"]
    found: dict[str, set[str]] = {}
    for each in checks:
        if each["name"] in ("token-key", "token-set"):
            found.setdefault(each["name"], set()).add(each["verdict"])
    return found


def shown(signed: Rotated) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The token key as `status` lists it, and the keys that it says are being replaced."""
    found = json.loads(program(signed, "status", "--json"))
    (key,) = [each for each in found["keys"] if each["name"] == "token key"]
    assert [each["signs"] for each in found["keys"] if each["name"] == "JWT key"] == [["operator"]]
    assert 0 <= found["taken_at"] - key["made"] < 3600
    return key, found["key_changes"]


def test_a_running_cluster_changes_over_without_a_refused_moment(signed: Rotated, tmp_path: Path) -> None:
    """prepared, the hand-off, rs256: first no daemon takes the new key's tokens, and nothing signs with it."""
    calls = Calls(way(signed.world, "prepared"))
    calls.start()
    assert not accepted(token_key(signed))
    assert preflight(signed) == {"token-key": {"warning"}, "token-set": {"problem"}}
    program(signed, "handoff", "--role", "slurmctld", "--role", "slurmdbd", "--out", str(tmp_path / "hand"))
    handed_over(tmp_path / "hand")
    await_true("slurmctld takes RS256", lambda: accepted(token_key(signed)), 30)
    assert preflight(signed) == {"token-key": {"fine"}, "token-set": {"fine"}}
    signed.stack.pulumi("config", "set", "--path", "slinky-iac:keys.tokens", "rs256")
    signed.stack.up()
    calls.end()


def test_the_key_is_replaced_under_running_jobs_and_no_call_is_refused(signed: Rotated, tmp_path: Path) -> None:
    old, before = token_key(signed), signed.unharmed()
    calls = Calls(way(signed.world, "rs256"))
    calls.start()
    begun = signed.keys("rotate", "tokens", "--start")
    assert begun.returncode == 3, begun.stdout + begun.stderr
    key, (change,) = shown(signed)
    assert (key["fingerprint"], key["cluster"], key["signs"]) == (f"kid {old.kid}", "same", ["this stack"])
    assert (change["key"], change["how"]) == ("token key", "under running jobs")
    assert change["signs"] == ["tokenKeyNext is set", "the public set has another key"]
    done = signed.rotate("tokens")
    assert done.returncode == 0, done.stdout + done.stderr
    new = token_key(signed)
    assert change["besides"] == [f"kid {new.kid}"]
    key, changes = shown(signed)
    assert (key["fingerprint"], key["cluster"], changes) == (f"kid {new.kid}", "same", [])
    await_true("a call with the new key", lambda: new.kid in calls.names, 30)
    calls.end()
    assert calls.names == {old.kid, new.kid}
    assert (accepted(old), accepted(new)) == (False, True)
    after = signed.unharmed()
    assert all(after[node] > before[node] for node in NODES), (before, after)
    for host in DAEMONS:
        assert cluster.LAB.hosts.inside(host, "etc/slurm/jwks.json").read_bytes() == jwks([new])
    assert kids(str(signed.stack.outputs()["tokenKeySet"]).encode()) == {new.kid}
    rows = json.loads(signed.keys("verify", "--json").stdout)["checks"]
    tokens = {row["what"]: row["verdict"] for row in rows if row["what"].startswith("token key")}
    assert (len(tokens), set(tokens.values())) == (4, {"agrees"}), tokens
    text = signed.stack.config_file.read_text()
    assert "tokenKeyNext" not in text
    assert "tokenKeyPrevious" not in text
    lines = [line for key in (old, new) for line in key.pem.decode().splitlines()[1:-1]]
    assert [line for line in lines if any(line in said for said in signed.said)] == []


def test_a_gate_drains_with_it(signed: Rotated) -> None:
    for job in signed.jobs.values():
        signed.slurm.user("scancel", str(job))
    signed.slurm.await_completed(*signed.jobs.values())
    signed.stack.pulumi("config", "set", "--path", "slinky-iac:nodesets.gpu.replicas", "1")
    signed.stack.up()
    signed.world.await_pods(NAMESPACE, "gpu", 1)
    state = json.loads(signed.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    gates = [each["outputs"] for each in state if str(each["type"]).endswith("slurm:NodeSetScale")]
    assert [(gate["tokens"], gate["jwtSecret"]) for gate in gates] == [("rs256", "slurm-token-key")]
    encoded = base64.b64encode(token_key(signed).pem).decode()
    assert encoded not in json.dumps(state)
