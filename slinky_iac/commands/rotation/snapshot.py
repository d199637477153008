"""What is so now: the configuration with its keys, Secrets, hosts, and who takes which token."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.cluster import Cluster
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.commands.rotation.hosts import Via
from slinky_iac.commands.rotation.model import Host
from slinky_iac.commands.stack_config import own_texts
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.values import Values, values_as_they_are
from slinky_iac.errors import KeyMaterialError, RotationError, StateError
from slinky_iac.keys.catalogue import Key
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint
from slinky_iac.slurmrest.signing import SigningKey

AT_ONCE: Final = 16
"""Hosts that are asked at the same time."""


def read(engine: Engine) -> Values:
    """The settings and keys of a stack as they are: a rotation that was cut short between two settings leaves the
    configuration as no program may run it, so the rules don't hold here.

    Raises StateError, ConfigError, KeyMaterialError (a munge cluster has none of these keys, too); no message holds a key.
    """
    try:
        own, _ = own_texts(json.loads(engine.pulumi("config", "--json", "--show-secrets")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise StateError("`pulumi config --json` printed something else than this project's configuration") from None
    found = values_as_they_are(own)
    if found.config.keys.auth == "auth/munge":
        raise KeyMaterialError(
            "keys.auth is auth/munge: this stack has munge.key alone, neither slurm.key nor a JWT key. docs/munge.md says"
            " how to set it and how to replace it. Nothing was changed"
        )
    return found


@dataclass(frozen=True)
class Snapshot:
    """One stack's keys and the ways to everything that holds them."""

    values: Values
    cluster: Cluster
    hosts: tuple[Host, ...] = ()
    via: Via | None = None
    folder: str = host_scripts.FOLDER

    @property
    def config(self) -> StackConfig:
        """The stack's settings."""
        return self.values.config

    @property
    def keys(self) -> KeyMaterial:
        """The keys that are set."""
        return self.values.keys

    def held(self, key: Key) -> bytes | None:
        """What the key's Secret holds."""
        place = self.config.secret_of(key)
        return self.cluster.secret(place.name).get(place.entry)

    def current(self, key: Key, held: bytes | None) -> str:
        """Fingerprint of the stack's current key: its imported one, otherwise what its Secret holds."""
        raw = held if self.config.keys.source != "imported" else self.keys.of(key)
        if raw is None:
            raise RotationError(
                f"{key.config}: neither this stack's configuration nor its Secret has it, so there is nothing to compare."
                " Run `pulumi up`, or `slinky keys import` with the key that the cluster has. Nothing was"
                " changed"
            )
        return fingerprint(raw)

    def verdicts(self, known: Mapping[str, SigningKey]) -> tuple[dict[str, bool | None], dict[str, bool | None] | None]:
        """Who takes tokens made with which key: slurmctld, and slurmdbd where there is one.

        slurmdbd's refusal looks like a slurmdbd that is down (error 7000), unless it takes another key: so what wasn't taken
        is asked again, after it was seen to be up.
        """
        slurmctld = {name: self.cluster.takes(key, slurmdbd=False) for name, key in known.items()}
        if not self.config.accounting.enabled:
            return slurmctld, None
        slurmdbd = {name: self.cluster.takes(key, slurmdbd=True) for name, key in known.items()}
        if True in slurmdbd.values():
            slurmdbd = {n: said or self.cluster.takes(known[n], slurmdbd=True) or False for n, said in slurmdbd.items()}
        return slurmctld, slurmdbd

    def host_files(self, hosts: Iterable[Host], *names: str) -> dict[str, Mapping[str, host_scripts.KeyReport]]:
        """These files of each host, by host; none where there is no way to hosts. Raises :class:`RotationError` where a host
        can't be asked."""
        via = self.via
        if via is None:
            return {}
        text = host_scripts.look(names, folder=self.folder)
        asked = tuple(hosts)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            said = pool.map(lambda host: host_scripts.parse_report(via.script(host, text)), asked)
            return {host.name: seen for host, seen in zip(asked, said, strict=True)}
