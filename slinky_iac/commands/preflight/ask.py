"""The shell of the preflight: try, ask, and write down what came back. Decisions are elsewhere, in ``compare``.

Nothing here raises what an answer says: silence and refusals are facts. Nothing is changed but the short-lived pod.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from slinky_iac import causes, names
from slinky_iac.blueprint.places import outside_places, registers_outside
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.cluster_access import kube_connection
from slinky_iac.commands import children
from slinky_iac.commands.preflight.ask_pods import ask_pods
from slinky_iac.commands.preflight.host_answer import SCRIPT, filled, read
from slinky_iac.commands.preflight.pod import inside_places
from slinky_iac.config.reading.values import Values
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeNotFound, KubeUnreachable, ProjectError, SlinkyError, SlurmrestUnreachable
from slinky_iac.keys.catalogue import JWT, NEXT_SUFFIX, Key
from slinky_iac.keys.raw import fingerprint
from slinky_iac.kube.connection import for_children
from slinky_iac.kube.machines import kubelet_config
from slinky_iac.kube.pods import ShortPodClient, addresses_of
from slinky_iac.kube.wire import Clock, Retry, Timeouts
from slinky_iac.parts.registry import kinds_of
from slinky_iac.preflight.ask_slurm import (
    Keys,
    RestEndpoint,
    ask_slurm,
    endpoint_of_drains,
    endpoint_of_users,
    preflight_clients,
)
from slinky_iac.preflight.ask_trials import ask_trials
from slinky_iac.preflight.ask_verdicts import ask_verdicts
from slinky_iac.preflight.connectivity import attempts
from slinky_iac.preflight.facts import (
    IN_CONFIG,
    IN_SECRET,
    TOKEN_IN_CONFIG,
    CertificateFacts,
    Facts,
    HostFacts,
    KubeFacts,
    Kubelet,
    PodFacts,
    TrialFacts,
)
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.tls import Files, served_until
from slinky_iac.text import printable

TRY_S = 5.0
"""Longest wait for all connections from here together."""
BUDGET_S = 20.0
"""Longest wait for one answer of Kubernetes or slurmrestd, tries together."""
MOST_KUBELETS = 8
"""Nodes whose kubelets are asked how they run."""
T = TypeVar("T")


@dataclass(frozen=True)
class Scope:
    """How far to look."""

    pod: bool = True
    daemons: bool = True
    """Ask Kubernetes and Slurm; else only connections from here are tried."""
    trial: bool = False
    """Try the stack's files on daemons in short-lived pods."""
    pod_namespace: str | None = None
    """Where short-lived pods are made; None: in the cluster's own namespace, whose Secrets the maker of a pod may mount."""


def ask(values: Values, scope: Scope, *, env: Mapping[str, str] = os.environ, keys_trouble: str = "") -> Facts:
    """All facts of one preflight."""
    config, clock = values.config, Clock()
    external = [*outside_places(config)]
    held = ((key.label, values.keys.of(key)) for key in _keys_of(config))
    facts = Facts(
        here=attempts(external, TRY_S),
        keys_trouble=keys_trouble,
        keys={label: fingerprint(raw) for label, raw in held if raw is not None},
        public=values.keys.public,
        certificates=ask_certificates(config, TRY_S, now=clock.wall),
    )
    with kube_connection(config, env, Path.home()) as way:
        kube: ShortPodClient | None = None
        try:
            kube = way.client(ShortPodClient, budget_s=BUDGET_S, timeouts=Timeouts(connect_s=3), retry=Retry(tries=3))
        except KubeUnreachable as error:
            kube_facts = KubeFacts(trouble=error.why, advice=error.advice)
        else:
            access = way.access
            kube_facts = replace(_kube(kube, config, access.server, scope, clock.wall()), unchecked=access.insecure)
        facts = replace(facts, kube=kube_facts)
        if not scope.daemons:
            return replace(facts, pod=PodFacts(trouble="only connections from here were asked for", skipped=True))
        if not scope.pod:
            pod = PodFacts(trouble="--no-pod was given", skipped=True)
        elif kube is None or kube_facts.trouble:
            pod = PodFacts(trouble="the API server could not be asked")
        else:
            inside = inside_places(config, external, made=bool(kube_facts.restapi_pods))
            pod = ask_pods(kube, config, inside, clock=clock, namespace=scope.pod_namespace)
        facts = replace(facts, pod=pod)
        if scope.trial:
            tried = TrialFacts(trouble=pod.trouble)
            if kube is not None and not kube_facts.trouble:
                tried = ask_trials(kube, config, clock=clock, namespace=scope.pod_namespace)
            facts = replace(facts, trial=tried)
        if not config.auth.makes_daemons:
            return facts
        keys = _signing_keys(values, kube if not kube_facts.trouble else None)
        ways, clients = _ways(config, kube_facts), preflight_clients(way.lead)
        return replace(facts, slurm=ask_slurm(ways, keys, clock=clock, connect=clients))


def _keys_of(config: StackConfig) -> tuple[Key, ...]:
    """The keys that daemons share."""
    return config.auth.keys


def _kube(kube: ShortPodClient, config: StackConfig, server: str, scope: Scope, now: float) -> KubeFacts:
    try:
        release = kube.release()
    except KubeError as error:
        return KubeFacts(server=server, trouble=error.why, advice=error.advice)
    serves = {name: _or_none(partial(kube.serves, kinds.api, kinds.resources)) for name, kinds in kinds_of(config).items()}
    if not scope.daemons:
        return KubeFacts(server=server, release=release, serves=serves)
    namespace, base = config.cluster.namespace, config.cluster.resource_name
    prints: dict[str, str] = {}
    ages: dict[str, float] = {}
    troubles: dict[str, str] = {}
    for key in _keys_of(config):
        place = config.secret_of(key)
        try:
            state = kube.secret(namespace, place.name)
            if place.entry not in state.data:
                continue
            prints[key.label] = fingerprint(state.data[place.entry])
            if (since := state.written(place.entry) or state.created) is not None:
                ages[key.label] = now - since
        except KubeNotFound:
            continue
        except KubeError as error:
            troubles[key.label] = str(error)
    public, public_trouble = _public(kube, config)
    workers = _workers(kube, config)
    return KubeFacts(
        server=server,
        release=release,
        public=public,
        public_trouble=public_trouble,
        namespace=_or_none(lambda: kube.namespace_exists(namespace)),
        restapi=_or_none(partial(_there, kube, namespace, names.restapi_service(base))),
        restapi_pods=_or_none(lambda: kube.deployment_available(namespace, names.restapi_service(base))),
        slurmctld=_or_none(partial(addresses_of, kube, namespace, names.slurmctld_pods(base)))
        if registers_outside(config)
        else None,
        keys=prints,
        keys_trouble=troubles,
        keys_age_s=ages,
        asked_at=int(now),
        workers=workers,
        kubelets=_kubelets(kube, config, workers),
        serves=serves,
        pods=ask_verdicts(kube, config, namespace=scope.pod_namespace),
    )


def _public(kube: ShortPodClient, config: StackConfig) -> tuple[dict[str, bytes], str]:
    """Files of public keys as the cluster has them, and why they aren't known."""
    bundles: dict[str, bytes] = {}
    for place in (bundle for bundle in map(config.bundle_of, config.own_keys) if bundle is not None):
        try:
            data = kube.config_map_data(config.cluster.namespace, place.name)
        except KubeNotFound:
            continue
        except KubeError as error:
            return {}, str(error)
        bundles[place.entry] = data.get(place.entry, "").encode()
    return bundles, ""


def _workers(kube: ShortPodClient, config: StackConfig) -> dict[str, Workers]:
    """Before the first `up`, or unreadable, a NodeSet's pods aren't known, and no check takes that for none."""
    workers: dict[str, Workers] = {}
    for name in config.nodesets:
        resource = names.nodeset_resource(config.cluster.resource_name, name)
        seen = _or_none(partial(Workers.look, kube, config.cluster.namespace, resource))
        if seen is not None and seen.nodeset is not None:
            workers[name] = seen
    return workers


def _kubelets(kube: ShortPodClient, config: StackConfig, workers: Mapping[str, Workers]) -> dict[str, Kubelet]:
    """One pool's kubelets are alike, so not all of many are asked."""
    limited = {name for name, nodeset in config.nodesets.items() if nodeset.resources.cpus or nodeset.resources.memory}
    nodes = {pod.spec.node_name for name, worker_set in workers.items() if name in limited for pod in worker_set.pods} - {""}
    kubelets: dict[str, Kubelet] = {}
    for node in sorted(nodes)[:MOST_KUBELETS]:
        try:
            said = kubelet_config(kube, node)
        except KubeError as error:
            kubelets[node] = Kubelet(trouble=str(error))
        else:
            kubelets[node] = Kubelet(said.cpu_manager_policy, said.topology_manager_policy, said.memory_swap.swap_behavior)
    return kubelets


def _there(kube: ShortPodClient, namespace: str, deployment: str) -> bool:
    try:
        kube.deployment_images(namespace, deployment)
    except KubeNotFound:
        return False
    return True


def _or_none(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except SlinkyError:
        return None


def _ways(config: StackConfig, kube: KubeFacts) -> tuple[RestEndpoint, ...]:
    """Where a slurmrestd may be asked: the one that drains go through, once it serves, then the one for users."""
    drains, users = endpoint_of_drains(config), endpoint_of_users(config)
    asked = [drains] if kube.restapi_pods or not drains.inside else []
    return tuple(asked if users is None else [*asked, users])


def _signing_keys(values: Values, kube: ShortPodClient | None) -> dict[str, Keys]:
    """The keys to try, by where they come from; the Secret's JWT key only where it isn't the configuration's."""
    keys: dict[str, Keys] = {}
    raw, rsa = values.keys.raw, values.keys.rsa
    if own := tuple(raw[name] for name in (JWT.config, JWT.next) if name in raw):
        keys[IN_CONFIG] = own
    if kube is not None:
        place, namespace = values.config.secret_of(JWT), values.config.cluster.namespace
        entries = (place.entry, place.entry + NEXT_SUFFIX)
        held = _or_none(lambda: kube.secret_entries(namespace, place.name, *entries))
        if held is not None and all(held[0] not in texts for texts in keys.values()):
            keys[IN_SECRET] = tuple(held)
    for key in values.config.own_keys:
        if key.config in rsa:
            keys[TOKEN_IN_CONFIG] = (rsa[key.config],)
    return keys


def ask_certificates(config: StackConfig, timeout_s: float, *, now: Callable[[], float]) -> tuple[CertificateFacts, ...]:
    """What each showed; nothing is sent but the handshake."""
    return tuple(_shown(path, direct, timeout_s, now) for path, direct in _by_https(config))


def _by_https(config: StackConfig) -> Iterator[tuple[str, Direct]]:
    for path, way in (("slurmrest.url", endpoint_of_drains(config)), ("external.slurmrestd.url", endpoint_of_users(config))):
        if way is not None and isinstance(way.endpoint, Direct) and way.endpoint.url.startswith("https://"):
            yield path, way.endpoint


def _shown(path: str, direct: Direct, timeout_s: float, now: Callable[[], float]) -> CertificateFacts:
    files = Files(direct.ca_file, direct.client_cert_file, direct.client_key_file)
    try:
        until = served_until(direct.url, files, timeout_s)
    except SlurmrestUnreachable as error:
        return CertificateFacts(path, direct.url, refused=str(error))
    except OSError as error:
        return CertificateFacts(path, direct.url, trouble=causes.of_connection(error))
    return CertificateFacts(path, direct.url, left_s=int(until - now()))


TIMEOUT_S: Final = 120
Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def require_host(config: StackConfig, via: str) -> None:
    """Raises :class:`ProjectError` where the stack has no host to ask, or ``via`` isn't a command."""
    if not config.slurmctld.hosts:
        raise ProjectError("--via: slurmctld of this stack runs in Kubernetes, so there is no host to ask; leave --via out")
    if refused := config.auth.refusals.get("preflight --via"):
        raise ProjectError(f"--via: {refused}")
    if not _command(via, "HOST"):
        raise ProjectError("--via: names no command, such as 'ssh root@{host} sh -s'")


def _command(via: str, host: str) -> list[str]:
    """Words of the command. It may name the host itself: there is only one to ask. Empty where they can't be split."""
    try:
        return [word.replace("{host}", host) for word in shlex.split(via)]
    except ValueError:
        return []


def ask_host(
    facts: Facts,
    config: StackConfig,
    via: str,
    *,
    clock: Clock,
    run: Shell = children.run,
    env: Mapping[str, str] = os.environ,
) -> Facts:
    """The facts, with what slurmctld's host says; what slurmrestd said counts before it."""
    host = config.slurmctld.hosts[0].host
    before = clock.wall()
    try:
        command = _command(via, host)
        done = run(command, input=SCRIPT, timeout=TIMEOUT_S, env=for_children(env))
    except (OSError, subprocess.TimeoutExpired) as wrong:
        return replace(facts, host=HostFacts(host, trouble=f"gave no answer: {causes.of_command(command, wrong)}"))
    if done.returncode != 0:
        said = printable(done.stderr.strip()[-300:]) or "nothing on stderr"
        return replace(facts, host=HostFacts(host, trouble=f"ended with {done.returncode}: {said}"))
    host_facts, slurm = read(host, done.stdout, before, clock.wall())
    return replace(facts, host=host_facts, slurm=filled(facts.slurm, slurm))
