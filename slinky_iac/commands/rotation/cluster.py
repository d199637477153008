"""What is so now: the configuration with its keys, Kubernetes and Slurm, hosts, and who takes which token. The one thing
that a rotation changes here is an annotation by which kubelet looks at a pod's volumes at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slinky_iac import causes, names
from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster.connection import connected as connection
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.cluster_access import reach
from slinky_iac.commands import children
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.commands.rotation.host_scripts import Via
from slinky_iac.commands.rotation.model import Host
from slinky_iac.commands.rotation.planned_stop import kubectl
from slinky_iac.commands.stack_config import own_texts, require_here
from slinky_iac.config.reading.stack_file import settings_elsewhere
from slinky_iac.config.reading.values import Values, values_as_they_are, values_to_import
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import (
    KeyMaterialError,
    KubeConflict,
    KubeNotFound,
    RotationError,
    SlurmrestAuthError,
    SlurmrestError,
    StateError,
)
from slinky_iac.keys.catalogue import SLURM, Key
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint
from slinky_iac.kube.connection import for_children
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.pods import pods_with_secret
from slinky_iac.slurmrest.auth import SigningKey
from slinky_iac.slurmrest.objects import AWAY_STATES, LOST_STATES, Node
from slinky_iac.specs.clients import SIDECAR, client_secret, own_copy

ASK_S: Final = 25.0
"""Seconds for one question to slurmrestd; it waits 10 s for a slurmctld that is being reconfigured."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]
_SILENT: Final = LOST_STATES | AWAY_STATES


@dataclass(frozen=True)
class Cluster:
    """One stack's cluster, over one session."""

    config: StackConfig
    session: Connection
    run: Run = children.run
    """Runs kubectl."""

    def secret(self, name: str, namespace: str | None = None) -> Mapping[str, bytes]:
        """The entries of a Secret, by default of the cluster's namespace; none where there is no such Secret."""
        with suppress(KubeNotFound):
            return self.session.kube.secret_data(namespace or self.config.cluster.namespace, name)
        return {}

    def secret_made_at(self, name: str) -> int | None:
        """When a Secret was made."""
        return self.session.kube.secret_made_at(self.config.cluster.namespace, name)

    def config_map(self, name: str) -> Mapping[str, str] | None:
        """The entries of a ConfigMap; None where there is none."""
        with suppress(KubeNotFound):
            return self.session.kube.config_map_data(self.config.cluster.namespace, name)
        return None

    def accounting_note(self, key: Key) -> str | None:
        """What the Accounting notes of the file of a key with which slurmdbd's pod began; None where there is none."""
        cluster = self.config.cluster
        meta = self.session.kube.meta("Accounting", cluster.namespace, cluster.resource_name)
        return None if meta is None else meta.annotations.get(key.annotation, "")

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

    def nodes(self) -> Sequence[Node]:
        """All nodes of slurmctld. Raises what asking slurmrestd raises."""
        return self.session.slurm.nodes(allow_none=True).nodes

    def unmanaged_nodes(self) -> tuple[str, ...] | None:
        """Nodes that answer slurmctld and are neither pods of this stack nor hosts that it names: no step brings them a key.

        None where slurmctld can't be asked, as before the first `pulumi up`: then it is unknown whether there are any.
        """
        try:
            nodes = self.nodes()
        except (SlurmrestError, KubeNotFound):
            return None
        pods = [pod.slurm_node for pod in self._pods_of_nodesets()]
        hosts = (host.name for host in self.config.external.slurmd_hosts)
        own = {*pods, *(name.partition(".")[0] for name in pods), *hosts}
        return tuple(sorted(node.name for node in nodes if node.name not in own and not node.state & _SILENT))

    def pod_files(self) -> dict[str, str | None]:
        """SHA-256 of slurm.jwks in each slurmd pod, and in each client pod (``namespace/pod``) of what its sackd reads; None
        where it isn't there or the pod can't be asked."""
        own = self.config.cluster.namespace
        digests = {pod.name: self._digest(own, pod.name, "slurmd", SLURM.bundle_path) for pod in self._slurmd_pods()}
        read = own_copy(self.config)
        clients = ((space, pod.name) for space, pod in self._client_pods())
        return digests | {f"{space}/{name}": self._digest(space, name, SIDECAR, read) for space, name in clients}

    def trigger_sync(self, files: Mapping[str, str | None], wanted: str) -> None:
        """Change an annotation of the pods that don't have the file yet, so that kubelet looks at once."""
        own = self.config.cluster.namespace
        pods: list[tuple[str, str, Pod]] = [(pod.name, own, pod) for pod in self._slurmd_pods()]
        pods += [(f"{space}/{pod.name}", space, pod) for space, pod in self._client_pods()]
        for name, space, pod in pods:
            if files.get(name) != wanted and pod.metadata.annotations.get(SLURM.annotation) != wanted[:16]:
                with suppress(KubeConflict, KubeNotFound):  # changed or gone since we looked: the next look tells
                    self.session.kube.annotate_pod(space, pod, {SLURM.annotation: wanted[:16]})

    def _pods_of_nodesets(self) -> tuple[Pod, ...]:
        cluster, kube = self.config.cluster, self.session.kube
        resources = (names.nodeset_resource(cluster.resource_name, nodeset) for nodeset in self.config.nodesets)
        return tuple(pod for resource in resources for pod in Workers.look(kube, cluster.namespace, resource).pods)

    def _slurmd_pods(self) -> tuple[Pod, ...]:
        """Running pods of all NodeSets; one that starts now begins with the Secret as it is now."""
        return tuple(pod for pod in self._pods_of_nodesets() if pod.status.phase == "Running" and not pod.terminating)

    def _client_pods(self) -> Iterator[tuple[str, Pod]]:
        """Running pods that mount a client's Secret, with their namespaces, those of pods that others created too."""
        if SLURM not in self.config.made_keys or SLURM not in self.config.bundled:
            return
        for name, client in self.config.clients.items():
            secret = client_secret(self.config, name, client).name
            for pod in pods_with_secret(self.session.kube, client.namespace, secret):
                if pod.status.phase == "Running" and not pod.terminating:
                    yield client.namespace, pod

    def _digest(self, namespace: str, pod: str, container: str, file: str) -> str | None:
        command = [*kubectl(self.config), "exec", "-n", namespace, pod, "-c", container]
        try:
            done = kubectl_run(self.run, [*command, "--", "sha256sum", file], timeout=30)
        except OSError as error:
            raise RotationError(
                f"{causes.of_command(command, error)}: without it nothing tells whether a pod has the new slurm.jwks, and"
                " one that hasn't would be lost at the change. Nothing was changed. Make kubectl run here, beside pulumi,"
                " then run this again"
            ) from None
        except subprocess.TimeoutExpired:
            return None
        words = done.stdout.split()
        return words[0] if done.returncode == 0 and words else None


def kubectl_run(run: Run, command: Sequence[str], *, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run kubectl without this process' passphrase. Raises OSError and TimeoutExpired."""
    return run(command, timeout=timeout, env=for_children(os.environ))


@contextmanager
def connected(config: StackConfig, run: Run) -> Iterator[Cluster]:
    """A stack's cluster, with connections that are closed at the end."""
    with connection(reach(config)) as session:
        yield Cluster(config, session, run)


AT_ONCE: Final = 16
"""Hosts that are asked at the same time."""


def read(engine: Engine) -> Values:
    """The settings and keys of a stack as they are: a rotation that was cut short between two settings leaves the
    configuration as no program may run it, so the rules don't hold here.

    Raises StateError, ConfigError, KeyMaterialError (also where the cluster has none of these keys); no message holds a key.
    """
    own, _ = _texts(engine)
    return _with_daemons(values_as_they_are(own))


def read_to_import(engine: Engine) -> Values:
    """The same for who sets a key: it isn't an error that one can't be read."""
    return _with_daemons(values_to_import(*_texts(engine, IN_PROGRAM)))


IN_PROGRAM: Final = ". A key that you have: `base64 -w0 FILE | pulumi config set --secret slinky-iac:slurmKey` (or jwtKey)"
"""How a key is imported where the program has the settings, by which `keys import` would judge it."""


def _texts(engine: Engine, more: str = "") -> tuple[dict[str, str], frozenset[str]]:
    """``more``: what to add where the settings are in the project's program."""
    try:
        texts = own_texts(json.loads(engine.pulumi("config", "--json", "--show-secrets")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise StateError("`pulumi config --json` printed something else than this project's configuration") from None
    elsewhere = settings_elsewhere(texts[0], Path())
    require_here(elsewhere and elsewhere + more)
    return texts


def _with_daemons(values: Values) -> Values:
    if refused := values.config.auth.refusals.get("keys"):
        raise KeyMaterialError(refused)
    return values


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
        raw = self.keys.of(key) if key in self.config.in_configuration else held
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
