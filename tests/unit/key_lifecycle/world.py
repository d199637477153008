"""A cluster made of what a rotation sees and changes, small enough to be cut short at every single operation."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.config.load import load
from slinky_iac.key_lifecycle import carrying, rotate, scripts
from slinky_iac.key_lifecycle.carrying import Means
from slinky_iac.key_lifecycle.hosts import hosts_of
from slinky_iac.key_lifecycle.jwt import JwtFacts
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Host
from slinky_iac.key_lifecycle.slurm import SlurmFacts
from slinky_iac.keys.jwks import slurm_jwks
from slinky_iac.keys.raw import fingerprint
from slinky_iac.kube.wire import Clock
from tests.stacks import outside

OLD, OLD_JWT = b"slurm key, the old one, long enough.....", b"jwt key, the old one, long enough......."
PODS = ("gpu-0", "gpu-1")
CONFIG = outside(
    keys={"source": "imported", "jwks": True},
    controller={"external": {"host": "ctl"}},
    accounting={"external": {"host": "dbd"}},
    external={"slurmdHosts": [{"name": "metal-1"}], "loginHosts": [{"name": "login-1"}]},
)

LOADED = load(CONFIG)


class Cut(Exception):
    """The process ends here."""


@dataclass
class World:
    """Keys in the configuration, in Secrets, in files, and in daemons' memories. Raises Cut before operation ``cut``."""

    cut: int | None = None
    lazy: frozenset[str] = frozenset()
    """Pods that kubelet forgets."""
    operations: int = 0
    set: dict[str, bytes] = field(default_factory=lambda: {"slurmKey": OLD, "jwtKey": OLD_JWT})
    jwt_secret: list[bytes] = field(default_factory=lambda: [OLD_JWT])
    jwks_secret: bytes = slurm_jwks(OLD)
    key_secret: bytes = OLD
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of pods and hosts."""
    known: dict[str, bytes] = field(default_factory=dict)
    """slurm.jwks as each daemon has read it."""
    jwt_of: dict[str, bytes] = field(default_factory=lambda: {"ctl": OLD_JWT, "dbd": OLD_JWT})
    read: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of hosts as of the end of the last script."""
    started: int = 1
    nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    """States of further nodes, whose slurmd reads nothing."""
    unmanaged: tuple[str, ...] | None = ()
    """Nodes that no step reaches; None: slurmctld can't be asked about nodes."""
    made: int = 0

    def __post_init__(self) -> None:
        for name in (*PODS, "metal-1", "login-1", "dbd", "ctl"):
            self.known[name] = slurm_jwks(OLD)
            self.files[name] = {"slurm.jwks": slurm_jwks(OLD)} if name in PODS else {"slurm.key": OLD}

    # -- what must hold at every moment ---------------------------------------------------------------------------

    def check(self) -> None:
        """Everybody takes what anybody signs with, and somebody's key opens slurmctld for the gates."""
        for signer, own in self.known.items():
            for taker, theirs in self.known.items():
                assert kids(own)[0] in kids(theirs), f"{taker} doesn't know the key that {signer} signs with"
        for daemon, key in self.jwt_of.items():
            assert key in self.jwt_secret, f"no gate has the key that {daemon} takes"

    def operate(self) -> None:
        """One operation; the process may end before it."""
        self.check()
        self.operations += 1
        if self.cut is not None and self.operations > self.cut:
            raise Cut

    # -- Engine ---------------------------------------------------------------------------------------------------

    def set_key(self, name: str, raw: bytes) -> None:
        self.operate()
        self.set[name] = raw

    def remove(self, name: str) -> None:
        self.operate()
        self.set.pop(name, None)

    def settled(self) -> None:
        self.operate()

    def update_keys(self, _say: Callable[[str], None]) -> None:
        """As the program does; the Secrets are written one after the other."""
        assert not {"slurmKeyNext", "slurmKeyPrevious"} <= set(self.set), "the rules refuse this"
        self.operate()
        self.jwt_secret = [self.set[name] for name in ("jwtKey", "jwtKeyNext") if name in self.set]
        self.operate()
        self.key_secret = self.set["slurmKey"]
        self.operate()
        self.jwks_secret = self.material().jwks() or b""

    # -- hosts ----------------------------------------------------------------------------------------------------

    def script(self, host: Host, text: str) -> str:
        """Carry out a script of ours: the files that it places, then what its daemons read."""
        name = host.name
        for file, content in re.findall(r"place (\S+) \S+ \S+ <<'KEY'\n(.*?)\nKEY\n", text, re.DOTALL):
            self.operate()
            self.files[name][file] = base64.b64decode(content)
        if "restart" in text or "reconfigure" in text:
            self.operate()
            self._read(name)
        if "reconfigure" in text:
            for pod in PODS:
                self.known[pod] = self.files[pod]["slurm.jwks"]
            self.started += 1
        if re.search(r"(?m)^mark ", text):
            if "KEY" not in text:  # it only marks
                self.operate()
            self.read[name] = dict(self.files[name])
        found = {file: sha256(raw).hexdigest() for file, raw in self.files[name].items()}
        return "".join(f"{scripts.MARK} {file} {digest} {digest}\n" for file, digest in found.items())

    def _read(self, host: str) -> None:
        files = self.files[host]
        self.known[host] = files.get("slurm.jwks") or slurm_jwks(files["slurm.key"])
        if host in self.jwt_of:
            self.jwt_of[host] = files.get("jwt_hs256.key", self.jwt_of[host])

    # -- Look -----------------------------------------------------------------------------------------------------

    def material(self) -> Material:
        return Material(LOADED, dict(self.set))

    @property
    def hosts(self) -> tuple[Host, ...]:
        return hosts_of(LOADED)

    def kubelet(self, *_: object) -> None:
        for pod in PODS:
            if pod not in self.lazy:
                self.files[pod]["slurm.jwks"] = self.jwks_secret

    def digests(self, *_: object) -> dict[str, str | None]:
        return {pod: sha256(self.files[pod]["slurm.jwks"]).hexdigest() for pod in PODS}

    def jwt(self) -> JwtFacts:
        own = [self.set[name] for name in ("jwtKey", "jwtKeyNext") if name in self.set]
        known = [*own, *self.jwt_secret]
        return JwtFacts(
            current=fingerprint(self.set["jwtKey"]),
            coming=self.material().fingerprint("jwtKeyNext"),
            held=tuple(fingerprint(raw) for raw in self.jwt_secret),
            slurmctld={fingerprint(raw): raw == self.jwt_of["ctl"] for raw in known},
            slurmdbd={fingerprint(raw): raw == self.jwt_of["dbd"] for raw in known},
            hosts=self.hosts,
        )

    def slurm(self, *, asked: bool = True) -> SlurmFacts:
        found = self.material()
        document = found.jwks() or b""
        alone = document == slurm_jwks(self.set["slurmKey"])
        confirmed: dict[str, str | None] = {}
        for host in self.hosts if asked else ():
            file = self.files[host.name].get("slurm.jwks")
            plain = slurm_jwks(self.files[host.name]["slurm.key"]) if file is None and alone else file
            if file is not None and self.read.get(host.name, {}).get("slurm.jwks") != file:
                plain = None
            confirmed[host.name] = None if plain is None else sha256(plain).hexdigest()
        return SlurmFacts(
            current=fingerprint(self.set["slurmKey"]),
            coming=found.fingerprint("slurmKeyNext"),
            previous=found.fingerprint("slurmKeyPrevious"),
            wanted=sha256(document).hexdigest(),
            held=sha256(self.jwks_secret).hexdigest(),
            key_held=fingerprint(self.key_secret),
            pods=self.digests(),
            confirmed=confirmed,
            hosts=self.hosts,
            unmanaged_nodes=self.unmanaged,
        )


def kids(document: bytes) -> list[str]:
    """Names of the keys of a slurm.jwks, the one that signs first."""
    listed: list[dict[str, str]] = json.loads(document)["keys"]
    return [key["kid"] for key in sorted(listed, key=lambda key: key.get("use") != "default")]


def rotating(world: World, monkeypatch: pytest.MonkeyPatch, which: Any, **more: Any) -> rotate.Rotating:
    """A rotation whose engine, hosts, pods and daemons are ``world``."""
    ticks = [0.0]

    def sleep(seconds: float) -> None:
        ticks[0] += seconds

    @contextmanager
    def opened(found: Material, *_: object) -> Iterator[SimpleNamespace]:
        asked = rotation.means.via is not None
        document = sha256(found.jwks() or b"").hexdigest()
        yield SimpleNamespace(
            material=found, session=None, wanted=document, jwt=world.jwt, slurm=lambda: world.slurm(asked=asked)
        )

    def started(_look: object, without: frozenset[str] = rotate.LOST) -> Mapping[str, int | None]:
        further: dict[str, int | None] = {node: 1 for node, state in world.nodes.items() if not state & without}
        return dict.fromkeys((*PODS, "metal-1"), world.started) | further

    def generate() -> bytes:
        world.made += 1
        return f"a new key, number {world.made:04}, long enough......".encode()

    monkeypatch.setattr(rotate.material, "read", lambda _engine: world.material())
    monkeypatch.setattr(rotate.material, "generate", generate)
    monkeypatch.setattr(carrying, "opened", opened)
    monkeypatch.setattr(rotate.pods, "digests", world.digests)
    monkeypatch.setattr(rotate.pods, "nudge", world.kubelet)
    monkeypatch.setattr(rotate, "_started", started)
    monkeypatch.setattr(rotate, "_require_all_respond", lambda _look: None)
    settings: dict[str, Any] = {"via": world, "clock": Clock(monotonic=lambda: ticks[0], sleep=sleep), **more}
    confirmed = settings.pop("confirmed", None)
    means = Means(world, lambda _line: None, **settings)  # type: ignore[arg-type]
    rotation = rotate.Rotating(which, means, confirmed)
    return rotation
