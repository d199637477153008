"""A cluster made of what a rotation sees and changes, behind the ports of the driver, small enough to be cut short at every
single operation."""

from __future__ import annotations

import base64
import functools
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.driver import KeyRotation, RotationContext
from slinky_iac.commands.rotation.host_scripts import hosts_of
from slinky_iac.commands.rotation.jwt import JwtRotation
from slinky_iac.commands.rotation.model import Host
from slinky_iac.commands.rotation.slurm import SlurmRotation
from slinky_iac.commands.rotation.stopping import PlannedStop
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import JWT, SLURM, Key
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.public import digest, kids
from slinky_iac.keys.raw import several_keys
from slinky_iac.kube.wire import Clock
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from slinky_iac.parts.tokens.rotation import TokenRotation
from slinky_iac.parts.tokens.rsa import TokenKey, parse
from tests.rsa_keys import pem, token_key
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


@functools.cache
def parsed(raw: bytes) -> TokenKey:
    """The key of a PEM, checked once: that takes a tenth of a second."""
    return parse("tokenKey", raw)


@dataclass
class World:
    """Keys in the configuration, in Secrets, in files, and in daemons' memories. Raises Cut before operation ``cut``."""

    config: StackConfig = LOADED
    cut: int | None = None
    lazy: frozenset[str] = frozenset()
    """Pods that kubelet forgets."""
    deaf: str | None = None
    """A host that can't be reached."""
    reads_no_set: bool = False
    """Daemons whose configuration names no public set."""
    order: list[str] = field(default_factory=list)
    """Operations that were carried out."""
    operations: int = 0
    set: dict[str, bytes] = field(default_factory=lambda: {"slurmKey": OLD, "jwtKey": OLD_JWT})
    secrets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    public: bytes = b""
    """jwks.json in the ConfigMap."""
    noted: str = ""
    """What the Accounting notes of the set with which slurmdbd's pod began."""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of pods and hosts."""
    read: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of hosts as of the end of the last script."""
    known: dict[str, bytes] = field(default_factory=dict)
    """slurm.jwks as each daemon has read it."""
    jwt_of: dict[str, bytes] = field(default_factory=lambda: {"ctl": OLD_JWT, "dbd": OLD_JWT})
    kids_of: dict[str, frozenset[str]] = field(default_factory=dict)
    """Token keys that each daemon takes."""
    started: int = 1
    lost: frozenset[str] = frozenset()
    """Nodes whose slurmd doesn't come back from a reconfiguration."""
    nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    """States of further nodes, whose slurmd reads nothing."""
    asks_nodes: Callable[[], None] = lambda: None
    """Raises where slurmctld can't be asked about nodes."""
    unmanaged: tuple[str, ...] | None = ()
    made: int = 0
    stack: str | None = None

    def __post_init__(self) -> None:
        base = self.config.cluster.resource_name
        self.slurm, self.jwt, self.tokens = (self.config.secret_of(key) for key in (SLURM, JWT, TOKENS))
        self.jwks = f"{base}-slurm-jwks"
        self.secrets |= {self.slurm.name: {self.slurm.entry: OLD}, self.jwt.name: {self.jwt.entry: OLD_JWT}}
        self.secrets[self.jwks] = {"slurm.jwks": several_keys(OLD)}
        for name in (*PODS, "metal-1", "login-1", "dbd", "ctl"):
            self.known[name] = several_keys(OLD)
            self.files[name] = {"slurm.jwks": several_keys(OLD)} if name in PODS else {"slurm.key": OLD}
        if self.config.keys.tokens == "rs256":
            old = token_key("old")
            self.set["tokenKey"] = pem("old")
            self.secrets[self.tokens.name] = {"token.pem": pem("old")}
            self.public = public_set([old])
            self.kids_of = dict.fromkeys(("ctl", "dbd"), frozenset({old.kid}))
            self.noted = digest(self.public)

    # -- what must hold at every moment ---------------------------------------------------------------------------

    def check(self) -> None:
        """All take what any signs with, and somebody's key opens slurmctld for the gates."""
        for signer, own in self.known.items():
            for taker, theirs in self.known.items():
                assert signing_first(own)[0] in signing_first(theirs), f"{taker} doesn't know the key {signer} signs with"
        for daemon, key in self.jwt_of.items():
            assert key in self.secrets[self.jwt.name].values(), f"no gate has the key that {daemon} takes"
        for daemon, taken in self.kids_of.items():
            assert self.signing in taken, f"{daemon} refuses this stack's tokens"

    @property
    def signing(self) -> str:
        """Name of the key that gates sign with."""
        return parsed(self.secrets[self.tokens.name]["token.pem"]).kid

    def operate(self, what: str = "") -> None:
        """One operation; the process may end before it."""
        self.check()
        self.operations += 1
        if self.cut is not None and self.operations > self.cut:
            raise Cut
        self.order.append(what)

    # -- port: Pulumi -----------------------------------------------------------------------------------------------

    def set_key(self, name: str, raw: bytes) -> None:
        self.operate(f"set {name}")
        self.set[name] = raw

    def remove(self, name: str) -> None:
        self.operate(f"rm {name}")
        self.set.pop(name, None)

    def settled(self) -> None:
        self.operate("preview")

    def update_keys(self, _say: Callable[[str], None], *, replaces: bool = True) -> None:
        """As the program does; the objects are written one after the other."""
        for key in (SLURM, TOKENS):
            assert not set(key.rotation_secrets) <= self.set.keys(), "the rules refuse this"
        if "tokenKey" in self.set:
            assert not replaces, "a Secret that is replaced is gone for a moment"
            self.operate("up: tokens")
            self.secrets[self.tokens.name] = {"token.pem": self.set["tokenKey"]}
            self.operate("up: set")
            self.public = self.values().keys.bundle(TOKENS) or b""
            if self.config.slurmdbd.pods and self.noted != digest(self.public):
                self.operate("up: accounting")  # the operator replaces its pod, and slurmdbd reads the set as it starts
                self.noted, self.kids_of["dbd"] = digest(self.public), kids(self.public)
            return
        self.operate("up: jwt")
        names = (("jwtKey", self.jwt.entry), ("jwtKeyNext", f"{self.jwt.entry}.next"))
        self.secrets[self.jwt.name] = {entry: self.set[name] for name, entry in names if name in self.set}
        self.operate("up: slurm")
        self.secrets[self.slurm.name] = {self.slurm.entry: self.set["slurmKey"]}
        self.operate("up: jwks")
        self.secrets[self.jwks] = {"slurm.jwks": self.values().keys.bundle(SLURM) or b""}

    # -- port: hosts ------------------------------------------------------------------------------------------------

    def script(self, host: Host, text: str) -> str:
        """Carry out a script of ours: the files that it places, then what its daemons read."""
        name = host.name
        if name == self.deaf:
            raise RotationError(f"host {name}: ended with 255")
        for file, content in re.findall(r"place (\S+) \S+ \S+ <<'KEY'\n(.*?)\nKEY\n", text, re.DOTALL):
            self.operate(f"host {name}")
            self.files[name][file] = base64.b64decode(content)
            if f"mark {file}.read begun" in text:
                self.read[name] = {}
        if "restart" in text or "reconfigure" in text:
            self.operate(f"restart on {name}")
            self._reads(name)
        if "reconfigure" in text:
            for pod in PODS:
                self.known[pod] = self.files[pod]["slurm.jwks"]
            self.started += 1
        if re.search(r"(?m)^mark ", text):
            if "KEY" not in text:  # it only marks
                self.operate(f"mark {name}")
            self.read[name] = dict(self.files[name])
        return "".join(self._line(name, file) for file in self.files[name])

    def _line(self, host: str, file: str) -> str:
        digest, said = sha256(self.files[host][file]).hexdigest(), host_scripts.NEVER
        if host in self.read:
            found = self.read[host].get(file)
            said = "begun" if found is None and not self.read[host] else host_scripts.NEVER
            said = said if found is None else sha256(found).hexdigest()
        return f"{host_scripts.MARK} {file} {digest} {said}\n"

    def _reads(self, host: str) -> None:
        files = self.files[host]
        self.known[host] = files.get("slurm.jwks") or several_keys(files["slurm.key"])
        if host in self.jwt_of:
            self.jwt_of[host] = files.get("jwt_hs256.key", self.jwt_of[host])
        if host in self.kids_of and "jwks.json" in files and not self.reads_no_set:
            self.kids_of[host] = kids(files["jwks.json"])

    # -- port: Kubernetes and Slurm ---------------------------------------------------------------------------------

    def secret(self, name: str, _namespace: str | None = None) -> Mapping[str, bytes]:
        return self.secrets.get(name, {})

    def config_map(self, _name: str) -> Mapping[str, str]:
        return {"jwks.json": self.public.decode()}

    def accounting_note(self, _key: Key) -> str | None:
        return self.noted if self.config.slurmdbd.pods else None

    def takes(self, key: bytes | TokenKey, *, slurmdbd: bool) -> bool:
        daemon = "dbd" if slurmdbd else "ctl"
        if daemon == "ctl" and self.config.slurmctld.pods and isinstance(key, TokenKey):
            self.kids_of["ctl"] = kids(self.public)  # kubelet has brought the file, and a sidecar reconfigures slurmctld
        return key.kid in self.kids_of[daemon] if isinstance(key, TokenKey) else key == self.jwt_of[daemon]

    def all_nodes(self) -> list[SimpleNamespace]:
        self.asks_nodes()
        found = {name: (frozenset({"IDLE"}), 1 if name in self.lost else self.started) for name in (*PODS, "metal-1")}
        found |= {name: (state, 1) for name, state in self.nodes.items()}
        return [
            SimpleNamespace(name=name, state=state, slurmd_start_time=SimpleNamespace(value=at))
            for name, (state, at) in found.items()
        ]

    def unmanaged_nodes(self) -> tuple[str, ...] | None:
        return self.unmanaged

    def pod_files(self) -> dict[str, str | None]:
        return {pod: sha256(self.files[pod]["slurm.jwks"]).hexdigest() for pod in PODS}

    def trigger_sync(self, *_: object) -> None:
        for pod in PODS:
            if pod not in self.lazy:
                self.files[pod]["slurm.jwks"] = self.secrets[self.jwks]["slurm.jwks"]

    @contextmanager
    def connect(self, *_: object) -> Iterator[Any]:
        asked = ("secret", "config_map", "accounting_note", "takes", "unmanaged_nodes", "pod_files", "trigger_sync")
        yield SimpleNamespace(nodes=self.all_nodes, **{name: getattr(self, name) for name in asked})

    def kubectl(self, command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        raise AssertionError(f"kubectl was run: {command}")

    # -- the rest of the context ------------------------------------------------------------------------------------

    def values(self, _engine: object = None) -> Values:
        rsa = {name: parsed(raw) for name, raw in self.set.items() if name.startswith("token")}
        return Values(self.config, (), KeyMaterial({n: raw for n, raw in self.set.items() if n not in rsa}, rsa))

    def new(self, key: Key = SLURM) -> bytes:
        self.made += 1
        return pem(f"made {self.made}") if key is TOKENS else f"a new key, number {self.made:04}, long enough......".encode()

    @property
    def hosts(self) -> tuple[Host, ...]:
        return hosts_of(self.config)

    def context(self, *, via: bool = True) -> RotationContext:
        """The driver's ports, all of them this world."""
        ticks = [0.0]

        def sleep(seconds: float) -> None:
            ticks[0] += seconds

        ports: dict[str, Any] = {"engine": self, "via": self if via else None, "connect": self.connect, "run": self.kubectl}
        clock = Clock(monotonic=lambda: ticks[0], sleep=sleep)
        return RotationContext(say=lambda _line: None, clock=clock, read=self.values, new_key=self.new, **ports)

    def runner(self, key: Key, *, via: bool = True, confirmed: str | None = None, stop: bool = False) -> KeyRotation:
        """A rotation of this world's key."""
        under_jobs: dict[str, type[KeyRotation]] = {"slurm": SlurmRotation, "jwt": JwtRotation, "tokens": TokenRotation}
        return (PlannedStop if stop else under_jobs[key.name])(key, self.context(via=via), confirmed)


@functools.cache
def signing_first(document: bytes) -> list[str]:
    """Names of the keys of a slurm.jwks, the one that signs first."""
    listed: list[dict[str, str]] = json.loads(document)["keys"]
    return [key["kid"] for key in sorted(listed, key=lambda key: key.get("use") != "default")]
