"""What is so now: configuration, Secrets, pods, hosts, and who takes which token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from slinky_iac import names
from slinky_iac.cluster.connection import Connection, connected
from slinky_iac.errors import KubeNotFound, RotationError, SlurmrestAuthError, SlurmrestError
from slinky_iac.key_lifecycle import pods, scripts
from slinky_iac.key_lifecycle.hosts import Via
from slinky_iac.key_lifecycle.jwt import JwtFacts
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Host
from slinky_iac.key_lifecycle.slurm import SlurmFacts
from slinky_iac.keys.catalogue import NEXT_SUFFIX
from slinky_iac.keys.jwks import slurm_jwks
from slinky_iac.keys.raw import fingerprint
from slinky_iac.reach import reach
from slinky_iac.slurmrest.signing import SigningKey
from slinky_iac.specs.shared import key_references

AT_ONCE = 16
"""Hosts that are asked at the same time."""
ASK_S = 25.0
"""Seconds for one question to slurmrestd; it waits 10 s for a slurmctld that is being reconfigured."""


@dataclass(frozen=True)
class Look:
    """One stack's keys and the ways to everything that holds them."""

    material: Material
    session: Connection
    hosts: tuple[Host, ...]
    via: Via | None = None
    folder: str = scripts.FOLDER

    @property
    def wanted(self) -> str:
        """SHA-256 of slurm.jwks as the configuration makes it."""
        return sha256(self.material.jwks() or b"").hexdigest()

    def secret(self, name: str) -> Mapping[str, bytes]:
        """The entries of a Secret in the cluster's namespace; none where there is no such Secret."""
        try:
            return self.session.kube.secret_data(self.material.config.cluster.namespace, name)
        except KubeNotFound:
            return {}

    def place(self, which: str) -> tuple[str, str]:
        """Secret and entry of ``jwt`` or ``slurm``."""
        config = self.material.config
        found = key_references(config)[config.operator_version.jwt_ref_field if which == "jwt" else "slurmKeyRef"]
        return found["name"], found["key"]

    def jwt(self) -> JwtFacts:
        """Facts for :func:`slinky_iac.key_lifecycle.jwt.rotation`."""
        name, entry = self.place("jwt")
        data = self.secret(name)
        entries = (entry, entry + NEXT_SUFFIX)
        held = [data[each] for each in entries if each in data]
        own = [self.material.keys[each] for each in ("jwtKey", "jwtKeyNext") if each in self.material.keys]
        known = {fingerprint(raw): raw for raw in (*own, *held)}
        slurmdbd = {fp: self.takes(raw, slurmdbd=True) for fp, raw in known.items()} if self.accounting else None
        return JwtFacts(
            current=self._current("jwtKey", held[0] if held else None),
            coming=self.material.fingerprint("jwtKeyNext"),
            held=tuple(fingerprint(raw) for raw in held),
            slurmctld={fp: self.takes(raw, slurmdbd=False) for fp, raw in known.items()},
            slurmdbd=None if slurmdbd is None else _settled(slurmdbd),
            hosts=self.hosts,
        )

    def slurm(self) -> SlurmFacts:
        """Facts for :func:`slinky_iac.key_lifecycle.slurm.rotation`."""
        config = self.material.config
        name, entry = self.place("slurm")
        key = self.secret(name).get(entry)
        held = self.secret(names.slurm_jwks_secret(config.cluster.resource_name)).get(names.SLURM_JWKS_FILE)
        return SlurmFacts(
            current=self._current("slurmKey", key),
            coming=self.material.fingerprint("slurmKeyNext"),
            previous=self.material.fingerprint("slurmKeyPrevious"),
            wanted=self.wanted,
            held=None if held is None else sha256(held).hexdigest(),
            key_held=None if key is None else fingerprint(key),
            pods=pods.digests(self.session, config) if config.keys.jwks else {},
            unmanaged_nodes=pods.unmanaged_nodes(self.session, config) if config.keys.jwks else (),
            confirmed=self._confirmed(),
            hosts=self.hosts,
        )

    @property
    def accounting(self) -> bool:
        """Whether the cluster has a slurmdbd."""
        return self.material.config.accounting.enabled

    def _current(self, name: str, held: bytes | None) -> str:
        """Fingerprint of the key that the stack stands for: its imported one, else what its Secret holds."""
        raw = held if self.material.config.keys.source != "imported" else self.material.keys.get(name)
        if raw is None:
            raise RotationError(
                f"{name}: neither this stack's configuration nor its Secret has it, so there is nothing to compare. Run"
                " `pulumi up`, or `python -m slinky_iac keys import` with the key that the cluster has. Nothing was changed"
            )
        return fingerprint(raw)

    def _confirmed(self) -> dict[str, str | None]:
        """slurm.jwks of each host. One with slurm.key only, and the right one, is as if it had the file with that key."""
        via = self.via
        if via is None or "slurmKey" not in self.material.keys:
            return {}
        text = scripts.look([names.SLURM_JWKS_FILE, names.SLURM_KEY_FILE], folder=self.folder)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            said = pool.map(lambda host: scripts.told(via.script(host, text)), self.hosts)
            return {host.name: self._read(seen) for host, seen in zip(self.hosts, said, strict=True)}

    def _read(self, seen: Mapping[str, scripts.Seen]) -> str | None:
        """The slurm.jwks that a host's daemons have read; None where that isn't known."""
        own = self.material.keys["slurmKey"]
        file, key = seen.get(names.SLURM_JWKS_FILE), seen.get(names.SLURM_KEY_FILE)
        if file is not None:
            return file.digest if file.read else None
        alone = slurm_jwks(own) == self.material.jwks()
        return self.wanted if alone and key is not None and key.digest == sha256(own).hexdigest() else None

    def takes(self, key: SigningKey, *, slurmdbd: bool) -> bool | None:
        """Whether slurmctld, or slurmdbd, takes a token made with ``key``; None: it couldn't be asked."""
        with self.session.slurm_with([key]) as client:
            try:
                _ = client.clusters(budget_s=ASK_S) if slurmdbd else client.diag(budget_s=ASK_S)
            except SlurmrestAuthError:
                return False
            except SlurmrestError:
                return None
        return True


def _settled(verdicts: Mapping[str, bool | None]) -> dict[str, bool | None]:
    """slurmdbd's refusal looks like a slurmdbd that is down (error 7000), unless it takes another key: it knows only one."""
    if True not in verdicts.values():
        return dict(verdicts)
    return {key: verdict or False for key, verdict in verdicts.items()}


@contextmanager
def opened(material: Material, hosts: tuple[Host, ...], via: Via | None, folder: str = scripts.FOLDER) -> Iterator[Look]:
    """A look with connections that are closed at the end."""
    with connected(reach(material.config)) as session:
        yield Look(material, session, hosts, via, folder)
